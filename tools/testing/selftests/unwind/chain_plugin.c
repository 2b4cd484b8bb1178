// SPDX-License-Identifier: GPL-2.0
/* The part of the chain that stands in an object that is loaded at run time. */
#include "chain.h"

long CHAIN_FUNCTION(plugin) chain_plugin(chain_callback_t callback)
{
	long ret;

	spoil_frame_pointer();
	ret = callback();
	spoil_frame_pointer();
	return ret + 1;
}

struct chain_range chain_plugin_range(void)
{
	return CHAIN_RANGE(plugin);
}
