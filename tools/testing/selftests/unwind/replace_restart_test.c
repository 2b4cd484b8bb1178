// SPDX-License-Identifier: GPL-2.0
/*
 * A system call that a signal interrupts is restarted by moving the instruction
 * pointer back. What is asked for before that returns to behind the system call.
 * And a signal whose frame cannot be written leaves everything in working order.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "replace.h"

/* Waits in system call @nr. */
long sleeper(long nr, long arg0, void *arg1, long arg2);
extern const char sleeper_here[];
ASM_FUNCTION(sleeper,
	"push %rbx\n"
	".cfi_adjust_cfa_offset 8\n"
	"mov %rdi, %rax\n"
	"mov %rsi, %rdi\n"
	"mov %rdx, %rsi\n"
	"mov %rcx, %rdx\n"
	"syscall\n"
	ASM_LABEL(sleeper_here)
	"pop %rbx\n"
	".cfi_adjust_cfa_offset -8\n"
	"ret\n");

static int pipe_fds[2];

static void CHAIN_FUNCTION(caller) wait_in_read(void)
{
	char byte;

	sleeper(SYS_read, pipe_fds[0], &byte, 1);
	asm volatile("");
}

static void CHAIN_FUNCTION(caller2) wait_in_nanosleep(void)
{
	static const struct timespec long_time = { .tv_sec = 1000 };

	sleeper(SYS_nanosleep, (long)&long_time, NULL, 0);
	asm volatile("");
}

static void CHAIN_FUNCTION(caller3) wait_in_pause(void)
{
	sleeper(SYS_pause, 0, NULL, 0);
	asm volatile("");
}

static void empty_handler(int signr)
{
}

static void fork_sleeper(struct __test_metadata *_metadata, struct task *task,
			 void (*function)(void), unsigned long flags)
{
	struct sigaction action = { .sa_handler = empty_handler, .sa_flags = flags };

	ASSERT_EQ(0, pipe(pipe_fds));
	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	ASSERT_EQ(0, task_fork(task, function));
}

static void open_stack(struct __test_metadata *_metadata, struct perf_stack *stack,
		       struct perf_stack_options options)
{
	options.type = PERF_UNWIND_TYPE_SFRAME;
	ASSERT_EQ(0, perf_stack_open(stack, &options))
		TH_LOG("cannot open %s (root and tracefs are needed): %s",
		       options.events[0], strerror(errno));
}

FIXTURE(restart)
{
	struct perf_stack stack;
};

FIXTURE_VARIANT(restart)
{
	void (*function)(void);
	unsigned long flags;
	const char *event;
	const char *filter;
};

/* The last look at the task's work before that is in get_signal(). */
FIXTURE_VARIANT_ADD(restart, read_restarts)
{
	.function = wait_in_read, .flags = SA_RESTART,
	.event = "signal/signal_deliver", .filter = "sig == 10",
};

FIXTURE_VARIANT_ADD(restart, read_ends)
{
	.function = wait_in_read,
	.event = "signal/signal_deliver", .filter = "sig == 10",
};

FIXTURE_VARIANT_ADD(restart, nanosleep_ends)
{
	.function = wait_in_nanosleep,
	.event = "signal/signal_deliver", .filter = "sig == 10",
};

/* This one is asked for earlier, while the system call is being left. */
FIXTURE_VARIANT_ADD(restart, read_exit)
{
	.function = wait_in_read, .flags = SA_RESTART,
	.event = "syscalls/sys_exit_read", .filter = "ret == -512",
};

/* In do_signal_stop(), 4 is __TASK_STOPPED. There is no handler. */
FIXTURE_VARIANT_ADD(restart, read_stopped)
{
	.function = wait_in_read,
	.event = "sched/sched_switch", .filter = "prev_state == 4",
};

FIXTURE_VARIANT_ADD(restart, nanosleep_stopped)
{
	.function = wait_in_nanosleep,
	.event = "sched/sched_switch", .filter = "prev_state == 4",
};

FIXTURE_VARIANT_ADD(restart, pause_stopped)
{
	.function = wait_in_pause,
	.event = "sched/sched_switch", .filter = "prev_state == 4",
};

FIXTURE_SETUP(restart)
{
}

FIXTURE_TEARDOWN(restart)
{
	perf_stack_close(&self->stack);
}

static bool is_stop(const char *event)
{
	return !strcmp(event, "sched/sched_switch");
}

static void wait_for_next_sleep(const struct task *task, long sleeps)
{
	while (task_sleeps(task) == sleeps)
		sched_yield();
}

/* From one sleep in the system call through a stop to the next one. */
static void stop_and_continue(struct __test_metadata *_metadata, const struct task *task)
{
	long sleeps;
	int status;

	ASSERT_EQ(0, kill(task->pid, SIGSTOP));
	ASSERT_EQ(task->pid, waitpid(task->pid, &status, WUNTRACED));
	ASSERT_TRUE(WIFSTOPPED(status));
	ASSERT_EQ(0, task_wait_at(task, sleeper_here));
	sleeps = task_sleeps(task);
	ASSERT_LT(0, sleeps);
	ASSERT_EQ(0, kill(task->pid, SIGCONT));
	wait_for_next_sleep(task, sleeps);
}

/* Without a flush the stack begins at the system call, two bytes earlier. */
TEST_F(restart, behind_the_system_call)
{
	const struct perf_stack_record *record;
	struct perf_stack *stack = &self->stack;
	struct task task;
	long sleeps;

	fork_sleeper(_metadata, &task, variant->function, variant->flags);
	open_stack(_metadata, stack, (struct perf_stack_options) {
		.events	= { variant->event },
		.filter	= variant->filter,
		.pid	= task.pid,
	});
	ASSERT_EQ(0, task_start(&task));
	ASSERT_EQ(0, task_wait_at(&task, sleeper_here));

	if (is_stop(variant->event))
		stop_and_continue(_metadata, &task);
	sleeps = task_sleeps(&task);
	ASSERT_EQ(0, kill(task.pid, SIGUSR1));
	if (variant->flags & SA_RESTART) {
		wait_for_next_sleep(&task, sleeps);
		ASSERT_EQ(1, write(pipe_fds[1], "", 1));
	}
	ASSERT_EQ(0, task_status(&task));
	perf_stack_read(stack);

	ASSERT_FALSE(stack->broken);
	ASSERT_EQ(1, stack->nr_samples);
	ASSERT_NE(0, stack->samples[0].cookie);
	EXPECT_EQ(0, perf_stack_astray(stack));
	record = perf_stack_of(stack, &stack->samples[0]);
	ASSERT_NE(NULL, record);
	ASSERT_LT(2, record->nr);
	EXPECT_EQ((unsigned long)sleeper_here, record->ips[0]);
	EXPECT_TRUE(in_function(record->ips[1], CHAIN_RANGE(caller)) ||
		    in_function(record->ips[1], CHAIN_RANGE(caller2)) ||
		    in_function(record->ips[1], CHAIN_RANGE(caller3)));
}

/* Makes system call @nr with a stack pointer that is good for nothing. */
long without_stack(long nr, long arg0, long arg1);
extern const char without_stack_here[];
ASM_FUNCTION(without_stack,
	"mov %rdi, %rax\n"
	"mov %rsi, %rdi\n"
	"mov %rdx, %rsi\n"
	"mov %rsp, %r8\n"
	"mov $8, %esp\n"
	"syscall\n"
	ASM_LABEL(without_stack_here)
	"mov %r8, %rsp\n"
	"ret\n");

static void CHAIN_FUNCTION(rescue) rescue(int signr)
{
	raw_syscall(SYS_getppid, 0, 0, 0, 0);
	_exit(0);
}

static void raise_without_stack(void)
{
	struct sigaction action = { .sa_handler = rescue, .sa_flags = SA_ONSTACK };
	static char other_stack[65536];
	stack_t other = { .ss_sp = other_stack, .ss_size = sizeof(other_stack) };

	sigaltstack(&other, NULL);
	sigaction(SIGSEGV, &action, NULL);
	without_stack(SYS_kill, getpid(), SIGUSR1);
	_exit(1);
}

/*
 * The signal's frame cannot be written, and another signal says so. A gate that is
 * still shut then would refuse what the second handler does.
 */
TEST(frame_that_cannot_be_written)
{
	struct perf_stack stack = {};
	int i, delivered = 0;
	struct task task;

	fork_sleeper(_metadata, &task, raise_without_stack, 0);
	open_stack(_metadata, &stack, (struct perf_stack_options) {
		.events	= { "signal/signal_deliver", "syscalls/sys_enter_getppid" },
		.pid	= task.pid,
	});
	ASSERT_EQ(0, task_start(&task));
	ASSERT_EQ(0, task_status(&task));
	perf_stack_read(&stack);

	EXPECT_FALSE(stack.broken);
	EXPECT_EQ(0, perf_stack_astray(&stack));
	for (i = 0; i < stack.nr_samples; i++) {
		const struct perf_stack_record *record;

		EXPECT_NE(0, stack.samples[i].cookie);
		record = perf_stack_of(&stack, &stack.samples[i]);
		if (!record || !record->nr)
			continue;
		if (stack.samples[i].event) {
			EXPECT_TRUE(in_function(record->ips[0], CHAIN_RANGE(rescue)));
		} else {
			delivered += record->ips[0] == (unsigned long)without_stack_here;
		}
	}
	EXPECT_EQ(3, stack.nr_samples);
	EXPECT_EQ(2, delivered);
	perf_stack_close(&stack);
}

TEST_HARNESS_MAIN
