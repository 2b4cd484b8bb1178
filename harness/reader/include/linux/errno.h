/* SPDX-License-Identifier: GPL-2.0 */
/* <errno.h> includes this file. */
#include <asm/errno.h>
