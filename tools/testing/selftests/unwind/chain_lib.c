// SPDX-License-Identifier: GPL-2.0
/* The part of the chain that stands in a shared library. */
#include "chain.h"

long CHAIN_FUNCTION(library)
chain_call_plugin(long (*plugin)(chain_callback_t), chain_callback_t callback)
{
	long ret;

	spoil_frame_pointer();
	ret = plugin(callback);
	spoil_frame_pointer();
	return ret + 1;
}

struct chain_range chain_library_range(void)
{
	return CHAIN_RANGE(library);
}
