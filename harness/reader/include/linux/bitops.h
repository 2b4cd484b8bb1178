/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_BITOPS_H
#define _LINUX_BITOPS_H

#include <linux/bits.h>
#include <linux/types.h>

static inline s32 sign_extend32(u32 value, int sign_bit)
{
	u32 sign = 1U << sign_bit;
	u32 low = value & (sign | (sign - 1));

	return (s32)((low ^ sign) - sign);
}

static inline int fls(unsigned int value)
{
	return value ? 32 - __builtin_clz(value) : 0;
}

#endif
