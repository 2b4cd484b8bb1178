// SPDX-License-Identifier: GPL-2.0
/*
 * The stack of a system call at the end of a known chain of calls:
 *
 *   this program -> shared library -> plugin -> callback in this program
 *
 * comes with the functions of the chain in the right order, and with the cookie
 * of the sample it belongs to.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "chain.h"
#include "perf_stack_check.h"

#ifdef CHAIN_FP
#define PLUGIN	"chain_plugin_fp.so"
#else
#define PLUGIN	"chain_plugin.so"
#endif

/* The system call itself: a function of libc would be a frame of its own. */
static long CHAIN_FUNCTION(callback) callback(void)
{
	long ret;

	spoil_frame_pointer();
	asm volatile("syscall" : "=a"(ret) : "0"(SYS_getppid) : "rcx", "r11", "memory");
	return ret;
}

static long CHAIN_FUNCTION(program) call_chain(long (*plugin)(chain_callback_t callback))
{
	long ret;

	spoil_frame_pointer();
	ret = chain_call_plugin(plugin, callback);
	spoil_frame_pointer();
	return ret + 1;
}

/* Innermost first. */
enum { CALLBACK, PLUGIN_CALL, LIBRARY_CALL, PROGRAM_CALL, NR_FUNCTIONS };

static bool in_range(__u64 ip, struct chain_range range)
{
	/* A return address may be the first byte behind the function. */
	return ip > (unsigned long)range.start && ip <= (unsigned long)range.end;
}

FIXTURE(chain)
{
	struct chain_range ranges[NR_FUNCTIONS];
	long (*plugin)(chain_callback_t callback);
	struct perf_stack stack;
	void *object;
};

FIXTURE_VARIANT(chain)
{
	unsigned int type;
};

#ifdef CHAIN_FP
FIXTURE_VARIANT_ADD(chain, fp) { .type = PERF_UNWIND_TYPE_FP };
FIXTURE_VARIANT_ADD(chain, auto_without_tables) { .type = PERF_UNWIND_TYPE_AUTO };
#else
FIXTURE_VARIANT_ADD(chain, sframe) { .type = PERF_UNWIND_TYPE_SFRAME };
FIXTURE_VARIANT_ADD(chain, auto_with_tables) { .type = PERF_UNWIND_TYPE_AUTO };
#endif

FIXTURE_SETUP(chain)
{
	struct chain_range (*plugin_range)(void);

	self->object = dlopen(PLUGIN, RTLD_NOW);
	ASSERT_NE(NULL, self->object)
		TH_LOG("%s", dlerror());
	self->plugin = dlsym(self->object, "chain_plugin");
	plugin_range = dlsym(self->object, "chain_plugin_range");
	ASSERT_NE(NULL, self->plugin);
	ASSERT_NE(NULL, plugin_range);

	self->ranges[CALLBACK] = CHAIN_RANGE(callback);
	self->ranges[PLUGIN_CALL] = plugin_range();
	self->ranges[LIBRARY_CALL] = chain_library_range();
	self->ranges[PROGRAM_CALL] = CHAIN_RANGE(program);
}

FIXTURE_TEARDOWN(chain)
{
	perf_stack_close(&self->stack);
	dlclose(self->object);
}

static void open_stack(struct __test_metadata *_metadata, struct perf_stack *stack,
		       const struct perf_stack_options *options)
{
	ASSERT_EQ(0, perf_stack_open(stack, options))
		TH_LOG("cannot open %s (root and tracefs are needed): %s",
		       options->events[0], strerror(errno));
}

/* The chain, and after it more of this program up to what has no table. */
TEST_F(chain, functions_in_order)
{
	struct perf_stack_options options = {
		.events	= { "syscalls/sys_enter_getppid" },
		.type	= variant->type,
	};
	const struct perf_stack_record *record;
	int i;

	open_stack(_metadata, &self->stack, &options);
	call_chain(self->plugin);
	perf_stack_read(&self->stack);

	ASSERT_FALSE(self->stack.broken);
	ASSERT_EQ(1, self->stack.nr_samples);
	ASSERT_EQ(1, self->stack.nr_records);
	record = &self->stack.records[0];
	ASSERT_NE(0, record->cookie);
	ASSERT_EQ(self->stack.samples[0].cookie, record->cookie);

	ASSERT_LT(NR_FUNCTIONS, record->nr);
	for (i = 0; i < NR_FUNCTIONS; i++) {
		EXPECT_TRUE(in_range(record->ips[i], self->ranges[i]))
			TH_LOG("entry %d is %llx, not in %p-%p", i, record->ips[i],
			       self->ranges[i].start, self->ranges[i].end);
	}

	if (variant->type == PERF_UNWIND_TYPE_SFRAME) {
		/* libc, which called main(), has no table. */
		EXPECT_EQ(PERF_CALLCHAIN_END_NO_TABLE, record->end);
		EXPECT_FALSE(record->fp);
	}
	if (variant->type == PERF_UNWIND_TYPE_FP)
		EXPECT_TRUE(record->fp);
}

/* Two events of one entry: one stack, one cookie. Another entry: another one. */
TEST_F(chain, cookie_names_one_entry)
{
	struct perf_stack_options options = {
		.events	= { "syscalls/sys_enter_getppid", "syscalls/sys_exit_getppid" },
		.type	= variant->type,
	};
	struct perf_stack *stack = &self->stack;

	open_stack(_metadata, stack, &options);
	call_chain(self->plugin);
	call_chain(self->plugin);
	perf_stack_read(stack);

	ASSERT_FALSE(stack->broken);
	ASSERT_EQ(4, stack->nr_samples);
	ASSERT_EQ(2, stack->nr_records);
	EXPECT_EQ(stack->samples[0].cookie, stack->samples[1].cookie);
	EXPECT_EQ(stack->samples[2].cookie, stack->samples[3].cookie);
	EXPECT_NE(stack->samples[0].cookie, stack->samples[2].cookie);
	EXPECT_EQ(stack->samples[0].cookie, stack->records[0].cookie);
	EXPECT_EQ(stack->samples[2].cookie, stack->records[1].cookie);
	EXPECT_EQ(stack->records[0].nr, stack->records[1].nr);
}

/*
 * While a stack is delivered nothing more is accepted. A sample of that time has
 * the frame that is certain, and no guess beyond it, unless frame pointers are
 * what was asked for.
 */
TEST_F(chain, refused_sample_has_no_guess)
{
	struct perf_stack_options options = {
		.events	= { "syscalls/sys_enter_getppid" },
		.probe	= "perf_unwind_callback",
		.type	= variant->type,
	};
	const struct perf_stack_sample *refused;

	open_stack(_metadata, &self->stack, &options);
	call_chain(self->plugin);
	perf_stack_read(&self->stack);

	ASSERT_FALSE(self->stack.broken);
	ASSERT_EQ(2, self->stack.nr_samples);
	ASSERT_EQ(1, self->stack.nr_records);
	refused = &self->stack.samples[1];
	EXPECT_NE(0, self->stack.samples[0].cookie);
	EXPECT_EQ(0, refused->cookie);
	EXPECT_TRUE(variant->type == PERF_UNWIND_TYPE_FP ? refused->nr >= NR_FUNCTIONS :
							   refused->nr == 1)
		TH_LOG("%u entries", refused->nr);
}

/* The innermost entries are kept, and it is said that there were more. */
TEST_F(chain, limit)
{
	struct perf_stack_options options = {
		.events		= { "syscalls/sys_enter_getppid" },
		.type		= variant->type,
		.max_stack	= 3,
	};
	const struct perf_stack_record *record;

	open_stack(_metadata, &self->stack, &options);
	call_chain(self->plugin);
	perf_stack_read(&self->stack);

	ASSERT_FALSE(self->stack.broken);
	ASSERT_EQ(1, self->stack.nr_records);
	record = &self->stack.records[0];
	ASSERT_EQ(3, record->nr);
	EXPECT_EQ(PERF_CALLCHAIN_END_LIMIT, record->end);
	EXPECT_TRUE(in_range(record->ips[CALLBACK], self->ranges[CALLBACK]));
	EXPECT_TRUE(in_range(record->ips[LIBRARY_CALL], self->ranges[LIBRARY_CALL]));
}

/* Waits for a byte, and becomes another program. */
static void CHAIN_FUNCTION(exec) become_true(int start)
{
	char *const argv[] = { "true", NULL };
	char byte;
	long ret;

	ret = read(start, &byte, 1);
	if (ret == 1)
		asm volatile("syscall"
			     : "=a"(ret)
			     : "0"(SYS_execve), "D"("/bin/true"), "S"(argv), "d"(argv + 1)
			     : "rcx", "r11", "memory");
	_exit(2);
}

/*
 * execve() delivers the stack that it was called with. What is asked for after it,
 * before the return to user space, is that of the new program.
 */
TEST_F(chain, exec_has_two_stacks)
{
	struct perf_stack_options options = {
		.events	= { "syscalls/sys_enter_execve", "syscalls/sys_exit_execve" },
		.type	= variant->type,
	};
	const struct perf_stack_record *records;
	int status, start[2];

	ASSERT_EQ(0, pipe(start));
	options.pid = fork();
	ASSERT_LE(0, options.pid);
	if (!options.pid)
		become_true(start[0]);

	open_stack(_metadata, &self->stack, &options);
	ASSERT_EQ(1, write(start[1], "", 1));
	ASSERT_EQ(options.pid, waitpid(options.pid, &status, 0));
	ASSERT_EQ(0, status);
	perf_stack_read(&self->stack);

	ASSERT_FALSE(self->stack.broken);
	ASSERT_EQ(2, self->stack.nr_samples);
	ASSERT_EQ(2, self->stack.nr_records);
	records = self->stack.records;
	EXPECT_EQ(self->stack.samples[0].cookie, records[0].cookie);
	EXPECT_EQ(self->stack.samples[1].cookie, records[1].cookie);
	EXPECT_NE(records[0].cookie, records[1].cookie);
	ASSERT_LT(1, records[0].nr);
	EXPECT_TRUE(in_range(records[0].ips[0], CHAIN_RANGE(exec)));
	EXPECT_EQ(1, records[1].nr);
	EXPECT_FALSE(in_range(records[1].ips[0], CHAIN_RANGE(exec)));
}

static void CHAIN_FUNCTION(sleeper) sleep_a_little(void)
{
	const struct timespec time = { .tv_nsec = 1000000 };
	long ret;

	asm volatile("syscall"
		     : "=a"(ret)
		     : "0"(SYS_nanosleep), "D"(&time), "S"(NULL)
		     : "rcx", "r11", "memory");
}

/* Keeps this CPU from being idle, and its FPU from keeping our registers. */
static pid_t start_neighbour(void)
{
	cpu_set_t cpu;
	pid_t pid;

	CPU_ZERO(&cpu);
	CPU_SET(sched_getcpu(), &cpu);
	if (sched_setaffinity(0, sizeof(cpu), &cpu))
		return -1;

	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			asm volatile("");
	}
	return pid;
}

/*
 * An event after the kernel has looked for work for the last time, before the
 * return to user space: its stack must not be that of the next system call.
 */
TEST_F(chain, late_request)
{
	struct perf_stack_options options = {
		.events	= { "x86_fpu/x86_fpu_regs_activated" },
		.type	= variant->type,
	};
	pid_t neighbour = start_neighbour();
	int i, sleeping = 0;

	ASSERT_LT(0, neighbour);
	open_stack(_metadata, &self->stack, &options);
	for (i = 0; i < 4; i++) {
		sleep_a_little();
		callback();
	}
	perf_stack_read(&self->stack);
	kill(neighbour, SIGKILL);
	waitpid(neighbour, NULL, 0);

	ASSERT_FALSE(self->stack.broken);
	EXPECT_EQ(0, perf_stack_astray(&self->stack));
	for (i = 0; i < self->stack.nr_records; i++)
		sleeping += in_range(self->stack.records[i].ips[0], CHAIN_RANGE(sleeper));
	EXPECT_LT(0, sleeping);
}

TEST_HARNESS_MAIN
