/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_POSTED_H
#define RTI_POSTED_H

/* The flag of a hosted loop's one post (loop_runnable.h): up while the post is queued. Any thread
 * that has something for the loop asks, and queues the post if the flag was down. The worker takes
 * it down before it looks at what came, so that what comes later posts anew.
 *
 * I1  The post is queued at most once at a time, and none that is needed is left out.
 *                                                                          (machine_model.c) */

#include "base/atomic.h"

/* Any thread, after what it has for the loop is in its place. True: the caller queues the post. */
static inline bool rti_posted_ask(rti_atomic_u32 *is_posted)
{
    /* Pairs with the exchange in rti_posted_hear: one of the two sees the other. */
    return rti_u32_exchange_acqrel(is_posted, 1) == 0;
}

/* The worker, which has the post, before it looks. */
static inline void rti_posted_hear(rti_atomic_u32 *is_posted)
{
    /* Pairs with the exchange in rti_posted_ask. Not a store: it may stay in the store buffer
     * behind the look. */
    (void)rti_u32_exchange_acqrel(is_posted, 0);
}

#endif
