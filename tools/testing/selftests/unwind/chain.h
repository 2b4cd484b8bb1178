/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A chain of calls through three objects. Each of its functions stands in a
 * section of its own, whose bounds tell to which function an address belongs.
 */
#ifndef _CHAIN_H
#define _CHAIN_H

typedef long (*chain_callback_t)(void);

/**
 * struct chain_range - the code of one function
 * @start:	first byte
 * @end:	first byte behind it
 */
struct chain_range {
	const char *start;
	const char *end;
};

#define CHAIN_FUNCTION(name)	__attribute__((noinline, section("text_of_" #name)))

#define CHAIN_RANGE(name)						\
	({								\
		extern const char __start_text_of_##name[]		\
			__attribute__((visibility("hidden")));		\
		extern const char __stop_text_of_##name[]			\
			__attribute__((visibility("hidden")));		\
									\
		(struct chain_range) {					\
			__start_text_of_##name, __stop_text_of_##name	\
		};							\
	})

/* What a frame would look like that none of the functions has. */
static const unsigned long chain_bait[2] __attribute__((unused)) = { 0, 0xba17 };

/*
 * Put a value into the frame pointer register that is no frame pointer, as code
 * that needs the register does; who follows it finds the bait. Code that keeps
 * frame pointers only makes sure of its own: compilers leave it out of a function
 * that calls none.
 */
static inline __attribute__((always_inline)) void spoil_frame_pointer(void)
{
#ifdef CHAIN_FP
	asm volatile("" : : "r"(__builtin_frame_address(0)) : "memory");
#else
	asm volatile("lea %0, %%rbp" : : "m"(chain_bait) : "rbp", "memory");
#endif
}

/* libchain.so */
long chain_call_plugin(long (*plugin)(chain_callback_t callback),
		       chain_callback_t callback);
struct chain_range chain_library_range(void);

#endif /* _CHAIN_H */
