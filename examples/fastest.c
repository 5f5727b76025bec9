/* SPDX-License-Identifier: Apache-2.0 */
/* Three replicas are asked, the first answer counts, the other two are called off: once on one
 * thread, once on every core, and once in the simulator, where the waiting takes no time.
 *
 * Tested: fastest */
#include <stdio.h>

#include <orrery/rt.h>

#define REPLICAS 3

struct replica {
    const char *city;
    rt_time delay;
};

static void *ask(void *arg)
{
    const struct replica *replica = arg;
    if (RT_FAILED(rt_sleep(replica->delay))) {
        return NULL; /* called off: another one was faster */
    }
    return (void *)(uintptr_t)replica->city;
}

static void *ask_all(void *engine)
{
    static struct replica replicas[REPLICAS] = {
        {"Oslo", 300 * RT_NS_PER_MS}, {"Lima", 100 * RT_NS_PER_MS}, {"Pune", 200 * RT_NS_PER_MS}};
    rt_task *tasks[REPLICAS];
    rt_select_arm arms[REPLICAS];
    void *winner = NULL;
    for (size_t i = 0; i < REPLICAS; i++) {
        tasks[i] = rt_go(ask, &replicas[i]);
        rt_arm_join(&arms[i], &tasks[i], &winner);
    }
    rt_selected first;
    if (!RT_FAILED(rt_select(arms, REPLICAS, NULL, &first))) {
        printf("%s: %s answers first\n", (const char *)engine, (const char *)winner);
    }
    for (size_t i = 0; i < REPLICAS; i++) {
        if (tasks[i] != NULL) { /* the one that was joined is NULL */
            (void)rt_cancel(tasks[i], NULL);
        }
    }
    return NULL;
}

int main(void)
{
    rt_config every_core = {.workers = 0};
    rt_sim_config one_seed = {.seed = 42};
    rt_main_config parallel = {.parallel = &every_core};
    rt_main_config sim = {.sim = &one_seed};
    return RT_FAILED(rt_run_main(NULL, ask_all, "fixed")) ||
           RT_FAILED(rt_run_main(&parallel, ask_all, "parallel")) ||
           RT_FAILED(rt_run_main(&sim, ask_all, "sim"));
}
