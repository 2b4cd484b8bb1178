// SPDX-License-Identifier: GPL-2.0
/*
 * A uretprobe puts an address of its own in place of a return address. No stack has
 * it: all of them are what they are without uretprobes.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "../kselftest_harness.h"
#include "replace.h"

#define MAX_DEPTH	16

#ifdef CHAIN_FP
#define TYPE		PERF_UNWIND_TYPE_FP
#else
#define TYPE		PERF_UNWIND_TYPE_SFRAME
#endif

/* outer -> middle -> inner, which makes the system call. */
static long CHAIN_FUNCTION(inner) inner(void)
{
	long ret;

	spoil_frame_pointer();
	ret = raw_syscall(SYS_getppid, 0, 0, 0, 0);
	asm volatile("" : "+r"(ret));
	return ret;
}

static long CHAIN_FUNCTION(middle) middle(void)
{
	long ret;

	spoil_frame_pointer();
	ret = inner();
	asm volatile("" : "+r"(ret));
	return ret;
}

static long CHAIN_FUNCTION(outer) outer(void)
{
	long ret;

	spoil_frame_pointer();
	ret = middle();
	asm volatile("" : "+r"(ret));
	return ret;
}

/* Calls itself four times before it makes the system call. */
static long CHAIN_FUNCTION(recursive) recursive(int depth)
{
	long ret;

	spoil_frame_pointer();
	if (depth)
		ret = recursive(depth - 1);
	else
		ret = raw_syscall(SYS_getppid, 0, 0, 0, 0);
	asm volatile("" : "+r"(ret));
	return ret;
}

/* The second one returns for both. */
long tail(void);
long tail_end(void);
ASM_FUNCTION(tail_end,
	"mov $110, %eax\n"		/* getppid */
	"syscall\n"
	"ret\n");
ASM_FUNCTION(tail,
	"jmp tail_end\n");

static long CHAIN_FUNCTION(chains) call_chains(void)
{
	long ret;

	ret = outer();
	asm volatile("" : "+r"(ret));
	ret += recursive(4);
	asm volatile("" : "+r"(ret));
	ret += tail();
	asm volatile("" : "+r"(ret));
	return ret;
}

enum { OUTER, RECURSIVE, TAIL, NR_CHAINS };

/* The stacks of the system calls up to where they have to be the same in all tests. */
struct chain {
	unsigned int	nr;
	__u64		ips[MAX_DEPTH];
};

FIXTURE(uretprobe)
{
	struct perf_stack stack;
	struct chain plain[NR_CHAINS];
};

static void CHAIN_FUNCTION(measure)
measure(struct __test_metadata *_metadata, struct perf_stack *stack,
	const struct perf_stack_uprobe *uprobes, const char *event)
{
	struct perf_stack_options options = {
		.events		= { "syscalls/sys_enter_getppid", event },
		.uprobes	= uprobes,
		.type		= TYPE,
	};

	while (uprobes && uprobes[options.nr_uprobes].addr)
		options.nr_uprobes++;
	ASSERT_EQ(0, perf_stack_open(stack, &options))
		TH_LOG("cannot open the events (root and tracefs are needed): %s",
		       strerror(errno));
	call_chains();
	perf_stack_read(stack);
	ASSERT_FALSE(stack->broken);
}

/* @record has to be what @chain is from entry @from on. */
static void expect_chain(struct __test_metadata *_metadata,
			 const struct perf_stack_record *record,
			 const struct chain *chain, int from)
{
	int i;

	ASSERT_NE(NULL, record);
	ASSERT_LE(chain->nr, record->nr + from);
	for (i = from; i < chain->nr; i++) {
		EXPECT_EQ(chain->ips[i], record->ips[i - from])
			TH_LOG("entry %d is %llx, not %llx", i - from,
			       record->ips[i - from], chain->ips[i]);
	}
#ifndef CHAIN_FP
	/* libc, which called main(), has no table. */
	EXPECT_EQ(PERF_CALLCHAIN_END_NO_TABLE, record->end);
#endif
}

/* Sample @nr is of event @event, and has the stack of @chain from entry @from on. */
static void expect_sample(struct __test_metadata *_metadata, const struct perf_stack *stack,
			  int nr, int event, const struct chain *chain, int from)
{
	ASSERT_GT(stack->nr_samples, nr);
	ASSERT_EQ(event, stack->samples[nr].event);
	ASSERT_NE(0, stack->samples[nr].cookie);
	EXPECT_EQ(chain->ips[from], stack->samples[nr].ip);
	expect_chain(_metadata, perf_stack_of(stack, &stack->samples[nr]), chain, from);
}

/* What the stacks are without uretprobes. */
FIXTURE_SETUP(uretprobe)
{
	struct perf_stack *stack = &self->stack;
	int i, j;

	measure(_metadata, stack, NULL, NULL);
	ASSERT_EQ(NR_CHAINS, stack->nr_records);
	for (i = 0; i < NR_CHAINS; i++) {
		const struct perf_stack_record *record = &stack->records[i];
		struct chain *chain = &self->plain[i];

		for (j = 0; !chain->nr; j++) {
			ASSERT_GT(MAX_DEPTH, j);
			ASSERT_GT(record->nr, j);
			chain->ips[j] = record->ips[j];
			if (in_function(record->ips[j], CHAIN_RANGE(measure)))
				chain->nr = j + 1;
		}
	}
	perf_stack_close(stack);
}

FIXTURE_TEARDOWN(uretprobe)
{
	perf_stack_close(&self->stack);
}

/* Three functions that were called and have not returned. */
TEST_F(uretprobe, nested)
{
	const struct perf_stack_uprobe uprobes[] = {
		{ inner, .ret = true }, { middle, .ret = true }, { outer, .ret = true }, {},
	};
	struct perf_stack *stack = &self->stack;
	int i;

	measure(_metadata, stack, uprobes, NULL);
	ASSERT_EQ(NR_CHAINS + 3, stack->nr_samples);
	/* The system call, and the returns, which begin where they return to. */
	for (i = 0; i < 4; i++)
		expect_sample(_metadata, stack, i, i, &self->plain[OUTER], i);
}

/* One function that was called five times and has not returned. */
TEST_F(uretprobe, recursive)
{
	const struct perf_stack_uprobe uprobes[] = { { recursive, .ret = true }, {} };
	struct perf_stack *stack = &self->stack;
	int i;

	measure(_metadata, stack, uprobes, NULL);
	ASSERT_EQ(NR_CHAINS + 5, stack->nr_samples);
	expect_sample(_metadata, stack, 0, 0, &self->plain[OUTER], 0);
	for (i = 0; i < 6; i++)
		expect_sample(_metadata, stack, 1 + i, !!i, &self->plain[RECURSIVE], i);
}

/* Two events of one function, which may share one stack. */
TEST_F(uretprobe, two_of_a_function)
{
	const struct perf_stack_uprobe uprobes[] = {
		{ middle, .ret = true }, { middle, .ret = true }, {},
	};
	struct perf_stack *stack = &self->stack;

	measure(_metadata, stack, uprobes, NULL);
	ASSERT_EQ(NR_CHAINS + 2, stack->nr_samples);
	expect_sample(_metadata, stack, 0, 0, &self->plain[OUTER], 0);
	EXPECT_NE(stack->samples[1].event, stack->samples[2].event);
	expect_sample(_metadata, stack, 1, stack->samples[1].event, &self->plain[OUTER], 2);
	expect_sample(_metadata, stack, 2, stack->samples[2].event, &self->plain[OUTER], 2);
}

#ifndef CHAIN_FP
/* Two functions that have one return address, which the second one finds replaced. */
TEST_F(uretprobe, tail_call)
{
	const struct perf_stack_uprobe uprobes[] = {
		{ tail, .ret = true }, { tail_end, .ret = true }, {},
	};
	struct perf_stack *stack = &self->stack;

	measure(_metadata, stack, uprobes, NULL);
	ASSERT_EQ(NR_CHAINS + 2, stack->nr_samples);
	expect_sample(_metadata, stack, 2, 0, &self->plain[TAIL], 0);
	expect_sample(_metadata, stack, 3, 2, &self->plain[TAIL], 1);
	expect_sample(_metadata, stack, 4, 1, &self->plain[TAIL], 1);
}

#endif /* they have no frame pointer */

/* The stack of a uprobe, whose return address is replaced after it was asked for. */
TEST_F(uretprobe, with_uprobe)
{
	const struct perf_stack_uprobe uprobes[] = {
		{ inner }, { inner, .ret = true }, { middle, .ret = true },
		{ outer, .ret = true }, {},
	};
	struct perf_stack *stack = &self->stack;
	struct chain first = self->plain[OUTER];

	first.ips[0] = (unsigned long)inner;
#ifdef CHAIN_FP
	/* The frame pointer is still that of the caller, who is not seen. */
	first.nr--;
	memmove(&first.ips[1], &first.ips[2], (first.nr - 1) * sizeof(first.ips[0]));
#endif
	measure(_metadata, stack, uprobes, NULL);
	ASSERT_EQ(NR_CHAINS + 4, stack->nr_samples);
	expect_sample(_metadata, stack, 0, 1, &first, 0);
	expect_sample(_metadata, stack, 1, 0, &self->plain[OUTER], 0);
	expect_sample(_metadata, stack, 2, 2, &self->plain[OUTER], 1);
	expect_sample(_metadata, stack, 3, 3, &self->plain[OUTER], 2);
	expect_sample(_metadata, stack, 4, 4, &self->plain[OUTER], 3);
}

/* The kernel's code that is returned to makes a system call of its own. */
TEST_F(uretprobe, trampoline)
{
	const struct perf_stack_uprobe uprobes[] = {
		{ middle, .ret = true }, { outer, .ret = true }, {},
	};
	struct perf_stack *stack = &self->stack;
	const struct perf_stack_record *record;
	struct perf_stack_record callers;
	int i;

	measure(_metadata, stack, uprobes, "syscalls/sys_enter_uretprobe");
	ASSERT_LT(2, stack->nr_samples);
	ASSERT_EQ(1, stack->samples[1].event);
	ASSERT_NE(0, stack->samples[1].cookie);
	record = perf_stack_of(stack, &stack->samples[1]);
	ASSERT_NE(NULL, record);

	/* It begins there, or at the real return address; the callers are known. */
	for (i = 0; i < record->nr && record->ips[i] != self->plain[OUTER].ips[2]; i++)
		;
	ASSERT_GE(1, i);
	ASSERT_LT(i, record->nr);
	callers = *record;
	callers.nr -= i;
	callers.ips += i;
	expect_chain(_metadata, &callers, &self->plain[OUTER], 2);
}

TEST_HARNESS_MAIN
