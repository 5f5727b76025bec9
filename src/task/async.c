/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a poll task; the essay is in async.h, the manual in <orrery/rt/async.h>. */
#define RTI_MODULE "async"
#include "task/async.h"

#include "base/marks.h"
#include "sched/chain.h"
#include "sched/crew_start.h"
#include "task/asyncs.h"

/* The ids of poll tasks in traces are apart from those of actors and tasks. */
#define ASYNC_TRACE_ID UINT32_C(0x40000000)

static const rt_status async_no_runtime = {RT_ERR_THREAD, "this thread has no runtime"};
static const rt_status async_no_handle = {RT_ERR_INVALID, "this is no handle, or it is consumed"};

/* Begins a step whose wish is known, and takes note if it answers rt_async_wake. One worker. */
static RTI_ALWAYSINLINE void async_to_running_here(struct rti_async *async)
{
    if (RTI_UNLIKELY(rti_async_word_to_running(&async->word, false) == RTI_ASYNC_CALLED)) {
        async->is_called = true;
    }
}

/* The same in every way; gives what is wished for, which nobody knows before. */
static RTI_ALWAYSINLINE uint8_t async_to_running(struct rti_async *async, bool is_shared)
{
    uint8_t wish;
    if (RTI_UNLIKELY(rti_async_word_begin(&async->word, &async->wish, &wish, is_shared) ==
                     RTI_ASYNC_CALLED)) {
        async->is_called = true;
    }
    return wish;
}

static RTI_ALWAYSINLINE bool async_is_shared(const struct rti_async *async)
{
    return !RTI_ONE_WORKER && !async->life.is_local;
}

/* A wake that comes too late may find a slot that is just being begun again: it reads nothing that
 * the beginning writes. */
static RTI_ALWAYSINLINE uint8_t async_notify(struct rti_async *async, enum rti_async_word to)
{
    return rti_async_word_to_notified(&async->word, to, async_is_shared(async));
}

/* Notes a task that is about to be queued in the one that was queued some wakes before. The first
 * slot is the first that is ever used, and stands for those that were never there. */
static RTI_ALWAYSINLINE void async_line_up(struct rti_async *async)
{
#if RTI_ASYNC_FORESIGHT
    struct rti_asyncs *asyncs = async->asyncs;
    if (rti_runnable_is_shared(&async->run) ||
        asyncs->sched->processor.levels[RTI_ASYNC_PRIORITY].head == NULL) {
        return;
    }
    uint32_t index = (uint32_t)(async - asyncs->slots);
    uint32_t *place = &asyncs->woken[asyncs->wakes++ % RTI_ASYNC_FORESIGHT];
    asyncs->slots[*place].ahead = index + 1;
    *place = index;
#else
    (void)async;
#endif
}

/* Goes a task, where the last goes first, before all that is ready now? Every so manieth does not:
 * those have their turns, too. */
static RTI_ALWAYSINLINE bool async_is_early(struct rti_asyncs *asyncs)
{
    if (RTI_LIKELY(asyncs->early_max == 0)) {
        return false;
    }
    if (!rti_sched_is_local(asyncs->sched)) {
        /* The station sees that the others have their turns. */
        return true;
    }
    bool is_early = asyncs->early_left > 0;
    asyncs->early_left = is_early ? asyncs->early_left - 1 : asyncs->early_max;
    return is_early;
}

/* Wakes one that waited for the end of another. */
static RTI_ALWAYSINLINE void async_wake_joiner(struct rti_async *async)
{
    if (async_notify(async, RTI_ASYNC_NOTIFIED) == RTI_ASYNC_PARKED) {
        rti_sched_wake_at(async->asyncs->sched, &async->run, async_is_early(async->asyncs));
    }
}

void rti_async_wake(struct rti_async *async)
{
    if (async_notify(async, RTI_ASYNC_NOTIFIED) == RTI_ASYNC_PARKED) {
        async_line_up(async);
        rti_sched_wake(async->asyncs->sched, &async->run);
    }
}

void rti_async_waker(void *arg)
{
    rti_async_wake(arg);
}

/* Ends the wait for another's end. */
static void async_leave_join(struct rti_async *self)
{
    rti_asyncs_unwatch(self->asyncs, self->joins, (uintptr_t)self | RTI_ASYNC_IS_TASK);
    self->is_joining = false;
    self->cx = NULL;
}

/* The end tells who waits for it. The task is the holder's from rti_task_to_told on, a waiter until
 * it is woken; a poll task that is woken too late takes it for a call without cause. */
static RTI_NOINLINE void async_tell(struct rti_async *async)
{
    uintptr_t watcher = async->watcher;
    if ((watcher & RTI_ASYNC_IS_TASK) != 0) {
        rti_task_to_told(&async->life);
        async_wake_joiner((struct rti_async *)(watcher & ~RTI_ASYNC_IS_TASK));
        return;
    }
    struct rti_waiter *waiter = (struct rti_waiter *)(watcher & ~RTI_ASYNC_IS);
    bool is_behind = async_is_shared(async) && (watcher & RTI_ASYNC_IS_FIBER) != 0;
    bool is_won = rti_wait_claim(waiter->wait, waiter->event);
    rti_task_to_told(&async->life);
    if (is_won && is_behind) {
        rti_fiber_wake_behind(waiter->wait);
    } else if (is_won) {
        rti_waiter_wake(waiter);
    }
}

/* From here on the slot is the holder's, or free. */
static RTI_NOINLINE void async_conclude(struct rti_async *async, const struct rti_worker *worker)
{
    struct rti_asyncs *asyncs = async->asyncs;
    switch (rti_task_to_ended(&async->life)) {
    case RTI_TASK_END_LEAVE:
        break;
    case RTI_TASK_END_TELL:
        async_tell(async);
        break;
    case RTI_TASK_END_FREE:
        rti_asyncs_free(asyncs, worker, async, (uint32_t)(async - asyncs->slots));
        break;
    }
}

/* Says to the scheduler that the task has ended. */
static RTI_ALWAYSINLINE void async_settle_end(struct rti_async *async, struct rti_worker *worker)
{
    struct rti_sched *sched = async->asyncs->sched;
    if (RTI_UNLIKELY(!rti_sched_is_local(sched) || rti_sched_journal(sched) != NULL)) {
        rti_sched_end(sched, &async->run);
        return;
    }
    rti_runnable_to_done(&async->run);
    rti_worker_note(worker, RTI_NOTE_END, 0, async->run.id);
    RT_ASSERT(sched->live > 0);
    sched->live--;
}

/* The function has returned something, or will not be called any more. It has its context no
 * longer. */
static RTI_ALWAYSINLINE void async_end(struct rti_async *async, struct rti_worker *worker,
                                       rt_status status)
{
    async->result = (uint8_t)status.code;
    async->result_msg = status.msg;
    if (RTI_UNLIKELY(async->nap != NULL)) {
        rti_nap_end(async);
    }
    if (RTI_UNLIKELY(async->is_joining)) {
        async_leave_join(async);
    }
    async_settle_end(async, worker);
    async_conclude(async, worker);
}

/* Takes apart what a context still has when its task ends. */
static RTI_ALWAYSINLINE void async_end_context(struct rti_cx *cx)
{
    if (RTI_UNLIKELY(rti_cx_poll(cx)->is_waiting)) {
        rti_cx_poll_end(cx);
    }
    rti_cleanup_run_all(&rti_cx_poll(cx)->cleanups);
}

/* After a call that has to wait: parks the task unless it was woken meanwhile. The task may be run
 * by another worker before this returns. */
static void async_settle(struct rti_async *async)
{
    struct rti_sched *sched = async->asyncs->sched;
    bool is_parked = rti_runnable_to_parked(&async->run);
    RT_ASSERT(is_parked);
    bool was_quiet = rti_async_word_to_parked(&async->word, rti_runnable_is_shared(&async->run));
    if (!was_quiet) {
        RT_SOMETIMES(true, "async: woken while its step ran");
        rti_sched_wake(sched, &async->run);
    }
}

static RTI_ALWAYSINLINE bool async_waits_or_holds(struct rti_cx *cx)
{
    const struct rti_poll_cx *poll = rti_cx_poll(cx);
    return poll->is_waiting || !rti_cleanups_are_none(&poll->cleanups);
}

/* The context stays with the task if it waits or holds something, or is not as it was lent. */
static RTI_ALWAYSINLINE bool async_needs_context(struct rti_cx *cx)
{
    return async_waits_or_holds(cx) || RTI_UNLIKELY(!rti_asyncs_context_is_clean(cx));
}

/* The context that a call was made with stays with the task. */
static RTI_NOINLINE void async_keep_context(struct rti_async *async, struct rti_cx *cx)
{
    if (async->is_joining) {
        RT_SOMETIMES(true, "async: waits for something else than the end that it waited for");
        async_leave_join(async);
    }
    async->cx = cx;
}

/* No context is left: one for the time of the call. What it registers is given up, and what it
 * would hold is refused, so the task is called again then. */
static RTI_NOINLINE void async_step_without(struct rti_async *async, struct rti_worker *worker)
{
    struct rti_poll_cx poll;
    struct rti_cx *cx = &poll.cx;
    rt_status status =
        rt_cx_init_poll((rt_cx *)(void *)cx, (rt_waker){.fn = rti_async_waker, .arg = async});
    RT_ASSERT(!RT_FAILED(status));
    if (rti_async_is_cancelled(async)) {
        rti_cx_cancel(cx);
    }
    cx->is_passing = true;
    status = async->poll(async->state, (rt_cx *)(void *)cx);
    RT_SOMETIMES(true, "async: no context was left");
    RT_ASSERT(rti_cleanups_are_none(&poll.cleanups));
    bool is_needed = poll.is_waiting || cx->is_refused;
    (void)rt_cx_deinit((rt_cx *)(void *)cx);
    if (status.code != RT_ERR_WOULDBLOCK) {
        async_end(async, worker, status);
        return;
    }
    if (is_needed) {
        (void)async_notify(async, RTI_ASYNC_NOTIFIED);
    }
    async_settle(async);
}

/* The runtime ends. */
static RTI_COLD void async_step_last(struct rti_async *async, struct rti_worker *worker)
{
    if (!async->is_joining && async->cx != NULL) {
        struct rti_cx *cx = async->cx;
        async->cx = NULL;
        async_end_context(cx);
        rti_asyncs_context_give(async->asyncs, worker, cx);
    }
    async_end(async, worker, (rt_status){RT_ERR_CANCELLED, "the runtime ended"});
}

static void async_step(struct rti_runnable *runnable, struct rti_worker *worker);

/* Asks for what the next steps will need. Only a task that was noted in a queue is. */
static RTI_ALWAYSINLINE void async_foresee(struct rti_async *async)
{
#if RTI_ASYNC_FORESIGHT
    if (RTI_LIKELY(async->ahead == 0)) {
        return;
    }
    const struct rti_asyncs *asyncs = async->asyncs;
    RTI_PREFETCH_PAIR(&asyncs->slots[async->ahead - 1]);
    async->ahead = 0;
    const struct rti_runnable *next = asyncs->sched->processor.levels[RTI_ASYNC_PRIORITY].head;
    next = next == NULL ? NULL : next->next;
    if (next != NULL && next->step == async_step) {
        const struct rti_async *second = RTI_CONTAINER_OF(next, struct rti_async, run);
        RTI_PREFETCH(second->state);
        if (second->nap != NULL) {
            RTI_PREFETCH_PAIR(second->nap);
        }
    }
#else
    (void)async;
#endif
}

/* What is left of a step when the function has returned `status`, in every way. */
static RTI_ALWAYSINLINE void async_step_end(struct rti_async *async, struct rti_worker *worker,
                                            struct rti_cx *cx, rt_status status)
{
    bool is_kept = !async->is_joining && async->cx == cx;
    if (status.code != RT_ERR_WOULDBLOCK) {
        if (is_kept) {
            async->cx = NULL;
        }
        async_end_context(cx);
        rti_asyncs_context_give(async->asyncs, worker, cx);
        async_end(async, worker, status);
        return;
    }
    bool is_needed = async_needs_context(cx);
    if (!is_needed) {
        if (is_kept) {
            async->cx = NULL;
        }
        rti_asyncs_context_lay_by(async->asyncs, worker, cx);
    } else if (!is_kept) {
        async_keep_context(async, cx);
    }
    async_settle(async);
}

/* A step in every way. */
static RTI_NOINLINE void async_step_any(struct rti_async *async, struct rti_worker *worker)
{
    uint8_t wish = async_to_running(async, rti_runnable_is_shared(&async->run));
    if (RTI_UNLIKELY(wish == RTI_ASYNC_END)) {
        async_step_last(async, worker);
        return;
    }
    bool is_kept = async->cx != NULL && !async->is_joining;
    struct rti_cx *cx = async->cx;
    if (!is_kept) {
        cx = rti_asyncs_context_take(async->asyncs, worker, async);
        if (RTI_UNLIKELY(cx == NULL)) {
            async_step_without(async, worker);
            return;
        }
    }
    if (RTI_UNLIKELY(wish != RTI_ASYNC_GO_ON) && !rti_cancel_is_requested(&cx->cancel)) {
        rti_cx_cancel(cx);
    }
    async_step_end(async, worker, cx, async->poll(async->state, (rt_cx *)(void *)cx));
}

#if RT_MAX_WORKERS > 1
/* The end of a step with several workers, in the common case: the task waits for nothing, nobody
 * watches, and the holder of the handle has not come yet. */
static RTI_ALWAYSINLINE void async_end_shared(struct rti_async *async, struct rti_worker *worker,
                                              rt_status status)
{
    struct rti_station *station = worker->station;
    RT_DCHECK(station != NULL); /* sched/chain.h */
    if (RTI_UNLIKELY(async->nap != NULL || async->is_joining ||
                     rti_sched_journal(worker->sched) != NULL)) {
        async_end(async, worker, status);
        return;
    }
    async->result = (uint8_t)status.code;
    async->result_msg = status.msg;
    rti_runnable_to_done(&async->run);
    rti_worker_note(worker, RTI_NOTE_END, 0, async->run.id);
    rti_station_count(&station->live, UINT64_MAX);
    bool is_solo = rti_solo_enter(worker);
    bool is_complete =
        is_solo ? rti_task_to_complete_alone(&async->life) : rti_task_to_complete(&async->life);
    if (is_solo) {
        rti_solo_leave(worker);
    }
    if (RTI_UNLIKELY(!is_complete)) {
        async_conclude(async, worker);
    }
}

static void async_step_shared(struct rti_runnable *runnable, struct rti_worker *worker);

/* What follows a step in every way. */
static RTI_NOINLINE struct rti_runnable *async_go_on(struct rti_worker *worker)
{
    return rti_chain_oldest(worker, async_step_shared);
}

/* The end of a step by who works alone, in the common case, and the beginning of the next one, in
 * one section: that one in `*next`, NULL if the search or async_go_on is to look for it. False: it
 * is any other case, and nothing has changed. `left`: turns that may follow. */
static RTI_ALWAYSINLINE bool async_end_alone(struct rti_async *async, struct rti_worker *worker,
                                             rt_status status, int32_t left,
                                             struct rti_runnable **next)
{
    if (RTI_UNLIKELY(async->nap != NULL) || RTI_UNLIKELY(async->is_joining) ||
        RTI_UNLIKELY(!rti_solo_enter(worker))) {
        return false;
    }
    if (RTI_UNLIKELY(rti_task_life(&async->life) != RTI_TASK_HELD)) {
        rti_solo_leave(worker);
        return false;
    }
    async->result = (uint8_t)status.code;
    async->result_msg = status.msg;
    rti_runnable_to_done_here(&async->run);
    rti_station_count(&worker->station->live, UINT64_MAX);
    rti_task_to_complete_seen(&async->life);
    *next = rti_chain_oldest_alone(worker, RTI_ASYNC_PRIORITY, left, async_step_shared);
    rti_solo_leave(worker);
    return true;
}

/* One step with several workers, and what follows it. Most find a spare context on the desk and
 * leave it as it was: it is not even taken away, because the station is kept until the end of the
 * step (sched/chain.h), and one runs at a time. `left`: turns that may follow. */
static RTI_ALWAYSINLINE struct rti_runnable *
async_step_here(struct rti_async *async, struct rti_worker *worker, int32_t left)
{
    struct rti_async_desk *desk = rti_asyncs_desk_at(worker->station);
    struct rti_cx *cx = desk->spare;
    if (RTI_UNLIKELY(async->cx != NULL) || RTI_UNLIKELY(cx == NULL)) {
        async_step_any(async, worker);
        return async_go_on(worker);
    }
    if (RTI_UNLIKELY(async_to_running(async, true) != RTI_ASYNC_GO_ON)) {
        /* Begins once more, which loses nothing: it answers who has come meanwhile, too. */
        async_step_any(async, worker);
        return async_go_on(worker);
    }
    RT_DCHECK(!cx->is_touched && rti_asyncs_context_is_clean(cx));
    rti_cx_poll(cx)->waker.arg = async;
    rt_status status = async->poll(async->state, (rt_cx *)(void *)cx);
    RT_DCHECK(desk == rti_asyncs_desk_at(worker->station) && desk->spare == cx);
    /* What others may cancel is touched; who cancels a context that is not its own is not
     * believed. */
    if (RTI_UNLIKELY(cx->is_touched || rti_cancel_is_requested(&cx->cancel))) {
        desk->spare = NULL;
        async_step_end(async, worker, cx, status);
        return async_go_on(worker);
    }
    RT_DCHECK(!async_needs_context(cx));
    rti_cx_poll(cx)->waker.fn = rti_async_waker; /* the task may have given it another */
    if (status.code == RT_ERR_WOULDBLOCK) {
        async_settle(async);
        return async_go_on(worker);
    }
    struct rti_runnable *next;
    if (RTI_UNLIKELY(!async_end_alone(async, worker, status, left, &next))) {
        async_end_shared(async, worker, status);
        return async_go_on(worker);
    }
    return RTI_LIKELY(next != NULL) ? next : async_go_on(worker);
}

/* The step of every task where there are several workers. It goes on with those that are next, if
 * they are poll tasks, too. */
static void async_step_shared(struct rti_runnable *runnable, struct rti_worker *worker)
{
    int32_t left = rti_chain_length(worker);
    do {
        struct rti_async *async = RTI_CONTAINER_OF(runnable, struct rti_async, run);
        runnable = async_step_here(async, worker, left);
        left--;
    } while (runnable != NULL);
}
#endif

/* The rest of a step that has gone straight, if its context has to be looked at. */
static RTI_NOINLINE void async_step_touched(struct rti_async *async, struct rti_worker *worker,
                                            struct rti_cx *cx, rt_status status)
{
    rti_asyncs_context_remove(async->asyncs, cx);
    async_step_end(async, worker, cx, status);
}

/* The end of a step that has gone straight, if there is more to end than the task. */
static RTI_NOINLINE void async_step_last_wait(struct rti_async *async)
{
    if (async->nap != NULL) {
        rti_nap_end(async);
    }
    if (async->is_joining) {
        async_leave_join(async);
    }
}

/* A step. Most find a spare context on top and leave it as it was: it is not even taken away. */
static void async_step(struct rti_runnable *runnable, struct rti_worker *worker)
{
    struct rti_async *async = RTI_CONTAINER_OF(runnable, struct rti_async, run);
    async_foresee(async);
    const struct rti_asyncs *asyncs = worker->straight[RTI_MODULE_ASYNC];
    struct rti_cx *cx;
    if (RTI_UNLIKELY(asyncs == NULL || rti_async_is_cancelled(async) || async->cx != NULL ||
                     (cx = asyncs->spares) == NULL)) {
        async_step_any(async, worker);
        return;
    }
    RT_DCHECK(!cx->is_touched && rti_asyncs_context_is_clean(cx));
    async_to_running_here(async);
    rti_cx_poll(cx)->waker.arg = async;
    rt_status status = async->poll(async->state, (rt_cx *)(void *)cx);
    if (RTI_UNLIKELY(cx->is_touched)) {
        async_step_touched(async, worker, cx, status);
        return;
    }
    RT_DCHECK(rti_asyncs_context_is_clean(cx) && !async_needs_context(cx));
    if (status.code == RT_ERR_WOULDBLOCK) {
        async_settle(async);
        return;
    }
    async->result = (uint8_t)status.code;
    async->result_msg = status.msg;
    if (RTI_UNLIKELY(((uintptr_t)async->nap | (uintptr_t)async->cx) != 0)) {
        async_step_last_wait(async);
    }
    rti_runnable_to_done_here(&async->run);
    rti_sched_settled_here(worker->sched);
    if (RTI_UNLIKELY(rti_task_life(&async->life) != RTI_TASK_HELD)) {
        async_conclude(async, worker);
        return;
    }
    rti_task_to_complete_here(&async->life);
}

void rti_async_init_slot(struct rti_async *async, struct rti_asyncs *asyncs)
{
#if RT_MAX_WORKERS > 1
    rti_runnable_init(&async->run, 0, RTI_ASYNC_PRIORITY,
                      rti_sched_is_local(asyncs->sched) ? async_step : async_step_shared);
#else
    rti_runnable_init(&async->run, 0, RTI_ASYNC_PRIORITY, async_step);
#endif
    rti_u8_init(&async->word, RTI_ASYNC_RUNNING);
    rti_u8_init(&async->wish, RTI_ASYNC_GO_ON);
    rti_task_life_init(&async->life, asyncs->sched->is_local);
    async->is_joining = false;
    async->is_pausing = false;
    async->is_called = false;
    rti_u32_init(&async->generation, 1);
    async->poll = NULL;
    async->cx = NULL;
    async->nap = NULL;
    async->watcher = 0;
#if RTI_ASYNC_FORESIGHT
    async->ahead = 0;
#endif
    async->asyncs = asyncs;
}

/* The number of the next task. */
static inline uint32_t async_next_serial(struct rti_asyncs *asyncs, const struct rti_worker *worker)
{
    if (RTI_LIKELY(rti_sched_is_local(asyncs->sched))) {
        uint32_t serial = rti_u32_load_relaxed(&asyncs->serial) + 1;
        rti_u32_store_relaxed(&asyncs->serial, serial);
        return serial;
    }
    struct rti_async_desk *desk = rti_asyncs_desk(asyncs, worker);
    if (RTI_UNLIKELY(desk == NULL)) {
        return rti_u32_add_relaxed(&asyncs->serial, 1) + 1;
    }
    if (RTI_UNLIKELY(desk->serial == desk->serial_end)) {
        desk->serial = rti_u32_add_relaxed(&asyncs->serial, RTI_ASYNC_SERIALS);
        desk->serial_end = desk->serial + RTI_ASYNC_SERIALS;
    }
    return ++desk->serial;
}

/* Queues a new task, which is ready. */
static RTI_ALWAYSINLINE void async_queue_new(struct rti_asyncs *asyncs, struct rti_async *async)
{
    struct rti_processor *processor = &asyncs->sched->processor;
    if (RTI_UNLIKELY(async_is_early(asyncs))) {
        rti_processor_stack(processor, &async->run);
    } else {
        rti_processor_queue_at(processor, &async->run, RTI_ASYNC_PRIORITY);
    }
}

/* Makes a new task ready. */
static RTI_ALWAYSINLINE void async_start(struct rti_async *async, struct rti_worker *worker)
{
    struct rti_sched *sched = worker->sched;
    if (RTI_UNLIKELY(!rti_sched_is_local(sched) || rti_sched_journal(sched) != NULL)) {
        rti_u32_store_relaxed(&async->run.state, RTI_RUNNABLE_NEW);
        if (async_is_early(async->asyncs)) {
            rti_sched_start_first(sched, &async->run);
        } else {
            rti_sched_start(sched, &async->run);
        }
        return;
    }
    RTI_PROBE2(spawn, async->run.id, RTI_ASYNC_PRIORITY);
    rti_worker_note(worker, RTI_NOTE_START, RTI_ASYNC_PRIORITY, async->run.id);
    rti_u32_store_relaxed(&async->run.state, RTI_RUNNABLE_READY);
    sched->live++;
    async_queue_new(async->asyncs, async);
}

/* What a task begins with, in a slot that was taken. */
static RTI_ALWAYSINLINE void async_begin(struct rti_async *async, uint32_t serial, rt_poll_fn poll,
                                         void *state)
{
    async->run.id = serial | ASYNC_TRACE_ID;
    rti_u8_store_relaxed(&async->wish, RTI_ASYNC_GO_ON);
    async->is_pausing = false;
    async->poll = poll;
    async->state = state;
    rti_task_to_held_here(&async->life);
}

/* rt_async in every way. */
static RTI_NOINLINE rt_async_task *async_go_any(struct rti_worker *worker, rt_poll_fn poll,
                                                void *state)
{
    struct rti_asyncs *asyncs = rti_asyncs_of(worker);
    struct rti_async *async =
        RTI_UNLIKELY(asyncs == NULL || poll == NULL) ? NULL : rti_asyncs_take(asyncs, worker);
    if (RTI_UNLIKELY(async == NULL)) {
        return NULL;
    }
    async_begin(async, async_next_serial(asyncs, worker), poll, state);
    rt_async_task *handle = rti_asyncs_handle(asyncs, async);
    async_start(async, worker);
    return handle;
}

#if RT_MAX_WORKERS > 1
/* The same with several workers, where most find a slot at their desk, or get some for it, and
 * nobody watches. */
static RTI_NOINLINE rt_async_task *async_go_shared(struct rti_worker *worker, rt_poll_fn poll,
                                                   void *state)
{
    struct rti_asyncs *asyncs = rti_asyncs_of(worker);
    if (RTI_LIKELY(asyncs != NULL && poll != NULL && asyncs->early_max == 0)) {
        struct rti_async_desk *desk = rti_asyncs_slot_desk(asyncs, worker);
        if (RTI_LIKELY(desk != NULL && rti_sched_journal(asyncs->sched) == NULL)) {
            struct rti_async *async = rti_asyncs_desk_take(asyncs, desk);
            if (RTI_UNLIKELY(async == NULL)) {
                return NULL;
            }
            RT_DCHECK(async->poll == NULL);
            async_begin(async, async_next_serial(asyncs, worker), poll, state);
            rti_u32_store_relaxed(&async->run.state, RTI_RUNNABLE_READY);
            rt_async_task *handle = rti_asyncs_handle(asyncs, async);
            RTI_PROBE2(spawn, async->run.id, RTI_ASYNC_PRIORITY);
            rti_worker_note(worker, RTI_NOTE_START, RTI_ASYNC_PRIORITY, async->run.id);
            rti_crew_start_at(asyncs->sched->crew, worker, &async->run, RTI_ASYNC_PRIORITY);
            return handle;
        }
    }
    return async_go_any(worker, poll, state);
}

/* The common case with several workers: the caller works alone, and finds a slot and a number at
 * its desk and a place in its ring. In any other case nothing has changed. Nothing is called that
 * comes back: no register has to be saved. */
static RTI_NOINLINE rt_async_task *async_go_alone(rt_poll_fn poll, void *state,
                                                  struct rti_worker *worker)
{
    if (RTI_UNLIKELY(worker == NULL) || RTI_UNLIKELY(poll == NULL) ||
        RTI_UNLIKELY(!rti_solo_enter(worker))) {
        return async_go_shared(worker, poll, state);
    }
    struct rti_station *station = worker->station;
    struct rti_async_desk *desk = rti_asyncs_desk_at(station);
    struct rti_asyncs *asyncs = rti_asyncs_of(worker);
    if (RTI_UNLIKELY(asyncs == NULL) || RTI_UNLIKELY(asyncs->early_max != 0) ||
        RTI_UNLIKELY(rti_asyncs_desk_is_bare(desk)) ||
        RTI_UNLIKELY(desk->serial == desk->serial_end) ||
        RTI_UNLIKELY(!rti_crew_is_quiet(worker->sched->crew, station, RTI_ASYNC_PRIORITY))) {
        rti_solo_leave(worker);
        return async_go_shared(worker, poll, state);
    }
    uint32_t index = desk->free_head;
    struct rti_async *async = rti_asyncs_desk_pop(asyncs, desk);
    RT_DCHECK(async->poll == NULL);
    async_begin(async, ++desk->serial, poll, state);
    rti_u32_store_relaxed(&async->run.state, RTI_RUNNABLE_READY);
    RTI_PROBE2(spawn, async->run.id, RTI_ASYNC_PRIORITY);
    rti_crew_start_alone(station, &async->run, RTI_ASYNC_PRIORITY);
    rti_solo_leave(worker);
    return rti_asyncs_handle_at(async, index);
}
#endif

rt_async_task *rt_async(rt_poll_fn poll, void *state)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_asyncs *asyncs = worker == NULL ? NULL : worker->straight[RTI_MODULE_ASYNC];
#if RT_MAX_WORKERS > 1
    if (RTI_UNLIKELY(asyncs == NULL)) {
        return async_go_alone(poll, state, worker);
    }
#endif
    if (RTI_UNLIKELY(asyncs == NULL || poll == NULL || asyncs->free_head >= asyncs->count)) {
        return async_go_any(worker, poll, state);
    }
    /* Straight, and a slot is there that was a task's before. */
    uint32_t index = asyncs->free_head;
    struct rti_async *async = &asyncs->slots[index];
    RT_DCHECK(async->poll == NULL);
    asyncs->free_head = async->next_free;
    uint32_t serial = rti_u32_load_relaxed(&asyncs->serial) + 1;
    rti_u32_store_relaxed(&asyncs->serial, serial);
    async_begin(async, serial, poll, state);
    RTI_PROBE2(spawn, async->run.id, RTI_ASYNC_PRIORITY);
    rti_u32_store_relaxed(&async->run.state, RTI_RUNNABLE_READY);
    worker->sched->live++;
    async_queue_new(asyncs, async);
    return rti_asyncs_handle_at(async, index);
}

rt_status rt_async_detach(rt_async_task *task)
{
    const struct rti_worker *worker = rti_worker_enter();
    struct rti_asyncs *asyncs = rti_asyncs_of(worker);
    if (asyncs == NULL) {
        return async_no_runtime;
    }
    bool is_guest = rti_asyncs_guard(asyncs, (uintptr_t)task);
    struct rti_async *async = rti_asyncs_lookup(asyncs, task);
    if (async == NULL || rti_asyncs_is_awaited(async)) {
        rti_asyncs_unguard(asyncs, (uintptr_t)task, is_guest);
        return async == NULL ? async_no_handle : rti_asyncs_awaited;
    }
    rti_asyncs_consume(async);
    /* Who may still stand there has lost interest: it gave the handle away. */
    rti_task_to_unwatched(&async->life);
    bool has_ended = !rti_task_to_released(&async->life);
    if (has_ended) {
        rti_task_to_free(&async->life);
    }
    rti_asyncs_unguard(asyncs, (uintptr_t)task, is_guest);
    if (has_ended) {
        rti_asyncs_free(asyncs, worker, async, (uint32_t)((uintptr_t)task & RTI_ASYNC_INDEX_MASK));
    }
    return RT_SUCCESS;
}

/* Makes the word of the task that a handle names `to`, or wishes `wish` of it if that is more than
 * it had. One that was PARKED is its waker's, and stays, until it is queued. */
static RTI_ALWAYSINLINE rt_status async_tell_task(const rt_async_task *task, enum rti_async_word to,
                                                  enum rti_async_wish wish)
{
    struct rti_asyncs *asyncs = rti_asyncs_of(rti_worker_enter());
    if (RTI_UNLIKELY(asyncs == NULL)) {
        return async_no_runtime;
    }
    bool is_guest = rti_asyncs_guard(asyncs, (uintptr_t)task);
    struct rti_async *async = rti_asyncs_lookup(asyncs, task);
    bool is_parked = false;
    if (RTI_LIKELY(async != NULL) && !rti_async_has_ended(async) &&
        (wish == RTI_ASYNC_GO_ON || !rti_async_is_cancelled(async))) {
        /* Nobody else writes the wish now: the end of the runtime, which wishes for more, begins
         * while nothing runs. */
        uint8_t before =
            wish == RTI_ASYNC_GO_ON
                ? async_notify(async, to)
                : rti_async_word_wish(&async->word, &async->wish, wish, async_is_shared(async));
        is_parked = before == RTI_ASYNC_PARKED;
    }
    rti_asyncs_unguard(asyncs, (uintptr_t)task, is_guest);
    if (is_parked) {
        async_line_up(async);
        rti_sched_wake(asyncs->sched, &async->run);
    }
    return RTI_LIKELY(async != NULL) ? RT_SUCCESS : async_no_handle;
}

rt_status rt_async_cancel(rt_async_task *task)
{
    /* Its own step raises the flag of its context: nobody else touches that. */
    return async_tell_task(task, RTI_ASYNC_NOTIFIED, RTI_ASYNC_STOP);
}

rt_status rt_async_wake(rt_async_task *task)
{
    return async_tell_task(task, RTI_ASYNC_CALLED, RTI_ASYNC_GO_ON);
}
