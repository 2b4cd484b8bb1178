/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Deferred unwinding of user-space stacks: the hooks in the life of a task.
 */
#ifndef _LINUX_UNWIND_USER_ENTRY_H
#define _LINUX_UNWIND_USER_ENTRY_H

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
void unwind_gate_shut(void);
void unwind_gate_open(void);
void unwind_exit_late(void);

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

	if (unlikely(atomic64_read(&current->unwind.state)) &&
	    !atomic64_try_cmpxchg(&current->unwind.state, &live, 0))
		unwind_exit_late();
}

#else

static inline void unwind_task_init(struct task_struct *task) { }
static inline void unwind_task_exit(void) { }
static inline void unwind_gate_shut(void) { }
static inline void unwind_gate_open(void) { }
static __always_inline void unwind_exit_to_user_mode(void) { }

#endif /* CONFIG_UNWIND_USER */

#endif /* _LINUX_UNWIND_USER_ENTRY_H */
