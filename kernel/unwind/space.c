// SPDX-License-Identifier: GPL-2.0
/*
 * Room for the frames of a task.
 *
 * Comes with the first walk and goes when the task was not walked for a second,
 * when the last client leaves, when memory is short, or with the task.
 *
 * unwind_task::space is what nobody uses at the moment. Who swaps it for NULL owns
 * it: the task for a walk, or who wants to free it. So nobody has to wait for a
 * walk, which may take as long as user space likes.
 */
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/sched.h>
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "internal.h"

/* Of who is watched, who must not be killed for it: a failure costs one stack. */
#define GFP_UNWIND	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

#define IDLE_TIME	HZ

static void free_idle_spaces(struct work_struct *work);
static DECLARE_DELAYED_WORK(idle_work, free_idle_spaces);

/* Protects @spaces, and keeps the tasks of what is in it. */
static DEFINE_SPINLOCK(spaces_lock);
static LIST_HEAD(spaces);
static unsigned long nr_spaces;

static struct unwind_space *make_space(void)
{
	struct unwind_space *space = kzalloc(sizeof(*space), GFP_UNWIND);

	if (!space)
		return NULL;

	space->task = current;
	atomic_long_or(UNWIND_HAS_SPACE, &current->unwind.flags);
	scoped_guard(spinlock, &spaces_lock) {
		list_add_tail(&space->node, &spaces);
		nr_spaces++;
	}
	schedule_delayed_work(&idle_work, IDLE_TIME);
	return space;
}

/* Called with @spaces_lock held. */
static void forget_space(struct unwind_space *space, struct list_head *dead)
{
	list_move(&space->node, dead);
	nr_spaces--;
}

static void free_spaces(struct list_head *dead)
{
	struct unwind_space *space, *next;
	enum unwind_path path;

	list_for_each_entry_safe(space, next, dead, node) {
		for (path = 0; path < UNWIND_NR_PATHS; path++)
			kvfree(space->stacks[path].entries);
		kfree(space);
	}
}

/**
 * unwind_space_take - room for a walk of current
 *
 * Context: Task context, may sleep. No other walk of current is under way.
 * Return: NULL if there is no memory; else to be given to unwind_space_return().
 */
struct unwind_space *unwind_space_take(void)
{
	return xchg(&current->unwind.space, NULL) ?: make_space();
}

/**
 * unwind_space_return - a walk of current is over
 * @space: what unwind_space_take() gave out
 */
void unwind_space_return(struct unwind_space *space)
{
	WRITE_ONCE(space->last_use, jiffies);
	/* Pairs with cmpxchg() in free_unused(): the walk is over. */
	smp_store_release(&current->unwind.space, space);
}

/**
 * unwind_space_grow - make room for entries
 * @stack: a stack of a space that the caller has taken; what is in it is lost
 * @entries: how many
 *
 * Context: Task context, may sleep.
 * Return: false if there is no memory.
 */
bool unwind_space_grow(struct unwind_stack *stack, unsigned int entries)
{
	if (stack->room >= entries)
		return true;

	kvfree(stack->entries);
	stack->cookie = 0;
	stack->room = 0;
	stack->entries = kvmalloc_array(entries, sizeof(*stack->entries), GFP_UNWIND);
	if (stack->entries)
		stack->room = entries;
	return stack->entries;
}

/**
 * unwind_space_free - current has been walked for the last time
 *
 * Context: Task context, may sleep.
 */
void unwind_space_free(void)
{
	struct unwind_space *space = NULL;
	LIST_HEAD(dead);

	/* Most tasks are never walked: no lock for them. */
	if (!(atomic_long_read(&current->unwind.flags) & UNWIND_HAS_SPACE))
		return;

	/* Also waits for who is freeing it and looks at current. */
	scoped_guard(spinlock, &spaces_lock) {
		space = xchg(&current->unwind.space, NULL);
		if (space)
			forget_space(space, &dead);
	}
	free_spaces(&dead);
}

/* Free up to @nr that were not used for @age. Return how many were freed. */
static unsigned long free_unused(unsigned long nr, unsigned long age)
{
	struct unwind_space *space, *next;
	unsigned long freed = 0;
	LIST_HEAD(dead);

	scoped_guard(spinlock, &spaces_lock) {
		list_for_each_entry_safe(space, next, &spaces, node) {
			if (freed == nr)
				break;
			if (time_before(jiffies, READ_ONCE(space->last_use) + age))
				continue;
			if (cmpxchg(&space->task->unwind.space, space, NULL) != space)
				continue;
			forget_space(space, &dead);
			freed++;
		}
	}
	free_spaces(&dead);
	return freed;
}

/**
 * unwind_space_free_all - free what no walk uses
 *
 * Context: May sleep.
 */
void unwind_space_free_all(void)
{
	free_unused(ULONG_MAX, 0);
}

/**
 * unwind_space_count - how many tasks have room for walks
 */
unsigned long unwind_space_count(void)
{
	return READ_ONCE(nr_spaces);
}

static void free_idle_spaces(struct work_struct *work)
{
	free_unused(ULONG_MAX, IDLE_TIME);
	if (unwind_space_count())
		schedule_delayed_work(&idle_work, IDLE_TIME);
}

static unsigned long count_spaces(struct shrinker *shrinker, struct shrink_control *sc)
{
	return unwind_space_count() ?: SHRINK_EMPTY;
}

static unsigned long shrink_spaces(struct shrinker *shrinker, struct shrink_control *sc)
{
	return free_unused(sc->nr_to_scan, 0) ?: SHRINK_STOP;
}

static int __init unwind_space_init(void)
{
	struct shrinker *shrinker = shrinker_alloc(0, "unwind");

	if (!shrinker)
		return -ENOMEM;

	shrinker->count_objects = count_spaces;
	shrinker->scan_objects = shrink_spaces;
	shrinker_register(shrinker);
	return 0;
}
subsys_initcall(unwind_space_init);
