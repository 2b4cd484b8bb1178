// SPDX-License-Identifier: GPL-2.0
/*
 * Where a stack ends: the return to user space, what replaces the registers or the
 * memory of the task, and its exit.
 *
 * A stack belongs to the moment of the request. So what is about to replace it
 * shuts the gate, which accepts nothing any more, in the same word in which
 * requests are accepted; delivers what was accepted; replaces the stack; and opens
 * the gate. What is asked for then is another stack and gets another cookie.
 *
 * Documentation/trace/unwind_user.rst lists all that replaces a stack.
 */
#include <linux/bitops.h>
#include <linux/irq_work.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/task_work.h>

#include "internal.h"

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
 * unwind_flush - deliver what was accepted
 *
 * For what replaces the stack later, where it holds locks and may not wait.
 *
 * Context: Task context with no lock held. May sleep.
 */
void unwind_flush(void)
{
	unwind_deliver_all();
}

/**
 * unwind_gate_shut - the stack of current is about to be replaced
 *
 * Delivers what was accepted, and accepts nothing until unwind_gate_open(). A
 * work may still be queued; it finds what is accepted later, or nothing to do.
 *
 * Context: Task context with no lock held, and with the user registers and the
 * mm that are to go. May sleep.
 * Return: false if the gate was shut already.
 */
bool unwind_gate_shut(void)
{
	struct unwind_task *unwind = &current->unwind;

	if (atomic64_fetch_or(UNWIND_GATE, &unwind->state) & UNWIND_GATE)
		return false;

	unwind_deliver_all();
	atomic64_andnot(UNWIND_LIVE, &unwind->state);
	return true;
}

/**
 * unwind_gate_try_shut - shut the gate if there is nothing to deliver
 *
 * Context: Task context.
 * Return: false if there is, or the gate is shut already.
 */
bool unwind_gate_try_shut(void)
{
	struct unwind_task *unwind = &current->unwind;
	s64 state = atomic64_read(&unwind->state);

	do {
		if (state & (UNWIND_CLIENTS | UNWIND_GATE))
			return false;
	} while (!atomic64_try_cmpxchg(&unwind->state, &state, UNWIND_GATE));
	return true;
}

/**
 * unwind_gate_shut_nowait - unwind_gate_shut() for who holds locks
 *
 * No page fault is taken: what is not resident ends the stack.
 *
 * Context: Task context, with locks held that the walk of resident memory does not
 * take, and no spinlock.
 */
void unwind_gate_shut_nowait(void)
{
	atomic_long_or(UNWIND_NO_WAIT, &current->unwind.flags);
	unwind_gate_shut();
	atomic_long_andnot(UNWIND_NO_WAIT, &current->unwind.flags);
}

/**
 * unwind_gate_open - current has the stack that it will go on with
 *
 * Context: Task context.
 */
void unwind_gate_open(void)
{
	atomic64_andnot(UNWIND_GATE, &current->unwind.state);
}

/**
 * unwind_register_changed - somebody writes a register of a task that has stopped
 * @task: the task; it does not run
 * @offset: where its pt_regs has the register
 *
 * Without a request the next one simply is about another stack. With one, the walk
 * shall know which registers are not those of the request.
 *
 * Context: Any. The caller keeps @task stopped.
 */
void unwind_register_changed(struct task_struct *task, unsigned long offset)
{
	unsigned int reg = unwind_user_reg_number(offset);
	struct unwind_task *unwind = &task->unwind;

	if (reg == UNWIND_USER_NR_REGS)
		return;
	if (atomic64_read(&unwind->state) & UNWIND_CLIENTS)
		atomic_long_or(UNWIND_CHANGED(reg), &unwind->flags);
	else
		atomic64_andnot(UNWIND_LIVE, &unwind->state);
}

/* What is left is of clients that are being unregistered, or there is a bug. */
static void drop_requests(void)
{
	unsigned long left;
	unsigned int slot;

	left = atomic64_fetch_andnot(UNWIND_CLIENTS, &current->unwind.state);
	for_each_set_bit(slot, &left, UNWINDER_MAX_CLIENTS)
		unwind_count(rcu_access_pointer(unwinder_clients[slot]) ?
			     UNWIND_LOST : UNWIND_WITHDRAWN);
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
	unwind_gate_shut();
	drop_requests();
	unwind_space_free();
}

void __unwind_made_progress(void)
{
	atomic_long_andnot(UNWIND_DELIVERED_ANY | UNWIND_REPEATS, &current->unwind.flags);
}

static void interrupt_user_mode(struct irq_work *work)
{
	/* The way in and out of the interrupt is what it is for. */
}

static DEFINE_PER_CPU(struct irq_work, late_work) =
	IRQ_WORK_INIT_HARD(interrupt_user_mode);

/* There is nothing that would deliver it, so it must not stop the task either. */
static void drop_stray_request(void)
{
	s64 live = UNWIND_LIVE;

	drop_requests();
	atomic64_try_cmpxchg(&current->unwind.state, &live, 0);
}

/**
 * unwind_exit_late - a request came after the last look at the task's work
 *
 * The interrupt that this asks for comes before the first instruction of user
 * space, where the stack is still the one that was asked for, and delivers it.
 *
 * Without a request there is nothing to do: it was withdrawn, or an NMI was here.
 *
 * Context: Last step of a return to user space, interrupts off.
 */
void unwind_exit_late(void)
{
	struct unwind_task *unwind = &current->unwind;

	if (!(atomic64_read(&unwind->state) & UNWIND_CLIENTS))
		return;

	if (atomic_long_read(&unwind->flags) & UNWIND_QUEUED_ANY) {
		unwind_count(UNWIND_LATE);
		irq_work_queue(this_cpu_ptr(&late_work));
	} else {
		drop_stray_request();
	}
}
