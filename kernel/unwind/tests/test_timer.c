// SPDX-License-Identifier: GPL-2.0
/*
 * Clients of the unwinder for tests: timers that trigger.
 */
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/hrtimer.h>
#include <linux/percpu.h>
#include <linux/smp.h>

#include "test_module.h"

/**
 * struct test_timer - the timer of one CPU
 * @source:	what it belongs to, NULL if this CPU has none
 * @hrtimer:	the timer
 */
struct test_timer {
	struct test_source	*source;
	struct hrtimer		hrtimer;
};

static enum hrtimer_restart timer_expired(struct hrtimer *hrtimer)
{
	struct test_timer *timer = container_of(hrtimer, struct test_timer, hrtimer);

	test_source_hit(timer->source, test_user_ip());
	hrtimer_forward_now(hrtimer, ns_to_ktime(timer->source->options.period));
	return HRTIMER_RESTART;
}

/* On the CPU that it is to stay on. */
static void start_timer(void *data)
{
	struct test_timer *timer = data;
	const struct unwind_test_source *options = &timer->source->options;
	enum hrtimer_mode mode = HRTIMER_MODE_REL_PINNED_HARD;

	if (options->kind == UNWIND_TEST_TIMER_SOFT)
		mode = HRTIMER_MODE_REL_PINNED_SOFT;
	hrtimer_init(&timer->hrtimer, CLOCK_MONOTONIC, mode);
	timer->hrtimer.function = timer_expired;
	hrtimer_start(&timer->hrtimer, ns_to_ktime(options->period), mode);
}

/**
 * test_timer_start - start the timers of a source
 * @source:	the source
 *
 * Return: 0, -EINVAL, -ENOMEM, or -ENXIO if there is no such CPU
 */
int test_timer_start(struct test_source *source)
{
	const struct unwind_test_source *options = &source->options;
	unsigned int cpu, started = 0;

	if (options->period < UNWIND_TEST_MIN_PERIOD || options->cpu < -1)
		return -EINVAL;
	source->timers = alloc_percpu(struct test_timer);
	if (!source->timers)
		return -ENOMEM;

	cpus_read_lock();
	for_each_online_cpu(cpu) {
		struct test_timer *timer = per_cpu_ptr(source->timers, cpu);

		if (options->cpu != -1 && options->cpu != cpu)
			continue;
		timer->source = source;
		if (smp_call_function_single(cpu, start_timer, timer, 1))
			timer->source = NULL;
		else
			started++;
	}
	cpus_read_unlock();
	if (started)
		return 0;
	free_percpu(source->timers);
	return -ENXIO;
}

void test_timer_stop(struct test_source *source)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		struct test_timer *timer = per_cpu_ptr(source->timers, cpu);

		if (timer->source)
			hrtimer_cancel(&timer->hrtimer);
	}
	free_percpu(source->timers);
}
