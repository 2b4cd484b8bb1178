/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Clients of the unwinder for tests: the map.
 *
 *   test_client.c	the device, its clients, the log
 *   test_trigger.c	triggers in all contexts of the caller
 *   test_source.c	kprobes and tracepoints that trigger
 *   test_timer.c	timers that trigger
 *   test_nmi.c		NMIs, sent to oneself or from CPU to CPU
 *   test_account.c	what was accepted, and what arrived
 */
#ifndef _UNWIND_TEST_MODULE_H
#define _UNWIND_TEST_MODULE_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched/task_stack.h>
#include <linux/spinlock.h>
#include <linux/unwind_user.h>
#include <linux/wait.h>

#include "test_client.h"

struct tracepoint;
struct unwind_test;
struct unwind_test_account;

/**
 * struct unwind_test_client - one client of a file
 * @client:	what the unwinder sees
 * @test:	the file
 * @index:	its number there
 * @used:	it is registered; under unwind_test::lock
 * @options:	what it was made from
 */
struct unwind_test_client {
	struct unwinder_client	client;
	struct unwind_test	*test;
	unsigned int		index;
	bool			used;
	struct unwind_test_add	options;
};

/**
 * struct unwind_test_log - callbacks that nobody has read yet
 * @lock:	of the rest; taken in task context only
 * @records:	a ring
 * @head:	records ever written
 * @tail:	records ever read
 * @lost:	records that found no room
 */
struct unwind_test_log {
	/* Of the rest. */
	spinlock_t			lock;
	struct unwind_test_record	*records;
	unsigned int			head;
	unsigned int			tail;
	u64				lost;
};

/**
 * struct unwind_test_counters - see struct unwind_test_stats
 * @triggers:	..
 * @accepted:	..
 * @callbacks:	..
 * @duplicated:	..
 * @wrong_cookie: ..
 * @wrong_stack: ..
 * @wrong_context: ..
 * @not_accounted: ..
 * @nmi:	..
 * @refused:	..
 */
struct unwind_test_counters {
	atomic64_t	triggers;
	atomic64_t	accepted;
	atomic64_t	callbacks;
	atomic64_t	duplicated;
	atomic64_t	wrong_cookie;
	atomic64_t	wrong_stack;
	atomic64_t	wrong_context;
	atomic64_t	not_accounted;
	atomic64_t	nmi[UNWIND_TEST_NR_NMI];
	atomic64_t	refused[UNWIND_TEST_ERRNOS];
};

/**
 * struct unwind_test - an open file
 * @lock:	registration, @sources, @next_id, and the sweep of @account
 * @clients:	the clients
 * @sources:	struct test_source
 * @next_id:	of a source
 * @account:	see test_account.c
 * @counters:	changed in any context
 * @log:	see there
 * @sleepers:	where %UNWIND_TEST_WAIT sleeps
 * @waiting:	how many do
 * @wakes:	calls of %UNWIND_TEST_WAKE
 */
struct unwind_test {
	/* See above. */
	struct mutex			lock;
	struct unwind_test_client	clients[UNWIND_TEST_CLIENTS];
	struct list_head		sources;
	u32				next_id;
	struct unwind_test_account	*account;
	struct unwind_test_counters	counters;
	struct unwind_test_log		log;
	wait_queue_head_t		sleepers;
	atomic_t			waiting;
	atomic_t			wakes;
};

/* test_trigger.c */

int unwind_test_trigger_one(struct unwind_test *test, unsigned int index, u64 ip,
			    u64 *cookie);
void unwind_test_trigger_all(struct unwind_test *test, u64 clients, u64 ip);
int unwind_test_trigger(struct unwind_test *test, struct unwind_test_trigger *trigger);

/* test_source.c */

/**
 * struct test_source - something that triggers
 * @test:	the file
 * @node:	in unwind_test::sources
 * @options:	what it was made from
 * @hits:	how often it triggered, if that is limited
 * @kprobe:	%UNWIND_TEST_KPROBE
 * @tracepoint:	%UNWIND_TEST_TRACEPOINT
 * @timers:	%UNWIND_TEST_TIMER_HARD and SOFT, one for each CPU
 * @nmi:	%UNWIND_TEST_TIMER_NMI
 */
struct test_source {
	struct unwind_test		*test;
	struct list_head		node;
	struct unwind_test_source	options;
	atomic64_t			hits;
	union {
		struct kprobe			kprobe;
		struct tracepoint		*tracepoint;
		struct test_timer __percpu	*timers;
		struct test_nmi_sender		*nmi;
	};
};

void test_source_hit(struct test_source *source, u64 ip);
int unwind_test_start(struct unwind_test *test, struct unwind_test_source *options);
int unwind_test_stop(struct unwind_test *test, u32 id);
void unwind_test_stop_all(struct unwind_test *test);

/* test_timer.c */

int test_timer_start(struct test_source *source);
void test_timer_stop(struct test_source *source);

/* test_nmi.c */

#ifdef CONFIG_X86_LOCAL_APIC
int test_nmi_init(void);
void test_nmi_exit(void);
int test_nmi_self(void (*function)(void *), void *data);
int test_nmi_start(struct test_source *source);
void test_nmi_stop(struct test_source *source);
#else
static inline int test_nmi_init(void) { return 0; }
static inline void test_nmi_exit(void) { }
static inline int test_nmi_self(void (*function)(void *), void *data)
{
	return -EOPNOTSUPP;
}

static inline int test_nmi_start(struct test_source *source)
{
	return -EOPNOTSUPP;
}

static inline void test_nmi_stop(struct test_source *source) { }
#endif

/* test_account.c */

struct unwind_test_account *test_account_new(void);
void test_account_free(struct unwind_test_account *account);
/*
 * The user-space IP at a trigger: 0 if it is not known, and a flag if the stack may
 * be taken a little later.
 */
#define TEST_IP_ABOUT		BIT_ULL(63)
#define TEST_IP_SKID		64

/* Kernel threads have no registers of user mode, and are refused. */
static inline u64 test_user_ip(void)
{
	return current->flags & PF_KTHREAD ? 0 : KSTK_EIP(current);
}

void test_account_accepted(struct unwind_test *test, unsigned int index, u64 ip, u64 cookie);
void test_account_arrived(struct unwind_test *test, unsigned int index, u64 ip, u64 cookie);
void test_account_withdraw(struct unwind_test_account *account, u64 clients);
void test_account_sweep(struct unwind_test *test, struct unwind_test_stats *stats);

#endif /* _UNWIND_TEST_MODULE_H */
