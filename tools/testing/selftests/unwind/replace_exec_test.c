// SPDX-License-Identifier: GPL-2.0
/*
 * execve() of a thread that is not the first one of its process changes the thread's
 * number before the old stack is gone; and an execve() that fails goes back to it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "replace.h"

long exec(const char *path, char *const argv[], char *const envp[]);
extern const char exec_here[];
ASM_FUNCTION(exec,
	"push %rbx\n"
	".cfi_adjust_cfa_offset 8\n"
	"mov $59, %eax\n"
	"syscall\n"
	ASM_LABEL(exec_here)
	"pop %rbx\n"
	".cfi_adjust_cfa_offset -8\n"
	"ret\n");

static long CHAIN_FUNCTION(caller) call_exec(const char *path)
{
	char *const argv[] = { "program", NULL };
	long ret;

	ret = exec(path, argv, argv + 1);
	asm volatile("");
	return ret;
}

FIXTURE(exec)
{
	struct perf_stack stack;
};

FIXTURE_SETUP(exec)
{
}

FIXTURE_TEARDOWN(exec)
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

/* The stack of the last sample, which the failed system call left behind. */
static void expect_own_stack(struct __test_metadata *_metadata,
			     const struct perf_stack *stack)
{
	const struct perf_stack_record *record;
	int i;

	ASSERT_FALSE(stack->broken);
	ASSERT_EQ(2, stack->nr_samples);
	EXPECT_EQ(0, perf_stack_astray(stack));
	for (i = 0; i < 2; i++) {
		ASSERT_NE(0, stack->samples[i].cookie);
		record = perf_stack_of(stack, &stack->samples[i]);
		ASSERT_NE(NULL, record);
		ASSERT_LT(2, record->nr);
		EXPECT_EQ((unsigned long)exec_here, record->ips[0]);
		EXPECT_TRUE(in_function(record->ips[1], CHAIN_RANGE(caller)));
		/* libc, which called main(), has no table. */
		EXPECT_EQ(PERF_CALLCHAIN_END_NO_TABLE, record->end);
	}
}

/* It fails before anything is prepared. */
TEST_F(exec, no_file)
{
	open_stack(_metadata, &self->stack, (struct perf_stack_options) {
		.events	= { "syscalls/sys_enter_execve", "syscalls/sys_exit_execve" },
	});
	ASSERT_EQ(-ENOENT, call_exec("/no/such/file"));
	perf_stack_read(&self->stack);

	expect_own_stack(_metadata, &self->stack);
}

/* It fails when all but the last step is done: a gate that stays shut refuses. */
TEST_F(exec, no_program)
{
	int fd = memfd_create("no_program", 0);
	char path[64];

	ASSERT_LE(0, fd);
	ASSERT_EQ(4, write(fd, "\0\1\2\3", 4));
	ASSERT_EQ(0, fchmod(fd, 0700));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	open_stack(_metadata, &self->stack, (struct perf_stack_options) {
		.events	= { "syscalls/sys_enter_execve", "syscalls/sys_exit_execve" },
	});
	ASSERT_EQ(-ENOEXEC, call_exec(path));
	perf_stack_read(&self->stack);

	expect_own_stack(_metadata, &self->stack);
}

/* The thread that execs, and the first thread, which waits to be killed by that. */
static int tid_pipe[2], go_pipe[2];

static void *run_exec(void *unused)
{
	pid_t tid = gettid();
	char byte;

	if (write(tid_pipe[1], &tid, sizeof(tid)) == sizeof(tid) &&
	    read(go_pipe[0], &byte, 1) == 1)
		call_exec("/bin/true");
	_exit(2);
}

static void start_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_exec, NULL))
		_exit(3);
	for (;;)
		pause();
}

/*
 * Stacks are paired by thread and cookie. A stack that waits until the thread has
 * taken over the number of the first one has no sample any more.
 */
TEST_F(exec, thread)
{
	const char * const requests[] = { "sched/sched_switch", "syscalls/sys_enter_execve" };
	struct perf_stack *stack = &self->stack;
	const struct perf_stack_record *record;
	const struct perf_stack_sample *first;
	struct task task;
	int i, request;
	pid_t tid;

	for (request = 0; request < 2; request++) {
		ASSERT_EQ(0, pipe(tid_pipe));
		ASSERT_EQ(0, pipe(go_pipe));
		ASSERT_EQ(0, task_fork(&task, start_thread));
		ASSERT_EQ(0, task_start(&task));
		ASSERT_EQ(sizeof(tid), read(tid_pipe[0], &tid, sizeof(tid)));
		ASSERT_NE(task.pid, tid);
		open_stack(_metadata, stack, (struct perf_stack_options) {
			.events	= { requests[request], "syscalls/sys_exit_execve" },
			.pid	= tid,
		});
		ASSERT_EQ(1, write(go_pipe[1], "", 1));
		ASSERT_EQ(0, task_status(&task));
		perf_stack_read(stack);

		ASSERT_FALSE(stack->broken);
		ASSERT_LT(1, stack->nr_samples);
		EXPECT_EQ(0, perf_stack_astray(stack));
		first = &stack->samples[0];
		EXPECT_EQ(tid, first->tid);
		for (i = 0; i < stack->nr_samples; i++) {
			if (stack->samples[i].event != 1)
				continue;
			EXPECT_EQ(task.pid, stack->samples[i].tid);
			EXPECT_NE(first->cookie, stack->samples[i].cookie);
		}
		if (first->event == 0 && request == 1) {
			record = perf_stack_of(stack, first);
			ASSERT_NE(NULL, record);
			ASSERT_LT(1, record->nr);
			EXPECT_EQ((unsigned long)exec_here, record->ips[0]);
			EXPECT_TRUE(in_function(record->ips[1], CHAIN_RANGE(caller)));
		}
		perf_stack_close(stack);
		for (i = 0; i < 2; i++) {
			close(tid_pipe[i]);
			close(go_pipe[i]);
		}
	}
}

TEST_HARNESS_MAIN
