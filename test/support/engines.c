/* SPDX-License-Identifier: Apache-2.0 */
#include "support/engines.h"

#include "support/test.h"

static enum engine now;
static const struct engines_program *current;

enum engine engine_now(void)
{
    return now;
}

static void call(void (*function)(void))
{
    if (function != NULL) {
        function();
    }
}

static void run_real(void)
{
    const rt_config config = {.workers = ENGINES_WORKERS};
    CHECK_OK(now == ENGINE_FIXED ? rt_init() : rt_init_ex(&config));
    call(current->before);
    rt_task *task = rt_go(current->main, current->arg);
    CHECK(task != NULL);
    rt_run();
    CHECK_OK(rt_join(task, NULL));
    call(current->after);
    rt_cleanup();
}

static void simulated_main(void *arg)
{
    (void)arg;
    call(current->before);
    rt_task *task = rt_go(current->main, current->arg);
    CHECK(task != NULL);
    CHECK_OK(rt_join(task, NULL));
}

static void run_simulated(void)
{
    const rt_sim_config config = {.fixed_order = true};
    CHECK_OK(rt_sim_run(&config, simulated_main, NULL));
    call(current->after);
}

void engines_run_on(enum engine engine, const struct engines_program *program)
{
    static const char *const names[ENGINES] = {"fixed", "sim", "parallel"};
    current = program;
    now = engine;
    printf("engine: %s\n", names[now]);
    fflush(stdout);
    (now == ENGINE_SIM ? run_simulated : run_real)();
}

void engines_run_program(const struct engines_program *program)
{
    for (int engine = 0; engine < ENGINES; engine++) {
        engines_run_on((enum engine)engine, program);
    }
}

void engines_run(void *(*main)(void *arg), void *arg)
{
    const struct engines_program program = {.main = main, .arg = arg};
    engines_run_program(&program);
}
