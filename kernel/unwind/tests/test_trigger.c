// SPDX-License-Identifier: GPL-2.0
/*
 * Clients of the unwinder for tests: triggers for the caller of the ioctl, in
 * all contexts that there are.
 */
#include <linux/cleanup.h>
#include <linux/cpumask.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/mmu_context.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "test_module.h"

#define MAX_TIMES	100000

/**
 * unwind_test_trigger_one - trigger one client, and keep account of it
 * @test:	the file
 * @index:	the client
 * @ip:		where current is in user space, see %TEST_IP_ABOUT
 * @cookie:	see unwinder_trigger()
 *
 * Context: Any, with preemption disabled or in an RCU read-side critical section.
 * Return: that of unwinder_trigger()
 */
int unwind_test_trigger_one(struct unwind_test *test, unsigned int index, u64 ip,
			    u64 *cookie)
{
	struct unwind_test_counters *counters = &test->counters;
	int ret;

	atomic64_inc(&counters->triggers);
	ret = unwinder_trigger(&test->clients[index].client, cookie);
	if (!ret) {
		test_account_accepted(test, index, ip, *cookie);
		atomic64_inc(&counters->accepted);
	} else {
		atomic64_inc(&counters->refused[min(-ret, UNWIND_TEST_ERRNOS - 1)]);
	}
	return ret;
}

/**
 * unwind_test_trigger_all - trigger clients
 * @test:	the file
 * @clients:	mask of them
 * @ip:		see unwind_test_trigger_one()
 *
 * Context: see unwind_test_trigger_one()
 */
void unwind_test_trigger_all(struct unwind_test *test, u64 clients, u64 ip)
{
	unsigned long mask = clients;
	unsigned int index;
	u64 cookie;

	for_each_set_bit(index, &mask, UNWIND_TEST_CLIENTS)
		unwind_test_trigger_one(test, index, ip, &cookie);
}

/**
 * struct shot - the triggers of one time
 * @test:	the file
 * @clients:	mask of them
 * @mm:		what a kernel thread uses, or NULL
 * @done:	they have happened
 * @cookies:	results
 * @errors:	results
 * @irq_work:	%UNWIND_TEST_HARDIRQ
 * @tasklet:	%UNWIND_TEST_SOFTIRQ
 * @work:	%UNWIND_TEST_KTHREAD and %UNWIND_TEST_KTHREAD_MM
 */
struct shot {
	struct unwind_test	*test;
	unsigned long		clients;
	struct mm_struct	*mm;
	bool			done;
	u64			cookies[UNWIND_TEST_CLIENTS];
	int			errors[UNWIND_TEST_CLIENTS];
	union {
		struct irq_work		irq_work;
		struct tasklet_struct	tasklet;
		struct work_struct	work;
	};
};

static void fire(void *data)
{
	struct shot *shot = data;
	unsigned int index;

	guard(rcu)();
	for_each_set_bit(index, &shot->clients, UNWIND_TEST_CLIENTS) {
		shot->cookies[index] = 0;
		shot->errors[index] = unwind_test_trigger_one(shot->test, index,
							      test_user_ip(),
							      &shot->cookies[index]);
	}
	/* Pairs with fired(). */
	smp_store_release(&shot->done, true);
}

static bool fired(struct shot *shot)
{
	/* Pairs with fire(). */
	return smp_load_acquire(&shot->done);
}

static void fire_irq_work(struct irq_work *irq_work)
{
	fire(container_of(irq_work, struct shot, irq_work));
}

static void fire_tasklet(struct tasklet_struct *tasklet)
{
	fire(container_of(tasklet, struct shot, tasklet));
}

static void fire_work(struct work_struct *work)
{
	struct shot *shot = container_of(work, struct shot, work);

	if (shot->mm)
		kthread_use_mm(shot->mm);
	fire(shot);
	if (shot->mm)
		kthread_unuse_mm(shot->mm);
}

/* Without preemption the interrupt finds this task. */
static void fire_in_hardirq(struct shot *shot)
{
	shot->irq_work = IRQ_WORK_INIT_HARD(fire_irq_work);
	preempt_disable();
	irq_work_queue(&shot->irq_work);
	while (!fired(shot))
		cpu_relax();
	preempt_enable();
	irq_work_sync(&shot->irq_work);
}

static void fire_in_softirq(struct shot *shot)
{
	tasklet_setup(&shot->tasklet, fire_tasklet);
	preempt_disable();
	local_bh_disable();
	tasklet_schedule(&shot->tasklet);
	local_bh_enable();
	while (!fired(shot))
		cpu_relax();
	preempt_enable();
	tasklet_kill(&shot->tasklet);
}

static void fire_in_kthread(struct shot *shot, struct mm_struct *mm)
{
	shot->mm = mm;
	INIT_WORK(&shot->work, fire_work);
	schedule_work(&shot->work);
	flush_work(&shot->work);
}

static int fire_in_context(struct shot *shot, unsigned int context)
{
	shot->done = false;
	switch (context) {
	case UNWIND_TEST_TASK:
		fire(shot);
		return 0;
	case UNWIND_TEST_HARDIRQ:
		fire_in_hardirq(shot);
		return 0;
	case UNWIND_TEST_SOFTIRQ:
		fire_in_softirq(shot);
		return 0;
	case UNWIND_TEST_NMI:
		return test_nmi_self(fire, shot);
	case UNWIND_TEST_KTHREAD:
		fire_in_kthread(shot, NULL);
		return 0;
	case UNWIND_TEST_KTHREAD_MM:
		fire_in_kthread(shot, current->mm);
		return 0;
	default:
		return -EINVAL;
	}
}

static int go_to_next_cpu(void)
{
	unsigned int cpu = cpumask_next(raw_smp_processor_id(), cpu_online_mask);

	if (cpu >= nr_cpu_ids)
		cpu = cpumask_first(cpu_online_mask);
	return set_cpus_allowed_ptr(current, cpumask_of(cpu));
}

static void note_results(struct unwind_test_trigger *trigger, const struct shot *shot,
			 bool first)
{
	unsigned int index;

	for_each_set_bit(index, &shot->clients, UNWIND_TEST_CLIENTS) {
		if (!first && (trigger->cookies[index] != shot->cookies[index] ||
			       trigger->errors[index] != shot->errors[index]))
			trigger->changed |= BIT_ULL(index);
		trigger->cookies[index] = shot->cookies[index];
		trigger->errors[index] = shot->errors[index];
	}
}

static int fire_in_contexts(struct unwind_test_trigger *trigger, struct shot *shot,
			    bool first)
{
	unsigned long contexts = trigger->contexts;
	unsigned int context;
	int ret;

	for_each_set_bit(context, &contexts, UNWIND_TEST_NR_CONTEXTS) {
		ret = fire_in_context(shot, context);
		if (ret)
			return ret;
		note_results(trigger, shot, first);
		first = false;
	}
	return 0;
}

static int fire_repeatedly(struct unwind_test_trigger *trigger, struct shot *shot)
{
	unsigned int i;
	int ret;

	for (i = 0; i < trigger->times; i++) {
		if (i && trigger->flags & UNWIND_TEST_MIGRATE) {
			ret = go_to_next_cpu();
			if (ret)
				return ret;
		}
		trigger->cpu_last = raw_smp_processor_id();
		if (!i)
			trigger->cpu_first = trigger->cpu_last;
		ret = fire_in_contexts(trigger, shot, !i);
		if (ret)
			return ret;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/**
 * unwind_test_trigger - the ioctl
 * @test:	the file
 * @trigger:	what to do, and the results
 *
 * Context: Process context, no lock held.
 * Return: 0 if the results are valid, or -EINVAL, -EINTR, -ENOMEM, and what
 *	migration or the NMI failed with.
 */
int unwind_test_trigger(struct unwind_test *test, struct unwind_test_trigger *trigger)
{
	struct shot *shot __free(kfree) = NULL;
	cpumask_var_t allowed;
	int ret;

	if (!trigger->times || trigger->times > MAX_TIMES || trigger->pad ||
	    trigger->contexts >> UNWIND_TEST_NR_CONTEXTS ||
	    trigger->flags & ~(UNWIND_TEST_MIGRATE | UNWIND_TEST_WAIT))
		return -EINVAL;
	shot = kzalloc(sizeof(*shot), GFP_KERNEL);
	if (!shot || !alloc_cpumask_var(&allowed, GFP_KERNEL))
		return -ENOMEM;

	shot->test = test;
	shot->clients = trigger->clients;
	trigger->changed = 0;
	cpumask_copy(allowed, current->cpus_ptr);
	ret = fire_repeatedly(trigger, shot);
	if (trigger->flags & UNWIND_TEST_MIGRATE)
		set_cpus_allowed_ptr(current, allowed);
	free_cpumask_var(allowed);
	return ret;
}
