/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of the Linux port as it is built without huge pages. This program has its own; what
 * else is in it takes that in the place of the library's. */
#define RT_HUGE_PAGES 0
#include "../../src/port/linux/memory.c"

#include "support/port_fixture.h"

TEST(memory_without_huge_pages_commits_no_page_that_is_not_touched)
{
    fixture_open(NULL);
    size_t huge = (size_t)2 << 20;
    size_t size = 16 * huge;
    char *memory = port->ops->memory_map(port, size);
    CHECK(memory != NULL);
    struct rti_dense dense;
    rti_port_expect_dense(port, &dense, memory, size);
    for (size_t at = 0; at < size; at += huge) {
        rti_port_use_dense(port, &dense, memory + at + 1);
        CHECK_EQ(memory[at], 0);
        memory[at] = 1;
    }
    static unsigned char resident[1 << 14];
    size_t pages = size / fixture.page_size;
    CHECK(pages <= sizeof(resident));
    CHECK_EQ(mincore(memory, size, resident), 0);
    size_t committed = 0;
    for (size_t i = 0; i < pages; i++) {
        committed += resident[i] & 1;
    }
    CHECK_EQ(committed, 16);
    port->ops->memory_unmap(port, memory, size);
    fixture_close();
}
