/* SPDX-License-Identifier: Apache-2.0 */
/* The timer wheel.
 *
 * Time is counted in ticks. A tick is a number of five digits to the base 256: the upper four count
 * milliseconds, the lowest names one of the 245 parts, 4096 ns each, of the millisecond. The wheel
 * stands at one tick and keeps the timers of later ticks in five levels of 256 slots, one level for
 * each digit. A timer lies on the level of the highest digit in which its tick differs from the
 * wheel's, in the slot which that digit names. From this follows all that is pleasant here: every
 * timer of a level is earlier than every timer of the next level, the slots of a level are in the
 * order of time and never wrap round, and so the lowest occupied slot of all 1280 is the next. Two
 * bit scans find it, over any gap.
 *
 * When the wheel moves to the first tick of a slot on a higher level, the slot's timers are placed
 * again and land lower (a cascade). When it moves to a slot of the lowest level, that list is
 * sorted by (deadline, seq) and becomes `due`. A millisecond of few timers is not divided but
 * sorted at once; the wheel then stands at its end. A timer armed when its tick has come, or has
 * gone by, goes to the heap `soon`; what fires next is the earlier of the two heads. A timer beyond
 * the horizon, or whose tick differs above the fifth digit, waits in the heap `overflow` and is
 * placed when the wheel has come near enough; it is later than everything in the slots.
 *
 * The deadline of the earliest timer is exact. It is remembered until that timer goes; then the
 * next slot is searched. If that slot holds more than WHEEL_FEW timers, the wheel moves on to it at
 * once, ahead of the clock, instead of reading it again at each question. It would cascade later
 * anyway, so this costs nothing more. Timers armed for the span skipped go to `soon`; the wheel is
 * back with the clock when it is empty or the clock has caught up.
 *
 * A list of timers that were armed long ago is slow to read: each address is known only when the
 * timer before has come from memory. So each timer in a slot above the lowest level notes, in its
 * unused `child`, which timer is some places further on; who walks the list asks for that one
 * early. The timer may have gone since. The hint is prefetched and never followed. It takes half
 * off the cost of firing 10^6. The farther it reaches the more an arm costs: one with an aim is
 * there to fire, and notes the sixth; any other is more often cancelled, and notes the second. A
 * slot of the lowest level was written a moment ago by a cascade, and needs none. When its timers
 * become `due`, what they will wake is asked for, too (time/timer.h).
 *
 * I1  A slot's bit is set iff the slot is not empty; a summary bit iff its word is not 0.
 * I2  A timer in a slot has a tick after the wheel's and is where wheel_slot_of puts it.
 * I3  `due` ascends strictly in (deadline, seq); `due` and `soon` hold no tick after the wheel's.
 * I4  What is in `overflow` is out of the wheel's reach.
 * I5  `fresh` is empty except during expire, and holds nothing later than the pass.
 * I6  `count` timers are armed, and `next_ns` is 0 or the least of their deadlines.
 *     (rti_wheel_audit checks them all.)
 *
 * Costs: arm is O(1). Disarm is O(1) in the slots and in `due`, amortized O(log n) in the heaps.
 * A timer's whole life costs at most six placements and its share of one sort, O(log n) in the
 * number that share its 4096 ns. The wheel takes 10.4 kB with 64-bit pointers.
 *
 * Rejected: levels chosen by distance instead of digits (slots wrap round, levels overlap, and the
 * minimum over the levels must be compared); a heap alone (three times the price of disarm and arm
 * with 10^5 timers); sorting whole milliseconds (10^4 timers leave the cache between two passes
 * over them); logical cancel with dead entries (keeps memory and wakers, see docs/decisions/010);
 * doubly linked list heads (twice the memory, no use for a tail).
 *
 * All of this is told for digits of 8 bits. RT_WHEEL_DIGIT_BITS gives a small machine fewer: with 4
 * a level has 16 slots, a part of the millisecond is 2^16 ns, the wheel takes 0.5 kB and reaches 65
 * seconds; what is later waits in the heap. With 0 there are no slots at all: wheel_heap.c stands
 * in the place of this file. What fires when is the same. */
#define RTI_MODULE "wheel"
#include "time/wheel.h"

#if RT_WHEEL_DIGIT_BITS > 0

#include "time/timer_list.h"
#include "time/wheel_place.h"

/* Up to this many timers of a slot are searched or sorted as they are. */
#define WHEEL_FEW 16u

void rti_wheel_place_rare(struct rti_wheel *wheel, struct rti_timer *timer)
{
    bool is_soon = tick_of(timer->deadline_ns) <= wheel->tick;
    timer->place = is_soon ? PLACE_SOON : PLACE_OVERFLOW;
    rti_timer_heap_insert(is_soon ? &wheel->soon : &wheel->overflow, timer);
}

void rti_wheel_unplace_rare(struct rti_wheel *wheel, struct rti_timer *timer)
{
    if (timer->place == PLACE_SOON) {
        rti_timer_heap_remove(&wheel->soon, timer);
    } else if (timer->place == PLACE_OVERFLOW) {
        rti_timer_heap_remove(&wheel->overflow, timer);
    } else {
        RT_ASSERT(timer->place == PLACE_DUE || timer->place == PLACE_FRESH);
        rti_timer_unlink(timer);
    }
}

/* The first tick of a slot that holds a timer. */
static inline uint64_t wheel_slot_tick(const struct rti_wheel *wheel, uint32_t slot)
{
    uint32_t shift = slot / RTI_WHEEL_SLOTS * WHEEL_DIGIT_BITS;
    uint64_t above = wheel->tick >> (shift + WHEEL_DIGIT_BITS) << WHEEL_DIGIT_BITS;
    return (above | (slot & WHEEL_DIGIT_MASK)) << shift;
}

/* The occupied slot that comes next in time. There must be one. */
static inline uint32_t wheel_first_slot(const struct rti_wheel *wheel)
{
    RT_DCHECK(wheel->summary != 0);
    uint32_t word = (uint32_t)__builtin_ctz(wheel->summary);
    return word * 64 + (uint32_t)__builtin_ctzll(wheel->occupied[word]);
}

/* Makes a list, linked through `next`, the timers of the current tick. */
static void wheel_set_due(struct rti_wheel *wheel, struct rti_timer *list)
{
    RT_DCHECK(wheel->due == NULL);
    struct rti_timer **back = &wheel->due;
    wheel->due = rti_timers_sort(list);
    for (struct rti_timer *timer = wheel->due; timer != NULL; timer = timer->next) {
        timer->back = back;
        timer->place = PLACE_DUE;
        back = &timer->next;
        rti_timer_foresee(timer);
    }
}

/* Places the timers of a slot again, after the wheel has moved to its first tick. */
static void wheel_cascade(struct rti_wheel *wheel, struct rti_timer *list)
{
    struct rti_timer *due = NULL;
    while (list != NULL) {
        struct rti_timer *timer = list;
        list = timer->next;
        if (list != NULL) {
            RTI_PREFETCH_PAIR(list->child);
        }
        timer->back = NULL;
        if (tick_of(timer->deadline_ns) == wheel->tick) {
            timer->next = due;
            due = timer;
        } else {
            wheel_place(wheel, timer);
        }
    }
    wheel_set_due(wheel, due);
}

/* Moves the wheel to a later tick, before which no slot begins that holds a timer, and takes in
 * what the overflow heap has within reach of there. */
static void wheel_move(struct rti_wheel *wheel, uint64_t tick)
{
    RT_DCHECK(tick > wheel->tick);
    wheel->tick = tick;
    for (;;) {
        struct rti_timer *timer = wheel->overflow.root;
        if (timer == NULL) {
            return;
        }
        uint64_t first = tick_of(timer->deadline_ns);
        if (first > tick && !wheel_reaches(wheel, first)) {
            return;
        }
        rti_timer_heap_remove(&wheel->overflow, timer);
        wheel_place(wheel, timer);
    }
}

/* Moves the wheel to a slot that is the next to hold a timer, and empties it. */
static void wheel_enter(struct rti_wheel *wheel, uint32_t slot, uint64_t tick)
{
    struct rti_timer *list = wheel->slots[slot];
    bool is_last = slot < RTI_WHEEL_SLOTS;
    wheel->slots[slot] = NULL;
    wheel_unmark(wheel, slot);
    if (!is_last && slot < 2 * RTI_WHEEL_SLOTS && rti_timers_are_at_most(list, WHEEL_FEW)) {
        is_last = true;
        tick |= WHEEL_DIGIT_MASK;
    }
    wheel_move(wheel, tick);
    if (is_last) {
        wheel_set_due(wheel, list);
    } else {
        wheel_cascade(wheel, list);
    }
}

/* Moves the wheel to the next tick that has anything, if that is not after `limit`; false if there
 * is no such tick. Only when no timer of the current tick is left. */
static bool wheel_step(struct rti_wheel *wheel, uint64_t limit)
{
    RT_DCHECK(wheel->due == NULL && wheel->soon.root == NULL);
    if (wheel->summary != 0) {
        uint32_t slot = wheel_first_slot(wheel);
        uint64_t tick = wheel_slot_tick(wheel, slot);
        if (tick > limit) {
            return false;
        }
        wheel_enter(wheel, slot, tick);
        return true;
    }
    if (wheel->overflow.root != NULL) {
        uint64_t tick = tick_of(wheel->overflow.root->deadline_ns);
        if (tick > limit) {
            return false;
        }
        wheel_move(wheel, tick);
        return true;
    }
    return false;
}

/* The earliest timer of the current tick and before, or NULL. */
static inline struct rti_timer *wheel_first_due(const struct rti_wheel *wheel)
{
    struct rti_timer *timer = wheel->due;
    struct rti_timer *soon = wheel->soon.root;
    if (timer == NULL || (soon != NULL && rti_timer_precedes(soon, timer))) {
        return soon;
    }
    return timer;
}

static struct rti_timer *wheel_take(struct rti_wheel *wheel, uint64_t now_ns)
{
    uint64_t now_tick = tick_of(now_ns);
    struct rti_timer *timer = wheel_first_due(wheel);
    while (timer == NULL && wheel_step(wheel, now_tick)) {
        timer = wheel_first_due(wheel);
    }
    if (timer == NULL) {
        if (now_tick > wheel->tick) {
            wheel_move(wheel, now_tick);
        }
        return NULL;
    }
    if (timer->deadline_ns > now_ns) {
        return NULL;
    }
    wheel_unplace(wheel, timer);
    wheel_forget(wheel, timer->deadline_ns);
    return timer;
}

/* The least deadline outside `fresh`, or RTI_TIME_NEVER. */
static uint64_t wheel_least(struct rti_wheel *wheel)
{
    for (;;) {
        const struct rti_timer *timer = wheel_first_due(wheel);
        if (timer != NULL) {
            return timer->deadline_ns;
        }
        if (wheel->summary == 0) {
            timer = wheel->overflow.root;
            return timer == NULL ? RTI_TIME_NEVER : timer->deadline_ns;
        }
        const struct rti_timer *list = wheel->slots[wheel_first_slot(wheel)];
        if (rti_timers_are_at_most(list, WHEEL_FEW)) {
            return rti_timers_least(list);
        }
        bool is_moved = wheel_step(wheel, UINT64_MAX);
        RT_ASSERT(is_moved);
    }
}

static void wheel_set_now(struct rti_wheel *wheel, uint64_t now_ns)
{
    RT_ASSERT(now_ns != RTI_TIME_NEVER);
    RT_ASSERT(wheel->pass_end_ns == 0);
    if (now_ns > wheel->now_ns) {
        wheel->now_ns = now_ns;
    }
}

void rti_wheel_init(struct rti_wheel *wheel, uint64_t now_ns)
{
    RT_ASSERT(now_ns != RTI_TIME_NEVER);
    *wheel = (struct rti_wheel){
        .tick = tick_of(now_ns),
        .next_ns = RTI_TIME_NEVER,
        .now_ns = now_ns,
    };
    rti_wheel_set_horizon(wheel, RTI_WHEEL_HORIZON_NS);
}

void rti_wheel_set_horizon(struct rti_wheel *wheel, uint64_t horizon_ns)
{
    RT_ASSERT(wheel->count == 0);
    wheel->horizon_ticks = horizon_ns / RTI_NS_PER_MS << WHEEL_DIGIT_BITS;
}

void rti_wheel_arm(struct rti_wheel *wheel, struct rti_timer *timer, uint64_t deadline_ns)
{
    rti_wheel_arm_here(wheel, timer, deadline_ns);
}

bool rti_wheel_disarm(struct rti_wheel *wheel, struct rti_timer *timer)
{
    return rti_wheel_disarm_here(wheel, timer);
}

uint64_t rti_wheel_next_deadline(struct rti_wheel *wheel)
{
    if (wheel->next_ns == 0) {
        uint64_t fresh_ns = rti_timers_least(wheel->fresh);
        uint64_t least_ns = wheel_least(wheel);
        wheel->next_ns = fresh_ns < least_ns ? fresh_ns : least_ns;
    }
    return wheel->next_ns;
}

size_t rti_wheel_expire(struct rti_wheel *wheel, uint64_t now_ns)
{
    return rti_wheel_expire_max(wheel, now_ns, SIZE_MAX);
}

size_t rti_wheel_expire_max(struct rti_wheel *wheel, uint64_t now_ns, size_t max)
{
    wheel_set_now(wheel, now_ns);
    wheel->pass_end_ns = now_ns + 1;
    size_t fired = 0;
    while (fired < max) {
        struct rti_timer *timer = wheel_take(wheel, now_ns);
        if (timer == NULL) {
            break;
        }
        fired++;
        RTI_PROBE1(timer, timer->deadline_ns);
        timer->fire(timer);
    }
    wheel->pass_end_ns = 0;
    while (wheel->fresh != NULL) {
        struct rti_timer *timer = wheel->fresh;
        rti_timer_unlink(timer);
        wheel_place(wheel, timer);
    }
    return fired;
}

struct rti_timer *rti_wheel_take(struct rti_wheel *wheel, uint64_t now_ns)
{
    wheel_set_now(wheel, now_ns);
    return wheel_take(wheel, now_ns);
}

/* Checks a list of the wheel; returns the number of timers and lowers `*least` to their least
 * deadline. */
static size_t wheel_audit_list(const struct rti_wheel *wheel, struct rti_timer *const *head,
                               uint32_t place, uint64_t *least)
{
    size_t count = 0;
    for (const struct rti_timer *timer = *head; timer != NULL; timer = timer->next) {
        uint64_t tick = tick_of(timer->deadline_ns);
        RT_ASSERT(timer->back == head);
        RT_ASSERT(timer->place == place);
        if (place < RTI_WHEEL_PLACES) {
            RT_ASSERT(tick > wheel->tick && wheel_reaches(wheel, tick));
            RT_ASSERT(wheel_slot_of(wheel, tick) == place);
        } else if (place == PLACE_DUE) {
            RT_ASSERT(tick <= wheel->tick);
            RT_ASSERT(timer->next == NULL || rti_timer_precedes(timer, timer->next));
        } else {
            RT_ASSERT(timer->deadline_ns < wheel->pass_end_ns);
        }
        *least = timer->deadline_ns < *least ? timer->deadline_ns : *least;
        head = &timer->next;
        count++;
    }
    return count;
}

/* The same of a heap of the wheel. */
static size_t wheel_audit_heap(struct rti_timer_heap *heap, uint32_t place, uint64_t *least)
{
    const struct rti_timer *root = heap->root;
    if (root == NULL) {
        return 0;
    }
    RT_ASSERT(root->place == place);
    *least = root->deadline_ns < *least ? root->deadline_ns : *least;
    return rti_timer_heap_audit(heap);
}

size_t rti_wheel_audit(struct rti_wheel *wheel)
{
    size_t count = 0;
    uint64_t least = RTI_TIME_NEVER;
    for (uint32_t slot = 0; slot < RTI_WHEEL_PLACES; slot++) {
        bool is_marked = (wheel->occupied[slot / 64] >> (slot % 64) & 1) != 0;
        RT_ASSERT(is_marked == (wheel->slots[slot] != NULL));
        RT_ASSERT((wheel->summary >> (slot / 64) & 1) == (wheel->occupied[slot / 64] != 0));
        count += wheel_audit_list(wheel, &wheel->slots[slot], slot, &least);
    }
    count += wheel_audit_list(wheel, &wheel->due, PLACE_DUE, &least);
    count += wheel_audit_list(wheel, &wheel->fresh, PLACE_FRESH, &least);
    count += wheel_audit_heap(&wheel->soon, PLACE_SOON, &least);
    count += wheel_audit_heap(&wheel->overflow, PLACE_OVERFLOW, &least);
    const struct rti_timer *far = wheel->overflow.root;
    RT_ASSERT(far == NULL || tick_of(far->deadline_ns) > wheel->tick);
    RT_ASSERT(far == NULL || !wheel_reaches(wheel, tick_of(far->deadline_ns)));
    RT_ASSERT(count == wheel->count);
    RT_ASSERT(wheel->next_ns == least || (wheel->next_ns == 0 && count > 0));
    return count;
}

#endif
