// SPDX-License-Identifier: GPL-2.0
/*
 * Requests that are pending when a task exits, forks, or becomes another program.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/wait.h>

#include "client_fixture.h"

static void act_exit(void)
{
	_exit(0);
}

FIXTURE(leaving)
{
	int fd;
};

FIXTURE_VARIANT(leaving)
{
	unsigned int kind;
	const char *name;
	int refused;
};

FIXTURE_VARIANT_ADD(leaving, at_the_start) { UNWIND_TEST_KPROBE, "do_exit", 0 };
FIXTURE_VARIANT_ADD(leaving, at_the_tracepoint) {
	UNWIND_TEST_TRACEPOINT, "sched_process_exit", 0
};

FIXTURE_VARIANT_ADD(leaving, after_the_last_stack) {
	UNWIND_TEST_KPROBE, "exit_files", ESRCH
};

FIXTURE_SETUP(leaving)
{
	self->fd = client_fixture_open(_metadata);
}

FIXTURE_TEARDOWN(leaving)
{
	close(self->fd);
}

/*
 * What is accepted in an exit arrives before the stack is gone, the tracepoint of
 * the exit included; what comes too late is told so.
 */
TEST_F(leaving, delivers_or_refuses)
{
	struct unwind_test_record record;
	struct unwind_test_stats stats;
	struct client_actor actor;

	ASSERT_EQ(0, client_add(self->fd, CLIENT_SFRAME, 16));
	client_start_actor(&actor, act_exit);
	ASSERT_LT(0, actor.pid);
	ASSERT_LE(0, client_trace_actor(self->fd, 0, &actor, variant->kind, variant->name));
	ASSERT_EQ(0, client_end_actor(&actor));

	client_check_done(_metadata, self->fd, &stats);
	EXPECT_EQ(1, stats.triggers);
	if (variant->refused) {
		EXPECT_EQ(1, stats.refused[variant->refused]);
		EXPECT_EQ(0, stats.callbacks);
	} else {
		EXPECT_EQ(1, stats.accepted);
		ASSERT_EQ(1, client_read(self->fd, &record, 1));
		EXPECT_EQ(actor.pid, record.pid);
		EXPECT_LT(0, record.nr);
	}
}

static void act_exec(void)
{
	execl("/bin/true", "true", NULL);
}

static void *exec_in_thread(void *data)
{
	act_exec();
	return NULL;
}

/* The thread gets the number of the process, and the leader goes. */
static void act_exec_in_thread(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, exec_in_thread, NULL))
		pthread_join(thread, NULL);
}

FIXTURE(exec)
{
	int fd;
};

FIXTURE_VARIANT(exec)
{
	void (*action)(void);
};

FIXTURE_VARIANT_ADD(exec, by_the_leader) { .action = act_exec };
FIXTURE_VARIANT_ADD(exec, by_another_thread) { .action = act_exec_in_thread };

FIXTURE_SETUP(exec)
{
	self->fd = client_fixture_open(_metadata);
}

FIXTURE_TEARDOWN(exec)
{
	close(self->fd);
}

/* Two stacks, the old program's and the new one's, have two cookies. */
TEST_F(exec, has_two_cookies)
{
	struct unwind_test_record records[64];
	struct unwind_test_stats stats;
	struct client_actor actor;
	int i, nr, old;

	ASSERT_EQ(0, client_add(self->fd, CLIENT_SFRAME, 16));
	ASSERT_EQ(1, client_add(self->fd, CLIENT_SFRAME, 16));
	client_start_actor(&actor, variant->action);
	ASSERT_LT(0, actor.pid);
	ASSERT_LE(0, client_trace_actor(self->fd, 0, &actor, UNWIND_TEST_KPROBE,
					"__x64_sys_execve"));
	ASSERT_LE(0, client_trace_actor(self->fd, 1, &actor, UNWIND_TEST_TRACEPOINT,
					"sys_exit"));
	ASSERT_EQ(0, client_end_actor(&actor));

	client_check_done(_metadata, self->fd, &stats);
	nr = client_read(self->fd, records, 64);
	for (old = 0; old < nr && records[old].client != 0; old++)
		;
	ASSERT_LT(old, nr);
	EXPECT_LT(0, records[old].nr);
	/* The next stack of this process is the one that execve() returns to. */
	for (i = old + 1; i < nr && records[i].client != 1; i++)
		;
	ASSERT_LT(i, nr);
	EXPECT_EQ(actor.pid, records[i].pid);
	EXPECT_EQ(1, records[i].nr);
	for (i = 0; i < nr; i++) {
		if (i != old)
			EXPECT_NE(records[old].cookie, records[i].cookie);
	}
}

/* The tracepoint of the exec sees the new program, which has a stack. */
TEST_F(exec, tracepoint_sees_the_new_stack)
{
	struct unwind_test_record record;
	struct unwind_test_stats stats;
	struct client_actor actor;

	ASSERT_EQ(0, client_add(self->fd, CLIENT_SFRAME, 16));
	client_start_actor(&actor, variant->action);
	ASSERT_LT(0, actor.pid);
	ASSERT_LE(0, client_trace_actor(self->fd, 0, &actor, UNWIND_TEST_TRACEPOINT,
					"sched_process_exec"));
	ASSERT_EQ(0, client_end_actor(&actor));

	client_check_done(_metadata, self->fd, &stats);
	EXPECT_EQ(1, stats.triggers);
	EXPECT_EQ(1, stats.accepted);
	ASSERT_EQ(1, client_read(self->fd, &record, 1));
	EXPECT_EQ(actor.pid, record.pid);
	EXPECT_EQ(1, record.nr);
}

/* An exec that fails gives the task its stack back, and its triggers. */
TEST_F(client, failed_exec_is_no_end)
{
	struct unwind_test_stats stats;

	ASSERT_EQ(0, client_add(self->fd, CLIENT_SFRAME, 16));
	ASSERT_EQ(-1, execl("/dev/null", "null", NULL));
	EXPECT_EQ(0, client_trigger_once(self->fd, 1, CLIENT_CONTEXTS, NULL));
	client_check_done(_metadata, self->fd, &stats);
	EXPECT_EQ(1, stats.callbacks);
}

/* A child has none of the requests of its parent. */
TEST_F(client, fork_copies_no_request)
{
	struct unwind_test_source source = {
		.clients = 1, .kind = UNWIND_TEST_KPROBE, .tgid = getpid(),
		.name = "kernel_clone",
	};
	struct unwind_test_record record;
	struct unwind_test_stats stats;
	pid_t pid;
	int i;

	ASSERT_EQ(0, client_add(self->fd, CLIENT_SFRAME, 16));
	ASSERT_LE(0, client_source(self->fd, &source));
	for (i = 0; i < 10; i++) {
		pid = i % 2 ? fork() : vfork();
		ASSERT_LE(0, pid);
		if (!pid)
			_exit(0);
		ASSERT_EQ(pid, waitpid(pid, NULL, 0));
		ASSERT_EQ(1, client_read(self->fd, &record, 1));
		EXPECT_EQ(getpid(), record.pid);
	}
	client_check_done(_metadata, self->fd, &stats);
	EXPECT_EQ(10, stats.callbacks);
}

TEST_HARNESS_MAIN
