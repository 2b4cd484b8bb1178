// SPDX-License-Identifier: GPL-2.0
/*
 * Triggers at any moment, from timers and NMIs: each accepted one is answered,
 * once, with its cookie, whatever the task, or whoever owns the client, does
 * meanwhile.
 *
 * UNWIND_TEST_SCALE in the environment makes it longer by this factor.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "client_fixture.h"

#define THREADS		3
#define ENOUGH		(60 * client_scale())

FIXTURE(storm)
{
	int fd;
	atomic_bool over;
	pthread_t threads[THREADS];
};

FIXTURE_VARIANT(storm)
{
	unsigned int kind;
	unsigned int period;
};

FIXTURE_VARIANT_ADD(storm, hardirq) { UNWIND_TEST_TIMER_HARD, 1000000 };
FIXTURE_VARIANT_ADD(storm, softirq) { UNWIND_TEST_TIMER_SOFT, 1000000 };
FIXTURE_VARIANT_ADD(storm, nmi) { UNWIND_TEST_TIMER_NMI, 500000 };

FIXTURE_SETUP(storm)
{
	self->fd = client_fixture_open(_metadata);
	if (variant->kind == UNWIND_TEST_TIMER_NMI && client_nr_cpus() < 2)
		SKIP(return, "one CPU only");
}

FIXTURE_TEARDOWN(storm)
{
	close(self->fd);
}

/* NMIs hit the last CPU, timers all. */
static int start_storm(int fd, __u64 clients, unsigned int kind, unsigned int period,
		       pid_t tgid)
{
	struct unwind_test_source source = {
		.clients = clients, .kind = kind, .period = period, .tgid = tgid,
		.cpu = kind == UNWIND_TEST_TIMER_NMI ? client_nr_cpus() - 1 : -1,
	};

	return client_source(fd, &source);
}

/* Far from the other ones: the stack of the next entry is not that of the last one. */
static __attribute__((noinline, aligned(512))) void make_syscall_here(void)
{
	client_syscall(SYS_getppid, 0, 0, 0, 0, 0);
}

static __attribute__((noinline, aligned(512))) void make_syscall_there(void)
{
	client_syscall(SYS_getpid, 0, 0, 0, 0, 0);
}

static void *make_syscalls(void *data)
{
	atomic_bool *over = data;

	while (!atomic_load(over)) {
		make_syscall_here();
		make_syscall_there();
	}
	return NULL;
}

/* Some on each CPU, some where the NMIs are. */
static void start_threads(struct __test_metadata *_metadata, pthread_t *threads,
			  void *(*run)(void *), void *data)
{
	int i;

	for (i = 0; i < THREADS; i++) {
		ASSERT_EQ(0, client_go_to_cpu(i % 2 ? 0 : client_nr_cpus() - 1));
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, run, data));
	}
	ASSERT_EQ(0, client_go_to_cpu(0));
}

static void join_threads(struct __test_metadata *_metadata, pthread_t *threads)
{
	int i;

	for (i = 0; i < THREADS; i++)
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
}

/*
 * System calls as short as they can be, so that as many triggers as possible hit
 * entry and exit: what is accepted after the last look at a task's work must not
 * get lost, or be answered in another entry.
 */
TEST_F_TIMEOUT(storm, of_short_syscalls, client_timeout())
{
	struct unwind_test_stats stats;
	int source;

	ASSERT_EQ(0, client_add_quiet(self->fd, CLIENT_SFRAME, 16));
	ASSERT_EQ(1, client_add_quiet(self->fd, CLIENT_FP, 16));
	start_threads(_metadata, self->threads, make_syscalls, &self->over);
	source = start_storm(self->fd, 3, variant->kind, variant->period, getpid());
	ASSERT_LE(0, source);
	ASSERT_TRUE(CLIENT_WAIT(self->fd, callbacks, ENOUGH));
	ASSERT_EQ(0, client_stop(self->fd, source));
	atomic_store(&self->over, true);
	join_threads(_metadata, self->threads);

	client_check_done(_metadata, self->fd, &stats);
	EXPECT_EQ(stats.triggers, stats.accepted + stats.refused[EBUSY] + stats.refused[ESRCH])
		TH_LOG("refused for another reason");
}

/*
 * Clients come and go while they are triggered: nothing arrives for one that is
 * gone, and all that was accepted for one that stays.
 */
TEST_F_TIMEOUT(storm, while_clients_come_and_go, client_timeout())
{
	struct unwind_test_stats stats;
	unsigned int i;
	int source;

	ASSERT_EQ(0, client_add_quiet(self->fd, CLIENT_AUTO, 16));
	start_threads(_metadata, self->threads, make_syscalls, &self->over);
	source = start_storm(self->fd, 15, variant->kind, variant->period, getpid());
	ASSERT_LE(0, source);
	for (i = 0; i < ENOUGH / 10; i++) {
		ASSERT_EQ(1, client_add_quiet(self->fd, CLIENT_SFRAME, 8));
		ASSERT_EQ(2, client_add_quiet(self->fd, CLIENT_FP, 32));
		ASSERT_EQ(0, client_remove(self->fd, 1));
		ASSERT_EQ(1, client_add_quiet(self->fd, CLIENT_FP, 64));
		ASSERT_EQ(0, client_remove(self->fd, 2));
		ASSERT_EQ(0, client_remove(self->fd, 1));
	}
	ASSERT_EQ(0, client_stop(self->fd, source));
	atomic_store(&self->over, true);
	join_threads(_metadata, self->threads);
	client_check_done(_metadata, self->fd, &stats);
	EXPECT_LT(0, stats.callbacks);
	EXPECT_LT(0, stats.refused[ENOENT]);
}

/* The same with the only client: all that is done for clients goes on and off. */
TEST_F_TIMEOUT(storm, while_the_only_client_comes_and_goes, client_timeout())
{
	struct unwind_test_stats stats;
	unsigned int i;
	int source;

	start_threads(_metadata, self->threads, make_syscalls, &self->over);
	source = start_storm(self->fd, 1, variant->kind, variant->period, getpid());
	ASSERT_LE(0, source);
	for (i = 0; i < ENOUGH / 10; i++) {
		ASSERT_EQ(0, client_add_quiet(self->fd, CLIENT_SFRAME, 8));
		ASSERT_TRUE(CLIENT_WAIT(self->fd, callbacks, i + 1));
		ASSERT_EQ(0, client_remove(self->fd, 0));
	}
	ASSERT_EQ(0, client_stop(self->fd, source));
	atomic_store(&self->over, true);
	join_threads(_metadata, self->threads);
	client_check_done(_metadata, self->fd, &stats);
}

static void wait_for(pid_t pid)
{
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static void fork_and_exit(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	wait_for(pid);
}

static void vfork_and_exit(void)
{
	pid_t pid = vfork();

	if (!pid)
		_exit(0);
	wait_for(pid);
}

static void *do_nothing(void *data)
{
	return NULL;
}

static void clone_thread(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, do_nothing, NULL))
		pthread_join(thread, NULL);
}

static void fork_and_be_killed(void)
{
	pid_t pid = fork();

	if (!pid) {
		for (;;)
			client_syscall(SYS_getppid, 0, 0, 0, 0, 0);
	}
	if (pid > 0)
		kill(pid, SIGKILL);
	wait_for(pid);
}

static void vfork_and_exec(void)
{
	char *const argv[] = { "true", NULL };
	pid_t pid = vfork();

	if (!pid) {
		execv("/bin/true", argv);
		_exit(1);
	}
	wait_for(pid);
}

static void *exec_in_thread(void *data)
{
	execl("/bin/true", "true", NULL);
	return NULL;
}

static void fork_and_exec_in_thread(void)
{
	pthread_t threads[2];
	pid_t pid = fork();

	if (!pid) {
		if (!pthread_create(&threads[0], NULL, exec_in_thread, NULL) &&
		    !pthread_create(&threads[1], NULL, exec_in_thread, NULL))
			pthread_join(threads[0], NULL);
		_exit(1);
	}
	wait_for(pid);
}

FIXTURE(lives)
{
	int fd;
};

FIXTURE_VARIANT(lives)
{
	void (*live)(void);
	unsigned int count;
};

FIXTURE_VARIANT_ADD(lives, fork) { fork_and_exit, 20 };
FIXTURE_VARIANT_ADD(lives, vfork) { vfork_and_exit, 20 };
FIXTURE_VARIANT_ADD(lives, thread) { clone_thread, 20 };
FIXTURE_VARIANT_ADD(lives, kill) { fork_and_be_killed, 20 };
FIXTURE_VARIANT_ADD(lives, exec) { vfork_and_exec, 10 };
FIXTURE_VARIANT_ADD(lives, exec_in_thread) { fork_and_exec_in_thread, 10 };

FIXTURE_SETUP(lives)
{
	self->fd = client_fixture_open(_metadata);
}

FIXTURE_TEARDOWN(lives)
{
	close(self->fd);
}

static const struct unwind_test_source sources[] = {
	{ .kind = UNWIND_TEST_TIMER_HARD, .cpu = -1, .period = 1000000 },
	{ .kind = UNWIND_TEST_TIMER_NMI, .cpu = 1, .period = 1000000 },
	{ .kind = UNWIND_TEST_KPROBE, .name = "do_exit" },
	{ .kind = UNWIND_TEST_TRACEPOINT, .name = "sched_process_fork" },
	{ .kind = UNWIND_TEST_TRACEPOINT, .name = "sched_process_exec" },
	{ .kind = UNWIND_TEST_TRACEPOINT, .name = "sched_process_exit" },
	{ .kind = UNWIND_TEST_TRACEPOINT, .name = "sched_switch" },
};

static void start_sources(struct __test_metadata *_metadata, int fd)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sources); i++) {
		struct unwind_test_source source = sources[i];

		/* Nobody else is there to send them. */
		if (source.kind == UNWIND_TEST_TIMER_NMI && client_nr_cpus() < 2)
			source = sources[0];
		source.clients = 3;
		ASSERT_LE(0, client_source(fd, &source));
	}
}

static void stop_sources(struct __test_metadata *_metadata, int fd, unsigned int round)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sources); i++)
		ASSERT_EQ(0, client_stop(fd, round * ARRAY_SIZE(sources) + i));
}

/*
 * Tasks come, become another program and go, on all CPUs, with triggers at any
 * moment of it, and at the worst ones: what was accepted arrives before it is too
 * late.
 */
TEST_F_TIMEOUT(lives, under_triggers, client_timeout())
{
	struct unwind_test_stats stats;
	unsigned int round, i;

	ASSERT_EQ(0, client_add_quiet(self->fd, CLIENT_AUTO, 16));
	ASSERT_EQ(1, client_add_quiet(self->fd, CLIENT_FP, 16));
	for (round = 0; round < client_scale(); round++) {
		start_sources(_metadata, self->fd);
		for (i = 0; i < variant->count; i++)
			variant->live();
		stop_sources(_metadata, self->fd, round);
		/* Others than these may have a request, and sleep. */
		client_check_account(_metadata, self->fd, &stats);
	}
	EXPECT_LT(0, stats.callbacks);
}

/*
 * NMIs before the registers of an entry are saved, and after the last look at the
 * task's work, are rare. A guest that runs one instruction at a time between two
 * looks for interrupts has all of them; on others this says nothing.
 */
TEST_F_TIMEOUT(client, nmis_hit_entry_and_exit, client_timeout())
{
	pthread_t threads[THREADS];
	struct unwind_test_stats stats;
	atomic_bool over = false;
	int i;

	if (!getenv("UNWIND_TEST_NMI_CLASSES"))
		SKIP(return, "UNWIND_TEST_NMI_CLASSES is not set");
	ASSERT_LT(1, client_nr_cpus());
	ASSERT_EQ(0, client_add_quiet(self->fd, CLIENT_SFRAME, 16));
	start_threads(_metadata, threads, make_syscalls, &over);
	ASSERT_LE(0, start_storm(self->fd, 1, UNWIND_TEST_TIMER_NMI, 0, getpid()));
	for (i = 0; i < UNWIND_TEST_NR_NMI; i++) {
		do {
			ASSERT_EQ(0, client_stats(self->fd, &stats));
			usleep(1000);
		} while (stats.nmi[i] < 10 * client_scale());
	}
	ASSERT_EQ(0, client_stop(self->fd, 0));
	atomic_store(&over, true);
	join_threads(_metadata, threads);
	client_check_done(_metadata, self->fd, &stats);
	TH_LOG("user %llu, entry %llu, exit %llu, kernel %llu", stats.nmi[UNWIND_TEST_NMI_USER],
	       stats.nmi[UNWIND_TEST_NMI_ENTRY], stats.nmi[UNWIND_TEST_NMI_EXIT],
	       stats.nmi[UNWIND_TEST_NMI_KERNEL]);
}

TEST_HARNESS_MAIN
