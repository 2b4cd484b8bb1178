// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the SFrame reader: sections built here, for what the vectors
 * do not have. All are version 3 for AMD64.
 */

#include <kunit/test.h>
#include <linux/array_size.h>
#include <linux/limits.h>
#include <linux/unaligned.h>

#include "sframe_table.h"

#define HEADER_SIZE	sizeof(struct sframe_header)
#define ADDR		0x10000ULL

/* From the start of a function on: CFA = SP + 8. */
static const u8 one_row[] = { 0x00, 0x03, 0x08 };

/* A function to be built, of one row if nothing is said. */
struct func {
	s64		at;
	u32		size;
	u8		info;
	u8		info2;
	u8		rep_size;
	u16		nr_rows;
	size_t		len;
	const u8	*rows;
};

static struct {
	u8	data[16384];
	u32	fdes;
	u32	fres;
	u32	nr_fdes;
	u32	fre_len;
} built;

/* Begin a section with room for @nr functions behind @aux bytes of header. */
static void build(u32 nr, u8 aux)
{
	struct sframe_header *hdr = (void *)built.data;

	memset(&built, 0, sizeof(built));
	built.fdes = HEADER_SIZE + aux;
	built.fres = built.fdes + nr * sizeof(struct sframe_fde_v3);

	put_unaligned_le16(SFRAME_MAGIC, &hdr->magic);
	hdr->version = SFRAME_VERSION_3;
	hdr->flags = SFRAME_F_FDE_SORTED | SFRAME_F_FDE_FUNC_START_PCREL;
	hdr->abi_arch = SFRAME_ABI_AMD64_LE;
	hdr->cfa_fixed_ra_offset = -8;
	hdr->auxhdr_len = aux;
	put_unaligned_le32(built.fres - built.fdes, &hdr->freoff);
}

/* Add a function, @func.at bytes from the section. */
static void build_func(struct func func)
{
	u32 offset = built.fdes + built.nr_fdes++ * sizeof(struct sframe_fde_v3);
	struct sframe_header *hdr = (void *)built.data;
	struct sframe_fde_v3 *fde = (void *)(built.data + offset);
	struct sframe_attr_v3 *attr = (void *)(built.data + built.fres + built.fre_len);

	if (!func.rows) {
		func.nr_rows = 1;
		func.rows = one_row;
		func.len = sizeof(one_row);
	}
	if (hdr->flags & SFRAME_F_FDE_FUNC_START_PCREL)
		func.at -= offset;

	put_unaligned_le64(func.at, &fde->start);
	put_unaligned_le32(func.size, &fde->size);
	put_unaligned_le32(built.fre_len, &fde->data_off);

	put_unaligned_le16(func.nr_rows, &attr->num_fres);
	attr->info = func.info;
	attr->info2 = func.info2;
	attr->rep_size = func.rep_size;
	memcpy(attr + 1, func.rows, func.len);
	built.fre_len += sizeof(*attr) + func.len;

	put_unaligned_le32(built.nr_fdes, &hdr->num_fdes);
	put_unaligned_le32(built.fre_len, &hdr->fre_len);
}

static struct table open_built(struct kunit *test, struct sframe_section *sec)
{
	struct table table = make_table(built.data, built.fres + built.fre_len);

	KUNIT_EXPECT_EQ(test, 0, sframe_open(sec, &table.bytes, ADDR,
					     SFRAME_ABI_AMD64_LE));
	return table;
}

static void test_no_functions(struct kunit *test)
{
	struct sframe_section sec;
	struct sframe_rule rule;
	struct table table;

	build(0, 0);
	table = open_built(test, &sec);
	KUNIT_EXPECT_EQ(test, find(&table, &sec, ADDR, &rule), -ENOENT);
	KUNIT_EXPECT_EQ(test, table.calls, 0);
}

static void check_near_and_far(struct kunit *test, u8 aux, u8 flags)
{
	static const s64 at[] = { -(1LL << 46), -0x20000, 0x1000, 1LL << 33, 1LL << 46 };
	struct sframe_section sec;
	struct sframe_rule rule;
	struct table table;
	size_t i;

	build(ARRAY_SIZE(at), aux);
	((struct sframe_header *)built.data)->flags = flags;
	for (i = 0; i < ARRAY_SIZE(at); i++)
		build_func((struct func){ .at = at[i], .size = 16 });
	table = open_built(test, &sec);

	for (i = 0; i < ARRAY_SIZE(at); i++) {
		/* The second one wraps around address 0. */
		u64 start = ADDR + at[i];

		KUNIT_EXPECT_EQ(test, find(&table, &sec, start - 1, &rule), -ENOENT);
		KUNIT_EXPECT_EQ(test, find(&table, &sec, start + 16, &rule), -ENOENT);
		KUNIT_EXPECT_EQ(test, find(&table, &sec, start + 15, &rule), 0);
		KUNIT_EXPECT_EQ(test, rule.func_index, i);
		KUNIT_EXPECT_EQ(test, rule.start, start);
		KUNIT_EXPECT_EQ(test, rule.end, start + 16);
	}
}

static void test_addresses(struct kunit *test)
{
	check_near_and_far(test, 0, SFRAME_F_FDE_SORTED | SFRAME_F_FDE_FUNC_START_PCREL);
	check_near_and_far(test, 0, SFRAME_F_FDE_SORTED);
	check_near_and_far(test, 7, SFRAME_F_FDE_SORTED | SFRAME_F_FDE_FUNC_START_PCREL);
	check_near_and_far(test, 255, SFRAME_F_FDE_SORTED);
}

/* A real function with @before and @after empty ones at the same address. */
static void build_empty(u32 before, u32 after)
{
	u32 i;

	build(before + 1 + after, 0);
	for (i = 0; i < before; i++)
		build_func((struct func){ .at = 0x1000, .size = 0 });
	build_func((struct func){ .at = 0x1000, .size = 16 });
	for (i = 0; i < after; i++)
		build_func((struct func){ .at = 0x1000, .size = 0 });
}

static void test_empty_functions(struct kunit *test)
{
	struct sframe_section sec;
	struct sframe_rule rule;
	struct table table;

	build_empty(20, 16);
	table = open_built(test, &sec);
	KUNIT_EXPECT_EQ(test, find(&table, &sec, ADDR + 0x100f, &rule), 0);
	KUNIT_EXPECT_EQ(test, rule.func_index, 20);
	KUNIT_EXPECT_EQ(test, find(&table, &sec, ADDR + 0x1010, &rule), -ENOENT);

	build_empty(0, 17);
	table = open_built(test, &sec);
	KUNIT_EXPECT_EQ(test, find(&table, &sec, ADDR + 0x1000, &rule), -ENOENT);

	build(1, 0);
	build_func((struct func){ .at = 0x1000, .size = 0 });
	table = open_built(test, &sec);
	KUNIT_EXPECT_EQ(test, find(&table, &sec, ADDR + 0x1000, &rule), -ENOENT);
}

/* An empty function does not cut the one that it lies in. */
static void test_empty_inside(struct kunit *test)
{
	struct sframe_section sec;
	struct sframe_rule rule;
	struct table table;
	u64 pc;

	build(3, 0);
	build_func((struct func){ .at = 0x1000, .size = 16 });
	build_func((struct func){ .at = 0x1008, .size = 0 });
	build_func((struct func){ .at = 0x1010, .size = 16 });
	table = open_built(test, &sec);

	for (pc = ADDR + 0x1000; pc < ADDR + 0x1020; pc++) {
		KUNIT_EXPECT_EQ(test, find(&table, &sec, pc, &rule), 0);
		KUNIT_EXPECT_EQ(test, rule.func_index, pc < ADDR + 0x1010 ? 0 : 2);
	}
}

static void test_overlap(struct kunit *test)
{
	struct sframe_section sec;
	struct sframe_rule rule;
	struct table table;

	build(3, 0);
	build_func((struct func){ .at = 0x1000, .size = 0x21 });
	build_func((struct func){ .at = 0x1020, .size = 0x20 });
	build_func((struct func){ .at = 0x1040, .size = U32_MAX });
	table = open_built(test, &sec);

	KUNIT_EXPECT_EQ(test, find(&table, &sec, ADDR + 0x1000, &rule), -EBADMSG);
	KUNIT_EXPECT_EQ(test, find(&table, &sec, ADDR + 0x101f, &rule), -EBADMSG);
	KUNIT_EXPECT_EQ(test, find(&table, &sec, ADDR + 0x1020, &rule), 0);
	KUNIT_EXPECT_EQ(test, find(&table, &sec, ADDR + 0x103f, &rule), 0);
	/* Nothing behind it contradicts the last one. */
	KUNIT_EXPECT_EQ(test, find(&table, &sec, ADDR + 0x1040, &rule), 0);
	KUNIT_EXPECT_EQ(test, rule.end, ADDR + 0x1040 + U32_MAX);
}

/* The promise to be sorted is broken: the search ends all the same. */
static void test_unsorted(struct kunit *test)
{
	struct sframe_section sec;
	struct sframe_rule rule;
	struct table table;
	u32 i;

	build(300, 0);
	for (i = 0; i < 300; i++)
		build_func((struct func){
			.at = 0x1000 + (i * 7919 % 300) * 16, .size = i % 3 * 8,
		});
	table = open_built(test, &sec);

	for (i = 0; i < 300 * 16; i++) {
		int ret = find(&table, &sec, ADDR + 0x1000 + i, &rule);

		KUNIT_EXPECT_TRUE(test, !ret || ret == -ENOENT || ret == -EBADMSG);
		KUNIT_EXPECT_TRUE(test, table.calls <= 9 + 16 + 2);
		KUNIT_EXPECT_TRUE(test, ret || ADDR + 0x1000 + i - rule.func_start <
					       rule.func_size);
	}
	KUNIT_EXPECT_FALSE(test, table.strayed);
}

/* Blocks count from a start that is no multiple of their size. */
static void test_blocks(struct kunit *test)
{
	static const u8 rows[] = {
		0x04, 0x03, 0x08,
		0x0b, 0x03, 0x10,
		0x40, 0x03, 0x18,	/* beyond the block */
	};
	struct sframe_section sec;
	struct sframe_rule rule;
	struct table table;
	u64 start = ADDR + 0x1008, pc;

	build(1, 0);
	build_func((struct func){
		.at = 0x1008, .size = 24 * 4 + 10,
		.info = SFRAME_FDE_INFO_PC_MASK, .rep_size = 24,
		.rows = rows, .len = sizeof(rows), .nr_rows = 3,
	});
	table = open_built(test, &sec);

	for (pc = start; pc < start + 24 * 4 + 10; pc++) {
		u64 block = start + (pc - start) / 24 * 24;
		int ret = find(&table, &sec, pc, &rule);

		if (pc - block < 4) {
			KUNIT_EXPECT_EQ(test, ret, -ENODATA);
		} else if (pc - block < 11) {
			KUNIT_EXPECT_EQ(test, ret, 0);
			KUNIT_EXPECT_EQ(test, rule.row, 0);
			KUNIT_EXPECT_EQ(test, rule.start, block + 4);
			KUNIT_EXPECT_EQ(test, rule.end, block == start + 24 * 4 ?
							block + 10 : block + 11);
		} else {
			KUNIT_EXPECT_EQ(test, ret, 0);
			KUNIT_EXPECT_EQ(test, rule.row, 1);
			KUNIT_EXPECT_EQ(test, rule.start, block + 11);
			KUNIT_EXPECT_EQ(test, rule.end, block + 24);
		}
	}
}

/* Only what a call enters, thus the first row of a block, is corrected. */
static void test_plt_got(struct kunit *test)
{
	static const u8 sp_rows[] = {
		0x00, 0x03, 0x10,
		0x06, 0x03, 0x10,
	};
	static const u8 fp_row[] = { 0x00, 0x02, 0x10 };
	struct sframe_section sec;
	struct sframe_rule rule;
	struct table table;

	build(3, 0);
	build_func((struct func){
		.at = 0x1000, .size = 16,
		.info = SFRAME_FDE_INFO_PC_MASK, .rep_size = 8,
		.rows = sp_rows, .len = sizeof(sp_rows), .nr_rows = 2,
	});
	build_func((struct func){
		.at = 0x1010, .size = 16,
		.rows = sp_rows, .len = sizeof(sp_rows), .nr_rows = 2,
	});
	build_func((struct func){
		.at = 0x1020, .size = 16,
		.info = SFRAME_FDE_INFO_PC_MASK, .rep_size = 8,
		.rows = fp_row, .len = sizeof(fp_row), .nr_rows = 1,
	});
	table = open_built(test, &sec);

	find(&table, &sec, ADDR + 0x1008, &rule);
	KUNIT_EXPECT_EQ(test, rule.cfa.offset, 8);
	find(&table, &sec, ADDR + 0x100f, &rule);
	KUNIT_EXPECT_EQ(test, rule.cfa.offset, 16);
	find(&table, &sec, ADDR + 0x1010, &rule);
	KUNIT_EXPECT_EQ(test, rule.cfa.offset, 16);
	find(&table, &sec, ADDR + 0x1020, &rule);
	KUNIT_EXPECT_EQ(test, rule.cfa.offset, 16);
}

/* The info byte and words of a flexible row, and what they say. */
struct flex_case {
	u8			row[20];
	int			result;
	struct sframe_loc	cfa, ra, fp;
};

#define RA_FIXED	AT_CFA(-8)

static const struct flex_case flex_cases[] = {
	/* CFA; CFA and one pad; two pads */
	{ { 0x04, 0x39, 0x08 }, 0, REG(7, 8), RA_FIXED, SAME },
	{ { 0x06, 0x39, 0x08, 0x00 }, 0, REG(7, 8), RA_FIXED, SAME },
	{ { 0x08, 0x39, 0x08, 0x00, 0x00 }, 0, REG(7, 8), RA_FIXED, SAME },
	/* CFA, RA in its slot; in memory at a register; in a register */
	{ { 0x08, 0x39, 0x08, 0x02, 0xf0 }, 0, REG(7, 8), AT_CFA(-16), SAME },
	{ { 0x08, 0x39, 0x08, 0x73, 0x04 }, 0, REG(7, 8), AT_REG(14, 4), SAME },
	{ { 0x08, 0x39, 0x08, 0x79, 0x00 }, 0, REG(7, 8), REG(15, 0), SAME },
	/* CFA, RA, pad; CFA, pad, FP; all three */
	{ { 0x0a, 0x39, 0x08, 0x02, 0xf8, 0x00 }, 0, REG(7, 8), AT_CFA(-8), SAME },
	{ { 0x0a, 0x39, 0x08, 0x00, 0x02, 0xf0 }, 0, REG(7, 8), RA_FIXED, AT_CFA(-16) },
	{ { 0x0c, 0x33, 0xf0, 0x02, 0xe8, 0x33, 0x00 }, 0,
	  AT_REG(6, -16), AT_CFA(-24), AT_REG(6, 0) },
	/* The base bit of the row means nothing, nor a register that is not used */
	{ { 0x09, 0x31, 0x10, 0x00, 0x00 }, 0, REG(6, 16), RA_FIXED, SAME },
	{ { 0x08, 0x39, 0x08, 0x0a, 0xf0 }, 0, REG(7, 8), AT_CFA(-16), SAME },
	/* Words of 2 and 4 bytes: control words unsigned, offsets signed */
	{ { 0x24, 0x39, 0x00, 0x00, 0x80 }, 0, REG(7, -32768), RA_FIXED, SAME },
	{ { 0x2a, 0x39, 0x00, 0x08, 0x00, 0x00, 0x00, 0x01, 0x01, 0xf0, 0xff }, 0,
	  REG(7, 8), RA_FIXED, REG(32, -16) },
	{ { 0x44, 0x3b, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80 }, 0,
	  AT_REG(7, -2147483648LL), RA_FIXED, SAME },
	/* Registers that there are not: the highest of each width, 16, 33 */
	{ { 0x04, 0xf9, 0x08 }, 0, REG(31, 8), RA_FIXED, SAME },
	{ { 0x24, 0xf9, 0xff, 0x08, 0x00 }, -EBADMSG },
	{ { 0x44, 0xf9, 0xff, 0xff, 0xff, 0x08, 0x00, 0x00, 0x00 }, -EBADMSG },
	{ { 0x04, 0x81, 0x08 }, -EBADMSG },
	{ { 0x24, 0x09, 0x01, 0x08, 0x00 }, -EBADMSG },
	/* CFA absent, not on a register, without offset, reserved bit */
	{ { 0x08, 0x00, 0x39, 0x08, 0x00 }, -EBADMSG },
	{ { 0x04, 0x02, 0x08 }, -EBADMSG },
	{ { 0x02, 0x39 }, -EBADMSG },
	{ { 0x04, 0x3d, 0x08 }, -EBADMSG },
	{ { 0x0a, 0x39, 0x08, 0x00, 0x04, 0x10 }, -EBADMSG },
	/* RA, FP without offset; words left over; too many */
	{ { 0x06, 0x39, 0x08, 0x02 }, -EBADMSG },
	{ { 0x0a, 0x39, 0x08, 0x02, 0xf0, 0x02 }, -EBADMSG },
	{ { 0x0a, 0x39, 0x08, 0x00, 0x00, 0x00 }, -EBADMSG },
	{ { 0x0e, 0x39, 0x08, 0x02, 0xf8, 0x02, 0xf0, 0x00 }, -EBADMSG },
	/* Reserved word size */
	{ { 0x64, 0x39, 0x08 }, -EBADMSG },
};

static size_t flex_row_len(u8 info)
{
	return 2 + ((info >> 1 & 15) << (info >> 5 & 3));
}

static void test_flexible_rows(struct kunit *test)
{
	u8 row[1 + sizeof(flex_cases[0].row)] = { 0 };
	struct sframe_section sec;
	struct sframe_rule rule;
	struct table table;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(flex_cases); i++) {
		const struct flex_case *c = &flex_cases[i];
		int ret;

		memcpy(row + 1, c->row, sizeof(c->row));
		build(1, 0);
		build_func((struct func){
			.at = 0x1000, .size = 16, .info2 = SFRAME_FDE_TYPE_FLEX,
			.rows = row, .len = flex_row_len(c->row[0]), .nr_rows = 1,
		});
		table = open_built(test, &sec);
		ret = find(&table, &sec, ADDR + 0x1000, &rule);

		KUNIT_EXPECT_EQ_MSG(test, ret, c->result, "row %zu", i);
		KUNIT_EXPECT_TRUE_MSG(test, ret || (same_loc(&rule.cfa, &c->cfa) &&
						    same_loc(&rule.ra, &c->ra) &&
						    same_loc(&rule.fp, &c->fp)),
				      "row %zu", i);
	}
}

/* Rows of all lengths, over many windows. */
static size_t build_long_rows(u8 *rows, u32 nr)
{
	size_t len = 0;
	u32 i;

	for (i = 0; i < nr; i++) {
		u8 words = 1 + i % 2, shift = i % 3, word;

		put_unaligned_le16(i * 3, rows + len);
		rows[len + 2] = 1 | words << 1 | shift << 5;
		len += 3;
		for (word = 0; word < words; word++, len += 1 << shift)
			rows[len] = word ? 0x70 : 0x08;
	}
	return len;
}

static void test_long_function(struct kunit *test)
{
	static u8 rows[8192];
	struct sframe_section sec;
	struct sframe_rule rule;
	struct table table;
	u32 i, nr = 700;
	size_t len;

	memset(rows, 0, sizeof(rows));
	len = build_long_rows(rows, nr);
	build(1, 0);
	build_func((struct func){
		.at = 0x1000, .size = nr * 3, .info = SFRAME_FRE_TYPE_ADDR2,
		.rows = rows, .len = len, .nr_rows = nr,
	});
	table = open_built(test, &sec);

	for (i = 0; i < nr * 3; i++) {
		unsigned int budget = i / 3 + 2;

		table.calls = 0;
		KUNIT_EXPECT_EQ(test, 0, sframe_find(&sec, &table.bytes,
						     ADDR + 0x1000 + i, &rule, &budget));
		KUNIT_EXPECT_EQ(test, budget, i / 3 == nr - 1);
		KUNIT_EXPECT_EQ(test, rule.row, i / 3);
		KUNIT_EXPECT_EQ(test, rule.start, ADDR + 0x1000 + i / 3 * 3);
		KUNIT_EXPECT_EQ(test, rule.cfa.offset, 8);
		KUNIT_EXPECT_EQ(test, rule.fp.offset, i / 3 % 2 ? 0x70 : 0);
		KUNIT_EXPECT_TRUE(test, table.calls <= 2 + 1 + len / 100);
	}
	KUNIT_EXPECT_FALSE(test, table.strayed);
}

/* The longest rows that there are, behind one that lets a window end in them. */
static void test_longest_rows(struct kunit *test)
{
	static u8 rows[64 * 29 + 64];
	struct sframe_section sec;
	struct sframe_rule rule;
	struct table table;
	u32 i, nr = 64;
	u8 *p = rows;

	memset(rows, 0, sizeof(rows));
	for (i = 0; i < nr; i++) {
		put_unaligned_le32(i, p);
		p[4] = 2 << 5 | (i ? 6 : 4) << 1;
		put_unaligned_le32(7 << 3 | SFRAME_FLEX_REG, p + 5);
		put_unaligned_le32(8 * i, p + 9);
		put_unaligned_le32(SFRAME_FLEX_DEREF, p + 13);
		put_unaligned_le32(-8, p + 17);
		p += 21;
		if (!i)
			continue;
		put_unaligned_le32(SFRAME_FLEX_DEREF, p);
		put_unaligned_le32(-0x7fffff00 - i, p + 4);
		p += 8;
	}
	build(1, 0);
	build_func((struct func){
		.at = 0x1000, .size = nr, .info = SFRAME_FRE_TYPE_ADDR4,
		.info2 = SFRAME_FDE_TYPE_FLEX,
		.rows = rows, .len = p - rows, .nr_rows = nr,
	});
	table = open_built(test, &sec);

	for (i = 0; i < nr; i++) {
		KUNIT_EXPECT_EQ(test, find(&table, &sec, ADDR + 0x1000 + i, &rule), 0);
		KUNIT_EXPECT_EQ(test, rule.row, i);
		KUNIT_EXPECT_EQ(test, rule.cfa.offset, 8 * i);
		KUNIT_EXPECT_EQ(test, rule.fp.offset, i ? -0x7fffff00LL - i : 0);
	}
	KUNIT_EXPECT_FALSE(test, table.strayed);
}

/* On s390x, an odd word is a register in version 2, and a slot in version 3. */
static void test_odd_words(struct kunit *test)
{
	struct sframe_row row = {
		.nr_words = 3, .base_sp = true, .words = { 0x02, 0x11, 0x13 },
	};
	struct table table = make_table(built.data, sizeof(built.data));
	struct sframe_header *hdr = (void *)built.data;
	struct sframe_func func = { };
	struct sframe_section sec;
	struct sframe_rule rule;

	build(0, 0);
	put_unaligned_be16(SFRAME_MAGIC, &hdr->magic);
	hdr->abi_arch = SFRAME_ABI_S390X_BE;
	hdr->cfa_fixed_ra_offset = 0;
	KUNIT_EXPECT_EQ(test, 0, sframe_open(&sec, &table.bytes, ADDR,
					     SFRAME_ABI_S390X_BE));

	KUNIT_EXPECT_EQ(test, sframe_row_rule(&sec, &func, &row, &rule), 0);
	KUNIT_EXPECT_EQ(test, rule.cfa.offset, 2 * 8 + 160);
	KUNIT_EXPECT_TRUE(test, rule.ra.deref && rule.ra.offset == 0x11);
	KUNIT_EXPECT_TRUE(test, rule.fp.deref && rule.fp.offset == 0x13);

	sec.version = SFRAME_VERSION_2;
	KUNIT_EXPECT_EQ(test, sframe_row_rule(&sec, &func, &row, &rule), 0);
	KUNIT_EXPECT_TRUE(test, !rule.ra.deref && rule.ra.reg == 8);
	KUNIT_EXPECT_TRUE(test, !rule.fp.deref && rule.fp.reg == 9);

	row.words[2] = 0xff;
	KUNIT_EXPECT_EQ(test, sframe_row_rule(&sec, &func, &row, &rule), -EBADMSG);
}

/* Rows before a malformed one stand, but for the one that it would end. */
static void test_malformed_later(struct kunit *test)
{
	static const u8 word_size[] = {
		0x00, 0x03, 0x08,
		0x02, 0x03, 0x10,
		0x04, 0x63, 0x18,
	};
	static const u8 words[] = {
		0x00, 0x03, 0x08,
		0x02, 0x01,			/* outermost */
		0x04, 0x07, 0x18, 0x00, 0x00,	/* one word too many */
		0x06, 0x03, 0x08,
	};
	static const u8 too_many[] = {
		0x00, 0x03, 0x08,
		0x02, 0x4f,			/* 7 words of 4 bytes */
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	};
	struct sframe_section sec;
	struct sframe_rule rule;
	struct table table;

	build(4, 0);
	build_func((struct func){
		.at = 0x1000, .size = 16,
		.rows = word_size, .len = sizeof(word_size), .nr_rows = 3,
	});
	build_func((struct func){
		.at = 0x1010, .size = 16,
		.rows = words, .len = sizeof(words), .nr_rows = 4,
	});
	build_func((struct func){
		.at = 0x1020, .size = 16,
		.rows = too_many, .len = sizeof(too_many), .nr_rows = 2,
	});
	build_func((struct func){ .at = 0x1030, .size = 16, .info2 = 2 });
	table = open_built(test, &sec);

	KUNIT_EXPECT_EQ(test, find(&table, &sec, ADDR + 0x1001, &rule), 0);
	KUNIT_EXPECT_EQ(test, find(&table, &sec, ADDR + 0x1002, &rule), -EBADMSG);
	KUNIT_EXPECT_EQ(test, find(&table, &sec, ADDR + 0x100f, &rule), -EBADMSG);

	KUNIT_EXPECT_EQ(test, find(&table, &sec, ADDR + 0x1013, &rule), 0);
	KUNIT_EXPECT_TRUE(test, rule.outermost);
	KUNIT_EXPECT_EQ(test, find(&table, &sec, ADDR + 0x1014, &rule), -EBADMSG);
	KUNIT_EXPECT_EQ(test, find(&table, &sec, ADDR + 0x1016, &rule), -EBADMSG);

	KUNIT_EXPECT_EQ(test, find(&table, &sec, ADDR + 0x1020, &rule), -EBADMSG);

	/* The row of the last function would be a flexible one, too. */
	built.data[built.fres + built.fre_len - 1] = 0;
	built.data[built.fres + built.fre_len - 2] = 1;
	KUNIT_EXPECT_EQ(test, find(&table, &sec, ADDR + 0x1030, &rule), -EBADMSG);
}

/* Rows that start at the end of the function, and beyond, do not matter. */
static void test_rows_at_end(struct kunit *test)
{
	static const u8 rows[] = {
		0x01, 0x03, 0x08,
		0x10, 0x03, 0x10,
		0x20, 0x03, 0x18,
	};
	struct sframe_section sec;
	struct sframe_rule rule;
	struct table table;

	build(1, 0);
	build_func((struct func){
		.at = 0x1000, .size = 16, .info = SFRAME_FDE_INFO_SIGNAL,
		.rows = rows, .len = sizeof(rows), .nr_rows = 3,
	});
	table = open_built(test, &sec);

	KUNIT_EXPECT_EQ(test, find(&table, &sec, ADDR + 0x1000, &rule), -ENODATA);
	KUNIT_EXPECT_EQ(test, find(&table, &sec, ADDR + 0x100f, &rule), 0);
	KUNIT_EXPECT_EQ(test, rule.row, 0);
	KUNIT_EXPECT_EQ(test, rule.end, ADDR + 0x1010);
	KUNIT_EXPECT_TRUE(test, rule.signal);
	KUNIT_EXPECT_EQ(test, find(&table, &sec, ADDR + 0x1010, &rule), -ENOENT);
}

/* A fixed slot for the frame pointer: its word is not there. */
static void test_fixed_fp(struct kunit *test)
{
	static const u8 two_words[] = { 0x00, 0x05, 0x08, 0xf0 };
	struct sframe_header *hdr = (void *)built.data;
	struct sframe_section sec;
	struct sframe_rule rule;
	struct table table;

	build(2, 0);
	hdr->cfa_fixed_fp_offset = -16;
	build_func((struct func){ .at = 0x1000, .size = 16 });
	build_func((struct func){
		.at = 0x1010, .size = 16,
		.rows = two_words, .len = sizeof(two_words), .nr_rows = 1,
	});
	table = open_built(test, &sec);

	KUNIT_EXPECT_EQ(test, find(&table, &sec, ADDR + 0x1000, &rule), 0);
	KUNIT_EXPECT_EQ(test, (int)rule.fp.base, SFRAME_BASE_CFA);
	KUNIT_EXPECT_EQ(test, rule.fp.offset, -16);
	KUNIT_EXPECT_EQ(test, find(&table, &sec, ADDR + 0x1010, &rule), -EBADMSG);
}

static void test_declined_abi(struct kunit *test)
{
	struct table table = make_table(built.data, sizeof(built.data));
	struct sframe_section sec;
	int i;

	build(0, 0);
	KUNIT_EXPECT_EQ(test, sframe_open(&sec, &table.bytes, ADDR, 0), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, (int)sec.decline, SFRAME_DECLINE_ABI);
	KUNIT_EXPECT_EQ(test, table.calls, 0);
	KUNIT_EXPECT_EQ(test, sframe_open(&sec, &table.bytes, ADDR,
					  SFRAME_ABI_AARCH64_LE), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, (int)sec.decline, SFRAME_DECLINE_ABI);
	KUNIT_EXPECT_EQ(test, sframe_open(&sec, &table.bytes, ADDR,
					  SFRAME_ABI_S390X_BE), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, (int)sec.decline, SFRAME_DECLINE_BYTE_ORDER);

	for (i = 0; i < SFRAME_NR_DECLINES; i++)
		KUNIT_EXPECT_TRUE(test, strlen(sframe_decline_name(i)) > 2);
}

static struct kunit_case sframe_built_cases[] = {
	KUNIT_CASE(test_no_functions),
	KUNIT_CASE(test_addresses),
	KUNIT_CASE(test_empty_functions),
	KUNIT_CASE(test_empty_inside),
	KUNIT_CASE(test_overlap),
	KUNIT_CASE(test_unsorted),
	KUNIT_CASE(test_blocks),
	KUNIT_CASE(test_plt_got),
	KUNIT_CASE(test_flexible_rows),
	KUNIT_CASE(test_long_function),
	KUNIT_CASE(test_longest_rows),
	KUNIT_CASE(test_odd_words),
	KUNIT_CASE(test_malformed_later),
	KUNIT_CASE(test_rows_at_end),
	KUNIT_CASE(test_fixed_fp),
	KUNIT_CASE(test_declined_abi),
	{ }
};

static struct kunit_suite sframe_built_suite = {
	.name		= "unwind_sframe_built",
	.test_cases	= sframe_built_cases,
};

kunit_test_suite(sframe_built_suite);

MODULE_DESCRIPTION("KUnit tests of the SFrame reader");
MODULE_LICENSE("GPL");
