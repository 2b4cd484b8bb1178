/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_SWAB_H
#define _LINUX_SWAB_H

#define swab16(x)	((u16)((u16)(x) << 8 | (u16)(x) >> 8))

#endif
