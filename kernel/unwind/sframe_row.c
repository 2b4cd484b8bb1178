// SPDX-License-Identifier: GPL-2.0
/*
 * SFrame reader: the rows of a function.
 *
 * Rows have no index, and their length depends on their content, so they are
 * read from the first one on. They come through a window that holds several of
 * them, since a fetch costs far more than a row.
 */

#include <linux/bitfield.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/nospec.h>
#include <linux/sframe.h>
#include <linux/string.h>

#include "sframe.h"

/* The longest row: its start, the info byte, the words. */
#define MAX_ROW		(sizeof(u32) + 1 + SFRAME_ROW_MAX_WORDS * sizeof(u32))
static_assert(MAX_ROW <= SFRAME_FETCH_MAX);

/**
 * sframe_rows_init - set a cursor to the first row of a function
 * @rows:	the cursor
 * @sec:	the section
 * @bytes:	its bytes
 * @func:	the function
 */
void sframe_rows_init(struct sframe_rows *rows,
		      const struct sframe_section *sec,
		      const struct sframe_bytes *bytes,
		      const struct sframe_func *func)
{
	rows->sec = sec;
	rows->bytes = bytes;
	rows->func = func;
	rows->pos = func->rows;
	rows->next = 0;
	rows->last = 0;
	rows->head = 0;
	rows->tail = 0;
}

/* Have the whole next row in the window, if the table holds the whole row. */
static int fill_window(struct sframe_rows *rows)
{
	u64 left = rows->sec->fres + rows->sec->fre_len - rows->pos;
	unsigned int len = min_t(u64, left, sizeof(rows->window));
	int err;

	if (rows->tail - rows->head >= min_t(u64, left, MAX_ROW))
		return 0;

	err = rows->bytes->fetch(rows->bytes, rows->pos, rows->window, len);
	if (err)
		return err;

	rows->head = 0;
	rows->tail = len;
	return 0;
}

/* Split the row at the head of the window. Return its length, or -EBADMSG. */
static int split_row(const struct sframe_rows *rows, struct sframe_row *row)
{
	u8 shift = rows->func->start_shift;
	unsigned int fixed = (1U << shift) + 1;
	unsigned int left = rows->tail - rows->head;
	const u8 *p = rows->window + rows->head;
	unsigned int size;
	u8 info;

	if (left < fixed)
		return -EBADMSG;

	row->start = sframe_get_uint(rows->sec->abi, p, shift);
	row->index = rows->next;

	info = p[fixed - 1];
	row->nr_words = FIELD_GET(SFRAME_FRE_INFO_NR_WORDS, info);
	row->word_shift = FIELD_GET(SFRAME_FRE_INFO_WORD_SIZE, info);
	row->base_sp = info & SFRAME_FRE_INFO_BASE_SP;
	row->mangled_ra = info & SFRAME_FRE_INFO_MANGLED_RA;

	if (row->nr_words > SFRAME_ROW_MAX_WORDS ||
	    row->word_shift > SFRAME_FRE_WORD_SIZE_4)
		return -EBADMSG;

	size = row->nr_words << row->word_shift;
	if (left - fixed < size)
		return -EBADMSG;
	size = array_index_nospec(size, sizeof(row->words) + 1);
	memcpy(row->words, p + fixed, size);
	return fixed + size;
}

/**
 * sframe_rows_next - read the next row
 * @rows:	the cursor
 * @row:	filled in
 *
 * Return: 1, 0 behind the last row, -EBADMSG, or the error of the fetch.
 */
int sframe_rows_next(struct sframe_rows *rows, struct sframe_row *row)
{
	int len;

	if (rows->next == rows->func->nr_rows)
		return 0;

	len = fill_window(rows);
	if (len)
		return len;
	len = split_row(rows, row);
	if (len < 0)
		return len;
	if (rows->next && row->start <= rows->last)
		return -EBADMSG;

	rows->pos += len;
	rows->head += len;
	rows->next++;
	rows->last = row->start;
	return 1;
}

/* Offsets in a function, or in a block of it, that one row describes. */
struct span {
	u32	start;
	u32	end;
};

/*
 * Find the last row that starts at or before @offset. All rows up to it are
 * interpreted, so that nothing rests on a row that follows a malformed one.
 */
static int scan_rows(struct sframe_rows *rows, u32 offset, struct span *span,
		     struct sframe_rule *rule, unsigned int *budget)
{
	struct sframe_row row;
	int err = -ENODATA;

	span->end = U32_MAX;
	while (rows->next < rows->func->nr_rows) {
		int ret;

		if (!*budget)
			return -E2BIG;
		(*budget)--;

		ret = sframe_rows_next(rows, &row);
		if (ret < 0)
			return ret;
		if (row.start > offset) {
			span->end = row.start;
			break;
		}
		span->start = row.start;
		err = sframe_row_rule(rows->sec, rows->func, &row, rule);
		if (err)
			break;
	}
	return err;
}

/**
 * sframe_find_row - find the rule for a PC in its function
 * @sec:	the section
 * @bytes:	its bytes
 * @func:	the function, which covers @pc
 * @pc:		the PC
 * @rule:	filled in
 * @budget:	see sframe_find()
 *
 * Return: 0, -ENODATA, -EBADMSG, -E2BIG, or the error of the fetch.
 */
int sframe_find_row(const struct sframe_section *sec,
		    const struct sframe_bytes *bytes,
		    const struct sframe_func *func, u64 pc,
		    struct sframe_rule *rule, unsigned int *budget)
{
	u32 offset = pc - func->start, left = func->size - offset;
	u32 limit = func->size;
	struct sframe_rows rows;
	struct span span;
	int err;

	/*
	 * Blocks count from the function. (The specification reduces the PC
	 * itself, which no tool means.)
	 */
	if (func->rep_size) {
		offset %= func->rep_size;
		limit = func->rep_size;
	}

	sframe_rows_init(&rows, sec, bytes, func);
	err = scan_rows(&rows, offset, &span, rule, budget);
	if (err)
		return err;

	rule->start = pc - (offset - span.start);
	rule->end = pc + min(min(span.end, limit) - offset, left);
	return 0;
}
