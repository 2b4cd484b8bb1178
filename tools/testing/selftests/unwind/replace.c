// SPDX-License-Identifier: GPL-2.0
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replace.h"

/**
 * task_fork - make a child that will run a function
 * @task: the child
 * @function: what it will run before it exits with status 0
 *
 * Return: 0, or -1 with errno set.
 */
int task_fork(struct task *task, void (*function)(void))
{
	int start[2];
	char byte;

	if (pipe(start))
		return -1;
	task->pid = fork();
	if (!task->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(start[1]);
		if (read(start[0], &byte, 1) != 1)
			_exit(2);
		function();
		_exit(0);
	}
	close(start[0]);
	task->start = start[1];
	return task->pid < 0 ? -1 : 0;
}

/**
 * task_start - let the child run
 * @task: from task_fork()
 *
 * Return: 0, or -1 with errno set.
 */
int task_start(struct task *task)
{
	return write(task->start, "", 1) == 1 ? 0 : -1;
}

/**
 * task_wait_at - wait until the child sleeps
 * @task: from task_fork()
 * @ip: where in user space it will go on
 *
 * Return: 0, or -1 if it is gone.
 */
int task_wait_at(const struct task *task, const char *ip)
{
	char path[64], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/syscall", task->pid);
	for (;;) {
		const char *word = NULL;

		file = fopen(path, "r");
		if (!file)
			return -1;
		if (fgets(line, sizeof(line), file))
			word = strrchr(line, ' ');
		fclose(file);
		if (word) {
			unsigned long found;

			if (sscanf(word, "%lx", &found) == 1 && found == (unsigned long)ip)
				return 0;
		}
		sched_yield();
	}
}

/**
 * task_sleeps - how often the child went to sleep so far
 * @task: from task_fork()
 *
 * Return: the number, or -1.
 */
long task_sleeps(const struct task *task)
{
	char path[64], line[256];
	long sleeps = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", task->pid);
	file = fopen(path, "r");
	if (!file)
		return -1;
	while (sleeps < 0 && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "voluntary_ctxt_switches: %ld", &sleeps) != 1)
			sleeps = -1;
	}
	fclose(file);
	return sleeps;
}

/**
 * task_status - wait for the end of the child
 * @task: from task_fork()
 *
 * Return: what waitpid() says, -1 if it failed.
 */
int task_status(struct task *task)
{
	int status;

	close(task->start);
	return waitpid(task->pid, &status, 0) == task->pid ? status : -1;
}

/**
 * start_neighbour - have something else to run on this CPU
 *
 * Return: the process, from now on the calling thread and it share one CPU.
 */
pid_t start_neighbour(void)
{
	cpu_set_t cpu;
	pid_t pid;

	CPU_ZERO(&cpu);
	CPU_SET(sched_getcpu(), &cpu);
	if (sched_setaffinity(0, sizeof(cpu), &cpu))
		return -1;

	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			asm volatile("");
	}
	return pid;
}

/**
 * stop_neighbour - end it
 * @pid: from start_neighbour()
 */
void stop_neighbour(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
