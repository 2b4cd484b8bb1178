/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Samples and stacks by cookie.
 */
#ifndef _PERF_STACK_CHECK_H
#define _PERF_STACK_CHECK_H

#include "perf_stack.h"

const struct perf_stack_record *perf_stack_of(const struct perf_stack *stack,
					      const struct perf_stack_sample *sample);
unsigned int perf_stack_astray(const struct perf_stack *stack);

#endif /* _PERF_STACK_CHECK_H */
