/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "key_chooser"
#include "sched/key_chooser.h"

static size_t key_choose(struct rti_chooser *chooser, const struct rti_runqueue *level,
                         size_t count)
{
    const struct rti_runnable *best = level->head;
    size_t best_place = 0;
    size_t place = 0;
    (void)chooser;
    RT_ASSERT(best != NULL && count > 0);
    for (const struct rti_runnable *at = best->next; at != NULL; at = at->next) {
        place++;
        if (rti_key_precedes(at, best)) {
            best = at;
            best_place = place;
        }
    }
    RT_DCHECK(place + 1 == count);
    return best_place;
}

void rti_key_chooser_init(struct rti_key_chooser *key)
{
    key->chooser.choose = key_choose;
}
