/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "letterbox"
#include "actor/letterbox.h"

size_t rti_letterbox_audit(const struct rti_letterbox *box, uintptr_t origin)
{
    uint64_t word = rti_letterbox_look(box);
    size_t count = 0;
    RT_ASSERT(!rti_letterbox_is_idle(word) || (box->seen == RTI_LETTER_IDLE && box->first == NULL));
    uint32_t name = rti_letterbox_name(word);
    while (name != box->seen) {
        RT_ASSERT(name >= RTI_LETTER_FIRST);
        name = rti_letter_named(origin, name)->below;
        count++;
    }
    const struct rti_letter *last = NULL;
    for (const struct rti_letter *at = box->first; at != NULL; at = at->next) {
        last = at;
        count++;
    }
    RT_ASSERT(last == NULL || rti_letterbox_keeps(box, origin, last));
    return count;
}
