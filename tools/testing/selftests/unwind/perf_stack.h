/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Deferred user-space stacks of the system calls of a thread, by way of perf.
 */
#ifndef _PERF_STACK_H
#define _PERF_STACK_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define PERF_STACK_MAX_SAMPLES	16
#define PERF_STACK_MAX_RECORDS	16
#define PERF_STACK_MAX_ENTRIES	512

/**
 * struct perf_stack_options - what to open
 * @events:	names of events below /sys/kernel/tracing/events/, up to two; the
 *		first one gets the stacks
 * @probe:	a function of the kernel whose entry is the second event, or NULL
 * @type:	PERF_UNWIND_TYPE_*
 * @max_stack:	sample_max_stack, 0 for the default
 * @pid:	the thread, 0 for the calling one
 */
struct perf_stack_options {
	const char	*events[2];
	const char	*probe;
	unsigned int	type;
	unsigned int	max_stack;
	pid_t		pid;
};

/**
 * struct perf_stack_sample - one PERF_RECORD_SAMPLE
 * @cookie:	name of the stack that comes later, 0 if none does
 * @nr:		number of entries of the user part that the sample has itself
 */
struct perf_stack_sample {
	__u64		cookie;
	unsigned int	nr;
};

/**
 * struct perf_stack_record - one PERF_RECORD_CALLCHAIN_DEFERRED
 * @cookie:	name of the stack
 * @nr:		number of @ips
 * @end:	PERF_CALLCHAIN_END_*
 * @fp:		PERF_RECORD_MISC_CALLCHAIN_FP was set
 * @ips:	the stack
 */
struct perf_stack_record {
	__u64		cookie;
	unsigned int	nr;
	unsigned int	end;
	bool		fp;
	__u64		ips[PERF_STACK_MAX_ENTRIES];
};

/**
 * struct perf_stack - the events, and what they brought; zeroed before its use
 * @samples:	the samples, in order
 * @nr_samples:	number of @samples
 * @records:	the stacks, in order
 * @nr_records:	number of @records
 * @broken:	a record that does not hold what its header says, or was lost
 */
struct perf_stack {
	struct perf_stack_sample	samples[PERF_STACK_MAX_SAMPLES];
	unsigned int			nr_samples;
	struct perf_stack_record	records[PERF_STACK_MAX_RECORDS];
	unsigned int			nr_records;
	bool				broken;

	/* private */
	bool				opened;
	bool				probing;
	int				fds[2];
	void				*ring;
	size_t				ring_size;
};

int perf_stack_open(struct perf_stack *stack, const struct perf_stack_options *options);
void perf_stack_read(struct perf_stack *stack);
void perf_stack_close(struct perf_stack *stack);

#endif /* _PERF_STACK_H */
