/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_FIBER_LIFE_H
#define RTI_FIBER_LIFE_H

/* Birth of fibers that lie in slots of a table and are born there again and again: actors, tasks.
 *
 * What is the same in every life of a slot is written once, by rti_fiber_init_slot. A life begins
 * with rti_fiber_begin, which is inline because a spawn is a hot path, and writes only what the
 * life before has changed.
 *
 * A fiber of a slab (sched/stack_slab.h) has no stack until it first runs, and then the one that
 * whoever ran before it on this worker has just given back, if that one was of the same slab: then
 * not even a switch lies between the two.
 *
 * I1  Between two lives a fiber has no wait, no context, no cleanup and was not killed by anybody
 *     who could still know it.                                              (rti_fiber_begin) */

#include "sched/fiber.h"
#include "sched/stack_slab.h"

/* What one life has for itself; and its function, which its maker writes. */
struct rti_fiber_life {
    const struct rti_fiber *starter; /* who runs on the worker; NULL: it itself */
    const void *site;                /* the code that starts it, RTI_CALL_SITE(); NULL: not known */
    uint32_t origin;                 /* the number of that, if it is_numbered */
    uint32_t id;
    uint8_t priority;
    bool is_straight; /* by a call that goes straight (worker->straight) */
    bool is_numbered; /* its maker has asked (rti_worker_number_origin) */
};

/* Prepares a slot for all its lives on `sched`. */
void rti_fiber_init_slot(struct rti_fiber *fiber, struct rti_sched *sched,
                         const struct rti_fiber_kind *kind);

/* Where a fiber begins; for contexts. */
void rti_fiber_entry(void *transfer);

/* rti_worker_number_origin for one that is not the worker's last. */
uint32_t rti_worker_number_origin_any(struct rti_worker *worker, const struct rti_fiber *starter,
                                      const void *site, const void *line);

/* Is a spawn by `starter`, NULL for nobody, the same as the worker's last one? */
static RTI_ALWAYSINLINE bool rti_worker_repeats_origin(const struct rti_worker *worker,
                                                       const struct rti_fiber *starter,
                                                       const void *site, const void *line)
{
#if !RTI_ONE_WORKER
    const struct rti_origin_last *last = &worker->last_origin;
    uint32_t chain = RTI_LIKELY(starter != NULL) ? starter->origin.number : 0;
    return RTI_LIKELY(last->chain == chain) && RTI_LIKELY(last->address == site) &&
           RTI_LIKELY(last->line == line);
#else
    (void)worker, (void)starter, (void)site, (void)line;
    return true;
#endif
}

/* The number of a spawn of that kind. */
static RTI_ALWAYSINLINE uint32_t rti_worker_repeated_origin(const struct rti_worker *worker)
{
#if !RTI_ONE_WORKER
    return worker->last_origin.number;
#else
    (void)worker;
    return 0;
#endif
}

/* The number of a spawn by `starter`, who runs on the worker, NULL for nobody; 0: there is no room
 * to note where. One worker: there are no numbers. */
static RTI_ALWAYSINLINE uint32_t rti_worker_number_origin(struct rti_worker *worker,
                                                          const struct rti_fiber *starter,
                                                          const void *site, const void *line)
{
    return RTI_LIKELY(rti_worker_repeats_origin(worker, starter, site, line))
               ? rti_worker_repeated_origin(worker)
               : rti_worker_number_origin_any(worker, starter, site, line);
}

/* Notes who starts the fiber: the one that runs here now, if any does. */
static RTI_ALWAYSINLINE void rti_fiber_note_starter(struct rti_fiber *fiber,
                                                    const struct rti_fiber *starter)
{
#if RTI_HAS_TOOLS
    fiber->origin.parent = RTI_LIKELY(starter != NULL) ? starter->run.id : 0;
#else
    (void)fiber, (void)starter;
#endif
}

/* And where. */
static RTI_ALWAYSINLINE void rti_fiber_note_origin(struct rti_fiber *fiber, const void *site,
                                                   uint32_t number)
{
#if !RTI_ONE_WORKER
    (void)site;
    fiber->origin.number = number;
#elif RTI_HAS_TOOLS
    (void)number;
    fiber->origin.sites[0] = site;
#else
    (void)fiber, (void)site, (void)number;
#endif
}

/* Notes whether the fiber's stack comes from the scheduler's slab; else from who makes the fiber.
 */
static RTI_ALWAYSINLINE void rti_fiber_set_slab(struct rti_fiber *fiber, bool is_of_slab)
{
#if RTI_HAS_SLABS
    fiber->is_of_slab = is_of_slab;
#else
    (void)fiber;
    RT_ASSERT(!is_of_slab);
#endif
}

static RTI_ALWAYSINLINE bool rti_fiber_has_slab(const struct rti_fiber *fiber)
{
#if RTI_HAS_SLABS
    return fiber->is_of_slab;
#else
    (void)fiber;
    return false;
#endif
}

/* The errno that a fiber begins with. */
static RTI_ALWAYSINLINE void rti_fiber_clear_errno(struct rti_fiber *fiber)
{
#if RT_KEEP_ERRNO
    fiber->saved_errno = 0;
#else
    (void)fiber;
#endif
}

/* What a life begins with, whatever its stack. */
static RTI_ALWAYSINLINE void rti_fiber_begin_life(struct rti_fiber *fiber,
                                                  struct rti_worker *worker,
                                                  const struct rti_fiber_life *life)
{
    const struct rti_fiber *starter = life->starter;
    RT_DCHECK(starter == worker->fiber);
    RT_DCHECK(!RTI_CONTEXT_MARKED || !rti_context_is_marked(&fiber->context));
    RT_ASSERT(life->priority < RTI_PRIORITY_LEVELS);
    RT_ASSERT(fiber->wait == NULL && rti_fiber_cx(fiber) == NULL);
    RT_DCHECK(rti_fiber_is_clean(fiber));
    if (!life->is_straight) {
        rti_u32_store_relaxed(&fiber->run.state, RTI_RUNNABLE_NEW);
    }
    fiber->run.id = life->id;
    fiber->run.priority = life->priority;
    rti_u32_store_relaxed(&fiber->killed, 0);
    fiber->end = RTI_FIBER_RETURNED;
    fiber->fault = 0;
    fiber->blocking_depth = 0;
    fiber->pin_depth = 0;
    rti_fiber_clear_errno(fiber);
    rti_fiber_note_starter(fiber, starter);
    rti_fiber_note_origin(fiber, life->site,
                          life->is_numbered
                              ? life->origin
                              : rti_worker_number_origin(worker, starter, life->site, NULL));
    rti_context_inherit(&fiber->context, starter == NULL ? NULL : &starter->context);
}

/* Begins a life, on the stack that lies in fiber->stack, started by who runs on `worker`. The stack
 * is gone with the fiber's end unless it `is_lasting`. */
static RTI_ALWAYSINLINE void rti_fiber_begin(struct rti_fiber *fiber, struct rti_worker *worker,
                                             const struct rti_fiber_life *life, bool is_lasting)
{
    RT_DCHECK(rti_stack_is_intact(&fiber->stack));
    rti_stack_forget_summons(&fiber->stack); /* it may be there since an earlier life */
    rti_fiber_begin_life(fiber, worker, life);
    rti_fiber_set_slab(fiber, false);
    fiber->run.is_direct = true;
    rti_context_place(&fiber->context, rti_stack_fresh_usable(&fiber->stack),
                      rti_stack_fresh_frames_size(&fiber->stack), rti_fiber_entry);
    rti_fiber_set_self_settling(fiber, is_lasting && fiber->stack.limit != NULL);
}

/* The same for one that takes its stack from the slab when it first runs. */
static RTI_ALWAYSINLINE void rti_fiber_begin_in(struct rti_fiber *fiber, struct rti_worker *worker,
                                                const struct rti_fiber_life *life)
{
    rti_fiber_begin_life(fiber, worker, life);
    rti_fiber_set_slab(fiber, true);
    rti_stack_clear(&fiber->stack);
    /* Who would switch to it goes to the scheduler, which gives it its stack. */
    fiber->run.is_direct = false;
}

/* Takes the stack of a fiber of a slab, which is about to run for the first time. */
static RTI_ALWAYSINLINE void rti_fiber_enter_slab(struct rti_fiber *fiber, bool is_local)
{
#if RTI_HAS_SLABS
    (void)rti_stack_slab_take_as(fiber->sched->slab, &fiber->stack, is_local);
    fiber->run.is_direct = true;
    rti_fiber_set_self_settling(fiber, fiber->stack.limit != NULL);
#else
    (void)fiber, (void)is_local;
#endif
}

/* Gives the stack of a fiber that has ended back to its slab; nothing if it never ran. */
static RTI_ALWAYSINLINE void rti_fiber_leave_slab(struct rti_fiber *fiber, bool is_local)
{
#if RTI_HAS_SLABS
    if (RTI_LIKELY(!rti_stack_is_none(&fiber->stack))) {
        rti_stack_slab_give_as(fiber->sched->slab, fiber->stack.owner, is_local);
    }
#else
    (void)fiber, (void)is_local;
#endif
}

#if !RTI_ONE_WORKER
/* The fiber's own part of an end in a section (end_alone). */
static RTI_ALWAYSINLINE void rti_fiber_depart_alone(struct rti_fiber *fiber)
{
    /* Who runs has no mark (rti_arch_switch), as rti_context_deinit would leave it. */
    RT_DCHECK(fiber->wait == NULL && !rti_context_is_marked(&fiber->context));
    rti_runnable_to_done_here(&fiber->run);
    rti_fiber_settle_nowhere(fiber);
    RTI_PROBE2(exit, fiber->run.id, fiber->end);
    rti_context_forget_bounds(&fiber->context);
}

/* Gives one of the slab that has not begun the stack of another of it, which is about to end. */
static RTI_ALWAYSINLINE void rti_fiber_inherit_slab(struct rti_fiber *heir,
                                                    const struct rti_fiber *gone)
{
    RT_DCHECK(rti_fiber_has_slab(heir) && rti_fiber_has_slab(gone) && heir->sched == gone->sched);
    RT_DCHECK(gone->is_self_settling && rti_stack_is_none(&heir->stack));
    heir->stack = gone->stack;
    rti_stack_forget_summons(&heir->stack);
    heir->run.is_direct = true;
    rti_fiber_set_self_settling(heir, true);
}

/* It does not end yet: the other has none again. */
static RTI_ALWAYSINLINE void rti_fiber_disinherit_slab(struct rti_fiber *heir)
{
    rti_stack_clear(&heir->stack);
    heir->run.is_direct = false;
}
#endif

/* rti_fiber_start for one that has just begun on `sched`. */
static RTI_ALWAYSINLINE void rti_fiber_start_begun(struct rti_sched *sched, struct rti_fiber *fiber)
{
    if (RTI_UNLIKELY(!rti_sched_is_local(sched) || rti_sched_journal(sched) != NULL)) {
        rti_sched_start(sched, &fiber->run);
        return;
    }
    RTI_PROBE2(spawn, fiber->run.id, fiber->run.priority);
    rti_worker_note(&sched->worker, RTI_NOTE_START, fiber->run.priority, fiber->run.id);
    RT_DCHECK(rti_worker_current() == &sched->worker);
    rti_u32_store_relaxed(&fiber->run.state, RTI_RUNNABLE_READY);
    sched->live++;
    rti_processor_queue(&sched->processor, &fiber->run);
}

/* The same for one that was begun by a call that goes straight. */
static RTI_ALWAYSINLINE void rti_fiber_start_straight(struct rti_sched *sched,
                                                      struct rti_fiber *fiber, uint8_t priority)
{
    RT_DCHECK(rti_worker_current() == &sched->worker && rti_worker_is_straight(&sched->worker));
    RTI_PROBE2(spawn, fiber->run.id, fiber->run.priority);
    rti_u32_store_relaxed(&fiber->run.state, RTI_RUNNABLE_READY);
    sched->live++;
    rti_processor_queue_at(&sched->processor, &fiber->run, priority);
}

#endif
