// SPDX-License-Identifier: GPL-2.0
/*
 * io_uring: a task that waits in the kernel for completions runs its task work
 * there, stacks included, and comes back much later; and there are threads of a
 * process that never come back.
 */
#define _GNU_SOURCE
#include <linux/io_uring.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "client_fixture.h"

#define RING_ENTRIES	8

/**
 * struct ring - an io_uring, as far as it is needed here
 * @fd:		its file
 * @sqes:	submission queue
 * @array:	indices into @sqes
 * @tail:	of the submission queue
 * @mask:	of the submission queue
 */
struct ring {
	int			fd;
	struct io_uring_sqe	*sqes;
	unsigned int		*array;
	atomic_uint		*tail;
	unsigned int		mask;
};

static int open_ring(struct ring *ring, unsigned int flags)
{
	struct io_uring_params params = { .flags = flags };
	char *queue;

	ring->fd = client_syscall(SYS_io_uring_setup, RING_ENTRIES, (long)&params, 0, 0, 0);
	if (ring->fd < 0)
		return ring->fd;

	queue = mmap(NULL, params.sq_off.array + params.sq_entries * sizeof(unsigned int),
		     PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring->fd,
		     IORING_OFF_SQ_RING);
	ring->sqes = mmap(NULL, params.sq_entries * sizeof(*ring->sqes), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_POPULATE, ring->fd, IORING_OFF_SQES);
	if (queue == MAP_FAILED || ring->sqes == MAP_FAILED)
		return -errno;

	ring->array = (unsigned int *)(queue + params.sq_off.array);
	ring->tail = (atomic_uint *)(queue + params.sq_off.tail);
	ring->mask = *(unsigned int *)(queue + params.sq_off.ring_mask);
	return 0;
}

static void submit(struct ring *ring, const struct io_uring_sqe *sqe)
{
	unsigned int tail = atomic_load(ring->tail);

	ring->sqes[tail & ring->mask] = *sqe;
	ring->array[tail & ring->mask] = tail & ring->mask;
	atomic_store(ring->tail, tail + 1);
}

static int CHAIN_FUNCTION(enter) enter_ring(struct ring *ring, unsigned int nr,
					    unsigned int least, unsigned int flags)
{
	int ret = client_syscall(SYS_io_uring_enter, ring->fd, nr, least, flags, 0);

	asm volatile("" : "+r"(ret));
	return ret;
}

/**
 * struct waiter - a thread that waits for bytes in a pipe, in one system call
 * @thread:	the thread
 * @ring:	its own; it is the only one who submits
 * @pipe:	where the bytes come from
 * @least:	it returns after so many
 * @tid:	its number, once it has begun
 * @go:		it may enter the kernel
 * @ret:	of io_uring_enter(), once it has returned
 * @returned:	it has
 */
struct waiter {
	pthread_t	thread;
	struct ring	ring;
	int		pipe[2];
	unsigned int	least;
	atomic_int	tid;
	atomic_int	go;
	int		ret;
	atomic_int	returned;
};

static void *run_waiter(void *data)
{
	struct waiter *waiter = data;
	const struct io_uring_sqe sqe = {
		.opcode		= IORING_OP_POLL_ADD,
		.len		= IORING_POLL_ADD_MULTI,
		.poll32_events	= POLLIN,
		.fd		= waiter->pipe[0],
	};

	waiter->ret = open_ring(&waiter->ring, 0);
	submit(&waiter->ring, &sqe);
	atomic_store(&waiter->tid, syscall(SYS_gettid));
	while (!atomic_load(&waiter->go))
		usleep(1000);
	if (!waiter->ret)
		waiter->ret = enter_ring(&waiter->ring, 1, waiter->least, IORING_ENTER_GETEVENTS);
	atomic_store(&waiter->returned, 1);
	return NULL;
}

static int start_waiter(struct waiter *waiter)
{
	if (pipe(waiter->pipe))
		return -errno;
	if (pthread_create(&waiter->thread, NULL, run_waiter, waiter))
		return -EAGAIN;
	while (!atomic_load(&waiter->tid))
		usleep(1000);
	return 0;
}

static int trace_waiter(int fd, int client, struct waiter *waiter, unsigned int kind,
			const char *name)
{
	struct unwind_test_source source = {
		.clients = CLIENT_BIT(client), .kind = kind, .pid = waiter->tid,
	};

	snprintf(source.name, sizeof(source.name), "%s", name);
	return client_source(fd, &source);
}

#define ROUNDS	4

/*
 * Each byte is an event in the task that waits: it gets as many stacks as there
 * are bytes, each in time, all of the same entry, and goes on waiting.
 */
TEST_F(client, callbacks_before_the_return)
{
	struct waiter waiter = { .least = ROUNDS + 1 };
	struct unwind_test_record records[ROUNDS + 2];
	struct unwind_test_stats stats;
	int i, source;

	ASSERT_EQ(0, client_add(self->fd, CLIENT_SFRAME, 16));
	ASSERT_EQ(0, start_waiter(&waiter));
	source = trace_waiter(self->fd, 0, &waiter, UNWIND_TEST_TRACEPOINT,
			      "io_uring_task_work_run");
	ASSERT_LE(0, source);
	atomic_store(&waiter.go, 1);
	for (i = 1; i <= ROUNDS; i++) {
		ASSERT_EQ(1, write(waiter.pipe[1], "", 1));
		ASSERT_TRUE(CLIENT_WAIT(self->fd, callbacks, i));
		EXPECT_FALSE(atomic_load(&waiter.returned));
	}
	ASSERT_EQ(0, client_stop(self->fd, source));
	ASSERT_EQ(ROUNDS, client_read(self->fd, records, ROUNDS + 2));
	ASSERT_EQ(1, write(waiter.pipe[1], "", 1));
	ASSERT_EQ(0, pthread_join(waiter.thread, NULL));
	EXPECT_EQ(1, waiter.ret);

	for (i = 0; i < ROUNDS; i++) {
		EXPECT_EQ(waiter.tid, records[i].pid);
		EXPECT_EQ(records[0].cookie, records[i].cookie);
		EXPECT_EQ(records[0].hash, records[i].hash);
		EXPECT_EQ(records[0].nr, records[i].nr);
	}
	client_check_done(_metadata, self->fd, &stats);
	EXPECT_EQ(ROUNDS, stats.accepted);
	EXPECT_EQ(ROUNDS, stats.callbacks);
}

static bool in_enter(__u64 ip)
{
	struct chain_range range = CHAIN_RANGE(enter);

	return ip > (unsigned long)range.start && ip <= (unsigned long)range.end;
}

/*
 * A client that wants one frame has got it when another one, that wants more, asks
 * in the same entry: the same cookie, and the walk goes on deeper.
 */
TEST_F(client, deeper_after_the_callback)
{
	struct waiter waiter = { .least = 2 };
	struct unwind_test_record records[3];
	struct unwind_test_stats stats;

	ASSERT_EQ(0, client_add(self->fd, CLIENT_SFRAME, 1));
	ASSERT_EQ(1, client_add(self->fd, CLIENT_SFRAME, 16));
	ASSERT_EQ(0, start_waiter(&waiter));
	ASSERT_LE(0, trace_waiter(self->fd, 0, &waiter, UNWIND_TEST_KPROBE,
				  "__x64_sys_io_uring_enter"));
	ASSERT_LE(0, trace_waiter(self->fd, 1, &waiter, UNWIND_TEST_TRACEPOINT,
				  "io_uring_task_work_run"));
	atomic_store(&waiter.go, 1);

	ASSERT_TRUE(CLIENT_WAIT(self->fd, callbacks, 1));
	ASSERT_EQ(1, client_read(self->fd, records, 3));
	ASSERT_EQ(1, write(waiter.pipe[1], "", 1));
	ASSERT_TRUE(CLIENT_WAIT(self->fd, callbacks, 2));
	EXPECT_FALSE(atomic_load(&waiter.returned));
	ASSERT_EQ(1, client_read(self->fd, records + 1, 2));
	ASSERT_EQ(1, write(waiter.pipe[1], "", 1));
	ASSERT_EQ(0, pthread_join(waiter.thread, NULL));
	EXPECT_EQ(1, waiter.ret);

	EXPECT_EQ(0, records[0].client);
	EXPECT_EQ(1, records[1].client);
	EXPECT_EQ(records[0].cookie, records[1].cookie);
	EXPECT_EQ(1, records[0].nr);
	EXPECT_TRUE(records[0].truncated);
	EXPECT_LT(1, records[1].nr);
	EXPECT_FALSE(records[1].truncated);
	EXPECT_TRUE(in_enter(records[0].entries[0]));
	EXPECT_EQ(records[0].entries[0], records[1].entries[0]);
	client_check_done(_metadata, self->fd, &stats);
}

/* The thread that polls the queue is one of ours, but has no stack of its own. */
TEST_F(client, polling_thread_is_refused)
{
	const struct io_uring_sqe sqe = { .opcode = IORING_OP_NOP };
	struct unwind_test_source source = {
		.clients = 1, .kind = UNWIND_TEST_TRACEPOINT, .tgid = getpid(),
		.name = "io_uring_submit_req",
	};
	struct unwind_test_stats stats;
	struct ring ring;

	ASSERT_EQ(0, client_add(self->fd, CLIENT_SFRAME, 16));
	ASSERT_EQ(0, open_ring(&ring, IORING_SETUP_SQPOLL));
	ASSERT_LE(0, client_source(self->fd, &source));
	submit(&ring, &sqe);
	ASSERT_LE(0, enter_ring(&ring, 1, 0, IORING_ENTER_SQ_WAKEUP));
	ASSERT_TRUE(CLIENT_WAIT(self->fd, triggers, 1));
	close(ring.fd);

	client_check_done(_metadata, self->fd, &stats);
	EXPECT_EQ(0, stats.callbacks);
	EXPECT_EQ(0, stats.accepted);
	EXPECT_EQ(stats.triggers, stats.refused[EOPNOTSUPP]);
}

/* Nor has one that does what would have to wait. */
TEST_F(client, worker_is_refused)
{
	const struct io_uring_sqe sqe = { .opcode = IORING_OP_NOP, .flags = IOSQE_ASYNC };
	struct unwind_test_source source = {
		.clients = 1, .kind = UNWIND_TEST_KPROBE, .tgid = getpid(),
		.name = "io_wq_submit_work",
	};
	struct unwind_test_stats stats;
	struct ring ring;

	ASSERT_EQ(0, client_add(self->fd, CLIENT_SFRAME, 16));
	ASSERT_EQ(0, open_ring(&ring, 0));
	ASSERT_LE(0, client_source(self->fd, &source));
	submit(&ring, &sqe);
	ASSERT_EQ(1, enter_ring(&ring, 1, 1, IORING_ENTER_GETEVENTS));
	close(ring.fd);

	client_check_done(_metadata, self->fd, &stats);
	EXPECT_EQ(0, stats.callbacks);
	EXPECT_EQ(1, stats.triggers);
	EXPECT_EQ(1, stats.refused[EOPNOTSUPP]);
}

TEST_HARNESS_MAIN
