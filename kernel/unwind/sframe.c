// SPDX-License-Identifier: GPL-2.0
/*
 * SFrame reader: the section.
 *
 * A table is a header, an array of function entries ordered by address, and the
 * rows. sframe_open() checks what can be checked once: that the table is one
 * that this reader knows, and that its parts lie inside of it. Everything else
 * is checked when it is used, because checking a whole table would read it all,
 * and because a table that a process has mapped can change at any time.
 */

#include <linux/array_size.h>
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/sframe.h>
#include <linux/swab.h>

#include "sframe.h"

static const struct sframe_abi abis[] = {
	{
		.id		= SFRAME_ABI_AARCH64_BE,
		.big_endian	= true,
		.sp		= 31,
		.fp		= 29,
		.regs		= GENMASK_ULL(31, 0),
		.cfa_scale	= 1,
		.mangles_ra	= true,
	}, {
		.id		= SFRAME_ABI_AARCH64_LE,
		.sp		= 31,
		.fp		= 29,
		.regs		= GENMASK_ULL(31, 0),
		.cfa_scale	= 1,
		.mangles_ra	= true,
	}, {
		.id		= SFRAME_ABI_AMD64_LE,
		.sp		= 7,
		.fp		= 6,
		.fixed_ra	= -8,
		/* 16 is the return address, no register of the machine. */
		.regs		= GENMASK_ULL(15, 0) | GENMASK_ULL(32, 17),
		.cfa_scale	= 1,
	}, {
		.id		= SFRAME_ABI_S390X_BE,
		.big_endian	= true,
		.sp		= 15,
		.fp		= 11,
		/* From 16 on the floating point registers. */
		.regs		= GENMASK_ULL(31, 0),
		.cfa_scale	= 8,
		.cfa_bias	= 160,
		.pads_ra	= true,
		.odd_regs	= true,
	},
};

static const struct sframe_abi *find_abi(u8 id)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(abis); i++) {
		if (abis[i].id == id)
			return &abis[i];
	}
	return NULL;
}

static const char *const decline_names[] = {
	[SFRAME_ACCEPTED]		= "accepted",
	[SFRAME_DECLINE_SHORT]		= "shorter than a header",
	[SFRAME_DECLINE_MAGIC]		= "no magic number",
	[SFRAME_DECLINE_BYTE_ORDER]	= "other byte order",
	[SFRAME_DECLINE_V1]		= "version 1",
	[SFRAME_DECLINE_VERSION]	= "unknown version",
	[SFRAME_DECLINE_FLAGS]		= "unknown flags",
	[SFRAME_DECLINE_UNSORTED]	= "functions not sorted",
	[SFRAME_DECLINE_ABI]		= "other ABI",
	[SFRAME_DECLINE_FIXED_RA]	= "return address offset not that of the ABI",
	[SFRAME_DECLINE_BOUNDS]		= "parts outside of the section",
	[SFRAME_DECLINE_OVERLAP]	= "functions and rows overlap",
};

static_assert(ARRAY_SIZE(decline_names) == SFRAME_NR_DECLINES);

/**
 * sframe_decline_name - words for a reason to decline a section
 * @decline:	the reason
 *
 * Return: the words.
 */
const char *sframe_decline_name(enum sframe_decline decline)
{
	return decline < SFRAME_NR_DECLINES ? decline_names[decline] : "?";
}

static enum sframe_decline check_preamble(const struct sframe_section *sec,
					  const struct sframe_header *hdr)
{
	u16 magic = sframe_get16(sec->abi, &hdr->magic);

	if (magic == swab16(SFRAME_MAGIC))
		return SFRAME_DECLINE_BYTE_ORDER;
	if (magic != SFRAME_MAGIC)
		return SFRAME_DECLINE_MAGIC;
	if (hdr->version == SFRAME_VERSION_1)
		return SFRAME_DECLINE_V1;
	if (hdr->version != SFRAME_VERSION_2 && hdr->version != SFRAME_VERSION_3)
		return SFRAME_DECLINE_VERSION;
	return SFRAME_ACCEPTED;
}

/*
 * An unsorted table was not merged by a linker that knows SFrame. It is several
 * tables laid end to end under the header of the first one, and in version 2
 * its addresses are those of the object files, whatever the flags say.
 */
static enum sframe_decline check_promises(const struct sframe_section *sec,
					  const struct sframe_header *hdr)
{
	u8 known = hdr->version == SFRAME_VERSION_2 ? SFRAME_V2_FLAGS :
						      SFRAME_V3_FLAGS;

	if (hdr->flags & ~known)
		return SFRAME_DECLINE_FLAGS;
	if (!(hdr->flags & SFRAME_F_FDE_SORTED))
		return SFRAME_DECLINE_UNSORTED;
	if (hdr->abi_arch != sec->abi->id)
		return SFRAME_DECLINE_ABI;
	if (hdr->cfa_fixed_ra_offset != sec->abi->fixed_ra)
		return SFRAME_DECLINE_FIXED_RA;
	return SFRAME_ACCEPTED;
}

/* No sum of these 32-bit fields, nor the product, comes near 64 bits. */
static enum sframe_decline set_bounds(struct sframe_section *sec,
				      const struct sframe_header *hdr, u64 size)
{
	u64 base = sizeof(*hdr) + hdr->auxhdr_len;
	u64 fdes_end, fres_end;

	sec->nr_fdes = sframe_get32(sec->abi, &hdr->num_fdes);
	sec->fre_len = sframe_get32(sec->abi, &hdr->fre_len);
	sec->fdes = base + sframe_get32(sec->abi, &hdr->fdeoff);
	sec->fres = base + sframe_get32(sec->abi, &hdr->freoff);

	fdes_end = sec->fdes + (u64)sec->nr_fdes * sframe_entry_size(sec);
	fres_end = sec->fres + sec->fre_len;

	if (fdes_end > size || fres_end > size)
		return SFRAME_DECLINE_BOUNDS;
	if (sec->fdes < fres_end && sec->fres < fdes_end)
		return SFRAME_DECLINE_OVERLAP;
	return SFRAME_ACCEPTED;
}

static enum sframe_decline accept_header(struct sframe_section *sec,
					 const struct sframe_header *hdr,
					 u64 size)
{
	enum sframe_decline decline;

	decline = check_preamble(sec, hdr);
	if (decline)
		return decline;

	decline = check_promises(sec, hdr);
	if (decline)
		return decline;

	sec->version = hdr->version;
	sec->pcrel = hdr->flags & SFRAME_F_FDE_FUNC_START_PCREL;
	sec->fixed_ra = hdr->cfa_fixed_ra_offset;
	sec->fixed_fp = hdr->cfa_fixed_fp_offset;

	return set_bounds(sec, hdr, size);
}

/**
 * sframe_open - check the header of a section
 * @sec:	filled in
 * @bytes:	the section
 * @addr:	see &sframe_section.addr
 * @abi:	the only SFRAME_ABI_* to be accepted
 *
 * Return: 0, -EOPNOTSUPP if the section is declined, or the error of the fetch.
 */
int sframe_open(struct sframe_section *sec, const struct sframe_bytes *bytes,
		u64 addr, u8 abi)
{
	struct sframe_header hdr;
	int err;

	*sec = (struct sframe_section) {
		.addr	= addr,
		.abi	= find_abi(abi),
	};

	if (!sec->abi) {
		sec->decline = SFRAME_DECLINE_ABI;
		return -EOPNOTSUPP;
	}

	if (bytes->size < sizeof(hdr)) {
		sec->decline = SFRAME_DECLINE_SHORT;
		return -EOPNOTSUPP;
	}

	err = bytes->fetch(bytes, 0, &hdr, sizeof(hdr));
	if (err)
		return err;

	sec->decline = accept_header(sec, &hdr, bytes->size);
	return sec->decline ? -EOPNOTSUPP : 0;
}

/**
 * sframe_find - find the rule for a PC
 * @sec:	the section
 * @bytes:	its bytes
 * @pc:		the PC: where the frame is executing, or for a return address
 *		the address before it, since a call can be the last instruction
 *		of its function
 * @rule:	filled in
 * @budget:	rows that may be looked at, reduced by those that were
 *
 * Return: 0, -ENOENT, -ENODATA, -EBADMSG, -E2BIG, or the error of the fetch.
 */
int sframe_find(const struct sframe_section *sec,
		const struct sframe_bytes *bytes, u64 pc,
		struct sframe_rule *rule, unsigned int *budget)
{
	struct sframe_func func;
	int err;

	err = sframe_find_func(sec, bytes, pc, &func);
	if (err)
		return err;
	return sframe_find_row(sec, bytes, &func, pc, rule, budget);
}
