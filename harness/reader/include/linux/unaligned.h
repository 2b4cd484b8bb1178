/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_UNALIGNED_H
#define _LINUX_UNALIGNED_H

#include <linux/types.h>

static inline u64 get_bytes(const void *p, int size, bool big)
{
	const u8 *byte = p;
	u64 value = 0;
	int i;

	for (i = 0; i < size; i++)
		value = value << 8 | byte[big ? i : size - 1 - i];
	return value;
}

static inline void put_bytes(u64 value, void *p, int size, bool big)
{
	u8 *byte = p;
	int i;

	for (i = 0; i < size; i++, value >>= 8)
		byte[big ? size - 1 - i : i] = value;
}

#define get_unaligned_le16(p)	((u16)get_bytes(p, 2, false))
#define get_unaligned_le32(p)	((u32)get_bytes(p, 4, false))
#define get_unaligned_le64(p)	get_bytes(p, 8, false)
#define get_unaligned_be16(p)	((u16)get_bytes(p, 2, true))
#define get_unaligned_be32(p)	((u32)get_bytes(p, 4, true))
#define get_unaligned_be64(p)	get_bytes(p, 8, true)
#define put_unaligned_le16(v, p) put_bytes(v, p, 2, false)
#define put_unaligned_le32(v, p) put_bytes(v, p, 4, false)
#define put_unaligned_le64(v, p) put_bytes(v, p, 8, false)
#define put_unaligned_be16(v, p) put_bytes(v, p, 2, true)
#define put_unaligned_be32(v, p) put_bytes(v, p, 4, true)

#endif
