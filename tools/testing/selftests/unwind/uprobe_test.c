// SPDX-License-Identifier: GPL-2.0
/*
 * A uprobe stands in place of an instruction, which the kernel emulates, or has the
 * task execute somewhere else. The stack of the event begins at the probed
 * instruction, and that somewhere is in no stack.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "replace.h"

/*
 * An instruction of each kind. Emulated are push of a register, nop, jmp, jcc and
 * call of an address; the others are executed out of line.
 */
long probed(const void *page);
extern const char probed_push[], probed_mov[], probed_nop[], probed_jmp[], probed_jcc[],
		  probed_call[], probed_called[], probed_lea[], probed_indirect[],
		  probed_indirectly_called[], probed_load[], probed_loaded[],
		  probed_pop[], probed_ret[], probed_jmped[];
ASM_FUNCTION(probed,
	ASM_LABEL(probed_push)
	"push %rbp\n"
	".cfi_adjust_cfa_offset 8\n"
	".cfi_offset %rbp, -16\n"
	ASM_LABEL(probed_mov)
	"mov %rsp, %rbp\n"
	".cfi_def_cfa_register %rbp\n"
	ASM_LABEL(probed_nop)
	"nop\n"
	ASM_LABEL(probed_jmp)
	"jmp 1f\n"
	"ud2\n"
	ASM_LABEL(probed_jmped)
	"1: cmp %rsp, %rbp\n"
	ASM_LABEL(probed_jcc)
	"jne 1b\n"
	ASM_LABEL(probed_call)
	"call probed_leaf\n"
	ASM_LABEL(probed_called)
	ASM_LABEL(probed_lea)
	"lea probed_leaf(%rip), %rax\n"
	ASM_LABEL(probed_indirect)
	"call *%rax\n"
	ASM_LABEL(probed_indirectly_called)
	ASM_LABEL(probed_load)
	"mov (%rdi), %rax\n"
	ASM_LABEL(probed_loaded)
	"mov $110, %eax\n"		/* getppid */
	"syscall\n"
	ASM_LABEL(probed_pop)
	"pop %rbp\n"
	".cfi_def_cfa %rsp, 8\n"
	ASM_LABEL(probed_ret)
	"ret\n");

extern const char probed_leaf[], probed_leaf_ret[];
ASM_FUNCTION(probed_leaf,
	"xor %eax, %eax\n"
	ASM_LABEL(probed_leaf_ret)
	"ret\n");

void call_probed(const void *page);
extern const char returned[];
ASM_FUNCTION(call_probed,
	"push %rbx\n"
	".cfi_adjust_cfa_offset 8\n"
	"call probed\n"
	ASM_LABEL(returned)
	"pop %rbx\n"
	".cfi_adjust_cfa_offset -8\n"
	"ret\n");

FIXTURE(uprobe)
{
	struct perf_stack stack;
	void *page;
};

/* Where execution goes on, NULL for the caller, and if it is executed out of line. */
FIXTURE_VARIANT(uprobe)
{
	const char *addr;
	const char *next;
	int copied;
};

#define EMULATED(name, to)							\
	FIXTURE_VARIANT_ADD(uprobe, name) { .addr = probed_##name, .next = to }
#define COPIED(name, to)							\
	FIXTURE_VARIANT_ADD(uprobe, name)					\
	{									\
		.addr = probed_##name, .next = to, .copied = 1			\
	}

EMULATED(push, probed_mov);
EMULATED(nop, probed_jmp);
EMULATED(jmp, probed_jmped);
EMULATED(jcc, probed_call);
EMULATED(call, probed_leaf);
COPIED(mov, probed_nop);
COPIED(lea, probed_indirect);
COPIED(indirect, probed_leaf);
COPIED(load, probed_loaded);
COPIED(pop, probed_ret);
COPIED(ret, NULL);

FIXTURE_SETUP(uprobe)
{
	self->page = mmap(NULL, getpagesize(), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->page);
}

FIXTURE_TEARDOWN(uprobe)
{
	perf_stack_close(&self->stack);
}

static void open_stack(struct __test_metadata *_metadata, struct perf_stack *stack,
		       struct perf_stack_options options)
{
	options.type = PERF_UNWIND_TYPE_SFRAME;
	ASSERT_EQ(0, perf_stack_open(stack, &options))
		TH_LOG("cannot open the events (root and tracefs are needed): %s",
		       strerror(errno));
}

/* Where instructions are executed out of line; empty before the first one is. */
static struct chain_range out_of_line(void)
{
	struct chain_range range = {};
	unsigned long start, end;
	char line[512];
	FILE *maps;

	maps = fopen("/proc/self/maps", "r");
	while (maps && fgets(line, sizeof(line), maps)) {
		if (strstr(line, "[uprobes]") && sscanf(line, "%lx-%lx", &start, &end) == 2)
			range = (struct chain_range) { (char *)start, (char *)end };
	}
	if (maps)
		fclose(maps);
	return range;
}

static void expect_in_line(struct __test_metadata *_metadata, const struct perf_stack *stack)
{
	struct chain_range away = out_of_line();
	int i, j;

	for (i = 0; i < stack->nr_records; i++) {
		for (j = 0; j < stack->records[i].nr; j++) {
			__u64 ip = stack->records[i].ips[j];

			EXPECT_FALSE(ip >= (unsigned long)away.start &&
				     ip < (unsigned long)away.end)
				TH_LOG("entry %d of stack %d is out of line", j, i);
		}
	}
}

/* @ip in probed(), or in the leaf function called at @call, and the callers. */
static void expect_stack(struct __test_metadata *_metadata,
			 const struct perf_stack_record *record, unsigned long ip,
			 const char *called)
{
	int caller = called ? 2 : 1;

	ASSERT_NE(NULL, record);
	ASSERT_LT(caller + 1, record->nr);
	EXPECT_EQ(ip, record->ips[0]);
	if (called)
		EXPECT_EQ((unsigned long)called, record->ips[1]);
	EXPECT_TRUE(in_function(record->ips[caller], CHAIN_RANGE(call_probed)))
		TH_LOG("the caller is %llx", record->ips[caller]);
	/* libc, which called main(), has no table. */
	EXPECT_EQ(PERF_CALLCHAIN_END_NO_TABLE, record->end);
}

/*
 * Without help the stack is walked after the instruction: from the next one or from
 * the copy, and with one word more or less.
 */
TEST_F(uprobe, one)
{
	const struct perf_stack_uprobe uprobe = { .addr = variant->addr };
	struct perf_stack *stack = &self->stack;

	open_stack(_metadata, stack, (struct perf_stack_options) {
		.uprobes	= &uprobe,
		.nr_uprobes	= 1,
	});
	call_probed(self->page);
	perf_stack_read(stack);

	ASSERT_FALSE(stack->broken);
	ASSERT_EQ(1, stack->nr_samples);
	EXPECT_EQ(1, stack->nr_records);
	ASSERT_EQ((unsigned long)variant->addr, stack->samples[0].ip);
	ASSERT_NE(0, stack->samples[0].cookie);
	expect_stack(_metadata, perf_stack_of(stack, &stack->samples[0]),
		     (unsigned long)variant->addr, NULL);
	expect_in_line(_metadata, stack);
}

/*
 * Another event while the copy is executed (a fault), or when that is done and the
 * registers have not been put right yet (the trap). The stack begins at the probed
 * instruction, that of the trap perhaps behind it.
 */
static void expect_stack_of_copy(struct __test_metadata *_metadata,
				 const struct perf_stack_record *record,
				 const char *addr, const char *next)
{
	unsigned long ip;

	ASSERT_NE(NULL, record);
	ASSERT_LT(2, record->nr);
	ip = record->ips[0];
	EXPECT_TRUE(ip == (unsigned long)addr || ip == (unsigned long)next)
		TH_LOG("it begins at %lx, not at %p or %p", ip, addr, next);
	/* A called function has its caller first. */
	if (ip == (unsigned long)probed_leaf) {
		EXPECT_EQ((unsigned long)probed_indirectly_called, record->ips[1]);
	} else if (ip != (unsigned long)returned) {
		EXPECT_TRUE(in_function(record->ips[1], CHAIN_RANGE(call_probed)))
			TH_LOG("the caller is %llx", record->ips[1]);
	}
	EXPECT_EQ(PERF_CALLCHAIN_END_NO_TABLE, record->end);
}

TEST_F(uprobe, copy)
{
	const struct perf_stack_uprobe uprobe = { .addr = variant->addr };
	const char *next = variant->next ?: returned;
	struct perf_stack *stack = &self->stack;
	struct chain_range away;
	int i, traps = 0;

	open_stack(_metadata, stack, (struct perf_stack_options) {
		.events		= { "exceptions/page_fault_user" },
		.probe		= "uprobe_post_sstep_notifier",
		.uprobes	= &uprobe,
		.nr_uprobes	= 1,
	});
	call_probed(self->page);
	perf_stack_read(stack);
	away = out_of_line();

	ASSERT_FALSE(stack->broken);
	for (i = 0; i < stack->nr_samples; i++) {
		const struct perf_stack_sample *sample = &stack->samples[i];
		bool fault = sample->event == 0 && in_function(sample->ip, away);
		bool trap = sample->event == 1;

		if (!fault && !trap)
			continue;
		traps += trap;
		ASSERT_NE(0, sample->cookie);
		expect_stack_of_copy(_metadata, perf_stack_of(stack, sample), variant->addr,
				     trap ? next : variant->addr);
	}
	expect_in_line(_metadata, stack);
	EXPECT_EQ(variant->copied, traps);
}

/* All instructions, one after another. */
static const struct {
	const char *addr, *called;
} all[] = {
	{ probed_push }, { probed_mov }, { probed_nop }, { probed_jmp }, { probed_jcc },
	{ probed_call },
	{ probed_leaf, probed_called }, { probed_leaf_ret, probed_called },
	{ probed_lea }, { probed_indirect },
	{ probed_leaf, probed_indirectly_called },
	{ probed_leaf_ret, probed_indirectly_called },
	{ probed_load },
	{ probed_pop },		/* the system call, which is no uprobe */
	{ probed_pop }, { probed_ret },
};

FIXTURE(uprobes)
{
	struct perf_stack stack;
};

FIXTURE_SETUP(uprobes)
{
}

FIXTURE_TEARDOWN(uprobes)
{
	perf_stack_close(&self->stack);
}

TEST_F(uprobes, in_order)
{
	struct perf_stack_uprobe uprobes[ARRAY_SIZE(all)];
	struct perf_stack *stack = &self->stack;
	int i, j, nr = 0;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		for (j = 0; j < nr && uprobes[j].addr != all[i].addr; j++)
			;
		if (j == nr)
			uprobes[nr++] = (struct perf_stack_uprobe) { .addr = all[i].addr };
	}
	open_stack(_metadata, stack, (struct perf_stack_options) {
		.events		= { "syscalls/sys_enter_getppid" },
		.uprobes	= uprobes,
		.nr_uprobes	= nr,
	});
	call_probed(&all);
	perf_stack_read(stack);

	ASSERT_FALSE(stack->broken);
	ASSERT_EQ(ARRAY_SIZE(all), stack->nr_samples);
	for (i = 0; i < ARRAY_SIZE(all); i++) {
		const struct perf_stack_sample *sample = &stack->samples[i];
		const struct perf_stack_record *record = perf_stack_of(stack, sample);

		ASSERT_NE(0, sample->cookie);
		EXPECT_TRUE(!i || sample[-1].cookie != sample->cookie);
		EXPECT_EQ((unsigned long)all[i].addr, sample->ip);
		expect_stack(_metadata, record, (unsigned long)all[i].addr, all[i].called);
	}
	expect_in_line(_metadata, stack);
}

TEST_HARNESS_MAIN
