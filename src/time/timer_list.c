/* SPDX-License-Identifier: Apache-2.0 */
/* The sort is a merge sort whose bins are filled and emptied like the digits of a binary counter:
 * bin i holds a sorted list of 2^i timers or none, and the last bin all that is above. It moves no
 * memory, needs no array as long as the list, and keeps to what was touched last. */
#define RTI_MODULE "timer_list"
#include "time/timer_list.h"

#define SORT_BINS 24u

/* One ascending list of two, linked through `next` alone. Which head is next is as good as random,
 * so the choice is written without a branch to mispredict. */
static struct rti_timer *timers_merge(struct rti_timer *a, struct rti_timer *b)
{
    struct rti_timer *merged = NULL;
    struct rti_timer **tail = &merged;
    while (a != NULL && b != NULL) {
        bool is_b = rti_timer_precedes(b, a);
        struct rti_timer *first = is_b ? b : a;
        b = is_b ? a : b;
        *tail = first;
        tail = &first->next;
        a = first->next;
    }
    *tail = a != NULL ? a : b;
    return merged;
}

struct rti_timer *rti_timers_sort(struct rti_timer *list)
{
    struct rti_timer *bins[SORT_BINS];
    uint32_t used = 0;
    while (list != NULL) {
        struct rti_timer *sorted = list;
        list = list->next;
        sorted->next = NULL;
        uint32_t i = 0;
        while (i < used && bins[i] != NULL) {
            sorted = timers_merge(bins[i], sorted);
            bins[i++] = NULL;
        }
        i = i < SORT_BINS ? i : SORT_BINS - 1;
        bins[i] = sorted;
        used = i < used ? used : i + 1;
    }
    struct rti_timer *all = NULL;
    for (uint32_t i = 0; i < used; i++) {
        all = bins[i] == NULL ? all : timers_merge(bins[i], all);
    }
    return all;
}

uint64_t rti_timers_least(const struct rti_timer *list)
{
    uint64_t least = RTI_TIME_NEVER;
    for (; list != NULL; list = list->next) {
        least = list->deadline_ns < least ? list->deadline_ns : least;
    }
    return least;
}

bool rti_timers_are_at_most(const struct rti_timer *list, uint32_t max)
{
    uint32_t count = 0;
    while (list != NULL && count < max) {
        list = list->next;
        count++;
    }
    return list == NULL;
}
