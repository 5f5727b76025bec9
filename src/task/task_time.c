/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for time, and operations that have only so much of it; the manual is <orrery/rt/task.h>.
 *
 * rt_timeout and rt_using run the operation as a task in a region of their own. The region makes
 * sure that nothing of the operation is left when they return: it closes when the last task in it
 * has ended. A hook of the caller closes it if the caller is killed in between. Whatever ends the
 * caller's patience, its time or its own cancellation, becomes a cancellation of the region, and
 * then the caller waits on, shielded. */
#define RTI_MODULE "task_time"
#include "sync/region.h"
#include "task/task.h"
#include "task/tasks.h"

static rt_status sleep_park(struct rti_worker *worker, struct rti_cx *cx, rt_time deadline)
{
    struct rti_wait wait;
    struct rti_cx_events events;
    rti_fiber_wait_begin(worker, &wait);
    wait.reason = RTI_REASON_TIME;
    rti_cx_events_add(&events, cx, worker->sched, &wait, deadline);
    uint32_t event = rti_fiber_park(worker, &wait);
    if (event == RTI_EVENT_TIMEOUT && !events.is_budget) {
        return RT_SUCCESS;
    }
    return rti_cx_events_status(&events, cx, event);
}

rt_status rt_sleep(rt_time duration)
{
    struct rti_worker *worker = rti_worker_enter();
    if (worker == NULL) {
        rti_port_sleep(duration);
        return RT_SUCCESS;
    }
    if (worker->fiber == NULL) {
        return (rt_status){RT_ERR_WOULDBLOCK, "the runtime's own stack cannot wait"};
    }
    struct rti_cx *cx = rti_fiber_cx(worker->fiber);
    rt_status status = cx == NULL ? RT_SUCCESS : rti_cx_checkpoint(cx);
    if (RT_FAILED(status)) {
        return status;
    }
    return sleep_park(worker, cx, rti_deadline_after(worker->sched, duration));
}

/* An operation in a region of its own. */
struct block {
    const rt_site *site;
    rt_task_fn fn;
    void *arg;
    rt_region region;
    rt_task *task;
};

static const rt_status block_no_caller = {RT_ERR_THREAD, "only a task can have a block"};

/* The hook of a caller that was killed: its frames are gone for good, but the region in them must
 * not go before the last of its tasks. */
static rt_status block_drop(void *arg)
{
    struct block *block = arg;
    (void)rt_region_cancel(&block->region);
    return rt_region_close(&block->region, NULL);
}

/* The region of the block, inside the caller's. The caller is a member of that one, so it may bring
 * another, also while the region closes. */
static rt_status block_open_region(struct block *block, const rt_budget *budget)
{
    rt_status status = rt_region_open(&block->region, NULL, budget);
    struct rti_region *around = rti_region_of(rt_region_current());
    if (RT_FAILED(status) || around == NULL) {
        return status;
    }
    struct rti_region *region = rti_region_of(&block->region);
    region->budget = rt_budget_meet(region->budget, around->budget);
    status = rti_region_join_by(around, &region->member);
    if (RT_FAILED(status)) {
        rt_status closed = rt_region_close(&block->region, NULL);
        RT_ASSERT(!RT_FAILED(closed));
    }
    return status;
}

/* Opens the region and starts the operation. */
static rt_status block_begin(struct block *block, const rt_budget *budget)
{
    rt_status status = rt_ensure_at(block->site, block_drop, block);
    if (RT_FAILED(status)) {
        return status;
    }
    status = block_open_region(block, budget);
    if (RT_FAILED(status)) {
        (void)rt_ensure_drop();
        return status;
    }
    rt_task_config config = {.region = &block->region, .status = &status};
    block->task = rt_go_at(block->site, block->fn, block->arg, &config);
    if (block->task == NULL) {
        rt_status closed = rt_region_close(&block->region, NULL);
        RT_ASSERT(!RT_FAILED(closed));
        (void)rt_ensure_drop();
    }
    return status;
}

/* Waits, shielded, until the last task of the region has ended. */
static void block_end(struct block *block)
{
    struct rti_inner_cx shield;
    rti_cx_begin_shield(&shield, rti_fiber_current(), RT_TIME_NEVER);
    rt_status status = rt_region_close(&block->region, NULL);
    RT_ASSERT(!RT_FAILED(status));
    rti_cx_end_shield(&shield);
    (void)rt_ensure_drop();
}

/* Waits for everything in the block, and for the operation's result. `status` is what the first
 * wait for the operation gave. */
static rt_status block_finish(struct block *block, rt_status status, void **value)
{
    bool has_ended = block->task == NULL;
    if (!has_ended) {
        (void)rt_region_cancel(&block->region);
    }
    block_end(block);
    if (has_ended) {
        return status;
    }
    rt_status end = rt_join(block->task, value);
    /* A result that came in spite of all is a result. */
    return end.code == RT_ERR_CANCELLED ? status : end;
}

rt_status rt_timeout_at(const rt_site *site, rt_time duration, rt_task_fn fn, void *arg,
                        void **value)
{
    struct rti_worker *worker = rti_worker_enter();
    if (rti_task_of(worker) == NULL) {
        return block_no_caller;
    }
    struct rti_cx *cx = rti_fiber_cx(worker->fiber);
    rt_status status = cx == NULL ? RT_SUCCESS : rti_cx_checkpoint(cx);
    if (RT_FAILED(status)) {
        return status;
    }
    rt_time deadline = rti_deadline_after(worker->sched, duration);
    struct block block = {.site = site, .fn = fn, .arg = arg};
    status = block_begin(&block, NULL);
    if (RT_FAILED(status)) {
        return status;
    }
    return block_finish(&block, rt_join_until(&block.task, value, deadline), value);
}

rt_status rt_using_at(const rt_site *site, const rt_budget *budget, rt_task_fn fn, void *arg,
                      void **value)
{
    struct rti_worker *worker = rti_worker_enter();
    if (rti_task_of(worker) == NULL) {
        return block_no_caller;
    }
    struct rti_cx *cx = rti_fiber_cx(worker->fiber);
    rt_status status = cx == NULL ? RT_SUCCESS : rti_cx_checkpoint(cx);
    if (RT_FAILED(status)) {
        return status;
    }
    struct block block = {.site = site, .fn = fn, .arg = arg};
    status = block_begin(&block, budget);
    if (RT_FAILED(status)) {
        return status;
    }
    /* The whole block first: its tasks may outlive the first one. */
    rt_status closed = rt_region_close(&block.region, NULL);
    if (!RT_FAILED(closed)) {
        (void)rt_ensure_drop();
        status = rt_join(block.task, value);
        bool is_late = budget != NULL && rti_sched_clock(rti_sched_current()) >= budget->deadline;
        if (status.code == RT_ERR_CANCELLED && is_late) {
            status = (rt_status){RT_ERR_BUDGET_EXHAUSTED, "the budget of the block is used up"};
        }
        return status;
    }
    return block_finish(&block, closed, value);
}
