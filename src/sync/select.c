/* SPDX-License-Identifier: Apache-2.0 */
/* The two rounds of a select; the essay is in select.h, the manual in <orrery/rt/select.h>. */
#define RTI_MODULE "select"
#include "sync/select.h"

#include <string.h>

#include "base/marks.h"

_Static_assert(sizeof(struct rti_arm) <= sizeof(rt_select_arm), "RT_SELECT_ARM_WORDS is too small");
_Static_assert(_Alignof(struct rti_arm) <= _Alignof(rt_select_arm), "an arm is aligned too weakly");

/* Names the operation of a poll context. */
static const char select_tag;

/* The numbers of the arms, before they are shuffled. */
static const uint8_t select_identity[RT_SELECT_ARMS_MAX] = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
    22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
    44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};

static rt_status default_attempt(struct rti_arm *arm, struct rti_sched *sched)
{
    (void)arm;
    (void)sched;
    return (rt_status){RT_ERR_WOULDBLOCK, NULL};
}

const struct rti_arm_ops rti_arm_default_ops = {.attempt = default_attempt};

void rt_arm_none(rt_select_arm *arm)
{
    rti_arm_init(rti_arm_of(arm), NULL, NULL, NULL);
}

void rt_arm_default(rt_select_arm *arm)
{
    rti_arm_init(rti_arm_of(arm), &rti_arm_default_ops, NULL, NULL);
}

/* A number below `n`. One multiplication instead of a division; the bias is below n / 2^32. */
static inline uint32_t select_draw(struct rti_worker *worker, uint32_t n)
{
    uint64_t state = worker->luck;
    if (RTI_UNLIKELY(state == 0)) {
        struct rti_port *port = worker->sched->port;
        state = port->ops->random(port) | 1;
    }
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    worker->luck = state;
    return (uint32_t)(((state >> 32) * n) >> 32);
}

static void select_record(struct rti_sched *sched, const rt_selected *chosen)
{
    struct rti_worker *worker = rti_worker_current();
    uint32_t task = worker == NULL || worker->fiber == NULL ? 0 : worker->fiber->run.id;
    rti_sched_record(sched, &(struct rti_journal_event){
                                .kind = RTI_JOURNAL_SELECT, .task = task, .value = chosen->index});
}

/* Asks one arm; if it is ready, *out is what it came to. */
static inline bool select_ask(const struct rti_select *select, uint32_t index, rt_selected *out)
{
    struct rti_arm *arm = &select->arms[index];
    if (arm->ops == NULL) {
        return false;
    }
    rt_status status = arm->ops->attempt(arm, select->sched);
    if (status.code == RT_ERR_WOULDBLOCK) {
        return false;
    }
    out->index = index;
    out->status = status;
    return true;
}

/* The first round: true if an arm was ready and *out says which. `first` was drawn and asked
 * already. */
static bool select_attempt(const struct rti_select *select, uint32_t first, rt_selected *out)
{
    uint8_t order[RT_SELECT_ARMS_MAX];
    struct rti_worker *worker = rti_worker_current();
    uint32_t left = (uint32_t)select->count;
    memcpy(order, select_identity, sizeof(order));
    order[first] = order[left - 1];
    while (--left > 0) {
        /* The arm at the drawn place is next; the last of those left takes its place. */
        uint32_t place = left == 1 ? 0 : select_draw(worker, left);
        uint32_t index = order[place];
        order[place] = order[left - 1];
        if (select_ask(select, index, out)) {
            return true;
        }
    }
    return false;
}

/* The whole of it: draws the first too. */
static bool select_attempt_all(const struct rti_select *select, rt_selected *out)
{
    if (select->count == 0) {
        return false;
    }
    uint32_t first = select_draw(rti_worker_current(), (uint32_t)select->count);
    return select_ask(select, first, out) || select_attempt(select, first, out);
}

/* Is there a default arm? */
static bool select_default(const struct rti_select *select, rt_selected *out)
{
    for (size_t i = 0; i < select->count; i++) {
        if (select->arms[i].ops == &rti_arm_default_ops) {
            *out = (rt_selected){.index = i, .status = RT_SUCCESS};
            return true;
        }
    }
    return false;
}

/* What the arm shares with no other one; NULL: nothing. */
static const void *select_own(const struct rti_select *select, size_t index)
{
    const struct rti_arm *arm = &select->arms[index];
    return arm->ops == NULL || arm->ops->own == NULL ? NULL : arm->ops->own(arm, select->sched);
}

/* Would two arms stand in each other's way? Few arms say what they own. */
static bool select_is_at_odds(const struct rti_select *select)
{
    for (size_t i = 1; i < select->count; i++) {
        const void *own = select_own(select, i);
        for (size_t j = 0; own != NULL && j < i; j++) {
            if (select_own(select, j) == own) {
                return true;
            }
        }
    }
    return false;
}

/* The second round. LINKED: every arm is in line, or an event has ended the wait already. */
static enum rti_arm_join select_join(struct rti_select *select)
{
    for (size_t i = 0; i < select->count; i++) {
        struct rti_arm *arm = &select->arms[i];
        arm->is_collected = false;
        if (arm->ops == NULL) {
            continue;
        }
        enum rti_arm_join joined = arm->ops->join(arm, select);
        if (joined != RTI_ARM_LINKED) {
            return joined;
        }
        if (rti_wait_event(select->wait) != RTI_EVENT_NONE) {
            /* Served while it was joining: what is left need not be joined. */
            break;
        }
    }
    return RTI_ARM_LINKED;
}

/* The wait was ended by an arm: finishes it and fills in `out`. False: begin anew. */
static bool select_collect(const struct rti_select *select, uint32_t event, rt_selected *out)
{
    RT_ASSERT(event >= RTI_EVENT_SOURCE && event - RTI_EVENT_SOURCE < select->count);
    struct rti_arm *arm = &select->arms[event - RTI_EVENT_SOURCE];
    RT_ASSERT(!arm->is_collected);
    arm->is_collected = true;
    out->index = event - RTI_EVENT_SOURCE;
    return arm->ops->collect(arm, select->sched, &out->status);
}

static rt_status select_refused(void)
{
    return (rt_status){RT_ERR_RESOURCE_EXHAUSTED, "an arm has no record to wait with"};
}

/* Parks the fiber until an arm or another event ends the wait. RT_ERR_WOULDBLOCK: begin anew. */
static rt_status select_park(struct rti_select *select, struct rti_cx *cx, rt_time deadline,
                             rt_selected *out)
{
    struct rti_wait wait;
    struct rti_cx_events events;
    struct rti_worker *worker = rti_worker_current();
    rti_fiber_wait_begin(worker, &wait);
    wait.reason = RTI_REASON_SELECT;
    select->wait = &wait;
    rti_cx_events_add(&events, cx, select->sched, &wait, deadline);
    enum rti_arm_join joined = select_join(select);
    uint32_t event;
    if (joined == RTI_ARM_LINKED) {
        event = rti_fiber_park_open(worker, &wait);
    } else {
        /* What it holds already is unlinked; if an event came meanwhile it has woken us, and the
         * next park would find that. */
        bool is_ours = joined == RTI_ARM_CHOSEN || rti_wait_claim(&wait, RTI_EVENT_KILL);
        event = is_ours ? rti_wait_event(&wait) : rti_fiber_park_open(worker, &wait);
        if (joined == RTI_ARM_REFUSED && is_ours) {
            rti_wait_finish(&wait);
            return select_refused();
        }
    }
    bool is_done = event >= RTI_EVENT_SOURCE && select_collect(select, event, out);
    rti_wait_finish(&wait);
    if (event < RTI_EVENT_SOURCE) {
        return rti_cx_events_status(&events, cx, event);
    }
    return is_done ? RT_SUCCESS : (rt_status){RT_ERR_WOULDBLOCK, "begin anew"};
}

/* What has become of the wait of a poll context. RT_ERR_WOULDBLOCK: it waits. */
static rt_status select_poll_look(const struct rti_select *select, struct rti_cx *cx,
                                  rt_selected *out, bool *is_stale)
{
    uint32_t event = rti_cx_poll_event(cx);
    *is_stale = false;
    if (event == RTI_EVENT_NONE) {
        return (rt_status){RT_ERR_WOULDBLOCK, "no arm is ready"};
    }
    if (event < RTI_EVENT_SOURCE) {
        rti_cx_poll_end(cx);
        return rti_cx_events_status(&rti_cx_poll(cx)->events, cx, event);
    }
    *is_stale = !select_collect(select, event, out);
    rti_cx_poll_end(cx);
    return RT_SUCCESS;
}

/* Links the arms of a poll context. */
static rt_status select_poll_begin(struct rti_select *select, struct rti_cx *cx, rt_time deadline)
{
    struct rti_cx_op op = {.what = &select_tag, .on = (uintptr_t)select->arms};
    struct rti_poll_cx *poll = rti_cx_poll(cx);
    rti_cx_poll_begin(cx, op);
    select->wait = &poll->wait;
    rti_cx_events_add(&poll->events, cx, rti_cx_sched(cx), &poll->wait, deadline);
    if (select_join(select) == RTI_ARM_REFUSED) {
        rti_cx_poll_end(cx);
        return select_refused();
    }
    return RT_SUCCESS;
}

/* A poll context that waits for this select goes on with it: what an arm has done by now counts,
 * whatever else has happened. True: *status is the answer. */
static bool select_poll_continue(const struct rti_select *select, struct rti_cx *cx,
                                 rt_selected *out, rt_status *status)
{
    struct rti_cx_op op = {.what = &select_tag, .on = (uintptr_t)select->arms};
    bool is_stale;
    if (!rti_cx_poll_is_for(cx, op)) {
        return false;
    }
    *status = select_poll_look(select, cx, out, &is_stale);
    return !is_stale;
}

/* No arm was ready: waits as the caller can. */
static rt_status select_await(struct rti_select *select, struct rti_cx *cx, rt_time deadline,
                              rt_selected *out)
{
    bool is_poll = cx != NULL && cx->kind == RTI_CX_POLL;
    if (select_is_at_odds(select)) {
        return (rt_status){RT_ERR_INVALID, "two arms want the same task or rendezvous channel"};
    }
    if (!is_poll) {
        return select_park(select, cx, deadline, out);
    }
    rt_status status = select_poll_begin(select, cx, deadline);
    if (RT_FAILED(status)) {
        return status;
    }
    if (!select_poll_continue(select, cx, out, &status)) {
        status = (rt_status){RT_ERR_WOULDBLOCK, "begin anew"};
    }
    return status;
}

/* Everything but the straight path: contexts and waiting. */
static RTI_NOINLINE rt_status select_slowly(struct rti_select *select, struct rti_cx *cx,
                                            rt_time deadline, rt_selected *out)
{
    bool is_poll = cx != NULL && cx->kind == RTI_CX_POLL;
    rt_status status;
    if (is_poll && select_poll_continue(select, cx, out, &status)) {
        return status;
    }
    if (cx != NULL && !select->is_attempted) {
        status = rti_cx_checkpoint(cx);
        if (RT_FAILED(status)) {
            return status;
        }
    }
    for (;; select->is_attempted = false) {
        if ((!select->is_attempted && select_attempt_all(select, out)) ||
            select_default(select, out)) {
            return RT_SUCCESS;
        }
        if (!is_poll && rti_fiber_current() == NULL) {
            return (rt_status){RT_ERR_WOULDBLOCK, "the caller would have to wait and cannot"};
        }
        status = select_await(select, cx, deadline, out);
        bool waits = is_poll && rti_cx_poll(cx)->is_waiting;
        if (status.code != RT_ERR_WOULDBLOCK || waits) {
            return status;
        }
        RT_SOMETIMES(true, "select: what it was woken for was taken by another");
    }
}

/* The straight path is closed: a context, nothing ready at the first look, or something wrong. */
static RTI_NOINLINE rt_status select_other(struct rti_select *select, rt_cx *given,
                                           rt_time deadline, rt_selected *out)
{
    struct rti_cx *cx = NULL;
    rt_selected found;
    rt_status status = rti_cx_resolve(rti_worker_current(), given, &cx);
    if (RT_FAILED(status)) {
        return status;
    }
    status = select_slowly(select, cx, deadline, &found);
    if (!RT_FAILED(status)) {
        *out = found;
        if (rti_sched_journal(select->sched) != NULL) {
            select_record(select->sched, &found);
        }
    }
    return status;
}

rt_status rt_select_until(rt_select_arm *arms, size_t count, rt_cx *given, rt_time deadline,
                          rt_selected *out)
{
    struct rti_worker *worker = rti_worker_enter();
    if (RTI_UNLIKELY(worker == NULL)) {
        return (rt_status){RT_ERR_THREAD, "this thread has no runtime"};
    }
    if (RTI_UNLIKELY((arms == NULL && count > 0) || out == NULL || count > RT_SELECT_ARMS_MAX)) {
        return (rt_status){RT_ERR_INVALID, "a pointer is NULL, or there are too many arms"};
    }
    struct rti_select select = {.arms = rti_arm_of(arms), .count = count, .sched = worker->sched};
    if (RTI_LIKELY(given == NULL && count > 0 && rti_sched_journal(select.sched) == NULL)) {
        struct rti_cx *cx = worker->fiber == NULL ? NULL : rti_fiber_cx(worker->fiber);
        rt_status status = cx == NULL ? RT_SUCCESS : rti_cx_checkpoint(cx);
        if (RTI_UNLIKELY(RT_FAILED(status))) {
            return status;
        }
        /* Nothing to write down: if the first arm asked is ready, that is all. */
        uint32_t first = select_draw(worker, (uint32_t)count);
        if (RTI_LIKELY(select_ask(&select, first, out)) || select_attempt(&select, first, out)) {
            return RT_SUCCESS;
        }
        select.is_attempted = true;
    }
    return select_other(&select, given, deadline, out);
}

rt_status rt_select(rt_select_arm *arms, size_t count, rt_cx *cx, rt_selected *out)
{
    return rt_select_until(arms, count, cx, RT_TIME_NEVER, out);
}
