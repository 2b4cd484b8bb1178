/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Deferred user-space stacks of a thread, by way of perf.
 */
#ifndef _PERF_STACK_H
#define _PERF_STACK_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define PERF_STACK_MAX_EVENTS	24
#define PERF_STACK_MAX_NAMES	4

/**
 * struct perf_stack_uprobe - a place in this program that is an event
 * @addr:	address of an instruction, for @ret of the first one of a function
 * @ret:	not the instruction, but the return from the function
 */
struct perf_stack_uprobe {
	const void	*addr;
	bool		ret;
};

/**
 * struct perf_stack_options - what to open
 *
 * Events are numbered in this order: those of @events, @probe, @uprobes. The first
 * one gets the stacks.
 *
 * @events:	names of events below /sys/kernel/tracing/events/
 * @filter:	which ones of @events[0], in the language of trace event filters;
 *		NULL for all
 * @probe:	a function of the kernel whose entry is an event, or NULL
 * @uprobes:	more events
 * @nr_uprobes:	number of @uprobes
 * @type:	PERF_UNWIND_TYPE_*
 * @max_stack:	sample_max_stack, 0 for the default
 * @pages:	pages of the ring, a power of two, 0 for the default
 * @pid:	the thread, 0 for the calling one
 */
struct perf_stack_options {
	const char			*events[PERF_STACK_MAX_NAMES];
	const char			*filter;
	const char			*probe;
	const struct perf_stack_uprobe	*uprobes;
	unsigned int			nr_uprobes;
	unsigned int			type;
	unsigned int			max_stack;
	unsigned int			pages;
	pid_t				pid;
};

/**
 * struct perf_stack_sample - one PERF_RECORD_SAMPLE
 * @cookie:	name of the stack that comes later, 0 if none does
 * @nr:		number of entries of the user part that the sample has itself
 * @event:	number of the event
 * @tid:	thread that was sampled
 * @ip:		its user-space instruction pointer at that moment
 */
struct perf_stack_sample {
	__u64		cookie;
	unsigned int	nr;
	unsigned int	event;
	pid_t		tid;
	__u64		ip;
};

/**
 * struct perf_stack_record - one PERF_RECORD_CALLCHAIN_DEFERRED
 * @cookie:	name of the stack
 * @nr:		number of @ips
 * @end:	PERF_CALLCHAIN_END_*
 * @fp:		PERF_RECORD_MISC_CALLCHAIN_FP was set
 * @tid:	thread whose stack it is
 * @ips:	the stack, in the ring
 */
struct perf_stack_record {
	__u64		cookie;
	unsigned int	nr;
	unsigned int	end;
	bool		fp;
	pid_t		tid;
	const __u64	*ips;
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
	struct perf_stack_sample	*samples;
	unsigned int			nr_samples;
	struct perf_stack_record	*records;
	unsigned int			nr_records;
	bool				broken;

	/* private */
	bool				opened;
	int				fds[PERF_STACK_MAX_EVENTS];
	__u64				ids[PERF_STACK_MAX_EVENTS];
	unsigned int			nr_events;
	void				*ring;
	size_t				ring_size;
};

int perf_stack_open(struct perf_stack *stack, const struct perf_stack_options *options);
void perf_stack_read(struct perf_stack *stack);
void perf_stack_close(struct perf_stack *stack);

#endif /* _PERF_STACK_H */
