/* SPDX-License-Identifier: GPL-2.0 */
/* What the SFrame reader and its tests use of the kernel, in user space. */
#ifndef _LINUX_TYPES_H
#define _LINUX_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef unsigned long long u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef long long s64;

#define __packed	__attribute__((__packed__))

#endif
