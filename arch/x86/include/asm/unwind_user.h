/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_X86_UNWIND_USER_H
#define _ASM_X86_UNWIND_USER_H

#include <linux/array_size.h>
#include <linux/nospec.h>
#include <linux/sframe.h>
#include <linux/stddef.h>
#include <asm/ptrace.h>

/* SFrame tables of 64-bit code; there are none for 32-bit code. */
#define UNWIND_USER_SFRAME_ABI		SFRAME_ABI_AMD64_LE
#define UNWIND_USER_REG_FP		6
#define UNWIND_USER_REG_SP		7

/**
 * unwind_user_word - bytes of an address in the code that runs with @regs
 * @regs: registers of a task in user mode
 */
static inline unsigned int unwind_user_word(const struct pt_regs *regs)
{
	return user_64bit_mode((struct pt_regs *)regs) ? 8 : 4;
}

/**
 * unwind_user_reg - a register, by its DWARF number
 * @regs: registers of a task in 64-bit user mode
 * @reg: number in the psABI, "DWARF Register Number Mapping"
 * @value: where its value goes
 *
 * Return: false if @regs does not hold it.
 */
static inline bool unwind_user_reg(const struct pt_regs *regs, unsigned int reg,
				   unsigned long *value)
{
	static const u16 offsets[] = {
		[0]	= offsetof(struct pt_regs, ax),
		[1]	= offsetof(struct pt_regs, dx),
		[2]	= offsetof(struct pt_regs, cx),
		[3]	= offsetof(struct pt_regs, bx),
		[4]	= offsetof(struct pt_regs, si),
		[5]	= offsetof(struct pt_regs, di),
		[6]	= offsetof(struct pt_regs, bp),
		[7]	= offsetof(struct pt_regs, sp),
		[8]	= offsetof(struct pt_regs, r8),
		[9]	= offsetof(struct pt_regs, r9),
		[10]	= offsetof(struct pt_regs, r10),
		[11]	= offsetof(struct pt_regs, r11),
		[12]	= offsetof(struct pt_regs, r12),
		[13]	= offsetof(struct pt_regs, r13),
		[14]	= offsetof(struct pt_regs, r14),
		[15]	= offsetof(struct pt_regs, r15),
	};

	if (reg >= ARRAY_SIZE(offsets))
		return false;
	/* The number comes from a file. */
	reg = array_index_nospec(reg, ARRAY_SIZE(offsets));
	*value = *(unsigned long *)((void *)regs + offsets[reg]);
	return true;
}

#endif /* _ASM_X86_UNWIND_USER_H */
