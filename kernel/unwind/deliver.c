// SPDX-License-Identifier: GPL-2.0
/*
 * Deferred unwinding: the work before the return to user space.
 *
 * Runs in task context, with interrupts on and no lock held, since a walk may
 * wait for memory for as long as a user-space file system likes. Only the
 * callbacks run in an RCU read-side critical section.
 */
#include <linux/bitops.h>
#include <linux/irq_work.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/task_work.h>

#include "internal.h"

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

static struct unwind_request gather_request(unsigned long waiting, enum unwind_path path)
{
	struct unwind_request request = {};
	unsigned int slot;

	guard(rcu)();
	for_each_set_bit(slot, &waiting, UNWINDER_MAX_CLIENTS) {
		const struct unwinder_client *client;

		client = rcu_dereference(unwinder_clients[slot]);
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

/*
 * Charged to who is watched, who must not be killed for it: an attempt that fails
 * costs one stack.
 */
#define GFP_UNWIND	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

static bool make_room(struct unwind_stack *stack, unsigned int entries)
{
	if (stack->room >= entries)
		return true;

	kvfree(stack->entries);
	stack->room = 0;
	stack->entries = kvmalloc_array(entries, sizeof(*stack->entries), GFP_UNWIND);
	if (stack->entries)
		stack->room = entries;
	return stack->entries;
}

/*
 * The frames for @request: those that are there already if they serve it, else
 * those of a new walk; NULL if there is no memory for them.
 */
static const struct unwind_stack *get_stack(struct unwind_task *unwind,
					    enum unwind_path path, u64 cookie,
					    const struct unwind_request *request)
{
	struct unwind_stack *stack;

	if (!unwind->space)
		unwind->space = kzalloc(sizeof(*unwind->space), GFP_UNWIND);
	if (!unwind->space)
		return NULL;

	stack = &unwind->space->stacks[path];
	if (stack_serves(stack, cookie, request))
		return stack;

	stack->cookie = 0;
	if (!make_room(stack, request->limit))
		return NULL;
	stack->limit = request->limit;
	stack->guess = request->guess;
	unwind_walk(&unwind->space->walk, stack, path);
	stack->cookie = cookie;
	return stack;
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
	if (!client)
		return;

	view = client_view(client, stack);
	client->callback(client, &view, cookie);
}

static void unwind_deliver(enum unwind_path path)
{
	struct unwind_task *unwind = &current->unwind;
	const struct unwind_stack *stack;
	struct unwind_request request;
	unsigned int slot;
	u64 cookie;

	request = gather_request(atomic64_fetch_or(UNWIND_RUNNING, &unwind->state), path);

	if (request.clients) {
		cookie = READ_ONCE(unwind->cookie);
		stack = get_stack(unwind, path, cookie, &request);
		for_each_set_bit(slot, &request.clients, UNWINDER_MAX_CLIENTS)
			call_client(unwind, slot, stack, cookie);
	}

	atomic64_andnot(UNWIND_RUNNING, &unwind->state);
}

/*
 * The bit says that the work is linked in the list of the task, which only its run
 * ends; a work that is queued twice makes a ring of the list. It is cleared first:
 * what an NMI asks for from here on is queued once more.
 */
static void run_path(enum unwind_path path)
{
	clear_bit(path, &current->unwind.queued);
	unwind_deliver(path);
}

static void unwind_work_sframe(struct callback_head *work)
{
	run_path(UNWIND_PATH_SFRAME);
}

static void unwind_work_fp(struct callback_head *work)
{
	run_path(UNWIND_PATH_FP);
}

static void interrupt_user_mode(struct irq_work *work)
{
	/* The way in and out of the interrupt is what it is for. */
}

static DEFINE_PER_CPU(struct irq_work, late_work) =
	IRQ_WORK_INIT_HARD(interrupt_user_mode);

/**
 * unwind_exit_late - a request came after the last look at the task's work
 *
 * The interrupt that this asks for comes before the first instruction of user
 * space, where the stack is still the one that was asked for, and delivers it.
 *
 * Context: Last step of a return to user space, interrupts off.
 */
void unwind_exit_late(void)
{
	irq_work_queue(this_cpu_ptr(&late_work));
}

/**
 * unwind_task_init - a task starts without requests
 * @task: a new task that nobody sees yet
 */
void unwind_task_init(struct task_struct *task)
{
	memset(&task->unwind, 0, sizeof(task->unwind));
	init_task_work(&task->unwind.work[UNWIND_PATH_SFRAME], unwind_work_sframe);
	init_task_work(&task->unwind.work[UNWIND_PATH_FP], unwind_work_fp);
}

/**
 * unwind_gate_shut - the stack of current is about to be replaced
 *
 * Delivers what was accepted, and accepts nothing until unwind_gate_open(). A
 * work may still be queued; it finds what is accepted later, which is about
 * another stack and gets another cookie, or nothing to do.
 *
 * Context: Task context with no lock held, and with the user registers and the
 * mm that are to go. May sleep.
 */
void unwind_gate_shut(void)
{
	struct unwind_task *unwind = &current->unwind;
	enum unwind_path path;

	atomic64_or(UNWIND_GATE, &unwind->state);
	for (path = 0; path < UNWIND_NR_PATHS; path++) {
		if (atomic64_read(&unwind->state) & UNWIND_CLIENTS)
			unwind_deliver(path);
	}
	atomic64_andnot(UNWIND_LIVE, &unwind->state);
}

/**
 * unwind_gate_open - current has the stack that it will go back to
 *
 * Context: Task context.
 */
void unwind_gate_open(void)
{
	atomic64_andnot(UNWIND_GATE, &current->unwind.state);
}

/**
 * unwind_task_exit - current is about to give up its memory for good
 *
 * Shuts the gate and leaves it so. No page fault is taken for what is delivered,
 * see unwind_must_not_wait().
 *
 * Context: Task context of an exiting task that still has its mm. May sleep.
 */
void unwind_task_exit(void)
{
	struct unwind_space *space;
	enum unwind_path path;

	unwind_gate_shut();
	space = current->unwind.space;
	if (!space)
		return;

	for (path = 0; path < UNWIND_NR_PATHS; path++)
		kvfree(space->stacks[path].entries);
	kfree(space);
	current->unwind.space = NULL;
}
