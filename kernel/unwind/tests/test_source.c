// SPDX-License-Identifier: GPL-2.0
/*
 * Clients of the unwinder for tests: sources of triggers, of which kprobes and
 * tracepoints are here.
 */
#include <linux/cleanup.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "test_module.h"

/*
 * What a trigger does may be what a source waits for, such as a tracepoint of the
 * locks of RCU in a kernel that checks them. Task, soft interrupt, interrupt and
 * NMI may interrupt one another, no more.
 */
#define MAX_DEPTH	4

static DEFINE_PER_CPU(unsigned int, depth);

static bool wanted(struct test_source *source)
{
	const struct unwind_test_source *options = &source->options;

	if (options->tgid && options->tgid != task_tgid_nr(current))
		return false;
	if (options->pid && options->pid != task_pid_nr(current))
		return false;
	return !options->times ||
	       atomic64_inc_return(&source->hits) <= options->times;
}

/**
 * test_source_hit - what a source waits for has happened
 * @source:	the source
 * @ip:		where current is in user space, see %TEST_IP_ABOUT
 *
 * Context: Any.
 */
void test_source_hit(struct test_source *source, u64 ip)
{
	preempt_disable_notrace();
	if (this_cpu_inc_return(depth) <= MAX_DEPTH && wanted(source))
		unwind_test_trigger_all(source->test, source->options.clients, ip);
	this_cpu_dec(depth);
	preempt_enable_notrace();
}

static int kprobe_hit(struct kprobe *kprobe, struct pt_regs *regs)
{
	test_source_hit(container_of(kprobe, struct test_source, kprobe), test_user_ip());
	return 0;
}

static int start_kprobe(struct test_source *source)
{
	source->kprobe = (struct kprobe) {
		.symbol_name	= source->options.name,
		.offset		= source->options.offset,
		.pre_handler	= kprobe_hit,
	};
	return register_kprobe(&source->kprobe);
}

/* Called with the arguments of whatever tracepoint it is, of which it needs none. */
static void tracepoint_hit(void *data)
{
	test_source_hit(data, test_user_ip());
}

static void match_tracepoint(struct tracepoint *tracepoint, void *data)
{
	struct test_source *source = data;

	if (!strcmp(tracepoint->name, source->options.name))
		source->tracepoint = tracepoint;
}

static int start_tracepoint(struct test_source *source)
{
	for_each_kernel_tracepoint(match_tracepoint, source);
	if (!source->tracepoint)
		return -ENOENT;
	return tracepoint_probe_register(source->tracepoint, tracepoint_hit, source);
}

static void stop_tracepoint(struct test_source *source)
{
	tracepoint_probe_unregister(source->tracepoint, tracepoint_hit, source);
	tracepoint_synchronize_unregister();
}

static int start_source(struct test_source *source)
{
	switch (source->options.kind) {
	case UNWIND_TEST_KPROBE:
		return start_kprobe(source);
	case UNWIND_TEST_TRACEPOINT:
		return start_tracepoint(source);
	case UNWIND_TEST_TIMER_HARD:
	case UNWIND_TEST_TIMER_SOFT:
		return test_timer_start(source);
	case UNWIND_TEST_TIMER_NMI:
		return test_nmi_start(source);
	default:
		return -EINVAL;
	}
}

static void stop_source(struct test_source *source)
{
	switch (source->options.kind) {
	case UNWIND_TEST_KPROBE:
		unregister_kprobe(&source->kprobe);
		break;
	case UNWIND_TEST_TRACEPOINT:
		stop_tracepoint(source);
		break;
	case UNWIND_TEST_TIMER_HARD:
	case UNWIND_TEST_TIMER_SOFT:
		test_timer_stop(source);
		break;
	case UNWIND_TEST_TIMER_NMI:
		test_nmi_stop(source);
		break;
	}
	list_del(&source->node);
	kfree(source);
}

/**
 * unwind_test_start - a new source
 * @test:	the file, locked
 * @options:	what it is
 *
 * Return: 0, -EINVAL, -ENOENT, -ENOMEM, or what the kernel refused it with
 */
int unwind_test_start(struct unwind_test *test, struct unwind_test_source *options)
{
	struct test_source *source;
	int ret;

	if (options->pad || strnlen(options->name, UNWIND_TEST_NAME) == UNWIND_TEST_NAME)
		return -EINVAL;
	source = kzalloc(sizeof(*source), GFP_KERNEL);
	if (!source)
		return -ENOMEM;

	options->id = test->next_id++;
	source->test = test;
	source->options = *options;
	/* From here on no sweep makes places free. */
	list_add(&source->node, &test->sources);
	ret = start_source(source);
	if (ret) {
		list_del(&source->node);
		kfree(source);
	}
	return ret;
}

/**
 * unwind_test_stop - end a source
 * @test:	the file, locked
 * @id:		of the source
 *
 * Return: 0 if it triggers no more, -ENOENT if there is no such source
 */
int unwind_test_stop(struct unwind_test *test, u32 id)
{
	struct test_source *source;

	list_for_each_entry(source, &test->sources, node) {
		if (source->options.id == id) {
			stop_source(source);
			return 0;
		}
	}
	return -ENOENT;
}

void unwind_test_stop_all(struct unwind_test *test)
{
	struct test_source *source, *next;

	list_for_each_entry_safe(source, next, &test->sources, node)
		stop_source(source);
}
