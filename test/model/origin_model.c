/* SPDX-License-Identifier: Apache-2.0 */

/* The table of spawns: several workers make entries in the same moment, and somebody looks. What is
 * found is whole. */

#include "sched/origin.h"

#include <string.h>

#include "port/explore/explore.h"

static struct rti_origins origins;

/* Places that nobody looks at; the same in every run, as their places in the table are. */
#define CODE(i) ((const void *)(uintptr_t)(0x4000 + 16 * (i)))
#define LINE(i) ((const void *)(uintptr_t)(0x8000 + 16 * (i)))

static void setup(void)
{
    memset(&origins, 0, sizeof(origins));
    rti_origins_init(&origins);
    explore_name(&origins.count, "count");
}

/* Is this a chain that ends with the spawn 0, or nothing? */
static void check_chain(uint32_t number)
{
    const void *addresses[RTI_ORIGIN_SITES];
    const void *lines[RTI_ORIGIN_SITES];
    rti_origins_tell(&origins, number, addresses, lines);
    bool is_first = addresses[0] == CODE(0) && lines[0] == LINE(0) && addresses[1] == NULL;
    bool is_second = addresses[0] == CODE(1) && lines[0] == LINE(1) && addresses[1] == CODE(0) &&
                     lines[1] == LINE(0) && addresses[2] == NULL;
    EXPLORE_ASSERT(is_first || is_second || (addresses[0] == NULL && lines[0] == NULL));
}

/* One that is started, and starts another. */
static void spawn(void)
{
    uint32_t parent = rti_origins_number(&origins, 0, CODE(0), LINE(0));
    uint32_t child = rti_origins_number(&origins, parent, CODE(1), LINE(1));
    EXPLORE_ASSERT(parent != 0 && child != 0 && parent != child);
    check_chain(child);
}

/* A tool that looks at whatever is there. */
static void look(void)
{
    for (uint32_t i = 1; i < RTI_ORIGINS_MAX; i++) {
        check_chain(i);
    }
}

static void check(void)
{
    /* Both may have made the same entry, and each then has its own. */
    explore_outcome(rti_u32_load_relaxed(&origins.count));
    rti_origins_audit(&origins);
}

MODEL(origin_of_two_who_start_the_same){
    .about = "two who start the same in the same moment both have a whole chain",
    .setup = setup,
    .threads = {spawn, spawn},
    .check = check,
    .outcomes = {{3, {3, 4, 5}}, {3, {3, 4, 5}}},
};

MODEL(origin_is_told_whole_or_not_at_all){
    .about = "who looks while an entry is made sees all of it, or nothing",
    .setup = setup,
    .threads = {spawn, look},
    .check = check,
    .outcomes = {{1, {3}}, {1, {3}}},
};
