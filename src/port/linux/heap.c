/* SPDX-License-Identifier: Apache-2.0 */
/* The heap, for the stacks of actors that ask for it (actor_config.malloc_stack). The one place in
 * the library that names malloc. */
#include <stdlib.h>

#include "port/port.h"

void *rti_port_heap_alloc(size_t size)
{
    return malloc(size);
}

void rti_port_heap_free(void *memory)
{
    free(memory);
}
