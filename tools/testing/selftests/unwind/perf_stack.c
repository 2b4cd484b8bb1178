// SPDX-License-Identifier: GPL-2.0
#include <asm/perf_regs.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "perf_stack.h"

#define RING_PAGES	64

#define UPROBE_RETURN	1	/* config of the uprobe PMU */

static int read_number(const char *path)
{
	FILE *file;
	int number;

	file = fopen(path, "r");
	if (!file)
		return -1;
	if (fscanf(file, "%d", &number) != 1)
		number = -1;
	fclose(file);
	return number;
}

static int pmu_type(const char *pmu)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", pmu);
	return read_number(path);
}

static int add_event(struct perf_stack *stack, const struct perf_stack_options *options,
		     int type, struct perf_event_attr attr)
{
	unsigned int nr = stack->nr_events;
	int fd;

	if (type < 0 || nr == PERF_STACK_MAX_EVENTS) {
		errno = ENOENT;
		return -1;
	}
	attr.type			= type;
	attr.size			= sizeof(attr);
	attr.sample_period		= 1;
	attr.sample_type		= PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID |
					  PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER;
	attr.sample_regs_user		= 1ULL << PERF_REG_X86_IP;
	attr.sample_max_stack		= options->max_stack;
	attr.sample_id_all		= 1;
	attr.disabled			= 1;
	attr.exclude_callchain_kernel	= 1;
	attr.defer_callchain		= 1;
	attr.defer_output		= !nr;
	attr.unwind_type		= options->type;

	fd = syscall(SYS_perf_event_open, &attr, options->pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -1;
	stack->fds[nr] = fd;
	stack->nr_events++;
	return ioctl(fd, PERF_EVENT_IOC_ID, &stack->ids[nr]);
}

static int add_tracepoint(struct perf_stack *stack,
			  const struct perf_stack_options *options, const char *event)
{
	char path[128];
	int id;

	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/id", event);
	id = read_number(path);
	return add_event(stack, options, id < 0 ? -1 : PERF_TYPE_TRACEPOINT,
			 (struct perf_event_attr){ .config = id });
}

/* The file that is mapped at an address, and the offset in it. */
static int find_file(const void *addr, char *path, __u64 *offset)
{
	unsigned long start, end, pgoff;
	int ret = -1, fields;
	char line[512];
	FILE *maps;

	maps = fopen("/proc/self/maps", "r");
	if (!maps)
		return -1;
	while (ret && fgets(line, sizeof(line), maps)) {
		fields = sscanf(line, "%lx-%lx %*s %lx %*s %*s %255s", &start, &end, &pgoff,
				path);
		if (fields == 4 && (unsigned long)addr >= start && (unsigned long)addr < end) {
			*offset = (unsigned long)addr - start + pgoff;
			ret = 0;
		}
	}
	fclose(maps);
	return ret;
}

static int add_uprobe(struct perf_stack *stack, const struct perf_stack_options *options,
		      const struct perf_stack_uprobe *uprobe)
{
	struct perf_event_attr attr = {
		.config	= uprobe->ret ? UPROBE_RETURN : 0,
	};
	char path[256];

	if (find_file(uprobe->addr, path, &attr.probe_offset)) {
		errno = ENOENT;
		return -1;
	}
	attr.uprobe_path = (unsigned long)path;
	return add_event(stack, options, pmu_type("uprobe"), attr);
}

static int add_all(struct perf_stack *stack, const struct perf_stack_options *options)
{
	unsigned int i;

	for (i = 0; i < PERF_STACK_MAX_NAMES && options->events[i]; i++) {
		if (add_tracepoint(stack, options, options->events[i]))
			return -1;
	}
	if (options->probe) {
		struct perf_event_attr attr = {
			.kprobe_func = (unsigned long)options->probe,
		};

		if (add_event(stack, options, pmu_type("kprobe"), attr))
			return -1;
	}
	for (i = 0; i < options->nr_uprobes; i++) {
		if (add_uprobe(stack, options, &options->uprobes[i]))
			return -1;
	}
	return 0;
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
	unsigned int i;

	memset(stack, 0, sizeof(*stack));
	stack->opened = true;
	stack->ring = MAP_FAILED;
	stack->ring_size = (1 + (options->pages ?: RING_PAGES)) * getpagesize();

	if (add_all(stack, options))
		return -1;
	if (options->filter &&
	    ioctl(stack->fds[0], PERF_EVENT_IOC_SET_FILTER, options->filter))
		return -1;
	stack->ring = mmap(NULL, stack->ring_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			   stack->fds[0], 0);
	if (stack->ring == MAP_FAILED)
		return -1;
	for (i = 1; i < stack->nr_events; i++) {
		if (ioctl(stack->fds[i], PERF_EVENT_IOC_SET_OUTPUT, stack->fds[0]))
			return -1;
	}
	for (i = 0; i < stack->nr_events; i++) {
		if (ioctl(stack->fds[i], PERF_EVENT_IOC_ENABLE, 0))
			return -1;
	}
	return 0;
}

/* An array with room for one more element; its length is rounded up as it grows. */
static void *more_room(void *array, unsigned int nr, size_t size)
{
	if (nr & (nr - 1) || nr == 1)
		return array;
	array = realloc(array, (nr ? 2 * nr : 2) * size);
	if (!array)
		abort();
	return array;
}

static unsigned int event_number(const struct perf_stack *stack, __u64 id)
{
	unsigned int i;

	for (i = 0; i < stack->nr_events && stack->ids[i] != id; i++)
		;
	return i;
}

/* Body: u64 id; u32 pid, tid; u64 nr; u64 ips[nr]; u64 abi; u64 ip if abi is not 0 */
static void read_sample(struct perf_stack *stack, const __u64 *body, size_t words)
{
	struct perf_stack_sample *sample;
	const __u64 *ips = body + 3;
	__u64 nr;

	if (words < 4 || body[2] > words - 4 || words != 4 + body[2] + !!ips[body[2]]) {
		stack->broken = true;
		return;
	}
	nr = body[2];
	stack->samples = more_room(stack->samples, stack->nr_samples, sizeof(*sample));
	sample = &stack->samples[stack->nr_samples++];
	*sample = (struct perf_stack_sample) {
		.event	= event_number(stack, body[0]),
		.tid	= body[1] >> 32,
		.ip	= ips[nr] ? ips[nr + 1] : 0,
	};
	if (nr == 2 && ips[0] == (__u64)PERF_CONTEXT_USER_DEFERRED)
		sample->cookie = ips[1];
	else if (nr && ips[0] == (__u64)PERF_CONTEXT_USER)
		sample->nr = nr - 1;
}

/* Body: u64 cookie; u64 nr; u64 ips[nr]; u32 pid, tid; u64 id */
static void read_stack(struct perf_stack *stack, const struct perf_event_header *header,
		       const __u64 *body, size_t words)
{
	struct perf_stack_record *record;

	if (words < 4 || body[1] != words - 4 ||
	    (header->misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER) {
		stack->broken = true;
		return;
	}
	stack->records = more_room(stack->records, stack->nr_records, sizeof(*record));
	record = &stack->records[stack->nr_records++];
	*record = (struct perf_stack_record) {
		.cookie	= body[0],
		.nr	= body[1],
		.end	= (header->misc & PERF_RECORD_MISC_CALLCHAIN_END_MASK) >>
			  PERF_RECORD_MISC_CALLCHAIN_END_SHIFT,
		.fp	= header->misc & PERF_RECORD_MISC_CALLCHAIN_FP,
		.tid	= body[words - 2] >> 32,
		.ips	= body + 2,
	};
}

/* The ring is larger than what a test collects: a record never wraps. */
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
	unsigned int i;

	/* The one that gets the stacks is the last one. */
	for (i = stack->nr_events; i--;)
		ioctl(stack->fds[i], PERF_EVENT_IOC_DISABLE, 0);

	head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
	if (head > stack->ring_size - getpagesize()) {
		stack->broken = true;
		return;
	}
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
	unsigned int i;

	if (!stack->opened)
		return;

	if (stack->ring != MAP_FAILED)
		munmap(stack->ring, stack->ring_size);
	for (i = 0; i < stack->nr_events; i++)
		close(stack->fds[i]);
	free(stack->samples);
	free(stack->records);
	stack->opened = false;
}
