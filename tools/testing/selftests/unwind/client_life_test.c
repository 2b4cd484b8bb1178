// SPDX-License-Identifier: GPL-2.0
/*
 * Requests that are pending when a client goes, or when a task is killed.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "client_fixture.h"

#define SLEEPERS	4

/**
 * struct sleeper - a thread with a request that sleeps in the kernel
 * @thread:	the thread
 * @fd:		of the clients
 * @clients:	it triggers
 * @first:	cookie of the entry in which it slept
 * @go:		it enters the kernel again once it can read this, if not 0
 * @second:	cookie of the entry after that, 0 if the trigger was refused
 * @failed:	something else did
 */
struct sleeper {
	pthread_t	thread;
	int		fd;
	__u64		clients;
	__u64		first;
	int		go;
	__u64		second;
	bool		failed;
};

static int sleep_with_request(int fd, __u64 clients, __u64 *cookie)
{
	struct unwind_test_trigger trigger = {
		.clients = clients, .contexts = CLIENT_BIT(UNWIND_TEST_TASK), .times = 1,
		.flags = UNWIND_TEST_WAIT,
	};
	int ret = client_trigger(fd, &trigger);

	*cookie = trigger.cookies[0] ?: trigger.cookies[1];
	return ret;
}

static void *run_sleeper(void *data)
{
	struct sleeper *sleeper = data;
	char byte;

	sleeper->failed = sleep_with_request(sleeper->fd, sleeper->clients, &sleeper->first);
	if (sleeper->go && read(sleeper->go, &byte, 1) != 1)
		sleeper->failed = true;
	client_trigger_once(sleeper->fd, 1, CLIENT_BIT(UNWIND_TEST_TASK), &sleeper->second);
	return NULL;
}

FIXTURE(removal)
{
	int fd;
};

FIXTURE_VARIANT(removal)
{
	bool others;
};

/* Without others, the last client goes, and with it all that is done for clients. */
FIXTURE_VARIANT_ADD(removal, of_the_last_client) { .others = false };
FIXTURE_VARIANT_ADD(removal, of_one_of_two_clients) { .others = true };

FIXTURE_SETUP(removal)
{
	self->fd = client_fixture_open(_metadata);
	if (self->fd < 0)
		return;
	ASSERT_EQ(0, client_add(self->fd, CLIENT_SFRAME, 16));
	if (variant->others)
		ASSERT_EQ(1, client_add(self->fd, CLIENT_SFRAME, 16));
}

FIXTURE_TEARDOWN(removal)
{
	close(self->fd);
}

/*
 * A task sleeps with a request of a client that goes. The next client has its
 * place, and must not get what the task was asked for, nor its cookie: that of
 * the task's next entry is a new one.
 */
TEST_F(removal, next_client_gets_no_old_request)
{
	struct sleeper sleeper = { .fd = self->fd, .clients = 1 };
	struct unwind_test_record records[4];
	struct unwind_test_stats stats;

	ASSERT_EQ(0, pthread_create(&sleeper.thread, NULL, run_sleeper, &sleeper));
	ASSERT_TRUE(CLIENT_WAIT(self->fd, waiting, 1));
	ASSERT_EQ(0, client_stats(self->fd, &stats));
	ASSERT_EQ(1, stats.pending);

	ASSERT_EQ(0, client_remove(self->fd, 0));
	ASSERT_EQ(0, client_add(self->fd, CLIENT_SFRAME, 16));
	ASSERT_EQ(0, client_wake(self->fd));
	ASSERT_EQ(0, pthread_join(sleeper.thread, NULL));

	ASSERT_FALSE(sleeper.failed);
	ASSERT_NE(0, sleeper.first);
	ASSERT_NE(0, sleeper.second);
	EXPECT_NE(sleeper.first, sleeper.second);
	ASSERT_EQ(1, client_read(self->fd, records, 4));
	EXPECT_EQ(sleeper.second, records[0].cookie);
	client_check_done(_metadata, self->fd, &stats);
	EXPECT_EQ(1, stats.callbacks);
}

/*
 * The same, but there is no client when the task goes back to user space: nobody
 * may have ended the life of its cookie then.
 */
TEST_F(removal, cookie_does_not_outlive_the_entry)
{
	struct sleeper sleeper = { .fd = self->fd, .clients = 1 };
	struct unwind_test_record record;
	struct unwind_test_stats stats;
	int go[2];

	ASSERT_EQ(0, pipe(go));
	sleeper.go = go[0];
	ASSERT_EQ(0, pthread_create(&sleeper.thread, NULL, run_sleeper, &sleeper));
	ASSERT_TRUE(CLIENT_WAIT(self->fd, waiting, 1));
	ASSERT_EQ(0, client_remove(self->fd, 0));
	ASSERT_EQ(0, client_wake(self->fd));
	while (!client_stats(self->fd, &stats) && stats.waiting)
		usleep(1000);
	ASSERT_EQ(0, client_add(self->fd, CLIENT_SFRAME, 16));
	ASSERT_EQ(1, write(go[1], "", 1));
	ASSERT_EQ(0, pthread_join(sleeper.thread, NULL));

	ASSERT_FALSE(sleeper.failed);
	ASSERT_NE(0, sleeper.second);
	EXPECT_NE(sleeper.first, sleeper.second);
	ASSERT_EQ(1, client_read(self->fd, &record, 1));
	EXPECT_EQ(sleeper.second, record.cookie);
	client_check_done(_metadata, self->fd, &stats);
	EXPECT_EQ(1, stats.callbacks);
}

/*
 * Of the requests of many sleeping tasks those of one client go with it, at once,
 * and those of the other one stay.
 */
TEST_F(client, removal_does_not_wait_for_sleepers)
{
	struct sleeper sleepers[SLEEPERS];
	struct unwind_test_record records[2 * SLEEPERS];
	struct unwind_test_stats stats;
	int i;

	ASSERT_EQ(0, client_add(self->fd, CLIENT_SFRAME, 16));
	ASSERT_EQ(1, client_add(self->fd, CLIENT_FP, 16));
	for (i = 0; i < SLEEPERS; i++) {
		sleepers[i] = (struct sleeper) { .fd = self->fd, .clients = 3 };
		ASSERT_EQ(0, pthread_create(&sleepers[i].thread, NULL, run_sleeper, &sleepers[i]));
	}
	ASSERT_TRUE(CLIENT_WAIT(self->fd, waiting, SLEEPERS));
	ASSERT_EQ(0, client_stats(self->fd, &stats));
	ASSERT_EQ(2 * SLEEPERS, stats.pending);

	ASSERT_EQ(0, client_remove(self->fd, 0));
	ASSERT_EQ(0, client_stats(self->fd, &stats));
	EXPECT_EQ(SLEEPERS, stats.pending);
	ASSERT_EQ(0, client_wake(self->fd));
	for (i = 0; i < SLEEPERS; i++) {
		ASSERT_EQ(0, pthread_join(sleepers[i].thread, NULL));
		EXPECT_EQ(0, sleepers[i].second);
	}

	ASSERT_EQ(SLEEPERS, client_read(self->fd, records, 2 * SLEEPERS));
	for (i = 0; i < SLEEPERS; i++)
		EXPECT_EQ(1, records[i].client);
	client_check_done(_metadata, self->fd, &stats);
	EXPECT_EQ(SLEEPERS, stats.refused[ENOENT]);
}

/* A task that is killed in its sleep delivers before its stack is gone. */
TEST_F(client, killed_sleeper_delivers)
{
	struct unwind_test_record record;
	struct unwind_test_stats stats;
	__u64 cookie;
	pid_t pid;

	ASSERT_EQ(0, client_add(self->fd, CLIENT_SFRAME, 16));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(sleep_with_request(self->fd, 1, &cookie));

	ASSERT_TRUE(CLIENT_WAIT(self->fd, waiting, 1));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	client_check_done(_metadata, self->fd, &stats);
	EXPECT_EQ(1, stats.callbacks);
	ASSERT_EQ(1, client_read(self->fd, &record, 1));
	EXPECT_EQ(pid, record.pid);
	EXPECT_LT(0, record.nr);
}

/* Who is killed leaves no client behind, or the next test would find no place. */
TEST_F_TIMEOUT(client, killed_owner_leaves_nothing, client_timeout())
{
	int i, fd, ready[2];
	char byte;
	pid_t pid;

	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		fd = client_open();
		for (i = 0; i < 60; i++) {
			if (client_add_quiet(fd, CLIENT_SFRAME, 16) != i)
				_exit(1);
		}
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	EXPECT_EQ(-EBUSY, client_add_quiet(self->fd, CLIENT_SFRAME, 16));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	for (i = 0; i < 60; i++)
		ASSERT_EQ(i, client_add_quiet(self->fd, CLIENT_SFRAME, 16));
}

TEST_HARNESS_MAIN
