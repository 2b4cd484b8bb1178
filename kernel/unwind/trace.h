/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM unwind

#if !defined(_KERNEL_UNWIND_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _KERNEL_UNWIND_TRACE_H

#include <linux/tracepoint.h>

#include "internal.h"

TRACE_DEFINE_ENUM(USER_UNWIND_END_OUTERMOST);
TRACE_DEFINE_ENUM(USER_UNWIND_END_LIMIT);
TRACE_DEFINE_ENUM(USER_UNWIND_END_NO_TABLE);
TRACE_DEFINE_ENUM(USER_UNWIND_END_MALFORMED);
TRACE_DEFINE_ENUM(USER_UNWIND_END_UNREADABLE);
TRACE_DEFINE_ENUM(USER_UNWIND_END_NO_PROGRESS);
TRACE_DEFINE_ENUM(USER_UNWIND_END_REGISTER);
TRACE_DEFINE_ENUM(USER_UNWIND_END_BUDGET);
TRACE_DEFINE_ENUM(USER_UNWIND_END_KILLED);
TRACE_DEFINE_ENUM(USER_UNWIND_END_NO_MEMORY);
TRACE_DEFINE_ENUM(USER_UNWIND_END_REPLACED);
TRACE_DEFINE_ENUM(UNWIND_PATH_SFRAME);
TRACE_DEFINE_ENUM(UNWIND_PATH_FP);

#define show_path(path)							\
	__print_symbolic(path,						\
			 { UNWIND_PATH_SFRAME,		"sframe" },	\
			 { UNWIND_PATH_FP,		"fp" })

#define show_end(end)							\
	__print_symbolic(end,						\
			 { USER_UNWIND_END_OUTERMOST,	"outermost" },	\
			 { USER_UNWIND_END_LIMIT,	"limit" },	\
			 { USER_UNWIND_END_NO_TABLE,	"no_table" },	\
			 { USER_UNWIND_END_MALFORMED,	"malformed" },	\
			 { USER_UNWIND_END_UNREADABLE,	"unreadable" },	\
			 { USER_UNWIND_END_NO_PROGRESS,	"no_progress" }, \
			 { USER_UNWIND_END_REGISTER,	"register" },	\
			 { USER_UNWIND_END_BUDGET,	"budget" },	\
			 { USER_UNWIND_END_KILLED,	"killed" },	\
			 { USER_UNWIND_END_NO_MEMORY,	"no_memory" },	\
			 { USER_UNWIND_END_REPLACED,	"replaced" })

/* A stack of current was walked; its clients get it next. */
TRACE_EVENT(unwind_user_walk,

	TP_PROTO(u64 cookie, enum unwind_path path, const struct unwind_stack *stack),

	TP_ARGS(cookie, path, stack),

	TP_STRUCT__entry(
		__field(u64,		cookie)
		__field(unsigned long,	last)
		__field(unsigned int,	nr)
		__field(unsigned int,	first_fp)
		__field(unsigned int,	path)
		__field(unsigned int,	end)
	),

	TP_fast_assign(
		__entry->cookie		= cookie;
		__entry->last		= stack->nr ? stack->entries[stack->nr - 1] : 0;
		__entry->nr		= stack->nr;
		__entry->first_fp	= stack->first_fp;
		__entry->path		= path;
		__entry->end		= stack->end;
	),

	TP_printk("cookie=%llx path=%s nr=%u first_fp=%u last=%lx end=%s",
		  __entry->cookie, show_path(__entry->path), __entry->nr,
		  __entry->first_fp, __entry->last, show_end(__entry->end))
);

#endif /* _KERNEL_UNWIND_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH ../../kernel/unwind
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
