/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_WHEEL_PLACE_H
#define RTI_WHEEL_PLACE_H

/* Where a timer lies in the wheel, and how it comes there and leaves: arm and disarm, inline.
 *
 * The mechanism and its invariants stand at the head of wheel.c. This part of it is apart for who
 * arms and disarms so often that the call would count: with 10^5 timers each look at one is a miss
 * of the cache, and how many of them the processor has under way at once depends on how few stores
 * are between two. What is saved and restored around a call are stores. */

#include "time/wheel.h"

#if RT_WHEEL_DIGIT_BITS > 0

#define WHEEL_DIGIT_BITS ((uint32_t)RT_WHEEL_DIGIT_BITS)
#define WHEEL_DIGIT_MASK (RTI_WHEEL_SLOTS - 1)
#define WHEEL_PART_BITS  (20u - WHEEL_DIGIT_BITS) /* a part of the millisecond is 2^12 ns */

/* What `place` of a timer says if it is not the number of a slot. */
enum {
    PLACE_DUE = RTI_WHEEL_PLACES,
    PLACE_FRESH,
    PLACE_SOON,
    PLACE_OVERFLOW,
};

_Static_assert(RTI_WHEEL_SLOTS == 1u << WHEEL_DIGIT_BITS, "a digit names a slot");
_Static_assert(RTI_WHEEL_WORDS <= 32, "the summary has a bit for each word");
_Static_assert((RTI_NS_PER_MS - 1) >> WHEEL_PART_BITS <= WHEEL_DIGIT_MASK,
               "a digit names a part of a millisecond");

/* Puts a timer where it belongs, if that is no slot, and takes it out of what is none. Apart, so
 * that the usual way has no call in it and saves no register. */
void rti_wheel_place_rare(struct rti_wheel *wheel, struct rti_timer *timer);
void rti_wheel_unplace_rare(struct rti_wheel *wheel, struct rti_timer *timer);

static inline uint64_t tick_of(uint64_t ns)
{
    uint64_t ms = ns / RTI_NS_PER_MS;
    return ms << WHEEL_DIGIT_BITS | (ns - ms * RTI_NS_PER_MS) >> WHEEL_PART_BITS;
}

/* Whether a timer of this tick, which is after the wheel's, has a slot: else it belongs to the
 * overflow heap. */
static inline bool wheel_reaches(const struct rti_wheel *wheel, uint64_t tick)
{
    return tick - wheel->tick < wheel->horizon_ticks &&
           (tick ^ wheel->tick) >> (RTI_WHEEL_LEVELS * WHEEL_DIGIT_BITS) == 0;
}

/* The slot of a tick that is after the wheel's and within its reach. */
static inline uint32_t wheel_slot_of(const struct rti_wheel *wheel, uint64_t tick)
{
    uint32_t bit = 63u - (uint32_t)__builtin_clzll(tick ^ wheel->tick);
    uint32_t level = bit / WHEEL_DIGIT_BITS;
    uint32_t digit = (uint32_t)(tick >> (level * WHEEL_DIGIT_BITS)) & WHEEL_DIGIT_MASK;
    return level * RTI_WHEEL_SLOTS + digit;
}

static inline void wheel_mark(struct rti_wheel *wheel, uint32_t slot)
{
    wheel->occupied[slot / 64] |= UINT64_C(1) << (slot % 64);
    wheel->summary |= UINT32_C(1) << (slot / 64);
}

static inline void wheel_unmark(struct rti_wheel *wheel, uint32_t slot)
{
    wheel->occupied[slot / 64] &= ~(UINT64_C(1) << (slot % 64));
    if (wheel->occupied[slot / 64] == 0) {
        wheel->summary &= ~(UINT32_C(1) << (slot / 64));
    }
}

static inline struct rti_timer *timer_after(const struct rti_timer *timer)
{
    return timer == NULL ? NULL : timer->next;
}

/* Notes in a timer that was put first into a list, before `second`, which one a walk should ask
 * for: the second from there, or the sixth if the timer has an aim. */
static inline void wheel_hint(struct rti_timer *timer, const struct rti_timer *second)
{
#if !RTI_ONE_WORKER
    struct rti_timer *ahead = timer_after(second);
    if (RTI_UNLIKELY(timer->aim != 0)) {
        ahead = timer_after(timer_after(timer_after(timer_after(ahead))));
    }
    timer->child = ahead;
#else
    (void)timer, (void)second;
#endif
}

/* Puts a timer that is in nothing into a slot. */
static inline void wheel_link(struct rti_wheel *wheel, struct rti_timer *timer, uint32_t slot)
{
    struct rti_timer **head = &wheel->slots[slot];
    struct rti_timer *second = *head;
    if (second == NULL) {
        wheel_mark(wheel, slot);
    }
    timer->place = (uint16_t)slot;
    rti_timer_link(head, timer);
    if (slot >= RTI_WHEEL_SLOTS) {
        wheel_hint(timer, second);
    }
}

/* Puts a timer that is in nothing where its deadline belongs. */
static inline void wheel_place(struct rti_wheel *wheel, struct rti_timer *timer)
{
    uint64_t tick = tick_of(timer->deadline_ns);
    if (RTI_LIKELY(tick > wheel->tick && wheel_reaches(wheel, tick))) {
        wheel_link(wheel, timer, wheel_slot_of(wheel, tick));
    } else {
        rti_wheel_place_rare(wheel, timer);
    }
}

/* Takes a timer out of where it is. */
static inline void wheel_unplace(struct rti_wheel *wheel, struct rti_timer *timer)
{
    uint32_t place = timer->place;
    if (RTI_LIKELY(place < RTI_WHEEL_PLACES)) {
        bool is_last = timer->next == NULL && timer->back == &wheel->slots[place];
        rti_timer_unlink(timer);
        if (is_last) {
            wheel_unmark(wheel, place);
        }
    } else {
        rti_wheel_unplace_rare(wheel, timer);
    }
}

/* Takes note that a timer with this deadline has left. An empty wheel returns to the clock. */
static inline void wheel_forget(struct rti_wheel *wheel, uint64_t deadline_ns)
{
    RT_ASSERT(wheel->count > 0);
    wheel->count--;
    if (wheel->count == 0) {
        wheel->next_ns = RTI_TIME_NEVER;
        wheel->tick = tick_of(wheel->now_ns);
    } else if (deadline_ns == wheel->next_ns) {
        wheel->next_ns = 0;
    }
}

/* rti_wheel_arm. */
static inline void rti_wheel_arm_here(struct rti_wheel *wheel, struct rti_timer *timer,
                                      uint64_t deadline_ns)
{
    RT_ASSERT(!rti_timer_is_armed(timer));
    timer->deadline_ns = deadline_ns;
    timer->seq = wheel->seq++;
    wheel->count++;
    if (deadline_ns < wheel->next_ns) {
        wheel->next_ns = deadline_ns;
    }
    if (RTI_UNLIKELY(deadline_ns < wheel->pass_end_ns)) {
        timer->place = PLACE_FRESH;
        rti_timer_link(&wheel->fresh, timer);
    } else {
        wheel_place(wheel, timer);
    }
}

/* rti_wheel_disarm. */
static inline bool rti_wheel_disarm_here(struct rti_wheel *wheel, struct rti_timer *timer)
{
    if (!rti_timer_is_armed(timer)) {
        return false;
    }
    wheel_unplace(wheel, timer);
    wheel_forget(wheel, timer->deadline_ns);
    return true;
}

#else

static inline void rti_wheel_arm_here(struct rti_wheel *wheel, struct rti_timer *timer,
                                      uint64_t deadline_ns)
{
    rti_wheel_arm(wheel, timer, deadline_ns);
}

static inline bool rti_wheel_disarm_here(struct rti_wheel *wheel, struct rti_timer *timer)
{
    return rti_wheel_disarm(wheel, timer);
}

#endif

#endif
