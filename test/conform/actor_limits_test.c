/* SPDX-License-Identifier: Apache-2.0 */
/* Every limit of rt_static_config.h can be set when the library is compiled. This file sets them
 * all before it reads the header, and uses nothing of the library. */
#define RT_MAX_ACTORS              7
#define RT_STACK_ARENA_SIZE        70001
#define RT_MAX_BUSES               3
#define RT_MAX_BUS_ENTRIES         5
#define RT_MAILBOX_ENTRY_POOL_SIZE 11
#define RT_MESSAGE_DATA_POOL_SIZE  13
#define RT_SYNC_BUFFER_POOL_SIZE   2
#define RT_MAX_MESSAGE_SIZE        33
#define RT_LINK_ENTRY_POOL_SIZE    4
#define RT_MONITOR_ENTRY_POOL_SIZE 6
#define RT_TIMER_ENTRY_POOL_SIZE   8
#define RT_COMPLETION_QUEUE_SIZE   16
#define RT_DEFAULT_STACK_SIZE      9000
#define RT_STACK_GUARD_SIZE        0
#define RTI_MODULE                 "actor_limits_test"
#include "actor/actors.h"
#include "support/test.h"

TEST(actor_spec_limits_can_all_be_set_at_compile_time)
{
    CHECK_EQ(RT_MAX_ACTORS, 7);
    CHECK_EQ(RT_STACK_ARENA_SIZE, 70001);
    CHECK_EQ(RT_MAX_BUSES, 3);
    CHECK_EQ(RT_MAX_BUS_ENTRIES, 5);
    CHECK_EQ(RT_MAILBOX_ENTRY_POOL_SIZE, 11);
    CHECK_EQ(RT_MESSAGE_DATA_POOL_SIZE, 13);
    CHECK_EQ(RT_SYNC_BUFFER_POOL_SIZE, 2);
    CHECK_EQ(RT_MAX_MESSAGE_SIZE, 33);
    CHECK_EQ(RT_LINK_ENTRY_POOL_SIZE, 4);
    CHECK_EQ(RT_MONITOR_ENTRY_POOL_SIZE, 6);
    CHECK_EQ(RT_TIMER_ENTRY_POOL_SIZE, 8);
    CHECK_EQ(RT_COMPLETION_QUEUE_SIZE, 16);
    CHECK_EQ(RT_DEFAULT_STACK_SIZE, 9000);
    CHECK_EQ(RT_STACK_GUARD_SIZE, 0);
}

/* The memory follows from the limits, at compile time, with a margin for bookkeeping. */
_Static_assert(sizeof(((struct rti_actors *)0)->table) == 7 * sizeof(struct rti_actor), "table");
_Static_assert(sizeof(((struct rti_stacks *)0)->memory) >= 70001, "arena");
_Static_assert(sizeof(((struct rti_stacks *)0)->memory) < 70001 + 4096, "arena");
_Static_assert(sizeof(struct rti_actors) + sizeof(struct rti_stacks) < 70001 + 32768,
               "all of it is bounded by the limits");

TEST(actor_spec_footprint_is_known_at_compile_time)
{
    enum { footprint = sizeof(struct rti_actors) + sizeof(struct rti_stacks) };
    CHECK(footprint > 70001);
}
