// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel emulates some instructions, and moves on programs that were in a
 * restartable sequence. A stack that was asked for before that begins at the
 * instruction, or in the sequence.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <linux/rseq.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/io.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "replace.h"

#define VSYSCALL_TIME	0xffffffffff600400UL

long call_vsyscall(void);
extern const char vsyscall_called[];
ASM_FUNCTION(call_vsyscall,
	"push %rbx\n"
	".cfi_adjust_cfa_offset 8\n"
	"xor %edi, %edi\n"
	"mov $0xffffffffff600400, %rax\n"
	"call *%rax\n"
	ASM_LABEL(vsyscall_called)
	"pop %rbx\n"
	".cfi_adjust_cfa_offset -8\n"
	"ret\n");

void do_smsw(void);
extern const char smsw_here[];
ASM_FUNCTION(do_smsw,
	ASM_LABEL(smsw_here)
	"smsw %eax\n"
	"ret\n");

void do_sgdt(void);
extern const char sgdt_here[];
ASM_FUNCTION(do_sgdt,
	ASM_LABEL(sgdt_here)
	"sgdt -16(%rsp)\n"
	"ret\n");

/* The register that the caller is found with is where the result goes. */
void do_smsw_frame(void);
extern const char smsw_frame_here[];
ASM_FUNCTION(do_smsw_frame,
	"push %rbp\n"
	".cfi_adjust_cfa_offset 8\n"
	".cfi_offset %rbp, -16\n"
	"mov %rsp, %rbp\n"
	".cfi_def_cfa_register %rbp\n"
	ASM_LABEL(smsw_frame_here)
	"smsw %rbp\n"
	"mov %rsp, %rbp\n"
	"pop %rbp\n"
	".cfi_def_cfa %rsp, 8\n"
	"ret\n");

void do_smsw_stack(void);
extern const char smsw_stack_here[];
ASM_FUNCTION(do_smsw_stack,
	"mov %rsp, %rax\n"
	ASM_LABEL(smsw_stack_here)
	"smsw %rsp\n"
	"mov %rax, %rsp\n"
	"ret\n");

void do_cli(void);
extern const char cli_here[];
ASM_FUNCTION(do_cli,
	ASM_LABEL(cli_here)
	"cli\n"
	"ret\n");

static void (*function_to_call)(void);

static void CHAIN_FUNCTION(caller) call_function(void)
{
	function_to_call();
	raw_syscall(SYS_getppid, 0, 0, 0, 0);
}

static void open_stack(struct __test_metadata *_metadata, struct perf_stack *stack,
		       struct perf_stack_options options)
{
	options.type = PERF_UNWIND_TYPE_SFRAME;
	ASSERT_EQ(0, perf_stack_open(stack, &options))
		TH_LOG("cannot open the events (root and tracefs are needed): %s",
		       strerror(errno));
}

static bool file_has(const char *path, const char *word)
{
	char line[8192];
	bool found = false;
	FILE *file;

	file = fopen(path, "r");
	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file))
		found = strstr(line, word);
	fclose(file);
	return found;
}

/*
 * What @stack has of an event at @ip in a function of call_function(), and of the
 * system call behind it, which is the last one.
 */
static void expect_stacks(struct __test_metadata *_metadata, const struct perf_stack *stack,
			  unsigned long ip, bool with_caller)
{
	const struct perf_stack_record *record;
	int last = stack->nr_samples - 1;

	ASSERT_FALSE(stack->broken);
	ASSERT_LT(0, last);
	EXPECT_EQ(0, perf_stack_astray(stack));
	ASSERT_NE(0, stack->samples[0].cookie);
	ASSERT_NE(0, stack->samples[last].cookie);
	EXPECT_NE(stack->samples[0].cookie, stack->samples[last].cookie);

	record = perf_stack_of(stack, &stack->samples[0]);
	ASSERT_NE(NULL, record);
	ASSERT_LT(0, record->nr);
	EXPECT_EQ(ip, record->ips[0]);
	if (with_caller) {
		ASSERT_LT(1, record->nr);
		EXPECT_TRUE(in_function(record->ips[1], CHAIN_RANGE(caller)))
			TH_LOG("the caller is %llx", record->ips[1]);
	}

	record = perf_stack_of(stack, &stack->samples[last]);
	ASSERT_NE(NULL, record);
	ASSERT_LT(0, record->nr);
	EXPECT_TRUE(in_function(record->ips[0], CHAIN_RANGE(caller)));
}

FIXTURE(insn)
{
	struct perf_stack stack;
};

FIXTURE_SETUP(insn)
{
}

FIXTURE_TEARDOWN(insn)
{
	perf_stack_close(&self->stack);
}

/* Without a flush the stack begins in the caller of the vsyscall, one ret later. */
TEST_F(insn, vsyscall)
{
	const struct perf_stack_record *record;

	if (!file_has("/proc/self/maps", "[vsyscall]"))
		SKIP(return, "no vsyscall page (vsyscall=none)");

	open_stack(_metadata, &self->stack, (struct perf_stack_options) {
		.events	= { "vsyscall/emulate_vsyscall", "syscalls/sys_enter_getppid" },
	});
	function_to_call = (void (*)(void))call_vsyscall;
	call_function();
	perf_stack_read(&self->stack);

	ASSERT_EQ(2, self->stack.nr_samples);
	expect_stacks(_metadata, &self->stack, VSYSCALL_TIME, false);
	/* No table covers the page; who knows it finds who called it. */
	record = perf_stack_of(&self->stack, &self->stack.samples[0]);
	if (record && record->nr > 1)
		EXPECT_EQ((unsigned long)vsyscall_called, record->ips[1]);
}

FIXTURE(umip)
{
	struct perf_stack stack;
};

FIXTURE_VARIANT(umip)
{
	void (*function)(void);
	const char *ip;
};

FIXTURE_VARIANT_ADD(umip, smsw) { .function = do_smsw, .ip = smsw_here };
FIXTURE_VARIANT_ADD(umip, sgdt) { .function = do_sgdt, .ip = sgdt_here };
FIXTURE_VARIANT_ADD(umip, frame_pointer)
{
	.function = do_smsw_frame, .ip = smsw_frame_here
};
FIXTURE_VARIANT_ADD(umip, stack_pointer)
{
	.function = do_smsw_stack, .ip = smsw_stack_here
};

FIXTURE_SETUP(umip)
{
}

FIXTURE_TEARDOWN(umip)
{
	perf_stack_close(&self->stack);
}

/*
 * Without a flush the stack begins at the next instruction, and the result of smsw
 * is what the caller is looked for with.
 */
TEST_F(umip, instruction)
{
	if (!file_has("/proc/cpuinfo", " umip"))
		SKIP(return, "the CPU has no UMIP");

	open_stack(_metadata, &self->stack, (struct perf_stack_options) {
		.events	= { "syscalls/sys_enter_getppid" },
		.probe	= "fixup_umip_exception",
	});
	function_to_call = variant->function;
	call_function();
	perf_stack_read(&self->stack);

	ASSERT_EQ(2, self->stack.nr_samples);
	expect_stacks(_metadata, &self->stack, (unsigned long)variant->ip, true);
}

/* The function that does it is inlined; it has to know where the instruction is. */
TEST_F(insn, iopl)
{
	if (iopl(3))
		SKIP(return, "no iopl(): %s", strerror(errno));

	open_stack(_metadata, &self->stack, (struct perf_stack_options) {
		.events	= { "syscalls/sys_enter_getppid" },
		.probe	= "insn_get_effective_ip",
	});
	function_to_call = do_cli;
	call_function();
	perf_stack_read(&self->stack);

	expect_stacks(_metadata, &self->stack, (unsigned long)cli_here, true);
}

/* Restartable sequences: the one of libc, or one of our own if it has none. */

static struct rseq *this_rseq(void)
{
	static __thread struct rseq own __attribute__((aligned(32)));

	if (__rseq_size)
		return (void *)((char *)__builtin_thread_pointer() + __rseq_offset);
	if (syscall(SYS_rseq, &own, sizeof(own), 0, RSEQ_SIG))
		return NULL;
	return &own;
}

/*
 * Do not come back but by an abort: @trap says if an exception is to bring it about,
 * else it waits for somebody else to run.
 */
void sequence(struct rseq *rseq, const struct rseq_cs *cs, long trap);
extern const char sequence_start[], sequence_end[], sequence_aborted[], sequence_called[];
ASM_FUNCTION(sequence,
	"push %rbx\n"
	".cfi_adjust_cfa_offset 8\n"
	"mov %rsi, 8(%rdi)\n"
	ASM_LABEL(sequence_start)
	"1: test %rdx, %rdx\n"
	"jz 1b\n"
	"ud2\n"
	ASM_LABEL(sequence_end)
	"ud2\n"
	".long 0x53053053\n"		/* RSEQ_SIG */
	ASM_LABEL(sequence_aborted)
	"mov $110, %eax\n"		/* getppid */
	"syscall\n"
	ASM_LABEL(sequence_called)
	"pop %rbx\n"
	".cfi_adjust_cfa_offset -8\n"
	"ret\n");

static void CHAIN_FUNCTION(sequence_caller) run_sequence(struct rseq *rseq, long trap)
{
	struct rseq_cs cs = {
		.start_ip		= (unsigned long)sequence_start,
		.post_commit_offset	= sequence_end - sequence_start,
		.abort_ip		= (unsigned long)sequence_aborted,
	};

	sequence(rseq, &cs, trap);
	asm volatile("" : : "m"(cs));
}

static void expect_abort(struct __test_metadata *_metadata, const struct perf_stack *stack,
			 bool accepted)
{
	const struct perf_stack_sample *abort = &stack->samples[0];
	const struct perf_stack_sample *after = &stack->samples[1];
	const struct perf_stack_record *record;

	ASSERT_FALSE(stack->broken);
	ASSERT_EQ(2, stack->nr_samples);
	ASSERT_EQ(0, abort->event);
	EXPECT_EQ(0, perf_stack_astray(stack));
	EXPECT_NE(abort->cookie, after->cookie);

	record = perf_stack_of(stack, abort);
	if (accepted)
		ASSERT_NE(0, abort->cookie);
	if (abort->cookie) {
		ASSERT_NE(NULL, record);
		ASSERT_LT(1, record->nr);
		EXPECT_LE((unsigned long)sequence_start, record->ips[0]);
		EXPECT_GT((unsigned long)sequence_end, record->ips[0]);
		EXPECT_TRUE(in_function(record->ips[1], CHAIN_RANGE(sequence_caller)));
	}

	record = perf_stack_of(stack, after);
	ASSERT_NE(NULL, record);
	ASSERT_LT(1, record->nr);
	EXPECT_EQ((unsigned long)sequence_called, record->ips[0]);
	EXPECT_TRUE(in_function(record->ips[1], CHAIN_RANGE(sequence_caller)));
}

/* Without a flush the stack begins where the program is sent to. */
TEST_F(insn, rseq_preempted)
{
	struct rseq *rseq = this_rseq();
	pid_t neighbour;

	ASSERT_NE(NULL, rseq);
	neighbour = start_neighbour();
	ASSERT_LT(0, neighbour);
	open_stack(_metadata, &self->stack, (struct perf_stack_options) {
		.events	= { "rseq/rseq_ip_fixup", "syscalls/sys_enter_getppid" },
	});
	run_sequence(rseq, 0);
	perf_stack_read(&self->stack);
	stop_neighbour(neighbour);

	expect_abort(_metadata, &self->stack, true);
}

static void empty_handler(int signr)
{
}

/* Here the program is sent there while the frame of a signal is made. */
TEST_F(insn, rseq_signal)
{
	struct sigaction action = { .sa_handler = empty_handler };
	struct rseq *rseq = this_rseq();

	ASSERT_NE(NULL, rseq);
	ASSERT_EQ(0, sigaction(SIGILL, &action, NULL));
	open_stack(_metadata, &self->stack, (struct perf_stack_options) {
		.events	= { "rseq/rseq_ip_fixup", "syscalls/sys_enter_getppid" },
	});
	run_sequence(rseq, 1);
	perf_stack_read(&self->stack);

	expect_abort(_metadata, &self->stack, false);
}

TEST_HARNESS_MAIN
