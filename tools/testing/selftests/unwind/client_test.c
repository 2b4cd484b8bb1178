// SPDX-License-Identifier: GPL-2.0
/*
 * What the unwinder promises a client about one entry into the kernel: the
 * cookie, the stack for each type and limit, and who is refused.
 */
#define _GNU_SOURCE
#include <sched.h>

#include "client_fixture.h"

FIXTURE(context)
{
	int fd;
};

FIXTURE_VARIANT(context)
{
	unsigned int contexts;
};

FIXTURE_VARIANT_ADD(context, task) { .contexts = CLIENT_BIT(UNWIND_TEST_TASK) };
FIXTURE_VARIANT_ADD(context, hardirq) { .contexts = CLIENT_BIT(UNWIND_TEST_HARDIRQ) };
FIXTURE_VARIANT_ADD(context, softirq) { .contexts = CLIENT_BIT(UNWIND_TEST_SOFTIRQ) };
FIXTURE_VARIANT_ADD(context, nmi) { .contexts = CLIENT_BIT(UNWIND_TEST_NMI) };
FIXTURE_VARIANT_ADD(context, all) { .contexts = CLIENT_CONTEXTS };

FIXTURE_SETUP(context)
{
	self->fd = client_fixture_open(_metadata);
}

FIXTURE_TEARDOWN(context)
{
	close(self->fd);
}

/*
 * Two clients in one entry, each triggered twice from each context: one cookie,
 * one callback for each of them. Another entry: another cookie. If a context made
 * its own cookie, or lost the race for the first one, results would change.
 */
TEST_F(context, one_cookie_for_all)
{
	struct unwind_test_trigger trigger = { .contexts = variant->contexts, .times = 2 };
	struct unwind_test_record records[8];
	struct unwind_test_stats stats;
	__u64 first;
	int i;

	ASSERT_EQ(0, client_add(self->fd, CLIENT_SFRAME, 16));
	ASSERT_EQ(1, client_add(self->fd, CLIENT_FP, 16));
	trigger.clients = 3;

	for (i = 0, first = 0; i < 2; i++) {
		ASSERT_EQ(0, client_trigger(self->fd, &trigger));
		EXPECT_EQ(0, trigger.errors[0]);
		EXPECT_EQ(0, trigger.errors[1]);
		EXPECT_EQ(0, trigger.changed);
		EXPECT_NE(0, trigger.cookies[0]);
		EXPECT_EQ(trigger.cookies[0], trigger.cookies[1]);
		EXPECT_NE(first, trigger.cookies[0]);
		first = trigger.cookies[0];

		ASSERT_EQ(2, client_read(self->fd, records, 8));
		EXPECT_EQ(first, records[0].cookie);
		EXPECT_EQ(first, records[1].cookie);
		EXPECT_NE(records[0].client, records[1].client);
		EXPECT_EQ(syscall(SYS_gettid), records[0].pid);
	}
	client_check_done(_metadata, self->fd, &stats);
	EXPECT_EQ(4, stats.callbacks);
}

/* A cookie belongs to the entry, not to the CPU that it was made on. */
TEST_F(context, one_cookie_on_all_cpus)
{
	struct unwind_test_trigger trigger = {
		.contexts = variant->contexts, .times = 4,
		.flags = UNWIND_TEST_MIGRATE, .clients = 1,
	};
	struct unwind_test_stats stats;

	if (client_nr_cpus() < 2)
		SKIP(return, "one CPU only");
	ASSERT_EQ(0, client_add(self->fd, CLIENT_AUTO, 16));
	ASSERT_EQ(0, client_trigger(self->fd, &trigger));
	EXPECT_NE(trigger.cpu_first, trigger.cpu_last);
	EXPECT_EQ(0, trigger.errors[0]);
	EXPECT_EQ(0, trigger.changed);
	EXPECT_EQ(trigger.cpu_first, CLIENT_COOKIE_CPU(trigger.cookies[0]));
	client_check_done(_metadata, self->fd, &stats);
	EXPECT_EQ(1, stats.callbacks);
}

/*
 * Bits 48 to 63 are the CPU, the rest counts the entries of this CPU that were
 * asked about: an entry that nobody asks about costs nothing, and triggers after
 * the first one make no cookie.
 */
TEST_F(client, cookie_is_cpu_and_count)
{
	__u64 cookie, next;
	int cpu, i;

	ASSERT_EQ(0, client_add(self->fd, CLIENT_SFRAME, 16));
	for (cpu = 0; cpu < client_nr_cpus() && cpu < 2; cpu++) {
		ASSERT_EQ(0, client_go_to_cpu(cpu));
		ASSERT_EQ(0, client_trigger_once(self->fd, 1, CLIENT_CONTEXTS, &cookie));
		EXPECT_EQ(cpu, CLIENT_COOKIE_CPU(cookie));
		for (i = 0; i < 3; i++)
			syscall(SYS_getppid);
		ASSERT_EQ(0, client_trigger_once(self->fd, 1, CLIENT_CONTEXTS, &next));
		EXPECT_EQ(cookie + 1, next);
	}
}

/*
 * Clients of all types in one entry: each gets a stack of its own type, with the
 * same cookie. This program has tables and frame pointers, so the frames are the
 * same, too, as far as tables reach.
 */
TEST_F(client, each_type_its_own_stack)
{
	struct unwind_test_record records[CLIENT_NR_TYPES + 1];
	struct unwind_test_stats stats;
	__u64 cookie;
	int type, i;

	for (type = 0; type < CLIENT_NR_TYPES; type++)
		ASSERT_EQ(type, client_add(self->fd, type, 64));
	ASSERT_EQ(0, client_trigger_once(self->fd, 7, CLIENT_BIT(UNWIND_TEST_NMI), &cookie));

	ASSERT_EQ(CLIENT_NR_TYPES, client_read(self->fd, records, CLIENT_NR_TYPES + 1));
	for (i = 0, type = 0; i < CLIENT_NR_TYPES; i++) {
		struct unwind_test_record *record = &records[i];

		type |= 1 << record->type;
		EXPECT_EQ(record->client, record->type);
		EXPECT_EQ(cookie, record->cookie);
		ASSERT_LT(3, record->nr);
		EXPECT_EQ(0, memcmp(record->entries, records[0].entries,
				    3 * sizeof(record->entries[0])));
		EXPECT_FALSE(record->truncated);
		if (record->type == CLIENT_SFRAME) {
			EXPECT_EQ(record->nr, record->first_fp);
			EXPECT_EQ(CLIENT_END(NO_TABLE), record->end);
		}
		if (record->type == CLIENT_FP)
			EXPECT_EQ(1, record->first_fp);
		if (record->type == CLIENT_AUTO)
			EXPECT_LE(3, record->first_fp);
	}
	EXPECT_EQ(7, type);
	client_check_done(_metadata, self->fd, &stats);
}

/* Without other sources there are no other clients: 60 places, and no more. */
TEST_F_TIMEOUT(client, sixty_clients, client_timeout())
{
	struct unwind_test_trigger trigger = {
		.clients = ~0ULL, .contexts = CLIENT_BIT(UNWIND_TEST_TASK), .times = 1,
	};
	struct unwind_test_stats stats;
	int i;

	for (i = 0; i < 60; i++)
		ASSERT_EQ(i, client_add_quiet(self->fd, i % CLIENT_NR_TYPES, 16));
	ASSERT_EQ(-EBUSY, client_add_quiet(self->fd, CLIENT_SFRAME, 16));

	ASSERT_EQ(0, client_trigger(self->fd, &trigger));
	for (i = 0; i < UNWIND_TEST_CLIENTS; i++) {
		EXPECT_EQ(i < 60 ? 0 : -ENOENT, trigger.errors[i]);
		EXPECT_EQ(i < 60 ? trigger.cookies[0] : 0, trigger.cookies[i]);
	}
	client_check_done(_metadata, self->fd, &stats);
	EXPECT_EQ(60, stats.callbacks);

	/* A place that is free again can be had again. */
	ASSERT_EQ(0, client_remove(self->fd, 17));
	ASSERT_EQ(17, client_add_quiet(self->fd, CLIENT_SFRAME, 16));
	ASSERT_EQ(0, client_trigger(self->fd, &trigger));
	client_check_done(_metadata, self->fd, &stats);
	EXPECT_EQ(120, stats.callbacks);
}

/* What makes no sense is refused, and does not take a place. */
TEST_F(client, nonsense_is_refused)
{
	struct unwind_test_stats stats;

	EXPECT_EQ(-EINVAL, client_add(self->fd, CLIENT_NR_TYPES, 16));
	EXPECT_EQ(-EINVAL, client_add(self->fd, -1, 16));
	EXPECT_EQ(-EINVAL, client_add(self->fd, CLIENT_SFRAME, 0));
	EXPECT_EQ(-EINVAL, client_add(self->fd, CLIENT_SFRAME, CLIENT_MAX_ENTRIES + 1));
	EXPECT_EQ(-EINVAL, client_add(self->fd, CLIENT_SFRAME, -1));
	EXPECT_EQ(-ENOENT, client_trigger_once(self->fd, 1, CLIENT_CONTEXTS, NULL));

	ASSERT_EQ(0, client_add(self->fd, CLIENT_SFRAME, CLIENT_MAX_ENTRIES));
	EXPECT_EQ(0, client_trigger_once(self->fd, 1, CLIENT_CONTEXTS, NULL));
	EXPECT_EQ(0, client_remove(self->fd, 0));
	EXPECT_EQ(-ENOENT, client_trigger_once(self->fd, 1, CLIENT_CONTEXTS, NULL));
	client_check_done(_metadata, self->fd, &stats);
	EXPECT_EQ(1, stats.callbacks);
}

/* A kernel thread has no stack of its own in user space, whatever it borrows. */
TEST_F(client, kernel_threads_are_refused)
{
	struct unwind_test_stats stats;

	ASSERT_EQ(0, client_add(self->fd, CLIENT_SFRAME, 16));
	EXPECT_EQ(-EOPNOTSUPP, client_trigger_once(self->fd, 1,
						   CLIENT_BIT(UNWIND_TEST_KTHREAD), NULL));
	EXPECT_EQ(-EOPNOTSUPP, client_trigger_once(self->fd, 1,
						   CLIENT_BIT(UNWIND_TEST_KTHREAD_MM), NULL));
	client_check_done(_metadata, self->fd, &stats);
	EXPECT_EQ(0, stats.callbacks);
	EXPECT_EQ(2, stats.refused[EOPNOTSUPP]);
}

/* A callback that asks for the next one would never end. */
TEST_F(client, no_trigger_from_the_own_callback)
{
	struct unwind_test_add options = {
		.type = CLIENT_SFRAME, .max_entries = 16, .retrigger = 1,
	};
	struct unwind_test_stats stats;

	ASSERT_EQ(0, client_add_with(self->fd, &options));
	ASSERT_EQ(0, client_trigger_once(self->fd, 1, CLIENT_CONTEXTS, NULL));
	client_check_done(_metadata, self->fd, &stats);
	EXPECT_EQ(1, stats.callbacks);
	EXPECT_EQ(1, stats.refused[EBUSY]);
}

/*
 * A trigger while stacks are delivered counts if the client's callback is still to
 * come, and is refused if it is over, or nobody had asked for it.
 */
TEST_F(client, triggers_during_the_delivery)
{
	struct unwind_test_add options = { .type = CLIENT_SFRAME, .max_entries = 16 };
	struct unwind_test_stats stats;
	int i;

	for (i = 0; i < 3; i++) {
		options.retrigger = i < 2 ? 7 & ~CLIENT_BIT(i) : 0;
		ASSERT_EQ(i, client_add_with(self->fd, &options));
	}
	/* Whichever comes first finds the other one waiting, and the third not. */
	ASSERT_EQ(0, client_trigger_once(self->fd, 3, CLIENT_BIT(UNWIND_TEST_TASK), NULL));
	client_check_done(_metadata, self->fd, &stats);
	EXPECT_EQ(2, stats.callbacks);
	EXPECT_EQ(3, stats.accepted);
	EXPECT_EQ(3, stats.refused[EBUSY]);
}

TEST_HARNESS_MAIN
