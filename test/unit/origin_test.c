/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "origin_test"
#include "sched/origin.h"

#include <string.h>

#include "base/assert.h"
#include "support/test.h"

static struct rti_origins origins;

/* Addresses that nobody looks at, the same in every run. */
#define CODE(i) ((const void *)(uintptr_t)(0x400000 + 7 * (i)))
#define CODES   ((size_t)4 * RTI_ORIGINS_MAX)

static void begin(void)
{
    memset(&origins, 0, sizeof(origins));
    rti_origins_init(&origins);
}

static void check_chain(uint32_t number, const void *a, const void *b, const void *c, const void *d)
{
    const void *addresses[RTI_ORIGIN_SITES];
    const void *lines[RTI_ORIGIN_SITES];
    rti_origins_tell(&origins, number, addresses, lines);
    CHECK(addresses[0] == a && addresses[1] == b && addresses[2] == c && addresses[3] == d);
    rti_origins_tell(&origins, number, addresses, NULL);
    CHECK(addresses[0] == a && addresses[3] == d);
}

static uint32_t number_of(uint32_t parent, size_t place)
{
    return rti_origins_number(&origins, parent, CODE(place), NULL);
}

TEST(origin_tells_the_chain_youngest_first)
{
    begin();
    uint32_t a = number_of(0, 1);
    uint32_t b = number_of(a, 2);
    uint32_t c = number_of(b, 3);
    check_chain(0, NULL, NULL, NULL, NULL);
    check_chain(a, CODE(1), NULL, NULL, NULL);
    check_chain(c, CODE(3), CODE(2), CODE(1), NULL);
    check_chain(RTI_ORIGINS_MAX + 5, NULL, NULL, NULL, NULL);
    rti_origins_audit(&origins);
}

TEST(origin_is_the_same_number_each_time)
{
    begin();
    uint32_t a = number_of(0, 1);
    uint32_t b = number_of(a, 2);
    uint32_t made = rti_u32_load_relaxed(&origins.count);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(number_of(0, 1), a);
        CHECK_EQ(number_of(a, 2), b);
    }
    CHECK_EQ(rti_u32_load_relaxed(&origins.count), made);
    /* The same place by another way is another chain, and so is another line. */
    CHECK(number_of(0, 2) != b);
    CHECK(rti_origins_number(&origins, 0, CODE(1), CODE(7)) != a);
}

TEST(origin_forgets_the_oldest_spawn)
{
    begin();
    uint32_t at = 0;
    for (size_t i = 1; i <= 9; i++) {
        at = number_of(at, i);
        rti_origins_audit(&origins);
    }
    check_chain(at, CODE(9), CODE(8), CODE(7), CODE(6));
}

TEST(origin_of_one_that_starts_its_like_for_ever_needs_few_entries)
{
    begin();
    uint32_t at = 0;
    for (int i = 0; i < 100000; i++) {
        at = number_of(at, 1);
    }
    check_chain(at, CODE(1), CODE(1), CODE(1), CODE(1));
    CHECK_EQ(rti_u32_load_relaxed(&origins.count), 1 + RTI_ORIGIN_SITES);
}

/* Those without ancestors find room when the others have used up their part. */
TEST(origin_table_that_is_crowded_tells_the_spawn_alone_and_a_full_one_nothing)
{
    begin();
    uint32_t root = number_of(0, 0);
    size_t place = 1;
    while (origins.entries[number_of(root, place)].before == root) {
        place++;
        RT_ASSERT(place < CODES);
    }
    CHECK(place > RTI_ORIGINS_MAX / 2);
    check_chain(number_of(root, place), CODE(place), NULL, NULL, NULL);
    check_chain(number_of(root, 1), CODE(1), CODE(0), NULL, NULL);
    while (number_of(0, place) != 0) {
        check_chain(number_of(0, place), CODE(place), NULL, NULL, NULL);
        place++;
        RT_ASSERT(place < CODES);
    }
    CHECK(place > RTI_ORIGINS_MAX * 3 / 4);
    CHECK_EQ(number_of(root, place), 0);
    check_chain(number_of(root, 1), CODE(1), CODE(0), NULL, NULL);
    rti_origins_audit(&origins);
}
