// SPDX-License-Identifier: GPL-2.0
/*
 * Addresses that uprobes have put in place of the program's.
 *
 * A probed instruction that cannot be emulated runs from a copy, out of line. A
 * uretprobe replaces the return address of its function by that of a trampoline. A
 * walk shows what would be there without them.
 *
 * All of it is the state of current, changed by current only.
 */
#include <linux/sched.h>
#include <linux/uprobes.h>

#include "internal.h"

/* The same place in the program, if the copy of a probed instruction is there. */
static unsigned long undo_copy(const struct uprobe_task *utask, unsigned long ip)
{
	if (utask->active_uprobe && ip - utask->xol_vaddr < UPROBE_XOL_SLOT_BYTES)
		return utask->vaddr + (ip - utask->xol_vaddr);
	return ip;
}

/* The first pending uretprobe of a function whose return address is in [from, to). */
static const struct return_instance *
find_return(const struct uprobe_task *utask, unsigned long from, unsigned long to)
{
	const struct return_instance *instance;

	for (instance = utask->return_instances; instance; instance = instance->next) {
		if (instance->stack >= from && instance->stack < to)
			return instance;
	}
	return NULL;
}

/*
 * The frame is in the trampoline, which the function has returned to. Its caller's
 * address is what a pending uretprobe knows, and later what the trampoline itself
 * is going to return to.
 */
static void leave_trampoline(struct unwind_walk *walk, const struct uprobe_task *utask,
			     unsigned long offset)
{
	struct unwind_frame *frame = &walk->frame;
	int words = unwind_user_trampoline_words(offset);
	const struct return_instance *instance;
	unsigned long end, ra;

	/* It pushes three registers to where the return address was, and pops two. */
	end = frame->sp + (words < 0 ? 3 : words + 1) * walk->word;
	instance = find_return(utask, frame->sp - walk->word, end);
	if (instance) {
		frame->ip = instance->orig_ret_vaddr;
		frame->sp = instance->stack + walk->word;
	} else if (words >= 0 && !unwind_read_word(walk, end - walk->word, &ra)) {
		frame->ip = ra;
		frame->sp = end;
	}
}

/**
 * unwind_probe_start - make the first frame that of the program
 * @walk: the walk
 *
 * Context: May sleep.
 */
void unwind_probe_start(struct unwind_walk *walk)
{
	const struct uprobe_task *utask = current->utask;
	struct unwind_frame *frame = &walk->frame;
	unsigned long trampoline, offset;

	if (!utask)
		return;

	frame->ip = undo_copy(utask, frame->ip);
	trampoline = uprobe_get_trampoline_vaddr();
	if (trampoline == UPROBE_NO_TRAMPOLINE_VADDR)
		return;
	offset = frame->ip - trampoline;
	if (offset < UPROBE_XOL_SLOT_BYTES)
		leave_trampoline(walk, utask, offset);
}

/**
 * unwind_probe_return - make a return address that of the program
 * @walk: the walk
 * @caller: the frame that was reached; its return address stood below its stack
 */
void unwind_probe_return(const struct unwind_walk *walk, struct unwind_frame *caller)
{
	const struct uprobe_task *utask = current->utask;
	const struct return_instance *instance;

	if (!utask)
		return;

	caller->ip = undo_copy(utask, caller->ip);
	if (caller->ip != uprobe_get_trampoline_vaddr())
		return;
	instance = find_return(utask, caller->sp - walk->word, caller->sp);
	if (instance)
		caller->ip = instance->orig_ret_vaddr;
}
