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
 * I1  A record runs at most once, and never after it was taken out.    (rti_cleanup_run_all) */

#include "base/list.h"

struct rti_cleanup {
    struct rti_link link; /* in the holder's stack, or in none */
    void (*run)(struct rti_cleanup *cleanup);
};

static inline void rti_cleanup_init(struct rti_cleanup *cleanup,
                                    void (*run)(struct rti_cleanup *cleanup))
{
    RT_DCHECK(run != NULL);
    rti_link_init(&cleanup->link);
    cleanup->run = run;
}

static inline void rti_cleanup_push(struct rti_list *stack, struct rti_cleanup *cleanup)
{
    rti_list_push_head(stack, &cleanup->link);
}

/* Takes a record out; does nothing if it is in no stack. */
static inline void rti_cleanup_remove(struct rti_cleanup *cleanup)
{
    if (rti_link_is_linked(&cleanup->link)) {
        rti_list_remove(&cleanup->link);
    }
}

/* Runs what is there, the latest first, until the stack is empty. Most have nothing there. */
static RTI_ALWAYSINLINE void rti_cleanup_run_all(struct rti_list *stack)
{
    while (RTI_UNLIKELY(!rti_list_is_empty(stack))) {
        struct rti_link *link = rti_list_pop(stack);
        struct rti_cleanup *cleanup = RTI_CONTAINER_OF(link, struct rti_cleanup, link);
        cleanup->run(cleanup);
    }
}

#endif
