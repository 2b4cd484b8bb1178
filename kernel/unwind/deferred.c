// SPDX-License-Identifier: GPL-2.0
/*
 * Deferred unwinding: clients, cookies and the work before the return to user
 * space.
 *
 * One word of each task, unwind_task::state, carries a bit for every client
 * whose request waits, and the flags that must change together with these bits:
 *
 *  UNWIND_LIVE		the cookie names the stack of this entry
 *  UNWIND_RUNNING	stacks are being walked and delivered: a client whose bit
 *			is set gets them, any other has to come again later
 *  UNWIND_GATE		the stack is being replaced, or gone: nothing is
 *			accepted
 *
 * Only current sets bits, but it does so from every context, so all updates are
 * cmpxchg loops: an NMI in the middle of one makes it start again. Only
 * unwinder_unregister() touches the word of another task, to take the bit of the
 * client back.
 *
 * A request travels like this:
 *
 *   event, any context             task work, before the return to user space
 *   ------------------             ------------------------------------------
 *   unwinder_trigger()
 *     no cookie yet: make one
 *     set client bit, UNWIND_LIVE
 *     queue the path's work   -->  unwind_deliver()
 *                                    set UNWIND_RUNNING
 *                                    walk as deep as the deepest client wants
 *                                    for each client: clear bit, callback
 *                                    clear UNWIND_RUNNING
 *                                  unwind_exit_to_user_mode()
 *                                    clear UNWIND_LIVE
 */
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/task_work.h>

#include "internal.h"

DEFINE_STATIC_KEY_FALSE(unwinder_in_use);

/* Serialises registration. Readers of @unwinder_clients hold RCU only. */
static DEFINE_MUTEX(unwinder_mutex);
struct unwinder_client __rcu *unwinder_clients[UNWINDER_MAX_CLIENTS];

/*
 * The last cookie that this CPU gave out; before the first one, the CPU's number
 * in the CPU bits. No other CPU touches it.
 */
static DEFINE_PER_CPU(u64, last_cookie);

static int __init unwinder_init(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		per_cpu(last_cookie, cpu) = (u64)cpu << UNWIND_COOKIE_CPU_SHIFT;
	return 0;
}
early_initcall(unwinder_init);

static bool type_supported(enum user_unwind_type type)
{
	switch (type) {
	case USER_UNWIND_AUTO:
		return true;
	case USER_UNWIND_SFRAME:
		return IS_ENABLED(CONFIG_UNWIND_USER_SFRAME);
	case USER_UNWIND_FP:
		return IS_ENABLED(CONFIG_UNWIND_USER_FP);
	default:
		return false;
	}
}

/**
 * unwinder_register - make a tracer a client
 * @client: what the tracer wants; stays in place until unwinder_unregister()
 *
 * Context: Process context. May sleep.
 * Return: 0, or
 *	-EINVAL		a member of @client has no sensible value
 *	-EOPNOTSUPP	this kernel cannot walk stacks in the way asked for
 *	-EEXIST		@client is registered already
 *	-EBUSY		there are as many clients as there can be
 */
int unwinder_register(struct unwinder_client *client)
{
	unsigned int slot;

	if (!client->callback || !client->max_entries ||
	    client->max_entries > UNWINDER_MAX_ENTRIES ||
	    (unsigned int)client->type >= USER_UNWIND_NR_TYPES)
		return -EINVAL;
	if (!type_supported(client->type))
		return -EOPNOTSUPP;

	guard(mutex)(&unwinder_mutex);
	if (client->id)
		return -EEXIST;
	for (slot = 0; slot < UNWINDER_MAX_CLIENTS; slot++) {
		if (!rcu_access_pointer(unwinder_clients[slot]))
			break;
	}
	if (slot == UNWINDER_MAX_CLIENTS)
		return -EBUSY;

	/* From here on every return to user space ends the life of a cookie. */
	static_branch_inc(&unwinder_in_use);
	rcu_assign_pointer(unwinder_clients[slot], client);
	/* Pairs with unwinder_trigger(): who sees the id sees the client. */
	smp_store_release(&client->id, slot + 1);
	return 0;
}
EXPORT_SYMBOL_GPL(unwinder_register);

static bool any_client(void)
{
	unsigned int slot;

	for (slot = 0; slot < UNWINDER_MAX_CLIENTS; slot++) {
		if (rcu_access_pointer(unwinder_clients[slot]))
			return true;
	}
	return false;
}

/* Take these bits back from every task, whatever it is doing. */
static void forget_requests(s64 bits)
{
	struct task_struct *group, *task;

	guard(rcu)();
	for_each_process_thread(group, task)
		atomic64_andnot(bits, &task->unwind.state);
}

/**
 * unwinder_unregister - end a client
 * @client: a client; nothing happens if it is not registered
 *
 * Requests that were not delivered yet are dropped. When this returns, no
 * callback of @client runs or will run. It does not wait for walks, which may
 * wait for user space.
 *
 * Context: Process context, not within a callback. May sleep.
 */
void unwinder_unregister(struct unwinder_client *client)
{
	unsigned int slot;
	s64 forget;

	guard(mutex)(&unwinder_mutex);
	if (!client->id)
		return;

	slot = client->id - 1;
	forget = BIT_ULL(slot);
	WRITE_ONCE(client->id, 0);
	RCU_INIT_POINTER(unwinder_clients[slot], NULL);
	/* The last triggers have set their bits, the last callbacks are over. */
	synchronize_rcu();

	/*
	 * Without a client no return to user space ends a cookie's life. End
	 * them all, or the next client would meet the cookies of stacks that are
	 * long gone.
	 */
	if (!any_client())
		forget |= UNWIND_LIVE;
	forget_requests(forget);
	static_branch_dec(&unwinder_in_use);
}
EXPORT_SYMBOL_GPL(unwinder_unregister);

/* Safe against NMI, and against migration: a cookie contains its CPU. */
static u64 next_cookie(void)
{
	u64 last = this_cpu_read(last_cookie);
	u64 next;

	do {
		next = unwind_cookie_after(last);
	} while (!this_cpu_try_cmpxchg(last_cookie, &last, next));

	return next;
}

/* Has current a stack of its own in user space? */
static int check_current(void)
{
	if (current->flags & (PF_KTHREAD | PF_USER_WORKER))
		return -EOPNOTSUPP;
	if (current->flags & PF_EXITING && !current->mm)
		return -ESRCH;
	return current->mm ? 0 : -ENXIO;
}

/*
 * Accept the request of the client that owns @bit; an NMI may do the same in
 * the middle of it. The cookie is read before the state: if it has not changed
 * when the new one is written, and the state has not when the bit is set, no NMI
 * has made a cookie in between.
 */
static int accept_request(struct unwind_task *unwind, s64 bit)
{
	u64 cookie, fresh = 0;
	s64 state;

	for (;;) {
		cookie = READ_ONCE(unwind->cookie);
		state = atomic64_read(&unwind->state);

		if (state & UNWIND_GATE)
			return current->flags & PF_EXITING ? -ESRCH : -EAGAIN;
		if (state & bit)
			return 0;
		if (state & UNWIND_RUNNING)
			return -EBUSY;
		if (!(state & UNWIND_LIVE)) {
			fresh = fresh ?: next_cookie();
			if (!try_cmpxchg(&unwind->cookie, &cookie, fresh))
				continue;
		}
		if (atomic64_try_cmpxchg(&unwind->state, &state,
					 state | bit | UNWIND_LIVE))
			return 0;
	}
}

static int queue_path(struct unwind_task *unwind, enum unwind_path path)
{
	int mode = (in_nmi() ? TWA_NMI_CURRENT : TWA_RESUME) | TWAF_NO_ALLOC;

	if (test_and_set_bit(path, &unwind->queued))
		return 0;
	return task_work_add(current, &unwind->work[path], mode);
}

/**
 * unwinder_trigger - ask for the user-space stack of current
 * @client: who asks
 * @cookie: where the name of the stack goes; unchanged on error
 *
 * The callback of @client gets the stack, as it is now, before current returns
 * to user space. All triggers, by any client, between an entry from user space
 * and the return get the same cookie. Further triggers of @client before its
 * callback are served by that one callback.
 *
 * Context: Any context, NMI included. Takes no lock, does not sleep.
 * Return: 0, or
 *	-ENOENT		@client is not registered
 *	-EOPNOTSUPP	current is a kernel thread, or one that works for user
 *			space without ever returning to it, as io_uring has them
 *	-ENXIO		current has no memory
 *	-ESRCH		current is exiting and has delivered its last stack
 *	-EAGAIN		the stack of current is being replaced
 *	-EBUSY		current is delivering its stack at this moment, and no
 *			callback of @client is still to come
 */
int unwinder_trigger(struct unwinder_client *client, u64 *cookie)
{
	struct unwind_task *unwind = &current->unwind;
	unsigned int id;
	int ret;

	ret = check_current();
	if (ret)
		return ret;

	/* Pairs with synchronize_rcu() in unwinder_unregister(). */
	guard(rcu)();
	/* Pairs with smp_store_release() in unwinder_register(). */
	id = smp_load_acquire(&client->id);
	if (!id)
		return -ENOENT;

	ret = accept_request(unwind, BIT_ULL(id - 1));
	if (ret)
		return ret;
	*cookie = READ_ONCE(unwind->cookie);
	return queue_path(unwind, unwinder_path(client));
}
EXPORT_SYMBOL_GPL(unwinder_trigger);
