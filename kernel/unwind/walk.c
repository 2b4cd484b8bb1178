// SPDX-License-Identifier: GPL-2.0
/*
 * A walk: from the registers of current, one frame after another, to the
 * outermost frame, the limit, or what keeps it from going on.
 */
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>
#include <asm/unwind_user.h>

#include "internal.h"

static bool is_dying(void)
{
	return fatal_signal_pending(current) || (current->flags & PF_EXITING);
}

/**
 * unwind_must_not_wait - is current on its way out, or holding a lock?
 *
 * A task that is to be killed must not wait for memory, which a user-space file
 * system may never deliver. What is resident can still be read.
 */
bool unwind_must_not_wait(void)
{
	return is_dying() ||
	       (atomic_long_read(&current->unwind.flags) & UNWIND_NO_WAIT);
}

static int read_user(unsigned long addr, unsigned int word, unsigned long *value)
{
	u32 value32;
	int ret;

	if (word == sizeof(u32)) {
		ret = get_user(value32, (u32 __user *)addr);
		*value = value32;
		return ret;
	}
	return get_user(*value, (unsigned long __user *)addr);
}

/**
 * unwind_read_word - read an address from the stack
 * @walk: the walk
 * @addr: where it stands
 * @value: where it goes
 *
 * Context: May sleep, with no lock held.
 * Return: 0, -EFAULT or -EINTR.
 */
int unwind_read_word(struct unwind_walk *walk, unsigned long addr,
		     unsigned long *value)
{
	int ret;

	if (likely(!unwind_must_not_wait())) {
		ret = read_user(addr, walk->word, value);
		return ret && unwind_must_not_wait() ? -EINTR : ret;
	}

	pagefault_disable();
	ret = read_user(addr, walk->word, value);
	pagefault_enable();
	return ret ? -EINTR : 0;
}

static void start_walk(struct unwind_walk *walk, unsigned int limit)
{
	struct pt_regs *regs = task_pt_regs(current);

	*walk = (struct unwind_walk) {
		.frame = {
			.ip		= instruction_pointer(regs),
			.sp		= user_stack_pointer(regs),
			.fp		= frame_pointer(regs),
			.fp_known	= true,
			.exact		= true,
			.regs		= regs,
		},
		.word	= unwind_user_word(regs),
		.changed = atomic_long_read(&current->unwind.flags) & UNWIND_CHANGED_ANY,
		.rows	= UNWIND_ROWS_PER_FRAME * max(limit, UNWIND_MIN_FRAMES),
		.mm	= current->mm,
	};
}

/* Without these registers there is no first frame. */
#define CHANGED_FRAME	(UNWIND_CHANGED(UNWIND_USER_REG_IP) |	\
			 UNWIND_CHANGED(UNWIND_USER_REG_SP) |	\
			 UNWIND_CHANGED(UNWIND_USER_REG_FP))

/*
 * From the frame to its caller, with the first method that has something to say
 * about the PC.
 */
static int take_step(struct unwind_walk *walk, struct unwind_stack *stack,
		     enum unwind_path path)
{
	int ret;

	if (walk->changed & CHANGED_FRAME)
		return -ESTALE;

	if (path == UNWIND_PATH_SFRAME) {
		ret = unwind_step_sframe(walk);
		if (ret != -ENOENT || !stack->guess)
			return ret;
		stack->guessed = true;
	}

	ret = unwind_step_fp(walk);
	if (!ret)
		stack->first_fp = min(stack->first_fp, stack->nr);
	return ret;
}

/* Beside what a step returns. */
#define LIMIT_REACHED	2

static enum user_unwind_end end_reason(int step)
{
	switch (step) {
	case UNWIND_OUTERMOST:	return USER_UNWIND_END_OUTERMOST;
	case LIMIT_REACHED:	return USER_UNWIND_END_LIMIT;
	case -ENOENT:		return USER_UNWIND_END_NO_TABLE;
	case -EBADMSG:		return USER_UNWIND_END_MALFORMED;
	case -ELOOP:		return USER_UNWIND_END_NO_PROGRESS;
	case -ENXIO:		return USER_UNWIND_END_REGISTER;
	case -E2BIG:		return USER_UNWIND_END_BUDGET;
	case -EINTR:		return is_dying() ? USER_UNWIND_END_KILLED :
						    USER_UNWIND_END_UNREADABLE;
	case -ESTALE:		return USER_UNWIND_END_REPLACED;
	case -ENOMEM:		return USER_UNWIND_END_NO_MEMORY;
	default:		return USER_UNWIND_END_UNREADABLE;
	}
}

/**
 * unwind_walk - walk the user-space stack of current
 * @walk: scratch
 * @stack: where the frames go; entries, room, limit and guess are set, limit is
 *	not 0 and there is room for it
 * @path: how to walk
 *
 * Every step moves the stack pointer up, and the number of frames is limited, so
 * it ends on any stack.
 *
 * Context: Task context with no lock held, user registers saved. May sleep.
 */
void unwind_walk(struct unwind_walk *walk, struct unwind_stack *stack,
		 enum unwind_path path)
{
	int ret;

	start_walk(walk, stack->limit);
	unwind_probe_start(walk);
	stack->guessed = false;
	stack->first_fp = UINT_MAX;
	stack->nr = 0;

	do {
		stack->entries[stack->nr++] = walk->frame.ip;
		cond_resched();

		ret = take_step(walk, stack, path);
		if (!ret && stack->nr == stack->limit)
			ret = LIMIT_REACHED;
	} while (!ret);

	stack->end = end_reason(ret);
	/* Not a frame of it is that of the request. */
	if (stack->end == USER_UNWIND_END_REPLACED)
		stack->nr = 0;
	stack->first_fp = min(stack->first_fp, stack->nr);
	unwind_areas_put(walk);
}
