/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_X86_UNWIND_USER_H
#define _ASM_X86_UNWIND_USER_H

#include <linux/nospec.h>
#include <linux/sframe.h>
#include <linux/stddef.h>
#include <asm/ptrace.h>

/* SFrame tables of 64-bit code; there are none for 32-bit code. */
#define UNWIND_USER_SFRAME_ABI		SFRAME_ABI_AMD64_LE
#define UNWIND_USER_REG_FP		6
#define UNWIND_USER_REG_SP		7
#define UNWIND_USER_REG_IP		16
#define UNWIND_USER_NR_REGS		17

/**
 * unwind_user_word - bytes of an address in the code that runs with @regs
 * @regs: registers of a task in user mode
 */
static inline unsigned int unwind_user_word(const struct pt_regs *regs)
{
	return user_64bit_mode((struct pt_regs *)regs) ? 8 : 4;
}

/* Where pt_regs has a register, by its number in the psABI, figure 3.36. */
static const u16 unwind_user_reg_offsets[] = {
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
	[16]	= offsetof(struct pt_regs, ip),
};

/**
 * unwind_user_reg - a register, by its DWARF number
 * @regs: registers of a task in 64-bit user mode
 * @reg: number in the psABI, "DWARF Register Number Mapping"
 * @value: where its value goes
 *
 * Return: false if @regs does not hold it, or no rule may name it.
 */
static inline bool unwind_user_reg(const struct pt_regs *regs, unsigned int reg,
				   unsigned long *value)
{
	if (reg >= UNWIND_USER_REG_IP)
		return false;
	/* The number comes from a file. */
	reg = array_index_nospec(reg, UNWIND_USER_REG_IP);
	*value = *(unsigned long *)((void *)regs + unwind_user_reg_offsets[reg]);
	return true;
}

/**
 * unwind_user_reg_number - the DWARF number of a register
 * @offset: where pt_regs has it
 *
 * Return: %UNWIND_USER_NR_REGS if no rule can need it.
 */
static inline unsigned int unwind_user_reg_number(unsigned long offset)
{
	unsigned int reg;

	for (reg = 0; reg < UNWIND_USER_NR_REGS; reg++) {
		if (unwind_user_reg_offsets[reg] == offset)
			break;
	}
	return reg;
}

/*
 * How many words above the stack pointer the trampoline of uretprobes has the
 * address that it returns to, at @offset in it; -1 where the address is known to
 * the list of pending uretprobes only. In arch/x86/kernel/uprobes.c.
 */
int unwind_user_trampoline_words(unsigned long offset);

#endif /* _ASM_X86_UNWIND_USER_H */
