/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "text_test"
#include "base/text.h"

#include <orrery/rt.h>
#include <stdlib.h>

#include "base/assert.h"
#include "sched/fiber.h"
#include "support/test.h"

#define ADDRESS(function) ((uintptr_t)(function))

TEST(text_is_known_in_this_build)
{
    CHECK(rti_text_is_known());
}

TEST(text_holds_public_internal_and_cold_functions)
{
    CHECK(rti_text_holds(ADDRESS(rt_ipc_send)));
    CHECK(rti_text_holds(ADDRESS(rt_bus_publish)));
    CHECK(rti_text_holds(ADDRESS(rt_net_connect)));
    CHECK(rti_text_holds(ADDRESS(rti_fiber_park)));
    CHECK(rti_text_holds(ADDRESS(rti_port_log)));
    /* Marked cold, so that compilers put them apart. */
    CHECK(rti_text_holds(ADDRESS(rti_panic)));
    CHECK(rti_text_holds(ADDRESS(rti_fiber_overflow)));
}

static int function_of_the_program(void)
{
    return 1;
}

TEST(text_does_not_hold_the_program_nor_the_c_library_nor_data)
{
    static int data;
    int local;
    CHECK(!rti_text_holds(ADDRESS(function_of_the_program)));
    CHECK(!rti_text_holds(ADDRESS(test_skip)));
    CHECK(!rti_text_holds(ADDRESS(memcpy)));
    CHECK(!rti_text_holds(ADDRESS(abort)));
    CHECK(!rti_text_holds((uintptr_t)&data));
    CHECK(!rti_text_holds((uintptr_t)&local));
    CHECK(!rti_text_holds(0));
    CHECK(!rti_text_holds(UINTPTR_MAX));
    CHECK_EQ(function_of_the_program(), 1);
}
