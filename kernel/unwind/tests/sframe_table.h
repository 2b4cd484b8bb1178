/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A table in memory for the tests of the SFrame reader. It counts the fetches,
 * fails one of them on demand, and notes each request that the reader must not
 * make.
 */
#ifndef _KERNEL_UNWIND_TESTS_SFRAME_TABLE_H
#define _KERNEL_UNWIND_TESTS_SFRAME_TABLE_H

#include <linux/container_of.h>
#include <linux/errno.h>
#include <linux/sframe.h>
#include <linux/string.h>

#include "../sframe.h"

/* More rows than any section of the tests has. */
#define PLENTY		100000

struct table {
	struct sframe_bytes	bytes;
	const u8		*data;
	unsigned int		calls;
	unsigned int		fail_at;
	bool			strayed;
};

static int fetch_table(const struct sframe_bytes *bytes, u64 offset, void *dst,
		       size_t len)
{
	struct table *table = container_of(bytes, struct table, bytes);

	if (!len || len > SFRAME_FETCH_MAX || offset > bytes->size ||
	    len > bytes->size - offset) {
		table->strayed = true;
		return -EFAULT;
	}
	if (++table->calls == table->fail_at)
		return -EIO;

	memcpy(dst, table->data + offset, len);
	return 0;
}

static struct table make_table(const u8 *data, u64 size)
{
	return (struct table) {
		.bytes	= { .fetch = fetch_table, .size = size },
		.data	= data,
	};
}

/* Look up one PC with rows enough, counting fetches anew. */
static int find(struct table *table, const struct sframe_section *sec, u64 pc,
		struct sframe_rule *rule)
{
	unsigned int budget = PLENTY;

	table->calls = 0;
	return sframe_find(sec, &table->bytes, pc, rule, &budget);
}

static bool same_loc(const struct sframe_loc *a, const struct sframe_loc *b)
{
	return a->base == b->base && a->reg == b->reg && a->deref == b->deref &&
	       a->offset == b->offset;
}

/* Values as the vectors write them. */

#define SAME		{ }
#define REG(r, o)	{ .base = SFRAME_BASE_REG, .reg = r, .offset = o }
#define AT_REG(r, o)	{ .base = SFRAME_BASE_REG, .reg = r, .offset = o, .deref = true }
#define CFA(o)		{ .base = SFRAME_BASE_CFA, .offset = o }
#define AT_CFA(o)	{ .base = SFRAME_BASE_CFA, .offset = o, .deref = true }

#endif /* _KERNEL_UNWIND_TESTS_SFRAME_TABLE_H */
