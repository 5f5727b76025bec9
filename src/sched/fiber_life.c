/* SPDX-License-Identifier: Apache-2.0 */
/* Birth and end of fibers; the essay is in fiber.h.
 *
 * An end has two halves: the fiber departs, on its own stack, and is settled, when none of its
 * frames is needed any more. Where that happens decides what an end costs. The worker's stack is
 * always right. But a fiber that has returned has all of its stack to spare, and one that exits has
 * the reserve of the runtime below it; so it can be settled where it stands. Then the next one is
 * picked there, and the end of one fiber and the turn of the next are one switch. That is the
 * common way with one worker that neither records nor keeps a journal (fiber_is_succeeded); the
 * worker's stack is taken if a look is due, if the end was not a clean one, if the stack has no
 * guard page and may be small, or is of the heap and gone with its fiber.
 *
 * With several workers whoever gets the stack next could begin on it before this one has left. But
 * a stack of a slab goes to the shelf of the station, from which only its holder takes, who is the
 * one that stands on it: nobody lets go of a station between the end and the switch. So there, too,
 * one that has returned is settled where it stands, and what the search and the dispatch would do
 * is asked as in a chain (sched/chain.h). What is no fiber, or has not begun and is of no slab, is
 * pinned, killed or to be told of is left to the member's own stack.
 *
 * Who works alone (sched/solo.h) does all of this in one section, if the kind of the fiber has no
 * more to do at its end than to say so and the next one has not begun: that is the heir of the
 * stack, which no shelf sees between.
 *
 * If the next one has not begun and is of the same slab, the stack that it gets is the one that was
 * just given back: it begins right there, by a call.
 *
 * What limits a row of such ends is not how much they execute. Where a processor does not dare to
 * load before it knows where all stores before go, each store through a pointer that was just
 * loaded is a step of a chain. So here pointers follow from where things lie
 * (rti_worker_lone_sched) and from guesses (rti_processor_pick_guessed), if they can. */
#define RTI_MODULE "fiber"
#include "sched/fiber_life.h"

#include <orrery/rt/types.h>

#include "base/memcheck.h"
#include "sched/chain.h"
#include "sched/fiber_park.h"

/* May fibers end on their own stacks? The tools of annotated builds want to be told of the end of a
 * stack from another one, and where stacks are small it is not worth its code. */
#define FIBER_SETTLES_ITSELF (!RTI_CONTEXT_ANNOTATED && !RTI_ONE_WORKER)

/* Makes the fiber that runs on `worker` one that has departed. What is left is to leave it. */
static RTI_ALWAYSINLINE struct rti_fiber *fiber_depart(struct rti_worker *worker,
                                                       enum rti_fiber_end end)
{
    struct rti_fiber *self = worker->fiber;
    RT_ASSERT(self != NULL && self->wait == NULL);
    self->end = (uint8_t)end;
    rti_runnable_to_done(&self->run);
    worker->fiber = NULL;
    worker->departed = self;
    return self;
}

/* Ends the fiber that runs on `worker`: it goes to the worker's stack and is settled there. */
static _Noreturn void fiber_finish(struct rti_worker *worker, enum rti_fiber_end end)
{
    struct rti_fiber *self = fiber_depart(worker, end);
    rti_context_leave(&self->context, &worker->context, worker);
    rti_panic(RTI_MODULE, __LINE__, "a fiber that ended was resumed");
}

/* Was valgrind told of its stack when it was made? Where its context does not know that, the word
 * of the stack's owner does, which is a bay only in a slab. */
static RTI_ALWAYSINLINE bool fiber_is_told(const struct rti_fiber *fiber)
{
#if RTI_CONTEXT_REGISTERS
    return fiber->context.valgrind_stack_id != 0;
#elif RTI_VALGRIND_KNOWS
    return fiber->stack.owner != 0 && !rti_fiber_has_slab(fiber);
#else
    (void)fiber;
    return false;
#endif
}

/* Tells valgrind of a stack that was lent, if its context does not. */
static void fiber_tell_stack(struct rti_fiber *fiber)
{
#if RTI_MEMCHECK && RTI_VALGRIND_KNOWS && !RTI_CONTEXT_REGISTERS
    char *low = rti_stack_usable(&fiber->stack);
    rti_stack_set_owner(&fiber->stack,
                        VALGRIND_STACK_REGISTER(low, low + rti_stack_frames_size(&fiber->stack)));
#else
    (void)fiber;
#endif
}

/* The end of that. */
static RTI_COLD void fiber_untell_stack(struct rti_fiber *fiber)
{
#if RTI_MEMCHECK && RTI_VALGRIND_KNOWS
    VALGRIND_STACK_DEREGISTER(fiber->stack.owner);
    /* What lay below the last stack pointer is memory like any other again. */
    (void)VALGRIND_MAKE_MEM_UNDEFINED(rti_stack_usable(&fiber->stack),
                                      rti_stack_frames_size(&fiber->stack));
#endif
    rti_stack_set_owner(&fiber->stack, 0);
}

/* Lets the tools forget its context, and valgrind the stack that it was told of. */
static RTI_ALWAYSINLINE void fiber_deinit_context(struct rti_fiber *fiber)
{
    if (!RTI_CONTEXT_REGISTERS && RTI_UNLIKELY(fiber_is_told(fiber))) {
        fiber_untell_stack(fiber);
    }
    rti_context_deinit(&fiber->context);
}

/* The second half of an end, for a fiber whose guard words are in place. */
static RTI_ALWAYSINLINE void fiber_settle(struct rti_sched *sched, struct rti_fiber *fiber)
{
    if (RTI_LIKELY(rti_sched_is_local(sched))) {
        RT_ASSERT(sched->live > 0);
        sched->live--;
    } else {
        rti_sched_settled(sched);
        rti_fiber_settle_nowhere(fiber);
    }
    RTI_PROBE2(exit, fiber->run.id, fiber->end);
    rti_worker_note_here(RTI_NOTE_END, fiber->end, fiber->run.id);
    if (RTI_UNLIKELY(rti_sched_journal(sched) != NULL)) {
        rti_sched_record(sched, &(struct rti_journal_event){.kind = RTI_JOURNAL_END,
                                                            .task = fiber->run.id,
                                                            .value = fiber->end});
    }
    rti_fiber_clean_up(fiber);
    fiber_deinit_context(fiber);
    fiber->run.kind->on_done(fiber);
}

/* The worker of a fiber whose function has returned, where it had this context. */
static RTI_ALWAYSINLINE struct rti_worker *fiber_come_back(const struct rti_fiber *self,
                                                           const struct rti_cx *cx)
{
    struct rti_worker *worker = rti_fiber_worker();
    /* A context that lay in a frame of main is garbage now: going on would corrupt what it was
     * linked to. */
    RT_ASSERT(rti_fiber_cx(self) == cx && self->wait == NULL);
    return worker;
}

#if FIBER_SETTLES_ITSELF

/* May the next fiber be picked by this one, which is about to end, on its own stack? Then its guard
 * words are in place. */
static RTI_ALWAYSINLINE bool fiber_is_succeeded(struct rti_worker *worker, struct rti_fiber *self)
{
    if (RTI_UNLIKELY(!self->is_self_settling || worker->straight == rti_sched_no_modules)) {
        return false;
    }
    return !rti_fiber_is_scheduler_due(worker, self) ||
           !rti_fiber_is_scheduler_needed(worker, self);
}

/* fiber_settle for one that stands on its own stack: nobody records, and no tool was told of it. */
static RTI_ALWAYSINLINE void fiber_settle_itself(struct rti_worker *worker, struct rti_fiber *self)
{
    /* Who runs has no mark (rti_arch_switch), as rti_context_deinit would leave it. */
    RT_DCHECK(self->wait == NULL && !rti_context_is_marked(&self->context));
    RT_DCHECK(rti_ptr_load_relaxed(&self->alone_at) == NULL);
    rti_runnable_to_done_here(&self->run);
    worker->fiber = NULL;
    rti_sched_settled_here(rti_worker_lone_sched(worker));
    RTI_PROBE2(exit, self->run.id, self->end);
    RT_DCHECK(rti_cleanups_are_none(&self->cleanups));
    rti_context_forget_bounds(&self->context);
    self->run.kind->on_done(self);
    RT_AUDIT(rti_sched_audit(worker->sched));
}

/* Makes `fiber` the one that runs, at the top of the stack on which `gone` ended and the caller is.
 */
static RTI_ALWAYSINLINE void fiber_take_place(struct rti_worker *worker, struct rti_fiber *fiber,
                                              struct rti_arch_context *gone)
{
    RTI_PROBE1(start, fiber->run.id);
    rti_runnable_to_switched(&fiber->run);
    worker->fiber = fiber;
    rti_context_set_bounds(&fiber->context, rti_stack_usable(&fiber->stack),
                           rti_stack_frames_size(&fiber->stack));
    rti_arch_fp_control_switch(gone, &fiber->context.saved);
#if RT_KEEP_ERRNO
    /* A store that would only say the same is one that later loads may wait for. */
    if (RTI_UNLIKELY(*worker->errno_address != 0)) {
        *worker->errno_address = 0;
    }
#endif
}

/* Begins `fiber`, of a slab, here at the top of the stack of `gone`, which ends at `here`, if that
 * is the stack that it gets; then true, and what is left is to say that its berth is not ready and
 * to call its function. */
static RTI_ALWAYSINLINE bool fiber_begin_here(struct rti_worker *worker, struct rti_fiber *fiber,
                                              const char *here, struct rti_arch_context *gone,
                                              bool is_local)
{
    rti_fiber_enter_slab(fiber, is_local);
    if (RTI_LIKELY(fiber->stack.high_guard == here)) {
        fiber_take_place(worker, fiber, gone);
        return true;
    }
    RTI_PROBE1(start, fiber->run.id);
    rti_runnable_to_switched(&fiber->run);
    worker->fiber = fiber;
    rti_context_place(&fiber->context, rti_stack_usable(&fiber->stack),
                      rti_stack_frames_size(&fiber->stack), rti_fiber_entry);
    return false;
}

/* Has this one not begun, and may it? */
static inline bool fiber_is_unborn(struct rti_runnable *next)
{
    if (next->is_direct || !next->is_fiber) {
        return false;
    }
    const struct rti_fiber *fiber = rti_fiber_of(next);
    return RTI_LIKELY(rti_stack_is_none(&fiber->stack)) && RTI_LIKELY(!rti_fiber_is_killed(fiber));
}

/* Settles `self`, which has come to its end, and goes on with the next. It may stand below frames
 * of the program's: what it needs of the stack is the runtime's reserve (sched/stack.h). Returns if
 * the next one begins on this very stack, and gives that one. */
static RTI_ALWAYSINLINE struct rti_fiber *fiber_pass_on(struct rti_worker *worker,
                                                        struct rti_fiber *self)
{
    const char *here = self->stack.high_guard;
    struct rti_arch_context gone;
    rti_arch_fp_control_remember(&gone, &self->context.saved);
    fiber_settle_itself(worker, self);
    /* What has ended may have asked for a look. */
    if (RTI_LIKELY(worker->turns_until_look > 0)) {
        struct rti_runnable *next =
            rti_processor_pick_guessed(&rti_worker_lone_sched(worker)->processor, RT_PRIO_NORMAL);
        if (RTI_LIKELY(next != NULL) && RTI_LIKELY(fiber_is_unborn(next))) {
            struct rti_fiber *fiber = rti_fiber_of(next);
            if (RTI_LIKELY(fiber_begin_here(worker, fiber, here, &gone, true))) {
                return fiber;
            }
            rti_context_pass(&gone, &fiber->context, worker);
        }
        if (next != NULL && next->is_direct) {
            struct rti_fiber *fiber = rti_fiber_of(next);
            RTI_PROBE1(start, next->id);
            rti_runnable_to_switched(next);
            worker->fiber = fiber;
            rti_fiber_bring_errno(worker, fiber);
            rti_context_pass(&gone, &fiber->context, worker);
        }
        worker->handoff = next;
    }
    rti_context_pass(&gone, &worker->context, worker);
}

/* May this one, which has returned, be settled on its own stack with several workers? That is given
 * back to the shelf of its station, from which nobody else takes. */
static RTI_ALWAYSINLINE bool fiber_is_settling_shared(const struct rti_worker *worker,
                                                      const struct rti_fiber *self)
{
    return RTI_LIKELY(worker->station != NULL) && RTI_LIKELY(self->is_self_settling) &&
           rti_fiber_has_slab(self) && RTI_LIKELY(self->run.pin == 0) &&
           RTI_LIKELY(rti_stack_is_intact(&self->stack)) && !rti_worker_records(worker) &&
           RTI_LIKELY(rti_sched_journal(worker->sched) == NULL);
}

/* fiber_settle for such a one. */
static RTI_ALWAYSINLINE void fiber_settle_itself_shared(struct rti_worker *worker,
                                                        struct rti_fiber *self)
{
    RT_DCHECK(self->wait == NULL && !rti_context_is_marked(&self->context));
    rti_runnable_to_done_here(&self->run);
    worker->fiber = NULL;
    rti_station_count(&worker->station->live, UINT64_MAX);
    rti_fiber_settle_nowhere(self);
    RTI_PROBE2(exit, self->run.id, self->end);
    RT_DCHECK(rti_cleanups_are_none(&self->cleanups));
    rti_context_forget_bounds(&self->context);
    self->run.kind->on_done(self);
}

/* The next one at the station, RUNNING and counted as a dispatch, if it can be gone on with from
 * here: a fiber that has not begun and is of a slab, or one that was switched from. NULL: the
 * member's own stack goes on. */
static RTI_ALWAYSINLINE struct rti_fiber *fiber_successor(struct rti_worker *worker)
{
    struct rti_member *member = worker->member;
    worker->lent = NULL;
    if (RTI_UNLIKELY(member->pin != 0) || rti_chain_is_cut(worker)) {
        return NULL;
    }
    struct rti_runnable *next = rti_chain_pick(worker);
    if (RTI_UNLIKELY(next == NULL)) {
        return NULL;
    }
    bool is_ours =
        next->is_fiber && (fiber_is_unborn(next) || (next->is_direct && !next->is_fresh &&
                                                     !rti_fiber_is_killed(rti_fiber_of(next))));
    if (RTI_UNLIKELY(!is_ours) || RTI_UNLIKELY(next->pin != 0) ||
        RTI_UNLIKELY(worker->station->is_stocked)) {
        RT_DCHECK(member->first == NULL);
        member->first = next;
        return NULL;
    }
    next->is_fresh = false;
    member->turns_until_look--;
    rti_station_count(&worker->station->turns, 1);
    return rti_fiber_of(next);
}

/* fiber_pass_on with several workers. */
static RTI_ALWAYSINLINE struct rti_fiber *fiber_pass_on_shared(struct rti_worker *worker,
                                                               struct rti_fiber *self)
{
    const char *here = self->stack.high_guard;
    struct rti_arch_context gone;
    rti_arch_fp_control_remember(&gone, &self->context.saved);
    fiber_settle_itself_shared(worker, self);
    struct rti_fiber *next = fiber_successor(worker);
    if (RTI_UNLIKELY(next == NULL)) {
        rti_context_pass(&gone, &worker->context, worker);
    }
    if (RTI_LIKELY(rti_stack_is_none(&next->stack))) {
        if (RTI_LIKELY(fiber_begin_here(worker, next, here, &gone, false))) {
            return next;
        }
    } else {
        RTI_PROBE1(start, next->run.id);
        rti_runnable_to_switched(&next->run);
        worker->fiber = next;
        rti_fiber_bring_errno(worker, next);
    }
    rti_context_pass(&gone, &next->context, worker);
}

/* Has `self` returned in a way that leaves nothing to do but to say so, on a stack that can be
 * another's, and is the search not needed before the next turn? What settles itself on a stack of
 * the slab has a guard page there. In a section. */
static RTI_ALWAYSINLINE bool fiber_is_passing_on(const struct rti_worker *worker,
                                                 const struct rti_fiber *self)
{
    return RTI_LIKELY(worker->member->pin == 0) && RTI_LIKELY(self->is_self_settling) &&
           rti_fiber_has_slab(self) && RTI_LIKELY(rti_stack_is_intact_single(&self->stack)) &&
           RTI_LIKELY(rti_cleanups_are_none(&self->cleanups)) && !rti_chain_is_cut_alone(worker) &&
           RTI_LIKELY(rti_station_is_plain(worker->station)) &&
           RTI_LIKELY(!worker->station->is_stocked);
}

/* The first of a ring, which stays there, if it has not begun and may. NULL: it is any other case.
 * In a section. */
static RTI_ALWAYSINLINE struct rti_runnable *fiber_heir(const struct rti_ring *ring)
{
    struct rti_runnable *next = rti_ring_peek(ring);
    bool is_heir =
        RTI_LIKELY(next != NULL) && RTI_LIKELY(next->pin == 0) && RTI_LIKELY(fiber_is_unborn(next));
    return is_heir ? next : NULL;
}

/* The step to the first of a ring, which has the stack of the one that has ended: that one is not
 * looked at any more, `gone` is how it leaves. In a section. */
static RTI_ALWAYSINLINE void fiber_give_way(struct rti_worker *worker, struct rti_ring *ring,
                                            struct rti_fiber *heir, struct rti_arch_context *gone)
{
    struct rti_station *station = worker->station;
    rti_ring_drop_alone(ring);
    station->tick++;
    station->streak = 0;
    worker->member->turns_until_look--;
    rti_station_count(&station->turns, 1);
    rti_station_count(&station->live, UINT64_MAX);
    heir->run.is_fresh = false;
    fiber_take_place(worker, heir, gone);
}

/* Ends `self` in favour of `next`, the first of a ring. False: more is to be done at its end, and
 * nothing has changed. What the heir needs of `self` it gets before: who came as a guest and has
 * the handle in use since may be none any more, and have the slot for another task as soon as the
 * end can be seen. In a section. */
static RTI_ALWAYSINLINE bool fiber_end_for(struct rti_worker *worker, struct rti_fiber *self,
                                           struct rti_ring *ring, struct rti_fiber *heir)
{
    struct rti_arch_context gone;
    rti_arch_fp_control_remember(&gone, &self->context.saved);
    rti_fiber_inherit_slab(heir, self);
    if (RTI_UNLIKELY(!self->run.kind->end_alone(self, worker))) {
        rti_fiber_disinherit_slab(heir);
        return false;
    }
    fiber_give_way(worker, ring, heir, &gone);
    return true;
}

/* fiber_pass_on_shared by who works alone, in one section, where the next one has not begun and
 * begins here. NULL: it is any other case, and nothing has changed. */
static RTI_ALWAYSINLINE struct rti_fiber *fiber_pass_on_alone(struct rti_worker *worker,
                                                              struct rti_fiber *self)
{
    if (RTI_UNLIKELY(self->run.kind->end_alone == NULL) || RTI_UNLIKELY(!rti_solo_enter(worker))) {
        return NULL;
    }
    worker->lent = NULL;
    struct rti_ring *ring = rti_station_urgent(worker->station);
    struct rti_runnable *next = fiber_is_passing_on(worker, self) ? fiber_heir(ring) : NULL;
    struct rti_fiber *heir = NULL;
    if (RTI_LIKELY(next != NULL) &&
        RTI_LIKELY(fiber_end_for(worker, self, ring, rti_fiber_of(next)))) {
        heir = rti_fiber_of(next);
    }
    rti_solo_leave(worker);
    return heir;
}

/* fiber_return with several workers. */
static RTI_NOINLINE struct rti_fiber *fiber_return_any(struct rti_worker *worker,
                                                       struct rti_fiber *self)
{
    rti_fiber_clean_up(self);
    if (RTI_LIKELY(fiber_is_settling_shared(worker, self))) {
        return fiber_pass_on_shared(worker, self);
    }
    fiber_finish(worker, RTI_FIBER_RETURNED);
}

/* The same, by who works alone if it is. */
static RTI_NOINLINE struct rti_fiber *fiber_return_shared(struct rti_fiber *self,
                                                          const struct rti_cx *cx)
{
    struct rti_worker *worker = fiber_come_back(self, cx);
    struct rti_fiber *heir = fiber_pass_on_alone(worker, self);
    return RTI_LIKELY(heir != NULL) ? heir : fiber_return_any(worker, self);
}

#endif

void rti_fiber_abandon(void *arg)
{
    struct rti_worker *worker = arg;
    struct rti_fiber *self = worker->fiber;
    /* Its floating-point controls may be in any state. */
    rti_context_keep_fp_control(&self->context);
    rti_fiber_clean_up(self);
    (void)fiber_depart(worker, (enum rti_fiber_end)self->end);
    rti_context_abandon(&self->context, &worker->context, worker);
}

RTI_ASM_NAMED _Noreturn void rti_fiber_overflow(struct rti_worker *worker)
{
    struct rti_fiber *self = worker->fiber;
    if (worker->sched->catches_faults) {
        /* There may be no room for another call: go the way of those who went too far. */
        *(volatile char *)rti_stack_guard(&self->stack) = 0;
    }
    fiber_finish(worker, RTI_FIBER_OVERFLOWED);
}

_Noreturn void rti_fiber_die(struct rti_worker *worker)
{
    struct rti_fiber *self = worker->fiber;
    if (self->wait != NULL) {
        struct rti_wait *wait = self->wait;
        self->wait = NULL;
        rti_wait_finish(wait);
    }
    rti_fiber_clean_up(self);
    fiber_finish(worker, RTI_FIBER_KILLED);
}

void rti_fiber_forked(void)
{
    rti_panic(RTI_MODULE, __LINE__,
              RTI_TEXT("a task or actor came to its end in a forked process, and its runtime "
                       "stayed in the parent: call exec or _exit"));
}

_Noreturn void rti_fiber_exit(struct rti_worker *worker)
{
    struct rti_fiber *self = worker->fiber;
    RT_ASSERT(self->wait == NULL);
    rti_fiber_clean_up(self);
#if FIBER_SETTLES_ITSELF
    if (RTI_LIKELY(fiber_is_succeeded(worker, self))) {
        self->end = RTI_FIBER_EXITED;
        struct rti_fiber *next = fiber_pass_on(worker, self);
        /* The next one begins on this stack, but not below the frames of this one. */
        const struct rti_stack *stack = &next->stack;
        char *top =
            rti_context_top_of(rti_stack_fresh_usable(stack), rti_stack_fresh_frames_size(stack));
        rti_context_restart(&next->context, top, rti_fiber_entry, worker);
    }
#endif
    fiber_finish(worker, RTI_FIBER_EXITED);
}

/* The function of a fiber has returned, at the top of its stack. Gives the next one if that is to
 * begin there; else it does not return. */
static RTI_NOINLINE struct rti_fiber *fiber_return(struct rti_fiber *self, const struct rti_cx *cx)
{
    struct rti_worker *worker = fiber_come_back(self, cx);
#if FIBER_SETTLES_ITSELF
    if (RTI_LIKELY(fiber_is_succeeded(worker, self))) {
        RT_DCHECK(self->end == RTI_FIBER_RETURNED);
        rti_fiber_clean_up(self);
        return fiber_pass_on(worker, self);
    }
#endif
    fiber_finish(worker, RTI_FIBER_RETURNED);
}

/* The program's function takes its place, or returns to here. */
RTI_OUTSIDE void rti_fiber_call(struct rti_fiber *fiber)
{
    fiber->fn(fiber->arg);
}

/* The program's function returns to here, and it may fault before it has a frame. */
RTI_OUTSIDE void rti_fiber_entry(void *transfer)
{
    struct rti_worker *worker = transfer;
    struct rti_fiber *self = worker->fiber;
#if RT_KEEP_ERRNO
    *worker->errno_address = 0;
#endif
    for (;;) {
#if RTI_HAS_BERTH
        self->is_berth_ready = false;
#endif
        const struct rti_cx *cx = rti_fiber_cx(self);
        self->run.kind->main(self);
#if FIBER_SETTLES_ITSELF
        /* Two functions, so that neither saves registers for the other. */
        if (rti_runnable_is_shared(&self->run)) {
            self = fiber_return_shared(self, cx);
            continue;
        }
#endif
        self = fiber_return(self, cx);
    }
}

void rti_fiber_step(struct rti_runnable *runnable, struct rti_worker *worker)
{
    struct rti_fiber *fiber = rti_fiber_of(runnable);
    if (RTI_UNLIKELY(rti_fiber_is_killed(fiber) && fiber->wait == NULL)) {
        fiber->end = RTI_FIBER_KILLED;
        rti_runnable_to_done(runnable);
        worker->departed = fiber;
        return;
    }
#if RTI_HAS_SLABS
    if (RTI_UNLIKELY(rti_stack_is_none(&fiber->stack))) {
        rti_fiber_enter_slab(fiber, rti_sched_is_local(worker->sched));
        rti_context_place(&fiber->context, rti_stack_fresh_usable(&fiber->stack),
                          rti_stack_fresh_frames_size(&fiber->stack), rti_fiber_entry);
    }
#endif
    RTI_PROBE1(start, fiber->run.id);
    worker->fiber = fiber;
    rti_fiber_bring_errno(worker, fiber);
    /* The last act: a return from here would be guessed to go where the fiber made its last call.
     */
    rti_context_switch_tail(&worker->context, &fiber->context, worker);
}

/* Gives a fiber its context. Who runs on a fiber has its controls in that one's context. */
static inline void fiber_init_context(struct rti_fiber *fiber, const struct rti_fiber *starter,
                                      bool is_foreign)
{
    void *low = rti_stack_fresh_usable(&fiber->stack);
    size_t size = rti_stack_fresh_frames_size(&fiber->stack);
    if (is_foreign) {
        rti_context_init(&fiber->context, low, size, rti_fiber_entry);
        fiber_tell_stack(fiber);
        return;
    }
    rti_context_inherit(&fiber->context, starter == NULL ? NULL : &starter->context);
    rti_context_place(&fiber->context, low, size, rti_fiber_entry);
}

#if !RTI_ONE_WORKER
RTI_NOINLINE uint32_t rti_worker_number_origin_any(struct rti_worker *worker,
                                                   const struct rti_fiber *starter,
                                                   const void *site, const void *line)
{
    uint32_t chain = starter != NULL ? starter->origin.number : 0;
    uint32_t number = rti_origins_number(&worker->sched->origins, chain, site, line);
    if (number != 0) {
        worker->last_origin = (struct rti_origin_last){
            .address = site, .line = line, .chain = chain, .number = number};
    }
    return number;
}
#endif

/* It has never waited. */
static inline void fiber_note_unparked(struct rti_fiber *fiber)
{
#if RTI_HAS_TOOLS && RTI_ONE_WORKER
    fiber->parked_ns = 0;
#else
    (void)fiber;
#endif
}

/* Nobody knows who starts it. */
static inline void fiber_forget_origin(struct rti_fiber *fiber)
{
#if RTI_HAS_TOOLS
    fiber->origin = (struct rti_origin){.parent = 0};
#else
    (void)fiber;
#endif
}

void rti_fiber_init(struct rti_fiber *fiber, const struct rti_fiber_options *options)
{
    RT_ASSERT(options->kind != NULL && options->fn != NULL);
    struct rti_worker *worker = rti_worker_here();
    const struct rti_fiber *starter = worker == NULL ? NULL : worker->fiber;
    bool is_foreign = !rti_stack_is_none(&options->stack);
    if (is_foreign) {
        fiber->stack = options->stack;
    }
    RT_ASSERT(rti_stack_is_intact(&fiber->stack));
    rti_runnable_init(&fiber->run, options->id, options->priority, NULL);
    fiber->run.is_fiber = true;
    fiber->run.kind = options->kind;
    fiber->run.is_direct = true;
    fiber->sched = NULL;
    rti_u32_init(&fiber->killed, 0);
    fiber->end = RTI_FIBER_RETURNED;
    rti_fiber_clear_errno(fiber);
    fiber->blocking_depth = 0;
    fiber->pin_depth = 0;
    fiber->wait = NULL;
    fiber->fn = options->fn;
    fiber->arg = options->arg;
    rti_fiber_unburden(fiber);
#if RTI_HAS_BERTH
    fiber->is_berth_ready = false;
    rti_ptr_init(&fiber->alone_at, NULL);
#endif
    rti_fiber_set_slab(fiber, false);
    fiber_note_unparked(fiber);
    fiber_forget_origin(fiber);
    if (worker != NULL) {
        const void *site = options->site == NULL ? RTI_ORIGIN_NOWHERE : options->site;
        rti_fiber_note_starter(fiber, starter);
        rti_fiber_note_origin(fiber, site, rti_worker_number_origin(worker, starter, site, NULL));
    }
    fiber_init_context(fiber, starter, is_foreign);
    bool is_good = rti_stack_limit(&fiber->stack) != NULL;
    /* Not if valgrind was told of the stack: it wants to be told of its end from another. */
    is_good = is_good && !fiber_is_told(fiber);
    rti_fiber_set_self_settling(fiber, is_good);
}

void rti_fiber_init_slot(struct rti_fiber *fiber, struct rti_sched *sched,
                         const struct rti_fiber_kind *kind)
{
    RT_ASSERT(kind != NULL);
    rti_runnable_init(&fiber->run, 0, 0, NULL);
    fiber->run.kind = kind;
    fiber->run.is_fiber = true;
    fiber->sched = sched;
    fiber->wait = NULL;
    rti_stack_clear(&fiber->stack);
    rti_fiber_set_slab(fiber, false);
    rti_fiber_unburden(fiber);
#if RTI_HAS_BERTH
    fiber->is_berth_ready = false;
    rti_ptr_init(&fiber->alone_at, NULL);
#endif
    fiber_note_unparked(fiber);
    fiber_forget_origin(fiber);
    rti_context_clear(&fiber->context);
}

void rti_fiber_start(struct rti_sched *sched, struct rti_fiber *fiber)
{
    fiber->sched = sched;
    rti_sched_start(sched, &fiber->run);
}

/* The stack overflowed. Its frames are still as it left them, nobody has run since: unlinks what
 * they hold. Nobody ever goes back to them. */
static RTI_COLD void fiber_unlink_overflowed(struct rti_sched *sched, struct rti_fiber *fiber)
{
    enum rti_runnable_state state = rti_runnable_state(&fiber->run);
    if (fiber->wait != NULL) {
        struct rti_wait *wait = fiber->wait;
        fiber->wait = NULL;
        (void)rti_wait_claim(wait, RTI_EVENT_KILL);
        /* It will not look at what its wait was given. */
        rti_u32_store_relaxed(&fiber->killed, 1);
        rti_wait_finish(wait);
    }
    if (state == RTI_RUNNABLE_READY) {
        rti_processor_remove(&sched->processor, &fiber->run);
    }
    rti_u32_store_relaxed(&fiber->run.state, RTI_RUNNABLE_DONE);
}

void rti_fiber_settle(struct rti_sched *sched, struct rti_fiber *fiber)
{
    if (RTI_UNLIKELY(rti_runnable_state(&fiber->run) != RTI_RUNNABLE_DONE)) {
        fiber_unlink_overflowed(sched, fiber);
    }
    if (RTI_UNLIKELY(!rti_stack_is_none(&fiber->stack) && !rti_stack_is_intact(&fiber->stack))) {
        fiber->end = RTI_FIBER_OVERFLOWED;
        rti_stack_mend(&fiber->stack);
    }
    fiber_settle(sched, fiber);
}
