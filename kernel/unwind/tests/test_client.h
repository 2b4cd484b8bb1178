/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The interface of /dev/unwind_test. An open file has clients of the unwinder,
 * numbered from 0, sources that trigger them, a log of their callbacks, and an
 * account of what was triggered and what arrived. All of it ends when the file
 * is closed.
 */
#ifndef _UNWIND_TEST_CLIENT_H
#define _UNWIND_TEST_CLIENT_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define UNWIND_TEST_DEVICE	"/dev/unwind_test"

/* More than the unwinder takes. */
#define UNWIND_TEST_CLIENTS	64
#define UNWIND_TEST_ENTRIES	64
#define UNWIND_TEST_ERRNOS	135
#define UNWIND_TEST_NAME	64

/* unwind_test_add::flags */
#define UNWIND_TEST_LOG		0x1

/**
 * struct unwind_test_add - a new client
 * @type:	enum user_unwind_type
 * @max_entries: see struct unwinder_client
 * @flags:	%UNWIND_TEST_LOG: its callbacks are logged
 * @hash_entries: entries that unwind_test_record::hash is about, 0 for all
 * @retrigger:	clients that its callback triggers
 * @index:	out: its number
 * @pad:	0
 */
struct unwind_test_add {
	__u32	type;
	__u32	max_entries;
	__u32	flags;
	__u32	hash_entries;
	__u64	retrigger;
	__u32	index;
	__u32	pad;
};

/**
 * enum unwind_test_context - where a trigger comes from
 * @UNWIND_TEST_TASK:		the system call itself
 * @UNWIND_TEST_HARDIRQ:	an interrupt of the system call
 * @UNWIND_TEST_SOFTIRQ:	a soft interrupt of the system call
 * @UNWIND_TEST_NMI:		an NMI of the system call
 * @UNWIND_TEST_KTHREAD:	a kernel thread
 * @UNWIND_TEST_KTHREAD_MM:	a kernel thread that uses the memory of the caller
 * @UNWIND_TEST_NR_CONTEXTS:	number of them
 */
enum unwind_test_context {
	UNWIND_TEST_TASK,
	UNWIND_TEST_HARDIRQ,
	UNWIND_TEST_SOFTIRQ,
	UNWIND_TEST_NMI,
	UNWIND_TEST_KTHREAD,
	UNWIND_TEST_KTHREAD_MM,
	UNWIND_TEST_NR_CONTEXTS,
};

/* unwind_test_trigger::flags */
#define UNWIND_TEST_MIGRATE	0x1
#define UNWIND_TEST_WAIT	0x2

/**
 * struct unwind_test_trigger - trigger clients now
 * @clients:	mask of them; they need not be registered
 * @contexts:	mask of bits (1 << enum unwind_test_context); all of them each time
 * @times:	how often
 * @flags:	%UNWIND_TEST_MIGRATE: go to another CPU before each further time;
 *		%UNWIND_TEST_WAIT: sleep afterwards until %UNWIND_TEST_WAKE or a
 *		signal (-EINTR)
 * @cpu_first:	out: CPU of the first time
 * @cpu_last:	out: CPU of the last time
 * @pad:	0
 * @changed:	out: clients whose results were not the same each time
 * @cookies:	out: for each client, the last time; 0 on error
 * @errors:	out: for each client, the last time
 */
struct unwind_test_trigger {
	__u64	clients;
	__u32	contexts;
	__u32	times;
	__u32	flags;
	__u32	cpu_first;
	__u32	cpu_last;
	__u32	pad;
	__u64	changed;
	__u64	cookies[UNWIND_TEST_CLIENTS];
	__s32	errors[UNWIND_TEST_CLIENTS];
};

/**
 * enum unwind_test_kind - what a source is
 * @UNWIND_TEST_KPROBE:		an instruction of the kernel
 * @UNWIND_TEST_TRACEPOINT:	a tracepoint
 * @UNWIND_TEST_TIMER_HARD:	a timer that ends in an interrupt
 * @UNWIND_TEST_TIMER_SOFT:	a timer that ends in a soft interrupt
 * @UNWIND_TEST_TIMER_NMI:	NMIs that another CPU sends
 */
enum unwind_test_kind {
	UNWIND_TEST_KPROBE,
	UNWIND_TEST_TRACEPOINT,
	UNWIND_TEST_TIMER_HARD,
	UNWIND_TEST_TIMER_SOFT,
	UNWIND_TEST_TIMER_NMI,
};

#define UNWIND_TEST_MIN_PERIOD	20000

/**
 * struct unwind_test_source - trigger clients whenever something happens
 * @clients:	mask of them
 * @kind:	enum unwind_test_kind
 * @id:		out: for %UNWIND_TEST_STOP
 * @tgid:	only in threads of this process, 0 for all
 * @pid:	only in this thread, 0 for all
 * @times:	no more than this often, 0 for ever
 * @cpu:	timers: the CPU; -1 for all, which NMIs cannot
 * @pad:	0
 * @period:	timers: nanoseconds, at least %UNWIND_TEST_MIN_PERIOD; NMIs
 *		also 0, which is as soon as the last one is over
 * @offset:	kprobe: added to the address of @name
 * @name:	of symbol or tracepoint
 */
struct unwind_test_source {
	__u64	clients;
	__u32	kind;
	__u32	id;
	__s32	tgid;
	__s32	pid;
	__u64	times;
	__s32	cpu;
	__u32	pad;
	__u64	period;
	__u64	offset;
	char	name[UNWIND_TEST_NAME];
};

/**
 * enum unwind_test_nmi - what an NMI of %UNWIND_TEST_TIMER_NMI interrupted
 * @UNWIND_TEST_NMI_USER:	user mode
 * @UNWIND_TEST_NMI_ENTRY:	an entry whose register frame is not complete yet
 * @UNWIND_TEST_NMI_EXIT:	the way out, interrupts off
 * @UNWIND_TEST_NMI_KERNEL:	anything else of the kernel
 * @UNWIND_TEST_NR_NMI:		number of them
 */
enum unwind_test_nmi {
	UNWIND_TEST_NMI_USER,
	UNWIND_TEST_NMI_ENTRY,
	UNWIND_TEST_NMI_EXIT,
	UNWIND_TEST_NMI_KERNEL,
	UNWIND_TEST_NR_NMI,
};

/**
 * struct unwind_test_stats - the account of a file
 * @triggers:	calls of unwinder_trigger()
 * @accepted:	those that returned 0
 * @callbacks:	calls of a callback
 * @duplicated:	callbacks without an accepted trigger since the last one
 * @wrong_cookie: callbacks with another cookie than that trigger
 * @wrong_stack: callbacks with another innermost entry than the user-space IP at
 *		the time of that trigger. An NMI that is too late for the way out
 *		may be followed by a few instructions of user space.
 * @wrong_context: callbacks that were not in an RCU section of a task with
 *		interrupts on
 * @lost:	accepted triggers without a callback, of tasks that are gone
 * @pending:	the same of tasks that are still there
 * @waiting:	callers that sleep in %UNWIND_TEST_TRIGGER
 * @not_accounted: there was no room; the other numbers mean nothing
 * @log_lost:	callbacks that found the log full
 * @nmi:	by enum unwind_test_nmi
 * @refused:	by errno
 */
struct unwind_test_stats {
	__u64	triggers;
	__u64	accepted;
	__u64	callbacks;
	__u64	duplicated;
	__u64	wrong_cookie;
	__u64	wrong_stack;
	__u64	wrong_context;
	__u64	lost;
	__u64	pending;
	__u64	waiting;
	__u64	not_accounted;
	__u64	log_lost;
	__u64	nmi[UNWIND_TEST_NR_NMI];
	__u64	refused[UNWIND_TEST_ERRNOS];
};

/**
 * struct unwind_test_record - a callback; read() returns whole ones
 * @cookie:	its cookie
 * @hash:	of the entries, see unwind_test_hash()
 * @client:	number of the client
 * @pid:	the thread that it ran in
 * @cpu:	where it ran
 * @type:	the rest: see struct user_space_stack
 * @nr:		..
 * @first_fp:	..
 * @end:	..
 * @truncated:	..
 * @entries:	the first ones
 */
struct unwind_test_record {
	__u64	cookie;
	__u64	hash;
	__u32	client;
	__s32	pid;
	__u32	cpu;
	__u32	type;
	__u32	nr;
	__u32	first_fp;
	__u32	end;
	__u32	truncated;
	__u64	entries[UNWIND_TEST_ENTRIES];
};

/* Start with 0. */
static inline __u64 unwind_test_hash(__u64 hash, __u64 entry)
{
	return (hash ^ entry) * 0x9e3779b97f4a7c15ULL + 1;
}

#define UNWIND_TEST_ADD		_IOWR('u', 0, struct unwind_test_add)
#define UNWIND_TEST_REMOVE	_IO('u', 1)
#define UNWIND_TEST_TRIGGER	_IOWR('u', 2, struct unwind_test_trigger)
#define UNWIND_TEST_WAKE	_IO('u', 3)
#define UNWIND_TEST_SOURCE	_IOWR('u', 4, struct unwind_test_source)
#define UNWIND_TEST_STOP	_IO('u', 5)
#define UNWIND_TEST_STATS	_IOR('u', 6, struct unwind_test_stats)

#endif /* _UNWIND_TEST_CLIENT_H */
