// SPDX-License-Identifier: GPL-2.0
/*
 * Deferred unwinding: the work before the return to user space.
 *
 * Runs in task context, with interrupts on and no lock held, since a walk may
 * wait for memory for as long as a user-space file system likes. Only the
 * callbacks run in an RCU read-side critical section.
 */
#include <linux/bitops.h>
#include <linux/rcupdate.h>
#include <linux/task_work.h>

#include "internal.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

/**
 * struct unwind_request - what the waiting clients of one path want together
 * @clients:	their bits
 * @limit:	the largest of their limits
 * @guess:	one of them takes frames that rest on the frame pointer
 */
struct unwind_request {
	unsigned long	clients;
	unsigned int	limit;
	bool		guess;
};

/*
 * A request whose client is being unregistered stays with nobody to deliver it: the
 * task would not get to user space with it.
 */
static void withdraw_request(unsigned int slot)
{
	if (atomic64_fetch_andnot(BIT_ULL(slot), &current->unwind.state) & BIT_ULL(slot))
		unwind_count(UNWIND_WITHDRAWN);
}

static struct unwind_request gather_request(unsigned long waiting, enum unwind_path path)
{
	struct unwind_request request = {};
	unsigned int slot;

	waiting &= UNWIND_CLIENTS;

	guard(rcu)();
	for_each_set_bit(slot, &waiting, UNWINDER_MAX_CLIENTS) {
		const struct unwinder_client *client;

		client = rcu_dereference(unwinder_clients[slot]);
		if (!client)
			withdraw_request(slot);
		if (!client || unwinder_path(client) != path)
			continue;
		request.clients |= BIT(slot);
		request.limit = max(request.limit, client->max_entries);
		request.guess |= client->type == USER_UNWIND_AUTO;
	}
	return request;
}

static bool stack_serves(const struct unwind_stack *stack, u64 cookie,
			 const struct unwind_request *request)
{
	return stack->cookie == cookie &&
	       (stack->end != USER_UNWIND_END_LIMIT || stack->limit >= request->limit) &&
	       (stack->guess || !request->guess);
}

/* The frames for @request: those that are there if they serve it, else a new walk. */
static bool fill_stack(struct unwind_space *space, enum unwind_path path, u64 cookie,
		       const struct unwind_request *request)
{
	struct unwind_stack *stack = &space->stacks[path];

	if (stack_serves(stack, cookie, request))
		return true;
	if (!unwind_space_grow(stack, request->limit))
		return false;

	stack->limit = request->limit;
	stack->guess = request->guess;
	unwind_walk(&space->walk, stack, path);
	stack->cookie = cookie;

	unwind_count(UNWIND_WALKS);
	unwind_count(UNWIND_ENDS + stack->end);
	trace_unwind_user_walk(cookie, path, stack);
	return true;
}

/* What @client sees of @stack: the frames of its type, no more than it wants. */
static struct user_space_stack client_view(const struct unwinder_client *client,
					   const struct unwind_stack *stack)
{
	struct user_space_stack view = {
		.type	= client->type,
		.end	= USER_UNWIND_END_NO_MEMORY,
	};

	if (!stack)
		return view;

	view.entries = stack->entries;
	view.nr = stack->nr;
	view.end = stack->end;
	if (client->type == USER_UNWIND_SFRAME && stack->guessed) {
		view.nr = stack->first_fp;
		view.end = USER_UNWIND_END_NO_TABLE;
	}
	if (view.nr > client->max_entries) {
		view.nr = client->max_entries;
		view.end = USER_UNWIND_END_LIMIT;
	}
	view.first_fp = min(stack->first_fp, view.nr);
	view.truncated = view.end == USER_UNWIND_END_LIMIT;
	return view;
}

static void call_client(struct unwind_task *unwind, unsigned int slot,
			const struct unwind_stack *stack, u64 cookie)
{
	struct unwinder_client *client;
	struct user_space_stack view;

	/* Pairs with synchronize_rcu() in unwinder_unregister(). */
	guard(rcu)();
	client = rcu_dereference(unwinder_clients[slot]);
	/*
	 * The bit is gone if the client was unregistered while the walk waited,
	 * even if its slot has a new client by now: that one cannot have set the
	 * bit again, it would have met UNWIND_RUNNING.
	 */
	if (!(atomic64_fetch_andnot(BIT_ULL(slot), &unwind->state) & BIT_ULL(slot)))
		return;
	if (!client) {
		unwind_count(UNWIND_WITHDRAWN);
		return;
	}

	view = client_view(client, stack);
	unwind_count(UNWIND_CALLBACKS);
	client->callback(client, &view, cookie);
}

static void call_clients(struct unwind_task *unwind, enum unwind_path path,
			 const struct unwind_request *request)
{
	u64 cookie = READ_ONCE(unwind->cookie);
	struct unwind_space *space;
	unsigned int slot;
	bool filled;

	space = unwind_space_take();
	filled = space && fill_stack(space, path, cookie, request);
	if (!filled)
		unwind_count(UNWIND_ENDS + USER_UNWIND_END_NO_MEMORY);
	for_each_set_bit(slot, &request->clients, UNWINDER_MAX_CLIENTS)
		call_client(unwind, slot, filled ? &space->stacks[path] : NULL, cookie);
	if (space)
		unwind_space_return(space);
}

/**
 * unwind_deliver - deliver what is waiting for a path
 * @path: the path
 *
 * Context: Task context of current, with no lock held unless UNWIND_NO_WAIT is
 * set. May sleep.
 */
void unwind_deliver(enum unwind_path path)
{
	struct unwind_task *unwind = &current->unwind;
	struct unwind_request request;

	request = gather_request(atomic64_fetch_or(UNWIND_RUNNING, &unwind->state), path);
	if (request.clients) {
		call_clients(unwind, path, &request);
		atomic_long_or(UNWIND_DELIVERED(path), &unwind->flags);
	}
	atomic64_andnot(UNWIND_RUNNING, &unwind->state);
}

/**
 * unwind_deliver_all - deliver what is waiting for any path
 *
 * Context: See unwind_deliver().
 */
void unwind_deliver_all(void)
{
	enum unwind_path path;

	for (path = 0; path < UNWIND_NR_PATHS; path++) {
		if (atomic64_read(&current->unwind.state) & UNWIND_CLIENTS)
			unwind_deliver(path);
	}
}

/* Only here, and by current only, does the count go up. */
static void count_repeat(enum unwind_path path)
{
	atomic_long_t *flags = &current->unwind.flags;
	unsigned long old = atomic_long_read(flags);

	if (old & UNWIND_DELIVERED(path) &&
	    (old & UNWIND_REPEATS) < UNWIND_MAX_REPEATS * UNWIND_REPEAT)
		atomic_long_add(UNWIND_REPEAT, flags);
}

/*
 * The bit says that the work is linked in the list of the task, which only its run
 * ends; a work that is queued twice makes a ring of the list. It is cleared first:
 * what an NMI asks for from here on is queued once more.
 */
static void run_path(enum unwind_path path)
{
	atomic_long_andnot(UNWIND_QUEUED(path), &current->unwind.flags);
	count_repeat(path);
	unwind_deliver(path);
}

/* The work of %UNWIND_PATH_SFRAME. */
void unwind_work_sframe(struct callback_head *work)
{
	run_path(UNWIND_PATH_SFRAME);
}

/* The work of %UNWIND_PATH_FP. */
void unwind_work_fp(struct callback_head *work)
{
	run_path(UNWIND_PATH_FP);
}
