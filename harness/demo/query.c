// SPDX-License-Identifier: GPL-2.0
/*
 * A program to profile: it queries an in-memory SQLite database for a number of
 * seconds. The call chains of its samples cross objects several times:
 *
 *	program    main, sort_titles
 *	SQLite     sqlite3_step ... the sorter of the virtual machine
 *	program    compare_titles, the collation of the ORDER BY
 *	libc       strcasecmp
 *
 *	program    main, find_median
 *	SQLite     sqlite3_step ... the end of an aggregate function
 *	program    median_final
 *	libc       qsort_r
 *	program    compare_prices
 *
 * usage: query [SECONDS [ROWS]]
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include <sqlite3.h>

/* Each of these is to be seen in a profile under its own name. */
#define noinline __attribute__((noinline))

struct prices {
	double *price;
	size_t nr;
	size_t room;
};

static noinline void die(sqlite3 *db, const char *what)
{
	fprintf(stderr, "query: %s: %s\n", what, db ? sqlite3_errmsg(db) : "wrong");
	exit(1);
}

/* The same numbers in every run, on every machine. */
static uint32_t next_random(void)
{
	static uint64_t state = 42;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 33;
}

/*
 * Titles compare without regard to case. The arguments have no terminating
 * zero, so they are copied, as many a real collation does.
 */
static noinline int compare_titles(void *unused, int la, const void *a,
				   int lb, const void *b)
{
	char left[64], right[64];
	int order;

	if (la >= (int)sizeof(left) || lb >= (int)sizeof(right))
		die(NULL, "title too long");
	memcpy(left, a, la);
	memcpy(right, b, lb);
	left[la] = '\0';
	right[lb] = '\0';
	order = strcasecmp(left, right);
	return order ? order : la - lb;
}

static noinline int compare_prices(const void *a, const void *b)
{
	const double *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

/* median(price): collects the prices, and sorts them at the end. */
static noinline void median_step(sqlite3_context *context, int argc,
				 sqlite3_value **argv)
{
	struct prices *p = sqlite3_aggregate_context(context, sizeof(*p));

	if (!p)
		die(NULL, "memory");
	if (p->nr == p->room) {
		p->room = p->room ? 2 * p->room : 64;
		p->price = realloc(p->price, p->room * sizeof(*p->price));
		if (!p->price)
			die(NULL, "memory");
	}
	p->price[p->nr++] = sqlite3_value_double(argv[0]);
}

static noinline void median_final(sqlite3_context *context)
{
	struct prices *p = sqlite3_aggregate_context(context, sizeof(*p));

	qsort(p->price, p->nr, sizeof(*p->price), compare_prices);
	sqlite3_result_double(context, p->price[p->nr / 2]);
	free(p->price);
}

static noinline void fill_table(sqlite3 *db, int rows)
{
	static const char syllable[][4] = {
		"ba", "Be", "ki", "Ko", "la", "Lu", "mi", "Mo", "ra", "Re",
	};
	sqlite3_stmt *insert;
	char title[32];
	int i, j;

	if (sqlite3_exec(db, "CREATE TABLE book (title, price);"
			 "BEGIN", NULL, NULL, NULL) ||
	    sqlite3_prepare_v2(db, "INSERT INTO book VALUES (?, ?)", -1,
			       &insert, NULL))
		die(db, "create");
	for (i = 0; i < rows; i++) {
		title[0] = '\0';
		for (j = 0; j < 6; j++)
			strcat(title, syllable[next_random() % 10]);
		sqlite3_bind_text(insert, 1, title, -1, SQLITE_TRANSIENT);
		sqlite3_bind_double(insert, 2, next_random() % 10000 / 100.0);
		if (sqlite3_step(insert) != SQLITE_DONE)
			die(db, "insert");
		sqlite3_reset(insert);
	}
	sqlite3_finalize(insert);
	if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL))
		die(db, "commit");
}

static noinline void sort_titles(sqlite3 *db, int rows)
{
	char last[64] = "";
	sqlite3_stmt *query;
	int rc, nr = 0;

	if (sqlite3_prepare_v2(db, "SELECT title FROM book "
			       "ORDER BY title COLLATE caseless", -1,
			       &query, NULL))
		die(db, "prepare");
	while ((rc = sqlite3_step(query)) == SQLITE_ROW) {
		const char *title = (const char *)sqlite3_column_text(query, 0);

		if (strcasecmp(last, title) > 0)
			die(NULL, "order of titles");
		strcpy(last, title);
		nr++;
	}
	if (rc != SQLITE_DONE)
		die(db, "sort");
	if (nr != rows)
		die(NULL, "number of rows");
	sqlite3_finalize(query);
}

static noinline double find_median(sqlite3 *db)
{
	sqlite3_stmt *query;
	double median;

	if (sqlite3_prepare_v2(db, "SELECT median(price) FROM book", -1,
			       &query, NULL))
		die(db, "prepare");
	if (sqlite3_step(query) != SQLITE_ROW)
		die(db, "median");
	median = sqlite3_column_double(query, 0);
	sqlite3_finalize(query);
	return median;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 2;
	int rows = argc > 2 ? atoi(argv[2]) : 5000;
	double end, median, first = 0;
	int rounds = 0;
	sqlite3 *db;

	if (argc > 3 || seconds < 0 || rows < 1) {
		fprintf(stderr, "usage: query [SECONDS [ROWS]]\n");
		return 2;
	}
	if (sqlite3_open(":memory:", &db) ||
	    sqlite3_create_collation(db, "caseless", SQLITE_UTF8, NULL,
				     compare_titles) ||
	    sqlite3_create_function(db, "median", 1, SQLITE_UTF8, NULL, NULL,
				    median_step, median_final))
		die(db, "open");
	fill_table(db, rows);
	end = now() + seconds;
	do {
		sort_titles(db, rows);
		median = find_median(db);
		if (rounds++ == 0)
			first = median;
		else if (median != first)
			die(NULL, "median");
	} while (now() < end);
	printf("query: %d rounds over %d rows with SQLite %s, median %.2f\n",
	       rounds, rows, sqlite3_libversion(), median);
	sqlite3_close(db);
	return 0;
}
