/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#define RTI_MODULE "peek_test"
#include "base/peek.h"

#include <sys/mman.h>

#include "port/linux/watch.h"
#include "support/test.h"

TEST(peek_copies_what_stands_still)
{
    const char from[] = "what is there";
    char to[sizeof(from)] = "";
    CHECK(rti_peek_copy(NULL, to, from, sizeof(from)));
    CHECK_STR(to, from);
    CHECK(!rti_peek_copy(NULL, to, NULL, 1));
}

TEST(peek_of_what_is_gone_fails_and_does_not_fault)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char byte = 'k';
    CHECK(page != MAP_FAILED);
    CHECK(rti_peek_copy(rti_watch_peek, &byte, page, 1));
    CHECK_EQ(byte, 0);
    CHECK(munmap(page, 4096) == 0);
    CHECK(!rti_peek_copy(rti_watch_peek, &byte, page, 1));
    CHECK(!rti_peek_copy(rti_watch_peek, &byte, NULL, 1));
}
