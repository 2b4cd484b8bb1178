// SPDX-License-Identifier: GPL-2.0
/*
 * Clients of the unwinder for tests: NMIs that trigger, sent by a CPU to itself or
 * to another one.
 *
 * The unwinder is most fragile where no debugger and no probe gets to: between
 * the entry into the kernel and its first C code, and between the last look at
 * the work of a task and user space. NMIs get there, and those of a sender are
 * counted by what they interrupted.
 */
#include <linux/atomic.h>
#include <linux/cleanup.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include <asm/apic.h>
#include <asm/msr.h>
#include <asm/nmi.h>
#include <asm/processor.h>
#include <asm/ptrace.h>
#include <asm/switch_to.h>

#include "test_module.h"

/**
 * struct nmi_shot - an NMI that a CPU sends to itself
 * @function:	to be called in it
 * @data:	its argument
 * @done:	it was
 */
struct nmi_shot {
	void	(*function)(void *data);
	void	*data;
	bool	done;
};

/**
 * struct test_nmi_sender - NMIs for another CPU
 * @source:	what they trigger
 * @task:	who sends them
 * @cpu:	who gets them
 * @pending:	one was sent and not handled yet
 */
struct test_nmi_sender {
	struct test_source	*source;
	struct task_struct	*task;
	unsigned int		cpu;
	atomic_t		pending;
};

/**
 * struct nmi_cpu - what NMIs of one CPU are for
 * @shot:	one from itself
 * @sender:	those from another CPU
 * @owed:	so many NMIs may find nothing to do, an earlier one did it
 */
struct nmi_cpu {
	struct nmi_shot		*shot;
	struct test_nmi_sender	*sender;
	unsigned int		owed;
};

static DEFINE_PER_CPU(struct nmi_cpu, nmi_cpu);

/* Of the senders in nmi_cpu. */
static DEFINE_MUTEX(sender_mutex);

/**
 * struct text - code of the kernel
 * @start:	first byte
 * @end:	first byte behind it
 */
struct text {
	unsigned long start;
	unsigned long end;
};

/*
 * A system call before and after the call of C code, and the end of any other
 * return to user space. Empty as long as they are not known.
 */
static struct text syscall_entry, syscall_exit, other_exit;

static bool text_has(const struct text *text, unsigned long ip)
{
	return ip >= text->start && ip < text->end;
}

static bool on_entry_stack(unsigned long sp)
{
	unsigned long top = this_cpu_read(cpu_tss_rw.x86_tss.sp0);

	return sp <= top && sp > top - PAGE_SIZE;
}

/* Where user registers are pushed when a task enters the kernel. */
static bool below_user_frame(unsigned long sp)
{
	unsigned long frame = (unsigned long)task_pt_regs(current);

	return sp <= frame && sp > frame - THREAD_SIZE;
}

static enum unwind_test_nmi classify(struct pt_regs *regs)
{
	if (user_mode(regs))
		return UNWIND_TEST_NMI_USER;
	if (regs->flags & X86_EFLAGS_IF)
		return UNWIND_TEST_NMI_KERNEL;
	if (text_has(&syscall_exit, regs->ip) || text_has(&other_exit, regs->ip))
		return UNWIND_TEST_NMI_EXIT;
	if (on_entry_stack(regs->sp) ||
	    (text_has(&syscall_entry, regs->ip) && !below_user_frame(regs->sp)))
		return UNWIND_TEST_NMI_ENTRY;
	return UNWIND_TEST_NMI_KERNEL;
}

static bool take_shot(struct nmi_cpu *cpu)
{
	struct nmi_shot *shot = this_cpu_xchg(nmi_cpu.shot, NULL);

	if (!shot)
		return false;
	shot->function(shot->data);
	WRITE_ONCE(shot->done, true);
	return true;
}

static bool take_sent(struct nmi_cpu *cpu, struct pt_regs *regs)
{
	struct test_nmi_sender *sender = READ_ONCE(cpu->sender);
	enum unwind_test_nmi class;
	u64 ip = 0;

	if (!sender || !atomic_read(&sender->pending))
		return false;
	class = classify(regs);
	atomic64_inc(&sender->source->test->counters.nmi[class]);
	if (class != UNWIND_TEST_NMI_ENTRY)
		ip = test_user_ip() | TEST_IP_ABOUT;
	test_source_hit(sender->source, ip);
	/* The next one. */
	atomic_set_release(&sender->pending, 0);
	return true;
}

static int handle_nmi(unsigned int type, struct pt_regs *regs)
{
	struct nmi_cpu *cpu = this_cpu_ptr(&nmi_cpu);
	bool shot = take_shot(cpu);
	bool sent = take_sent(cpu, regs);

	if (shot && sent)
		cpu->owed++;
	if (shot || sent)
		return NMI_HANDLED;
	if (!cpu->owed)
		return NMI_DONE;
	cpu->owed--;
	return NMI_HANDLED;
}

static void send_nmi(unsigned int cpu)
{
	__apic_send_IPI_mask(cpumask_of(cpu), NMI_VECTOR);
}

/**
 * test_nmi_self - call a function in an NMI of this CPU
 * @function:	what to call
 * @data:	its argument
 *
 * Context: Process context.
 * Return: 0, or -ETIMEDOUT if no NMI came
 */
int test_nmi_self(void (*function)(void *), void *data)
{
	struct nmi_shot shot = { .function = function, .data = data };
	ktime_t end = ktime_add_ms(ktime_get(), 1000);

	guard(preempt)();
	this_cpu_write(nmi_cpu.shot, &shot);
	send_nmi(smp_processor_id());
	while (!READ_ONCE(shot.done)) {
		if (ktime_after(ktime_get(), end) && this_cpu_xchg(nmi_cpu.shot, NULL))
			return -ETIMEDOUT;
		cpu_relax();
	}
	return 0;
}

static void wait_for_handler(struct test_nmi_sender *sender)
{
	ktime_t end = ktime_add_ms(ktime_get(), 1000);

	while (atomic_read(&sender->pending) && ktime_before(ktime_get(), end)) {
		cpu_relax();
		cond_resched();
	}
}

static int send_nmis(void *data)
{
	struct test_nmi_sender *sender = data;
	u64 pause = div_u64(sender->source->options.period, NSEC_PER_USEC);

	while (!kthread_should_stop()) {
		atomic_set(&sender->pending, 1);
		send_nmi(sender->cpu);
		wait_for_handler(sender);
		if (pause)
			usleep_range(pause, pause + pause / 8);
		cond_resched();
	}
	return 0;
}

/*
 * Code that must not be probed. The probe is refused, but not before its address
 * is known.
 */
static unsigned long address_of(const char *name)
{
	struct kprobe kprobe = { .symbol_name = name, .flags = KPROBE_FLAG_DISABLED };

	if (!register_kprobe(&kprobe))
		unregister_kprobe(&kprobe);
	return (unsigned long)kprobe.addr;
}

/*
 * The word below the user registers of a task in a system call is the return
 * address of the call of do_syscall_64().
 */
static void find_texts(void)
{
	unsigned long call = *((unsigned long *)task_pt_regs(current) - 1);
	unsigned long start;

	rdmsrl(MSR_LSTAR, start);
	if (call <= start || call - start > PAGE_SIZE)
		return;
	syscall_entry = (struct text) { start, call };
	syscall_exit = (struct text) { call, address_of("entry_SYSRETQ_end") };
	other_exit = (struct text) {
		address_of("swapgs_restore_regs_and_return_to_usermode"),
		address_of("restore_regs_and_return_to_kernel"),
	};
}

static int start_sender(struct test_nmi_sender *sender)
{
	unsigned int from = cpumask_any_but(cpu_online_mask, sender->cpu);
	struct nmi_cpu *cpu = per_cpu_ptr(&nmi_cpu, sender->cpu);

	if (!cpu_online(sender->cpu) || from >= nr_cpu_ids)
		return -ENXIO;
	guard(mutex)(&sender_mutex);
	if (cpu->sender)
		return -EBUSY;
	sender->task = kthread_create_on_node(send_nmis, sender, cpu_to_node(from),
					      "unwind_test_nmi");
	if (IS_ERR(sender->task))
		return PTR_ERR(sender->task);
	kthread_bind(sender->task, from);
	find_texts();
	WRITE_ONCE(cpu->sender, sender);
	wake_up_process(sender->task);
	return 0;
}

/**
 * test_nmi_start - send NMIs to a CPU
 * @source:	what they trigger
 *
 * Return: 0, -EINVAL, -ENOMEM, -ENXIO without two such CPUs, or -EBUSY if that
 *	one gets some already
 */
int test_nmi_start(struct test_source *source)
{
	const struct unwind_test_source *options = &source->options;
	struct test_nmi_sender *sender;
	int ret;

	if (options->cpu < 0 || options->cpu >= nr_cpu_ids ||
	    (options->period && options->period < UNWIND_TEST_MIN_PERIOD) ||
	    options->period > NSEC_PER_SEC)
		return -EINVAL;
	sender = kzalloc(sizeof(*sender), GFP_KERNEL);
	if (!sender)
		return -ENOMEM;

	sender->source = source;
	sender->cpu = options->cpu;
	source->nmi = sender;
	ret = start_sender(sender);
	if (ret)
		kfree(sender);
	return ret;
}

void test_nmi_stop(struct test_source *source)
{
	struct test_nmi_sender *sender = source->nmi;

	kthread_stop(sender->task);
	wait_for_handler(sender);
	scoped_guard(mutex, &sender_mutex)
		WRITE_ONCE(per_cpu_ptr(&nmi_cpu, sender->cpu)->sender, NULL);
	/* NMIs are read-side critical sections. */
	synchronize_rcu();
	kfree(sender);
}

int test_nmi_init(void)
{
	return register_nmi_handler(NMI_LOCAL, handle_nmi, 0, "unwind_test");
}

void test_nmi_exit(void)
{
	unregister_nmi_handler(NMI_LOCAL, "unwind_test");
}
