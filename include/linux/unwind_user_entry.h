/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Deferred unwinding of user-space stacks: the hooks in the life of a task.
 */
#ifndef _LINUX_UNWIND_USER_ENTRY_H
#define _LINUX_UNWIND_USER_ENTRY_H

#include <linux/cleanup.h>
#include <linux/sched.h>

#ifdef CONFIG_UNWIND_USER

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/jump_label.h>

DECLARE_STATIC_KEY_FALSE(unwinder_in_use);

/* In unwind_task::state: the cookie names the current stack. */
#define UNWIND_LIVE		BIT_ULL(60)

void unwind_task_init(struct task_struct *task);
void unwind_task_exit(void);

void unwind_flush(void);
bool unwind_gate_shut(void);
bool unwind_gate_try_shut(void);
void unwind_gate_shut_nowait(void);
void unwind_gate_open(void);
void unwind_register_changed(struct task_struct *task, unsigned long offset);

void __unwind_made_progress(void);
void unwind_exit_late(void);

/**
 * unwind_made_progress - what current is in the kernel for has gone on
 *
 * For who does the work of the return to user space, and then something else, again
 * and again: a virtual CPU that has entered its guest, who has waited for io_uring.
 * What was delivered so far does not count against the limit of one return.
 *
 * Context: Task context.
 */
static __always_inline void unwind_made_progress(void)
{
	if (static_branch_unlikely(&unwinder_in_use))
		__unwind_made_progress();
}

/**
 * unwind_exit_to_user_mode - end the life of the current cookie
 *
 * The stack that the cookie names is about to run on. A request that was made
 * after the last look at the task's work keeps its cookie: an interrupt delivers
 * it, before the next instruction of user space or very few later. An NMI that
 * comes after this sends itself that interrupt.
 *
 * Context: Last step of a return to user space, interrupts off.
 */
static __always_inline void unwind_exit_to_user_mode(void)
{
	s64 live = UNWIND_LIVE;

	if (!static_branch_unlikely(&unwinder_in_use))
		return;

	if (unlikely(raw_atomic64_read(&current->unwind.state)) &&
	    !raw_atomic64_try_cmpxchg(&current->unwind.state, &live, 0))
		unwind_exit_late();
}

#else

static inline void unwind_task_init(struct task_struct *task) { }
static inline void unwind_task_exit(void) { }

static inline void unwind_flush(void) { }
static inline bool unwind_gate_shut(void) { return false; }
static inline bool unwind_gate_try_shut(void) { return true; }
static inline void unwind_gate_shut_nowait(void) { }
static inline void unwind_gate_open(void) { }
static inline void unwind_register_changed(struct task_struct *task,
					   unsigned long offset) { }

static __always_inline void unwind_made_progress(void) { }
static __always_inline void unwind_exit_to_user_mode(void) { }

#endif /* CONFIG_UNWIND_USER */

static inline void unwind_gate_leave(bool shut)
{
	if (shut)
		unwind_gate_open();
}

/*
 * guard(unwind_gate)() - the rest of the scope replaces the stack of current
 *
 * May be within the scope of another one, which then decides.
 */
DEFINE_LOCK_GUARD_0(unwind_gate, _T->shut = unwind_gate_shut(),
		    unwind_gate_leave(_T->shut), bool shut)

#endif /* _LINUX_UNWIND_USER_ENTRY_H */
