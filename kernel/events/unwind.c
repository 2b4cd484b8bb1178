// SPDX-License-Identifier: GPL-2.0
/*
 * perf as a client of deferred user-space unwinding.
 *
 * An event with attr.defer_callchain asks the unwinder for the user part of its
 * callchain and has the cookie in the sample. The stack that comes for it later
 * is written as PERF_RECORD_CALLCHAIN_DEFERRED to the events with
 * attr.defer_output.
 *
 * There is one client for each way to unwind, so that a stack only reaches
 * events that want it to be found in this way. All events share it: the record
 * has as many entries as the most demanding of them wants. Which sample a record
 * is for, and with which limit, is only known to the one who reads both.
 */
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/unwind_user.h>

#include "internal.h"

/* Without the sample_id, which depends on the event, and the entries. */
struct deferred_record {
	struct perf_event_header	header;
	u64				cookie;
	u64				nr;
};

/* The size of a record is told in 16 bits. */
#define MAX_ENTRIES	((U16_MAX - sizeof(struct deferred_record)) / sizeof(u64))

/* Entries are copied as they are. */
static_assert(sizeof(unsigned long) == sizeof(u64));

/**
 * struct perf_unwind_client - the events that unwind in the same way
 * @client:	what the unwinder knows about them
 * @nr_events:	how many there are, inherited ones not counted
 * @max_stack:	the largest sample_max_stack of them. It does not get smaller
 *		while there is any: requests of those that left may be under way.
 *
 * @client is registered while @nr_events is not 0. All is written under
 * @perf_unwind_mutex.
 */
struct perf_unwind_client {
	struct unwinder_client	client;
	unsigned int		nr_events;
	unsigned int		max_stack;
};

static DEFINE_MUTEX(perf_unwind_mutex);

static void perf_unwind_callback(struct unwinder_client *client,
				 const struct user_space_stack *stack, u64 cookie);

static struct perf_unwind_client perf_unwind_clients[] = {
	[PERF_UNWIND_TYPE_AUTO].client = {
		.callback	= perf_unwind_callback,
		.name		= "perf-auto",
		.type		= USER_UNWIND_AUTO,
	},
	[PERF_UNWIND_TYPE_SFRAME].client = {
		.callback	= perf_unwind_callback,
		.name		= "perf-sframe",
		.type		= USER_UNWIND_SFRAME,
	},
	[PERF_UNWIND_TYPE_FP].client = {
		.callback	= perf_unwind_callback,
		.name		= "perf-fp",
		.type		= USER_UNWIND_FP,
	},
};

static_assert(ARRAY_SIZE(perf_unwind_clients) == PERF_UNWIND_TYPE_MAX);

/* It sits at the end of the word of flags: no flag may have pushed it out. */
static_assert(offsetof(struct perf_event_attr, wakeup_events) -
	      offsetofend(struct perf_event_attr, read_format) == sizeof(u64));

static struct perf_unwind_client *client_of(const struct perf_event *event)
{
	return &perf_unwind_clients[event->attr.unwind_type];
}

/* What the ABI calls the end reasons is what they are here, plus one. */
#define CHECK_END(reason)						\
	static_assert(PERF_CALLCHAIN_END_##reason ==			\
		      USER_UNWIND_END_##reason + 1)

CHECK_END(OUTERMOST);
CHECK_END(LIMIT);
CHECK_END(NO_TABLE);
CHECK_END(MALFORMED);
CHECK_END(UNREADABLE);
CHECK_END(NO_PROGRESS);
CHECK_END(REGISTER);
CHECK_END(BUDGET);
CHECK_END(KILLED);
CHECK_END(NO_MEMORY);
CHECK_END(REPLACED);
static_assert(USER_UNWIND_NR_ENDS + 1 == PERF_CALLCHAIN_END_MAX);
static_assert(USER_UNWIND_NR_ENDS << PERF_RECORD_MISC_CALLCHAIN_END_SHIFT <=
	      PERF_RECORD_MISC_CALLCHAIN_END_MASK);

/**
 * struct deferred_callchain - a stack on its way to the events
 * @client:	whose stack it is
 * @stack:	the stack
 * @cookie:	its name
 */
struct deferred_callchain {
	const struct perf_unwind_client	*client;
	const struct user_space_stack	*stack;
	u64				cookie;
};

/* The number of entries that some event wants and that fit into a record. */
static unsigned int record_entries(const struct deferred_callchain *chain,
				   const struct perf_event *event)
{
	unsigned int max = MAX_ENTRIES;

	if (event->attr.sample_id_all)
		max -= DIV_ROUND_UP(event->id_header_size, sizeof(u64));

	return min3(chain->stack->nr, READ_ONCE(chain->client->max_stack), max);
}

static u16 record_misc(const struct user_space_stack *stack, unsigned int nr)
{
	enum user_unwind_end end = stack->end;
	u16 misc = PERF_RECORD_MISC_USER;

	if (nr < stack->nr)
		end = USER_UNWIND_END_LIMIT;
	misc |= (end + 1) << PERF_RECORD_MISC_CALLCHAIN_END_SHIFT;

	if (stack->first_fp < nr)
		misc |= PERF_RECORD_MISC_CALLCHAIN_FP;

	return misc;
}

static void output_deferred_callchain(struct perf_event *event, void *data)
{
	const struct deferred_callchain *chain = data;
	struct deferred_record record;
	struct perf_output_handle handle;
	struct perf_sample_data sample;
	size_t size;

	if (!event->attr.defer_output || client_of(event) != chain->client)
		return;

	record.cookie = chain->cookie;
	record.nr = record_entries(chain, event);
	size = record.nr * sizeof(u64);

	perf_event_header__init(&record.header, &sample,
				PERF_RECORD_CALLCHAIN_DEFERRED,
				record_misc(chain->stack, record.nr),
				sizeof(record) + size, event);

	if (perf_output_begin(&handle, &sample, event, record.header.size))
		return;

	perf_output_put(&handle, record);
	perf_output_copy(&handle, chain->stack->entries, size);
	perf_event__output_id_sample(event, &handle, &sample);

	perf_output_end(&handle);
}

/*
 * Runs in the task that was sampled, before it returns to user space: in task
 * context, with interrupts on, within an RCU read-side critical section. It may
 * have moved to another CPU since the sample. When it exits, its events are
 * still there.
 */
static void perf_unwind_callback(struct unwinder_client *client,
				 const struct user_space_stack *stack, u64 cookie)
{
	struct deferred_callchain chain = {
		.client	= container_of(client, struct perf_unwind_client, client),
		.stack	= stack,
		.cookie	= cookie,
	};

	perf_iterate_sb(output_deferred_callchain, &chain, NULL);
}

/* Marker and cookie count as contexts; a marker without cookie says nothing. */
static int ask_for_stack(struct perf_event *event,
			 struct perf_callchain_entry_ctx *ctx)
{
	u64 cookie;
	int err;

	if (ctx->contexts + 2 > sysctl_perf_event_max_contexts_per_stack)
		return -ENOSPC;

	err = unwinder_trigger(&client_of(event)->client, &cookie);
	if (err)
		return err;

	perf_callchain_store_context(ctx, PERF_CONTEXT_USER_DEFERRED);
	perf_callchain_store_context(ctx, cookie);

	return 0;
}

/**
 * perf_unwind_defer - append the user part of a callchain, or what stands for it
 * @event:	event with attr.defer_callchain, sampled in current, which is a
 *		user task
 * @ctx:	the callchain so far
 * @regs:	user registers of current
 *
 * As a rule that is the marker and the cookie of the stack that comes later. If
 * the unwinder refuses, what can be had at once is the frame that the registers
 * name, and for a client of frame pointers the chain that they form. For another
 * client that would be a guess which nothing in the sample tells from the truth.
 *
 * Context: Any context, NMI included.
 * Return: true if @ctx has the user part; false if it is as it was, and the chain
 *	   of frame pointers may follow.
 */
bool perf_unwind_defer(struct perf_event *event,
		       struct perf_callchain_entry_ctx *ctx,
		       struct pt_regs *regs)
{
	int err;

	/* These registers are the host's, the sample is not. */
	if (perf_guest_state())
		return false;

	err = ask_for_stack(event, ctx);
	if (!err)
		return true;
	if (event->attr.unwind_type == PERF_UNWIND_TYPE_FP)
		return false;

	/* In the middle of execve() the registers are those of another program. */
	if (err != -EAGAIN) {
		perf_callchain_store_context(ctx, PERF_CONTEXT_USER);
		perf_callchain_store(ctx, instruction_pointer(regs));
	}
	return true;
}

static int register_client(struct perf_unwind_client *puc)
{
	int err;

	/* As long as there are buffers, the sysctls do not change. */
	err = get_callchain_buffers(0);
	if (err)
		return err;

	puc->client.max_entries = clamp(sysctl_perf_event_max_stack, 1,
					(int)MAX_ENTRIES);
	puc->max_stack = 0;

	err = unwinder_register(&puc->client);
	if (err)
		put_callchain_buffers();

	return err;
}

/**
 * perf_unwind_get - have the unwinder ready for an event
 * @event:	event that is being made and not inherited
 *
 * Inherited events rely on their parents, which live longer. Events that have
 * attr.defer_output alone ask for nothing, they need no client.
 *
 * Context: Process context. May sleep.
 * Return: 0, or the error of unwinder_register().
 */
int perf_unwind_get(struct perf_event *event)
{
	struct perf_unwind_client *puc = client_of(event);
	int err;

	if (!event->attr.defer_callchain)
		return 0;

	guard(mutex)(&perf_unwind_mutex);

	if (!puc->nr_events) {
		err = register_client(puc);
		if (err)
			return err;
	}

	puc->nr_events++;
	if (event->attr.sample_type & PERF_SAMPLE_CALLCHAIN)
		WRITE_ONCE(puc->max_stack, max(puc->max_stack,
					       event->attr.sample_max_stack));

	event->attach_state |= PERF_ATTACH_UNWIND;

	return 0;
}

/**
 * perf_unwind_put - undo perf_unwind_get()
 * @event:	event that is being freed
 *
 * With the last event of its kind go the requests that are still under way.
 *
 * Context: Process context. May sleep.
 */
void perf_unwind_put(struct perf_event *event)
{
	struct perf_unwind_client *puc = client_of(event);

	if (!(event->attach_state & PERF_ATTACH_UNWIND))
		return;

	guard(mutex)(&perf_unwind_mutex);

	if (--puc->nr_events)
		return;

	unwinder_unregister(&puc->client);
	put_callchain_buffers();
}
