// SPDX-License-Identifier: GPL-2.0
/*
 * What of the deferral needs no task: cookies, and the numbers of registers.
 */
#include <kunit/test.h>
#include <linux/ptrace.h>

#include "../internal.h"

#define COOKIE(cpu, count)	((u64)(cpu) << UNWIND_COOKIE_CPU_SHIFT | (count))

static void cookies_count_from_one(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, unwind_cookie_after(COOKIE(0, 0)), COOKIE(0, 1));
	KUNIT_EXPECT_EQ(test, unwind_cookie_after(COOKIE(0, 1)), COOKIE(0, 2));
	KUNIT_EXPECT_EQ(test, unwind_cookie_after(COOKIE(511, 0)), COOKIE(511, 1));
}

/* Neither into the number of the CPU, nor to the cookie that is none. */
static void count_wraps_within_its_bits(struct kunit *test)
{
	u64 last = UNWIND_COOKIE_COUNT;

	KUNIT_EXPECT_EQ(test, unwind_cookie_after(COOKIE(0, last)), COOKIE(0, 1));
	KUNIT_EXPECT_EQ(test, unwind_cookie_after(COOKIE(1, last)), COOKIE(1, 1));
	KUNIT_EXPECT_EQ(test, unwind_cookie_after(COOKIE(0xffff, last)), COOKIE(0xffff, 1));
	KUNIT_EXPECT_EQ(test, unwind_cookie_after(COOKIE(7, last - 1)), COOKIE(7, last));
}

/* The same for the cookies that this CPU gives out, just before the count wraps. */
static void cpu_gives_out_wrapped_count(struct kunit *test)
{
	u64 before, cookies[3];
	unsigned int cpu;

	preempt_disable();
	cpu = smp_processor_id();
	before = this_cpu_read(unwind_last_cookie);
	this_cpu_write(unwind_last_cookie, COOKIE(cpu, UNWIND_COOKIE_COUNT - 1));
	cookies[0] = unwind_next_cookie();
	cookies[1] = unwind_next_cookie();
	cookies[2] = unwind_next_cookie();
	this_cpu_write(unwind_last_cookie, before);
	preempt_enable();

	KUNIT_EXPECT_EQ(test, cookies[0], COOKIE(cpu, UNWIND_COOKIE_COUNT));
	KUNIT_EXPECT_EQ(test, cookies[1], COOKIE(cpu, 1));
	KUNIT_EXPECT_EQ(test, cookies[2], COOKIE(cpu, 2));
}

static void every_cpu_starts_with_its_number(struct kunit *test)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		KUNIT_EXPECT_EQ(test, per_cpu(unwind_last_cookie, cpu) >> UNWIND_COOKIE_CPU_SHIFT,
				cpu);
}

/* A register by its number is the one that a tracer writes by its offset. */
static void registers_have_one_number(struct kunit *test)
{
	struct pt_regs regs = {};
	unsigned long value;
	unsigned int reg;

	KUNIT_EXPECT_EQ(test, unwind_user_reg_number(offsetof(struct pt_regs, sp)),
			UNWIND_USER_REG_SP);
	KUNIT_EXPECT_EQ(test, unwind_user_reg_number(offsetof(struct pt_regs, ip)),
			UNWIND_USER_REG_IP);
	KUNIT_EXPECT_EQ(test, unwind_user_reg_number(offsetof(struct pt_regs, bp)),
			UNWIND_USER_REG_FP);
	KUNIT_EXPECT_EQ(test, unwind_user_reg_number(offsetof(struct pt_regs, orig_ax)),
			UNWIND_USER_NR_REGS);
	KUNIT_EXPECT_EQ(test, unwind_user_reg_number(offsetof(struct pt_regs, flags)),
			UNWIND_USER_NR_REGS);

	for (reg = 0; reg < UNWIND_USER_REG_IP; reg++) {
		*(unsigned long *)((void *)&regs + unwind_user_reg_offsets[reg]) = reg + 100;
		KUNIT_ASSERT_TRUE(test, unwind_user_reg(&regs, reg, &value));
		KUNIT_EXPECT_EQ(test, value, reg + 100);
	}
	KUNIT_EXPECT_FALSE(test, unwind_user_reg(&regs, UNWIND_USER_REG_IP, &value));
	KUNIT_EXPECT_FALSE(test, unwind_user_reg(&regs, UINT_MAX, &value));
}

static struct kunit_case unwind_deferral_cases[] = {
	KUNIT_CASE(cookies_count_from_one),
	KUNIT_CASE(count_wraps_within_its_bits),
	KUNIT_CASE(cpu_gives_out_wrapped_count),
	KUNIT_CASE(every_cpu_starts_with_its_number),
	KUNIT_CASE(registers_have_one_number),
	{}
};

static struct kunit_suite unwind_deferral_suite = {
	.name		= "unwind-deferral",
	.test_cases	= unwind_deferral_cases,
};
kunit_test_suite(unwind_deferral_suite);
