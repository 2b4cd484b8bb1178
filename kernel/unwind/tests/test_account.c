// SPDX-License-Identifier: GPL-2.0
/*
 * Clients of the unwinder for tests: what was accepted, and what arrived.
 *
 * A hash table has an element for each task that triggered, with a bit for each
 * client: set after an accepted trigger, cleared by the callback. It knows nothing
 * of what the unwinder itself notes. Elements are found and made in any context,
 * NMI included, by cmpxchg alone.
 *
 * Only current inserts its key, in contexts that nest. Each looks for a place
 * first, and then for the key: an NMI that comes before the latter inserts a key
 * that is found, and one that comes after it takes the same place, so that the code
 * it interrupted starts again. That would not hold if places became free
 * meanwhile: a sweep makes them free only while no source can trigger.
 */
#include <linux/cleanup.h>
#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/vmalloc.h>

#include "test_module.h"

#define ACCOUNT_SIZE	8192
#define ACCOUNT_BITS	ilog2(ACCOUNT_SIZE)
#define ACCOUNT_PROBES	128

/* Keys that are none: never used, and used by a task that is gone. */
#define KEY_FREE	0
#define KEY_GONE	1

/**
 * struct account_task - a task that triggered
 * @key:	which one
 * @armed:	clients with an accepted trigger and no callback since
 * @old:	it was there when the sweep began
 * @alive:	the sweep has met the task
 * @cookies:	of the last accepted trigger of each client
 * @ips:	where the task was in user space then
 */
struct account_task {
	u64		key;
	atomic64_t	armed;
	bool		old;
	bool		alive;
	u64		cookies[UNWIND_TEST_CLIENTS];
	u64		ips[UNWIND_TEST_CLIENTS];
};

/**
 * struct unwind_test_account - the account of a file
 * @lost:	bits that tasks left armed which are gone and forgotten
 * @tasks:	the table
 */
struct unwind_test_account {
	u64			lost;
	struct account_task	tasks[ACCOUNT_SIZE];
};

/*
 * The address of a task alone would not do, the next task may have it: 40 bits of
 * it that can differ, and 24 of the start time.
 */
static u64 task_key(const struct task_struct *task)
{
	u64 key = (u64)(unsigned long)task >> 6 << 24;

	return (key | hash_64(task->start_time, 24)) ?: 2;
}

static struct account_task *find_task(struct unwind_test_account *account, u64 key)
{
	unsigned int place = hash_64(key, ACCOUNT_BITS), i;

	for (i = 0; i < ACCOUNT_PROBES; i++) {
		struct account_task *task = &account->tasks[(place + i) % ACCOUNT_SIZE];
		u64 found = READ_ONCE(task->key);

		if (found == key)
			return task;
		if (found == KEY_FREE)
			break;
	}
	return NULL;
}

static struct account_task *find_place(struct unwind_test_account *account, u64 key)
{
	unsigned int place = hash_64(key, ACCOUNT_BITS), i;

	for (i = 0; i < ACCOUNT_PROBES; i++) {
		struct account_task *task = &account->tasks[(place + i) % ACCOUNT_SIZE];

		if (READ_ONCE(task->key) <= KEY_GONE)
			return task;
	}
	return NULL;
}

static struct account_task *find_or_add_task(struct unwind_test_account *account, u64 key)
{
	for (;;) {
		struct account_task *place = find_place(account, key);
		struct account_task *task = find_task(account, key);
		u64 old;

		if (task || !place)
			return task;
		old = READ_ONCE(place->key);
		if (old <= KEY_GONE && try_cmpxchg(&place->key, &old, key))
			return place;
	}
}

/**
 * test_account_accepted - current has triggered
 * @test:	the file
 * @index:	the client
 * @ip:		see %TEST_IP_ABOUT
 * @cookie:	what it got
 *
 * Context: Any. In an RCU read-side critical section that began before the
 * trigger, see test_account_withdraw().
 */
void test_account_accepted(struct unwind_test *test, unsigned int index, u64 ip, u64 cookie)
{
	struct account_task *task;

	task = find_or_add_task(test->account, task_key(current));
	if (!task) {
		atomic64_inc(&test->counters.not_accounted);
		return;
	}
	WRITE_ONCE(task->cookies[index], cookie);
	/* What was known of the first trigger goes for all of its group. */
	if (ip || !(atomic64_read(&task->armed) & BIT_ULL(index)))
		WRITE_ONCE(task->ips[index], ip);
	atomic64_or(BIT_ULL(index), &task->armed);
}

static bool same_place(u64 expected, u64 ip)
{
	u64 exact = expected & ~TEST_IP_ABOUT;

	if (!exact || !ip || ip == exact)
		return true;
	return expected != exact && ip - exact + TEST_IP_SKID < 2 * TEST_IP_SKID;
}

/**
 * test_account_arrived - current has got a stack
 * @test:	the file
 * @index:	the client
 * @ip:		its innermost entry, 0 if it is empty
 * @cookie:	the name of the stack
 *
 * Context: A callback.
 */
void test_account_arrived(struct unwind_test *test, unsigned int index, u64 ip, u64 cookie)
{
	struct account_task *task = find_task(test->account, task_key(current));
	struct unwind_test_counters *counters = &test->counters;
	u64 bit = BIT_ULL(index), expected_cookie, expected_ip;

	if (!task) {
		atomic64_inc(&counters->duplicated);
		return;
	}
	expected_cookie = READ_ONCE(task->cookies[index]);
	expected_ip = READ_ONCE(task->ips[index]);
	if (!(atomic64_fetch_andnot(bit, &task->armed) & bit)) {
		atomic64_inc(&counters->duplicated);
		return;
	}
	if (cookie != expected_cookie)
		atomic64_inc(&counters->wrong_cookie);
	if (!same_place(expected_ip, ip))
		atomic64_inc(&counters->wrong_stack);
}

/**
 * test_account_withdraw - clients have gone, and nothing is owed to them
 * @account:	the account
 * @clients:	mask of them
 *
 * Context: Process context, after a grace period since they were unregistered.
 */
void test_account_withdraw(struct unwind_test_account *account, u64 clients)
{
	unsigned int i;

	for (i = 0; i < ACCOUNT_SIZE; i++)
		atomic64_andnot(clients, &account->tasks[i].armed);
}

/* A task that will not return to user space any more is as good as gone. */
static void mark_alive(struct unwind_test_account *account)
{
	struct task_struct *group, *task;

	guard(rcu)();
	for_each_process_thread(group, task) {
		struct account_task *element;

		if (READ_ONCE(task->exit_state))
			continue;
		element = find_task(account, task_key(task));
		if (element)
			element->alive = true;
	}
}

/**
 * test_account_sweep - what is lost, and what may still come
 * @test:	the file
 * @stats:	where it goes
 *
 * Context: Process context, unwind_test::lock is held.
 */
void test_account_sweep(struct unwind_test *test, struct unwind_test_stats *stats)
{
	struct unwind_test_account *account = test->account;
	bool quiet = list_empty(&test->sources);
	struct account_task *task;
	unsigned int armed;

	for (task = account->tasks; task < account->tasks + ACCOUNT_SIZE; task++) {
		task->old = READ_ONCE(task->key) > KEY_GONE;
		task->alive = false;
	}
	mark_alive(account);
	stats->lost = account->lost;
	stats->pending = 0;
	for (task = account->tasks; task < account->tasks + ACCOUNT_SIZE; task++) {
		armed = hweight64(atomic64_read(&task->armed));
		if (task->alive || !task->old) {
			stats->pending += armed;
			continue;
		}
		stats->lost += armed;
		if (!quiet)
			continue;
		account->lost += armed;
		atomic64_set(&task->armed, 0);
		WRITE_ONCE(task->key, KEY_GONE);
	}
}

struct unwind_test_account *test_account_new(void)
{
	return vzalloc(sizeof(struct unwind_test_account));
}

void test_account_free(struct unwind_test_account *account)
{
	vfree(account);
}
