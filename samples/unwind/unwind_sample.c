// SPDX-License-Identifier: GPL-2.0
/*
 * A client of deferred user-space unwinding: logs who calls a function of the
 * kernel, down to main().
 *
 *	# insmod unwind_sample.ko function=do_sys_openat2
 *	# dmesg
 *	unwind_sample: cat[321]: do_sys_openat2, stack 1000000000004
 *	unwind_sample: cat[321]: stack 1000000000004 of 7 entries, complete
 *	unwind_sample:     7f2f4d5f6a2c
 *	...
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/unwind_user.h>

static char *function = "do_sys_openat2";
module_param(function, charp, 0444);
MODULE_PARM_DESC(function, "the function of the kernel to watch");

/* Before the task returns to user space, with the cookie of the event. */
static void sample_callback(struct unwinder_client *client,
			    const struct user_space_stack *stack, u64 cookie)
{
	unsigned int i;

	pr_info_ratelimited("%s[%d]: stack %llx of %u entries%s\n", current->comm,
			    current->pid, cookie, stack->nr,
			    stack->end == USER_UNWIND_END_OUTERMOST ? ", complete" : "");
	for (i = 0; i < stack->nr; i++)
		pr_info_ratelimited("    %lx%s\n", stack->entries[i],
				    i < stack->first_fp ? "" : " (frame pointer)");
}

static struct unwinder_client sample_client = {
	.callback	= sample_callback,
	.name		= KBUILD_MODNAME,
	.type		= USER_UNWIND_AUTO,
	.max_entries	= 32,
};

/* The event. Any context will do; here it is that of the watched function. */
static int sample_event(struct kprobe *probe, struct pt_regs *regs)
{
	u64 cookie;

	/* Refused, for instance, for threads of the kernel: they have no stack. */
	if (!unwinder_trigger(&sample_client, &cookie))
		pr_info_ratelimited("%s[%d]: %s, stack %llx\n", current->comm,
				    current->pid, function, cookie);
	return 0;
}

static struct kprobe sample_probe = {
	.pre_handler	= sample_event,
};

static int __init sample_init(void)
{
	int ret;

	ret = unwinder_register(&sample_client);
	if (ret)
		return ret;

	sample_probe.symbol_name = function;
	ret = register_kprobe(&sample_probe);
	if (ret)
		unwinder_unregister(&sample_client);
	return ret;
}

static void __exit sample_exit(void)
{
	unregister_kprobe(&sample_probe);
	/* Requests that are still waiting are dropped; no callback comes any more. */
	unwinder_unregister(&sample_client);
}

module_init(sample_init);
module_exit(sample_exit);

MODULE_DESCRIPTION("Sample client of deferred user-space unwinding");
MODULE_LICENSE("GPL");
