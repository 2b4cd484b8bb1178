// SPDX-License-Identifier: GPL-2.0
/*
 * A client gets as many entries as it asked for, or all there are, whatever other
 * clients of the same entry want.
 */
#include <string.h>

#include "client_fixture.h"

#define DEEP	2100

/* Of @nr entries, all but the innermost one being the same return address. */
static __u64 expected_hash(const struct unwind_test_record *record, unsigned int nr)
{
	__u64 hash = unwind_test_hash(0, record->entries[0]);

	while (--nr)
		hash = unwind_test_hash(hash, record->entries[1]);
	return hash;
}

FIXTURE(limit)
{
	int fd;
};

FIXTURE_VARIANT(limit)
{
	unsigned int type;
	unsigned int entries;
};

FIXTURE_VARIANT_ADD(limit, sframe_1) { CLIENT_SFRAME, 1 };
FIXTURE_VARIANT_ADD(limit, sframe_127) { CLIENT_SFRAME, 127 };
FIXTURE_VARIANT_ADD(limit, sframe_128) { CLIENT_SFRAME, 128 };
FIXTURE_VARIANT_ADD(limit, sframe_2000) { CLIENT_SFRAME, 2000 };
FIXTURE_VARIANT_ADD(limit, fp_1) { CLIENT_FP, 1 };
FIXTURE_VARIANT_ADD(limit, fp_127) { CLIENT_FP, 127 };
FIXTURE_VARIANT_ADD(limit, fp_128) { CLIENT_FP, 128 };
FIXTURE_VARIANT_ADD(limit, fp_2000) { CLIENT_FP, 2000 };
FIXTURE_VARIANT_ADD(limit, auto_1) { CLIENT_AUTO, 1 };
FIXTURE_VARIANT_ADD(limit, auto_127) { CLIENT_AUTO, 127 };
FIXTURE_VARIANT_ADD(limit, auto_128) { CLIENT_AUTO, 128 };
FIXTURE_VARIANT_ADD(limit, auto_2000) { CLIENT_AUTO, 2000 };

FIXTURE_SETUP(limit)
{
	self->fd = client_fixture_open(_metadata);
	if (self->fd < 0)
		return;
	ASSERT_EQ(0, client_add(self->fd, variant->type, variant->entries));
}

FIXTURE_TEARDOWN(limit)
{
	close(self->fd);
}

/* One entry too many, or too few, would be an error by one in the walk or the view. */
TEST_F(limit, deeper_stack_is_cut)
{
	struct unwind_test_trigger trigger = {
		.clients = 1, .contexts = CLIENT_BIT(UNWIND_TEST_HARDIRQ), .times = 1,
	};
	struct unwind_test_record record;
	struct unwind_test_stats stats;

	ASSERT_EQ(0, client_descend(self->fd, &trigger, DEEP, NULL));
	ASSERT_EQ(1, client_read(self->fd, &record, 1));
	EXPECT_EQ(variant->entries, record.nr);
	EXPECT_TRUE(record.truncated);
	EXPECT_EQ(CLIENT_END(LIMIT), record.end);
	EXPECT_TRUE(client_in_descend(record.entries[0]));
	if (record.nr > 1)
		EXPECT_TRUE(client_in_descend(record.entries[1]));
	EXPECT_EQ(expected_hash(&record, record.nr), record.hash);
	client_check_done(_metadata, self->fd, &stats);
}

/* The stack has as many entries as the limit, and one more. */
TEST_F(limit, stack_as_deep_as_the_limit)
{
	struct unwind_test_trigger trigger = {
		.clients = CLIENT_BIT(1), .contexts = CLIENT_BIT(UNWIND_TEST_TASK), .times = 1,
	};
	struct unwind_test_record record;
	unsigned int all, levels;

	/* How deep is it here? */
	ASSERT_EQ(1, client_add(self->fd, variant->type, DEEP));
	ASSERT_EQ(0, client_descend(self->fd, &trigger, 0, NULL));
	ASSERT_EQ(1, client_read(self->fd, &record, 1));
	ASSERT_FALSE(record.truncated);
	all = record.nr;
	levels = variant->entries < all ? 0 : variant->entries - all;

	trigger.clients = 1;
	if (variant->entries >= all) {
		ASSERT_EQ(0, client_descend(self->fd, &trigger, levels, NULL));
		ASSERT_EQ(1, client_read(self->fd, &record, 1));
		EXPECT_EQ(variant->entries, record.nr);
		EXPECT_FALSE(record.truncated);
		EXPECT_NE(CLIENT_END(LIMIT), record.end);
	}

	ASSERT_EQ(0, client_descend(self->fd, &trigger, levels + 1, NULL));
	ASSERT_EQ(1, client_read(self->fd, &record, 1));
	EXPECT_EQ(variant->entries, record.nr);
	EXPECT_TRUE(record.truncated);
	EXPECT_EQ(CLIENT_END(LIMIT), record.end);
}

/* One walk serves them all, and each has its own limit. */
TEST_F(client, limits_of_one_entry)
{
	static const unsigned int limits[] = { 128, 1, 2000, 127, 64 };
	struct unwind_test_trigger trigger = {
		.clients = 31, .contexts = CLIENT_BIT(UNWIND_TEST_TASK), .times = 1,
	};
	struct unwind_test_record records[5];
	struct unwind_test_stats stats;
	unsigned int i;

	for (i = 0; i < 5; i++)
		ASSERT_EQ(i, client_add(self->fd, CLIENT_SFRAME, limits[i]));
	ASSERT_EQ(0, client_descend(self->fd, &trigger, DEEP, NULL));
	ASSERT_EQ(5, client_read(self->fd, records, 5));
	for (i = 0; i < 5; i++) {
		EXPECT_EQ(limits[records[i].client], records[i].nr);
		EXPECT_TRUE(records[i].truncated);
		EXPECT_EQ(CLIENT_END(LIMIT), records[i].end);
		EXPECT_EQ(records[0].cookie, records[i].cookie);
		if (records[i].nr > 1)
			EXPECT_EQ(expected_hash(&records[i], records[i].nr), records[i].hash);
	}
	client_check_done(_metadata, self->fd, &stats);
	EXPECT_EQ(5, stats.callbacks);
}

TEST_HARNESS_MAIN
