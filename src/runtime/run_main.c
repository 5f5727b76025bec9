/* SPDX-License-Identifier: Apache-2.0 */
/* A program as one call, on every engine; the manual is <orrery/rt/main.h>.
 *
 * The first task is the program's function. If the program's time is limited, it and all that come
 * from it belong to a region whose budget ends then: what they wait for fails, and the run comes to
 * its end as if they had been cancelled. */
#define RTI_MODULE "run_main"
#include <orrery/rt/main.h>
#include <orrery/rt/runtime.h>

#include "runtime/runtime.h"

struct main_call {
    const rt_main_config *config;
    rt_task_fn fn;
    void *arg;
    rt_status status;
    rt_task *first;
    rt_time deadline;
    rt_region block;
};

static rt_region *main_open_block(struct main_call *call)
{
    rt_time now = rt_clock();
    rt_time limit = call->config->time_max;
    call->deadline = limit == 0 || limit > RT_TIME_NEVER - now ? RT_TIME_NEVER : now + limit;
    if (call->deadline == RT_TIME_NEVER) {
        return NULL;
    }
    rt_budget budget = RT_BUDGET_UNLIMITED;
    budget.deadline = call->deadline;
    rt_status status = rt_region_open(&call->block, NULL, &budget);
    RT_ASSERT(!RT_FAILED(status));
    return &call->block;
}

static void main_begin(void *context)
{
    static const rt_site site = {"rt_run_main", 0, "main"};
    struct main_call *call = context;
    const rt_main_config *config = call->config;
    rt_status started;
    rt_task_config first = {
        .name = config->name,
        .stack_size = config->stack_size != 0 ? config->stack_size : RT_DEFAULT_STACK_SIZE,
        .region = main_open_block(call),
        .status = &started,
    };
    call->first = rt_go_at(&site, call->fn, call->arg, &first);
    if (RT_FAILED(started)) {
        call->status = started;
    }
}

/* Every task has ended, or the run was given up. */
static void main_end(void *context)
{
    struct main_call *call = context;
    if (call->first != NULL && rt_task_has_ended(call->first)) {
        call->status = rt_join(call->first, call->config->value);
        bool is_late = rt_clock() >= call->deadline;
        if (call->status.code == RT_ERR_CANCELLED && is_late) {
            call->status = (rt_status){RT_ERR_TIMEOUT, "the program's time was over"};
        }
    }
    if (call->deadline != RT_TIME_NEVER) {
        /* What still lives is killed soon and leaves the region then. */
        (void)rt_region_begin_close(&call->block);
    }
}

static rt_status main_init(const rt_main_config *config)
{
    const rt_config *parallel = config->parallel;
    rt_config complete = {.workers = 0};
    if (parallel == NULL) {
        complete.observe = config->observe;
        return rti_runtime_init(NULL, &complete);
    }
#if RT_MAX_WORKERS > 1
    complete = *parallel;
    complete.observe = parallel->observe || config->observe;
    return rt_init_ex(&complete);
#else
    return (rt_status){RT_ERR_UNSUPPORTED, "this port has one worker"};
#endif
}

static rt_status main_in_world(const rt_main_config *config, const struct rti_program *program)
{
    rt_status status = main_init(config);
    if (RT_FAILED(status)) {
        return status;
    }
    if (config->deadlock_after != 0) {
        rti_host_watch_deadlocks(config->deadlock_after);
    }
    program->begin(program->context);
    status = rti_runtime_turn();
    program->end(program->context);
    rt_cleanup();
    return status;
}

rt_status rt_run_main(const rt_main_config *config, rt_task_fn fn, void *arg)
{
    static const rt_main_config defaults = {.time_max = 0};
    struct main_call call = {.config = config != NULL ? config : &defaults,
                             .fn = fn,
                             .arg = arg,
                             .status = {RT_ERR_CANCELLED, "rt_shutdown ended the run before"}};
    const struct rti_program program = {main_begin, main_end, &call};
    if (fn == NULL) {
        return (rt_status){RT_ERR_INVALID, "the program is NULL"};
    }
    const rt_sim_config *sim = call.config->sim;
    const rt_config *parallel = call.config->parallel;
    if (sim != NULL && parallel != NULL) {
        return (rt_status){RT_ERR_INVALID, "a program runs on one engine at a time"};
    }
    rt_status status =
        sim != NULL ? rti_sim_run(sim, &program) : main_in_world(call.config, &program);
    return RT_FAILED(status) ? status : call.status;
}
