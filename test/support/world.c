/* SPDX-License-Identifier: Apache-2.0 */
#include "support/world.h"

#include <stdlib.h>

#include "support/test.h"

bool world_is_real(void)
{
    const char *name = getenv("ORRERY_WORLD");
    if (name == NULL || strcmp(name, "sim") == 0) {
        return false;
    }
    CHECK_STR(name, "real");
    return true;
}

void world_needs_virtual_clock(void)
{
    world_needs_simulator("needs the virtual clock");
}

void world_needs_simulator(const char *why)
{
    if (world_is_real()) {
        test_skip(why);
    }
}

void world_run(actor_fn fn, void *arg)
{
    if (!world_is_real()) {
        rt_sim_config config = {.fixed_order = true};
        CHECK_OK(rt_sim_run(&config, fn, arg));
        return;
    }
    CHECK_OK(rt_init());
    CHECK(rt_spawn(fn, arg) != ACTOR_ID_INVALID);
    rt_run();
    rt_cleanup();
}
