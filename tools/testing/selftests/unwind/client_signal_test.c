// SPDX-License-Identifier: GPL-2.0
/*
 * Signals replace the registers of a task: what was asked for before gets the
 * stack from before.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "client_fixture.h"

static int device;

static int CHAIN_FUNCTION(sleeper) sleep_with_request(void)
{
	struct unwind_test_trigger trigger = {
		.clients = 1, .contexts = CLIENT_BIT(UNWIND_TEST_NMI), .times = 1,
		.flags = UNWIND_TEST_WAIT,
	};
	int ret = client_trigger(device, &trigger);

	asm volatile("" : "+r"(ret));
	return ret;
}

static bool in_sleeper(__u64 ip)
{
	struct chain_range range = CHAIN_RANGE(sleeper);

	return ip > (unsigned long)range.start && ip <= (unsigned long)range.end;
}

static atomic_int handled;

static void CHAIN_FUNCTION(handler) handle(int signal)
{
	client_syscall(SYS_getppid, 0, 0, 0, 0, 0);
	handled++;
}

static int catch(int signal, int flags)
{
	const struct sigaction action = { .sa_handler = handle, .sa_flags = flags };

	return sigaction(signal, &action, NULL);
}

static void act_sleep(void)
{
	if (!catch(SIGUSR1, 0) && sleep_with_request() == -EINTR)
		_exit(handled != 1);
}

static void act_raise(void)
{
	if (!catch(SIGUSR1, 0) && !raise(SIGUSR1))
		_exit(handled != 1);
}

FIXTURE(handling)
{
	int fd;
	struct client_actor actor;
};

FIXTURE_SETUP(handling)
{
	self->fd = client_fixture_open(_metadata);
	if (self->fd < 0)
		return;
	device = self->fd;
	ASSERT_EQ(0, client_add(self->fd, CLIENT_SFRAME, 16));
}

FIXTURE_TEARDOWN(handling)
{
	close(self->fd);
}

/* A signal ends the sleep: the stack is that of the sleep, not of the handler. */
TEST_F(handling, begins_after_the_stack)
{
	struct unwind_test_record record;
	struct unwind_test_stats stats;
	int status;

	client_start_actor(&self->actor, act_sleep);
	ASSERT_LT(0, self->actor.pid);
	ASSERT_EQ(1, write(self->actor.go, "", 1));
	ASSERT_TRUE(CLIENT_WAIT(self->fd, waiting, 1));
	ASSERT_EQ(0, kill(self->actor.pid, SIGUSR1));
	ASSERT_EQ(self->actor.pid, waitpid(self->actor.pid, &status, 0));
	ASSERT_EQ(0, status);

	ASSERT_EQ(1, client_read(self->fd, &record, 1));
	ASSERT_LT(0, record.nr);
	EXPECT_TRUE(in_sleeper(record.entries[0]));
	client_check_done(_metadata, self->fd, &stats);
}

/* What is asked for while the signal is prepared has the same stack. */
TEST_F(handling, is_prepared_before_the_stack_is_gone)
{
	struct unwind_test_record records[2];
	struct unwind_test_stats stats;
	int status, i, nr;

	client_start_actor(&self->actor, act_sleep);
	ASSERT_LT(0, self->actor.pid);
	ASSERT_LE(0, client_trace_actor(self->fd, 0, &self->actor, UNWIND_TEST_TRACEPOINT,
					"signal_deliver"));
	ASSERT_EQ(1, write(self->actor.go, "", 1));
	ASSERT_TRUE(CLIENT_WAIT(self->fd, waiting, 1));
	ASSERT_EQ(0, kill(self->actor.pid, SIGUSR1));
	ASSERT_EQ(self->actor.pid, waitpid(self->actor.pid, &status, 0));
	ASSERT_EQ(0, status);

	client_check_done(_metadata, self->fd, &stats);
	EXPECT_EQ(2, stats.accepted);
	nr = client_read(self->fd, records, 2);
	ASSERT_LT(0, nr);
	for (i = 0; i < nr; i++) {
		ASSERT_LT(0, records[i].nr);
		EXPECT_TRUE(in_sleeper(records[i].entries[0]));
	}
}

/* The end of a handler is a system call with a stack of its own. */
TEST_F(handling, ends_with_the_stack_of_the_handler)
{
	struct unwind_test_stats stats;

	client_start_actor(&self->actor, act_raise);
	ASSERT_LT(0, self->actor.pid);
	ASSERT_LE(0, client_trace_actor(self->fd, 0, &self->actor, UNWIND_TEST_KPROBE,
					"__x64_sys_rt_sigreturn"));
	ASSERT_EQ(0, client_end_actor(&self->actor));
	client_check_done(_metadata, self->fd, &stats);
	EXPECT_EQ(1, stats.callbacks);
}

/* A system call that starts again is two entries, and two stacks. */
TEST_F(handling, restarts_the_system_call)
{
	struct unwind_test_stats stats;
	int ready[2], bytes[2], status;
	__u64 triggers;
	char byte;
	pid_t pid;

	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, pipe(bytes));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(bytes[1]);
		/* The caller traces read() from now on. */
		if (catch(SIGUSR1, SA_RESTART) || write(ready[1], "", 1) != 1)
			_exit(1);
		while (read(bytes[0], &byte, 1) == 1)
			handled += byte;
		_exit(handled != 3);
	}
	self->actor.pid = pid;
	close(bytes[0]);
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	ASSERT_LE(0, client_trace_actor(self->fd, 0, &self->actor, UNWIND_TEST_KPROBE,
					"__x64_sys_read"));
	/* It may have been in a read() that was not traced yet. */
	ASSERT_EQ(1, write(bytes[1], "\1", 1));
	ASSERT_TRUE(CLIENT_WAIT(self->fd, pending, 1));
	ASSERT_EQ(0, client_stats(self->fd, &stats));
	triggers = stats.triggers;
	ASSERT_EQ(0, kill(pid, SIGUSR1));
	ASSERT_TRUE(CLIENT_WAIT(self->fd, triggers, triggers + 1));
	ASSERT_EQ(1, write(bytes[1], "\1", 1));
	close(bytes[1]);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
	client_check_done(_metadata, self->fd, &stats);
	EXPECT_EQ(stats.accepted, stats.callbacks);
}

TEST_HARNESS_MAIN
