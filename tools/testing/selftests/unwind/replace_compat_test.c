// SPDX-License-Identifier: GPL-2.0
/*
 * Signals of 32-bit code have frames and a way back of their own. This program is
 * linked to addresses that 32-bit code can have, and goes there by a far jump.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "replace.h"

#define SA_RESTORER	0x04000000

#define NR32_rt_sigaction	174

/* As a system call of 32-bit code takes it. */
struct sigaction32 {
	uint32_t	handler;
	uint32_t	flags;
	uint32_t	restorer;
	uint32_t	mask[2];
};

/* With 32-bit stack @sp, let @pid have SIGUSR1. */
void interrupted32(unsigned long sp, pid_t pid);
extern const char interrupted32_here[], handler32[], handler32_here[], restorer32[],
		  restorer32_here[], restorer32_with_info[], restorer32_with_info_here[];
asm(".pushsection text_of_compat, \"ax\", @progbits\n"
	".globl interrupted32\n"
	"interrupted32:\n"
	/* Signals of 32-bit code keep 32 bits of each register. */
	"push %rbx\n"
	"push %rbp\n"
	"mov %rsp, interrupted32_stack(%rip)\n"
	"mov %esi, %ebx\n"
	"mov %rdi, %rsp\n"
	"ljmpl *3f(%rip)\n"
	".code32\n"
	"1:\n"
	"mov $37, %eax\n"		/* kill */
	"mov $10, %ecx\n"
	"int $0x80\n"
	ASM_LABEL(interrupted32_here)
	"ljmp $0x33, $2f\n"		/* __USER_CS */
	ASM_LABEL(handler32)
	"mov $64, %eax\n"		/* getppid */
	"int $0x80\n"
	ASM_LABEL(handler32_here)
	"ret\n"
	ASM_LABEL(restorer32)
	"pop %eax\n"
	"mov $119, %eax\n"		/* sigreturn */
	"int $0x80\n"
	ASM_LABEL(restorer32_here)
	"ud2\n"
	ASM_LABEL(restorer32_with_info)
	"mov $173, %eax\n"		/* rt_sigreturn */
	"int $0x80\n"
	ASM_LABEL(restorer32_with_info_here)
	"ud2\n"
	".code64\n"
	"2:\n"
	"mov interrupted32_stack(%rip), %rsp\n"
	"pop %rbp\n"
	"pop %rbx\n"
	"ret\n"
	"3:\n"
	".long 1b\n"
	".word 0x23\n"			/* __USER32_CS */
	".popsection\n");

unsigned long interrupted32_stack;

static long syscall32(long nr, unsigned long arg0, const void *arg1, const void *arg2,
		      long arg3)
{
	long ret;

	asm volatile("int $0x80"
		     : "=a"(ret)
		     : "0"(nr), "b"(arg0), "c"(arg1), "d"(arg2), "S"(arg3)
		     : "r8", "r9", "r10", "r11", "memory");
	return ret;
}

/* Where a pointer of 32 bits reaches it. */
static struct sigaction32 low_action;

FIXTURE(compat)
{
	struct perf_stack stack;
};

FIXTURE_VARIANT(compat)
{
	unsigned int flags;
	const char *restorer;
	const char *restorer_here;
};

FIXTURE_VARIANT_ADD(compat, sigreturn)
{
	.restorer = restorer32, .restorer_here = restorer32_here,
};

FIXTURE_VARIANT_ADD(compat, rt_sigreturn)
{
	.flags = SA_SIGINFO,
	.restorer = restorer32_with_info, .restorer_here = restorer32_with_info_here,
};

FIXTURE_SETUP(compat)
{
	low_action = (struct sigaction32) {
		.handler	= (unsigned long)handler32,
		.flags		= variant->flags | SA_RESTORER,
		.restorer	= (unsigned long)variant->restorer,
	};
}

FIXTURE_TEARDOWN(compat)
{
	perf_stack_close(&self->stack);
}

/* The number of stacks that begin at @ip. */
static int count(const struct perf_stack *stack, const char *ip)
{
	int i, found = 0;

	for (i = 0; i < stack->nr_records; i++) {
		const struct perf_stack_record *record = &stack->records[i];

		found += record->nr && record->ips[0] == (unsigned long)ip;
	}
	return found;
}

static void interrupt_me(struct __test_metadata *_metadata, struct perf_stack *stack,
			 const struct perf_stack_options *options)
{
	const size_t size = 65536;
	void *stack32;

	stack32 = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	ASSERT_NE(MAP_FAILED, stack32);
	ASSERT_EQ(0, syscall32(NR32_rt_sigaction, SIGUSR1, &low_action, NULL, 8));
	ASSERT_EQ(0, perf_stack_open(stack, options))
		TH_LOG("cannot open the events (root and tracefs are needed): %s",
		       strerror(errno));
	interrupted32((unsigned long)stack32 + size, getpid());
	perf_stack_read(stack);
	ASSERT_FALSE(stack->broken);
}

/* Without a flush the stack is that of the handler. */
TEST_F(compat, delivery)
{
	struct perf_stack_options options = {
		.events	= { "signal/signal_deliver" },
		.filter	= "sig == 10",
		.type	= PERF_UNWIND_TYPE_SFRAME,
	};
	struct perf_stack *stack = &self->stack;

	interrupt_me(_metadata, stack, &options);
	ASSERT_EQ(1, stack->nr_samples);
	ASSERT_NE(0, stack->samples[0].cookie);
	EXPECT_EQ(0, perf_stack_astray(stack));
	EXPECT_EQ(1, count(stack, interrupted32_here));
}

/*
 * Interrupted code, handler, restorer, interrupted code: each has its own cookie, and
 * a stack that begins there, although all registers change before it is walked.
 */
TEST_F(compat, way_back)
{
	struct perf_stack_options options = {
		.events	= { "signal/signal_deliver", "raw_syscalls/sys_enter",
			    "raw_syscalls/sys_exit" },
		.filter	= "sig == 10",
		.type	= PERF_UNWIND_TYPE_SFRAME,
	};
	struct perf_stack *stack = &self->stack;
	int i, restored = 0;

	interrupt_me(_metadata, stack, &options);
	EXPECT_EQ(0, perf_stack_astray(stack));
	for (i = 1; i < stack->nr_samples; i++) {
		const struct perf_stack_sample *sample = &stack->samples[i];

		ASSERT_NE(0, sample->cookie);
		if (sample->ip != sample[-1].ip)
			EXPECT_NE(sample->cookie, sample[-1].cookie);
		restored += sample[-1].ip == (unsigned long)variant->restorer_here &&
			    sample->ip == (unsigned long)interrupted32_here;
	}
	EXPECT_EQ(1, restored);
	/* kill() and the signal are one entry, the way back is another one. */
	EXPECT_LE(2, count(stack, interrupted32_here));
	EXPECT_LE(1, count(stack, handler32_here));
	EXPECT_LE(1, count(stack, variant->restorer_here));
}

TEST_HARNESS_MAIN
