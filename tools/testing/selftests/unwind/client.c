// SPDX-License-Identifier: GPL-2.0
/*
 * Clients of the unwinder, by way of the device of the module unwind_test.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "client.h"

static int result(int ret)
{
	return ret < 0 ? -errno : ret;
}

typedef int (*descend_t)(int fd, struct unwind_test_trigger *trigger, unsigned int levels,
			 const struct client_bottom *bottom);

/* Calls itself until the last one triggers: one return address for each level. */
int CHAIN_FUNCTION(descend) client_descend(int fd, struct unwind_test_trigger *trigger,
					   unsigned int levels,
					   const struct client_bottom *bottom)
{
	descend_t next_level = client_descend;
	int ret;

	/* The compiler knows nothing about it, and cannot make a loop of the recursion. */
	asm volatile("" : "+r"(next_level));
	if (levels) {
		ret = next_level(fd, trigger, levels - 1, bottom);
	} else {
		if (bottom)
			bottom->before(bottom->data);
		ret = client_trigger(fd, trigger);
		if (bottom && bottom->after)
			bottom->after(bottom->data);
	}
	/* No tail call. */
	asm volatile("" : "+r"(ret));
	return ret;
}

bool client_in_descend(__u64 ip)
{
	struct chain_range range = CHAIN_RANGE(descend);

	return ip > (unsigned long)range.start && ip <= (unsigned long)range.end;
}

int client_open(void)
{
	int fd = result(open(UNWIND_TEST_DEVICE, O_RDWR | O_CLOEXEC));

	if (fd != -ENOENT || system("modprobe unwind_test >/dev/null 2>&1"))
		return fd;
	return result(open(UNWIND_TEST_DEVICE, O_RDWR | O_CLOEXEC));
}

int client_add_with(int fd, struct unwind_test_add *options)
{
	int ret = result(ioctl(fd, UNWIND_TEST_ADD, options));

	return ret ?: (int)options->index;
}

int client_add(int fd, unsigned int type, unsigned int max_entries)
{
	struct unwind_test_add options = {
		.type = type, .max_entries = max_entries, .flags = UNWIND_TEST_LOG,
	};

	return client_add_with(fd, &options);
}

/* For those who count many callbacks. */
int client_add_quiet(int fd, unsigned int type, unsigned int max_entries)
{
	struct unwind_test_add options = { .type = type, .max_entries = max_entries };

	return client_add_with(fd, &options);
}

int client_remove(int fd, int index)
{
	return result(ioctl(fd, UNWIND_TEST_REMOVE, index));
}

/* The result and the cookie of the first of the clients. */
int client_trigger_once(int fd, __u64 clients, unsigned int contexts, __u64 *cookie)
{
	struct unwind_test_trigger trigger = {
		.clients = clients, .contexts = contexts, .times = 1,
	};
	int ret = client_trigger(fd, &trigger), first = __builtin_ctzll(clients);

	if (ret)
		return ret;
	if (cookie)
		*cookie = trigger.cookies[first];
	return trigger.errors[first];
}

int client_source(int fd, const struct unwind_test_source *source)
{
	struct unwind_test_source copy = *source;

	return result(ioctl(fd, UNWIND_TEST_SOURCE, &copy)) ?: (int)copy.id;
}

int client_stop(int fd, int id)
{
	return result(ioctl(fd, UNWIND_TEST_STOP, id));
}

int client_wake(int fd)
{
	return result(ioctl(fd, UNWIND_TEST_WAKE));
}

int client_stats(int fd, struct unwind_test_stats *stats)
{
	return result(ioctl(fd, UNWIND_TEST_STATS, stats));
}

/* Returns how many records there were. */
int client_read(int fd, struct unwind_test_record *records, int room)
{
	int ret = result(read(fd, records, room * sizeof(*records)));

	return ret < 0 ? ret : ret / (int)sizeof(*records);
}

/* Returns false if the statistics cannot be had; if they do not come, never. */
bool client_wait(int fd, size_t counter, __u64 least)
{
	struct unwind_test_stats stats;

	for (;;) {
		if (client_stats(fd, &stats))
			return false;
		if (*(__u64 *)((char *)&stats + counter) >= least)
			return true;
		usleep(1000);
	}
}

/* Longer runs find more. */
unsigned int client_scale(void)
{
	const char *scale = getenv("UNWIND_TEST_SCALE");

	return scale && atoi(scale) > 0 ? atoi(scale) : 1;
}

/* Seconds that a test may take on a slow machine with a slow kernel. */
unsigned int client_timeout(void)
{
	unsigned int scale = client_scale();

	return scale < 10000 ? 120 * scale : 1200000;
}

int client_go_to_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return result(sched_setaffinity(0, sizeof(set), &set));
}

int client_nr_cpus(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN);
}

void client_start_actor(struct client_actor *actor, void (*action)(void))
{
	int go[2];
	char byte;

	actor->pid = -1;
	if (pipe2(go, O_CLOEXEC))
		return;
	actor->go = go[1];
	actor->pid = fork();
	if (actor->pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (read(go[0], &byte, 1) == 1)
		action();
	_exit(1);
}

int client_end_actor(struct client_actor *actor)
{
	int status = -1;

	if (write(actor->go, "", 1) != 1 || waitpid(actor->pid, &status, 0) != actor->pid)
		return -1;
	close(actor->go);
	return status;
}

int client_trace_actor(int fd, int client, const struct client_actor *actor, unsigned int kind,
		       const char *name)
{
	struct unwind_test_source source = {
		.clients = CLIENT_BIT(client), .kind = kind, .tgid = actor->pid,
	};

	snprintf(source.name, sizeof(source.name), "%s", name);
	return client_source(fd, &source);
}
