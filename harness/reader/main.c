// SPDX-License-Identifier: GPL-2.0
/* Runs KUnit suites in user space; prints TAP, numbered on from the argument. */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <kunit/test.h>

/* The first few failures of a case say what there is to say. */
#define MAX_SHOWN	8

static struct kunit_suite *suites, **last = &suites;

void kunit_register(struct kunit_suite *suite)
{
	*last = suite;
	last = &suite->next;
}

void kunit_expect(struct kunit *test, bool ok, const char *what,
		  const char *format, ...)
{
	va_list args;

	if (ok || test->failures++ >= MAX_SHOWN)
		return;

	printf("# %s: ", what);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

static bool run_suite(struct kunit_suite *suite, unsigned int *number)
{
	struct kunit_case *c;
	bool good = true;

	for (c = suite->test_cases; c->run; c++) {
		struct kunit test = { 0 };

		c->run(&test);
		good &= !test.failures;
		printf("%sok %u - reader/%s/%s\n", test.failures ? "not " : "",
		       ++*number, suite->name, c->name);
		fflush(stdout);
	}
	return good;
}

int main(int argc, char **argv)
{
	unsigned int number = argc > 1 ? atoi(argv[1]) : 0;
	struct kunit_suite *suite;
	bool good = true;

	for (suite = suites; suite; suite = suite->next)
		good &= run_suite(suite, &number);
	printf("1..%u\n", number);
	return !good;
}
