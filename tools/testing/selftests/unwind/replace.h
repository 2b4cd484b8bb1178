/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests of what replaces user registers: functions of which every address is
 * known, and a task that runs them while another one looks at its stacks.
 */
#ifndef _REPLACE_H
#define _REPLACE_H

#include <stdbool.h>
#include <sys/types.h>

#include "chain.h"
#include "perf_stack_check.h"

/* A function in assembler, in a section of its own as those of CHAIN_FUNCTION(). */
#define ASM_FUNCTION(name, body)					\
	asm(".pushsection text_of_" #name ", \"ax\", @progbits\n"	\
	    ".globl " #name "\n"					\
	    ".type " #name ", @function\n"				\
	    #name ":\n"							\
	    ".cfi_startproc\n"						\
	    body							\
	    ".cfi_endproc\n"						\
	    ".size " #name ", . - " #name "\n"				\
	    ".popsection\n")

/* A label that C can see. The instruction behind it is what is meant. */
#define ASM_LABEL(name)	".globl " #name "\n" #name ":\n"

/* A system call: a function of libc would be a frame of its own. */
static inline __attribute__((always_inline)) long
raw_syscall(long nr, long arg0, long arg1, long arg2, long arg3)
{
	register long r10 asm("r10") = arg3;
	long ret;

	asm volatile("syscall"
		     : "=a"(ret)
		     : "0"(nr), "D"(arg0), "S"(arg1), "d"(arg2), "r"(r10)
		     : "rcx", "r11", "memory");
	return ret;
}

static inline bool in_function(__u64 ip, struct chain_range range)
{
	/* A return address may be the first byte behind the function. */
	return ip >= (unsigned long)range.start && ip <= (unsigned long)range.end;
}

/**
 * struct task - a child that waits to be told to run
 * @pid:	it
 * @start:	pipe that it waits for
 */
struct task {
	pid_t	pid;
	int	start;
};

int task_fork(struct task *task, void (*function)(void));
int task_start(struct task *task);
int task_wait_at(const struct task *task, const char *ip);
long task_sleeps(const struct task *task);
int task_status(struct task *task);

pid_t start_neighbour(void);
void stop_neighbour(pid_t pid);

#endif /* _REPLACE_H */
