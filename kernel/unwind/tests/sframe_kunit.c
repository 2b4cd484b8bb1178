// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the SFrame reader: sections that toolchains emitted, what must
 * be found in them, and sections derived from them that are malformed.
 */

#include <kunit/test.h>
#include <linux/array_size.h>
#include <linux/bitops.h>
#include <linux/limits.h>
#include <linux/unaligned.h>

#include "sframe_table.h"

struct vec_row {
	u32			start;
	struct sframe_loc	cfa;
	struct sframe_loc	ra;
	struct sframe_loc	fp;
	bool			mangled_ra;
	bool			outermost;
};

#define OUTERMOST	.outermost = true

struct vec_func {
	u64	start;
	u32	size;
	u32	first_row;
	u32	nr_rows;
	u8	rep_size;
	bool	flex;
	bool	signal;
};

/* PCs with one answer. */
struct vec_range {
	u64	start;
	u64	end;
	int	result;
	u32	func;
	u32	row;
};

struct vector {
	const char		*name;
	u8			abi;
	u64			addr;
	const u8		*bytes;
	u32			size;
	const struct vec_row	*rows;
	const struct vec_func	*funcs;
	u32			nr_funcs;
	const struct vec_range	*ranges;
	u32			nr_ranges;
};

/* An object file: not to be used, so nothing is expected at any PC. */
#define UNSORTED(v, _abi, _addr)					\
	{ .name = #v, .abi = _abi, .addr = _addr,			\
	  .bytes = v##_bytes, .size = sizeof(v##_bytes) }

#define VECTOR(v, _abi, _addr)						\
	{ .name = #v, .abi = _abi, .addr = _addr,			\
	  .bytes = v##_bytes, .size = sizeof(v##_bytes),		\
	  .rows = v##_rows,						\
	  .funcs = v##_funcs, .nr_funcs = ARRAY_SIZE(v##_funcs),	\
	  .ranges = v##_ranges, .nr_ranges = ARRAY_SIZE(v##_ranges) }

struct vec_patch {
	u32	offset;
	u8	byte;
};

enum bad_verdict {
	BAD_DECLINED,		/* for the reason in what */
	BAD_UNKNOWN,		/* nothing is known in the function in what */
	BAD_ACCEPT,		/* no different from the base */
	BAD_ACCEPT_EMPTY,	/* accepted, nothing is found */
};

#define MAX_PATCHES	8

struct bad_vector {
	const char		*name;
	u32			base;
	u32			size;
	enum bad_verdict	verdict;
	u32			what;
	u32			nr_patches;
	struct vec_patch	patches[MAX_PATCHES];
};

#include "sframe_vectors.h"

/* Room for the largest section and the slack that one has. */
static u8 scratch[1024];

/* Check all vectors in which something is to be found. */
static void each_vector(struct kunit *test,
			void (*check)(struct kunit *test, const struct vector *v))
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(vectors); i++) {
		if (vectors[i].nr_funcs)
			check(test, &vectors[i]);
	}
}

static void put32(const struct vector *v, u8 *p, u32 value)
{
	if (v->abi == SFRAME_ABI_AARCH64_BE || v->abi == SFRAME_ABI_S390X_BE)
		put_unaligned_be32(value, p);
	else
		put_unaligned_le32(value, p);
}

static bool same_rule(const struct sframe_rule *a, const struct sframe_rule *b)
{
	return a->start == b->start && a->end == b->end &&
	       a->outermost == b->outermost && a->signal == b->signal &&
	       a->mangled_ra == b->mangled_ra &&
	       a->func_start == b->func_start && a->func_size == b->func_size &&
	       a->func_index == b->func_index && a->row == b->row &&
	       same_loc(&a->cfa, &b->cfa) && same_loc(&a->ra, &b->ra) &&
	       same_loc(&a->fp, &b->fp);
}

static struct table open_vector(struct kunit *test, const struct vector *v,
				struct sframe_section *sec)
{
	struct table table = make_table(v->bytes, v->size);
	int err = sframe_open(sec, &table.bytes, v->addr, v->abi);

	KUNIT_EXPECT_EQ_MSG(test, err, 0, "%s", v->name);
	KUNIT_EXPECT_EQ_MSG(test, (int)sec->decline, SFRAME_ACCEPTED, "%s", v->name);
	return table;
}

/* What the row of a vector says, but for the range of PCs. */
static struct sframe_rule row_to_rule(const struct vector *v, u32 func, u32 row)
{
	const struct vec_func *f = &v->funcs[func];
	const struct vec_row *r = &v->rows[f->first_row + row];

	return (struct sframe_rule) {
		.cfa		= r->cfa,
		.ra		= r->ra,
		.fp		= r->fp,
		.outermost	= r->outermost,
		.signal		= f->signal,
		.mangled_ra	= r->mangled_ra,
		.func_start	= f->start,
		.func_size	= f->size,
		.func_index	= func,
		.row		= row,
	};
}

static bool same_func(const struct sframe_func *func,
		      const struct vec_func *want)
{
	return func->start == want->start && func->size == want->size &&
	       func->nr_rows == want->nr_rows &&
	       func->rep_size == want->rep_size &&
	       func->flex == want->flex && func->signal == want->signal;
}

static void check_functions(struct kunit *test, const struct vector *v)
{
	struct sframe_section sec;
	struct table table = open_vector(test, v, &sec);
	struct sframe_func func;
	u32 i;

	KUNIT_EXPECT_EQ_MSG(test, sec.nr_fdes, v->nr_funcs, "%s", v->name);
	for (i = 0; i < v->nr_funcs; i++) {
		KUNIT_EXPECT_EQ(test, sframe_func_at(&sec, &table.bytes, i, &func), 0);
		KUNIT_EXPECT_EQ(test, func.index, i);
		KUNIT_EXPECT_TRUE_MSG(test, same_func(&func, &v->funcs[i]),
				      "%s %u", v->name, i);
	}
	KUNIT_EXPECT_FALSE(test, table.strayed);
}

static void test_functions(struct kunit *test)
{
	each_vector(test, check_functions);
}

static void check_rows_of(struct kunit *test, const struct vector *v,
			  const struct sframe_section *sec,
			  const struct table *table, u32 index)
{
	const struct vec_func *f = &v->funcs[index];
	struct sframe_rule rule, want;
	struct sframe_rows rows;
	struct sframe_func func;
	struct sframe_row row;
	u32 i;

	sframe_func_at(sec, &table->bytes, index, &func);
	sframe_rows_init(&rows, sec, &table->bytes, &func);
	for (i = 0; i < f->nr_rows; i++) {
		KUNIT_EXPECT_EQ(test, sframe_rows_next(&rows, &row), 1);
		KUNIT_EXPECT_EQ(test, row.start, v->rows[f->first_row + i].start);
		KUNIT_EXPECT_EQ(test, sframe_row_rule(sec, &func, &row, &rule), 0);
		want = row_to_rule(v, index, i);
		KUNIT_EXPECT_TRUE_MSG(test, same_rule(&rule, &want),
				      "%s %u %u", v->name, index, i);
	}
	KUNIT_EXPECT_EQ(test, sframe_rows_next(&rows, &row), 0);
}

static void check_rows(struct kunit *test, const struct vector *v)
{
	struct sframe_section sec;
	struct table table = open_vector(test, v, &sec);
	u32 i;

	for (i = 0; i < v->nr_funcs; i++)
		check_rows_of(test, v, &sec, &table, i);
	KUNIT_EXPECT_FALSE(test, table.strayed);
}

static void test_rows(struct kunit *test)
{
	each_vector(test, check_rows);
}

/* Does @rule, found with @ret for a PC in @r, say what the vector says? */
static bool as_expected(const struct vector *v, const struct vec_range *r,
			int ret, const struct sframe_rule *rule)
{
	struct sframe_rule want;

	if (ret != r->result)
		return false;
	if (ret)
		return true;

	want = row_to_rule(v, r->func, r->row);
	want.start = r->start;
	want.end = r->end;
	return same_rule(rule, &want);
}

static bool find_expected(const struct vector *v, const struct vec_range *r,
			  const struct sframe_section *sec,
			  struct table *table, u64 pc)
{
	struct sframe_rule rule;
	int ret = find(table, sec, pc, &rule);

	return as_expected(v, r, ret, &rule);
}

static void check_lookups(struct kunit *test, const struct vector *v)
{
	struct sframe_section sec;
	struct table table = open_vector(test, v, &sec);
	const struct vec_range *r;
	u64 pc, step;

	for (r = v->ranges; r < v->ranges + v->nr_ranges; r++) {
		step = r->end - r->start > 256 ? 61 : 1;
		for (pc = r->start; pc < r->end; pc += step)
			KUNIT_EXPECT_TRUE_MSG(test, find_expected(v, r, &sec, &table, pc),
					      "%s 0x%llx", v->name, pc);
		pc = r->end - 1;
		KUNIT_EXPECT_TRUE_MSG(test, find_expected(v, r, &sec, &table, pc),
				      "%s 0x%llx", v->name, pc);
	}
	KUNIT_EXPECT_FALSE_MSG(test, table.strayed, "%s", v->name);
}

static void test_lookups(struct kunit *test)
{
	each_vector(test, check_lookups);
}

/* Does a PC in the function where nothing is known get no answer? */
static bool find_nothing(const struct sframe_section *sec, struct table *table,
			 u64 pc)
{
	struct sframe_rule rule;
	int ret = find(table, sec, pc, &rule);

	return ret == -EBADMSG || ret == -ENOENT;
}

/* Are the answers those of the base, but for the function @unknown? */
static void check_answers(struct kunit *test, const struct vector *v,
			  const struct sframe_section *sec, struct table *table,
			  const char *name, s64 unknown)
{
	const struct vec_range *r;
	bool good;
	u64 pc;

	for (r = v->ranges; r < v->ranges + v->nr_ranges; r++) {
		for (pc = r->start; pc < r->end; pc++) {
			if (!r->result && r->func == unknown)
				good = find_nothing(sec, table, pc);
			else
				good = find_expected(v, r, sec, table, pc);
			KUNIT_EXPECT_TRUE_MSG(test, good, "%s 0x%llx", name, pc);
		}
	}
	KUNIT_EXPECT_FALSE_MSG(test, table->strayed, "%s", name);
}

static struct table make_bad_table(const struct bad_vector *bad)
{
	const struct vector *base = &vectors[bad->base];
	u32 i;

	memset(scratch, 0, sizeof(scratch));
	memcpy(scratch, base->bytes, base->size);
	for (i = 0; i < bad->nr_patches; i++)
		scratch[bad->patches[i].offset] = bad->patches[i].byte;
	return make_table(scratch, bad->size);
}

static void check_bad_vector(struct kunit *test, const struct bad_vector *bad)
{
	const struct vector *base = &vectors[bad->base];
	struct table table = make_bad_table(bad);
	struct sframe_section sec;
	struct sframe_rule rule;
	int err;

	err = sframe_open(&sec, &table.bytes, base->addr, base->abi);
	if (bad->verdict == BAD_DECLINED) {
		KUNIT_EXPECT_EQ_MSG(test, err, -EOPNOTSUPP, "%s", bad->name);
		KUNIT_EXPECT_EQ_MSG(test, (u32)sec.decline, bad->what, "%s", bad->name);
		return;
	}

	KUNIT_EXPECT_EQ_MSG(test, err, 0, "%s", bad->name);
	if (bad->verdict == BAD_ACCEPT_EMPTY)
		KUNIT_EXPECT_EQ_MSG(test, find(&table, &sec, base->addr, &rule),
				    -ENOENT, "%s", bad->name);
	else
		check_answers(test, base, &sec, &table, bad->name,
			      bad->verdict == BAD_UNKNOWN ? (s64)bad->what : -1);
}

static void test_malformed(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad_vectors); i++)
		check_bad_vector(test, &bad_vectors[i]);
}

static void test_objects_declined(struct kunit *test)
{
	struct sframe_section sec;
	struct table table;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(vectors); i++) {
		const struct vector *v = &vectors[i];

		if (v->nr_funcs)
			continue;
		table = make_table(v->bytes, v->size);
		KUNIT_EXPECT_EQ(test, sframe_open(&sec, &table.bytes, v->addr, v->abi),
				-EOPNOTSUPP);
		KUNIT_EXPECT_EQ_MSG(test, (int)sec.decline, SFRAME_DECLINE_UNSORTED,
				    "%s", v->name);
	}
}

/* All answers are there. */
static bool is_complete(const struct vector *v, const struct sframe_section *sec,
			struct table *table)
{
	const struct vec_range *r;

	for (r = v->ranges; r < v->ranges + v->nr_ranges; r++) {
		if (!find_expected(v, r, sec, table, r->start))
			return false;
	}
	return true;
}

/* A section that was cut off is declined, unless it lost nothing but slack. */
static void check_truncated(struct kunit *test, const struct vector *v)
{
	struct table table = make_table(scratch, v->size);
	struct sframe_section sec;
	u32 size;
	int err;

	memset(scratch, 0, sizeof(scratch));
	memcpy(scratch, v->bytes, v->size);
	for (size = 0; size < v->size + 32; size++) {
		table.bytes.size = size;
		err = sframe_open(&sec, &table.bytes, v->addr, v->abi);
		KUNIT_EXPECT_EQ_MSG(test, !err, size >= v->size, "%s %u", v->name, size);
		if (!err)
			KUNIT_EXPECT_TRUE_MSG(test, is_complete(v, &sec, &table),
					      "%s %u", v->name, size);
		else
			KUNIT_EXPECT_EQ_MSG(test, (int)sec.decline,
					    size < 28 ? SFRAME_DECLINE_SHORT :
							 SFRAME_DECLINE_BOUNDS,
					    "%s %u", v->name, size);
	}
	KUNIT_EXPECT_FALSE(test, table.strayed);
}

static void test_truncated(struct kunit *test)
{
	each_vector(test, check_truncated);
}

/* With fewer bytes of rows than there are, an answer is right or none. */
static void check_rows_cut_off(struct kunit *test, const struct vector *v)
{
	struct table table = make_table(scratch, v->size);
	const struct vec_range *r;
	struct sframe_section sec;
	struct sframe_rule rule;
	u32 len;
	int ret;

	memcpy(scratch, v->bytes, v->size);
	open_vector(test, v, &sec);
	for (len = sec.fre_len; len-- > 0; ) {
		put32(v, scratch + offsetof(struct sframe_header, fre_len), len);
		sframe_open(&sec, &table.bytes, v->addr, v->abi);
		for (r = v->ranges; r < v->ranges + v->nr_ranges; r++) {
			ret = find(&table, &sec, r->start, &rule);
			KUNIT_EXPECT_TRUE_MSG(test, ret == -EBADMSG ||
					      as_expected(v, r, ret, &rule),
					      "%s %u", v->name, len);
		}
	}
	KUNIT_EXPECT_FALSE(test, table.strayed);
}

static void test_rows_cut_off(struct kunit *test)
{
	each_vector(test, check_rows_cut_off);
}

/* Whichever fetch fails, its error comes out. */
static void check_fetch_errors(struct kunit *test, const struct vector *v)
{
	struct sframe_section sec;
	struct table table = open_vector(test, v, &sec);
	const struct vec_range *r;
	struct sframe_func func;
	struct sframe_rule rule;
	int ret;

	for (r = v->ranges; r < v->ranges + v->nr_ranges; r++) {
		for (table.fail_at = 1; ; table.fail_at++) {
			ret = find(&table, &sec, r->start, &rule);
			if (table.calls < table.fail_at)
				break;
			KUNIT_EXPECT_EQ_MSG(test, ret, -EIO, "%s", v->name);
		}
		KUNIT_EXPECT_TRUE_MSG(test, as_expected(v, r, ret, &rule), "%s", v->name);
	}

	table.calls = 0;
	table.fail_at = 1;
	ret = sframe_func_at(&sec, &table.bytes, 0, &func);
	KUNIT_EXPECT_EQ_MSG(test, ret, -EIO, "%s", v->name);

	table.calls = 0;
	ret = sframe_open(&sec, &table.bytes, v->addr, v->abi);
	KUNIT_EXPECT_EQ_MSG(test, ret, -EIO, "%s", v->name);
}

static void test_fetch_errors(struct kunit *test)
{
	each_vector(test, check_fetch_errors);
}

/* What a lookup used up is enough for it, and anything less is not. */
static void check_budget(struct kunit *test, const struct vector *v)
{
	struct sframe_section sec;
	struct table table = open_vector(test, v, &sec);
	const struct vec_range *r;
	struct sframe_rule rule;
	unsigned int left, used;
	int ret;

	for (r = v->ranges; r < v->ranges + v->nr_ranges; r++) {
		left = PLENTY;
		sframe_find(&sec, &table.bytes, r->start, &rule, &left);
		used = PLENTY - left;

		left = used;
		ret = sframe_find(&sec, &table.bytes, r->start, &rule, &left);
		KUNIT_EXPECT_TRUE(test, as_expected(v, r, ret, &rule));
		KUNIT_EXPECT_EQ(test, left, 0);

		if (!used)
			continue;
		left = used - 1;
		ret = sframe_find(&sec, &table.bytes, r->start, &rule, &left);
		KUNIT_EXPECT_EQ_MSG(test, ret, -E2BIG, "%s", v->name);
		KUNIT_EXPECT_EQ(test, left, 0);
	}
}

static void test_budget(struct kunit *test)
{
	each_vector(test, check_budget);
}

static bool is_sane_rule(u64 pc, const struct sframe_rule *rule)
{
	if (pc - rule->func_start >= rule->func_size ||
	    pc - rule->start > pc - rule->func_start ||
	    rule->end - pc - 1 >= U32_MAX)
		return false;
	return rule->outermost ||
	       (rule->cfa.base == SFRAME_BASE_REG && rule->cfa.reg <= 32 &&
		rule->ra.reg <= 32 && rule->fp.reg <= 32);
}

/* Is what comes out of some hostile section a thing to work with? */
static bool all_sane(const struct vector *v, const struct sframe_section *sec,
		     struct table *table)
{
	/* Probes, empty functions, attributes, windows of rows. */
	unsigned int most = fls(sec->nr_fdes) + 16 + 1 + sec->fre_len / 99 + 1;
	const struct vec_range *r;
	struct sframe_rule rule;
	int ret;

	for (r = v->ranges; r < v->ranges + v->nr_ranges; r++) {
		ret = find(table, sec, r->start, &rule);
		if (table->calls > most || table->strayed)
			return false;
		if (!ret && !is_sane_rule(r->start, &rule))
			return false;
		if (ret && ret != -ENOENT && ret != -ENODATA && ret != -EBADMSG)
			return false;
	}
	return true;
}

static void check_mutations(struct kunit *test, const struct vector *v)
{
	struct table table = make_table(scratch, v->size);
	struct sframe_section sec;
	u32 i;

	memcpy(scratch, v->bytes, v->size);
	for (i = 0; i < 2 * v->size; i++) {
		u8 *byte = scratch + i / 2, was = *byte;

		*byte ^= i & 1 ? 0xff : 1 << (i / 2 % 8);
		if (!sframe_open(&sec, &table.bytes, v->addr, v->abi))
			KUNIT_EXPECT_TRUE_MSG(test, all_sane(v, &sec, &table),
					      "%s byte %u", v->name, i / 2);
		*byte = was;
	}
}

/* Change every byte, twice. */
static void test_mutations(struct kunit *test)
{
	each_vector(test, check_mutations);
}

static struct kunit_case sframe_cases[] = {
	KUNIT_CASE(test_functions),
	KUNIT_CASE(test_rows),
	KUNIT_CASE(test_lookups),
	KUNIT_CASE(test_malformed),
	KUNIT_CASE(test_objects_declined),
	KUNIT_CASE(test_truncated),
	KUNIT_CASE(test_rows_cut_off),
	KUNIT_CASE(test_fetch_errors),
	KUNIT_CASE(test_budget),
	KUNIT_CASE(test_mutations),
	{ }
};

static struct kunit_suite sframe_suite = {
	.name		= "unwind_sframe",
	.test_cases	= sframe_cases,
};

kunit_test_suite(sframe_suite);

MODULE_DESCRIPTION("KUnit tests of the SFrame reader");
MODULE_LICENSE("GPL");
