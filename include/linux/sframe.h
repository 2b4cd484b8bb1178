/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SFrame stack-trace tables: the format.
 *
 * The comments below name the parts of the SFrame specification, which comes
 * with binutils: its functions are SFrame FDEs (function descriptor entries),
 * its rows are SFrame FREs (frame row entries). All integers of a table have the
 * byte order of its ELF file. Nothing but the section itself is aligned: copy
 * every structure out before looking at it.
 */
#ifndef _LINUX_SFRAME_H
#define _LINUX_SFRAME_H

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/types.h>

/* SFrame Preamble */

#define SFRAME_MAGIC			0xdee2

#define SFRAME_VERSION_1		1
#define SFRAME_VERSION_2		2
#define SFRAME_VERSION_3		3

/* SFrame Flags */

#define SFRAME_F_FDE_SORTED		BIT(0)
#define SFRAME_F_FRAME_POINTER		BIT(1)
#define SFRAME_F_FDE_FUNC_START_PCREL	BIT(2)

#define SFRAME_V2_FLAGS			(SFRAME_F_FDE_SORTED |		\
					 SFRAME_F_FRAME_POINTER |	\
					 SFRAME_F_FDE_FUNC_START_PCREL)
#define SFRAME_V3_FLAGS			(SFRAME_F_FDE_SORTED |		\
					 SFRAME_F_FDE_FUNC_START_PCREL)

/* SFrame ABI/arch Identifier */

#define SFRAME_ABI_AARCH64_BE		1
#define SFRAME_ABI_AARCH64_LE		2
#define SFRAME_ABI_AMD64_LE		3
#define SFRAME_ABI_S390X_BE		4

/**
 * struct sframe_header - SFrame Preamble and Header, the same in all versions
 * @magic:		%SFRAME_MAGIC
 * @version:		layout of the rest
 * @flags:		SFRAME_F_*
 * @abi_arch:		SFRAME_ABI_*
 * @cfa_fixed_fp_offset: the frame pointer is saved at the CFA plus this in all
 *			frames, 0 if that differs from frame to frame
 * @cfa_fixed_ra_offset: the same for the return address
 * @auxhdr_len:		bytes between this header and what it describes
 * @num_fdes:		number of function entries
 * @num_fres:		number of rows, informative
 * @fre_len:		bytes of rows
 * @fdeoff:		first function entry, from the end of the (auxiliary)
 *			header
 * @freoff:		first byte of rows, from the same place
 */
struct sframe_header {
	u16	magic;
	u8	version;
	u8	flags;
	u8	abi_arch;
	s8	cfa_fixed_fp_offset;
	s8	cfa_fixed_ra_offset;
	u8	auxhdr_len;
	u32	num_fdes;
	u32	num_fres;
	u32	fre_len;
	u32	fdeoff;
	u32	freoff;
} __packed;
static_assert(sizeof(struct sframe_header) == 28);

/**
 * struct sframe_fde_v2 - SFrame FDE of version 2
 * @start:	first byte of code, from this field if
 *		%SFRAME_F_FDE_FUNC_START_PCREL is set, else from the section
 * @size:	bytes of code
 * @data_off:	first row, from the first byte of rows
 * @num_fres:	number of rows
 * @info:	SFRAME_FDE_INFO_*
 * @rep_size:	block size if %SFRAME_FDE_INFO_PC_MASK is set
 * @padding:	to be ignored
 */
struct sframe_fde_v2 {
	s32	start;
	u32	size;
	u32	data_off;
	u32	num_fres;
	u8	info;
	u8	rep_size;
	u16	padding;
} __packed;
static_assert(sizeof(struct sframe_fde_v2) == 20);

/**
 * struct sframe_fde_v3 - SFrame FDE of version 3, the part that is searched
 * @start:	first byte of code, as in &struct sframe_fde_v2
 * @size:	bytes of code
 * @data_off:	the function's &struct sframe_attr_v3, from the first byte of
 *		rows
 */
struct sframe_fde_v3 {
	s64	start;
	u32	size;
	u32	data_off;
} __packed;
static_assert(sizeof(struct sframe_fde_v3) == 16);

/**
 * struct sframe_attr_v3 - SFrame FDE of version 3, attributes of the function
 * @num_fres:	number of rows, the first one stands right behind this
 * @info:	SFRAME_FDE_INFO_*
 * @info2:	SFRAME_FDE_INFO2_*
 * @rep_size:	block size if %SFRAME_FDE_INFO_PC_MASK is set
 */
struct sframe_attr_v3 {
	u16	num_fres;
	u8	info;
	u8	info2;
	u8	rep_size;
} __packed;
static_assert(sizeof(struct sframe_attr_v3) == 5);

/* SFrame FDE, info bytes */

#define SFRAME_FDE_INFO_FRE_TYPE	GENMASK(3, 0)
#define SFRAME_FDE_INFO_PC_MASK		BIT(4)
#define SFRAME_FDE_INFO_PAUTH_KEY_B	BIT(5)
#define SFRAME_FDE_INFO_RESERVED	BIT(6)
#define SFRAME_FDE_INFO_SIGNAL		BIT(7)		/* version 3 */

/* Width of a row's start: 1 << type bytes. */
#define SFRAME_FRE_TYPE_ADDR1		0
#define SFRAME_FRE_TYPE_ADDR2		1
#define SFRAME_FRE_TYPE_ADDR4		2

#define SFRAME_FDE_INFO2_TYPE		GENMASK(4, 0)
#define SFRAME_FDE_INFO2_RESERVED	GENMASK(7, 5)

#define SFRAME_FDE_TYPE_DEFAULT		0
#define SFRAME_FDE_TYPE_FLEX		1

/*
 * SFrame FRE, info byte: a row is its start, this byte, and the words that the
 * byte announces.
 */

#define SFRAME_FRE_INFO_BASE_SP		BIT(0)
#define SFRAME_FRE_INFO_NR_WORDS	GENMASK(4, 1)
#define SFRAME_FRE_INFO_WORD_SIZE	GENMASK(6, 5)
#define SFRAME_FRE_INFO_MANGLED_RA	BIT(7)

/* Width of a word: 1 << size bytes. */
#define SFRAME_FRE_WORD_SIZE_1		0
#define SFRAME_FRE_WORD_SIZE_2		1
#define SFRAME_FRE_WORD_SIZE_4		2

/*
 * SFrame FRE, control word of a flexible row. The register number fills the
 * rest of it, so its width is that of the word less three bits.
 */

#define SFRAME_FLEX_REG			BIT(0)
#define SFRAME_FLEX_DEREF		BIT(1)
#define SFRAME_FLEX_RESERVED		BIT(2)
#define SFRAME_FLEX_REGNUM		GENMASK(31, 3)

#endif /* _LINUX_SFRAME_H */
