// SPDX-License-Identifier: GPL-2.0
/*
 * Events that the way back to user space itself brings about. Each stack that they
 * ask for means one more look at the work to do, which is one more event: a task
 * must get back all the same.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "../kselftest_harness.h"
#include "replace.h"

/* How often the same stack is delivered once more. */
#define MAX_AGAIN	8
#define ROUNDS		20

static void CHAIN_FUNCTION(sleeper) sleep_a_little(void)
{
	const struct timespec time = { .tv_nsec = 1000000 };

	raw_syscall(SYS_nanosleep, (long)&time, 0, 0, 0);
}

FIXTURE(way_back)
{
	struct perf_stack stack;
	pid_t neighbour;
};

FIXTURE_VARIANT(way_back)
{
	const char *event;
	unsigned int type;
};

/* Once in each pass, before the return is certain. */
FIXTURE_VARIANT_ADD(way_back, rseq_update)
{
	.event = "rseq/rseq_update", .type = PERF_UNWIND_TYPE_SFRAME,
};

FIXTURE_VARIANT_ADD(way_back, rseq_update_fp)
{
	.event = "rseq/rseq_update", .type = PERF_UNWIND_TYPE_FP,
};

/* Who is preempted has its restartable sequences looked at before it goes back. */
FIXTURE_SETUP(way_back)
{
	self->neighbour = start_neighbour();
	ASSERT_LT(0, self->neighbour);
}

FIXTURE_TEARDOWN(way_back)
{
	stop_neighbour(self->neighbour);
	perf_stack_close(&self->stack);
}

static unsigned int count_records(const struct perf_stack *stack, __u64 cookie)
{
	unsigned int i, found = 0;

	for (i = 0; i < stack->nr_records; i++)
		found += stack->records[i].cookie == cookie;
	return found;
}

/* Without a limit it never comes back. */
TEST_F(way_back, is_found)
{
	struct perf_stack_options options = {
		.events	= { variant->event },
		.type	= variant->type,
		.pages	= 256,
	};
	struct perf_stack *stack = &self->stack;
	unsigned int i, refused = 0;

	ASSERT_EQ(0, perf_stack_open(stack, &options))
		TH_LOG("cannot open %s (root and tracefs are needed): %s",
		       variant->event, strerror(errno));
	for (i = 0; i < ROUNDS; i++)
		sleep_a_little();
	perf_stack_read(stack);

	ASSERT_FALSE(stack->broken);
	ASSERT_LE(ROUNDS, stack->nr_samples);
	EXPECT_EQ(0, perf_stack_astray(stack));
	for (i = 0; i < stack->nr_samples; i++) {
		const struct perf_stack_sample *sample = &stack->samples[i];

		refused += !sample->cookie;
		if (sample->cookie) {
			ASSERT_GE(1 + MAX_AGAIN, count_records(stack, sample->cookie));
		}
	}
	/* The last event of a return is not the first one that is too much. */
	EXPECT_LT(0, refused);
	EXPECT_LT(refused, stack->nr_samples / 2);
}

TEST_HARNESS_MAIN
