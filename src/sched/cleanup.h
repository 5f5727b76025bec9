/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_CLEANUP_H
#define RTI_CLEANUP_H

/* The cleanup stack: what its holder must give back, whichever way the holder ends.
 *
 * A record stands for one thing that is held, a send permit for example. Taking the thing pushes
 * the record, giving it back takes the record out, from wherever it lies. What is still there when
 * the holder ends is run, the latest first. Each fiber has a stack, run for every end there is: by
 * a fiber that exits or is killed, before it leaves its stack, where records may lie; by
 * rti_fiber_settle for one that has returned or overflowed. A poll context has one too.
 *
 * `run` never suspends and cannot be cancelled. The record is out of the stack by then and `run`
 * may free its memory. A record must not lie in a frame that can be left without giving the thing
 * back: keep it in a pool, or make leaving the frame a bug that is caught.
 *
 * I1  A record runs at most once, and never after it was taken out.    (rti_cleanup_run_all)
 * I2  What `at` of a record in a stack points to is the record.        (rti_cleanup_remove) */

#include <stdbool.h>

#include "base/assert.h"

struct rti_cleanup {
    struct rti_cleanup *next; /* the one before it, which runs after it */
    struct rti_cleanup **at;  /* what points to it; NULL: it is in no stack */
    void (*run)(struct rti_cleanup *cleanup);
};

/* The stack: one word, because each fiber has one, and most are empty. */
struct rti_cleanups {
    struct rti_cleanup *latest; /* NULL: there is nothing */
};

static inline void rti_cleanups_init(struct rti_cleanups *stack)
{
    stack->latest = NULL;
}

static RTI_ALWAYSINLINE bool rti_cleanups_are_none(const struct rti_cleanups *stack)
{
    return stack->latest == NULL;
}

static inline void rti_cleanup_init(struct rti_cleanup *cleanup,
                                    void (*run)(struct rti_cleanup *cleanup))
{
    RT_DCHECK(run != NULL);
    cleanup->at = NULL;
    cleanup->run = run;
}

/* Is it in a stack? */
static inline bool rti_cleanup_is_held(const struct rti_cleanup *cleanup)
{
    return cleanup->at != NULL;
}

static inline void rti_cleanup_push(struct rti_cleanups *stack, struct rti_cleanup *cleanup)
{
    RT_DCHECK(!rti_cleanup_is_held(cleanup));
    cleanup->next = stack->latest;
    cleanup->at = &stack->latest;
    if (cleanup->next != NULL) {
        cleanup->next->at = &cleanup->next;
    }
    stack->latest = cleanup;
}

/* Takes a record out; does nothing if it is in no stack. */
static inline void rti_cleanup_remove(struct rti_cleanup *cleanup)
{
    if (rti_cleanup_is_held(cleanup)) {
        RT_DCHECK(*cleanup->at == cleanup);
        *cleanup->at = cleanup->next;
        if (cleanup->next != NULL) {
            cleanup->next->at = cleanup->at;
        }
        cleanup->at = NULL;
    }
}

/* Runs what is there, the latest first, until the stack is empty. Most have nothing there. */
static RTI_ALWAYSINLINE void rti_cleanup_run_all(struct rti_cleanups *stack)
{
    while (RTI_UNLIKELY(!rti_cleanups_are_none(stack))) {
        struct rti_cleanup *cleanup = stack->latest;
        rti_cleanup_remove(cleanup);
        cleanup->run(cleanup);
    }
}

#endif
