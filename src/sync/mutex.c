/* SPDX-License-Identifier: Apache-2.0 */
/* The mutex; the essay is in mutex.h, the manual in <orrery/rt/mutex.h>. */
#define RTI_MODULE "mutex"
#include "sync/mutex.h"

#include "base/marks.h"

_Static_assert(sizeof(struct rti_mutex) <= sizeof(rt_mutex), "rt_mutex is too small");
_Static_assert(_Alignof(struct rti_mutex) <= _Alignof(rt_mutex), "rt_mutex is aligned too weakly");

#define MUTEX_MAGIC UINT32_C(0x7874756d)

static const char mutex_tag;

static const rt_status mutex_unknown = {RT_ERR_INVALID, "this is no mutex"};
static const rt_status mutex_foreign = {RT_ERR_THREAD, "this thread has no runtime"};
static const rt_status mutex_orphaned = {RT_ERR_OWNER_DIED,
                                         "a holder ended with the mutex: recover it"};

struct rti_mutex *rti_mutex_of(rt_mutex *storage)
{
    struct rti_mutex *mutex = (struct rti_mutex *)(void *)storage;
    return mutex != NULL && mutex->magic == MUTEX_MAGIC ? mutex : NULL;
}

/* Gives the mutex to the first in line. The lock is held. */
static void mutex_pass_on(struct rti_mutex *mutex, struct rti_list *wakes)
{
    struct rti_line_waiter *next = rti_line_claim(&mutex->line);
    mutex->holder = next == NULL ? NULL : next->waiter.slot;
    if (next != NULL) {
        rti_line_serve(next, RT_OK, wakes);
    }
}

static void mutex_left(struct rti_line *line, struct rti_line_waiter *waiter,
                       struct rti_list *wakes)
{
    struct rti_mutex *mutex = RTI_CONTAINER_OF(line, struct rti_mutex, line);
    if (waiter->result == RT_OK) {
        RT_ASSERT(mutex->holder == waiter->waiter.slot);
        mutex_pass_on(mutex, wakes);
    }
}

/* The holder has ended. */
static void mutex_orphan(struct rti_cleanup *cleanup)
{
    struct rti_mutex *mutex = RTI_CONTAINER_OF(cleanup, struct rti_mutex, cleanup);
    struct rti_list wakes;
    rti_list_init(&wakes);
    rti_line_enter(&mutex->line);
    RT_SOMETIMES(!rti_line_is_empty(&mutex->line), "mutex: a holder ended and others waited");
    mutex->holder = NULL;
    mutex->is_orphaned = true;
    rti_line_serve_all(&mutex->line, RT_ERR_OWNER_DIED, &wakes);
    rti_line_leave(&mutex->line, &wakes);
}

/* The holder knows: from here on its end would orphan the mutex. */
static void mutex_hold(struct rti_mutex *mutex)
{
    rti_cleanup_push(mutex->holder, &mutex->cleanup);
}

rt_status rt_mutex_init(rt_mutex *storage)
{
    struct rti_worker *worker = rti_worker_enter();
    if (storage == NULL) {
        return (rt_status){RT_ERR_INVALID, "there is no storage"};
    }
    if (worker == NULL) {
        return mutex_foreign;
    }
    struct rti_mutex *mutex = (struct rti_mutex *)(void *)storage;
    *mutex = (struct rti_mutex){.magic = MUTEX_MAGIC};
    rti_line_init(&mutex->line, worker->sched);
    rti_cleanup_init(&mutex->cleanup, mutex_orphan);
    return RT_SUCCESS;
}

rt_status rt_mutex_deinit(rt_mutex *storage)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_mutex *mutex = rti_mutex_of(storage);
    if (worker == NULL || mutex == NULL) {
        return worker == NULL ? mutex_foreign : mutex_unknown;
    }
    rti_line_enter(&mutex->line);
    bool is_idle = mutex->holder == NULL && rti_line_first(&mutex->line) == NULL;
    mutex->magic = is_idle ? 0 : MUTEX_MAGIC;
    rti_line_leave_quietly(&mutex->line);
    return is_idle ? RT_SUCCESS : (rt_status){RT_ERR_STATE, "somebody holds it or waits for it"};
}

void rti_mutex_call(struct rti_mutex *mutex, struct rti_line_call *call, struct rti_cx_op op,
                    rt_time deadline)
{
    *call = (struct rti_line_call){
        .line = &mutex->line, .op = op, .deadline = deadline, .left = mutex_left};
}

/* Takes it if it is free. RT_ERR_WOULDBLOCK: another has it. The lock is held. */
static rt_status mutex_try(struct rti_mutex *mutex, struct rti_cleanups *holder)
{
    if (mutex->is_orphaned) {
        return mutex_orphaned;
    }
    if (mutex->holder == holder) {
        return (rt_status){RT_ERR_STATE, "the caller holds it already"};
    }
    if (mutex->holder != NULL) {
        return (rt_status){RT_ERR_WOULDBLOCK, "another holds it"};
    }
    mutex->holder = holder;
    return RT_SUCCESS;
}

rt_status rti_mutex_take(struct rti_mutex *mutex, struct rti_line_call *call)
{
    struct rti_cleanups *holder = rti_cx_cleanups(call->cx, rti_worker_current());
    if (holder == NULL) {
        return (rt_status){RT_ERR_THREAD, "only a task, an actor or a poll context can hold it"};
    }
    if (!call->is_served) {
        rti_line_enter(&mutex->line);
        rt_status status = mutex_try(mutex, holder);
        if (status.code == RT_ERR_WOULDBLOCK) {
            call->who = holder;
            status = rti_line_wait(call);
        } else {
            rti_line_leave_quietly(&mutex->line);
        }
        if (RT_FAILED(status)) {
            return status;
        }
    }
    RT_ASSERT(mutex->holder == holder);
    mutex_hold(mutex);
    return RT_SUCCESS;
}

/* Can the caller, whose context was found to be one, not hold anything? */
static inline bool mutex_is_refused(rt_cx *given)
{
    return RTI_UNLIKELY(given != NULL) && rti_cx_is_passing(rti_cx_of(given));
}

rt_status rt_mutex_lock_until(rt_mutex *storage, rt_cx *given, rt_time deadline)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_mutex *mutex = rti_mutex_of(storage);
    if (worker == NULL || mutex == NULL) {
        return worker == NULL ? mutex_foreign : mutex_unknown;
    }
    struct rti_line_call call;
    struct rti_cx_op op = {.what = &mutex_tag, .on = (uintptr_t)mutex};
    rti_mutex_call(mutex, &call, op, deadline);
    rt_status status = rti_line_begin(&call, given);
    if (RT_FAILED(status)) {
        return status;
    }
    return mutex_is_refused(given) ? RTI_CX_PASSING_WAIT : rti_mutex_take(mutex, &call);
}

rt_status rt_mutex_lock(rt_mutex *storage, rt_cx *given)
{
    return rt_mutex_lock_until(storage, given, RT_TIME_NEVER);
}

/* What try_lock, unlock and recover begin with: the caller and its stack of what it holds. */
static RTI_ENTERING rt_status mutex_caller(rt_mutex *storage, rt_cx *given,
                                           struct rti_cleanups **out_holder)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_cx *cx = NULL;
    if (worker == NULL || rti_mutex_of(storage) == NULL) {
        return worker == NULL ? mutex_foreign : mutex_unknown;
    }
    rt_status status = rti_cx_resolve(worker, given, &cx);
    if (RT_FAILED(status)) {
        return status;
    }
    *out_holder = rti_cx_cleanups(cx, worker);
    return *out_holder != NULL
               ? RT_SUCCESS
               : (rt_status){RT_ERR_THREAD, "only a task, an actor or a poll context can hold it"};
}

rt_status rt_mutex_try_lock(rt_mutex *storage, rt_cx *given)
{
    struct rti_cleanups *holder = NULL;
    rt_status status = mutex_caller(storage, given, &holder);
    if (RT_FAILED(status)) {
        return status;
    }
    if (mutex_is_refused(given)) {
        return RTI_CX_PASSING_FAIL;
    }
    struct rti_mutex *mutex = rti_mutex_of(storage);
    rti_line_enter(&mutex->line);
    status = mutex_try(mutex, holder);
    rti_line_leave_quietly(&mutex->line);
    if (!RT_FAILED(status)) {
        mutex_hold(mutex);
    }
    return status;
}

void rti_mutex_release(struct rti_mutex *mutex)
{
    struct rti_list wakes;
    rti_list_init(&wakes);
    rti_cleanup_remove(&mutex->cleanup);
    rti_line_enter(&mutex->line);
    mutex_pass_on(mutex, &wakes);
    RT_AUDIT(rti_mutex_audit(mutex));
    rti_line_leave(&mutex->line, &wakes);
}

bool rti_mutex_is_held(const struct rti_mutex *mutex, struct rti_cx *cx, struct rti_worker *worker)
{
    const struct rti_cleanups *holder = rti_cx_cleanups(cx, worker);
    return holder != NULL && mutex->holder == holder;
}

rt_status rt_mutex_unlock(rt_mutex *storage, rt_cx *given)
{
    struct rti_cleanups *holder = NULL;
    rt_status status = mutex_caller(storage, given, &holder);
    if (RT_FAILED(status)) {
        return status;
    }
    struct rti_mutex *mutex = rti_mutex_of(storage);
    if (mutex->holder != holder) {
        return (rt_status){RT_ERR_STATE, "the caller does not hold it"};
    }
    rti_mutex_release(mutex);
    return RT_SUCCESS;
}

rt_status rt_mutex_recover(rt_mutex *storage, rt_cx *given)
{
    struct rti_cleanups *holder = NULL;
    rt_status status = mutex_caller(storage, given, &holder);
    if (RT_FAILED(status)) {
        return status;
    }
    if (mutex_is_refused(given)) {
        return RTI_CX_PASSING_FAIL;
    }
    struct rti_mutex *mutex = rti_mutex_of(storage);
    rti_line_enter(&mutex->line);
    bool was_orphaned = mutex->is_orphaned;
    if (was_orphaned) {
        mutex->is_orphaned = false;
        mutex->holder = holder;
    }
    rti_line_leave_quietly(&mutex->line);
    if (!was_orphaned) {
        return (rt_status){RT_ERR_STATE, "no holder of this mutex has ended"};
    }
    mutex_hold(mutex);
    return RT_SUCCESS;
}

bool rti_waiter_mutex_holder(const struct rti_waiter *place, rti_peek peek,
                             struct rti_cleanups **holder)
{
    struct rti_line_waiter waiter;
    struct rti_mutex mutex;
    if (!rti_peek_copy(peek, &waiter, RTI_CONTAINER_OF(place, const struct rti_line_waiter, waiter),
                       sizeof(waiter)) ||
        waiter.left != mutex_left ||
        !rti_peek_copy(peek, &mutex, RTI_CONTAINER_OF(waiter.line, struct rti_mutex, line),
                       sizeof(mutex))) {
        return false;
    }
    *holder = mutex.holder;
    return mutex.holder != NULL;
}

void rti_mutex_audit(struct rti_mutex *mutex)
{
    RT_ASSERT(mutex->magic == MUTEX_MAGIC);
    RT_ASSERT(!mutex->is_orphaned || mutex->holder == NULL);
    RT_ASSERT(mutex->holder != NULL || rti_line_first(&mutex->line) == NULL);
    rti_line_audit(&mutex->line);
}
