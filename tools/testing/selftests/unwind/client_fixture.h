/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of clients have in common.
 */
#ifndef _CLIENT_FIXTURE_H
#define _CLIENT_FIXTURE_H

#include "../kselftest_harness.h"
#include "client.h"

/* Nothing that was asked for is missing, nothing came that nobody asked for. */
static inline void client_check_account(struct __test_metadata *_metadata, int fd,
					struct unwind_test_stats *stats)
{
	ASSERT_EQ(0, client_stats(fd, stats));
	EXPECT_EQ(0, stats->lost);
	EXPECT_EQ(0, stats->duplicated);
	EXPECT_EQ(0, stats->wrong_cookie);
	EXPECT_EQ(0, stats->wrong_stack);
	EXPECT_EQ(0, stats->wrong_context);
	EXPECT_EQ(0, stats->not_accounted);
}

/* The same, and nothing is still to come. */
static inline void client_check_done(struct __test_metadata *_metadata, int fd,
				     struct unwind_test_stats *stats)
{
	client_check_account(_metadata, fd, stats);
	EXPECT_EQ(0, stats->pending);
}

/* For FIXTURE_SETUP(). */
static inline int client_fixture_open(struct __test_metadata *_metadata)
{
	int fd = client_open();

	if (fd < 0)
		SKIP(return fd, "%s: %s (root and CONFIG_UNWIND_USER_TEST_CLIENT are needed)",
		     UNWIND_TEST_DEVICE, strerror(-fd));
	return fd;
}

FIXTURE(client)
{
	int fd;
};

FIXTURE_SETUP(client)
{
	self->fd = client_fixture_open(_metadata);
}

FIXTURE_TEARDOWN(client)
{
	close(self->fd);
}

#endif /* _CLIENT_FIXTURE_H */
