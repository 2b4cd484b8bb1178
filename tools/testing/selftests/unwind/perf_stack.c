// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "perf_stack.h"

#define RING_PAGES	64

#define PROBES		"/sys/kernel/tracing/kprobe_events"
#define PROBE		"unwind/function"

static int write_probes(const char *command, const char *function)
{
	char line[128];
	ssize_t ret;
	int len, fd;

	len = snprintf(line, sizeof(line), "%s:" PROBE " %s\n", command, function);
	fd = open(PROBES, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ret = write(fd, line, len);
	close(fd);
	return ret == len ? 0 : -1;
}

static int tracepoint_id(const char *event)
{
	char path[128];
	FILE *file;
	int id = -1;

	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/id", event);
	file = fopen(path, "r");
	if (!file)
		return -1;
	if (fscanf(file, "%d", &id) != 1)
		id = -1;
	fclose(file);
	return id;
}

static int open_event(const char *event, const struct perf_stack_options *options,
		      bool output)
{
	struct perf_event_attr attr = {
		.type				= PERF_TYPE_TRACEPOINT,
		.size				= sizeof(attr),
		.sample_period			= 1,
		.sample_type			= PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN,
		.sample_max_stack		= options->max_stack,
		.sample_id_all			= 1,
		.disabled			= 1,
		.exclude_callchain_kernel	= 1,
		.defer_callchain		= 1,
		.defer_output			= output,
		.unwind_type			= options->type,
	};
	int id = tracepoint_id(event);

	if (id < 0) {
		errno = ENOENT;
		return -1;
	}
	attr.config = id;
	return syscall(SYS_perf_event_open, &attr, options->pid, -1, -1,
		       PERF_FLAG_FD_CLOEXEC);
}

/**
 * perf_stack_open - start to collect stacks
 * @stack: where they go
 * @options: which ones
 *
 * Return: 0, or -1 with errno set.
 */
int perf_stack_open(struct perf_stack *stack, const struct perf_stack_options *options)
{
	const char * const events[] = {
		options->events[0],
		options->probe ? PROBE : options->events[1],
	};
	int i;

	memset(stack, 0, sizeof(*stack));
	stack->opened = true;
	stack->fds[0] = stack->fds[1] = -1;
	stack->ring = MAP_FAILED;
	stack->ring_size = (1 + RING_PAGES) * getpagesize();

	if (options->probe) {
		if (write_probes("p", options->probe))
			return -1;
		stack->probing = true;
	}

	for (i = 0; i < 2 && events[i]; i++) {
		stack->fds[i] = open_event(events[i], options, !i);
		if (stack->fds[i] < 0)
			return -1;
	}
	stack->ring = mmap(NULL, stack->ring_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			   stack->fds[0], 0);
	if (stack->ring == MAP_FAILED)
		return -1;
	if (stack->fds[1] >= 0 &&
	    ioctl(stack->fds[1], PERF_EVENT_IOC_SET_OUTPUT, stack->fds[0]))
		return -1;

	for (i = 0; i < 2 && stack->fds[i] >= 0; i++) {
		if (ioctl(stack->fds[i], PERF_EVENT_IOC_ENABLE, 0))
			return -1;
	}
	return 0;
}

/* Body: u32 pid, tid; u64 nr; u64 ips[nr] */
static void read_sample(struct perf_stack *stack, const __u64 *body, size_t words)
{
	struct perf_stack_sample *sample;

	if (words < 2 || body[1] != words - 2 || stack->nr_samples == PERF_STACK_MAX_SAMPLES) {
		stack->broken = true;
		return;
	}
	sample = &stack->samples[stack->nr_samples++];
	if (words == 4 && body[2] == (__u64)PERF_CONTEXT_USER_DEFERRED)
		sample->cookie = body[3];
	else if (words > 2 && body[2] == (__u64)PERF_CONTEXT_USER)
		sample->nr = words - 3;
}

/* Body: u64 cookie; u64 nr; u64 ips[nr]; u32 pid, tid */
static void read_stack(struct perf_stack *stack, const struct perf_event_header *header,
		       const __u64 *body, size_t words)
{
	struct perf_stack_record *record;

	if (words < 3 || body[1] != words - 3 || body[1] > PERF_STACK_MAX_ENTRIES ||
	    stack->nr_records == PERF_STACK_MAX_RECORDS ||
	    (header->misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER) {
		stack->broken = true;
		return;
	}
	record = &stack->records[stack->nr_records++];
	record->cookie = body[0];
	record->nr = body[1];
	record->end = (header->misc & PERF_RECORD_MISC_CALLCHAIN_END_MASK) >>
		      PERF_RECORD_MISC_CALLCHAIN_END_SHIFT;
	record->fp = header->misc & PERF_RECORD_MISC_CALLCHAIN_FP;
	memcpy(record->ips, body + 2, record->nr * sizeof(*record->ips));
}

/* The ring is far larger than what a test collects: a record never wraps. */
static void read_record(struct perf_stack *stack, const struct perf_event_header *header)
{
	const __u64 *body = (const __u64 *)(header + 1);
	size_t words = (header->size - sizeof(*header)) / sizeof(*body);

	switch (header->type) {
	case PERF_RECORD_SAMPLE:
		read_sample(stack, body, words);
		break;
	case PERF_RECORD_CALLCHAIN_DEFERRED:
		read_stack(stack, header, body, words);
		break;
	case PERF_RECORD_LOST:
		stack->broken = true;
		break;
	}
}

/**
 * perf_stack_read - stop, and read what was collected
 * @stack: from perf_stack_open()
 */
void perf_stack_read(struct perf_stack *stack)
{
	struct perf_event_mmap_page *control = stack->ring;
	const char *data = (const char *)stack->ring + getpagesize();
	__u64 head, tail;
	int i;

	for (i = 0; i < 2 && stack->fds[i] >= 0; i++)
		ioctl(stack->fds[i], PERF_EVENT_IOC_DISABLE, 0);

	head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
	for (tail = 0; tail < head;) {
		const struct perf_event_header *header = (const void *)(data + tail);

		read_record(stack, header);
		tail += header->size;
	}
}

/**
 * perf_stack_close - give up what perf_stack_open() got, if it failed, too
 * @stack: from perf_stack_open(), or zeroed
 */
void perf_stack_close(struct perf_stack *stack)
{
	int i;

	if (!stack->opened)
		return;

	if (stack->ring != MAP_FAILED)
		munmap(stack->ring, stack->ring_size);
	for (i = 0; i < 2; i++) {
		if (stack->fds[i] >= 0)
			close(stack->fds[i]);
	}
	if (stack->probing)
		write_probes("-", "");
}
