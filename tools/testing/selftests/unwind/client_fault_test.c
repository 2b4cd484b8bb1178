// SPDX-License-Identifier: GPL-2.0
/*
 * Stacks that are not in memory, and events that the walk itself brings about.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "client_fixture.h"

#define PAGE		4096UL
#define STACK_SIZE	(256 * PAGE)
#define LEVELS		2000
/* Of the stack that LEVELS need, in the middle. */
#define HOLE_SIZE	(8 * PAGE)

/**
 * struct deep - a thread with a deep stack that has a hole
 * @thread:	the thread
 * @fd:		of the clients
 * @clients:	it triggers
 * @stack:	its stack
 * @hole:	where in it the hole is, once it is there
 * @copy:	what was in it
 * @uffd:	who is asked what is in it, if > 0
 * @ret:	of the system call that triggered
 * @cookie:	of the entry
 */
struct deep {
	pthread_t	thread;
	int		fd;
	__u64		clients;
	char		*stack;
	char		*hole;
	char		copy[HOLE_SIZE];
	int		uffd;
	int		ret;
	__u64		cookie;
};

static char *hole_above(void *frame)
{
	return (char *)(((unsigned long)frame + 3 * PAGE) & ~(PAGE - 1));
}

/* The pages of a shared mapping are still there, but have to be found again. */
static void page_out(void *data)
{
	struct deep *deep = data;

	deep->hole = hole_above(__builtin_frame_address(0));
	madvise(deep->hole, HOLE_SIZE, MADV_DONTNEED);
}

static void forbid(void *data)
{
	struct deep *deep = data;

	deep->hole = hole_above(__builtin_frame_address(0));
	mprotect(deep->hole, HOLE_SIZE, PROT_NONE);
}

static void allow(void *data)
{
	struct deep *deep = data;

	mprotect(deep->hole, HOLE_SIZE, PROT_READ | PROT_WRITE);
}

/* Who reads there waits until somebody fills the hole. */
static void block(void *data)
{
	struct deep *deep = data;
	/* All of the stack, which so stays one mapping. */
	struct uffdio_register area = {
		.range	= { .start = (unsigned long)deep->stack, .len = STACK_SIZE },
		.mode	= UFFDIO_REGISTER_MODE_MISSING,
	};

	deep->hole = hole_above(__builtin_frame_address(0));
	memcpy(deep->copy, deep->hole, HOLE_SIZE);
	madvise(deep->hole, HOLE_SIZE, MADV_DONTNEED);
	deep->ret = ioctl(deep->uffd, UFFDIO_REGISTER, &area);
}

static void make_no_hole(void *data)
{
}

/**
 * struct deep_run - how to run a thread with a deep stack
 * @deep:	the thread
 * @bottom:	makes the hole
 */
struct deep_run {
	struct deep		*deep;
	struct client_bottom	bottom;
};

static void *run_deep(void *data)
{
	struct deep_run *run = data;
	struct deep *deep = run->deep;
	struct unwind_test_trigger trigger = {
		.clients = deep->clients, .contexts = CLIENT_BIT(UNWIND_TEST_HARDIRQ),
		.times = 1,
	};
	int ret = client_descend(deep->fd, &trigger, LEVELS, &run->bottom);

	deep->ret = deep->ret ?: ret;
	deep->cookie = trigger.cookies[0];
	return NULL;
}

static int start_deep(struct deep_run *run, int flags)
{
	pthread_attr_t attr;

	run->bottom.data = run->deep;
	run->deep->stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
				flags | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (run->deep->stack == MAP_FAILED)
		return -errno;
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, run->deep->stack, STACK_SIZE);
	return -pthread_create(&run->deep->thread, &attr, run_deep, run);
}

static int run_to_end(struct deep_run *run, int flags)
{
	int ret = start_deep(run, flags);

	if (!ret)
		ret = -pthread_join(run->deep->thread, NULL);
	return ret ?: run->deep->ret;
}

static void add_source(struct __test_metadata *_metadata, int fd, const char *name)
{
	struct unwind_test_source source = {
		.clients = 3, .kind = UNWIND_TEST_TRACEPOINT, .tgid = getpid(),
	};

	snprintf(source.name, sizeof(source.name), "%s", name);
	ASSERT_LE(0, client_source(fd, &source));
}

static void add_clients(struct __test_metadata *_metadata, int fd)
{
	ASSERT_EQ(0, client_add(fd, CLIENT_SFRAME, 2 * LEVELS));
	ASSERT_EQ(1, client_add(fd, CLIENT_FP, 2 * LEVELS));
}

/* Records of others than the deep thread are of no interest. */
static int read_deep(int fd, const struct deep *deep, struct unwind_test_record *found)
{
	struct unwind_test_record record;
	int nr = 0;

	while (client_read(fd, &record, 1) == 1) {
		if (record.cookie != deep->cookie || !client_in_descend(record.entries[0]))
			continue;
		if (nr < 2)
			found[nr] = record;
		nr++;
	}
	return nr;
}

/*
 * The walk fetches what is not in memory, and its page faults are events
 * themselves: they are refused, or count as part of what is under way. If they were
 * not, the task would never get back to user space.
 */
TEST_F_TIMEOUT(client, stack_is_paged_in, client_timeout())
{
	struct unwind_test_record whole[2], paged[2];
	struct deep deep = { .fd = self->fd, .clients = 3 };
	struct deep_run run = { .deep = &deep, .bottom = { .before = make_no_hole } };
	struct unwind_test_stats stats;
	int i;

	add_clients(_metadata, self->fd);
	ASSERT_EQ(0, run_to_end(&run, MAP_SHARED));
	ASSERT_EQ(2, read_deep(self->fd, &deep, whole));

	add_source(_metadata, self->fd, "page_fault_kernel");
	run.bottom = (struct client_bottom) { .before = page_out };
	ASSERT_EQ(0, run_to_end(&run, MAP_SHARED));
	ASSERT_EQ(0, client_stop(self->fd, 0));
	ASSERT_EQ(2, read_deep(self->fd, &deep, paged));

	for (i = 0; i < 2; i++) {
		EXPECT_LT(LEVELS, whole[i].nr);
		EXPECT_EQ(whole[i].nr, paged[i].nr);
		EXPECT_EQ(whole[i].end, paged[i].end);
		EXPECT_EQ(0, memcmp(whole[i].entries + 1, paged[i].entries + 1,
				    (UNWIND_TEST_ENTRIES - 1) * sizeof(whole[i].entries[0])));
	}
	client_check_done(_metadata, self->fd, &stats);
	/* Two times two triggers of the thread; the rest is the walk's. */
	EXPECT_LT(4, stats.triggers);
	EXPECT_EQ(stats.triggers, stats.accepted + stats.refused[EBUSY]);
}

/* What cannot be read ends the stack, and says so; nobody is sent a signal. */
TEST_F_TIMEOUT(client, stack_is_forbidden, client_timeout())
{
	struct unwind_test_record records[2];
	struct deep deep = { .fd = self->fd, .clients = 3 };
	struct deep_run run = { .deep = &deep, .bottom = { forbid, allow } };
	struct unwind_test_stats stats;
	int i;

	add_clients(_metadata, self->fd);
	add_source(_metadata, self->fd, "page_fault_kernel");
	ASSERT_EQ(0, run_to_end(&run, MAP_PRIVATE));
	ASSERT_EQ(0, client_stop(self->fd, 0));
	ASSERT_EQ(2, read_deep(self->fd, &deep, records));
	for (i = 0; i < 2; i++) {
		EXPECT_LT(10, records[i].nr);
		EXPECT_GT(LEVELS, records[i].nr);
		/* Frame pointers do not lead from one mapping to the next. */
		EXPECT_EQ(records[i].type == CLIENT_FP ? CLIENT_END(NO_PROGRESS) :
							 CLIENT_END(UNREADABLE), records[i].end);
	}
	client_check_done(_metadata, self->fd, &stats);
}

/* Page faults of user mode are entries of their own, each with its stack. */
TEST_F(client, user_faults_have_stacks)
{
	struct unwind_test_stats stats;
	char *pages;
	int i;

	ASSERT_EQ(0, client_add_quiet(self->fd, CLIENT_SFRAME, 16));
	ASSERT_EQ(1, client_add_quiet(self->fd, CLIENT_FP, 16));
	pages = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, pages);
	ASSERT_EQ(0, madvise(pages, 16 * PAGE, MADV_NOHUGEPAGE));
	add_source(_metadata, self->fd, "page_fault_user");
	for (i = 0; i < 16; i++) {
		pages[i * PAGE] = 1;
		asm volatile("" : : : "memory");
	}
	ASSERT_EQ(0, client_stop(self->fd, 0));
	client_check_done(_metadata, self->fd, &stats);
	EXPECT_LE(32, stats.callbacks);
}

/**
 * struct player - one of two who wake each other up
 * @from:	where it waits for a byte
 * @to:		where it writes one then
 */
struct player {
	int from;
	int to;
};

static void *play(void *data)
{
	const struct player *player = data;
	char byte;
	int i;

	for (i = 0; i < 100; i++) {
		if (read(player->from, &byte, 1) != 1 || write(player->to, "", 1) != 1)
			return NULL;
	}
	return data;
}

/* Tasks that wake each other up, with an event each time they do, or sleep. */
TEST_F_TIMEOUT(client, wakeups_have_stacks, client_timeout())
{
	struct unwind_test_stats stats;
	int there[2], back[2];
	struct player player, self_player;
	pthread_t thread;
	void *done;

	ASSERT_EQ(0, client_add_quiet(self->fd, CLIENT_SFRAME, 16));
	ASSERT_EQ(1, client_add_quiet(self->fd, CLIENT_FP, 16));
	ASSERT_EQ(0, pipe(there));
	ASSERT_EQ(0, pipe(back));
	player = (struct player) { .from = there[0], .to = back[1] };
	self_player = (struct player) { .from = back[0], .to = there[1] };
	add_source(_metadata, self->fd, "sched_waking");
	add_source(_metadata, self->fd, "sched_switch");
	ASSERT_EQ(0, pthread_create(&thread, NULL, play, &player));
	ASSERT_EQ(1, write(there[1], "", 1));
	ASSERT_NE(NULL, play(&self_player));
	ASSERT_EQ(0, pthread_join(thread, &done));
	ASSERT_NE(NULL, done);
	ASSERT_EQ(0, client_stop(self->fd, 0));
	ASSERT_EQ(0, client_stop(self->fd, 1));
	client_check_done(_metadata, self->fd, &stats);
	EXPECT_LE(100, stats.callbacks);
}

static int open_uffd(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	int uffd = syscall(SYS_userfaultfd, O_CLOEXEC);

	if (uffd >= 0 && ioctl(uffd, UFFDIO_API, &api))
		return -1;
	return uffd;
}

/* Returns once the walk is stuck at the hole. */
static bool wait_for_walk(const struct deep *deep)
{
	struct uffd_msg message;

	if (read(deep->uffd, &message, sizeof(message)) != sizeof(message))
		return false;
	return message.event == UFFD_EVENT_PAGEFAULT &&
	       message.arg.pagefault.address - (unsigned long)deep->hole < HOLE_SIZE;
}

static int fill_hole(const struct deep *deep)
{
	struct uffdio_copy copy = {
		.dst = (unsigned long)deep->hole, .src = (unsigned long)deep->copy,
		.len = HOLE_SIZE,
	};

	return ioctl(deep->uffd, UFFDIO_COPY, &copy);
}

FIXTURE(stuck)
{
	int fd;
};

FIXTURE_VARIANT(stuck)
{
	unsigned int types[2];
};

FIXTURE_VARIANT_ADD(stuck, sframe_goes) { { CLIENT_SFRAME, CLIENT_FP } };
FIXTURE_VARIANT_ADD(stuck, fp_goes) { { CLIENT_FP, CLIENT_SFRAME } };
FIXTURE_VARIANT_ADD(stuck, one_of_one_walk_goes) { { CLIENT_SFRAME, CLIENT_AUTO } };

FIXTURE_SETUP(stuck)
{
	int i;

	self->fd = client_fixture_open(_metadata);
	if (self->fd < 0)
		return;
	for (i = 0; i < 2; i++)
		ASSERT_EQ(i, client_add(self->fd, variant->types[i], 2 * LEVELS));
}

FIXTURE_TEARDOWN(stuck)
{
	close(self->fd);
}

static int trigger_in_child(int fd)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(client_trigger_once(fd, 3, CLIENT_CONTEXTS, NULL) ? 1 : 0);
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status ? pid : -1;
}

static void expect_all_others_run(struct __test_metadata *_metadata, int fd)
{
	struct unwind_test_record records[3];
	void *page;
	pid_t pid;

	/* The lock of the address space can be had for writing. */
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, page);
	ASSERT_EQ(0, munmap(page, PAGE));

	/* Others walk. */
	ASSERT_EQ(0, client_trigger_once(fd, 3, CLIENT_CONTEXTS, NULL));
	ASSERT_EQ(2, client_read(fd, records, 3));
	EXPECT_EQ(syscall(SYS_gettid), records[0].pid);
	EXPECT_EQ(syscall(SYS_gettid), records[1].pid);
	pid = trigger_in_child(fd);
	ASSERT_LT(0, pid);
	ASSERT_EQ(2, client_read(fd, records, 3));
	EXPECT_EQ(pid, records[0].pid);
	EXPECT_EQ(pid, records[1].pid);
}

/*
 * A walk waits for memory that user space does not hand out. Nobody else waits,
 * and a client can go: it gets nothing any more, and the other one its stack, when
 * the memory is there.
 */
TEST_F_TIMEOUT(stuck, walk_keeps_nobody, client_timeout())
{
	struct deep deep = { .fd = self->fd, .clients = 3 };
	struct deep_run run = { .deep = &deep, .bottom = { .before = block } };
	struct unwind_test_record records[2];
	struct unwind_test_stats stats;

	deep.uffd = open_uffd();
	ASSERT_LE(0, deep.uffd);
	ASSERT_EQ(0, start_deep(&run, MAP_PRIVATE));
	ASSERT_TRUE(wait_for_walk(&deep));

	expect_all_others_run(_metadata, self->fd);
	ASSERT_EQ(0, client_remove(self->fd, 0));
	ASSERT_EQ(0, client_add(self->fd, variant->types[0], 16));
	expect_all_others_run(_metadata, self->fd);

	ASSERT_EQ(0, fill_hole(&deep));
	ASSERT_EQ(0, pthread_join(deep.thread, NULL));
	ASSERT_EQ(0, deep.ret);
	ASSERT_EQ(1, read_deep(self->fd, &deep, records));
	EXPECT_EQ(1, records[0].client);
	EXPECT_LT(LEVELS, records[0].nr);
	client_check_done(_metadata, self->fd, &stats);
}

/* Runs in a process of its own. Tells when its walk is stuck. */
static void be_stuck(int fd, int ready)
{
	struct deep deep = { .fd = fd, .clients = 3 };
	struct deep_run run = { .deep = &deep, .bottom = { .before = block } };

	deep.uffd = open_uffd();
	if (deep.uffd < 0 || start_deep(&run, MAP_PRIVATE) || !wait_for_walk(&deep))
		_exit(1);
	if (write(ready, "", 1) == 1)
		pause();
	_exit(1);
}

/* Nor can a stuck walk keep its own process alive. */
TEST_F_TIMEOUT(stuck, walk_can_be_killed, client_timeout())
{
	struct unwind_test_record records[2];
	struct unwind_test_stats stats;
	int ready[2], i, status;
	char byte;
	pid_t pid;

	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		be_stuck(self->fd, ready[1]);
	close(ready[1]);
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));

	client_check_done(_metadata, self->fd, &stats);
	ASSERT_EQ(2, client_read(self->fd, records, 2));
	for (i = 0; i < 2; i++) {
		EXPECT_LT(10, records[i].nr);
		EXPECT_GT(LEVELS, records[i].nr);
		EXPECT_EQ(CLIENT_END(KILLED), records[i].end);
	}
}

TEST_HARNESS_MAIN
