/* SPDX-License-Identifier: Apache-2.0 */
/* The semaphore: a line and a number. The manual is <orrery/rt/semaphore.h>.
 *
 * Units that come back go to the first in line as soon as there are enough for it, before anybody
 * else can see them. Who stands first and wants many keeps those behind waiting; if it gives up,
 * they may have their turn: so `left` settles whoever leaves.
 *
 * I1  The first in line wants more than there is.                           (semaphore_audit) */
#define RTI_MODULE "semaphore"
#include <orrery/rt/semaphore.h>

#include "base/marks.h"
#include "sync/line.h"

struct rti_semaphore {
    uint32_t magic;
    uint32_t count;
    struct rti_line line;
};

_Static_assert(sizeof(struct rti_semaphore) <= sizeof(rt_semaphore), "rt_semaphore is too small");
_Static_assert(_Alignof(struct rti_semaphore) <= _Alignof(rt_semaphore), "aligned too weakly");

#define SEMAPHORE_MAGIC UINT32_C(0x616d6573)

static const char semaphore_tag;

static struct rti_semaphore *semaphore_of(rt_semaphore *storage)
{
    struct rti_semaphore *semaphore = (struct rti_semaphore *)(void *)storage;
    return semaphore != NULL && semaphore->magic == SEMAPHORE_MAGIC ? semaphore : NULL;
}

/* RT_OK if there is a runtime and a semaphore. */
static RTI_ENTERING rt_status semaphore_check(rt_semaphore *storage)
{
    if (rti_worker_enter() == NULL) {
        return (rt_status){RT_ERR_THREAD, "this thread has no runtime"};
    }
    return semaphore_of(storage) != NULL ? RT_SUCCESS
                                         : (rt_status){RT_ERR_INVALID, "this is no semaphore"};
}

static RTI_UNUSED void semaphore_audit(struct rti_semaphore *semaphore)
{
    const struct rti_line_waiter *first = rti_line_first(&semaphore->line);
    rti_line_audit(&semaphore->line);
    RT_ASSERT(first == NULL || first->want > semaphore->count);
}

/* Serves from the front as far as the units go. The lock is held. */
static void semaphore_settle(struct rti_semaphore *semaphore, struct rti_list *wakes)
{
    struct rti_line_waiter *first;
    while ((first = rti_line_first(&semaphore->line)) != NULL && first->want <= semaphore->count) {
        bool is_ours = rti_wait_claim(first->waiter.wait, first->waiter.event);
        rti_list_remove(&first->waiter.link);
        if (is_ours) {
            semaphore->count -= first->want;
            rti_line_serve(first, RT_OK, wakes);
        }
    }
    RT_AUDIT(semaphore_audit(semaphore));
}

static void semaphore_left(struct rti_line *line, struct rti_line_waiter *waiter,
                           struct rti_list *wakes)
{
    struct rti_semaphore *semaphore = RTI_CONTAINER_OF(line, struct rti_semaphore, line);
    if (waiter->result == RT_OK) {
        /* Released to the limit meanwhile: more cannot be counted. */
        uint32_t room = UINT32_MAX - semaphore->count;
        semaphore->count += waiter->want < room ? waiter->want : room;
    }
    semaphore_settle(semaphore, wakes);
    RT_SOMETIMES(!rti_list_is_empty(wakes), "semaphore: one that left let others through");
}

rt_status rt_semaphore_init(rt_semaphore *storage, uint32_t count)
{
    struct rti_worker *worker = rti_worker_enter();
    if (storage == NULL) {
        return (rt_status){RT_ERR_INVALID, "there is no storage"};
    }
    if (worker == NULL) {
        return (rt_status){RT_ERR_THREAD, "this thread has no runtime"};
    }
    struct rti_semaphore *semaphore = (struct rti_semaphore *)(void *)storage;
    *semaphore = (struct rti_semaphore){.magic = SEMAPHORE_MAGIC, .count = count};
    rti_line_init(&semaphore->line, worker->sched);
    return RT_SUCCESS;
}

rt_status rt_semaphore_deinit(rt_semaphore *storage)
{
    rt_status status = semaphore_check(storage);
    if (RT_FAILED(status)) {
        return status;
    }
    struct rti_semaphore *semaphore = semaphore_of(storage);
    rti_line_enter(&semaphore->line);
    bool is_idle = rti_line_first(&semaphore->line) == NULL;
    semaphore->magic = is_idle ? 0 : SEMAPHORE_MAGIC;
    rti_line_leave_quietly(&semaphore->line);
    return is_idle ? RT_SUCCESS : (rt_status){RT_ERR_STATE, "somebody waits for it"};
}

/* Takes what is there, unless somebody waits for it. The lock is held. */
static bool semaphore_take(struct rti_semaphore *semaphore, uint32_t count)
{
    if (count > semaphore->count || rti_line_first(&semaphore->line) != NULL) {
        return false;
    }
    semaphore->count -= count;
    return true;
}

rt_status rt_semaphore_acquire_until(rt_semaphore *storage, uint32_t count, rt_cx *given,
                                     rt_time deadline)
{
    rt_status status = semaphore_check(storage);
    if (RT_FAILED(status)) {
        return status;
    }
    struct rti_semaphore *semaphore = semaphore_of(storage);
    struct rti_line_call call = {.line = &semaphore->line,
                                 .op = {.what = &semaphore_tag, .on = (uintptr_t)semaphore},
                                 .deadline = deadline,
                                 .left = semaphore_left,
                                 .want = count};
    status = rti_line_begin(&call, given);
    if (RT_FAILED(status) || call.is_served) {
        return status;
    }
    rti_line_enter(&semaphore->line);
    if (semaphore_take(semaphore, count)) {
        rti_line_leave_quietly(&semaphore->line);
        return RT_SUCCESS;
    }
    return rti_line_wait(&call);
}

rt_status rt_semaphore_acquire(rt_semaphore *storage, uint32_t count, rt_cx *given)
{
    return rt_semaphore_acquire_until(storage, count, given, RT_TIME_NEVER);
}

rt_status rt_semaphore_try_acquire(rt_semaphore *storage, uint32_t count)
{
    rt_status status = semaphore_check(storage);
    if (RT_FAILED(status)) {
        return status;
    }
    struct rti_semaphore *semaphore = semaphore_of(storage);
    rti_line_enter(&semaphore->line);
    bool is_taken = semaphore_take(semaphore, count);
    rti_line_leave_quietly(&semaphore->line);
    return is_taken ? RT_SUCCESS : (rt_status){RT_ERR_WOULDBLOCK, "there are too few units"};
}

rt_status rt_semaphore_release(rt_semaphore *storage, uint32_t count)
{
    rt_status status = semaphore_check(storage);
    if (RT_FAILED(status)) {
        return status;
    }
    struct rti_semaphore *semaphore = semaphore_of(storage);
    struct rti_list wakes;
    rti_list_init(&wakes);
    rti_line_enter(&semaphore->line);
    if (count > UINT32_MAX - semaphore->count) {
        rti_line_leave_quietly(&semaphore->line);
        return (rt_status){RT_ERR_LIMIT, "so many units cannot be counted"};
    }
    semaphore->count += count;
    semaphore_settle(semaphore, &wakes);
    rti_line_leave(&semaphore->line, &wakes);
    return RT_SUCCESS;
}

uint32_t rt_semaphore_count(rt_semaphore *storage)
{
    if (RT_FAILED(semaphore_check(storage))) {
        return 0;
    }
    struct rti_semaphore *semaphore = semaphore_of(storage);
    rti_line_enter(&semaphore->line);
    uint32_t count = semaphore->count;
    rti_line_leave_quietly(&semaphore->line);
    return count;
}
