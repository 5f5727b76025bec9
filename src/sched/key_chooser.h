/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_KEY_CHOOSER_H
#define RTI_KEY_CHOOSER_H

/* The key policy: what is ready runs in the order of the key
 *
 *     (lane priority, logical deadline, task id, insertion sequence)
 *
 * as the kernel's specification has it, instead of first come, first served. It is a chooser, and
 * so a policy of the fixed engine and of the simulator alike: give it to rti_sched_observe.
 *
 * The lane priority is the level, which the processor has picked already. The logical deadline is
 * that of a fiber's context, its budget's; what has none comes last. The id is the
 * runnable's, given by its maker. The queue of a level is in the order of insertion, so the
 * sequence number is the place in it, and of equals the first wins.
 *
 * Nothing here has a state: the same queue gives the same choice in every run.
 *
 * Costs: a walk through the level for each choice. Levels are short where deadlines matter; a heap
 * would make the plain policy, which has no use for it, pay for the links.
 *
 * A runnable without a deadline waits as long as there are others with one: that is what the key
 * says. Who needs fairness takes turns (no chooser) or gives deadlines. */

#include "sched/fiber.h"

struct rti_key_chooser {
    struct rti_chooser chooser;
};

void rti_key_chooser_init(struct rti_key_chooser *key);

/* Only fibers have contexts with a budget of their own. */
static inline uint64_t rti_key_deadline(const struct rti_runnable *runnable)
{
    return runnable->is_fiber
               ? rti_fiber_deadline(RTI_CONTAINER_OF(runnable, const struct rti_fiber, run))
               : RTI_TIME_NEVER;
}

/* Does `a` come before `b` of the same level? Equals do not. */
static inline bool rti_key_precedes(const struct rti_runnable *a, const struct rti_runnable *b)
{
    uint64_t a_ns = rti_key_deadline(a);
    uint64_t b_ns = rti_key_deadline(b);
    if (a_ns != b_ns) {
        return a_ns < b_ns;
    }
    return a->id < b->id;
}

#endif
