/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

#include "port/port.h"
#include "support/test.h"

TEST(heap_memory_is_aligned_and_writable)
{
    char *memory = rti_port_heap_alloc(4096);
    CHECK(memory != NULL && (uintptr_t)memory % _Alignof(max_align_t) == 0);
    memset(memory, 1, 4096);
    rti_port_heap_free(memory);
}
