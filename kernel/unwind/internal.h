/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Unwinding of user-space stacks: the map.
 *
 * One direction of knowledge, from the top down; no file knows one above it:
 *
 *   gate.c	where a stack ends: return, replacement, exit of the task
 *   deferred.c	clients, triggers, cookies
 *   deliver.c	the work before the return to user space
 *   space.c	room for the frames of a task
 *   walk.c	one frame after another, the methods of each type, end reasons
 *   fp.c	from a frame to its caller with the frame pointer
 *   probes.c	addresses that uprobes have put in place of the program's
 *   tables.c	from a frame to its caller with the rule of an SFrame table
 *   area.c	what is mapped at an address
 *   section.c	the SFrame table of a mapped ELF file, and its bytes
 *   sframe*.c	bytes to rule, pure
 *
 * counters.c is known to all.
 *
 * What a step may return, the same in all of them:
 *
 *   0			the frame is the caller's now
 *   UNWIND_OUTERMOST	there is no caller
 *   -ENOENT		no table covers the PC
 *   -EBADMSG		the table, or its entry for the PC, is unusable
 *   -EFAULT		the stack or a table cannot be read
 *   -ELOOP		the caller's frame would be nonsense
 *   -ENXIO		a register that the rule needs is not known
 *   -E2BIG		the walk has used up its budget
 *   -EINTR		current is to be killed, or holds a lock, and would have to
 *			wait for memory
 *   -ESTALE		a register that the rule needs was written meanwhile
 */
#ifndef _KERNEL_UNWIND_INTERNAL_H
#define _KERNEL_UNWIND_INTERNAL_H

#include <linux/bits.h>
#include <linux/percpu.h>
#include <linux/unwind_user.h>
#include <linux/unwind_user_entry.h>
#include <asm/unwind_user.h>

#include "sframe.h"

struct file;
struct mm_struct;
struct pt_regs;

/* deferred.c */

/* unwind_task::state: a bit for each client, and three flags. */
#define UNWINDER_MAX_CLIENTS	60
#define UNWIND_CLIENTS		GENMASK_ULL(UNWINDER_MAX_CLIENTS - 1, 0)
#define UNWIND_RUNNING		BIT_ULL(61)
#define UNWIND_GATE		BIT_ULL(62)
static_assert(BIT_ULL(UNWINDER_MAX_CLIENTS) == UNWIND_LIVE);
static_assert(sizeof(struct unwind_task) <= 64);

/*
 * unwind_task::flags, atomic, too: what an NMI, or a tracer of the task, may
 * change, but not together with the clients' bits.
 *
 *  UNWIND_QUEUED	the work of a path is linked in the list of the task
 *  UNWIND_DELIVERED	the stack of a path was delivered
 *  UNWIND_NO_WAIT	a walk must not wait for memory
 *  UNWIND_HAS_SPACE	the task has, or had, room for walks
 *  UNWIND_REPEATS	how often it was delivered once more
 *  UNWIND_CHANGED	registers that somebody else wrote after a request for
 *			the stack, by their DWARF number
 *
 * Those in UNWIND_OF_COOKIE are about the current cookie.
 */
#define UNWIND_QUEUED(path)	BIT(path)
#define UNWIND_QUEUED_ANY	GENMASK(UNWIND_NR_PATHS - 1, 0)
#define UNWIND_DELIVERED(path)	BIT(2 + (path))
#define UNWIND_DELIVERED_ANY	GENMASK(3, 2)
#define UNWIND_NO_WAIT		BIT(4)
#define UNWIND_HAS_SPACE	BIT(5)
#define UNWIND_REPEAT		BIT(8)
#define UNWIND_REPEATS		GENMASK(11, 8)
#define UNWIND_CHANGED(reg)	BIT(16 + (reg))
#define UNWIND_CHANGED_ANY	GENMASK(16 + UNWIND_USER_NR_REGS - 1, 16)
#define UNWIND_OF_COOKIE	(UNWIND_DELIVERED_ANY | UNWIND_REPEATS | UNWIND_CHANGED_ANY)
static_assert(UNWIND_NR_PATHS <= 2);

/*
 * A task to which the same stack is delivered so often again, without any progress,
 * has a client whose events come from the delivery. They must not keep the task.
 */
#define UNWIND_MAX_REPEATS	8
static_assert(UNWIND_MAX_REPEATS * UNWIND_REPEAT <= UNWIND_REPEATS);

#define UNWIND_COOKIE_CPU_SHIFT	48
#define UNWIND_COOKIE_COUNT	GENMASK_ULL(UNWIND_COOKIE_CPU_SHIFT - 1, 0)

/**
 * unwind_cookie_after - the cookie that a CPU gives out after another one
 * @cookie: the last one, or the CPU's initial value, its number in the CPU bits
 *
 * The count wraps within its own bits and leaves out 0, so that no cookie is 0.
 */
static inline u64 unwind_cookie_after(u64 cookie)
{
	u64 count = (cookie + 1) & UNWIND_COOKIE_COUNT;

	return (cookie & ~UNWIND_COOKIE_COUNT) | (count ?: 1);
}

/*
 * The last cookie that this CPU gave out; before the first one, the CPU's number
 * in the CPU bits. No other CPU touches it.
 */
DECLARE_PER_CPU(u64, unwind_last_cookie);
u64 unwind_next_cookie(void);

extern struct unwinder_client __rcu *unwinder_clients[UNWINDER_MAX_CLIENTS];

static inline enum unwind_path unwinder_path(const struct unwinder_client *client)
{
	return client->type == USER_UNWIND_FP ? UNWIND_PATH_FP : UNWIND_PATH_SFRAME;
}

/* deliver.c */

void unwind_deliver(enum unwind_path path);
void unwind_deliver_all(void);
void unwind_work_sframe(struct callback_head *work);
void unwind_work_fp(struct callback_head *work);

/* area.c */

/**
 * struct unwind_table - what is known about the table for a mapping
 * @error:	0 if the rest is valid, -ENOENT if there is no table that can be
 *		used, -EAGAIN if nobody has looked yet
 * @section:	the table, in the address space of the ELF file
 * @offset:	where in the file it starts
 * @size:	bytes, an upper bound
 * @bias:	difference of an address in memory and in the ELF file
 * @text_start:	first address of the mapped segment, in the ELF file
 * @text_end:	end of it
 */
struct unwind_table {
	int			error;
	struct sframe_section	section;
	u64			offset;
	u64			size;
	u64			bias;
	u64			text_start;
	u64			text_end;
};

/**
 * struct unwind_area - a mapping that the walk met
 * @start:	first address
 * @end:	end of it, 0 for a free element
 * @exec:	instructions may be fetched from it
 * @file:	the mapped file if it is one with instructions; a reference is
 *		held until the walk ends
 * @pgoff:	page of @file that is mapped at @start
 * @table:	see there
 */
struct unwind_area {
	unsigned long		start;
	unsigned long		end;
	bool			exec;
	struct file		*file;
	unsigned long		pgoff;
	struct unwind_table	table;
};

#define UNWIND_NR_AREAS		8

/* walk.c */

#define UNWIND_OUTERMOST	1

/*
 * Rows and program headers that a walk may look at, for each frame that it may
 * have. Ordinary code needs ten or twenty. A walk of few frames may have as many as
 * one of UNWIND_MIN_FRAMES: a large function can be in any stack.
 */
#define UNWIND_ROWS_PER_FRAME	128
#define UNWIND_MIN_FRAMES	512

/**
 * struct unwind_frame - where the walk stands
 * @ip:		instruction pointer
 * @sp:		stack pointer
 * @fp:		frame pointer
 * @fp_known:	@fp is what the frame's own code sees
 * @exact:	@ip is the next instruction, not the one behind a call
 * @regs:	all registers of this frame, NULL if only the above are known
 */
struct unwind_frame {
	unsigned long		ip;
	unsigned long		sp;
	unsigned long		fp;
	bool			fp_known;
	bool			exact;
	const struct pt_regs	*regs;
};

/**
 * struct unwind_walk - a walk under way
 * @frame:	the frame that it has reached
 * @word:	bytes of an address
 * @rows:	what is left of its budget, see %UNWIND_ROWS_PER_FRAME
 * @changed:	UNWIND_CHANGED() of registers that are not those of the request
 * @mm:		what it walks in, that of current
 * @areas:	mappings met so far
 * @victim:	element of @areas to be replaced next
 */
struct unwind_walk {
	struct unwind_frame	frame;
	unsigned int		word;
	unsigned int		rows;
	unsigned long		changed;
	struct mm_struct	*mm;
	struct unwind_area	areas[UNWIND_NR_AREAS];
	unsigned int		victim;
};

/**
 * struct unwind_stack - frames of a walk that is over
 * @cookie:	the stack that it walked, 0 for none
 * @entries:	instruction pointers, innermost first
 * @room:	number of entries that fit
 * @nr:		number of entries
 * @first_fp:	first entry found with a frame pointer, @nr if there is none
 * @limit:	the walk was to end after so many entries
 * @end:	why it ended
 * @guess:	frame pointers were allowed where no table is
 * @guessed:	one was tried
 */
struct unwind_stack {
	u64			cookie;
	unsigned long		*entries;
	unsigned int		room;
	unsigned int		nr;
	unsigned int		first_fp;
	unsigned int		limit;
	enum user_unwind_end	end;
	bool			guess;
	bool			guessed;
};

void unwind_walk(struct unwind_walk *walk, struct unwind_stack *stack,
		 enum unwind_path path);
bool unwind_must_not_wait(void);
int unwind_read_word(struct unwind_walk *walk, unsigned long addr,
		     unsigned long *value);

/* fp.c */

#ifdef CONFIG_UNWIND_USER_FP
int unwind_step_fp(struct unwind_walk *walk);
#else
static inline int unwind_step_fp(struct unwind_walk *walk) { return -ENOENT; }
#endif

/* probes.c */

#ifdef CONFIG_UPROBES
void unwind_probe_start(struct unwind_walk *walk);
void unwind_probe_return(const struct unwind_walk *walk, struct unwind_frame *caller);
#else
static inline void unwind_probe_start(struct unwind_walk *walk) { }
static inline void unwind_probe_return(const struct unwind_walk *walk,
				       struct unwind_frame *caller) { }
#endif

/* tables.c, section.c */

#ifdef CONFIG_UNWIND_USER_SFRAME
int unwind_step_sframe(struct unwind_walk *walk);

int unwind_table_find(struct unwind_area *area, struct unwind_table *table,
		      unsigned int *rows);
int unwind_table_lookup(const struct unwind_area *area, u64 pc,
			struct sframe_rule *rule, unsigned int *rows);
#else
static inline int unwind_step_sframe(struct unwind_walk *walk) { return -ENOENT; }
#endif

/* area.c */

struct unwind_area *unwind_area_find(struct unwind_walk *walk, unsigned long addr);
void unwind_areas_put(struct unwind_walk *walk);

/* space.c */

/**
 * struct unwind_space - room for the walks of one task
 * @node:	in the list of all
 * @task:	whose it is; the task frees it, at the latest when it exits
 * @last_use:	jiffies of the last walk
 * @stacks:	frames of the last walk of each path
 * @walk:	scratch; too large for the kernel stack of a task that is about
 *		to fault
 */
struct unwind_space {
	struct list_head	node;
	struct task_struct	*task;
	unsigned long		last_use;
	struct unwind_stack	stacks[UNWIND_NR_PATHS];
	struct unwind_walk	walk;
};

struct unwind_space *unwind_space_take(void);
void unwind_space_return(struct unwind_space *space);
bool unwind_space_grow(struct unwind_stack *stack, unsigned int entries);
void unwind_space_free(void);
void unwind_space_free_all(void);
unsigned long unwind_space_count(void);

/* counters.c */

/**
 * enum unwind_counter - what is counted, for all tasks together
 * @UNWIND_REQUESTS:	triggers that armed a callback
 * @UNWIND_COVERED:	triggers served by a callback that was armed already
 * @UNWIND_CALLBACKS:	callbacks
 * @UNWIND_WITHDRAWN:	armed callbacks whose client was unregistered
 * @UNWIND_LOST:	armed callbacks that never came: a bug
 * @UNWIND_LATE:	returns to user space that asked for an interrupt
 * @UNWIND_WALKS:	walks; what follows tells how they ended
 * @UNWIND_ENDS:	first of the end reasons
 * @UNWIND_REFUSED:	first of the reasons to refuse a trigger
 *
 * At rest, that is without an armed callback, requests are the sum of callbacks,
 * withdrawn and lost.
 */
enum unwind_counter {
	UNWIND_REQUESTS,
	UNWIND_COVERED,
	UNWIND_CALLBACKS,
	UNWIND_WITHDRAWN,
	UNWIND_LOST,
	UNWIND_LATE,
	UNWIND_WALKS,
	UNWIND_ENDS,
	UNWIND_REFUSED = UNWIND_ENDS + USER_UNWIND_NR_ENDS,
	UNWIND_REFUSED_UNREGISTERED = UNWIND_REFUSED,
	UNWIND_REFUSED_NO_STACK,
	UNWIND_REFUSED_NO_MM,
	UNWIND_REFUSED_EXITING,
	UNWIND_REFUSED_REPLACING,
	UNWIND_REFUSED_DELIVERING,
	UNWIND_REFUSED_OFF,
	UNWIND_NR_COUNTERS,
};

DECLARE_PER_CPU(unsigned long[UNWIND_NR_COUNTERS], unwind_counters);

/* From any context. */
static inline void unwind_count(unsigned int counter)
{
	this_cpu_inc(unwind_counters[counter]);
}

#endif /* _KERNEL_UNWIND_INTERNAL_H */
