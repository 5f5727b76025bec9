/* SPDX-License-Identifier: Apache-2.0 */
/* Birth of tasks; the essay is in task.h. Their end is in task_end.c. */
#define RTI_MODULE "task"
#include "task/task.h"

#include <string.h>

#include "sched/trace.h"

#include "sched/crew_start.h"
#include "sched/fiber_life.h"
#include "sync/region.h"
#include "task/task_foresee.h"
#include "task/task_hooks.h"
#include "task/tasks.h"

_Static_assert(RT_TASK_STACK_SIZE >= RTI_STACK_SIZE_MIN, "a stack that no fiber can run on");
_Static_assert(RT_MAX_TASKS > 0 && RT_MAX_TASKS <= 1 << 20, "the handle has room for generations");

/* What a task begins with. */
struct task_order {
    const rt_site *site;
    rt_task_fn fn;
    void *arg;
    const rt_task_config *config;
    const void *address;        /* behind the call of rt_go_at */
    struct rti_fiber *starter;  /* who runs; NULL: the worker itself */
    struct rti_task *parent;    /* the same, if it is a task */
    struct rti_task_desk *desk; /* of the worker; NULL: none */
    struct rti_region *region;
    bool is_inherited; /* the region is that of who starts it */
    bool is_straight;  /* the call goes straight (worker->straight) */
    bool is_repeated;  /* from where the last one on this worker came */
};

static const rt_status task_no_slot = {RT_ERR_NOMEM, "as many tasks exist as there is room for"};
static const rt_status task_no_stack = {RT_ERR_NOMEM, "there is no memory for the stack"};

static inline uint8_t task_priority(const rt_task_config *config)
{
    bool is_default = !config->is_priority_set && config->priority == 0;
    return (uint8_t)(is_default ? RT_PRIO_NORMAL : config->priority);
}

/* What a task is called; static, as the place of its spawn is. */
static inline const char *task_name(const struct task_order *order)
{
    return order->config->name != NULL ? order->config->name : order->site->what;
}

static inline bool task_config_is_valid(const rt_task_config *config)
{
    return (unsigned)config->priority < RTI_PRIORITY_LEVELS &&
           (config->stack_size == 0 || config->stack_size >= RTI_STACK_SIZE_MIN) &&
           config->stack_size <= RT_STACK_SIZE_MAX;
}

/* What the task does when its function has returned, on its own stack. */
static void task_finish(struct rti_task *task, void *value)
{
    task->fiber.arg = value;
    task->has_value = true;
    if (RTI_UNLIKELY(rti_task_has_duties(task))) {
        /* A context that lay in a frame of the function is garbage now; without duties it is the
         * fiber's end that looks. */
        RT_ASSERT(rti_fiber_cx(&task->fiber) == &task->cx);
        (void)rti_fiber_worker();
        rti_task_run_hooks(task);
    }
}

/* The program's function returns to here, and it may fault before it has a frame. */
RTI_OUTSIDE void rti_task_main(struct rti_fiber *fiber)
{
    struct rti_task *task = RTI_CONTAINER_OF(fiber, struct rti_task, fiber);
    rti_task_foresee_next(task);
    task_finish(task, fiber->fn_valued(fiber->arg));
}

/* Might its starter have a trace context? Until the first is set all of them are empty. */
static RTI_ALWAYSINLINE bool task_has_trace(const struct rti_worker *worker)
{
    return !RTI_TRACES_TRAVEL || rti_traces_are_used(worker->sched);
}

/* Where it comes from, where the fiber does not know it: the site, and the last ones of its
 * starter. */
static RTI_ALWAYSINLINE void task_note_sites(struct rti_task *task, const rt_site *site,
                                             const struct rti_task *parent)
{
#if RTI_ONE_WORKER
    task->sites[0] = site;
    if (parent == NULL) {
        task->sites[1] = NULL;
        return;
    }
    memcpy(&task->sites[1], parent->sites, sizeof(task->sites) - sizeof(task->sites[0]));
#else
    (void)task, (void)site, (void)parent;
#endif
}

#if !RTI_ONE_WORKER
/* task_number_origin for a spawn that is not the worker's last one. What it needs of the order is
 * given one by one: see task_join_region. */
static RTI_NOINLINE uint32_t task_number_origin_any(struct rti_task *task,
                                                    struct rti_worker *worker,
                                                    const struct rti_fiber *starter,
                                                    const void *address, const rt_site *site)
{
    uint32_t number = rti_worker_number_origin_any(worker, starter, address, site);
    if (RTI_UNLIKELY(number == 0)) {
        rti_task_side(task)->site = site;
    }
    return number;
}
#endif

/* The number of its spawn; if the table of origins has no room for it, 0, and its site is noted
 * aside. */
static RTI_ALWAYSINLINE uint32_t task_number_origin(struct rti_task *task,
                                                    struct rti_worker *worker,
                                                    const struct task_order *order)
{
#if RTI_ONE_WORKER
    (void)task, (void)worker, (void)order;
    return 0;
#else
    bool is_repeated =
        order->is_repeated ||
        RTI_LIKELY(rti_worker_repeats_origin(worker, order->starter, order->address, order->site));
    return RTI_LIKELY(is_repeated)
               ? rti_worker_repeated_origin(worker)
               : task_number_origin_any(task, worker, order->starter, order->address, order->site);
#endif
}

/* Where it comes from, and whose trace it goes on with. */
static RTI_ALWAYSINLINE void task_begin_sites(struct rti_task *task,
                                              const struct rti_worker *worker, const rt_site *site,
                                              const struct rti_task *parent)
{
    task_note_sites(task, site, parent);
    if (RTI_UNLIKELY(parent == NULL)) {
        if (task_has_trace(worker)) {
            rti_trace_copy(rti_worker_current(), &rti_task_annex(task)->trace);
            task->has_trace = true;
        }
        return;
    }
    if (task_has_trace(worker)) {
        task->has_trace = parent->has_trace;
        if (parent->has_trace) {
            rti_task_annex(task)->trace = rti_task_annex(parent)->trace;
        }
    }
}

/* The number of the next task: greater than those of all that were started before, because the
 * undertaker goes by it (task_hooks.h). A row of numbers for each desk would not do. `is_local`:
 * there is one worker, or the caller is in a section. */
static RTI_ALWAYSINLINE uint32_t task_next_serial(struct rti_tasks *tasks,
                                                  struct rti_worker *worker, bool is_local)
{
    bool is_solo = !is_local && rti_solo_begin(worker);
    if (RTI_LIKELY(is_local || is_solo)) {
        uint32_t serial = rti_u32_load_relaxed(&tasks->serial) + 1;
        rti_u32_store_relaxed(&tasks->serial, serial);
        if (!is_local) {
            rti_solo_finish(worker, true);
        }
        return serial;
    }
    /* Who works alone counts in the way above. */
    bool is_guest = rti_solo_knock(tasks->sched);
    uint32_t serial = rti_u32_add_relaxed(&tasks->serial, 1) + 1;
    rti_solo_go(tasks->sched, is_guest);
    return serial;
}

/* Does a task of this size get its stack from the slab, when it first runs? */
static inline bool task_is_of_slab(const struct rti_tasks *tasks, size_t stack_size)
{
    return RTI_HAS_SLABS && tasks->slab.memory != NULL &&
           (stack_size == 0 || stack_size == tasks->slab.size);
}

/* Makes a task of a free slot that has its stack, or gets it from the slab. `is_local`: there is
 * one worker, or the caller is in a section. */
static RTI_ALWAYSINLINE void task_begin(struct rti_task *task, struct rti_tasks *tasks,
                                        struct rti_worker *worker, const struct task_order *order,
                                        bool is_of_slab, bool is_local)
{
    /* One store for all of these, which is why has_trace is among them: whose trace it has is said
     * below, if anybody has one. */
    RT_DCHECK(!task->has_message && !task->is_staked);
    task->outcome = RT_OUTCOME_OK;
    task->is_panicking = false;
    task->has_value = false;
    task->has_name = false;
    task->has_message = false;
    task->has_trace = false;
    task->unused = 0;
    task->is_doomed = false;
    task->is_staked = false;
    task->fiber.fn_valued = order->fn;
    task->fiber.arg = order->arg;
    RT_DCHECK(!rti_task_has_duties(task) && task->joins == 0);
    RT_DCHECK(task->hook_depth == 0 && task->fiber.run.kind == &rti_task_kind);
    RT_DCHECK(!order->is_repeated ||
              rti_worker_repeats_origin(worker, order->starter, order->address, order->site));
    task_begin_sites(task, worker, order->site, order->parent);
    struct rti_fiber_life life = {
        .starter = order->starter,
        .site = order->address,
        .origin = task_number_origin(task, worker, order),
        .id = task_next_serial(tasks, worker, is_local) | RTI_TASK_TRACE_ID,
        .priority = task_priority(order->config),
        .is_straight = order->is_straight,
        .is_numbered = true,
    };
    if (is_of_slab) {
        rti_fiber_begin_in(&task->fiber, worker, &life);
    } else {
        rti_fiber_begin(&task->fiber, worker, &life, true);
    }
    if (RTI_UNLIKELY(order->config->name != NULL)) {
        rti_task_side(task)->name = order->config->name;
        task->has_name = true;
    }
}

/* Takes a stack of this size, 0 for the usual one, for a slot; false if there is none. */
static RTI_ALWAYSINLINE bool task_take_stack(struct rti_task *task, struct rti_tasks *tasks,
                                             size_t stack_size)
{
    struct rti_stack_block *block = &rti_task_side(task)->stack;
    block->size = stack_size != 0 ? stack_size : RT_TASK_STACK_SIZE;
    block->is_heap = false;
    return rti_stacks_take(tasks->stacks, block, &task->fiber.stack);
}

/* Makes a task a member of a region. What it needs of the order is given one by one: a function of
 * its own that gets the order itself would keep the compiler from knowing what is in it. */
static RTI_NOINLINE rt_status task_join_region(struct rti_task *task, struct rti_region *region,
                                               bool is_inherited)
{
    struct rti_region_member *member = &rti_cx_open_rest(&task->cx)->member;
    rt_status status =
        is_inherited ? rti_region_join_by(region, member) : rti_region_join(region, member);
    if (!RT_FAILED(status)) {
        rti_cx_tighten(&task->cx, region->budget);
    }
    return status;
}

/* A slot, a stack and a place in the region: all or nothing. NULL: *why says why not. */
static RTI_ALWAYSINLINE struct rti_task *task_make(struct rti_worker *worker,
                                                   struct rti_tasks *tasks,
                                                   const struct task_order *order, rt_status *why)
{
    struct rti_task *task = order->is_straight ? tasks->free_head : NULL;
    if (order->is_straight && RTI_LIKELY(task != NULL)) {
        tasks->free_head = task->fiber.next_slot;
        (void)rti_task_give_handle(task);
    } else {
        task = rti_tasks_take_at(tasks, order->desk);
    }
    if (RTI_UNLIKELY(task == NULL)) {
        *why = task_no_slot;
        return NULL;
    }
    size_t stack_size = order->config->stack_size;
    bool is_of_slab = task_is_of_slab(tasks, stack_size);
    if (RTI_UNLIKELY(!is_of_slab) && !task_take_stack(task, tasks, stack_size)) {
        rti_tasks_give(tasks, task);
        *why = task_no_stack;
        return NULL;
    }
    bool is_local = order->is_straight || rti_sched_is_local(tasks->sched);
    task_begin(task, tasks, worker, order, is_of_slab, is_local);
    rti_cx_begin_fiber(&task->cx, &task->fiber, tasks->sched, is_local);
    if (RTI_UNLIKELY(order->region != NULL)) {
        *why = task_join_region(task, order->region, order->is_inherited);
        if (RT_FAILED(*why)) {
            /* It did not come to be: what its context holds goes with the slot. */
            task->fiber.cancel = NULL;
            rti_context_deinit(&task->fiber.context);
            rti_task_give_stack(task, rti_sched_is_local(tasks->sched));
            rti_tasks_give(tasks, task);
            return NULL;
        }
    }
    return task;
}

/* The region of a fiber's innermost context that has one. */
static inline struct rti_region *task_region_of(const struct rti_fiber *fiber)
{
    const struct rti_cx *cx = fiber == NULL ? NULL : rti_fiber_cx(fiber);
    while (cx != NULL && rti_cx_region(cx) == NULL) {
        cx = rti_cx_outer(cx);
    }
    return cx == NULL ? NULL : rti_cx_region(cx);
}

static RTI_ALWAYSINLINE rt_status task_order_check(struct task_order *order,
                                                   const struct rti_fiber *fiber)
{
    if (RTI_UNLIKELY(order->fn == NULL) || RTI_UNLIKELY(order->site == NULL) ||
        RTI_UNLIKELY(!task_config_is_valid(order->config))) {
        return (rt_status){RT_ERR_INVALID, "there is no function, or no such configuration"};
    }
    rt_region *named = order->config->region;
    struct rti_region *own = task_region_of(fiber);
    order->region = RTI_UNLIKELY(named != NULL) ? rti_region_of(named) : own;
    order->is_inherited = order->region != NULL && order->region == own;
    if (RTI_UNLIKELY(order->region == NULL && named != NULL)) {
        return (rt_status){RT_ERR_INVALID, "this is no open region"};
    }
    return RT_SUCCESS;
}

/* Makes a task ready whose start goes straight. */
static RTI_ALWAYSINLINE void task_start_straight(struct rti_worker *worker, struct rti_tasks *tasks,
                                                 struct rti_task *task, uint8_t priority)
{
    rti_tasks_count_at(tasks, NULL, RTI_TASKS_SPAWNED, true);
    rti_task_to_held(&task->life);
    rti_fiber_start_straight(rti_worker_lone_sched(worker), &task->fiber, priority);
}

/* The same in any way. The task may have ended when it returns, and its slot be another's. */
static RTI_ALWAYSINLINE void task_start(const struct rti_worker *worker, struct rti_tasks *tasks,
                                        struct rti_task *task, const struct task_order *order,
                                        bool is_local)
{
    rti_tasks_count_at(tasks, order->desk, RTI_TASKS_SPAWNED, is_local);
    rti_task_to_held(&task->life);
    rti_fiber_start_begun(tasks->sched, &task->fiber);
    if (rti_worker_records(worker)) {
        rti_worker_note_name(task_name(order));
    }
}

/* The same by who has a desk, with several workers. */
static RTI_ALWAYSINLINE void task_start_at_desk(struct rti_worker *worker, struct rti_tasks *tasks,
                                                struct rti_task *task,
                                                const struct task_order *order)
{
#if !RTI_ONE_WORKER
    struct rti_sched *sched = tasks->sched;
    if (RTI_LIKELY(rti_sched_journal(sched) == NULL) && !rti_worker_records(worker)) {
        rti_tasks_count_at(tasks, order->desk, RTI_TASKS_SPAWNED, false);
        rti_task_to_held(&task->life);
        RTI_PROBE2(spawn, task->fiber.run.id, RT_PRIO_NORMAL);
        rti_u32_store_relaxed(&task->fiber.run.state, RTI_RUNNABLE_READY);
        rti_crew_start_at(sched->crew, worker, &task->fiber.run, RT_PRIO_NORMAL);
        return;
    }
#endif
    task_start(worker, tasks, task, order, false);
}

static RTI_ALWAYSINLINE rt_task *task_go(struct rti_worker *worker, struct task_order *order,
                                         rt_status *status)
{
    struct rti_tasks *tasks =
        order->is_straight ? worker->straight[RTI_MODULE_TASK] : rti_tasks_of(worker);
    if (RTI_UNLIKELY(tasks == NULL)) {
        rti_port_log("rt_go: this thread has no runtime: rt_run_main or rt_init makes one");
        *status = (rt_status){RT_ERR_THREAD, "this thread has no runtime"};
        return NULL;
    }
    *status = task_order_check(order, order->starter);
    if (RTI_UNLIKELY(RT_FAILED(*status))) {
        return NULL;
    }
    order->desk = order->is_straight ? NULL : rti_tasks_desk(tasks, worker);
    struct rti_task *task = task_make(worker, tasks, order, status);
    if (RTI_UNLIKELY(task == NULL)) {
        return NULL;
    }
    rt_task *handle = (rt_task *)rti_size_load_relaxed(&task->handle);
    if (order->is_straight) {
        task_start_straight(worker, tasks, task, task_priority(order->config));
        return handle;
    }
    task_start(worker, tasks, task, order, rti_sched_is_local(tasks->sched));
    return handle;
}

/* rt_go_at in every way. The caller has entered: what it was let through with is enough. */
static RTI_NOINLINE rt_task *task_go_ex(const rt_site *site, rt_task_fn fn, void *arg,
                                        const rt_task_config *config, const void *address)
{
    struct rti_worker *worker = rti_worker_current();
    rt_status status;
    struct task_order order = {.site = site,
                               .fn = fn,
                               .arg = arg,
                               .config = config,
                               .address = address,
                               .starter = worker == NULL ? NULL : worker->fiber,
                               .parent = rti_task_of(worker)};
    rt_task *handle = task_go(worker, &order, &status);
    if (config->status != NULL) {
        *config->status = status;
    }
    return handle;
}

static const rt_task_config task_defaults = {.name = NULL};

/* Is the task in no region, as far as is seen at once? */
static inline bool task_is_at_large(const struct rti_task *task)
{
    return rti_fiber_cx(&task->fiber) == &task->cx && rti_cx_region(&task->cx) == NULL;
}

/* What a task without a configuration orders. */
static RTI_ALWAYSINLINE struct task_order task_order_of(struct rti_task *parent,
                                                        const rt_site *site, rt_task_fn fn,
                                                        void *arg, const void *address)
{
    return (struct task_order){.site = site,
                               .fn = fn,
                               .arg = arg,
                               .config = &task_defaults,
                               .address = address,
                               .starter = &parent->fiber,
                               .parent = parent};
}

/* The common case with several workers, of a task that starts one: there is a slot in the rack of
 * its station, and so a slab. NULL: it is any other case, and nothing has changed. */
static RTI_ALWAYSINLINE rt_task *task_go_at_desk(struct rti_worker *worker, struct rti_task *parent,
                                                 const rt_site *site, rt_task_fn fn, void *arg,
                                                 const void *address)
{
    if (RTI_UNLIKELY(fn == NULL) || RTI_UNLIKELY(site == NULL) ||
        RTI_UNLIKELY(!task_is_at_large(parent))) {
        return NULL;
    }
    struct rti_tasks *tasks = rti_tasks_with(parent);
    struct rti_task_desk *desk = rti_tasks_desk(tasks, worker);
    struct rti_task_rack *rack = rti_tasks_rack(tasks, desk);
    struct rti_task *task = rack == NULL ? NULL : rti_task_rack_take(rack);
    if (RTI_UNLIKELY(task == NULL)) {
        return NULL;
    }
    RT_DCHECK(task_is_of_slab(tasks, 0));
    const struct rti_task *next = rti_task_rack_next(rack);
    if (RTI_LIKELY(next != NULL)) {
        rti_task_foresee(next);
    }
    rt_task *handle = (rt_task *)rti_task_give_handle(task);
    struct task_order order = task_order_of(parent, site, fn, arg, address);
    order.desk = desk;
    task_begin(task, tasks, worker, &order, true, false);
    rti_cx_begin_fiber(&task->cx, &task->fiber, tasks->sched, false);
    task_start_at_desk(worker, tasks, task, &order);
    return handle;
}

/* The same without a configuration. */
static RTI_NOINLINE rt_task *task_go_plain(const rt_site *site, rt_task_fn fn, void *arg,
                                           const void *address)
{
    struct rti_worker *worker = rti_worker_here();
    if (worker == NULL || worker->straight[RTI_MODULE_TASK] == NULL) {
        struct rti_task *parent = rti_task_of(worker);
        rt_task *handle =
            parent == NULL ? NULL : task_go_at_desk(worker, parent, site, fn, arg, address);
        return RTI_LIKELY(handle != NULL) ? handle
                                          : task_go_ex(site, fn, arg, &task_defaults, address);
    }
    rt_status status;
    struct task_order order = {.site = site,
                               .fn = fn,
                               .arg = arg,
                               .config = &task_defaults,
                               .address = address,
                               .starter = worker->fiber,
                               .parent = rti_task_of(worker),
                               .is_straight = true};
    return task_go(worker, &order, &status);
}

#if !RTI_ONE_WORKER
/* Can a task begin in this slot without a call, started from where the last one on this worker came
 * from? In a section nobody is to be told of it. */
static RTI_ALWAYSINLINE bool task_begins_simply(const struct rti_task *task,
                                                const struct rti_worker *worker,
                                                const struct rti_task *parent, const void *address,
                                                const rt_site *site)
{
    return RTI_LIKELY(rti_cx_is_clean(&task->cx)) &&
           RTI_LIKELY(!rti_cancel_is_requested(&task->cx.cancel)) &&
           RTI_LIKELY(rti_worker_repeats_origin(worker, &parent->fiber, address, site));
}

/* rt_go_at with several workers, in the common case: a task, `parent`, starts one in a slot of the
 * rack of its station, and works alone. In every other one nothing has changed yet. From the change
 * on nothing is called that comes back: no register has to be saved. */
static RTI_NOINLINE rt_task *task_go_alone(const rt_site *site, rt_task_fn fn, void *arg,
                                           const void *address, struct rti_worker *worker)
{
    struct rti_task *parent = rti_task_of_fiber(worker->fiber);
    if (RTI_UNLIKELY(parent == NULL) || RTI_UNLIKELY(fn == NULL) || RTI_UNLIKELY(site == NULL) ||
        RTI_UNLIKELY(!task_is_at_large(parent)) || RTI_UNLIKELY(!rti_solo_enter(worker))) {
        return task_go_plain(site, fn, arg, address);
    }
    struct rti_station *station = worker->station;
    struct rti_tasks *tasks = rti_tasks_with(parent);
    struct rti_task_desk *desk = rti_tasks_desk_at(station);
    struct rti_task_rack *rack = rti_tasks_rack(tasks, desk);
    struct rti_task *task = rack == NULL ? NULL : rti_task_rack_next(rack);
    if (RTI_UNLIKELY(task == NULL) ||
        RTI_UNLIKELY(!task_begins_simply(task, worker, parent, address, site)) ||
        RTI_UNLIKELY(!rti_crew_is_quiet(worker->sched->crew, station, RT_PRIO_NORMAL))) {
        rti_solo_leave(worker);
        return task_go_plain(site, fn, arg, address);
    }
    rti_task_rack_drop(rack);
    const struct rti_task *next = rti_task_rack_next(rack);
    if (RTI_LIKELY(next != NULL)) {
        rti_task_foresee(next);
    }
    rt_task *handle = (rt_task *)rti_task_give_handle(task);
    struct task_order order = task_order_of(parent, site, fn, arg, address);
    order.is_repeated = true;
    task_begin(task, tasks, worker, &order, true, true);
    rti_cx_begin_again(&task->cx, &task->fiber);
    rti_task_count_own(&desk->counts[RTI_TASKS_SPAWNED]);
    rti_task_to_held_here(&task->life);
    RTI_PROBE2(spawn, task->fiber.run.id, RT_PRIO_NORMAL);
    rti_u32_store_relaxed(&task->fiber.run.state, RTI_RUNNABLE_READY);
    rti_crew_start_alone(station, &task->fiber.run, RT_PRIO_NORMAL);
    rti_solo_leave(worker);
    return handle;
}
#endif

/* rt_go_at where there is no slab: a task, in no region, starts one in this slot, the head of the
 * list. */
static RTI_NOINLINE rt_task *task_go_stacked(struct rti_tasks *tasks, struct rti_task *task,
                                             const rt_site *site, rt_task_fn fn, void *arg,
                                             const void *address)
{
    struct rti_worker *worker = &tasks->sched->worker;
    struct rti_task *parent = RTI_CONTAINER_OF(worker->fiber, struct rti_task, fiber);
    RT_DCHECK(parent == rti_task_of(worker) && task == tasks->free_head);
    RTI_ASSUME(parent != NULL);
    if (RTI_UNLIKELY(!task_take_stack(task, tasks, 0))) {
        return NULL;
    }
    tasks->free_head = task->fiber.next_slot;
    rt_task *handle = (rt_task *)rti_task_give_handle(task);
    struct task_order order = task_order_of(parent, site, fn, arg, address);
    order.is_straight = true;
    task_begin(task, tasks, worker, &order, false, true);
    rti_cx_begin_fiber(&task->cx, &task->fiber, tasks->sched, true);
    task_start_straight(worker, tasks, task, RT_PRIO_NORMAL);
    return handle;
}

rt_task *rt_go_at(const rt_site *site, rt_task_fn fn, void *arg, const rt_task_config *config)
{
    struct rti_worker *worker = rti_worker_enter();
#if !RTI_ONE_WORKER
    if (RTI_LIKELY(worker != NULL) && RTI_LIKELY(config == NULL) &&
        RTI_UNLIKELY(worker->straight[RTI_MODULE_TASK] == NULL)) {
        return task_go_alone(site, fn, arg, RTI_CALL_SITE(), worker);
    }
#endif
    struct rti_task *parent = rti_task_of(worker);
    if (RTI_UNLIKELY(config != NULL)) {
        return task_go_ex(site, fn, arg, config, RTI_CALL_SITE());
    }
    /* The common case: a task starts one in a slot that was used before. */
    struct rti_tasks *tasks = parent == NULL ? NULL : worker->straight[RTI_MODULE_TASK];
    struct rti_task *task = tasks == NULL ? NULL : tasks->free_head;
    if (RTI_UNLIKELY(task == NULL) || RTI_UNLIKELY(fn == NULL) || RTI_UNLIKELY(site == NULL) ||
        RTI_UNLIKELY(!task_is_at_large(parent))) {
        return task_go_plain(site, fn, arg, RTI_CALL_SITE());
    }
    if (!task_is_of_slab(tasks, 0)) {
        return task_go_stacked(tasks, task, site, fn, arg, RTI_CALL_SITE());
    }
    if (RTI_UNLIKELY(!rti_cx_is_clean(&task->cx)) ||
        RTI_UNLIKELY(!rti_worker_repeats_origin(worker, &parent->fiber, RTI_CALL_SITE(), site))) {
        return task_go_plain(site, fn, arg, RTI_CALL_SITE());
    }
    /* From here on nothing is called that comes back: no register has to be saved. */
    struct rti_task *next = task->fiber.next_slot;
    tasks->free_head = next;
    if (RTI_LIKELY(next != NULL)) {
        rti_task_foresee(next);
    }
    rt_task *handle = (rt_task *)rti_task_give_handle(task);
    struct task_order order = task_order_of(parent, site, fn, arg, RTI_CALL_SITE());
    order.is_straight = true;
    order.is_repeated = true;
    task_begin(task, tasks, worker, &order, true, true);
    rti_cx_begin_again(&task->cx, &task->fiber);
    task_start_straight(worker, tasks, task, RT_PRIO_NORMAL);
    return handle;
}

rt_task *rt_region_go_at(const rt_site *site, rt_region *region, rt_task_fn fn, void *arg)
{
    const rt_task_config config = {.region = region};
    (void)rti_worker_enter();
    return region == NULL ? NULL : task_go_ex(site, fn, arg, &config, RTI_CALL_SITE());
}

rt_region *rt_region_current(void)
{
    return (rt_region *)(void *)task_region_of(rti_fiber_enter());
}
