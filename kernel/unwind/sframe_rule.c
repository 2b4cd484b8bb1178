// SPDX-License-Identifier: GPL-2.0
/*
 * SFrame reader: what the words of a row mean.
 */

#include <linux/bitfield.h>
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/sframe.h>

#include "sframe.h"

/* The words of a row, as they are taken one after the other. */
struct words {
	const struct sframe_abi	*abi;
	const struct sframe_row	*row;
	unsigned int		next;
};

static bool words_left(const struct words *w)
{
	return w->next < w->row->nr_words;
}

/* There is one left. */
static u32 take_unsigned(struct words *w)
{
	u8 shift = w->row->word_shift;

	return sframe_get_uint(w->abi, w->row->words + (w->next++ << shift), shift);
}

static s32 take_signed(struct words *w)
{
	return sign_extend32(take_unsigned(w), (8 << w->row->word_shift) - 1);
}

static s64 take_cfa_offset(struct words *w)
{
	return (s64)take_signed(w) * w->abi->cfa_scale + w->abi->cfa_bias;
}

static struct sframe_loc reg_loc(u8 reg, s64 offset)
{
	return (struct sframe_loc) {
		.base	= SFRAME_BASE_REG,
		.reg	= reg,
		.offset	= offset,
	};
}

static struct sframe_loc slot_loc(s64 offset)
{
	return (struct sframe_loc) {
		.base	= SFRAME_BASE_CFA,
		.offset	= offset,
		.deref	= true,
	};
}

static bool abi_has_reg(const struct sframe_abi *abi, u32 reg)
{
	return reg < 64 && abi->regs & BIT_ULL(reg);
}

/*
 * GNU ld describes the stubs of .plt.got as if their first instruction had a
 * word pushed already. What is entered by a call has its return address, and
 * nothing else, between stack pointer and CFA.
 */
static void fix_plt_got(const struct sframe_abi *abi,
			const struct sframe_func *func,
			const struct sframe_row *row, struct sframe_loc *cfa)
{
	if (abi->id == SFRAME_ABI_AMD64_LE && func->rep_size && !row->start &&
	    cfa->reg == abi->sp && cfa->offset == 16 && !cfa->deref)
		cfa->offset = 8;
}

static int default_saved(const struct sframe_section *sec, struct words *w,
			 struct sframe_loc *loc)
{
	s32 word = take_signed(w);

	if (!w->abi->odd_regs || sec->version != SFRAME_VERSION_2 || !(word & 1)) {
		*loc = slot_loc(word);
		return 0;
	}

	if (!abi_has_reg(w->abi, (u32)word >> 1))
		return -EBADMSG;
	*loc = reg_loc(word >> 1, 0);
	return 0;
}

/*
 * Default rows: the CFA offset, and for the return address and the frame
 * pointer, in this order, the offset of their slot, unless the header fixes it
 * for all rows.
 */
static int default_rule(const struct sframe_section *sec, struct words *w,
			struct sframe_rule *rule)
{
	const struct sframe_abi *abi = w->abi;
	int err;

	rule->cfa = reg_loc(w->row->base_sp ? abi->sp : abi->fp,
			    take_cfa_offset(w));

	if (!sec->fixed_ra && words_left(w)) {
		err = default_saved(sec, w, &rule->ra);
		if (err)
			return err;
		if (abi->pads_ra && rule->ra.deref && !rule->ra.offset)
			rule->ra = (struct sframe_loc) { };
	}
	if (!sec->fixed_fp && words_left(w))
		return default_saved(sec, w, &rule->fp);
	return 0;
}

/*
 * One entity of a flexible row: nothing, a zero word that states nothing, or a
 * control word and an offset. @loc keeps its value in the first two cases.
 */
static int take_flex(struct words *w, bool cfa, struct sframe_loc *loc)
{
	u32 control;

	if (!words_left(w))
		return 0;
	control = take_unsigned(w);
	if (!control)
		return 0;
	if (control & SFRAME_FLEX_RESERVED || !words_left(w))
		return -EBADMSG;

	if (control & SFRAME_FLEX_REG) {
		if (!abi_has_reg(w->abi, FIELD_GET(SFRAME_FLEX_REGNUM, control)))
			return -EBADMSG;
		loc->base = SFRAME_BASE_REG;
		loc->reg = FIELD_GET(SFRAME_FLEX_REGNUM, control);
	} else {
		loc->base = SFRAME_BASE_CFA;
	}
	loc->deref = control & SFRAME_FLEX_DEREF;
	loc->offset = cfa ? take_cfa_offset(w) : take_signed(w);
	return 0;
}

static int flex_rule(struct words *w, struct sframe_rule *rule)
{
	int err;

	err = take_flex(w, true, &rule->cfa);
	if (err)
		return err;
	if (rule->cfa.base != SFRAME_BASE_REG)
		return -EBADMSG;

	err = take_flex(w, false, &rule->ra);
	if (err)
		return err;
	return take_flex(w, false, &rule->fp);
}

/**
 * sframe_row_rule - interpret a row
 * @sec:	the section
 * @func:	the function
 * @row:	the row
 * @rule:	filled in, but for the range of PCs
 *
 * Return: 0, or -EBADMSG.
 */
int sframe_row_rule(const struct sframe_section *sec,
		    const struct sframe_func *func,
		    const struct sframe_row *row, struct sframe_rule *rule)
{
	struct words w = { .abi = sec->abi, .row = row };
	int err;

	*rule = (struct sframe_rule) {
		.outermost	= !row->nr_words,
		.signal		= func->signal,
		.mangled_ra	= row->mangled_ra,
		.func_start	= func->start,
		.func_size	= func->size,
		.func_index	= func->index,
		.row		= row->index,
	};

	if (row->mangled_ra && !sec->abi->mangles_ra)
		return -EBADMSG;
	if (rule->outermost)
		return 0;

	if (sec->fixed_ra)
		rule->ra = slot_loc(sec->fixed_ra);
	if (sec->fixed_fp)
		rule->fp = slot_loc(sec->fixed_fp);

	err = func->flex ? flex_rule(&w, rule) : default_rule(sec, &w, rule);
	if (err)
		return err;

	fix_plt_got(sec->abi, func, row, &rule->cfa);
	return words_left(&w) ? -EBADMSG : 0;
}
