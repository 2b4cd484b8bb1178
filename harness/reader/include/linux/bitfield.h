/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_BITFIELD_H
#define _LINUX_BITFIELD_H

#include <linux/bits.h>

#define FIELD_GET(mask, value)	(((value) & (mask)) >> __builtin_ctzl(mask))
#define FIELD_PREP(mask, value)	(((value) << __builtin_ctzl(mask)) & (mask))

#endif
