/* SPDX-License-Identifier: Apache-2.0 */
/* Birth and end of tasks; the essay is in task.h. */
#define RTI_MODULE "task"
#include "task/task.h"
#include "sched/trace.h"

#include "base/marks.h"
#include "sched/fault.h"
#include "sync/region.h"
#include "task/task_cycle.h"
#include "task/task_hooks.h"
#include "task/task_report.h"
#include "task/tasks.h"

/* No stack is larger: sums with it cannot overflow. */
#define TASK_STACK_SIZE_MAX (PTRDIFF_MAX / 4)

/* The ids of tasks in traces are apart from those of actors. */
#define TASK_TRACE_ID UINT32_C(0x80000000)

_Static_assert(RT_TASK_STACK_SIZE >= RTI_STACK_SIZE_MIN, "a stack that no fiber can run on");
_Static_assert(RT_MAX_TASKS > 0 && RT_MAX_TASKS <= 1 << 20, "the handle has room for generations");

/* What a task begins with. */
struct task_order {
    const rt_site *site;
    rt_task_fn fn;
    void *arg;
    const rt_task_config *config;
    const void *address; /* behind the call of rt_go_at */
    struct rti_region *region;
    bool is_inherited; /* the region is that of who starts it */
};

static size_t task_stack_size(const rt_task_config *config)
{
    return config->stack_size != 0 ? config->stack_size : RT_TASK_STACK_SIZE;
}

static uint8_t task_priority(const rt_task_config *config)
{
    bool is_default = !config->is_priority_set && config->priority == 0;
    return (uint8_t)(is_default ? RT_PRIO_NORMAL : config->priority);
}

static bool task_config_is_valid(const rt_task_config *config)
{
    return (unsigned)config->priority < RTI_PRIORITY_LEVELS &&
           (config->stack_size == 0 || config->stack_size >= RTI_STACK_SIZE_MIN) &&
           config->stack_size <= TASK_STACK_SIZE_MAX;
}

/* What the task does when its function has returned, on its own stack. */
static void task_finish(struct rti_task *task, void *value)
{
    task->value = value;
    task->has_value = true;
    /* A context that lay in a frame of the function is garbage now. */
    RT_ASSERT(task->fiber.cx == &task->cx);
    if (RTI_UNLIKELY(rti_task_has_duties(task))) {
        (void)rti_fiber_worker();
        rti_task_run_hooks(task);
    }
}

/* The program's function returns to here, and it may fault before it has a frame. */
static RTI_OUTSIDE void task_main(void *arg)
{
    struct rti_task *task = arg;
    task_finish(task, task->fn(task->arg));
}

/* Where it comes from: the site, and the last ones of its starter. */
static void task_init_sites(struct rti_task *task, const rt_site *site,
                            const struct rti_task *parent)
{
    task->sites[0] = site;
    task->parent = 0;
    if (parent == NULL) {
        task->sites[1] = NULL;
        rti_trace_copy(rti_worker_current(), &task->trace);
        return;
    }
    for (size_t i = 1; i < RTI_TASK_SITES; i++) {
        task->sites[i] = parent->sites[i - 1];
    }
    task->parent = parent->serial;
    task->trace = parent->trace;
}

static void task_init_fiber(struct rti_task *task, const struct task_order *order)
{
    struct rti_fiber_options options = {
        .id = task->serial | TASK_TRACE_ID,
        .priority = task_priority(order->config),
        .main = task_main,
        .arg = task,
        .on_done = rti_task_on_done,
        .site = order->address,
    };
    rti_fiber_init(&task->fiber, &options);
}

/* Makes a task of a free slot that has its stack. */
static void task_init(struct rti_task *task, const struct task_order *order,
                      const struct rti_task *parent)
{
    struct rti_tasks *tasks = task->tasks;
    task->outcome = RT_OUTCOME_OK;
    task->is_panicking = false;
    task->is_doomed = false;
    task->has_value = false;
    task->serial = rti_u32_add_relaxed(&tasks->serial, 1) + 1;
    task->watcher = NULL;
    task->fn = order->fn;
    task->arg = order->arg;
    task->value = NULL;
    task->name = order->config->name != NULL ? order->config->name : order->site->what;
    task->hook_count = 0;
    task->hook_depth = 0;
    task->locals_set = 0;
    task->panic_site = NULL;
    task->message[0] = '\0';
    task_init_sites(task, order->site, parent);
    task_init_fiber(task, order);
    rti_cx_init_fiber(&task->cx, &task->fiber, tasks->sched);
}

/* A slot, a stack and a place in the region: all or nothing. */
static rt_status task_make(struct rti_tasks *tasks, const struct task_order *order,
                           const struct rti_task *parent, struct rti_task **out)
{
    struct rti_task *task = rti_tasks_take(tasks);
    if (task == NULL) {
        return (rt_status){RT_ERR_NOMEM, "RT_MAX_TASKS tasks exist"};
    }
    task->stack.size = task_stack_size(order->config);
    task->stack.is_heap = false;
    if (!rti_stacks_take(tasks->stacks, &task->stack, &task->fiber.stack)) {
        rti_tasks_give(tasks, task);
        return (rt_status){RT_ERR_NOMEM, "there is no memory for the stack"};
    }
    task_init(task, order, parent);
    if (order->region != NULL) {
        rt_status status = order->is_inherited ? rti_region_join_by(order->region, &task->cx.member)
                                               : rti_region_join(order->region, &task->cx.member);
        if (RT_FAILED(status)) {
            rti_stacks_give(tasks->stacks, &task->stack, &task->fiber.stack);
            rti_tasks_give(tasks, task);
            return status;
        }
        rti_cx_tighten(&task->cx, order->region->budget);
    }
    *out = task;
    return RT_SUCCESS;
}

/* The region of a fiber's innermost context that has one. */
static struct rti_region *task_region_of(const struct rti_fiber *fiber)
{
    const struct rti_cx *cx = fiber == NULL ? NULL : fiber->cx;
    while (cx != NULL && cx->member.region == NULL) {
        cx = cx->outer;
    }
    return cx == NULL ? NULL : cx->member.region;
}

static rt_status task_order_check(struct task_order *order, const struct rti_fiber *fiber)
{
    if (order->fn == NULL || order->site == NULL || !task_config_is_valid(order->config)) {
        return (rt_status){RT_ERR_INVALID, "there is no function, or no such configuration"};
    }
    rt_region *named = order->config->region;
    struct rti_region *own = task_region_of(fiber);
    order->region = named != NULL ? rti_region_of(named) : own;
    order->is_inherited = order->region != NULL && order->region == own;
    if (order->region == NULL && named != NULL) {
        return (rt_status){RT_ERR_INVALID, "this is no open region"};
    }
    return RT_SUCCESS;
}

static rt_status task_go(struct rti_worker *worker, struct task_order *order, rt_task **out)
{
    struct rti_tasks *tasks = rti_tasks_of(worker);
    struct rti_task *task = NULL;
    if (tasks == NULL) {
        rti_port_log("rt_go: this thread has no runtime: rt_run_main or rt_init makes one");
        return (rt_status){RT_ERR_THREAD, "this thread has no runtime"};
    }
    rt_status status = task_order_check(order, worker->fiber);
    if (!RT_FAILED(status)) {
        status = task_make(tasks, order, rti_task_of(worker), &task);
    }
    if (RT_FAILED(status)) {
        return status;
    }
    rti_tasks_count(tasks, &tasks->spawned);
    rti_task_to_held(&task->life);
    *out = (rt_task *)rti_size_load_relaxed(&task->handle);
    rti_fiber_start(tasks->sched, &task->fiber);
    return RT_SUCCESS;
}

rt_task *rt_go_at(const rt_site *site, rt_task_fn fn, void *arg, const rt_task_config *config)
{
    static const rt_task_config defaults = {.name = NULL};
    struct task_order order = {.site = site,
                               .fn = fn,
                               .arg = arg,
                               .config = config != NULL ? config : &defaults,
                               .address = RTI_CALL_SITE()};
    rt_task *handle = NULL;
    rt_status status = task_go(rti_worker_enter(), &order, &handle);
    if (order.config->status != NULL) {
        *order.config->status = status;
    }
    return handle;
}

rt_task *rt_region_go_at(const rt_site *site, rt_region *region, rt_task_fn fn, void *arg)
{
    const rt_task_config config = {.region = region};
    struct task_order order = {
        .site = site, .fn = fn, .arg = arg, .config = &config, .address = RTI_CALL_SITE()};
    rt_task *handle = NULL;
    if (region != NULL) {
        (void)task_go(rti_worker_enter(), &order, &handle);
    }
    return handle;
}

rt_region *rt_region_current(void)
{
    return (rt_region *)(void *)task_region_of(rti_fiber_enter());
}

static void task_set_message(struct rti_task *task, const char *message)
{
    size_t length = 0;
    while (message != NULL && length < RTI_TASK_MESSAGE_MAX && message[length] != '\0') {
        task->message[length] = message[length];
        length++;
    }
    task->message[length] = '\0';
}

_Noreturn void rt_panic_task_at(const rt_site *site, const char *message)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_task *task = rti_task_of(worker);
    if (task == NULL) {
        rti_undertaker_panic(worker, site, message);
        rti_panic(RTI_MODULE, __LINE__, "rt_panic_task outside of a task");
    }
    if (!task->is_panicking) {
        task->is_panicking = true;
        task->panic_site = site;
        task_set_message(task, message);
    } else {
        rti_task_report_hook(task, site, message);
    }
    /* If a hook panics it is over, and the rest of them run. */
    if (rti_task_has_duties(task)) {
        rti_task_run_hooks(task);
    }
    rti_fiber_exit(rti_worker_current());
}

/* How the task came out, from how its fiber did. */
static rt_outcome task_outcome(struct rti_task *task)
{
    switch ((enum rti_fiber_end)task->fiber.end) {
    case RTI_FIBER_RETURNED:
        return rti_cx_outcome(&task->cx);
    case RTI_FIBER_EXITED:
        return RT_OUTCOME_PANICKED;
    case RTI_FIBER_KILLED:
        if (task->is_panicking || task->has_value) {
            break;
        }
        task_set_message(task, "killed");
        return RT_OUTCOME_CANCELLED;
    case RTI_FIBER_OVERFLOWED:
        task_set_message(task, "stack overflow");
        return RT_OUTCOME_PANICKED;
    case RTI_FIBER_FAULTED:
        task_set_message(task, rti_fault_name((enum rti_fault_kind)task->fiber.fault));
        return RT_OUTCOME_PANICKED;
    }
    return task->is_panicking ? RT_OUTCOME_PANICKED : rti_cx_outcome(&task->cx);
}

void rti_task_on_done(struct rti_fiber *fiber)
{
    struct rti_task *task = RTI_CONTAINER_OF(fiber, struct rti_task, fiber);
    task->outcome = (uint8_t)task_outcome(task);
    fiber->cx = NULL;
    fiber->cancel = NULL;
    if (RTI_UNLIKELY(task->joins != NULL)) {
        rti_task_join_end(task);
    }
    if (RTI_UNLIKELY(rti_task_has_duties(task))) {
        rti_task_bury(task);
        return;
    }
    rti_task_conclude(task);
}

/* The end tells who waits for it. The task is the holder's from rti_task_to_told on, the waiter
 * until it is woken. */
static void task_tell(struct rti_task *task)
{
    struct rti_waiter *watcher = task->watcher;
    RT_ASSERT(watcher != NULL && watcher->slot == task);
    bool is_won = rti_wait_claim(watcher->wait, watcher->event);
    RT_SOMETIMES(!is_won, "task: the watcher was woken by something else first");
    rti_task_to_told(&task->life);
    if (is_won) {
        rti_waiter_wake(watcher);
    }
}

void rti_task_conclude(struct rti_task *task)
{
    struct rti_tasks *tasks = task->tasks;
    RT_ASSERT(!rti_task_has_duties(task));
    /* Counted before it leaves its region: who waits for the last of that sees the count. */
    rti_tasks_count(tasks, &tasks->completed);
    if (task->outcome == RT_OUTCOME_PANICKED) {
        rti_tasks_count(tasks, &tasks->panicked);
    }
    rti_cx_end_fiber(&task->cx, (rt_outcome)task->outcome);
    rti_stacks_give(tasks->stacks, &task->stack, &task->fiber.stack);
    switch (rti_task_to_ended(&task->life)) {
    case RTI_TASK_END_LEAVE:
        break;
    case RTI_TASK_END_TELL:
        task_tell(task);
        break;
    case RTI_TASK_END_FREE:
        rti_task_report_unheard(task);
        rti_tasks_give(tasks, task);
        break;
    }
}

void rti_task_kill(struct rti_task *task)
{
    /* Whoever it should have joined could not be: no handle counts as lost any more. */
    task->tasks->is_cut_short = true;
    if (task->hook_depth > 0) {
        task->is_doomed = true;
        return;
    }
    (void)rti_fiber_kill(task->tasks->sched, &task->fiber);
}
