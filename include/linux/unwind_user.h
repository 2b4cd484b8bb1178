/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Deferred unwinding of user-space stacks: the interface of its clients.
 *
 * A client registers once. At an event, in any context, it calls
 * unwinder_trigger() and gets a cookie. Before the task returns to user space
 * the stack arrives in the client's callback together with the same cookie.
 *
 * Include this from .c files only.
 */
#ifndef _LINUX_UNWIND_USER_H
#define _LINUX_UNWIND_USER_H

#include <linux/errno.h>
#include <linux/types.h>

/**
 * enum user_unwind_type - how the frames of a stack are found
 * @USER_UNWIND_AUTO:	per frame: SFrame where a table covers the PC, the frame
 *			pointer where none does
 * @USER_UNWIND_SFRAME:	SFrame tables only, no frame is guessed
 * @USER_UNWIND_FP:	frame pointers only
 * @USER_UNWIND_NR_TYPES: number of types
 */
enum user_unwind_type {
	USER_UNWIND_AUTO	= 0,
	USER_UNWIND_SFRAME	= 1,
	USER_UNWIND_FP		= 2,
	USER_UNWIND_NR_TYPES,
};

/**
 * enum user_unwind_end - why a stack has no further frame
 * @USER_UNWIND_END_OUTERMOST:	the outermost frame was reached: the stack is
 *				complete
 * @USER_UNWIND_END_LIMIT:	the client's max_entries was reached
 * @USER_UNWIND_END_NO_TABLE:	no table covers the PC of the last frame
 * @USER_UNWIND_END_MALFORMED:	the table entry for the last frame is unusable
 * @USER_UNWIND_END_UNREADABLE:	the stack, or a table, could not be read
 * @USER_UNWIND_END_NO_PROGRESS: the caller's frame would be nonsense: not above
 *				the last one, or returned to from no code
 * @USER_UNWIND_END_REGISTER:	a rule needs a register that is not known
 * @USER_UNWIND_END_BUDGET:	the walk cost more than one walk may
 * @USER_UNWIND_END_KILLED:	a fatal signal is pending and the next step would
 *				have had to wait for memory
 * @USER_UNWIND_END_NO_MEMORY:	no buffer for the frames
 * @USER_UNWIND_END_REPLACED:	the stack of the trigger is gone
 * @USER_UNWIND_NR_ENDS:	number of reasons
 *
 * perf records carry the value plus one, see PERF_RECORD_CALLCHAIN_DEFERRED.
 */
enum user_unwind_end {
	USER_UNWIND_END_OUTERMOST	= 0,
	USER_UNWIND_END_LIMIT		= 1,
	USER_UNWIND_END_NO_TABLE	= 2,
	USER_UNWIND_END_MALFORMED	= 3,
	USER_UNWIND_END_UNREADABLE	= 4,
	USER_UNWIND_END_NO_PROGRESS	= 5,
	USER_UNWIND_END_REGISTER	= 6,
	USER_UNWIND_END_BUDGET		= 7,
	USER_UNWIND_END_KILLED		= 8,
	USER_UNWIND_END_NO_MEMORY	= 9,
	USER_UNWIND_END_REPLACED	= 10,
	USER_UNWIND_NR_ENDS,
};

/**
 * struct user_space_stack - the user-space stack that a callback gets
 * @entries:	instruction pointers, innermost first; return addresses as they
 *		stand on the stack
 * @nr:		number of @entries
 * @first_fp:	index of the first entry that was found with a frame pointer,
 *		@nr if there is none; what stands there and beyond rests on rbp
 * @end:	why there is no entry after the last one
 * @truncated:	there are more frames than @nr
 * @type:	the type that the client asked for
 */
struct user_space_stack {
	const unsigned long	*entries;
	unsigned int		nr;
	unsigned int		first_fp;
	enum user_unwind_end	end;
	bool			truncated;
	enum user_unwind_type	type;
};

struct unwinder_client;

/**
 * typedef unwinder_callback_t - receives the stack of an accepted trigger
 * @client:	the client that triggered
 * @stack:	the stack, valid during the call only
 * @cookie:	what unwinder_trigger() gave out for this stack
 *
 * Context: Task context of the task that triggered, interrupts on, within an
 * RCU read-side critical section. Must not sleep.
 */
typedef void (*unwinder_callback_t)(struct unwinder_client *client,
				    const struct user_space_stack *stack,
				    u64 cookie);

/**
 * struct unwinder_client - one tracer that wants user-space stacks
 * @callback:	called once for each group of accepted triggers
 * @name:	for humans
 * @type:	how frames are found
 * @max_entries: the largest number of entries that @callback wants, at least 1
 * @id:	private to the core
 *
 * The first four members are set before unwinder_register() and not changed
 * while the client is registered. A client that was zeroed, or unregistered,
 * is not registered.
 */
struct unwinder_client {
	unwinder_callback_t	callback;
	const char		*name;
	enum user_unwind_type	type;
	unsigned int		max_entries;
	/* private: */
	unsigned int		id;
};

/* The largest max_entries that a client may ask for. */
#define UNWINDER_MAX_ENTRIES	65536

#ifdef CONFIG_UNWIND_USER

int unwinder_register(struct unwinder_client *client);
void unwinder_unregister(struct unwinder_client *client);
int unwinder_trigger(struct unwinder_client *client, u64 *cookie);

#else

static inline int unwinder_register(struct unwinder_client *client)
{
	return -EOPNOTSUPP;
}

static inline void unwinder_unregister(struct unwinder_client *client) { }

static inline int unwinder_trigger(struct unwinder_client *client, u64 *cookie)
{
	return -EOPNOTSUPP;
}

#endif /* CONFIG_UNWIND_USER */

#endif /* _LINUX_UNWIND_USER_H */
