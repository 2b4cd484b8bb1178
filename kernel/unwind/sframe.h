/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The SFrame reader: from the bytes of a table to the rule for a PC.
 *
 * Pure: it knows no mm, takes no lock, allocates nothing and touches a table
 * only through &struct sframe_bytes, so it runs wherever its caller may fetch,
 * and the same source builds in user space. Bytes are copied once, the copy is
 * checked, and the copy is used: a table may change while it is read.
 *
 * Errors, the same for all functions here:
 *
 *   -EOPNOTSUPP  the section is declined, &struct sframe_section.decline says why
 *   -ENOENT      no function of the table covers the PC
 *   -ENODATA     a function covers the PC, but states nothing for it
 *   -EBADMSG     the function's entry, or a row of it, is malformed
 *   -E2BIG       the caller's budget of rows is used up
 *
 * An error of &sframe_bytes.fetch is passed on unchanged; fetch must not return
 * one of the five.
 */
#ifndef _KERNEL_UNWIND_SFRAME_H
#define _KERNEL_UNWIND_SFRAME_H

#include <linux/sframe.h>
#include <linux/types.h>
#include <linux/unaligned.h>

struct sframe_abi;

/**
 * struct sframe_bytes - where the bytes of one table come from
 * @fetch:	copies @len bytes that start @offset bytes behind the first byte
 *		of the table to @dst; 0 or a negative errno. The reader asks for
 *		bytes inside @size only, and for at most %SFRAME_FETCH_MAX at
 *		once.
 * @size:	bytes of the table, an upper bound (the segment's size in the
 *		file is one)
 *
 * Embed it in what @fetch needs.
 */
struct sframe_bytes {
	int	(*fetch)(const struct sframe_bytes *bytes, u64 offset,
			 void *dst, size_t len);
	u64	size;
};

#define SFRAME_FETCH_MAX	128

/**
 * enum sframe_decline - why a section is not used
 * @SFRAME_ACCEPTED:		it is used
 * @SFRAME_DECLINE_SHORT:	no room for a header
 * @SFRAME_DECLINE_MAGIC:	not an SFrame table: most often what removed or
 *				empty sections leave behind
 * @SFRAME_DECLINE_BYTE_ORDER:	the magic number of the other byte order
 * @SFRAME_DECLINE_V1:		version 1
 * @SFRAME_DECLINE_VERSION:	a version that is not known
 * @SFRAME_DECLINE_FLAGS:	a flag that the version does not have
 * @SFRAME_DECLINE_UNSORTED:	not ordered by function address, thus not made
 *				by a linker that knows SFrame; its addresses
 *				need not mean anything either
 * @SFRAME_DECLINE_ABI:		written for another ABI
 * @SFRAME_DECLINE_FIXED_RA:	the return address is not where the ABI has it
 * @SFRAME_DECLINE_BOUNDS:	parts of it lie outside of it
 * @SFRAME_DECLINE_OVERLAP:	functions and rows overlap
 * @SFRAME_NR_DECLINES:		number of reasons
 */
enum sframe_decline {
	SFRAME_ACCEPTED,
	SFRAME_DECLINE_SHORT,
	SFRAME_DECLINE_MAGIC,
	SFRAME_DECLINE_BYTE_ORDER,
	SFRAME_DECLINE_V1,
	SFRAME_DECLINE_VERSION,
	SFRAME_DECLINE_FLAGS,
	SFRAME_DECLINE_UNSORTED,
	SFRAME_DECLINE_ABI,
	SFRAME_DECLINE_FIXED_RA,
	SFRAME_DECLINE_BOUNDS,
	SFRAME_DECLINE_OVERLAP,
	SFRAME_NR_DECLINES,
};

/**
 * struct sframe_section - what an accepted header says
 * @addr:	address of the first byte of the table, in the address space of
 *		the PCs that are looked up: the run-time address, or the one in
 *		the ELF file, for PCs less the load bias
 * @fdes:	offset of the first function entry in the table
 * @fres:	offset of the first byte of rows
 * @fre_len:	bytes of rows
 * @nr_fdes:	number of function entries
 * @abi:	what differs from ABI to ABI
 * @version:	the version
 * @fixed_ra:	cfa_fixed_ra_offset of the header
 * @fixed_fp:	cfa_fixed_fp_offset of the header
 * @pcrel:	starts count from their own field, not from @addr
 * @decline:	set by sframe_open(), the rest is valid if %SFRAME_ACCEPTED
 *
 * Holds no pointer to the bytes: a section that was opened once can be read
 * through another &struct sframe_bytes later, and by many readers at a time.
 */
struct sframe_section {
	u64				addr;
	u64				fdes;
	u64				fres;
	u32				fre_len;
	u32				nr_fdes;
	const struct sframe_abi		*abi;
	u8				version;
	s8				fixed_ra;
	s8				fixed_fp;
	bool				pcrel;
	enum sframe_decline		decline;
};

/**
 * enum sframe_base - what an &struct sframe_loc counts from
 * @SFRAME_BASE_SAME:	nothing: the register still holds the caller's value
 * @SFRAME_BASE_CFA:	the CFA of this frame
 * @SFRAME_BASE_REG:	a register of this frame
 */
enum sframe_base {
	SFRAME_BASE_SAME,
	SFRAME_BASE_CFA,
	SFRAME_BASE_REG,
};

/**
 * struct sframe_loc - how to get one value
 * @offset:	to be added to the base
 * @base:	an &enum sframe_base
 * @reg:	DWARF number of the base register, one that the ABI has; whether
 *		its value is known in this frame is the caller's to know
 * @deref:	the value is the 8 bytes at base plus offset, not the sum itself
 */
struct sframe_loc {
	s64	offset;
	u8	base;
	u8	reg;
	bool	deref;
};

/**
 * struct sframe_rule - how to get from a frame to its caller
 * @start:	the rule is valid for PCs from here ...
 * @end:	... up to, but not including this one
 * @cfa:	the canonical frame address, never %SFRAME_BASE_SAME or _CFA
 * @ra:		the return address
 * @fp:		the caller's frame pointer
 * @outermost:	there is no caller; @cfa, @ra and @fp are not set
 * @signal:	the function is a signal trampoline: the caller was interrupted
 *		at @ra, and registers other than these three may be found on the
 *		stack
 * @mangled_ra:	the return address is signed, its upper bits are to be stripped
 * @func_start:	first byte of the function. That the function lies in executable
 *		memory of the same file is for the caller to check
 * @func_size:	bytes of the function
 * @func_index:	index of the function
 * @row:	index of the row in the function
 */
struct sframe_rule {
	u64			start;
	u64			end;
	struct sframe_loc	cfa;
	struct sframe_loc	ra;
	struct sframe_loc	fp;
	bool			outermost;
	bool			signal;
	bool			mangled_ra;
	u64			func_start;
	u32			func_size;
	u32			func_index;
	u32			row;
};

/**
 * struct sframe_func - one function of a table
 * @start:	first byte of code
 * @rows:	offset of the first row in the table
 * @size:	bytes of code
 * @index:	index of the entry
 * @nr_rows:	number of rows
 * @start_shift: a row's start takes 1 << this bytes
 * @rep_size:	the code is made of equal blocks of this many bytes and the rows
 *		describe one of them; 0 if it is not
 * @flex:	rows are flexible
 * @signal:	see &sframe_rule.signal
 */
struct sframe_func {
	u64	start;
	u64	rows;
	u32	size;
	u32	index;
	u32	nr_rows;
	u8	start_shift;
	u8	rep_size;
	bool	flex;
	bool	signal;
};

/* No kind of row has more words. */
#define SFRAME_ROW_MAX_WORDS	6

/**
 * struct sframe_row - one row, not yet interpreted
 * @start:	offset of the first byte of code that it describes
 * @index:	index of the row in the function
 * @nr_words:	number of words
 * @word_shift:	a word takes 1 << this bytes
 * @base_sp:	the CFA counts from the stack pointer, unless the row is flexible
 * @mangled_ra:	see &sframe_rule.mangled_ra
 * @words:	the words as they stand in the table
 */
struct sframe_row {
	u32	start;
	u32	index;
	u8	nr_words;
	u8	word_shift;
	bool	base_sp;
	bool	mangled_ra;
	u8	words[SFRAME_ROW_MAX_WORDS * sizeof(u32)];
};

/**
 * struct sframe_rows - cursor over the rows of a function
 * @sec:	the section
 * @bytes:	its bytes
 * @func:	the function
 * @pos:	offset in the table of the next row
 * @next:	index of the next row
 * @last:	start of the row before that
 * @head:	offset in @window of the next row
 * @tail:	number of bytes in @window
 * @window:	bytes of the table, to fetch several rows at once
 */
struct sframe_rows {
	const struct sframe_section	*sec;
	const struct sframe_bytes	*bytes;
	const struct sframe_func	*func;
	u64				pos;
	u32				next;
	u32				last;
	unsigned int			head;
	unsigned int			tail;
	u8				window[SFRAME_FETCH_MAX];
};

/**
 * struct sframe_abi - what the reader knows about an ABI
 * @id:		SFRAME_ABI_*
 * @sp:		DWARF number of the stack pointer
 * @fp:		DWARF number of the frame pointer
 * @fixed_ra:	what the header must say about the return address
 * @regs:	DWARF numbers that a rule may name
 * @cfa_scale:	what stands for the CFA is multiplied by this ...
 * @cfa_bias:	... and this is added
 * @big_endian:	byte order
 * @mangles_ra:	return addresses may be signed
 * @pads_ra:	a return address at CFA + 0 has not been saved
 * @odd_regs:	in version 2, an odd word is a register number, not an offset
 */
struct sframe_abi {
	u8	id;
	u8	sp;
	u8	fp;
	s8	fixed_ra;
	u64	regs;
	u8	cfa_scale;
	u8	cfa_bias;
	bool	big_endian;
	bool	mangles_ra;
	bool	pads_ra;
	bool	odd_regs;
};

/* Integers of a table, in its byte order. */

static inline u16 sframe_get16(const struct sframe_abi *abi, const void *p)
{
	return abi->big_endian ? get_unaligned_be16(p) : get_unaligned_le16(p);
}

static inline u32 sframe_get32(const struct sframe_abi *abi, const void *p)
{
	return abi->big_endian ? get_unaligned_be32(p) : get_unaligned_le32(p);
}

static inline u64 sframe_get64(const struct sframe_abi *abi, const void *p)
{
	return abi->big_endian ? get_unaligned_be64(p) : get_unaligned_le64(p);
}

/* One of 1 << @shift bytes. */
static inline u32 sframe_get_uint(const struct sframe_abi *abi, const u8 *p, u8 shift)
{
	switch (shift) {
	case 0:
		return *p;
	case 1:
		return sframe_get16(abi, p);
	default:
		return sframe_get32(abi, p);
	}
}

static inline u8 sframe_entry_size(const struct sframe_section *sec)
{
	return sec->version == SFRAME_VERSION_2 ? sizeof(struct sframe_fde_v2) :
						  sizeof(struct sframe_fde_v3);
}

/* sframe.c: the section */

int sframe_open(struct sframe_section *sec, const struct sframe_bytes *bytes,
		u64 addr, u8 abi);
int sframe_find(const struct sframe_section *sec,
		const struct sframe_bytes *bytes, u64 pc,
		struct sframe_rule *rule, unsigned int *budget);
const char *sframe_decline_name(enum sframe_decline decline);

/*
 * The steps of sframe_find(), also for programs that show a table.
 *
 * sframe_func.c: the functions of a section
 */

int sframe_func_at(const struct sframe_section *sec,
		   const struct sframe_bytes *bytes, u32 index,
		   struct sframe_func *func);
int sframe_find_func(const struct sframe_section *sec,
		     const struct sframe_bytes *bytes, u64 pc,
		     struct sframe_func *func);

/* sframe_row.c: the rows of a function */

void sframe_rows_init(struct sframe_rows *rows,
		      const struct sframe_section *sec,
		      const struct sframe_bytes *bytes,
		      const struct sframe_func *func);
int sframe_rows_next(struct sframe_rows *rows, struct sframe_row *row);
int sframe_find_row(const struct sframe_section *sec,
		    const struct sframe_bytes *bytes,
		    const struct sframe_func *func, u64 pc,
		    struct sframe_rule *rule, unsigned int *budget);

/* sframe_rule.c: what a row means */

int sframe_row_rule(const struct sframe_section *sec,
		    const struct sframe_func *func,
		    const struct sframe_row *row, struct sframe_rule *rule);

#endif /* _KERNEL_UNWIND_SFRAME_H */
