// SPDX-License-Identifier: GPL-2.0
/*
 * Samples whose user callchain comes in a later record.
 */
#include "deferred-callchain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/zalloc.h>

#include "event.h"
#include "evsel.h"
#include "sample.h"
#include "util.h"

/* More than enough for a sample of each thread of a large machine. */
#define DEFAULT_LIMIT		(256UL * 1024 * 1024)

/*
 * A thread's records come in the order of its returns to user space. If there
 * were this many since a sample, its own was lost. One would do if timestamps
 * were exact across CPUs.
 */
#define MAX_LATER_RECORDS	8

/**
 * struct deferred_thread - what is known of a thread
 * @node: in deferred_callchains::threads
 * @machine: with @tid, names the thread
 * @tid: see @machine
 * @samples: samples that wait, oldest first
 * @nr_records: number of records so far
 * @record_node: in deferred_callchains::records if there is a @record
 * @record: the last record
 */
struct deferred_thread {
	struct hlist_node	node;
	struct machine		*machine;
	u32			tid;
	struct list_head	samples;
	u64			nr_records;
	struct list_head	record_node;
	union perf_event	*record;
};

/**
 * struct deferred_sample - a sample that waits
 * @node: in deferred_callchains::samples
 * @thread_node: in deferred_thread::samples
 * @cookie: the sample's
 * @nr_records: deferred_thread::nr_records when it came
 * @evsel: its event
 * @machine: its machine
 * @sample: the sample, with pointers into @event
 * @event: where it came from
 */
struct deferred_sample {
	struct list_head	node;
	struct list_head	thread_node;
	u64			cookie;
	u64			nr_records;
	struct evsel		*evsel;
	struct machine		*machine;
	struct perf_sample	sample;
	char			event[] __aligned(8);
};

static size_t deferred_sample__size(const union perf_event *event)
{
	return sizeof(struct deferred_sample) + event->header.size;
}

static void *rebase(void *ptr, const union perf_event *from, void *to)
{
	ptrdiff_t offset = ptr - (void *)from;

	/* Other memory than the event's stays where it is. */
	if (ptr == NULL || offset < 0 || offset >= from->header.size)
		return ptr;

	return to + offset;
}

/* Parsing the copy is no option: with data of other endianness it swaps again. */
static void sample__rebase(struct perf_sample *sample, const union perf_event *from, void *to,
			   u64 read_format)
{
	sample->raw_data = rebase(sample->raw_data, from, to);
	sample->callchain = rebase(sample->callchain, from, to);
	sample->branch_stack = rebase(sample->branch_stack, from, to);
	sample->branch_stack_cntr = rebase(sample->branch_stack_cntr, from, to);
	sample->user_regs.regs = rebase(sample->user_regs.regs, from, to);
	sample->intr_regs.regs = rebase(sample->intr_regs.regs, from, to);
	sample->user_stack.data = rebase(sample->user_stack.data, from, to);
	sample->aux_sample.data = rebase(sample->aux_sample.data, from, to);

	if (read_format & PERF_FORMAT_GROUP)
		sample->read.group.values = rebase(sample->read.group.values, from, to);
}

static struct deferred_sample *deferred_sample__new(const union perf_event *event,
						    const struct perf_sample *sample,
						    struct evsel *evsel, struct machine *machine)
{
	struct deferred_sample *ds = malloc(deferred_sample__size(event));

	if (ds == NULL)
		return NULL;

	ds->evsel = evsel;
	ds->machine = machine;
	memcpy(ds->event, event, event->header.size);
	ds->sample = *sample;
	sample__rebase(&ds->sample, event, ds->event, evsel->core.attr.read_format);

	return ds;
}

static unsigned int hash_key(const struct machine *machine, u32 tid)
{
	return hash_ptr(machine, 32) ^ tid;
}

static struct deferred_thread *find_thread(struct deferred_callchains *dc,
					   struct machine *machine, u32 tid)
{
	struct deferred_thread *thread;

	hash_for_each_possible(dc->threads, thread, node, hash_key(machine, tid)) {
		if (thread->machine == machine && thread->tid == tid)
			return thread;
	}

	return NULL;
}

static struct deferred_thread *findnew_thread(struct deferred_callchains *dc,
					      struct machine *machine, u32 tid)
{
	struct deferred_thread *thread = find_thread(dc, machine, tid);

	if (thread)
		return thread;

	thread = zalloc(sizeof(*thread));
	if (thread == NULL)
		return NULL;

	thread->machine = machine;
	thread->tid = tid;
	INIT_LIST_HEAD(&thread->samples);
	hash_add(dc->threads, &thread->node, hash_key(machine, tid));

	return thread;
}

static void drop_record(struct deferred_callchains *dc, struct deferred_thread *thread)
{
	if (thread->record == NULL)
		return;

	dc->records_size -= thread->record->header.size;
	list_del(&thread->record_node);
	zfree(&thread->record);
}

static int keep_record(struct deferred_callchains *dc, struct deferred_thread *thread,
		       const union perf_event *event)
{
	drop_record(dc, thread);

	thread->record = memdup(event, event->header.size);
	if (thread->record == NULL)
		return -ENOMEM;

	list_add_tail(&thread->record_node, &dc->records);
	dc->records_size += event->header.size;

	while (dc->records_size > dc->limit) {
		drop_record(dc, list_first_entry(&dc->records, struct deferred_thread,
						 record_node));
	}

	return 0;
}

static struct ip_callchain *alloc_chain(struct deferred_callchains *dc, u64 nr)
{
	if (nr > dc->chain_max || dc->chain == NULL) {
		struct ip_callchain *chain;

		chain = realloc(dc->chain, sizeof(*chain) + nr * sizeof(chain->ips[0]));
		if (chain == NULL)
			return NULL;
		dc->chain = chain;
		dc->chain_max = nr;
	}

	return dc->chain;
}

static u64 count_frames(const u64 *ips, u64 nr)
{
	u64 frames = 0;

	while (nr--)
		frames += *ips++ < PERF_CONTEXT_MAX;

	return frames;
}

/* How many user frames the event wants in a callchain with @frames others. */
static u64 user_frames(const struct evsel *evsel, u64 frames, u64 nr)
{
	u64 max = evsel->core.attr.sample_max_stack;

	if (max == 0)
		return nr;

	return min(nr, max > frames ? max - frames : 0);
}

static void count_sample(struct deferred_callchains *dc, const union perf_event *record,
			 bool clipped)
{
	unsigned int end;

	if (record == NULL) {
		dc->stats.missing++;
		return;
	}

	end = perf_event__callchain_end(record);
	if (clipped)
		end = PERF_CALLCHAIN_END_LIMIT;
	if (end >= ARRAY_SIZE(dc->stats.ends))
		end = PERF_CALLCHAIN_END_NOT_TOLD;

	dc->stats.merged++;
	dc->stats.ends[end]++;
	if (record->header.misc & PERF_RECORD_MISC_CALLCHAIN_FP)
		dc->stats.fp++;
}

/*
 * Deliver a sample with the user callchain of @record in place of the cookie, or
 * with what can be said without it.
 */
static int deliver(struct deferred_callchains *dc, union perf_event *event,
		   struct perf_sample *sample, struct evsel *evsel,
		   struct machine *machine, const union perf_event *record)
{
	struct ip_callchain *orig = sample->callchain, *chain;
	u64 head = orig->nr - 2;	/* all but marker and cookie */
	u64 frames = count_frames(orig->ips, head);
	const u64 *ips = NULL;
	u64 nr = 0, wanted;
	int err;

	if (record) {
		ips = (const u64 *)record->callchain_deferred.ips;
		nr = record->callchain_deferred.nr;
	}
	wanted = user_frames(evsel, frames, nr);
	count_sample(dc, record, wanted < nr);

	/* The innermost frame of a user sample is no secret. */
	if (wanted == 0 && frames == 0 && sample->cpumode == PERF_RECORD_MISC_USER &&
	    (evsel->core.attr.sample_type & PERF_SAMPLE_IP)) {
		ips = &sample->ip;
		wanted = 1;
	}

	chain = alloc_chain(dc, head + 1 + wanted);
	if (chain == NULL)
		return -ENOMEM;

	memcpy(chain->ips, orig->ips, head * sizeof(u64));
	chain->nr = head;
	if (wanted) {
		chain->ips[chain->nr++] = PERF_CONTEXT_USER;
		memcpy(chain->ips + chain->nr, ips, wanted * sizeof(u64));
		chain->nr += wanted;
	}

	sample->callchain = chain;
	err = dc->deliver(dc, event, sample, evsel, machine);
	sample->callchain = orig;

	return err;
}

static int release_sample(struct deferred_callchains *dc, struct deferred_sample *ds,
			  const union perf_event *record)
{
	union perf_event *event = (union perf_event *)ds->event;
	int err;

	list_del(&ds->node);
	list_del(&ds->thread_node);
	dc->samples_size -= deferred_sample__size(event);

	err = deliver(dc, event, &ds->sample, ds->evsel, ds->machine, record);
	free(ds);

	return err;
}

void deferred_callchains__init(struct deferred_callchains *dc,
			       deferred_callchains__deliver_t deliver_sample)
{
	memset(dc, 0, sizeof(*dc));
	dc->deliver = deliver_sample;
	dc->limit = DEFAULT_LIMIT;
	hash_init(dc->threads);
	INIT_LIST_HEAD(&dc->samples);
	INIT_LIST_HEAD(&dc->records);
}

void deferred_callchains__exit(struct deferred_callchains *dc)
{
	struct deferred_sample *ds, *next_ds;
	struct deferred_thread *thread;
	struct hlist_node *next;
	unsigned int bkt;

	list_for_each_entry_safe(ds, next_ds, &dc->samples, node)
		free(ds);

	hash_for_each_safe(dc->threads, bkt, next, thread, node) {
		free(thread->record);
		free(thread);
	}
	free(dc->chain);
	deferred_callchains__init(dc, dc->deliver);
}

/* Deliver a sample without waiting for its user callchain. */
int deferred_callchains__cut(struct deferred_callchains *dc, union perf_event *event,
			     struct perf_sample *sample, struct evsel *evsel,
			     struct machine *machine)
{
	return deliver(dc, event, sample, evsel, machine, NULL);
}

/**
 * deferred_callchains__add_sample - deliver a sample now or later
 * @dc: the samples that wait
 * @event: where the sample is from, not needed afterwards
 * @sample: a sample with a cookie, see ip_callchain__deferred_cookie()
 * @evsel: its event
 * @machine: its machine
 *
 * Return: 0, or the error of a delivery, or -ENOMEM.
 */
int deferred_callchains__add_sample(struct deferred_callchains *dc, union perf_event *event,
				    struct perf_sample *sample, struct evsel *evsel,
				    struct machine *machine)
{
	struct deferred_thread *thread;
	struct deferred_sample *ds;
	u64 cookie;
	int err = 0;

	if (!ip_callchain__deferred_cookie(sample->callchain, &cookie))
		return -EINVAL;

	thread = findnew_thread(dc, machine, sample->tid);
	if (thread == NULL)
		return -ENOMEM;

	if (thread->record && thread->record->callchain_deferred.cookie == cookie)
		return deliver(dc, event, sample, evsel, machine, thread->record);

	ds = deferred_sample__new(event, sample, evsel, machine);
	if (ds == NULL)
		return -ENOMEM;

	ds->cookie = cookie;
	ds->nr_records = thread->nr_records;
	list_add_tail(&ds->node, &dc->samples);
	list_add_tail(&ds->thread_node, &thread->samples);
	dc->samples_size += deferred_sample__size(event);

	while (!err && dc->samples_size > dc->limit) {
		ds = list_first_entry(&dc->samples, struct deferred_sample, node);
		err = release_sample(dc, ds, NULL);
	}

	return err;
}

/**
 * deferred_callchains__add_record - deliver the samples that wait for a record
 * @dc: the samples that wait
 * @event: a valid PERF_RECORD_CALLCHAIN_DEFERRED, not needed afterwards
 * @sample: tells the thread
 * @machine: the machine of the thread
 *
 * Return: 0, or the error of a delivery, or -ENOMEM.
 */
int deferred_callchains__add_record(struct deferred_callchains *dc, union perf_event *event,
				    struct perf_sample *sample, struct machine *machine)
{
	struct deferred_thread *thread = findnew_thread(dc, machine, sample->tid);
	struct deferred_sample *ds, *next;
	int err;

	if (thread == NULL)
		return -ENOMEM;

	err = keep_record(dc, thread, event);
	thread->nr_records++;

	list_for_each_entry_safe(ds, next, &thread->samples, thread_node) {
		if (err)
			break;
		if (ds->cookie == event->callchain_deferred.cookie)
			err = release_sample(dc, ds, event);
		else if (thread->nr_records - ds->nr_records > MAX_LATER_RECORDS)
			err = release_sample(dc, ds, NULL);
	}

	return err;
}

/**
 * deferred_callchains__end_thread - deliver what waits for a thread that is gone
 * @dc: the samples that wait
 * @machine: the machine of the thread
 * @tid: the thread
 *
 * To be called before what is known of the thread, its maps for instance, is
 * forgotten.
 *
 * Return: 0, or the error of a delivery.
 */
int deferred_callchains__end_thread(struct deferred_callchains *dc,
				    struct machine *machine, u32 tid)
{
	struct deferred_thread *thread = find_thread(dc, machine, tid);
	struct deferred_sample *ds, *next;
	int err = 0;

	if (thread == NULL)
		return 0;

	list_for_each_entry_safe(ds, next, &thread->samples, thread_node) {
		err = release_sample(dc, ds, NULL);
		if (err)
			return err;
	}

	drop_record(dc, thread);
	hash_del(&thread->node);
	free(thread);

	return 0;
}

/**
 * deferred_callchains__flush - deliver all samples that wait
 * @dc: the samples that wait
 *
 * Return: 0, or the error of a delivery.
 */
int deferred_callchains__flush(struct deferred_callchains *dc)
{
	struct deferred_sample *ds, *next;
	int err = 0;

	list_for_each_entry_safe(ds, next, &dc->samples, node) {
		err = release_sample(dc, ds, NULL);
		if (err)
			break;
	}

	return err;
}

/**
 * ip_callchain__new_deferred - the callchain of a record on its own
 * @event: a valid PERF_RECORD_CALLCHAIN_DEFERRED
 *
 * Return: the callchain, to be freed, or NULL.
 */
struct ip_callchain *ip_callchain__new_deferred(const union perf_event *event)
{
	const struct perf_record_callchain_deferred *record = &event->callchain_deferred;
	struct ip_callchain *chain;

	chain = malloc(sizeof(*chain) + (record->nr + 1) * sizeof(chain->ips[0]));
	if (chain == NULL)
		return NULL;

	chain->nr = record->nr + 1;
	chain->ips[0] = PERF_CONTEXT_USER;
	memcpy(&chain->ips[1], record->ips, record->nr * sizeof(chain->ips[0]));

	return chain;
}

static int fprintf_share(FILE *fp, const char *name, u64 nr, u64 total)
{
	return fprintf(fp, "%26s: %10" PRIu64 "  (%4.1f%%)\n", name, nr, 100.0 * nr / total);
}

/* Prints nothing if there was no sample with a deferred callchain. */
size_t deferred_callchains__fprintf_stats(const struct deferred_callchains *dc, FILE *fp)
{
	const struct deferred_callchains_stats *stats = &dc->stats;
	u64 total = stats->merged + stats->missing;
	size_t ret;
	unsigned int end;

	if (total == 0)
		return 0;

	ret = fprintf(fp, "\nDeferred user callchains, by why they end:\n");

	for (end = 0; end < ARRAY_SIZE(stats->ends); end++) {
		if (stats->ends[end])
			ret += fprintf_share(fp, perf_callchain_end__name(end),
					     stats->ends[end], total);
	}
	if (stats->missing)
		ret += fprintf_share(fp, "(did not come)", stats->missing, total);
	ret += fprintf_share(fp, "total", total, total);
	if (stats->fp)
		ret += fprintf_share(fp, "(rest on frame pointers)", stats->fp, total);

	return ret;
}
