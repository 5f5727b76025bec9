/* SPDX-License-Identifier: Apache-2.0 */
#include "support/tasks.h"

#include "base/compiler.h"
#include "support/test.h"

rt_sim_report tasks_report;

#if RTI_ASAN
/* Hooks of a killed task may point into its frames, which its stack keeps until they have run. A
 * sanitizer that moves locals to a memory of its own, to see uses after a return, would take them
 * away with the fiber. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "detect_stack_use_after_return=0";
}
#endif

static char said[1024];
static size_t said_length;

static void said_clear(void)
{
    said_length = 0;
    memset(said, 0, sizeof(said));
}

static rt_status run_in_sim(rt_task_fn fn, void *arg, rt_sim_config sim)
{
    said_clear();
    sim.report = &tasks_report;
    rt_main_config config = {.sim = &sim};
    return rt_run_main(&config, fn, arg);
}

rt_status tasks_run(rt_task_fn fn, void *arg)
{
    return run_in_sim(fn, arg, (rt_sim_config){.seed = 1, .fixed_order = true});
}

rt_status tasks_run_seeded(rt_task_fn fn, void *arg, uint64_t seed)
{
    return run_in_sim(fn, arg, (rt_sim_config){.seed = seed});
}

rt_status tasks_run_fixed(rt_task_fn fn, void *arg)
{
    said_clear();
    return rt_run_main(NULL, fn, arg);
}

void tasks_run_everywhere(rt_task_fn fn, void *arg)
{
    CHECK_OK(tasks_run(fn, arg));
    CHECK_OK(tasks_run_seeded(fn, arg, test_seed()));
    CHECK_OK(tasks_run_fixed(fn, arg));
}

void *tasks_echo(void *arg)
{
    return arg;
}

void tasks_say(char c)
{
    CHECK(said_length < sizeof(said) - 1);
    said[said_length++] = c;
}

const char *tasks_said(void)
{
    return said;
}

void *tasks_sleep_ms(void *arg)
{
    (void)rt_sleep((uintptr_t)arg * RT_NS_PER_MS);
    return arg;
}

void *tasks_wait_for_ever(void *arg)
{
    CHECK_STATUS(rt_sleep(RT_TIME_NEVER), RT_ERR_CANCELLED);
    return arg;
}
