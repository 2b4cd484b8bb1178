// SPDX-License-Identifier: GPL-2.0
/* Which stack belongs to which sample, and does it. */
#include <stdio.h>
#include <stdlib.h>

#include "perf_stack_check.h"

/**
 * perf_stack_of - the stack of a sample
 * @stack: after perf_stack_read()
 * @sample: one of its samples
 *
 * Return: the first one with the cookie of @sample, NULL if there is none.
 */
const struct perf_stack_record *perf_stack_of(const struct perf_stack *stack,
					      const struct perf_stack_sample *sample)
{
	unsigned int i;

	for (i = 0; i < stack->nr_records; i++) {
		if (sample->cookie && stack->records[i].cookie == sample->cookie)
			return &stack->records[i];
	}
	return NULL;
}

static int compare_cookies(const void *left, const void *right)
{
	const struct perf_stack_record *a = *(const struct perf_stack_record **)left;
	const struct perf_stack_record *b = *(const struct perf_stack_record **)right;

	return a->cookie < b->cookie ? -1 : a->cookie > b->cookie;
}

static const struct perf_stack_record **sort_records(const struct perf_stack *stack)
{
	const struct perf_stack_record **sorted;
	unsigned int i;

	sorted = calloc(stack->nr_records + 1, sizeof(*sorted));
	if (!sorted)
		abort();
	for (i = 0; i < stack->nr_records; i++)
		sorted[i] = &stack->records[i];
	qsort(sorted, stack->nr_records, sizeof(*sorted), compare_cookies);
	return sorted;
}

/* The first of @sorted, which ends with NULL, that does not come before @cookie. */
static const struct perf_stack_record **
find_cookie(const struct perf_stack_record **sorted, unsigned int nr, __u64 cookie)
{
	while (nr) {
		unsigned int half = nr / 2;

		if (sorted[half]->cookie < cookie) {
			sorted += half + 1;
			nr -= half + 1;
		} else {
			nr = half;
		}
	}
	return sorted;
}

/* All stacks of that cookie: there may be more than one, they must not differ. */
static bool stacks_begin_at(const struct perf_stack_record **records,
			    const struct perf_stack_sample *sample)
{
	bool found = false;

	for (; *records && (*records)->cookie == sample->cookie; records++) {
		const struct perf_stack_record *record = *records;

		found = true;
		if (!record->nr || record->ips[0] != sample->ip ||
		    record->tid != sample->tid) {
			fprintf(stderr,
				"# event %u of %d at %llx: %u entries from %llx of %d, end %u\n",
				sample->event, sample->tid, sample->ip, record->nr,
				record->nr ? record->ips[0] : 0, record->tid, record->end);
			return false;
		}
	}
	if (!found)
		fprintf(stderr, "# event %u at %llx: no stack\n", sample->event, sample->ip);
	return found;
}

/**
 * perf_stack_astray - compare samples and stacks
 * @stack: after perf_stack_read()
 *
 * The quick test of all that this is about: a stack begins where the thread was
 * when the sample was taken, and is of the same thread.
 *
 * Return: number of samples that were promised a stack and have none, or that of
 *	   another moment, no more than a few, which are printed.
 */
unsigned int perf_stack_astray(const struct perf_stack *stack)
{
	const struct perf_stack_record **sorted = sort_records(stack);
	unsigned int i, astray = 0;

	for (i = 0; i < stack->nr_samples && astray < 8; i++) {
		const struct perf_stack_sample *sample = &stack->samples[i];

		if (sample->cookie &&
		    !stacks_begin_at(find_cookie(sorted, stack->nr_records, sample->cookie),
				     sample))
			astray++;
	}
	free(sorted);
	return astray;
}
