// SPDX-License-Identifier: GPL-2.0
/*
 * A debugger writes the registers of a task that has been promised a stack. What
 * it has changed cannot be brought back: the stack comes empty, and says why. What
 * it leaves as it was, or does not matter to a stack, changes nothing.
 */
#include <elf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "replace.h"

/* System call @nr, which does not mind a changed ip (to the nop), sp or bp. */
long traced(long nr, long arg0, long arg1);
extern const char traced_here[];
ASM_FUNCTION(traced,
	"push %rbp\n"
	".cfi_adjust_cfa_offset 8\n"
	".cfi_offset %rbp, -16\n"
	"mov %rsp, %rbp\n"
	".cfi_def_cfa_register %rbp\n"
	"mov %rdi, %rax\n"
	"mov %rsi, %rdi\n"
	"mov %rdx, %rsi\n"
	"mov %rsp, %r8\n"
	"syscall\n"
	ASM_LABEL(traced_here)
	"nop\n"
	"mov %r8, %rsp\n"
	"pop %rbp\n"
	".cfi_def_cfa %rsp, 8\n"
	"ret\n");

static void CHAIN_FUNCTION(caller) system_calls(void)
{
	traced(SYS_getppid, 0, 0);
	asm volatile("");
}

static void CHAIN_FUNCTION(caller2) signal_and_system_call(void)
{
	traced(SYS_kill, getpid(), SIGUSR1);
	traced(SYS_getppid, 0, 0);
	asm volatile("");
}

static void be_traced(void (*function)(void))
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(3);
	raise(SIGSTOP);
	function();
}

static void be_traced_in_system_calls(void)
{
	be_traced(system_calls);
}

static void be_traced_in_signal(void)
{
	be_traced(signal_and_system_call);
}

/* What the debugger does to a register. */
#define OFFSET(reg)	offsetof(struct user_regs_struct, reg)

enum how { POKE, SET_REGS, SET_REGSET };

static int write_register(pid_t pid, enum how how, size_t offset, long add)
{
	struct user_regs_struct regs;
	struct iovec iov = { .iov_base = &regs, .iov_len = sizeof(regs) };
	unsigned long *reg = (void *)((char *)&regs + offset);

	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs))
		return -1;
	*reg += add;
	switch (how) {
	case POKE:
		return ptrace(PTRACE_POKEUSER, pid, offset, *reg);
	case SET_REGS:
		return ptrace(PTRACE_SETREGS, pid, NULL, &regs);
	default:
		return ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &iov);
	}
}

FIXTURE(ptrace)
{
	struct perf_stack stack;
	struct task task;
};

FIXTURE_VARIANT(ptrace)
{
	enum how how;
	size_t offset;
	long add;
	bool replaced;
};

#define VARIANT(name, ...)	FIXTURE_VARIANT_ADD(ptrace, name) { __VA_ARGS__ }

VARIANT(poke_ip, .how = POKE, .offset = OFFSET(rip), .add = 1, .replaced = true);
VARIANT(poke_sp, .how = POKE, .offset = OFFSET(rsp), .add = -64, .replaced = true);
VARIANT(poke_bp, .how = POKE, .offset = OFFSET(rbp), .add = 8, .replaced = true);
VARIANT(regs_ip, .how = SET_REGS, .offset = OFFSET(rip), .add = 1, .replaced = true);
VARIANT(regs_sp, .how = SET_REGS, .offset = OFFSET(rsp), .add = -64, .replaced = true);
VARIANT(regset_ip, .how = SET_REGSET, .offset = OFFSET(rip), .add = 1, .replaced = true);
VARIANT(regset_bp, .how = SET_REGSET, .offset = OFFSET(rbp), .add = 8, .replaced = true);
VARIANT(poke_same, .how = POKE, .offset = OFFSET(rip));
VARIANT(regs_same, .how = SET_REGS, .offset = OFFSET(rip));
VARIANT(regset_same, .how = SET_REGSET, .offset = OFFSET(rip));
/* As strace and others do to change or skip the system call. */
VARIANT(poke_number, .how = POKE, .offset = OFFSET(orig_rax), .add = SYS_gettid - SYS_getppid);
VARIANT(regs_number, .how = SET_REGS, .offset = OFFSET(orig_rax),
	.add = SYS_gettid - SYS_getppid);

FIXTURE_SETUP(ptrace)
{
}

FIXTURE_TEARDOWN(ptrace)
{
	perf_stack_close(&self->stack);
}

/* The events are what happens when the task stops for its debugger: 8 is __TASK_TRACED. */
static void start_traced(struct __test_metadata *_metadata, struct perf_stack *stack,
			 struct task *task, void (*function)(void))
{
	struct perf_stack_options options = {
		.events	= { "sched/sched_switch" },
		.filter	= "prev_state == 8",
		.type	= PERF_UNWIND_TYPE_SFRAME,
	};
	int status;

	ASSERT_EQ(0, task_fork(task, function));
	ASSERT_EQ(0, task_start(task));
	ASSERT_EQ(task->pid, waitpid(task->pid, &status, 0));
	ASSERT_TRUE(WIFSTOPPED(status));
	ASSERT_EQ(SIGSTOP, WSTOPSIG(status));
	ASSERT_EQ(0, ptrace(PTRACE_SETOPTIONS, task->pid, NULL,
			    PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL));
	options.pid = task->pid;
	ASSERT_EQ(0, perf_stack_open(stack, &options))
		TH_LOG("cannot open %s (root and tracefs are needed): %s",
		       options.events[0], strerror(errno));
}

static void go_on(struct __test_metadata *_metadata, const struct task *task, int request,
		  int signr)
{
	int status;

	ASSERT_EQ(0, ptrace(request, task->pid, NULL, NULL));
	ASSERT_EQ(task->pid, waitpid(task->pid, &status, 0));
	ASSERT_TRUE(WIFSTOPPED(status));
	ASSERT_EQ(signr, WSTOPSIG(status));
}

/* To the stop at the start of the system call in traced(). */
static void go_to_system_call(struct __test_metadata *_metadata, const struct task *task)
{
	struct user_regs_struct regs = {};

	while (regs.rip != (unsigned long)traced_here) {
		go_on(_metadata, task, PTRACE_SYSCALL, SIGTRAP | 0x80);
		ASSERT_EQ(0, ptrace(PTRACE_GETREGS, task->pid, NULL, &regs));
	}
}

static void expect_stack(struct __test_metadata *_metadata,
			 const struct perf_stack_record *record, struct chain_range caller)
{
	ASSERT_NE(NULL, record);
	ASSERT_LT(2, record->nr);
	EXPECT_EQ((unsigned long)traced_here, record->ips[0]);
	EXPECT_TRUE(in_function(record->ips[1], caller))
		TH_LOG("the caller is %llx", record->ips[1]);
	EXPECT_NE(PERF_CALLCHAIN_END_REPLACED, record->end);
}

static void expect_replaced(struct __test_metadata *_metadata,
			    const struct perf_stack *stack, int nr)
{
	const struct perf_stack_record *record = perf_stack_of(stack, &stack->samples[nr]);

	ASSERT_NE(NULL, record);
	EXPECT_EQ(0, record->nr);
	EXPECT_EQ(PERF_CALLCHAIN_END_REPLACED, record->end);

	/* The next one is about another stack. */
	EXPECT_NE(stack->samples[nr].cookie, stack->samples[nr + 1].cookie);
	record = perf_stack_of(stack, &stack->samples[nr + 1]);
	ASSERT_NE(NULL, record);
	ASSERT_LT(0, record->nr);
	EXPECT_EQ(stack->samples[nr + 1].ip, record->ips[0]);
}

/* Without a mark the stack is walked with what the debugger has written. */
TEST_F(ptrace, stop_at_system_call)
{
	struct perf_stack *stack = &self->stack;
	const struct task *task = &self->task;
	int last, status;

	start_traced(_metadata, stack, &self->task, be_traced_in_system_calls);
	go_to_system_call(_metadata, task);
	ASSERT_EQ(0, write_register(task->pid, variant->how, variant->offset, variant->add));
	/* The stop at the end of it is in the same entry. */
	go_on(_metadata, task, PTRACE_SYSCALL, SIGTRAP | 0x80);
	ASSERT_EQ(0, ptrace(PTRACE_CONT, task->pid, NULL, NULL));
	ASSERT_EQ(task->pid, waitpid(task->pid, &status, 0));
	EXPECT_EQ(0, status);
	perf_stack_read(stack);

	ASSERT_FALSE(stack->broken);
	last = stack->nr_samples - 1;
	ASSERT_LT(0, last);
	ASSERT_NE(0, stack->samples[last - 1].cookie);
	ASSERT_NE(0, stack->samples[last].cookie);
	ASSERT_EQ((unsigned long)traced_here, stack->samples[last - 1].ip);

	if (!variant->replaced) {
		EXPECT_EQ(0, perf_stack_astray(stack));
		EXPECT_EQ(stack->samples[last].cookie, stack->samples[last - 1].cookie);
		expect_stack(_metadata, perf_stack_of(stack, &stack->samples[last - 1]),
			     CHAIN_RANGE(caller));
	} else {
		expect_replaced(_metadata, stack, last - 1);
	}
}

/* The same when a signal is what it stops for; the debugger takes the signal away. */
TEST_F(ptrace, stop_at_signal)
{
	struct perf_stack *stack = &self->stack;
	const struct task *task = &self->task;
	int status;

	start_traced(_metadata, stack, &self->task, be_traced_in_signal);
	go_on(_metadata, task, PTRACE_CONT, SIGUSR1);
	ASSERT_EQ(0, write_register(task->pid, variant->how, variant->offset, variant->add));
	go_on(_metadata, task, PTRACE_SYSCALL, SIGTRAP | 0x80);
	ASSERT_EQ(0, ptrace(PTRACE_CONT, task->pid, NULL, NULL));
	ASSERT_EQ(task->pid, waitpid(task->pid, &status, 0));
	EXPECT_EQ(0, status);
	perf_stack_read(stack);

	ASSERT_FALSE(stack->broken);
	ASSERT_EQ(2, stack->nr_samples);
	ASSERT_NE(0, stack->samples[0].cookie);
	ASSERT_EQ((unsigned long)traced_here, stack->samples[0].ip);
	if (variant->replaced) {
		expect_replaced(_metadata, stack, 0);
	} else {
		EXPECT_EQ(0, perf_stack_astray(stack));
		EXPECT_NE(stack->samples[0].cookie, stack->samples[1].cookie);
		expect_stack(_metadata, perf_stack_of(stack, &stack->samples[0]),
			     CHAIN_RANGE(caller2));
		expect_stack(_metadata, perf_stack_of(stack, &stack->samples[1]),
			     CHAIN_RANGE(caller2));
	}
}

TEST_HARNESS_MAIN
