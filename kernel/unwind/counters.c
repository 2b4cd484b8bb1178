// SPDX-License-Identifier: GPL-2.0
/*
 * What the unwinder did, for all tasks together: unwind/counters in debugfs.
 */
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/seq_file.h>

#include "internal.h"

DEFINE_PER_CPU(unsigned long[UNWIND_NR_COUNTERS], unwind_counters);

static const char * const names[UNWIND_NR_COUNTERS] = {
	[UNWIND_REQUESTS]				= "requests",
	[UNWIND_COVERED]				= "covered",
	[UNWIND_CALLBACKS]				= "callbacks",
	[UNWIND_WITHDRAWN]				= "withdrawn",
	[UNWIND_LOST]					= "lost",
	[UNWIND_LATE]					= "late",
	[UNWIND_WALKS]					= "walks",
	[UNWIND_ENDS + USER_UNWIND_END_OUTERMOST]	= "end_outermost",
	[UNWIND_ENDS + USER_UNWIND_END_LIMIT]		= "end_limit",
	[UNWIND_ENDS + USER_UNWIND_END_NO_TABLE]	= "end_no_table",
	[UNWIND_ENDS + USER_UNWIND_END_MALFORMED]	= "end_malformed",
	[UNWIND_ENDS + USER_UNWIND_END_UNREADABLE]	= "end_unreadable",
	[UNWIND_ENDS + USER_UNWIND_END_NO_PROGRESS]	= "end_no_progress",
	[UNWIND_ENDS + USER_UNWIND_END_REGISTER]	= "end_register",
	[UNWIND_ENDS + USER_UNWIND_END_BUDGET]		= "end_budget",
	[UNWIND_ENDS + USER_UNWIND_END_KILLED]		= "end_killed",
	[UNWIND_ENDS + USER_UNWIND_END_NO_MEMORY]	= "end_no_memory",
	[UNWIND_ENDS + USER_UNWIND_END_REPLACED]	= "end_replaced",
	[UNWIND_REFUSED_UNREGISTERED]			= "refused_unregistered",
	[UNWIND_REFUSED_NO_STACK]			= "refused_no_stack",
	[UNWIND_REFUSED_NO_MM]				= "refused_no_mm",
	[UNWIND_REFUSED_EXITING]			= "refused_exiting",
	[UNWIND_REFUSED_REPLACING]			= "refused_replacing",
	[UNWIND_REFUSED_DELIVERING]			= "refused_delivering",
	[UNWIND_REFUSED_OFF]				= "refused_off",
};

static unsigned long sum(unsigned int counter)
{
	unsigned long total = 0;
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		total += READ_ONCE(per_cpu(unwind_counters, cpu)[counter]);
	return total;
}

static int counters_show(struct seq_file *file, void *data)
{
	unsigned int counter;

	for (counter = 0; counter < UNWIND_NR_COUNTERS; counter++)
		seq_printf(file, "%s %lu\n", names[counter], sum(counter));
	seq_printf(file, "spaces %lu\n", unwind_space_count());
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counters);

static int __init unwind_counters_init(void)
{
	debugfs_create_file("counters", 0400, debugfs_create_dir("unwind", NULL),
			    NULL, &counters_fops);
	return 0;
}
late_initcall(unwind_counters_init);
