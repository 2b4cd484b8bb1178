/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_X86_UNWIND_USER_H
#define _ASM_X86_UNWIND_USER_H

#include <linux/sframe.h>
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
	switch (reg) {
	case 0:  *value = regs->ax;  return true;
	case 1:  *value = regs->dx;  return true;
	case 2:  *value = regs->cx;  return true;
	case 3:  *value = regs->bx;  return true;
	case 4:  *value = regs->si;  return true;
	case 5:  *value = regs->di;  return true;
	case 6:  *value = regs->bp;  return true;
	case 7:  *value = regs->sp;  return true;
	case 8:  *value = regs->r8;  return true;
	case 9:  *value = regs->r9;  return true;
	case 10: *value = regs->r10; return true;
	case 11: *value = regs->r11; return true;
	case 12: *value = regs->r12; return true;
	case 13: *value = regs->r13; return true;
	case 14: *value = regs->r14; return true;
	case 15: *value = regs->r15; return true;
	default: return false;
	}
}

#endif /* _ASM_X86_UNWIND_USER_H */
