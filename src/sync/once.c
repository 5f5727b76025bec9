/* SPDX-License-Identifier: Apache-2.0 */
/* The once: a state and a line. The manual is <orrery/rt/once.h>.
 *
 *     NEW ---> RUNNING ---> DONE
 *      ^          |  ^
 *      |          |  +-- the runner ends: the first in line runs it
 *      +----------+      nobody is in line
 *
 * A waiter is served in two ways: RT_OK, it is done; ONCE_YOUR_TURN, do it. The runner stands on
 * its own cleanup stack, known by the same address as the holder of a mutex.
 *
 * I1  Somebody is in line only while it is RUNNING.              (once_audit) */
#define RTI_MODULE "once"
#include <orrery/rt/once.h>

#include "base/marks.h"
#include "sync/line.h"

enum once_state { ONCE_NEW, ONCE_RUNNING, ONCE_DONE };

struct rti_once {
    uint32_t magic;
    uint8_t state;               /* enum once_state */
    struct rti_cleanups *runner; /* RUNNING: its cleanup stack; NULL: it has none */
    struct rti_cleanup cleanup;  /* on the runner's stack */
    struct rti_line line;
};

_Static_assert(sizeof(struct rti_once) <= sizeof(rt_once), "rt_once is too small");
_Static_assert(_Alignof(struct rti_once) <= _Alignof(rt_once), "rt_once is aligned too weakly");

#define ONCE_MAGIC     UINT32_C(0x65636e6f)
#define ONCE_YOUR_TURN RT_ERR_EMPTY

static const char once_tag;

static struct rti_once *once_of(rt_once *storage)
{
    struct rti_once *once = (struct rti_once *)(void *)storage;
    return once != NULL && once->magic == ONCE_MAGIC ? once : NULL;
}

/* RT_OK if there is a runtime and a once. */
static RTI_ENTERING rt_status once_check(rt_once *storage)
{
    if (rti_worker_enter() == NULL) {
        return (rt_status){RT_ERR_THREAD, "this thread has no runtime"};
    }
    return once_of(storage) != NULL ? RT_SUCCESS : (rt_status){RT_ERR_INVALID, "this is no once"};
}

static RTI_UNUSED void once_audit(struct rti_once *once)
{
    rti_line_audit(&once->line);
    RT_ASSERT(once->state == ONCE_RUNNING || rti_line_first(&once->line) == NULL);
}

/* The runner is gone: the first in line takes its place. The lock is held. */
static void once_pass_on(struct rti_once *once, struct rti_list *wakes)
{
    struct rti_line_waiter *next = rti_line_claim(&once->line);
    RT_ASSERT(once->state == ONCE_RUNNING);
    once->state = next == NULL ? ONCE_NEW : ONCE_RUNNING;
    once->runner = next == NULL ? NULL : next->waiter.slot;
    if (next != NULL) {
        RT_SOMETIMES(true, "once: another took the place of the one who ended");
        rti_line_serve(next, ONCE_YOUR_TURN, wakes);
    }
    RT_AUDIT(once_audit(once));
}

static void once_left(struct rti_line *line, struct rti_line_waiter *waiter, struct rti_list *wakes)
{
    if (waiter->result == ONCE_YOUR_TURN) {
        once_pass_on(RTI_CONTAINER_OF(line, struct rti_once, line), wakes);
    }
}

static void once_abandoned(struct rti_cleanup *cleanup)
{
    struct rti_once *once = RTI_CONTAINER_OF(cleanup, struct rti_once, cleanup);
    struct rti_list wakes;
    rti_list_init(&wakes);
    rti_line_enter(&once->line);
    once_pass_on(once, &wakes);
    rti_line_leave(&once->line, &wakes);
}

rt_status rt_once_init(rt_once *storage)
{
    struct rti_worker *worker = rti_worker_enter();
    if (storage == NULL) {
        return (rt_status){RT_ERR_INVALID, "there is no storage"};
    }
    if (worker == NULL) {
        return (rt_status){RT_ERR_THREAD, "this thread has no runtime"};
    }
    struct rti_once *once = (struct rti_once *)(void *)storage;
    *once = (struct rti_once){.magic = ONCE_MAGIC, .state = ONCE_NEW};
    rti_line_init(&once->line, worker->sched);
    rti_cleanup_init(&once->cleanup, once_abandoned);
    return RT_SUCCESS;
}

rt_status rt_once_deinit(rt_once *storage)
{
    rt_status status = once_check(storage);
    if (RT_FAILED(status)) {
        return status;
    }
    struct rti_once *once = once_of(storage);
    rti_line_enter(&once->line);
    bool is_idle = once->state != ONCE_RUNNING;
    once->magic = is_idle ? 0 : ONCE_MAGIC;
    rti_line_leave_quietly(&once->line);
    return is_idle ? RT_SUCCESS : (rt_status){RT_ERR_STATE, "somebody is doing it"};
}

/* Does it; the caller is the runner. */
static void once_call(struct rti_once *once, void (*fn)(void *arg), void *arg)
{
    struct rti_list wakes;
    if (once->runner != NULL) {
        rti_cleanup_push(once->runner, &once->cleanup);
    }
    fn(arg);
    rti_cleanup_remove(&once->cleanup);
    rti_list_init(&wakes);
    rti_line_enter(&once->line);
    once->state = ONCE_DONE;
    once->runner = NULL;
    rti_line_serve_all(&once->line, RT_OK, &wakes);
    rti_line_leave(&once->line, &wakes);
}

/* What there is to do for one who comes: RT_OK, nothing; ONCE_YOUR_TURN; else how it ends. Takes
 * and leaves the lock. */
static rt_status once_enter(struct rti_once *once, struct rti_line_call *call)
{
    rt_status status = RT_SUCCESS;
    struct rti_cleanups *self = rti_cx_cleanups(call->cx, rti_worker_current());
    rti_line_enter(&once->line);
    if (once->state == ONCE_RUNNING && (self == NULL || once->runner != self)) {
        call->who = self;
        return rti_line_wait(call);
    }
    if (once->state == ONCE_RUNNING) {
        status = (rt_status){RT_ERR_STATE, "the caller is doing it"};
    } else if (once->state == ONCE_NEW) {
        once->state = ONCE_RUNNING;
        once->runner = self;
        status.code = ONCE_YOUR_TURN;
    }
    rti_line_leave_quietly(&once->line);
    return status;
}

rt_status rt_once_run_until(rt_once *storage, rt_cx *given, void (*fn)(void *arg), void *arg,
                            rt_time deadline)
{
    rt_status status = once_check(storage);
    if (RT_FAILED(status) || fn == NULL) {
        return RT_FAILED(status) ? status : (rt_status){RT_ERR_INVALID, "there is no function"};
    }
    struct rti_once *once = once_of(storage);
    struct rti_line_call call = {.line = &once->line,
                                 .op = {.what = &once_tag, .on = (uintptr_t)once},
                                 .deadline = deadline,
                                 .left = once_left};
    status = rti_line_begin(&call, given);
    if (!RT_FAILED(status) && !call.is_served) {
        status = once_enter(once, &call);
    }
    if (status.code == ONCE_YOUR_TURN) {
        once_call(once, fn, arg);
        status = RT_SUCCESS;
    }
    return status;
}

rt_status rt_once_run(rt_once *storage, rt_cx *given, void (*fn)(void *arg), void *arg)
{
    return rt_once_run_until(storage, given, fn, arg, RT_TIME_NEVER);
}

bool rt_once_is_done(rt_once *storage)
{
    if (RT_FAILED(once_check(storage))) {
        return false;
    }
    struct rti_once *once = once_of(storage);
    rti_line_enter(&once->line);
    bool is_done = once->state == ONCE_DONE;
    rti_line_leave_quietly(&once->line);
    return is_done;
}
