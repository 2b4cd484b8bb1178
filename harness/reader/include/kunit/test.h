/* SPDX-License-Identifier: GPL-2.0 */
/* Enough of KUnit to run the suites of the SFrame reader in user space. */
#ifndef _KUNIT_TEST_H
#define _KUNIT_TEST_H

#include <linux/types.h>

struct kunit {
	unsigned int failures;
};

struct kunit_case {
	void (*run)(struct kunit *test);
	const char *name;
};

struct kunit_suite {
	const char *name;
	struct kunit_case *test_cases;
	struct kunit_suite *next;
};

void kunit_register(struct kunit_suite *suite);

__attribute__((format(printf, 4, 5)))
void kunit_expect(struct kunit *test, bool ok, const char *what,
		  const char *format, ...);

#define KUNIT_CASE(fn)		{ fn, #fn }

#define kunit_test_suite(suite)						\
	__attribute__((constructor)) static void register_##suite(void)	\
	{								\
		kunit_register(&suite);					\
	}								\
	struct kunit_suite

#define KUNIT_EXPECT_TRUE_MSG(test, value, ...)				\
	kunit_expect(test, value, #value, __VA_ARGS__)
#define KUNIT_EXPECT_FALSE_MSG(test, value, ...)			\
	kunit_expect(test, !(value), "not " #value, __VA_ARGS__)
#define KUNIT_EXPECT_EQ_MSG(test, a, b, ...)				\
	kunit_expect(test, (a) == (b), #a " == " #b, __VA_ARGS__)
#define KUNIT_EXPECT_TRUE(test, value)	KUNIT_EXPECT_TRUE_MSG(test, value, " ")
#define KUNIT_EXPECT_FALSE(test, value)	KUNIT_EXPECT_FALSE_MSG(test, value, " ")
#define KUNIT_EXPECT_EQ(test, a, b)	KUNIT_EXPECT_EQ_MSG(test, a, b, " ")

#define MODULE_DESCRIPTION(text)	struct kunit_suite
#define MODULE_LICENSE(text)		struct kunit_suite

#endif
