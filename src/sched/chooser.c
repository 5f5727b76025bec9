/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "chooser"
#include "sched/chooser.h"

static size_t seeded_choose(struct rti_chooser *chooser, const struct rti_runqueue *level,
                            size_t count)
{
    struct rti_seeded_chooser *seeded =
        RTI_CONTAINER_OF(chooser, struct rti_seeded_chooser, chooser);
    RT_ASSERT(level->head != NULL && count > 0);
    return (size_t)rti_rng_below(&seeded->rng, count);
}

void rti_seeded_chooser_init(struct rti_seeded_chooser *seeded, uint64_t seed)
{
    seeded->chooser.choose = seeded_choose;
    rti_rng_init(&seeded->rng, seed);
}
