// SPDX-License-Identifier: GPL-2.0
/*
 * Signals replace the user registers twice: when the handler is entered, and when
 * it returns. A stack that was asked for before is that of the interrupted code,
 * one that was asked for after it is that of the handler, and each of them has a
 * cookie of its own.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "replace.h"

#define SA_RESTORER	0x04000000

#define STORM		120
#define STORM_OUTSIDE	40
/* Handlers that the other stack has room for. */
#define MOST_OUTSIDE	4
#define STORM_PAGES	1024

/* As the kernel takes it: libc would put in its own restorer. */
struct kernel_sigaction {
	void		(*handler)(int signr);
	unsigned long	flags;
	void		(*restorer)(void);
	unsigned long	mask;
};

void restorer(void);
extern const char restorer_called[];
ASM_FUNCTION(restorer,
	"mov $15, %eax\n"
	"syscall\n"
	ASM_LABEL(restorer_called)
	"ud2\n");

/* Sends itself a signal, which comes before the system call has returned. */
long interrupted(long pid, long signr);
extern const char interrupted_here[];
ASM_FUNCTION(interrupted,
	"push %rbx\n"
	".cfi_adjust_cfa_offset 8\n"
	"mov $62, %eax\n"
	"syscall\n"
	ASM_LABEL(interrupted_here)
	"pop %rbx\n"
	".cfi_adjust_cfa_offset -8\n"
	"ret\n");

static void CHAIN_FUNCTION(caller) interrupt_me(void)
{
	interrupted(getpid(), SIGUSR1);
	asm volatile("");
}

static volatile int depth, most_depth, handled;
/* How many handlers are on their way, for the process that sends signals. */
static volatile int *running;

static void CHAIN_FUNCTION(handler) handler(int signr)
{
	*running = *running + 1;
	raw_syscall(SYS_getppid, 0, 0, 0, 0);
	handled = handled + 1;
	if (depth < most_depth) {
		depth = depth + 1;
		raw_syscall(SYS_kill, getpid(), signr, 0, 0);
		depth = depth - 1;
	}
	*running = *running - 1;
}

static int install(int signr, void (*function)(int signr), unsigned long flags)
{
	struct kernel_sigaction action = {
		.handler	= function,
		.flags		= flags | SA_RESTORER,
		.restorer	= restorer,
	};

	return syscall(SYS_rt_sigaction, signr, &action, NULL, sizeof(action.mask));
}

static void *use_other_stack(size_t size)
{
	stack_t other = { .ss_size = size };

	other.ss_sp = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (other.ss_sp == MAP_FAILED || sigaltstack(&other, NULL))
		return NULL;
	return other.ss_sp;
}

FIXTURE(signals)
{
	struct perf_stack stack;
};

FIXTURE_VARIANT(signals)
{
	unsigned long flags;
	int depth;
};

FIXTURE_VARIANT_ADD(signals, plain) { .flags = 0 };
FIXTURE_VARIANT_ADD(signals, other_stack) { .flags = SA_ONSTACK };
FIXTURE_VARIANT_ADD(signals, nested) { .flags = SA_NODEFER, .depth = 3 };
FIXTURE_VARIANT_ADD(signals, nested_on_other_stack)
{
	.flags = SA_NODEFER | SA_ONSTACK, .depth = 3
};

FIXTURE_SETUP(signals)
{
	depth = 0;
	running = mmap(NULL, sizeof(*running), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, running);
	handled = 0;
	most_depth = variant->depth;
	ASSERT_EQ(0, install(SIGUSR1, handler, variant->flags));
	if (variant->flags & SA_ONSTACK)
		ASSERT_NE(NULL, use_other_stack(65536));
}

FIXTURE_TEARDOWN(signals)
{
	perf_stack_close(&self->stack);
}

static void open_stack(struct __test_metadata *_metadata, struct perf_stack *stack,
		       struct perf_stack_options options)
{
	options.type = PERF_UNWIND_TYPE_SFRAME;
	ASSERT_EQ(0, perf_stack_open(stack, &options))
		TH_LOG("cannot open %s (root and tracefs are needed): %s",
		       options.events[0], strerror(errno));
}

static void expect_stack(struct __test_metadata *_metadata,
			 const struct perf_stack_record *record, const char *ip,
			 struct chain_range caller)
{
	ASSERT_NE(NULL, record);
	ASSERT_LT(1, record->nr);
	EXPECT_EQ((unsigned long)ip, record->ips[0]);
	EXPECT_TRUE(in_function(record->ips[1], caller))
		TH_LOG("the caller is %llx", record->ips[1]);
}

/*
 * Without a flush the stack of signal_deliver begins at the first instruction of
 * the handler; with one that keeps the cookie the handler's events get that of
 * the interrupted code.
 */
TEST_F(signals, delivery)
{
	const struct perf_stack_record *record;
	struct perf_stack *stack = &self->stack;
	int i;

	open_stack(_metadata, stack, (struct perf_stack_options) {
		.events	= { "signal/signal_deliver", "syscalls/sys_enter_getppid" },
		.filter	= "sig == 10",
	});
	interrupt_me();
	perf_stack_read(stack);

	ASSERT_FALSE(stack->broken);
	ASSERT_EQ(1 + variant->depth, handled);
	ASSERT_EQ(2 * handled, stack->nr_samples);
	EXPECT_EQ(0, perf_stack_astray(stack));
	for (i = 0; i < stack->nr_samples; i++) {
		ASSERT_EQ(i % 2, stack->samples[i].event);
		EXPECT_NE(0, stack->samples[i].cookie);
		if (i)
			EXPECT_NE(stack->samples[i].cookie, stack->samples[i - 1].cookie);
	}

	expect_stack(_metadata, perf_stack_of(stack, &stack->samples[0]), interrupted_here,
		     CHAIN_RANGE(caller));
	for (i = 1; i < stack->nr_samples; i++) {
		record = perf_stack_of(stack, &stack->samples[i]);
		ASSERT_NE(NULL, record);
		ASSERT_LT(0, record->nr);
		EXPECT_TRUE(in_function(record->ips[0], CHAIN_RANGE(handler)));
		/* Nothing can be asked for at the first instruction. */
		EXPECT_NE((unsigned long)CHAIN_RANGE(handler).start, record->ips[0]);
	}
}

/*
 * rt_sigreturn begins in the restorer and ends in the interrupted code. Its number
 * is gone by then: syscalls:sys_exit_rt_sigreturn never fires.
 */
TEST_F(signals, sigreturn)
{
	const struct perf_stack_record *enter, *exit;
	struct perf_stack *stack = &self->stack;
	const struct perf_stack_sample *last;
	int i;

	open_stack(_metadata, stack, (struct perf_stack_options) {
		.events	= { "raw_syscalls/sys_exit", "syscalls/sys_enter_rt_sigreturn" },
		.filter	= "id == -1",
	});
	interrupt_me();
	perf_stack_read(stack);

	ASSERT_FALSE(stack->broken);
	ASSERT_EQ(2 * (1 + variant->depth), stack->nr_samples);
	EXPECT_EQ(0, perf_stack_astray(stack));
	for (i = 0; i < stack->nr_samples; i++) {
		ASSERT_EQ(!(i % 2), stack->samples[i].event);
		if (i)
			EXPECT_NE(stack->samples[i].cookie, stack->samples[i - 1].cookie);
	}

	last = &stack->samples[stack->nr_samples - 1];
	enter = perf_stack_of(stack, last - 1);
	ASSERT_NE(NULL, enter);
	EXPECT_EQ((unsigned long)restorer_called, enter->ips[0]);
	exit = perf_stack_of(stack, last);
	expect_stack(_metadata, exit, interrupted_here, CHAIN_RANGE(caller));
}

/* Whatever comes in what order: stacks begin where the samples were taken. */
TEST_F(signals, storm)
{
	struct perf_stack *stack = &self->stack;
	int i, wanted = STORM / (1 + variant->depth);

	open_stack(_metadata, stack, (struct perf_stack_options) {
		.events	= { "signal/signal_deliver", "syscalls/sys_enter_getppid",
			    "syscalls/sys_enter_rt_sigreturn" },
		.filter	= "sig == 10",
		.pages	= STORM_PAGES,
	});
	for (i = 0; i < wanted; i++)
		interrupt_me();
	perf_stack_read(stack);

	ASSERT_FALSE(stack->broken);
	EXPECT_EQ(wanted * (1 + variant->depth), handled);
	EXPECT_EQ(3 * handled, stack->nr_samples);
	EXPECT_EQ(3 * handled, stack->nr_records);
	EXPECT_EQ(0, perf_stack_astray(stack));
}

/* The same with signals that come at any instruction, from another process. */
TEST_F(signals, storm_from_outside)
{
	struct perf_stack *stack = &self->stack;
	int i, refused = 0, parent = getpid();
	pid_t sender;

	most_depth = 0;
	open_stack(_metadata, stack, (struct perf_stack_options) {
		.events	= { "signal/signal_deliver", "syscalls/sys_enter_getppid",
			    "syscalls/sys_enter_rt_sigreturn" },
		.filter	= "sig == 10",
		.pages	= STORM_PAGES,
	});
	sender = fork();
	ASSERT_LE(0, sender);
	if (!sender) {
		while (getppid() == parent) {
			if (*running < MOST_OUTSIDE)
				kill(parent, SIGUSR1);
		}
		_exit(0);
	}
	while (handled < STORM_OUTSIDE)
		asm volatile("");
	kill(sender, SIGKILL);
	while (waitpid(sender, NULL, 0) != sender)
		;
	perf_stack_read(stack);

	ASSERT_FALSE(stack->broken);
	EXPECT_LE(3 * STORM_OUTSIDE, stack->nr_samples);
	EXPECT_EQ(0, perf_stack_astray(stack));
	for (i = 0; i < stack->nr_samples; i++)
		refused += !stack->samples[i].cookie;
	EXPECT_EQ(0, refused);
}

/*
 * The kernel's own writes to the frame fault, in the middle of the replacement. A
 * stack that is asked for there is refused, or is that of before.
 */
TEST_F(signals, fault_of_frame)
{
	struct perf_stack *stack = &self->stack;
	const size_t size = 16384;
	void *other;

	ASSERT_EQ(0, install(SIGUSR1, handler, variant->flags | SA_ONSTACK));
	other = use_other_stack(size);
	ASSERT_NE(NULL, other);
	open_stack(_metadata, stack, (struct perf_stack_options) {
		.events	= { "exceptions/page_fault_kernel", "signal/signal_deliver",
			    "syscalls/sys_enter_getppid" },
	});
	ASSERT_EQ(0, madvise(other, size, MADV_DONTNEED));
	interrupt_me();
	perf_stack_read(stack);

	ASSERT_FALSE(stack->broken);
	EXPECT_LE(1 + 2 * handled, stack->nr_samples);
	EXPECT_EQ(0, perf_stack_astray(stack));
}

TEST_HARNESS_MAIN
