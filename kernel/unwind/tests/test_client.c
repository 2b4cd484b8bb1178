// SPDX-License-Identifier: GPL-2.0
/*
 * Clients of the unwinder for tests: the device, its clients, and the log of their
 * callbacks. See test_client.h for what it offers, test_module.h for the rest.
 */
#include <linux/cleanup.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "test_module.h"

#define LOG_RECORDS	1024

static void log_callback(struct unwind_test_client *client,
			 const struct user_space_stack *stack, u64 cookie)
{
	unsigned int hashed = min(client->options.hash_entries ?: stack->nr, stack->nr);
	struct unwind_test_log *log = &client->test->log;
	struct unwind_test_record *record;
	unsigned int i;
	u64 hash = 0;

	for (i = 0; i < hashed; i++)
		hash = unwind_test_hash(hash, stack->entries[i]);

	guard(spinlock)(&log->lock);
	if (log->head - log->tail == LOG_RECORDS) {
		log->lost++;
		return;
	}
	record = &log->records[log->head++ % LOG_RECORDS];
	*record = (struct unwind_test_record) {
		.cookie		= cookie,
		.hash		= hash,
		.client		= client->index,
		.pid		= task_pid_nr(current),
		.cpu		= smp_processor_id(),
		.type		= stack->type,
		.nr		= stack->nr,
		.first_fp	= stack->first_fp,
		.end		= stack->end,
		.truncated	= stack->truncated,
	};
	memcpy(record->entries, stack->entries,
	       min(stack->nr, UNWIND_TEST_ENTRIES) * sizeof(stack->entries[0]));
}

static void receive_stack(struct unwinder_client *unwinder_client,
			  const struct user_space_stack *stack, u64 cookie)
{
	struct unwind_test_client *client =
		container_of(unwinder_client, struct unwind_test_client, client);
	struct unwind_test *test = client->test;

	atomic64_inc(&test->counters.callbacks);
	if (!in_task() || irqs_disabled() || !rcu_read_lock_held())
		atomic64_inc(&test->counters.wrong_context);
	test_account_arrived(test, client->index, stack->nr ? stack->entries[0] : 0, cookie);
	if (client->options.flags & UNWIND_TEST_LOG)
		log_callback(client, stack, cookie);
	unwind_test_trigger_all(test, client->options.retrigger, test_user_ip());
}

static struct unwind_test_client *free_client(struct unwind_test *test)
{
	unsigned int i;

	for (i = 0; i < UNWIND_TEST_CLIENTS; i++) {
		if (!test->clients[i].used)
			return &test->clients[i];
	}
	return NULL;
}

static int add_client(struct unwind_test *test, struct unwind_test_add *options)
{
	struct unwind_test_client *client = free_client(test);
	int ret;

	if (!client)
		return -ENOSPC;
	if (options->flags & ~UNWIND_TEST_LOG || options->pad)
		return -EINVAL;

	options->index = client->index;
	client->options = *options;
	client->client.callback = receive_stack;
	client->client.name = "unwind_test";
	client->client.type = options->type;
	client->client.max_entries = options->max_entries;
	ret = unwinder_register(&client->client);
	client->used = !ret;
	return ret;
}

static void remove_clients(struct unwind_test *test, u64 clients)
{
	unsigned long mask = clients;
	unsigned int i;

	for_each_set_bit(i, &mask, UNWIND_TEST_CLIENTS)
		unwinder_unregister(&test->clients[i].client);
	/* Triggers that were accepted before are accounted for now. */
	synchronize_rcu();
	test_account_withdraw(test->account, clients);
	for_each_set_bit(i, &mask, UNWIND_TEST_CLIENTS)
		test->clients[i].used = false;
}

static int remove_client(struct unwind_test *test, unsigned long index)
{
	if (index >= UNWIND_TEST_CLIENTS || !test->clients[index].used)
		return -ENOENT;
	remove_clients(test, BIT_ULL(index));
	return 0;
}

static int wait_for_wake(struct unwind_test *test)
{
	int wakes = atomic_read(&test->wakes), ret;

	atomic_inc(&test->waiting);
	ret = wait_event_interruptible(test->sleepers, atomic_read(&test->wakes) != wakes);
	atomic_dec(&test->waiting);
	return ret ? -EINTR : 0;
}

static int ioctl_trigger(struct unwind_test *test, void __user *arg)
{
	struct unwind_test_trigger *trigger __free(kfree) = NULL;
	int ret;

	trigger = memdup_user(arg, sizeof(*trigger));
	if (IS_ERR(trigger))
		return PTR_ERR(no_free_ptr(trigger));

	ret = unwind_test_trigger(test, trigger);
	if (!ret && copy_to_user(arg, trigger, sizeof(*trigger)))
		ret = -EFAULT;
	if (!ret && trigger->flags & UNWIND_TEST_WAIT)
		ret = wait_for_wake(test);
	return ret;
}

static void read_counters(struct unwind_test *test, struct unwind_test_stats *stats)
{
	struct unwind_test_counters *counters = &test->counters;
	unsigned int i;

	stats->triggers = atomic64_read(&counters->triggers);
	stats->accepted = atomic64_read(&counters->accepted);
	stats->callbacks = atomic64_read(&counters->callbacks);
	stats->duplicated = atomic64_read(&counters->duplicated);
	stats->wrong_cookie = atomic64_read(&counters->wrong_cookie);
	stats->wrong_stack = atomic64_read(&counters->wrong_stack);
	stats->wrong_context = atomic64_read(&counters->wrong_context);
	stats->not_accounted = atomic64_read(&counters->not_accounted);
	for (i = 0; i < UNWIND_TEST_NR_NMI; i++)
		stats->nmi[i] = atomic64_read(&counters->nmi[i]);
	for (i = 0; i < UNWIND_TEST_ERRNOS; i++)
		stats->refused[i] = atomic64_read(&counters->refused[i]);
}

static int ioctl_stats(struct unwind_test *test, void __user *arg)
{
	struct unwind_test_stats *stats __free(kfree) = NULL;

	stats = kzalloc(sizeof(*stats), GFP_KERNEL);
	if (!stats)
		return -ENOMEM;

	test_account_sweep(test, stats);
	read_counters(test, stats);
	stats->waiting = atomic_read(&test->waiting);
	scoped_guard(spinlock, &test->log.lock)
		stats->log_lost = test->log.lost;
	return copy_to_user(arg, stats, sizeof(*stats)) ? -EFAULT : 0;
}

static int ioctl_add(struct unwind_test *test, void __user *arg)
{
	struct unwind_test_add options;
	int ret;

	if (copy_from_user(&options, arg, sizeof(options)))
		return -EFAULT;
	ret = add_client(test, &options);
	if (!ret && copy_to_user(arg, &options, sizeof(options))) {
		remove_clients(test, BIT_ULL(options.index));
		ret = -EFAULT;
	}
	return ret;
}

static int ioctl_source(struct unwind_test *test, void __user *arg)
{
	struct unwind_test_source options;
	int ret;

	if (copy_from_user(&options, arg, sizeof(options)))
		return -EFAULT;
	ret = unwind_test_start(test, &options);
	if (!ret && copy_to_user(arg, &options, sizeof(options))) {
		unwind_test_stop(test, options.id);
		ret = -EFAULT;
	}
	return ret;
}

static int ioctl_locked(struct unwind_test *test, unsigned int command, unsigned long arg)
{
	switch (command) {
	case UNWIND_TEST_ADD:
		return ioctl_add(test, (void __user *)arg);
	case UNWIND_TEST_REMOVE:
		return remove_client(test, arg);
	case UNWIND_TEST_SOURCE:
		return ioctl_source(test, (void __user *)arg);
	case UNWIND_TEST_STOP:
		return unwind_test_stop(test, arg);
	case UNWIND_TEST_STATS:
		return ioctl_stats(test, (void __user *)arg);
	default:
		return -ENOTTY;
	}
}

static long unwind_test_ioctl(struct file *file, unsigned int command, unsigned long arg)
{
	struct unwind_test *test = file->private_data;
	int ret;

	switch (command) {
	case UNWIND_TEST_TRIGGER:
		return ioctl_trigger(test, (void __user *)arg);
	case UNWIND_TEST_WAKE:
		atomic_inc(&test->wakes);
		wake_up_all(&test->sleepers);
		return 0;
	}

	if (mutex_lock_killable(&test->lock))
		return -EINTR;
	ret = ioctl_locked(test, command, arg);
	mutex_unlock(&test->lock);
	return ret;
}

static bool take_record(struct unwind_test_log *log, struct unwind_test_record *record)
{
	guard(spinlock)(&log->lock);
	if (log->head == log->tail)
		return false;
	*record = log->records[log->tail++ % LOG_RECORDS];
	return true;
}

/* Does not wait: 0 if there is none. */
static ssize_t unwind_test_read(struct file *file, char __user *buffer, size_t size,
				loff_t *offset)
{
	struct unwind_test_record *record __free(kfree) = NULL;
	struct unwind_test *test = file->private_data;
	size_t done = 0;

	record = kmalloc(sizeof(*record), GFP_KERNEL);
	if (!record)
		return -ENOMEM;

	while (size - done >= sizeof(*record) && take_record(&test->log, record)) {
		if (copy_to_user(buffer + done, record, sizeof(*record)))
			return done ?: -EFAULT;
		done += sizeof(*record);
	}
	return done;
}

static void free_test(struct unwind_test *test)
{
	test_account_free(test->account);
	vfree(test->log.records);
	kvfree(test);
}

static int unwind_test_open(struct inode *inode, struct file *file)
{
	struct unwind_test *test;
	unsigned int i;

	test = kvzalloc(sizeof(*test), GFP_KERNEL);
	if (!test)
		return -ENOMEM;

	mutex_init(&test->lock);
	spin_lock_init(&test->log.lock);
	init_waitqueue_head(&test->sleepers);
	INIT_LIST_HEAD(&test->sources);
	for (i = 0; i < UNWIND_TEST_CLIENTS; i++) {
		test->clients[i].test = test;
		test->clients[i].index = i;
	}
	test->account = test_account_new();
	test->log.records = vzalloc(LOG_RECORDS * sizeof(test->log.records[0]));
	if (!test->account || !test->log.records) {
		free_test(test);
		return -ENOMEM;
	}
	file->private_data = test;
	return stream_open(inode, file);
}

static int unwind_test_release(struct inode *inode, struct file *file)
{
	struct unwind_test *test = file->private_data;
	u64 clients = 0;
	unsigned int i;

	unwind_test_stop_all(test);
	for (i = 0; i < UNWIND_TEST_CLIENTS; i++) {
		if (test->clients[i].used)
			clients |= BIT_ULL(i);
	}
	remove_clients(test, clients);
	free_test(test);
	return 0;
}

static const struct file_operations unwind_test_operations = {
	.owner		= THIS_MODULE,
	.open		= unwind_test_open,
	.release	= unwind_test_release,
	.read		= unwind_test_read,
	.unlocked_ioctl	= unwind_test_ioctl,
};

static struct miscdevice unwind_test_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "unwind_test",
	.mode	= 0600,
	.fops	= &unwind_test_operations,
};

static int __init unwind_test_init(void)
{
	int ret;

	ret = test_nmi_init();
	if (ret)
		return ret;
	ret = misc_register(&unwind_test_device);
	if (ret)
		test_nmi_exit();
	return ret;
}
module_init(unwind_test_init);

static void __exit unwind_test_exit(void)
{
	misc_deregister(&unwind_test_device);
	test_nmi_exit();
}
module_exit(unwind_test_exit);

MODULE_DESCRIPTION("Clients of the user-space unwinder for tests");
MODULE_LICENSE("GPL");
