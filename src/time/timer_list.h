/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_TIMER_LIST_H
#define RTI_TIMER_LIST_H

/* What the wheel does with a whole list of timers, which is linked through `next` and ends with
 * NULL. `back` is neither read nor written here. */

#include "base/time.h"
#include "time/timer.h"

/* Sorts by (deadline, seq) and returns the new first. O(n log n), in place, without recursion. */
struct rti_timer *rti_timers_sort(struct rti_timer *list);

/* The least deadline, or RTI_TIME_NEVER for the empty list. */
uint64_t rti_timers_least(const struct rti_timer *list);

/* Whether there are no more than `max`; looks no further. */
bool rti_timers_are_at_most(const struct rti_timer *list, uint32_t max);

#endif
