/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "task_hooks"
#include "task/task_hooks.h"

#include "task/task_report.h"
#include "task/tasks.h"

/* The program's function returns to here, and it may fault before it has a frame. */
static RTI_OUTSIDE rt_status hook_call(const struct rti_hook *hook)
{
    return hook->fn(hook->arg);
}

/* Takes the latest hook and does it. */
static rt_status hook_run_next(struct rti_task *task)
{
    RT_ASSERT(task->hook_count > 0);
    struct rti_hook hook = rti_task_annex(task)->hooks[--task->hook_count];
    rt_status status = hook_call(&hook);
    if (RT_FAILED(status)) {
        rti_task_report_hook(task, hook.site,
                             status.msg != NULL ? status.msg : rt_status_text(status.code));
    }
    return status;
}

static void task_do_duties(struct rti_task *task)
{
    while (task->hook_count > 0) {
        (void)hook_run_next(task);
    }
    if (task->locals_set != 0) {
        rti_task_drop_locals(task);
    }
}

/* Opens the shield around hooks of the running fiber. */
static void shield_begin(struct rti_inner_cx *shield)
{
    struct rti_worker *worker = rti_worker_current();
    uint64_t deadline = rti_deadline_after(worker->sched, RT_ENSURE_TIME_NS);
    rti_cx_begin_shield(shield, worker->fiber, deadline);
}

void rti_task_run_hooks(struct rti_task *task)
{
    struct rti_inner_cx shield;
    shield_begin(&shield);
    task->hook_depth++;
    task_do_duties(task);
    task->hook_depth--;
    rti_cx_end_shield(&shield);
    if (RTI_UNLIKELY(rti_task_has_duties(task))) {
        /* The destructor of a local has left a hook: see task_hooks.h. */
        rti_fiber_set_self_settling(&task->fiber, false);
    }
}

static void undertaker_start(struct rti_tasks *tasks);

/* Takes the youngest task of the line; NULL if it is empty. Locked. */
static struct rti_task *line_take(struct rti_undertaker *self)
{
    struct rti_task **youngest = &self->line;
    for (struct rti_task **at = &self->line; *at != NULL; at = &(*at)->fiber.next_slot) {
        youngest = rti_task_serial(*at) > rti_task_serial(*youngest) ? at : youngest;
    }
    struct rti_task *task = *youngest;
    if (task != NULL) {
        *youngest = task->fiber.next_slot;
        task->fiber.next_slot = NULL;
    }
    return task;
}

/* The task whose duties are next: the present one until it has none, then another. */
static struct rti_task *undertaker_next(struct rti_tasks *tasks)
{
    struct rti_undertaker *self = &tasks->undertaker;
    struct rti_task *done = self->task;
    if (done != NULL) {
        if (rti_task_has_duties(done)) {
            return done;
        }
        self->task = NULL;
        rti_task_conclude(done);
    }
    rti_lock_acquire(&tasks->lock, tasks->sched);
    self->task = line_take(self);
    rti_lock_release(&tasks->lock);
    return self->task;
}

static void undertaker_main(void *arg)
{
    struct rti_tasks *tasks = arg;
    struct rti_task *task;
    while ((task = undertaker_next(tasks)) != NULL) {
        rti_task_run_hooks(task);
    }
}

/* The undertaker's fiber is over: all is done, or a hook has ended it. */
static void undertaker_on_done(struct rti_fiber *fiber)
{
    struct rti_undertaker *self = RTI_CONTAINER_OF(fiber, struct rti_undertaker, fiber);
    struct rti_tasks *tasks = RTI_CONTAINER_OF(self, struct rti_tasks, undertaker);
    if (fiber->end == RTI_FIBER_FAULTED || fiber->end == RTI_FIBER_OVERFLOWED) {
        rti_port_log("an ensure hook of a task that could not run it itself has faulted");
    }
    rti_lock_acquire(&tasks->lock, tasks->sched);
    bool has_work = self->task != NULL || self->line != NULL;
    self->is_running = has_work;
    rti_lock_release(&tasks->lock);
    if (has_work) {
        undertaker_start(tasks);
    }
}

static void undertaker_start(struct rti_tasks *tasks)
{
    static const struct rti_fiber_kind kind = {.main = rti_fiber_call,
                                               .on_done = undertaker_on_done};
    struct rti_undertaker *self = &tasks->undertaker;
    struct rti_fiber_options options = {.id = 0,
                                        .priority =
                                            tasks->is_cut_short ? RT_PRIO_LOW : RT_PRIO_HIGH,
                                        .kind = &kind,
                                        .fn = undertaker_main,
                                        .arg = tasks};
    rti_stack_init(&options.stack, self->stack, sizeof(self->stack));
    rti_fiber_init(&self->fiber, &options);
    rti_fiber_start(tasks->sched, &self->fiber);
}

void rti_task_bury(struct rti_task *task)
{
    struct rti_tasks *tasks = rti_tasks_with(task);
    struct rti_undertaker *self = &tasks->undertaker;
    RT_ASSERT(rti_fiber_current() == NULL && rti_task_has_duties(task));
    /* With several workers the stack may be another's before this returns. */
    RT_DCHECK(task->life.is_local ||
              !rti_stack_holds(&task->fiber.stack, (uintptr_t)__builtin_frame_address(0)));
    rti_lock_acquire(&tasks->lock, tasks->sched);
    task->fiber.next_slot = self->line;
    self->line = task;
    bool is_idle = !self->is_running;
    self->is_running = true;
    rti_lock_release(&tasks->lock);
    if (is_idle) {
        undertaker_start(tasks);
    }
}

void rti_undertaker_panic(struct rti_worker *worker, const rt_site *site, const char *message)
{
    struct rti_tasks *tasks = rti_tasks_of(worker);
    if (tasks == NULL || worker->fiber != &tasks->undertaker.fiber) {
        return;
    }
    rti_task_report_hook(tasks->undertaker.task, site, message);
    rti_fiber_exit(worker);
}

rt_status rt_ensure_at(const rt_site *site, rt_ensure_fn fn, void *arg)
{
    struct rti_task *task = rti_task_of(rti_worker_enter());
    if (task == NULL) {
        return (rt_status){RT_ERR_THREAD, "only a task has ensure hooks"};
    }
    if (fn == NULL || site == NULL) {
        return (rt_status){RT_ERR_INVALID, "there is no hook"};
    }
    if (task->hook_count == RT_MAX_HOOKS) {
        return (rt_status){RT_ERR_NOMEM, "the task has RT_MAX_HOOKS hooks"};
    }
    rti_task_annex(task)->hooks[task->hook_count++] =
        (struct rti_hook){.fn = fn, .arg = arg, .site = site};
    return RT_SUCCESS;
}

rt_status rt_ensure_run(void)
{
    struct rti_task *task = rti_task_of(rti_worker_enter());
    if (task == NULL) {
        return (rt_status){RT_ERR_THREAD, "only a task has ensure hooks"};
    }
    if (task->hook_count == 0) {
        return (rt_status){RT_ERR_EMPTY, "there is no hook"};
    }
    struct rti_inner_cx shield;
    shield_begin(&shield);
    task->hook_depth++;
    rt_status status = hook_run_next(task);
    task->hook_depth--;
    rti_cx_end_shield(&shield);
    if (RTI_UNLIKELY(task->is_doomed && task->hook_depth == 0)) {
        rti_task_kill(task);
    }
    return status;
}

rt_status rt_ensure_drop(void)
{
    struct rti_task *task = rti_task_of(rti_worker_enter());
    if (task == NULL) {
        return (rt_status){RT_ERR_THREAD, "only a task has ensure hooks"};
    }
    if (task->hook_count == 0) {
        return (rt_status){RT_ERR_EMPTY, "there is no hook"};
    }
    task->hook_count--;
    return RT_SUCCESS;
}

uint32_t rt_ensure_depth(void)
{
    const struct rti_task *task = rti_task_of(rti_worker_enter());
    return task == NULL ? 0 : task->hook_count;
}

rt_ensure_block rt_ensure_enter(const rt_site *site, rt_ensure_fn fn, void *arg)
{
    struct rti_task *task = rti_task_of(rti_worker_enter());
    uint32_t depth = task == NULL ? 0 : task->hook_count;
    rt_status status = rt_ensure_at(site, fn, arg);
    if (RT_FAILED(status)) {
        if (fn != NULL) {
            (void)hook_call(&(struct rti_hook){.fn = fn, .arg = arg, .site = site});
        }
        rt_panic_task_at(site, status.msg);
    }
    return (rt_ensure_block){.depth = depth};
}

void rt_ensure_leave(rt_ensure_block *block)
{
    struct rti_task *task = rti_task_of(rti_worker_enter());
    RT_ASSERT(task != NULL);
    while (task->hook_count > block->depth) {
        (void)rt_ensure_run();
    }
}
