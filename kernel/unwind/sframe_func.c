// SPDX-License-Identifier: GPL-2.0
/*
 * SFrame reader: the functions of a section.
 *
 * That the entries are ordered is a promise of the file, on which nothing but
 * the answer rests: the search in an unordered array ends as fast, stays in
 * bounds, and finds the wrong function or none.
 *
 * Addresses are compared as signed distances from the first byte of the table.
 * That is what the file stores, it does not wrap for a table at a low address
 * with code below, and it is independent of where the file was loaded.
 */

#include <linux/bitfield.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <linux/sframe.h>

#include "sframe.h"

/*
 * Zero-sized functions that may share the address of a real one. Linkers leave
 * one for each empty .cfi_startproc/.cfi_endproc pair; more than a few in one
 * place have not been seen.
 */
#define MAX_EMPTY_FUNCS		16

/* An entry of the array, all versions; @start as the distance from the table. */
struct entry {
	s64	start;
	u32	size;
	u32	index;
	u32	data_off;

	/* Version 2 has these here, version 3 in front of the rows. */
	u32	nr_rows;
	u8	info;
	u8	info2;
	u8	rep_size;
};

static int fetch_entry_v2(const struct sframe_section *sec,
			  const struct sframe_bytes *bytes, u64 offset,
			  struct entry *e)
{
	struct sframe_fde_v2 fde;
	int err;

	err = bytes->fetch(bytes, offset, &fde, sizeof(fde));
	if (err)
		return err;

	e->start = (s32)sframe_get32(sec->abi, &fde.start);
	e->size = sframe_get32(sec->abi, &fde.size);
	e->data_off = sframe_get32(sec->abi, &fde.data_off);
	e->nr_rows = sframe_get32(sec->abi, &fde.num_fres);
	e->info = fde.info;
	e->info2 = SFRAME_FDE_TYPE_DEFAULT;
	e->rep_size = fde.rep_size;
	return 0;
}

static int fetch_entry_v3(const struct sframe_section *sec,
			  const struct sframe_bytes *bytes, u64 offset,
			  struct entry *e)
{
	struct sframe_fde_v3 fde;
	int err;

	err = bytes->fetch(bytes, offset, &fde, sizeof(fde));
	if (err)
		return err;

	e->start = sframe_get64(sec->abi, &fde.start);
	e->size = sframe_get32(sec->abi, &fde.size);
	e->data_off = sframe_get32(sec->abi, &fde.data_off);
	return 0;
}

static int fetch_entry(const struct sframe_section *sec,
		       const struct sframe_bytes *bytes, u32 index,
		       struct entry *e)
{
	u64 offset = sec->fdes + (u64)index * sframe_entry_size(sec);
	int err;

	if (sec->version == SFRAME_VERSION_2)
		err = fetch_entry_v2(sec, bytes, offset, e);
	else
		err = fetch_entry_v3(sec, bytes, offset, e);
	if (err)
		return err;

	e->index = index;
	/* Nothing is that far away: keep it behind everything else. */
	if (sec->pcrel && check_add_overflow(e->start, (s64)offset, &e->start))
		e->start = S64_MAX;
	return 0;
}

static int fetch_attr_v3(const struct sframe_section *sec,
			 const struct sframe_bytes *bytes, struct entry *e)
{
	struct sframe_attr_v3 attr;
	int err;

	if (e->data_off > sec->fre_len ||
	    sec->fre_len - e->data_off < sizeof(attr))
		return -EBADMSG;

	err = bytes->fetch(bytes, sec->fres + e->data_off, &attr, sizeof(attr));
	if (err)
		return err;

	e->nr_rows = sframe_get16(sec->abi, &attr.num_fres);
	e->info = attr.info;
	e->info2 = attr.info2;
	e->rep_size = attr.rep_size;
	e->data_off += sizeof(attr);
	return 0;
}

static bool entry_is_sane(const struct sframe_section *sec,
			  const struct entry *e)
{
	u8 reserved = SFRAME_FDE_INFO_RESERVED;

	if (sec->version == SFRAME_VERSION_2)
		reserved |= SFRAME_FDE_INFO_SIGNAL;

	if (e->info & reserved || e->info2 & SFRAME_FDE_INFO2_RESERVED)
		return false;
	if (FIELD_GET(SFRAME_FDE_INFO_FRE_TYPE, e->info) > SFRAME_FRE_TYPE_ADDR4)
		return false;
	if (FIELD_GET(SFRAME_FDE_INFO2_TYPE, e->info2) > SFRAME_FDE_TYPE_FLEX)
		return false;
	return e->rep_size || !(e->info & SFRAME_FDE_INFO_PC_MASK);
}

/* A row takes its start and one byte at least. */
static bool rows_may_fit(const struct sframe_section *sec, u32 data_off,
			 const struct sframe_func *func)
{
	u64 least = func->nr_rows * ((1ULL << func->start_shift) + 1);

	return data_off <= sec->fre_len && least <= sec->fre_len - data_off;
}

static int entry_to_func(const struct sframe_section *sec,
			 const struct sframe_bytes *bytes, struct entry *e,
			 struct sframe_func *func)
{
	u8 type;
	int err;

	if (sec->version == SFRAME_VERSION_3) {
		err = fetch_attr_v3(sec, bytes, e);
		if (err)
			return err;
	}
	if (!entry_is_sane(sec, e))
		return -EBADMSG;

	/* Lengths come of it, in speculation too. */
	type = FIELD_GET(SFRAME_FDE_INFO_FRE_TYPE, e->info);
	type = array_index_nospec(type, SFRAME_FRE_TYPE_ADDR4 + 1);

	*func = (struct sframe_func) {
		.start		= sec->addr + e->start,
		.rows		= sec->fres + e->data_off,
		.size		= e->size,
		.index		= e->index,
		.nr_rows	= e->nr_rows,
		.start_shift	= type,
		.rep_size	= e->info & SFRAME_FDE_INFO_PC_MASK ?
				  e->rep_size : 0,
		.flex		= e->info2 & SFRAME_FDE_INFO2_TYPE,
		.signal		= e->info & SFRAME_FDE_INFO_SIGNAL,
	};
	return rows_may_fit(sec, e->data_off, func) ? 0 : -EBADMSG;
}

/**
 * sframe_func_at - the function at an index of the table
 * @sec:	the section
 * @bytes:	its bytes
 * @index:	the index, less than @sec->nr_fdes
 * @func:	filled in
 *
 * Return: 0, -EBADMSG, or the error of the fetch.
 */
int sframe_func_at(const struct sframe_section *sec,
		   const struct sframe_bytes *bytes, u32 index,
		   struct sframe_func *func)
{
	struct entry e;
	int err;

	err = fetch_entry(sec, bytes, index, &e);
	if (err)
		return err;
	return entry_to_func(sec, bytes, &e, func);
}

/*
 * Find the last entry that starts at or before @pc. @gap becomes the distance
 * from @pc to a function behind it, the next one unless that is empty. Each turn
 * halves the range, whatever the entries say.
 */
static int search(const struct sframe_section *sec,
		  const struct sframe_bytes *bytes, s64 pc, struct entry *found,
		  u64 *gap)
{
	u32 low = 0, high = sec->nr_fdes;
	struct entry e;
	int err;

	*gap = U64_MAX;
	while (low < high) {
		u32 mid = low + (high - low) / 2;

		err = fetch_entry(sec, bytes, mid, &e);
		if (err)
			return err;
		if (e.start <= pc) {
			*found = e;
			low = mid + 1;
		} else {
			if (e.size)
				*gap = (u64)e.start - (u64)pc;
			high = mid;
		}
	}
	return low ? 0 : -ENOENT;
}

/* Empty functions say nothing; the one at the same address may stand before. */
static int skip_empty(const struct sframe_section *sec,
		      const struct sframe_bytes *bytes, struct entry *e)
{
	unsigned int skipped;
	int err;

	for (skipped = 0; !e->size; skipped++) {
		if (!e->index || skipped == MAX_EMPTY_FUNCS)
			return -ENOENT;
		err = fetch_entry(sec, bytes, e->index - 1, e);
		if (err)
			return err;
	}
	return 0;
}

/**
 * sframe_find_func - find the function that covers a PC
 * @sec:	the section
 * @bytes:	its bytes
 * @pc:		the PC
 * @func:	filled in
 *
 * Return: 0, -ENOENT, -EBADMSG, or the error of the fetch.
 */
int sframe_find_func(const struct sframe_section *sec,
		     const struct sframe_bytes *bytes, u64 pc,
		     struct sframe_func *func)
{
	s64 distance = pc - sec->addr;
	struct entry e;
	u64 offset, gap;
	int err;

	err = search(sec, bytes, distance, &e, &gap);
	if (err)
		return err;
	err = skip_empty(sec, bytes, &e);
	if (err)
		return err;

	/* Also for an entry that is out of order, and starts behind the PC. */
	offset = (u64)distance - (u64)e.start;
	if (offset >= e.size)
		return -ENOENT;
	/* Functions do not overlap, so one of the two sizes or starts is wrong. */
	if (e.size - offset > gap)
		return -EBADMSG;

	return entry_to_func(sec, bytes, &e, func);
}
