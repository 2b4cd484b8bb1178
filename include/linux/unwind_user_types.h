/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a task_struct embeds for deferred unwinding of user-space stacks.
 *
 * Kept apart from <linux/unwind_user.h>, which clients include: nearly every
 * file of the kernel sees this header.
 */
#ifndef _LINUX_UNWIND_USER_TYPES_H
#define _LINUX_UNWIND_USER_TYPES_H

#include <linux/types.h>

/**
 * enum unwind_path - the ways a stack is walked, each with a work of its own
 * @UNWIND_PATH_SFRAME:	serves %USER_UNWIND_SFRAME and %USER_UNWIND_AUTO clients
 * @UNWIND_PATH_FP:	serves %USER_UNWIND_FP clients
 * @UNWIND_NR_PATHS:	number of paths
 */
enum unwind_path {
	UNWIND_PATH_SFRAME,
	UNWIND_PATH_FP,
	UNWIND_NR_PATHS,
};

#ifdef CONFIG_UNWIND_USER

struct unwind_space;

/**
 * struct unwind_task - deferred unwinding state of one task
 * @state:	a bit for each client and the flags that change together with
 *		them, see kernel/unwind/internal.h. Set by current, in any
 *		context; client bits are cleared by unwinder_unregister() too
 * @cookie:	name of the current stack while UNWIND_LIVE is set in @state;
 *		written by current, in any context
 * @flags:	what need not change together with @state, see
 *		kernel/unwind/internal.h
 * @space:	room for the frames, taken by who walks or frees it
 * @work:	runs a path before the return to user space
 */
struct unwind_task {
	atomic64_t		state;
	u64			cookie;
	atomic_long_t		flags;
	struct unwind_space	*space;
	struct callback_head	work[UNWIND_NR_PATHS];
};

#else

struct unwind_task { };

#endif /* CONFIG_UNWIND_USER */

#endif /* _LINUX_UNWIND_USER_TYPES_H */
