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

bool world_io_is_simulated(void)
{
    const char *name = getenv("ORRERY_WORLD");
    return name != NULL && strcmp(name, "sim") == 0;
}

void world_needs_machine(const char *why)
{
    if (world_io_is_simulated()) {
        test_skip(why);
    }
}

static void run_simulated(actor_fn fn, void *arg)
{
    rt_sim_config config = {.fixed_order = true};
    CHECK_OK(rt_sim_run(&config, fn, arg));
}

static void run_real(actor_fn fn, void *arg)
{
    CHECK_OK(rt_init());
    CHECK(rt_spawn(fn, arg) != ACTOR_ID_INVALID);
    rt_run();
    rt_cleanup();
}

void world_run(actor_fn fn, void *arg)
{
    (world_is_real() ? run_real : run_simulated)(fn, arg);
}

void world_io_run(actor_fn fn, void *arg)
{
    (world_io_is_simulated() ? run_simulated : run_real)(fn, arg);
}
