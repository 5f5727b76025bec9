/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts; the essay is in cx.h, the manual in <orrery/rt/cx.h>. */
#define RTI_MODULE "cx"
#include "sync/cx.h"

#include "base/marks.h"
#include "sync/region.h"

_Static_assert(sizeof(struct rti_poll_cx) <= sizeof(rt_cx), "RT_CX_WORDS is too small");
_Static_assert(_Alignof(struct rti_poll_cx) <= _Alignof(rt_cx), "rt_cx is aligned too weakly");
_Static_assert(sizeof(struct rti_inner_cx) <= sizeof(rt_cx), "RT_CX_WORDS is too small");
_Static_assert(offsetof(struct rti_poll_cx, rest) == offsetof(struct rti_inner_cx, rest),
               "both have their rest where cx_init looks for it");
_Static_assert(sizeof(struct rti_budget_scope) <= sizeof(rt_budget_scope), "scope is too small");

/* How long who gives up a poll context naps until its waker has been called. */
#define CX_NAP_NS 50000

static const rt_status cx_unknown = {RT_ERR_INVALID, "this is no context of the caller's"};
static const rt_status cx_none = {RT_ERR_STATE, "the caller has no context"};

static bool cx_is_known(const struct rti_cx *cx)
{
    return cx != NULL && cx->magic == RTI_CX_MAGIC;
}

/* The given context, else the running fiber's; NULL if there is none, or if it is no context. */
static RTI_ENTERING struct rti_cx *cx_find(const rt_cx *given)
{
    struct rti_fiber *fiber = rti_fiber_enter();
    if (given != NULL) {
        struct rti_cx *cx = rti_cx_of((rt_cx *)(uintptr_t)given);
        return cx_is_known(cx) ? cx : NULL;
    }
    return fiber == NULL ? NULL : rti_fiber_cx(fiber);
}

static rt_status cx_missing(const rt_cx *given)
{
    return given == NULL ? cx_none : cx_unknown;
}

rt_cx *rt_cx_current(void)
{
    return (rt_cx *)(void *)cx_find(NULL);
}

rt_status rti_cx_resolve(struct rti_worker *worker, rt_cx *given, struct rti_cx **out_cx)
{
    if (given == NULL) {
        *out_cx = worker->fiber == NULL ? NULL : rti_fiber_cx(worker->fiber);
        return RT_SUCCESS;
    }
    struct rti_cx *cx = rti_cx_of(given);
    if (!cx_is_known(cx) || (cx->kind == RTI_CX_FIBER && rti_cx_fiber(cx) != worker->fiber)) {
        return cx_unknown;
    }
    *out_cx = cx;
    return RT_SUCCESS;
}

/* Can a call for this context go on without asking it? What a shield takes, its outer context pays.
 */
static bool cx_is_hindrance(const struct rti_cx *cx)
{
    const rt_budget *budget = rti_cx_budget(cx);
    return rti_cancel_is_requested(&cx->cancel) || cx->is_shield ||
           budget->deadline != RT_TIME_NEVER || budget->poll_quota != UINT32_MAX ||
           budget->cost_quota != UINT64_MAX;
}

uint64_t rti_cx_deadline_of(const struct rti_fiber *fiber)
{
    const struct rti_cx *cx = rti_fiber_cx(fiber);
    return cx == NULL ? RTI_TIME_NEVER : rti_cx_budget(cx)->deadline;
}

/* Whether a fiber is hindered is its current context's to say; a poll context is marked. */
static void cx_publish(struct rti_cx *cx)
{
    if (cx->kind == RTI_CX_POLL) {
        cx->is_touched = true;
    } else if (rti_cx_inner(cx) == NULL) {
        if (rti_sched_is_local(rti_cx_sched(cx))) {
            /* A scheduler without channels, whose module says it else, has one worker. */
            rti_cx_sched(cx)->deadline_of = rti_cx_deadline_of;
        }
        rti_fiber_hinder(rti_cx_sched(cx), rti_cx_fiber(cx), cx_is_hindrance(cx));
    }
}

/* Makes `cx` the fiber's current context; NULL: it has none. */
static void cx_set_current(struct rti_fiber *fiber, struct rti_cx *cx)
{
    fiber->cancel = cx == NULL ? NULL : &cx->cancel;
}

/* Claims the wait of a fiber that waits alone at a channel, and so is not in the line of this
 * context, its innermost one, whose flag was just raised. With several workers; the lock is held.
 */
static void cx_claim_alone(struct rti_cx *cx, struct rti_list *claimed)
{
#if RTI_ONE_WORKER
    (void)cx, (void)claimed;
#else
    struct rti_waiter *waiter;
    /* Raised, then fence, then where it waits: pairs with rti_fiber_settle_at. */
    rti_fence_seqcst();
    if (rti_channel_cancel_alone(rti_cx_sched(cx), rti_cx_fiber(cx), &waiter)) {
        rti_list_push_tail(claimed, &waiter->link);
    }
#endif
}

/* Raises the flags of a context and of those inside it; the lock is held. */
static void cx_request(struct rti_cx *cx, struct rti_list *claimed)
{
    if (!rti_cancel_is_requested(&cx->cancel) &&
        RTI_UNLIKELY(rti_sched_journal(rti_cx_sched(cx)) != NULL)) {
        uint32_t task = cx->kind == RTI_CX_FIBER ? rti_cx_fiber(cx)->run.id : 0;
        rti_sched_record(rti_cx_sched(cx),
                         &(struct rti_journal_event){.kind = RTI_JOURNAL_CANCEL, .task = task});
    }
    for (struct rti_cx *at = cx; at != NULL && (at == cx || !at->is_shield);
         at = rti_cx_inner(at)) {
        bool is_first = rti_cancel_request(&at->cancel, claimed);
        if (rti_sched_is_local(rti_cx_sched(at))) {
            cx_publish(at);
        } else if (is_first && at->kind == RTI_CX_FIBER && rti_cx_inner(at) == NULL) {
            cx_claim_alone(at, claimed);
        }
    }
}

static void cx_member_cancel(struct rti_region_member *member, struct rti_list *claimed)
{
    cx_request(RTI_CONTAINER_OF(member, struct rti_cx_rest, member)->cx, claimed);
}

static const struct rti_region_member_ops cx_member_ops = {.is_runnable = true,
                                                           .cancel = cx_member_cancel};

const rt_budget rti_cx_unlimited = RT_BUDGET_UNLIMITED;

struct rti_cx_rest *rti_cx_open_rest(struct rti_cx *cx)
{
    struct rti_cx_rest *rest = rti_cx_rest_of(cx);
    if (rti_u8_load_relaxed(&cx->has_rest) == 0) {
        RTI_PLAIN_WRITE(&rest->inner, sizeof(rest->inner));
        *rest = (struct rti_cx_rest){.cx = cx, .budget = RT_BUDGET_UNLIMITED};
        rti_region_member_init(&rest->member, &cx_member_ops);
        /* Release pairs with rti_cx_rest: who cancels it meanwhile sees all of it, or nothing. */
        rti_u8_store_release(&cx->has_rest, true);
    }
    return rest;
}

/* Takes hold of the waker of a poll context, with several workers; gives what the word was. */
static uint32_t cx_seize_waker(struct rti_poll_cx *poll)
{
    if (RTI_LIKELY(rti_sched_is_local(rti_cx_sched(&poll->cx)))) {
        return RTI_CX_POLL_QUIET;
    }
    uint32_t word = rti_u32_load_relaxed(&poll->poll_word);
    /* Acquire pairs with the release of whoever had it before. */
    while (word == RTI_CX_POLL_BUSY ||
           !rti_u32_cas_acqrel(&poll->poll_word, &word, RTI_CX_POLL_BUSY)) {
        rti_spin_hint();
        word = rti_u32_load_relaxed(&poll->poll_word);
    }
    return word;
}

static void cx_let_go_of_waker(struct rti_poll_cx *poll, uint32_t word)
{
    if (RTI_UNLIKELY(!rti_sched_is_local(rti_cx_sched(&poll->cx)))) {
        /* Release pairs with the acquire in rti_cx_poll_event, cx_await_wake and cx_seize_waker. */
        rti_u32_store_release(&poll->poll_word, word);
    }
}

/* Another worker has claimed the wait of a poll context and is about to wake it. */
static void cx_await_wake(struct rti_poll_cx *poll)
{
    struct rti_port *port = rti_cx_sched(&poll->cx)->port;
    uint32_t word;
    /* Acquire pairs with the release in cx_let_go_of_waker. */
    for (uint32_t spins = 0; (word = rti_u32_load_acquire(&poll->poll_word)) != RTI_CX_POLL_WOKEN;
         spins++) {
        if (spins < RTI_LOCK_SPINS_MAX) {
            rti_spin_hint();
        } else {
            /* It has lost its processor. */
            (void)port->ops->futex_wait(port, &poll->poll_word, word,
                                        port->ops->clock_ns(port) + CX_NAP_NS);
        }
    }
}

/* A context that has its rest behind it. */
static struct rti_cx_rest *cx_init(struct rti_cx *cx, enum rti_cx_kind kind,
                                   struct rti_sched *sched)
{
    *cx = (struct rti_cx){
        .magic = RTI_CX_MAGIC, .kind = (unsigned)kind & 1U, .outcome = RT_OUTCOME_OK};
    rti_cancel_init(&cx->cancel, sched);
    rti_cx_place_rest(cx, &((struct rti_inner_cx *)(void *)cx)->rest);
    return rti_cx_open_rest(cx);
}

/* What is left of a budget when so much was taken from it in a scope inside. */
static rt_budget cx_charge(rt_budget budget, uint64_t polls, uint64_t cost)
{
    if (budget.poll_quota != UINT32_MAX) {
        budget.poll_quota -= (uint32_t)(polls < budget.poll_quota ? polls : budget.poll_quota);
    }
    if (budget.cost_quota != UINT64_MAX) {
        budget.cost_quota -= cost < budget.cost_quota ? cost : budget.cost_quota;
    }
    return budget;
}

/* Takes the innermost context of a fiber out of its chain; what it used, the outer one has used. */
static void cx_leave_chain(struct rti_cx *cx)
{
    const struct rti_cx_rest *rest = rti_cx_rest_of(cx);
    struct rti_cx *outer = rest->outer;
    struct rti_cx_rest *around = outer == NULL ? NULL : rti_cx_rest_of(outer);
    rti_contexts_lock(rti_cx_sched(cx));
    cx_set_current(rti_cx_fiber(cx), outer);
    if (around != NULL) {
        RTI_PLAIN_WRITE(&around->inner, sizeof(around->inner));
        around->inner = NULL;
    }
    rti_contexts_unlock(rti_cx_sched(cx));
    if (around != NULL) {
        around->budget = cx_charge(around->budget, rest->polls_taken, rest->cost_taken);
        around->polls_taken += rest->polls_taken;
        around->cost_taken += rest->cost_taken;
        cx_publish(outer);
    } else {
        rti_fiber_hinder(rti_cx_sched(cx), rti_cx_fiber(cx), false);
    }
}

/* What is still in line at a context's end are its timers. Of several workers another may have
 * found one of them due: that one ends too. */
static void cx_end_timers(struct rti_cx *cx)
{
    struct rti_cancel *cancel = &cx->cancel;
    struct rti_list claimed;
    struct rti_link *link;
    rti_list_init(&claimed);
    rti_contexts_lock(rti_cx_sched(cx));
    do {
        rti_lock_acquire(&cancel->lock, rti_cx_sched(cx));
        link = rti_list_pop(&cancel->line);
        rti_lock_release(&cancel->lock);
        if (link != NULL) {
            struct rti_waiter *waiter = RTI_CONTAINER_OF(link, struct rti_waiter, link);
            if (rti_wait_claim(waiter->wait, waiter->event)) {
                rti_list_push_tail(&claimed, &waiter->link);
            } else {
                RT_SOMETIMES(true, "context_ends_before_a_timer_of_it_that_is_due");
                rti_region_timer_end_with_context(waiter);
            }
        }
    } while (link != NULL);
    rti_contexts_unlock(rti_cx_sched(cx));
    rti_cancel_wake_all(&claimed);
}

/* What is left is its owner's alone, so two things are known without a lock. Only the owner puts
 * anything in line, and what a wait has put there has left with the wait, by the owner's own hand
 * or before whoever claimed it woke the owner: without timers the line is empty. And only the owner
 * makes the context a member of a region, or who starts the owner before it runs, and nobody else
 * takes it out. Who cancels the context may come at any moment until its owner is known to have
 * ended, and finds nobody to claim. */
static void cx_end(struct rti_cx *cx)
{
    cx->magic = 0;
    cx->is_touched = true;
    RT_ASSERT(cx->cancel.lone == NULL);
    if (RTI_UNLIKELY(cx->has_timers)) {
        cx_end_timers(cx);
        rti_region_timer_await_context(rti_cx_sched(cx), cx);
    }
    RT_DCHECK(rti_list_is_empty(&cx->cancel.line));
    struct rti_cx_rest *rest = rti_cx_rest(cx);
    if (rest != NULL) {
        RT_ASSERT(rest->inner == NULL);
        if (rest->member.region != NULL) {
            rti_region_leave(&rest->member, rti_cx_sched(cx), rti_cx_outcome(cx));
        }
    }
}

/* The fiber ended with the context in place; what was inside it has gone before. */
static void cx_cleanup_run(struct rti_cleanup *cleanup)
{
    struct rti_cx *cx = &RTI_CONTAINER_OF(cleanup, struct rti_inner_cx, cleanup)->cx;
    RT_ASSERT(cx_is_known(cx) && rti_fiber_cx(rti_cx_fiber(cx)) == cx);
    cx_leave_chain(cx);
    cx_end(cx);
}

void rti_cx_init_fiber(struct rti_cx *cx, struct rti_fiber *fiber, struct rti_sched *sched)
{
    RT_ASSERT(rti_fiber_cx(fiber) == NULL);
    cx->magic = RTI_CX_MAGIC;
    cx->kind = RTI_CX_FIBER;
    cx->is_inner = false;
    cx->is_shield = false;
    cx->has_timers = false;
    cx->outcome = RT_OUTCOME_OK;
    rti_cancel_init(&cx->cancel, sched);
    rti_u8_init(&cx->has_rest, false);
    cx_set_current(fiber, cx);
    rti_fiber_hinder(sched, fiber, false);
}

void rti_cx_end_fiber_any(struct rti_cx *cx, rt_outcome outcome)
{
    cx->outcome = (unsigned)outcome & 7U;
    cx->cancel.is_seen = false; /* the outcome says it */
    cx_end(cx);
    rti_fiber_hinder(rti_cx_sched(cx), rti_cx_fiber(cx), false);
}

/* Puts a context of the running fiber, which is complete, on its cleanup stack. */
static void cx_stand(struct rti_inner_cx *inner, struct rti_fiber *fiber)
{
    rti_cleanup_init(&inner->cleanup, cx_cleanup_run);
    rti_cleanup_push(&fiber->cleanups, &inner->cleanup);
}

void rti_cx_begin_shield(struct rti_inner_cx *shield, struct rti_fiber *fiber, rt_time deadline)
{
    struct rti_cx *cx = &shield->cx;
    struct rti_cx *outer = rti_fiber_cx(fiber);
    cx_set_current(fiber, NULL);
    rti_cx_place_rest(cx, &shield->rest);
    rti_cx_init_fiber(cx, fiber, fiber->sched);
    cx->is_inner = true;
    shield->fiber = fiber;
    cx->is_shield = true;
    struct rti_cx_rest *rest = rti_cx_open_rest(cx);
    rest->budget.deadline = deadline;
    rest->outer = outer;
    if (outer != NULL) {
        struct rti_cx_rest *around = rti_cx_open_rest(outer);
        rti_contexts_lock(rti_cx_sched(cx));
        RTI_PLAIN_WRITE(&around->inner, sizeof(around->inner));
        around->inner = cx;
        rti_contexts_unlock(rti_cx_sched(cx));
    }
    cx_publish(cx);
    cx_stand(shield, fiber);
}

rt_status rt_cx_init(rt_cx *storage)
{
    struct rti_fiber *fiber = rti_fiber_enter();
    if (storage == NULL) {
        return (rt_status){RT_ERR_INVALID, "there is no storage"};
    }
    if (fiber == NULL) {
        return (rt_status){RT_ERR_THREAD, "the caller is no task or actor"};
    }
    struct rti_cx *cx = rti_cx_of(storage);
    struct rti_cx *outer = rti_fiber_cx(fiber);
    struct rti_cx_rest *rest = cx_init(cx, RTI_CX_FIBER, rti_sched_current());
    cx->is_inner = true;
    ((struct rti_inner_cx *)(void *)storage)->fiber = fiber;
    rest->outer = outer;
    if (outer != NULL) {
        struct rti_cx_rest *around = rti_cx_open_rest(outer);
        rest->budget = around->budget;
        rti_contexts_lock(rti_cx_sched(cx));
        RTI_PLAIN_WRITE(&around->inner, sizeof(around->inner));
        around->inner = cx;
        rti_u8_init(&cx->cancel.is_requested, rti_cancel_is_requested(&outer->cancel));
        rti_contexts_unlock(rti_cx_sched(cx));
    }
    cx_set_current(fiber, cx);
    cx_publish(cx);
    cx_stand((struct rti_inner_cx *)(void *)storage, fiber);
    RT_AUDIT(rti_cx_audit(cx));
    return RT_SUCCESS;
}

rt_status rt_cx_init_poll(rt_cx *storage, rt_waker waker)
{
    (void)rti_worker_enter();
    struct rti_sched *sched = rti_sched_current();
    if (storage == NULL) {
        return (rt_status){RT_ERR_INVALID, "there is no storage"};
    }
    if (sched == NULL) {
        return (rt_status){RT_ERR_THREAD, "this thread has no runtime"};
    }
    struct rti_poll_cx *poll = (struct rti_poll_cx *)(void *)storage;
    *poll = (struct rti_poll_cx){.waker = waker};
    (void)cx_init(&poll->cx, RTI_CX_POLL, sched);
    rti_cleanups_init(&poll->cleanups);
    return RT_SUCCESS;
}

rt_status rt_cx_set_waker(rt_cx *storage, rt_waker waker)
{
    (void)rti_worker_enter();
    struct rti_cx *cx = rti_cx_of(storage);
    if (!cx_is_known(cx) || cx->kind != RTI_CX_POLL) {
        return (rt_status){RT_ERR_INVALID, "this is no poll context"};
    }
    struct rti_poll_cx *poll = rti_cx_poll(cx);
    uint32_t word = cx_seize_waker(poll);
    cx->is_touched = true;
    poll->waker = waker;
    cx_let_go_of_waker(poll, word);
    return RT_SUCCESS;
}

rt_status rt_cx_abandon(rt_cx *storage)
{
    (void)rti_worker_enter();
    struct rti_cx *cx = rti_cx_of(storage);
    if (!cx_is_known(cx) || cx->kind != RTI_CX_POLL) {
        return (rt_status){RT_ERR_INVALID, "this is no poll context"};
    }
    rti_cx_poll_end(cx);
    return RT_SUCCESS;
}

/* Ends a context that the running fiber has inside another. */
static void cx_end_inner(struct rti_cx *cx)
{
    rti_cleanup_remove(&RTI_CONTAINER_OF(cx, struct rti_inner_cx, cx)->cleanup);
    cx_leave_chain(cx);
    cx_end(cx);
}

void rti_cx_end_shield(struct rti_inner_cx *shield)
{
    /* A hook that left a context of its own open has corrupted the chain. */
    RT_ASSERT(rti_fiber_cx(rti_fiber_current()) == &shield->cx && shield->cx.is_shield);
    cx_end_inner(&shield->cx);
}

rt_status rt_cx_deinit(rt_cx *storage)
{
    (void)rti_worker_enter();
    struct rti_cx *cx = rti_cx_of(storage);
    if (!cx_is_known(cx)) {
        return cx_unknown;
    }
    if (cx->kind == RTI_CX_FIBER) {
        struct rti_fiber *fiber = rti_fiber_current();
        if (fiber == NULL || rti_fiber_cx(fiber) != cx) {
            return (rt_status){RT_ERR_STATE, "this is not the caller's current context"};
        }
        if (!cx->is_inner || cx->is_shield) {
            return (rt_status){RT_ERR_STATE, "this is the context of the task itself, or a hook's"};
        }
        cx_end_inner(cx);
    } else {
        rti_cx_poll_end(cx);
        rti_cleanup_run_all(&rti_cx_poll(cx)->cleanups);
        cx_end(cx);
    }
    return RT_SUCCESS;
}

void rti_cx_cancel_claim(struct rti_cx *cx, struct rti_list *claimed)
{
    struct rti_sched *sched = rti_cx_sched(cx);
    rti_contexts_lock(sched);
    cx_request(cx, claimed);
    rti_contexts_unlock(sched);
}

void rti_cx_cancel(struct rti_cx *cx)
{
    struct rti_list claimed;
    rti_list_init(&claimed);
    rti_cx_cancel_claim(cx, &claimed);
    rti_cancel_wake_all(&claimed);
}

rt_status rt_cx_cancel(rt_cx *given)
{
    struct rti_cx *cx = cx_find(given);
    if (cx == NULL) {
        return cx_missing(given);
    }
    rti_cx_cancel(cx);
    return RT_SUCCESS;
}

bool rt_cx_is_cancelled(const rt_cx *given)
{
    const struct rti_cx *cx = cx_find(given);
    return cx != NULL && rti_cancel_is_requested(&cx->cancel);
}

rt_status rti_cx_see_cancel(struct rti_cx *cx)
{
    for (struct rti_cx *at = cx; at != NULL && rti_cancel_is_requested(&at->cancel);
         at = rti_cx_outer(at)) {
        at->cancel.is_seen = true;
    }
    return (rt_status){RT_ERR_CANCELLED, "the context is cancelled"};
}

/* Exhaustion is a reason to cancel. */
static rt_status cx_exhaust(struct rti_cx *cx)
{
    rti_cx_cancel(cx);
    cx->cancel.is_seen = true;
    return (rt_status){RT_ERR_BUDGET_EXHAUSTED, "the budget of the context is used up"};
}

rt_status rti_cx_checkpoint(struct rti_cx *cx)
{
    if (rti_cancel_is_requested(&cx->cancel)) {
        return rti_cx_see_cancel(cx);
    }
    struct rti_cx_rest *rest = rti_cx_rest(cx);
    if (RTI_LIKELY(rest == NULL)) {
        return RT_SUCCESS; /* and no scope began that would count */
    }
    rt_budget *budget = &rest->budget;
    bool has_deadline = budget->deadline != RT_TIME_NEVER;
    if (RTI_LIKELY(!has_deadline && budget->poll_quota == UINT32_MAX && budget->cost_quota != 0)) {
        rest->polls_taken++;
        return RT_SUCCESS;
    }
    /* The clock is read only for a deadline. */
    rt_time now = has_deadline ? rti_sched_clock(rti_cx_sched(cx)) : 0;
    if (rt_budget_is_exhausted(budget, now)) {
        return cx_exhaust(cx);
    }
    rt_status status = rt_budget_take_poll(budget);
    RT_ASSERT(!RT_FAILED(status));
    rest->polls_taken++;
    return RT_SUCCESS;
}

rt_status rt_checkpoint(rt_cx *given)
{
    struct rti_cx *cx = cx_find(given);
    if (cx == NULL) {
        return given == NULL ? RT_SUCCESS : cx_unknown;
    }
    return rti_cx_checkpoint(cx);
}

rt_status rt_cx_spend(rt_cx *given, uint64_t cost)
{
    struct rti_cx *cx = cx_find(given);
    if (cx == NULL) {
        return given == NULL ? RT_SUCCESS : cx_unknown;
    }
    if (rti_cancel_is_requested(&cx->cancel)) {
        return rti_cx_see_cancel(cx);
    }
    struct rti_cx_rest *rest = rti_cx_rest(cx);
    if (rest == NULL) {
        return RT_SUCCESS; /* as in rti_cx_checkpoint */
    }
    if (RT_FAILED(rt_budget_take_cost(&rest->budget, cost))) {
        return cx_exhaust(cx);
    }
    rest->cost_taken += cost;
    return RT_SUCCESS;
}

rt_budget rt_cx_budget(const rt_cx *given)
{
    const struct rti_cx *cx = cx_find(given);
    return cx == NULL ? rti_cx_unlimited : *rti_cx_budget(cx);
}

void rti_cx_tighten(struct rti_cx *cx, rt_budget budget)
{
    struct rti_cx_rest *rest = rti_cx_open_rest(cx);
    rest->budget = rt_budget_meet(rest->budget, budget);
    cx_publish(cx);
}

rt_status rt_cx_push_budget(rt_cx *given, rt_budget budget, rt_budget_scope *storage)
{
    struct rti_cx *cx = cx_find(given);
    if (storage == NULL) {
        return (rt_status){RT_ERR_INVALID, "there is no scope"};
    }
    if (cx == NULL) {
        return cx_missing(given);
    }
    if (RTI_UNLIKELY(rti_cx_is_passing(cx))) {
        return RTI_CX_PASSING_FAIL;
    }
    struct rti_budget_scope *scope = (struct rti_budget_scope *)(void *)storage;
    struct rti_cx_rest *rest = rti_cx_open_rest(cx);
    scope->cx = cx;
    scope->outer = rest->scope;
    scope->before = rest->budget;
    rest->budget = rt_budget_meet(rest->budget, budget);
    scope->polls_taken = rest->polls_taken;
    scope->cost_taken = rest->cost_taken;
    rest->scope = scope;
    cx_publish(cx);
    return RT_SUCCESS;
}

rt_status rt_cx_pop_budget(rt_cx *given, rt_budget_scope *storage)
{
    struct rti_cx *cx = cx_find(given);
    struct rti_budget_scope *scope = (struct rti_budget_scope *)(void *)storage;
    if (scope == NULL) {
        return (rt_status){RT_ERR_INVALID, "there is no scope"};
    }
    if (cx == NULL) {
        return cx_missing(given);
    }
    struct rti_cx_rest *rest = rti_cx_rest(cx);
    if (rest == NULL || rest->scope != scope) {
        return (rt_status){RT_ERR_STATE, "this is not the innermost scope of the context"};
    }
    rest->budget = cx_charge(scope->before, rest->polls_taken - scope->polls_taken,
                             rest->cost_taken - scope->cost_taken);
    rest->scope = scope->outer;
    scope->cx = NULL;
    cx_publish(cx);
    return RT_SUCCESS;
}

rt_outcome rt_cx_outcome(const rt_cx *given, rt_status_code status)
{
    const struct rti_cx *cx = cx_find(given);
    rt_outcome natural = RT_OUTCOME_OK;
    (void)rt_outcome_of(status, &natural);
    return rt_outcome_join(natural, cx == NULL ? RT_OUTCOME_OK : rti_cx_outcome(cx));
}

void rti_cx_events_add(struct rti_cx_events *events, struct rti_cx *cx, struct rti_sched *sched,
                       struct rti_wait *wait, rt_time deadline)
{
    const rt_budget *budget = cx == NULL ? NULL : rti_cx_budget(cx);
    rt_time effective = rt_budget_deadline(budget, deadline);
    /* When both come at once it is the budget that is used up: the worse of the two. */
    events->is_budget = budget != NULL && effective == budget->deadline;
    if (cx != NULL) {
        rti_cancel_add(&cx->cancel, wait, &events->cancel);
    }
    rti_deadline_add(&events->deadline, sched, wait, effective);
}

rt_status rti_cx_events_status(const struct rti_cx_events *events, struct rti_cx *cx,
                               uint32_t event)
{
    if (event == RTI_EVENT_CANCEL) {
        return rti_cx_see_cancel(cx);
    }
    RT_ASSERT(event == RTI_EVENT_TIMEOUT);
    if (events->is_budget) {
        return cx_exhaust(cx);
    }
    return (rt_status){RT_ERR_TIMEOUT, "the deadline came first"};
}

static void cx_poll_wake(struct rti_wait *wait)
{
    /* The waker may end the context, and so may its owner once it is told: nothing of it is touched
     * afterwards. */
    struct rti_poll_cx *poll = wait->target;
    (void)cx_seize_waker(poll);
    rt_waker waker = poll->waker;
    cx_let_go_of_waker(poll, RTI_CX_POLL_WOKEN);
    if (waker.fn != NULL) {
        waker.fn(waker.arg);
    }
}

void rti_cx_poll_begin(struct rti_cx *cx, struct rti_cx_op op)
{
    struct rti_poll_cx *poll = rti_cx_poll(cx);
    RT_ASSERT(cx->kind == RTI_CX_POLL && !poll->is_waiting);
    poll->is_waiting = true;
    cx->is_touched = true;
    poll->op = op;
    rti_u32_init(&poll->poll_word, RTI_CX_POLL_QUIET);
    rti_wait_begin(&poll->wait, cx_poll_wake, poll, rti_sched_is_local(rti_cx_sched(cx)));
}

void rti_cx_poll_end(struct rti_cx *cx)
{
    struct rti_poll_cx *poll = rti_cx_poll(cx);
    RT_ASSERT(cx->kind == RTI_CX_POLL);
    if (poll->is_waiting) {
        poll->is_waiting = false;
        /* Nobody may claim it while it is taken apart. */
        if (!rti_wait_claim(&poll->wait, RTI_EVENT_KILL) &&
            RTI_UNLIKELY(!rti_sched_is_local(rti_cx_sched(cx)))) {
            cx_await_wake(poll);
        }
        rti_wait_finish(&poll->wait);
    }
}

void rti_cx_audit(const struct rti_cx *cx)
{
    RT_ASSERT(cx_is_known(cx));
    if (rti_sched_is_local(rti_cx_sched(cx)) && cx->kind == RTI_CX_FIBER &&
        rti_cx_inner(cx) == NULL) {
        RT_ASSERT(rti_cx_fiber(cx)->is_hindered == cx_is_hindrance(cx));
    }
    rti_contexts_lock(rti_cx_sched(cx)); /* a cancellation is on its way inwards with it */
    const struct rti_cx *outer;
    for (const struct rti_cx *at = cx; (outer = rti_cx_outer(at)) != NULL; at = outer) {
        RT_ASSERT(rti_cx_inner(outer) == at && rti_cx_fiber(outer) == rti_cx_fiber(at));
        RT_ASSERT(!rti_cancel_is_requested(&outer->cancel) ||
                  rti_cancel_is_requested(&at->cancel) || at->is_shield);
    }
    rti_contexts_unlock(rti_cx_sched(cx));
    const struct rti_cx_rest *rest = rti_cx_rest(cx);
    RT_ASSERT(rest == NULL || rest->cx == cx);
    for (const struct rti_budget_scope *at = rest == NULL ? NULL : rest->scope; at != NULL;
         at = at->outer) {
        RT_ASSERT(at->cx == cx);
    }
}
