/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_ASYNC_WORD_H
#define RTI_ASYNC_WORD_H

/* The word of a poll task: whether it is to be called.
 *
 *     NOTIFIED   in a run queue, or about to be put there by the step that is running
 *     RUNNING    the step runs, and nobody has asked for another one; or the task is in a run queue
 *                for the first time, and nobody has asked besides who started it
 *     PARKED     it waits; whoever makes it NOTIFIED queues it
 *     CALLED     as NOTIFIED, and one of those who asked was rt_async_wake, which ends a pause
 *
 * A wake makes the word NOTIFIED, or CALLED, and queues the task if it was PARKED. The step makes
 * it RUNNING before it calls and PARKED after a call that ended with RT_ERR_WOULDBLOCK, if nobody
 * has asked meanwhile; else it queues itself. So a wake at any moment, any number of them, leads to
 * one more call that sees what came before the wake. A slot that is free is never PARKED: a wake
 * that comes too late finds nothing to do, or causes one call too many of the next task, which is
 * allowed.
 *
 * A task begins with the word that the last one of its slot has left: RUNNING, as a rule. Its first
 * step finds that and leaves it. Who asks from then on, before that step or during it, changes the
 * word, and the end of the step sees it.
 *
 * Beside the word stands a wish: what is asked of the task from outside, more than another call.
 * Who asks writes it first and wakes then; a step begins with the word and reads the wish then. In
 * the other order it would take a wake away whose wish it has not seen, and park.
 *
 * I1  The task is queued once for all the wakes between two steps, and a step that begins after a
 *     wake sees what was written before it.                              (explored, with mutants)
 * I2  After a wish there is a step that has seen it before the task stays PARKED, or ends.
 *                                                                        (explored, with mutants)
 *
 * Memory order: a wake's change, the step's exchange and its parking are acquire-release. A step
 * that finds RUNNING answers no wake, so it has nothing to acquire; and it cannot overlook one that
 * it was queued for: who is queued again comes out of the queue after the word was changed. A wake
 * compares before it writes, because it must not take away that another one was a call.
 *
 * Costs: with one worker a load and a store per change. Else one locked instruction each, and none
 * for the first step.
 *
 * Rejected: to begin as NOTIFIED (the first step would exchange, for nobody's sake: half of all
 * tasks have one step). */

#include <stdbool.h>

#include "base/atomic.h"
#include "base/compiler.h"

enum rti_async_word {
    RTI_ASYNC_NOTIFIED,
    RTI_ASYNC_RUNNING,
    RTI_ASYNC_PARKED,
    RTI_ASYNC_CALLED,
};

/* What was asked of a task from outside; it never goes back but with the slot. */
enum rti_async_wish {
    RTI_ASYNC_GO_ON,
    RTI_ASYNC_STOP, /* rt_async_cancel: its context is cancelled */
    RTI_ASYNC_END,  /* it ends at its next step, without a call */
};

/* Begins a step, and gives what the word was. `is_shared`, here and below: there are several
 * workers. */
static RTI_ALWAYSINLINE uint8_t rti_async_word_to_running(rti_atomic_u8 *word, bool is_shared)
{
    uint8_t before = rti_u8_load_relaxed(word);
    if (RTI_LIKELY(!is_shared)) {
        rti_u8_store_relaxed(word, RTI_ASYNC_RUNNING);
        return before;
    }
    if (before != RTI_ASYNC_RUNNING) {
        /* Acquire-release: a wake and the step that answers it pair, whoever comes first. */
        before = rti_u8_exchange_acqrel(word, RTI_ASYNC_RUNNING);
    }
    return before;
}

/* The same; `*seen` becomes what is wished for, by all those at least whose wakes the step answers.
 */
static RTI_ALWAYSINLINE uint8_t rti_async_word_begin(rti_atomic_u8 *word, const rti_atomic_u8 *wish,
                                                     uint8_t *seen, bool is_shared)
{
    uint8_t before = rti_async_word_to_running(word, is_shared);
    /* After the word, whose acquire pairs with the release in rti_async_word_wish. A wish that is
     * not seen here finds the word RUNNING, and the end of the step finds that. */
    *seen = rti_u8_load_relaxed(wish);
    return before;
}

/* Makes the word `to`, NOTIFIED or CALLED, unless it is CALLED already, and gives what it was. */
static RTI_ALWAYSINLINE uint8_t rti_async_word_to_notified(rti_atomic_u8 *word,
                                                           enum rti_async_word to, bool is_shared)
{
    uint8_t before = rti_u8_load_relaxed(word);
    if (RTI_LIKELY(!is_shared)) {
        rti_u8_store_relaxed(word, before == RTI_ASYNC_CALLED ? before : (uint8_t)to);
        return before;
    }
    /* Acquire-release: as in rti_async_word_to_running. */
    while (!rti_u8_cas_acqrel(word, &before, before == RTI_ASYNC_CALLED ? before : (uint8_t)to)) {
    }
    return before;
}

/* Wishes `what` and makes the word NOTIFIED, in the same way. One at a time. */
static RTI_ALWAYSINLINE uint8_t rti_async_word_wish(rti_atomic_u8 *word, rti_atomic_u8 *wish,
                                                    enum rti_async_wish what, bool is_shared)
{
    rti_u8_store_relaxed(wish, (uint8_t)what);
    return rti_async_word_to_notified(word, RTI_ASYNC_NOTIFIED, is_shared);
}

/* Ends a step that has to wait. False: somebody has asked meanwhile, and the caller queues it. */
static RTI_ALWAYSINLINE bool rti_async_word_to_parked(rti_atomic_u8 *word, bool is_shared)
{
    uint8_t running = RTI_ASYNC_RUNNING;
    if (RTI_LIKELY(!is_shared)) {
        bool was_quiet = rti_u8_load_relaxed(word) == running;
        if (was_quiet) {
            rti_u8_store_relaxed(word, RTI_ASYNC_PARKED);
        }
        return was_quiet;
    }
    /* Acquire-release: pairs with the wake that finds it PARKED. */
    return rti_u8_cas_acqrel(word, &running, RTI_ASYNC_PARKED);
}

#endif
