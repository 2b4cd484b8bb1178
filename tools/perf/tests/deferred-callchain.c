// SPDX-License-Identifier: GPL-2.0
/*
 * Samples and the records with their user callchains, from a file to the tool.
 *
 * Each test writes a file with a few events, reads it in a session, and compares
 * what the tool gets with what it has to get. Samples are told as "TIME:", with
 * the entries of their callchains, where K, U and D stand for the contexts.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/string.h>
#include <internal/lib.h>

#include "data.h"
#include "debug.h"
#include "event.h"
#include "evlist.h"
#include "header.h"
#include "sample.h"
#include "session.h"
#include "synthetic-events.h"
#include "tests.h"
#include "tool.h"

#define SAMPLE_TYPE	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
			 PERF_SAMPLE_CALLCHAIN)
#define PID		100
#define USER_IP		0x4000ff
#define MAX_IPS		8

/* Kernel frames */
#define K1		0xf000000000000001ULL
#define K2		0xf000000000000002ULL

struct step {
	u32 type;
	u64 time;
	u32 tid;
	u64 cookie;
	u64 ips[MAX_IPS];
	u64 nr;
	/* Records: added to nr in what is written */
	u64 more;
	u16 misc;
};

#define NR_ARGS(...)	(ARRAY_SIZE(((u64[]){ 0, ##__VA_ARGS__ })) - 1)
#define STEP(_type, _time, _tid, _cookie, ...)					\
	.type = PERF_RECORD_##_type, .time = _time, .tid = _tid,		\
	.cookie = _cookie, .ips = { __VA_ARGS__ }, .nr = NR_ARGS(__VA_ARGS__)

/* A sample with the kernel frames @..., in user mode if there are none */
#define SAMPLE(time, tid, cookie, ...)						\
	{ STEP(SAMPLE, time, tid, cookie, ##__VA_ARGS__) }
#define CHAIN(time, tid, cookie, ...)						\
	{ STEP(CALLCHAIN_DEFERRED, time, tid, cookie, ##__VA_ARGS__) }
#define EXIT(time, tid)								\
	{ STEP(EXIT, time, tid, 0) }
#define EXEC(time, tid)								\
	{ STEP(COMM, time, tid, 0), .misc = PERF_RECORD_MISC_COMM_EXEC }
#define END		{ .type = 0 }

struct test {
	struct perf_tool tool;
	enum deferred_callchain_mode mode;
	u16 max_stack;
	size_t limit;
	const struct step *steps;
	const char *expect;
	int fd;
	char got[1024];
};

static __printf(2, 3) void tell(struct test *test, const char *fmt, ...)
{
	size_t len = strlen(test->got);
	va_list args;

	va_start(args, fmt);
	vsnprintf(test->got + len, sizeof(test->got) - len, fmt, args);
	va_end(args);
}

static int tell_sample(const struct perf_tool *tool, union perf_event *event __maybe_unused,
		       struct perf_sample *sample, struct evsel *evsel __maybe_unused,
		       struct machine *machine __maybe_unused)
{
	struct test *test = container_of(tool, struct test, tool);

	tell(test, "%" PRIu64 ":", sample->time);
	for (u64 i = 0; i < sample->callchain->nr; i++) {
		u64 ip = sample->callchain->ips[i];

		if (ip == PERF_CONTEXT_KERNEL)
			tell(test, " K");
		else if (ip == PERF_CONTEXT_USER)
			tell(test, " U");
		else if (ip == PERF_CONTEXT_USER_DEFERRED)
			tell(test, " D");
		else
			tell(test, " %" PRIx64, ip & 0xffffff);
	}
	tell(test, "\n");

	return 0;
}

static int tell_record(const struct perf_tool *tool, union perf_event *event,
		       struct perf_sample *sample, struct evsel *evsel __maybe_unused,
		       struct machine *machine __maybe_unused)
{
	struct test *test = container_of(tool, struct test, tool);

	if (test->mode == DEFERRED_CALLCHAIN_RAW)
		tell(test, "%" PRIu64 ": record %" PRIx64 "\n", sample->time,
		     (u64)event->callchain_deferred.cookie);

	return 0;
}

static int tell_task(const struct perf_tool *tool, union perf_event *event,
		     struct perf_sample *sample __maybe_unused,
		     struct machine *machine __maybe_unused)
{
	struct test *test = container_of(tool, struct test, tool);

	if (event->header.type == PERF_RECORD_EXIT)
		tell(test, "exit %u\n", event->fork.tid);
	else
		tell(test, "exec %u\n", event->comm.tid);

	return 0;
}

static int write_event(const struct perf_tool *tool, union perf_event *event,
		       struct perf_sample *sample __maybe_unused,
		       struct machine *machine __maybe_unused)
{
	struct test *test = container_of(tool, struct test, tool);

	return writen(test->fd, event, event->header.size) == event->header.size ? 0 : -1;
}

static int write_attr(struct test *test)
{
	u64 id = 1;
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_type = SAMPLE_TYPE,
		.sample_period = 1,
		.sample_id_all = 1,
		.sample_max_stack = test->max_stack,
		.defer_callchain = 1,
		.defer_output = 1,
	};

	return perf_event__synthesize_attr(&test->tool, &attr, 1, &id, write_event);
}

static int write_sample(struct test *test, const struct step *step)
{
	struct {
		u64 nr;
		u64 ips[1 + MAX_IPS + 2];
	} chain = { .nr = 0 };
	struct perf_sample sample = {
		.ip = step->nr ? step->ips[0] : USER_IP,
		.pid = PID,
		.tid = step->tid,
		.time = step->time,
		.callchain = (struct ip_callchain *)&chain,
	};
	union perf_event event = {};

	if (step->nr)
		chain.ips[chain.nr++] = PERF_CONTEXT_KERNEL;
	for (u64 i = 0; i < step->nr; i++)
		chain.ips[chain.nr++] = step->ips[i];
	chain.ips[chain.nr++] = PERF_CONTEXT_USER_DEFERRED;
	chain.ips[chain.nr++] = step->cookie;

	event.header.type = PERF_RECORD_SAMPLE;
	event.header.misc = step->nr ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
	event.header.size = perf_event__sample_event_size(&sample, SAMPLE_TYPE, 0);
	if (perf_event__synthesize_sample(&event, SAMPLE_TYPE, 0, &sample))
		return -1;

	return write_event(&test->tool, &event, NULL, NULL);
}

static int write_other(struct test *test, const struct step *step)
{
	union perf_event event = {};
	struct perf_sample sample = {
		.pid = PID,
		.tid = step->tid,
		.time = step->time,
	};
	size_t size;
	int id_size;

	switch (step->type) {
	case PERF_RECORD_CALLCHAIN_DEFERRED:
		event.callchain_deferred.cookie = step->cookie;
		event.callchain_deferred.nr = step->nr + step->more;
		memcpy(event.callchain_deferred.ips, step->ips, step->nr * sizeof(u64));
		size = sizeof(event.callchain_deferred) + step->nr * sizeof(u64);
		break;
	case PERF_RECORD_EXIT:
		event.fork.pid = event.fork.ppid = PID;
		event.fork.tid = event.fork.ptid = step->tid;
		size = sizeof(event.fork);
		break;
	default:
		event.comm.pid = PID;
		event.comm.tid = step->tid;
		size = sizeof(event.comm) - sizeof(event.comm.comm) + sizeof(u64);
		break;
	}

	id_size = perf_event__synthesize_id_sample((__u64 *)((char *)&event + size),
						   SAMPLE_TYPE, &sample);
	event.header.type = step->type;
	event.header.misc = step->misc | PERF_RECORD_MISC_USER;
	event.header.size = size + id_size;

	return write_event(&test->tool, &event, NULL, NULL);
}

static int write_file(struct test *test)
{
	struct perf_pipe_file_header header = {
		.magic = 0x32454c4946524550ULL,	/* PERFILE2 */
		.size = sizeof(header),
	};

	if (writen(test->fd, &header, sizeof(header)) != sizeof(header) || write_attr(test))
		return -1;

	for (const struct step *step = test->steps; step->type; step++) {
		if (step->type == PERF_RECORD_SAMPLE ? write_sample(test, step) :
						       write_other(test, step))
			return -1;
	}

	return 0;
}

static int read_file(struct test *test, const char *path)
{
	struct perf_data data = {
		.path = path,
		.mode = PERF_DATA_MODE_READ,
	};
	struct perf_session *session;
	int err;

	perf_tool__init(&test->tool, /*ordered_events=*/true);
	test->tool.attr = perf_event__process_attr;
	test->tool.sample = tell_sample;
	test->tool.callchain_deferred = tell_record;
	test->tool.comm = tell_task;
	test->tool.exit = tell_task;
	test->tool.deferred_callchains = test->mode;
	test->tool.no_warn = true;

	session = perf_session__new(&data, &test->tool);
	if (IS_ERR(session))
		return PTR_ERR(session);

	if (test->limit)
		session->deferred_callchains.limit = test->limit;
	err = perf_session__process_events(session);
	perf_session__delete(session);

	return err;
}

static int run(struct test test)
{
	char path[] = "/tmp/perf-test-deferred-XXXXXX";
	int err;

	test.fd = mkstemp(path);
	TEST_ASSERT_VAL("mkstemp() failed", test.fd >= 0);

	err = write_file(&test);
	close(test.fd);
	if (!err)
		err = read_file(&test, path);
	unlink(path);

	TEST_ASSERT_VAL("cannot write and read the file", !err);

	if (strcmp(test.got, test.expect)) {
		pr_debug("expected:\n%sgot:\n%s", test.expect, test.got);
		return TEST_FAIL;
	}

	return TEST_OK;
}

#define RUN(_mode, _expect, ...)						\
	run((struct test) {							\
		.mode = DEFERRED_CALLCHAIN_##_mode, .expect = _expect,		\
		__VA_ARGS__							\
	})
#define STEPS(...)	.steps = (const struct step[]) { __VA_ARGS__, END }

static int test__deferred_merge(struct test_suite *suite __maybe_unused,
				int subtest __maybe_unused)
{
	int ret;

	/* For all samples of the entry to the kernel, in the order of time */
	ret = RUN(MERGE,
		  "1: K 1 2 U 11 12\n"
		  "2: U 11 12\n",
		  STEPS(SAMPLE(1, 100, 7, K1, K2), SAMPLE(2, 100, 7),
			CHAIN(3, 100, 7, 0x11, 0x12)));
	if (ret)
		return ret;

	/* By thread and cookie */
	ret = RUN(MERGE,
		  "3: U 31\n"
		  "2: U 21\n"
		  "1: U 11\n",
		  STEPS(SAMPLE(1, 100, 7), SAMPLE(2, 101, 7), SAMPLE(3, 102, 8),
			CHAIN(4, 102, 8, 0x31), CHAIN(5, 101, 7, 0x21), CHAIN(6, 100, 7, 0x11)));
	if (ret)
		return ret;

	/* Others do not wait for it */
	return RUN(MERGE,
		   "2: U 21\n"
		   "1: U 11\n",
		   STEPS(SAMPLE(1, 100, 7), SAMPLE(2, 101, 8), CHAIN(3, 101, 8, 0x21),
			 CHAIN(4, 100, 7, 0x11)));
}

static int test__deferred_early(struct test_suite *suite __maybe_unused,
				int subtest __maybe_unused)
{
	/* Between the record and the return to user space */
	return RUN(MERGE,
		   "1: K 1 U 11\n"
		   "3: K 2 U 11\n"
		   "5: U 51\n",
		   STEPS(SAMPLE(1, 100, 7, K1), CHAIN(2, 100, 7, 0x11), SAMPLE(3, 100, 7, K2),
			 SAMPLE(5, 100, 8), CHAIN(6, 100, 8, 0x51)));
}

static int test__deferred_missing(struct test_suite *suite __maybe_unused,
				  int subtest __maybe_unused)
{
	int ret;

	/* The record of another entry to the kernel is none of its own. */
	ret = RUN(MERGE,
		  "2: U 21\n"
		  "1: K 1\n",
		  STEPS(SAMPLE(1, 100, 7, K1), SAMPLE(2, 100, 8), CHAIN(3, 100, 8, 0x21)));
	if (ret)
		return ret;

	/* An empty one and none: the sample tells the innermost user frame. */
	ret = RUN(MERGE,
		  "1: U 4000ff\n"
		  "2: K 1\n"
		  "5: U 4000ff\n",
		  STEPS(SAMPLE(1, 100, 7), SAMPLE(2, 100, 7, K1), CHAIN(3, 100, 7),
			SAMPLE(5, 100, 8)));
	if (ret)
		return ret;

	/* While the thread and its maps are still known */
	ret = RUN(MERGE,
		  "1: K 1\n"
		  "exec 100\n"
		  "3: K 1\n"
		  "exit 100\n"
		  "2: K 2\n",
		  STEPS(SAMPLE(1, 100, 7, K1), SAMPLE(2, 101, 9, K2), EXEC(3, 100),
			SAMPLE(3, 100, 8, K1), EXIT(4, 100), CHAIN(5, 100, 8, 0x31)));
	if (ret)
		return ret;

	/* Not for ever: later records of the thread, lack of memory */
	ret = RUN(MERGE,
		  "1: K 1\n"
		  "20: U 11\n",
		  STEPS(SAMPLE(1, 100, 7, K1),
			CHAIN(2, 100, 8), CHAIN(3, 100, 9), CHAIN(4, 100, 10), CHAIN(5, 100, 11),
			CHAIN(6, 100, 12), CHAIN(7, 100, 13), CHAIN(8, 100, 14), CHAIN(9, 100, 15),
			CHAIN(10, 100, 16), SAMPLE(20, 100, 17), CHAIN(21, 100, 17, 0x11)));
	if (ret)
		return ret;

	return RUN(MERGE,
		   "1: K 1\n"
		   "2: K 2\n",
		   STEPS(SAMPLE(1, 100, 7, K1), SAMPLE(2, 101, 8, K2), CHAIN(3, 100, 7, 0x11),
			 CHAIN(4, 101, 8, 0x21)),
		   .limit = 1);
}

static int test__deferred_invalid(struct test_suite *suite __maybe_unused,
				  int subtest __maybe_unused)
{
	int ret;
	static const u64 too_many[] = { 1, 2, 3, 1ULL << 61, -1ULL };

	/* More entries than there is room for, the sample ID not taken for one */
	for (size_t i = 0; i < ARRAY_SIZE(too_many); i++) {
		ret = RUN(MERGE, "1: K 1\n",
			  STEPS(SAMPLE(1, 100, 7, K1),
				{ STEP(CALLCHAIN_DEFERRED, 2, 100, 7, 0x11),
				  .more = too_many[i] }));
		if (ret)
			return ret;
	}

	/* Kernel addresses in disguise */
	return RUN(MERGE, "1: K 1\n",
		   STEPS(SAMPLE(1, 100, 7, K1),
			 CHAIN(2, 100, 7, 0x11, PERF_CONTEXT_KERNEL, K1)));
}

static int test__deferred_limit(struct test_suite *suite __maybe_unused,
				int subtest __maybe_unused)
{
	/* attr.sample_max_stack is for kernel and user entries together. */
	return RUN(MERGE,
		   "1: U 11 12\n"
		   "2: K 1 U 11\n"
		   "3: K 1 2\n",
		   STEPS(SAMPLE(1, 100, 7), SAMPLE(2, 100, 7, K1), SAMPLE(3, 100, 7, K1, K2),
			 CHAIN(4, 100, 7, 0x11, 0x12, 0x13)),
		   .max_stack = 2);
}

static int test__deferred_modes(struct test_suite *suite __maybe_unused,
				int subtest __maybe_unused)
{
	int ret;

	ret = RUN(CUT,
		  "1: K 1\n"
		  "2: U 4000ff\n",
		  STEPS(SAMPLE(1, 100, 7, K1), SAMPLE(2, 100, 7), CHAIN(3, 100, 7, 0x11)));
	if (ret)
		return ret;

	return RUN(RAW,
		   "1: K 1 D 7\n"
		   "2: D 7\n"
		   "3: record 7\n",
		   STEPS(SAMPLE(1, 100, 7, K1), SAMPLE(2, 100, 7), CHAIN(3, 100, 7, 0x11)));
}

static struct test_case tests__deferred_callchain[] = {
	TEST_CASE("Samples get their deferred callchains", deferred_merge),
	TEST_CASE("Samples after their deferred callchain", deferred_early),
	TEST_CASE("Samples without their deferred callchain", deferred_missing),
	TEST_CASE("Invalid deferred callchains", deferred_invalid),
	TEST_CASE("Limits of deferred callchains", deferred_limit),
	TEST_CASE("Tools that do not merge deferred callchains", deferred_modes),
	{ .name = NULL, }
};

struct test_suite suite__deferred_callchain = {
	.desc = "Deferred callchains",
	.test_cases = tests__deferred_callchain,
};
