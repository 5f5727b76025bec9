/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_CHOOSER_H
#define RTI_CHOOSER_H

/* The simulator's chooser: any of the most urgent ready runnables, drawn from a seed.
 *
 * Programs may not rely on the order among equals; drawing it makes those that do fail, and one
 * seed makes them fail again. Its generator is its own: what the program draws does not shift what
 * the scheduler draws. */

#include "base/rng.h"
#include "sched/processor.h"

struct rti_seeded_chooser {
    struct rti_chooser chooser;
    struct rti_rng rng;
};

void rti_seeded_chooser_init(struct rti_seeded_chooser *seeded, uint64_t seed);

#endif
