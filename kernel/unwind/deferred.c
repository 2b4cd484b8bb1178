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
 * cmpxchg loops: an NMI in the middle of one makes it start again. Others only clear
 * bits: unwinder_unregister() takes back that of the client, and UNWIND_LIVE if it is
 * the last one; unwind_register_changed(), for a task that is stopped, UNWIND_LIVE.
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
 *
 * Whatever else replaces the stack shuts the gate first, see gate.c.
 */
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sysctl.h>
#include <linux/task_work.h>

#include "internal.h"

DEFINE_STATIC_KEY_FALSE(unwinder_in_use);

/* sysctl kernel.unwind_user */
static unsigned int unwinder_enabled __read_mostly = 1;

/* Serialises registration. Readers of @unwinder_clients hold RCU only. */
static DEFINE_MUTEX(unwinder_mutex);
struct unwinder_client __rcu *unwinder_clients[UNWINDER_MAX_CLIENTS];

DEFINE_PER_CPU(u64, unwind_last_cookie);

static int __init unwinder_init(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		per_cpu(unwind_last_cookie, cpu) = (u64)cpu << UNWIND_COOKIE_CPU_SHIFT;
	return 0;
}
early_initcall(unwinder_init);

static struct ctl_table unwinder_sysctls[] = {
	{
		.procname	= "unwind_user",
		.data		= &unwinder_enabled,
		.maxlen		= sizeof(unwinder_enabled),
		.mode		= 0644,
		.proc_handler	= proc_douintvec_minmax,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_ONE,
	},
};

static int __init unwinder_sysctl_init(void)
{
	register_sysctl_init("kernel", unwinder_sysctls);
	return 0;
}
core_initcall(unwinder_sysctl_init);

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
 *	-EPERM		the administrator has switched unwinding off
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

	if (!READ_ONCE(unwinder_enabled))
		return -EPERM;

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
	s64 taken;

	guard(rcu)();
	for_each_process_thread(group, task) {
		taken = atomic64_fetch_andnot(bits, &task->unwind.state) & bits;
		if (taken & UNWIND_CLIENTS)
			unwind_count(UNWIND_WITHDRAWN);
	}
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
	if (!any_client())
		unwind_space_free_all();
}
EXPORT_SYMBOL_GPL(unwinder_unregister);

/**
 * unwind_next_cookie - a cookie that nobody has yet
 *
 * Context: Any. If current migrates meanwhile the cookie is another CPU's, and just
 * as unique.
 */
u64 unwind_next_cookie(void)
{
	u64 last = this_cpu_read(unwind_last_cookie);
	u64 next;

	do {
		next = unwind_cookie_after(last);
	} while (!this_cpu_try_cmpxchg(unwind_last_cookie, &last, next));

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
 * The name of the stack as it is from now on. Before its first request is in the
 * state, so that an NMI may do the same in between.
 */
static bool name_stack(struct unwind_task *unwind, u64 old, u64 fresh)
{
	if (!try_cmpxchg(&unwind->cookie, &old, fresh))
		return false;
	atomic_long_andnot(UNWIND_OF_COOKIE, &unwind->flags);
	return true;
}

/*
 * Accept the request of the client that owns @bit; an NMI may do the same in
 * the middle of it. The cookie is read before the state: if it has not changed
 * when the new one is written, and the state has not when the bit is set, no NMI
 * has made a cookie in between.
 *
 * Return: 0 if the request is new, 1 if another one covers it, or an error.
 */
static int accept_request(struct unwind_task *unwind, s64 bit)
{
	u64 cookie, fresh = 0;
	unsigned long flags;
	s64 state;

	for (;;) {
		cookie = READ_ONCE(unwind->cookie);
		flags = atomic_long_read(&unwind->flags);
		state = atomic64_read(&unwind->state);

		/* Its callback comes in the walk that this is part of. */
		if (state & UNWIND_RUNNING && state & bit)
			return 1;
		if (state & UNWIND_GATE)
			return current->flags & PF_EXITING ? -ESRCH : -EAGAIN;
		/* Until the old stack is delivered there is no name for the new one. */
		if (flags & UNWIND_CHANGED_ANY && state & UNWIND_CLIENTS)
			return -EAGAIN;
		if (state & bit)
			return 1;
		if (state & UNWIND_RUNNING)
			return -EBUSY;
		if (!(state & UNWIND_LIVE) || flags & UNWIND_CHANGED_ANY) {
			fresh = fresh ?: unwind_next_cookie();
			if (!name_stack(unwind, cookie, fresh))
				continue;
		} else if ((flags & UNWIND_REPEATS) >= UNWIND_MAX_REPEATS * UNWIND_REPEAT) {
			return -EBUSY;
		}
		if (atomic64_try_cmpxchg(&unwind->state, &state,
					 state | bit | UNWIND_LIVE))
			return 0;
	}
}

static int queue_path(struct unwind_task *unwind, enum unwind_path path)
{
	int mode = (in_nmi() ? TWA_NMI_CURRENT : TWA_RESUME) | TWAF_NO_ALLOC;

	if (atomic_long_fetch_or(UNWIND_QUEUED(path), &unwind->flags) & UNWIND_QUEUED(path))
		return 0;
	return task_work_add(current, &unwind->work[path], mode);
}

static int try_trigger(struct unwinder_client *client, u64 *cookie)
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
	if (!READ_ONCE(unwinder_enabled))
		return -EPERM;

	ret = accept_request(unwind, BIT_ULL(id - 1));
	if (ret < 0)
		return ret;
	unwind_count(ret ? UNWIND_COVERED : UNWIND_REQUESTS);
	*cookie = READ_ONCE(unwind->cookie);
	return queue_path(unwind, unwinder_path(client));
}

static void count_refusal(int error)
{
	switch (error) {
	case -ENOENT:
		return unwind_count(UNWIND_REFUSED_UNREGISTERED);
	case -EOPNOTSUPP:
		return unwind_count(UNWIND_REFUSED_NO_STACK);
	case -ENXIO:
		return unwind_count(UNWIND_REFUSED_NO_MM);
	case -ESRCH:
		return unwind_count(UNWIND_REFUSED_EXITING);
	case -EAGAIN:
		return unwind_count(UNWIND_REFUSED_REPLACING);
	case -EBUSY:
		return unwind_count(UNWIND_REFUSED_DELIVERING);
	case -EPERM:
		return unwind_count(UNWIND_REFUSED_OFF);
	}
}

/**
 * unwinder_trigger - ask for the user-space stack of current
 * @client: who asks
 * @cookie: where the name of the stack goes; unchanged on error
 *
 * The callback of @client gets the stack, as it is now, before current returns
 * to user space. All triggers, by any client, between an entry from user space
 * and the return, or what else replaces the stack, get the same cookie. Further
 * triggers of @client before its callback are served by that one callback.
 *
 * Context: Any context, NMI included. Takes no lock, does not sleep.
 * Return: 0, or
 *	-ENOENT		@client is not registered
 *	-EPERM		the administrator has switched unwinding off
 *	-EOPNOTSUPP	current is a kernel thread, or one that works for user
 *			space without ever returning to it, as io_uring has them
 *	-ENXIO		current has no memory
 *	-ESRCH		current is exiting and has delivered its last stack
 *	-EAGAIN		the stack of current is being replaced
 *	-EBUSY		current is delivering its stack at this moment, or has
 *			delivered it again %UNWIND_MAX_REPEATS times without any
 *			progress, and no callback of @client is still to come
 */
int unwinder_trigger(struct unwinder_client *client, u64 *cookie)
{
	int ret = try_trigger(client, cookie);

	if (unlikely(ret))
		count_refusal(ret);
	return ret;
}
EXPORT_SYMBOL_GPL(unwinder_trigger);
