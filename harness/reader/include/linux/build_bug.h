/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_BUILD_BUG_H
#define _LINUX_BUILD_BUG_H

#include <assert.h>

#undef static_assert
#define static_assert(expr)	_Static_assert(expr, #expr)

#endif
