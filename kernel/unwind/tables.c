// SPDX-License-Identifier: GPL-2.0
/*
 * From a frame to its caller with the rule of an SFrame table.
 */
#include <linux/align.h>
#include <linux/err.h>
#include <linux/mm_types.h>
#include <linux/overflow.h>
#include <asm/unwind_user.h>

#include "internal.h"

/* Looks for the table of the mapping at its first use in a walk. */
static int find_rule(struct unwind_walk *walk, struct sframe_rule *rule, u64 *bias)
{
	const struct unwind_frame *frame = &walk->frame;
	/* A return address may be the first byte of another function or row. */
	unsigned long pc = frame->ip - !frame->exact;
	struct unwind_area *area;
	int ret;

	if (walk->word != sizeof(u64))
		return -ENOENT;

	area = unwind_area_find(walk, pc);
	if (IS_ERR(area))
		return PTR_ERR(area);
	if (!area->file)
		return -ENOENT;

	if (area->table.error == -EAGAIN)
		area->table.error = unwind_table_find(area, &area->table,
						      &walk->rows);
	if (area->table.error)
		return area->table.error;

	*bias = area->table.bias;
	ret = unwind_table_lookup(area, pc, rule, &walk->rows);
	return ret == -ENODATA ? -EBADMSG : ret;
}

static int read_register(const struct unwind_walk *walk, unsigned int reg,
			 unsigned long *value)
{
	const struct unwind_frame *frame = &walk->frame;

	switch (reg) {
	case UNWIND_USER_REG_SP:
		*value = frame->sp;
		return 0;
	case UNWIND_USER_REG_FP:
		*value = frame->fp;
		return frame->fp_known ? 0 : -ENXIO;
	default:
		if (!frame->regs || !unwind_user_reg(frame->regs, reg, value))
			return -ENXIO;
		return walk->changed & UNWIND_CHANGED(reg) ? -ESTALE : 0;
	}
}

/* The value at @loc in the frame; @cfa is not used for the CFA itself. */
static int read_loc(struct unwind_walk *walk, const struct sframe_loc *loc,
		    unsigned long cfa, unsigned long *value)
{
	unsigned long base = cfa;
	int ret;

	if (loc->base == SFRAME_BASE_REG) {
		ret = read_register(walk, loc->reg, &base);
		if (ret)
			return ret;
	}

	base += loc->offset;
	if (loc->deref)
		return unwind_read_word(walk, base, value);
	*value = base;
	return 0;
}

/*
 * The first function of a program has no caller, but a table of version 2 cannot
 * say so: what stands in the place of its return address is no address of code.
 */
static bool holds_entry_point(const struct unwind_walk *walk,
			      const struct sframe_rule *rule, u64 bias)
{
	const unsigned long *auxv = walk->mm->saved_auxv;
	unsigned int i;

	/* prctl() of another thread may write it. */
	for (i = 0; i < AT_VECTOR_SIZE - 1 && READ_ONCE(auxv[i]) != AT_NULL; i += 2) {
		if (READ_ONCE(auxv[i]) == AT_ENTRY)
			return READ_ONCE(auxv[i + 1]) - bias - rule->func_start <
			       rule->func_size;
	}
	return false;
}

static int check_caller(struct unwind_walk *walk, const struct unwind_frame *caller,
			const struct sframe_rule *rule, u64 bias)
{
	const struct unwind_area *text;

	if (!caller->ip)
		return UNWIND_OUTERMOST;

	text = unwind_area_find(walk, caller->ip - !caller->exact);
	if (!IS_ERR(text) && text->exec)
		return 0;
	if (IS_ERR(text) && PTR_ERR(text) != -ENOENT)
		return PTR_ERR(text);
	return holds_entry_point(walk, rule, bias) ? UNWIND_OUTERMOST : -ELOOP;
}

/**
 * unwind_step_sframe - follow the rule for the frame's PC
 * @walk: the walk; its frame becomes the caller's
 *
 * Return: see internal.h. -ENOENT says that no table covers the PC, a table that
 * covers it but has no usable entry is -EBADMSG.
 */
int unwind_step_sframe(struct unwind_walk *walk)
{
	struct unwind_frame *frame = &walk->frame;
	struct unwind_frame caller;
	struct sframe_rule rule;
	unsigned long cfa;
	u64 bias;
	int ret;

	ret = find_rule(walk, &rule, &bias);
	if (ret)
		return ret;
	if (rule.outermost)
		return UNWIND_OUTERMOST;

	ret = read_loc(walk, &rule.cfa, 0, &cfa);
	if (ret)
		return ret;
	/* Every frame takes room: at least its return address stands there. */
	if (cfa <= frame->sp || !IS_ALIGNED(cfa, walk->word))
		return -ELOOP;

	caller = (struct unwind_frame) {
		.sp		= cfa,
		.fp		= frame->fp,
		.fp_known	= frame->fp_known,
		.exact		= rule.signal,
	};

	ret = read_loc(walk, &rule.ra, cfa, &caller.ip);
	if (!ret && rule.fp.base != SFRAME_BASE_SAME) {
		ret = read_loc(walk, &rule.fp, cfa, &caller.fp);
		caller.fp_known = true;
	}
	if (ret)
		return ret;

	unwind_probe_return(walk, &caller);
	ret = check_caller(walk, &caller, &rule, bias);
	if (ret)
		return ret;

	*frame = caller;
	return 0;
}
