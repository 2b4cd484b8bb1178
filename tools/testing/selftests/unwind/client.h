/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Clients of the unwinder, by way of the device of the module unwind_test.
 */
#ifndef _CLIENT_H
#define _CLIENT_H

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "chain.h"
#include "test_client.h"

/* perf's numbers are those of the unwinder, or one more. */
#define CLIENT_AUTO		PERF_UNWIND_TYPE_AUTO
#define CLIENT_SFRAME		PERF_UNWIND_TYPE_SFRAME
#define CLIENT_FP		PERF_UNWIND_TYPE_FP
#define CLIENT_NR_TYPES		PERF_UNWIND_TYPE_MAX
#define CLIENT_END(reason)	(PERF_CALLCHAIN_END_##reason - 1)

#define CLIENT_MAX_ENTRIES	65536

#define CLIENT_BIT(n)		(1ULL << (n))
#define CLIENT_CONTEXTS		(CLIENT_BIT(UNWIND_TEST_TASK) |		\
				 CLIENT_BIT(UNWIND_TEST_HARDIRQ) |	\
				 CLIENT_BIT(UNWIND_TEST_SOFTIRQ) |	\
				 CLIENT_BIT(UNWIND_TEST_NMI))

#define CLIENT_COOKIE_CPU(cookie)	((cookie) >> 48)

/*
 * A system call, without a frame of libc, which has no table. What fails returns
 * -errno.
 */
static inline __attribute__((always_inline)) long client_syscall(long nr, long a, long b,
								 long c, long d, long e)
{
	register long r10 asm("r10") = d;
	register long r8 asm("r8") = e;
	register long r9 asm("r9") = 0;
	long ret;

	asm volatile("syscall"
		     : "=a"(ret)
		     : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
		     : "rcx", "r11", "memory");
	return ret;
}

static inline __attribute__((always_inline)) int client_trigger(int fd,
								struct unwind_test_trigger *trigger)
{
	return client_syscall(SYS_ioctl, fd, UNWIND_TEST_TRIGGER, (long)trigger, 0, 0);
}

/**
 * struct client_bottom - what happens in the innermost of many frames
 * @before:	called before the triggers
 * @after:	called after them, may be NULL
 * @data:	argument of both
 */
struct client_bottom {
	void	(*before)(void *data);
	void	(*after)(void *data);
	void	*data;
};

/* @bottom may be NULL. */
int client_descend(int fd, struct unwind_test_trigger *trigger, unsigned int levels,
		   const struct client_bottom *bottom);
bool client_in_descend(__u64 ip);

/* All of these return -errno on failure. */
int client_open(void);
int client_add(int fd, unsigned int type, unsigned int max_entries);
int client_add_quiet(int fd, unsigned int type, unsigned int max_entries);
int client_add_with(int fd, struct unwind_test_add *options);
int client_remove(int fd, int index);
int client_trigger_once(int fd, __u64 clients, unsigned int contexts, __u64 *cookie);
int client_source(int fd, const struct unwind_test_source *source);
int client_stop(int fd, int id);
int client_wake(int fd);
int client_stats(int fd, struct unwind_test_stats *stats);
int client_read(int fd, struct unwind_test_record *records, int room);

bool client_wait(int fd, size_t counter, __u64 least);
#define CLIENT_WAIT(fd, counter, least)					\
	client_wait(fd, offsetof(struct unwind_test_stats, counter), least)

unsigned int client_scale(void);
unsigned int client_timeout(void);
int client_go_to_cpu(int cpu);
int client_nr_cpus(void);

/**
 * struct client_actor - a process that waits to be told to do something
 * @pid:	the process, -1 if it could not be started
 * @go:		a byte in here tells it
 */
struct client_actor {
	pid_t	pid;
	int	go;
};

void client_start_actor(struct client_actor *actor, void (*action)(void));
int client_end_actor(struct client_actor *actor);
int client_trace_actor(int fd, int client, const struct client_actor *actor, unsigned int kind,
		       const char *name);

#endif /* _CLIENT_H */
