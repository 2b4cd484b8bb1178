// SPDX-License-Identifier: GPL-2.0
/*
 * From a frame to its caller with the frame pointer.
 *
 * The frame pointer of a function that keeps one points to a pair of words on
 * the stack: the caller's frame pointer and, above it, the return address. A
 * function that does not keep one leaves any value in the register, so nothing
 * is believed that does not look like such a pair.
 */
#include <linux/align.h>
#include <linux/err.h>

#include "internal.h"

/* May there be such a pair at the frame pointer? */
static int check_pair(struct unwind_walk *walk)
{
	const struct unwind_frame *frame = &walk->frame;
	const struct unwind_area *stack;

	if (!IS_ALIGNED(frame->fp, walk->word) || frame->fp < frame->sp)
		return -ELOOP;

	stack = unwind_area_find(walk, frame->sp);
	if (IS_ERR(stack))
		return PTR_ERR(stack) == -ENOENT ? -EFAULT : PTR_ERR(stack);
	if (frame->fp >= stack->end || stack->end - frame->fp < 2 * walk->word)
		return -ELOOP;
	return 0;
}

/**
 * unwind_step_fp - follow the frame pointer
 * @walk: the walk; its frame becomes the caller's
 *
 * Return: see internal.h. A frame pointer of 0 is how entry code marks the
 * outermost frame, as the psABI demands.
 */
int unwind_step_fp(struct unwind_walk *walk)
{
	struct unwind_frame *frame = &walk->frame;
	const struct unwind_area *text;
	struct unwind_frame caller = {
		.sp		= frame->fp + 2 * walk->word,
		.fp_known	= true,
	};
	int ret;

	if (!frame->fp_known)
		return -ENXIO;
	if (!frame->fp)
		return UNWIND_OUTERMOST;

	ret = check_pair(walk);
	if (!ret)
		ret = unwind_read_word(walk, frame->fp, &caller.fp);
	if (!ret)
		ret = unwind_read_word(walk, frame->fp + walk->word, &caller.ip);
	if (ret)
		return ret;
	if (!caller.ip)
		return UNWIND_OUTERMOST;

	unwind_probe_return(walk, &caller);
	text = unwind_area_find(walk, caller.ip - 1);
	if (IS_ERR(text))
		return PTR_ERR(text) == -ENOENT ? -ELOOP : PTR_ERR(text);
	if (!text->exec)
		return -ELOOP;

	*frame = caller;
	return 0;
}
