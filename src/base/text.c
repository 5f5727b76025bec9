/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "text"
#include "base/text.h"

#include "base/assert.h"

/* Bounds of one piece of code, each relative to where the number itself lies. */
struct text_row {
    int32_t begin;
    int32_t end;
};

/* Made by the linker, because the section's name is a name of C; absent if nobody has a row. */
extern const struct text_row __start_orrery_text[] __attribute__((weak, visibility("hidden")));
extern const struct text_row __stop_orrery_text[] __attribute__((weak, visibility("hidden")));

static uintptr_t text_address(const int32_t *number)
{
    return (uintptr_t)number + (uintptr_t)(intptr_t)*number;
}

bool rti_text_holds(uintptr_t address)
{
    if (__start_orrery_text == NULL) {
        return false;
    }
    for (const struct text_row *row = __start_orrery_text; row < __stop_orrery_text; row++) {
        RT_DCHECK(text_address(&row->begin) <= text_address(&row->end));
        if (address >= text_address(&row->begin) && address < text_address(&row->end)) {
            return true;
        }
    }
    return false;
}

void rti_text_bounds(uintptr_t *low, uintptr_t *high)
{
    *low = UINTPTR_MAX;
    *high = 0;
    for (const struct text_row *row = __start_orrery_text;
         __start_orrery_text != NULL && row < __stop_orrery_text; row++) {
        uintptr_t begin = text_address(&row->begin);
        uintptr_t end = text_address(&row->end);
        *low = begin < end && begin < *low ? begin : *low;
        *high = begin < end && end > *high ? end : *high;
    }
}

bool rti_text_is_known(void)
{
    return rti_text_holds((uintptr_t)rti_text_holds) && rti_text_holds((uintptr_t)rti_panic);
}
