/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DEFERRED_CALLCHAIN_H
#define __PERF_DEFERRED_CALLCHAIN_H

#include <stddef.h>
#include <stdio.h>
#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/perf_event.h>
#include <linux/types.h>

struct deferred_callchains;
struct evsel;
struct ip_callchain;
struct machine;
struct perf_sample;
union perf_event;

typedef int (*deferred_callchains__deliver_t)(struct deferred_callchains *dc,
					      union perf_event *event,
					      struct perf_sample *sample,
					      struct evsel *evsel,
					      struct machine *machine);

/**
 * struct deferred_callchains_stats - what became of the samples
 * @merged: samples that got their user callchain
 * @missing: samples that were delivered without it
 * @ends: @merged, by the reason for which the callchain ends
 * @fp: those of @merged whose callchain rests on frame pointers in part
 */
struct deferred_callchains_stats {
	u64 merged;
	u64 missing;
	u64 ends[PERF_CALLCHAIN_END_MAX];
	u64 fp;
};

/**
 * struct deferred_callchains - brings samples and their user callchains together
 *
 * A sample whose user callchain is deferred has a cookie in its place. The
 * callchain comes in a PERF_RECORD_CALLCHAIN_DEFERRED of the same thread with
 * the same cookie: mostly later, when the thread returns to user space, but
 * samples may be taken between the record and that return, too. So samples wait
 * for their record, and each thread's last record is kept.
 *
 * @deliver: gets the samples, complete as far as they can be
 * @stats: counters
 * @limit: memory, in bytes, for samples that wait and, once more, for records
 *	   that are kept. Beyond it the oldest ones are given up.
 */
struct deferred_callchains {
	deferred_callchains__deliver_t deliver;
	struct deferred_callchains_stats stats;
	size_t limit;
	/* private: */
	DECLARE_HASHTABLE(threads, 10);
	struct list_head samples;	/* that wait, of all threads, oldest first */
	struct list_head records;	/* threads with a record, least recent first */
	size_t samples_size;
	size_t records_size;
	struct ip_callchain *chain;	/* of the sample that is being delivered */
	size_t chain_max;
};

void deferred_callchains__init(struct deferred_callchains *dc,
			       deferred_callchains__deliver_t deliver);
void deferred_callchains__exit(struct deferred_callchains *dc);

int deferred_callchains__cut(struct deferred_callchains *dc, union perf_event *event,
			     struct perf_sample *sample, struct evsel *evsel,
			     struct machine *machine);
int deferred_callchains__add_sample(struct deferred_callchains *dc, union perf_event *event,
				    struct perf_sample *sample, struct evsel *evsel,
				    struct machine *machine);
int deferred_callchains__add_record(struct deferred_callchains *dc, union perf_event *event,
				    struct perf_sample *sample, struct machine *machine);
int deferred_callchains__end_thread(struct deferred_callchains *dc,
				    struct machine *machine, u32 tid);
int deferred_callchains__flush(struct deferred_callchains *dc);

struct ip_callchain *ip_callchain__new_deferred(const union perf_event *event);

size_t deferred_callchains__fprintf_stats(const struct deferred_callchains *dc, FILE *fp);

#endif /* __PERF_DEFERRED_CALLCHAIN_H */
