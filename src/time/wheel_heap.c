/* SPDX-License-Identifier: Apache-2.0 */
/* The wheel without slots (RT_WHEEL_DIGIT_BITS 0): one pairing heap in the order (deadline, seq).
 *
 * For a machine with a dozen timers the wheel's slots are memory and code that it never makes good:
 * half a kilobyte and two, against 40 bytes and a fifth. What fires when is the same, and so are
 * the tests; arm stays O(1), disarm and taking the earliest are O(log n) amortized.
 *
 * I1  `count` timers are armed.                                              (rti_wheel_audit)
 * I2  `fresh` is empty except during expire, and holds nothing later than the pass.  (audit) */
#define RTI_MODULE "wheel"
#include "time/wheel.h"

#if RT_WHEEL_DIGIT_BITS == 0

enum { PLACE_HEAP, PLACE_FRESH };

void rti_wheel_init(struct rti_wheel *wheel, uint64_t now_ns)
{
    RT_ASSERT(now_ns != RTI_TIME_NEVER);
    *wheel = (struct rti_wheel){.now_ns = now_ns};
}

void rti_wheel_set_horizon(struct rti_wheel *wheel, uint64_t horizon_ns)
{
    RT_ASSERT(wheel->count == 0);
    (void)horizon_ns;
}

void rti_wheel_arm(struct rti_wheel *wheel, struct rti_timer *timer, uint64_t deadline_ns)
{
    RT_ASSERT(!rti_timer_is_armed(timer));
    timer->deadline_ns = deadline_ns;
    timer->seq = wheel->seq++;
    wheel->count++;
    if (deadline_ns < wheel->pass_end_ns) {
        timer->place = PLACE_FRESH;
        rti_timer_link(&wheel->fresh, timer);
    } else {
        timer->place = PLACE_HEAP;
        rti_timer_heap_insert(&wheel->heap, timer);
    }
}

bool rti_wheel_disarm(struct rti_wheel *wheel, struct rti_timer *timer)
{
    if (!rti_timer_is_armed(timer)) {
        return false;
    }
    wheel->count--;
    if (timer->place == PLACE_FRESH) {
        rti_timer_unlink(timer);
    } else {
        rti_timer_heap_remove(&wheel->heap, timer);
    }
    return true;
}

uint64_t rti_wheel_next_deadline(struct rti_wheel *wheel)
{
    const struct rti_timer *earliest = wheel->heap.root;
    uint64_t deadline_ns = earliest == NULL ? RTI_TIME_NEVER : earliest->deadline_ns;
    for (const struct rti_timer *timer = wheel->fresh; timer != NULL; timer = timer->next) {
        deadline_ns = timer->deadline_ns < deadline_ns ? timer->deadline_ns : deadline_ns;
    }
    return deadline_ns;
}

static struct rti_timer *wheel_take(struct rti_wheel *wheel, uint64_t now_ns)
{
    struct rti_timer *timer = wheel->heap.root;
    if (timer == NULL || timer->deadline_ns > now_ns) {
        return NULL;
    }
    rti_timer_heap_remove(&wheel->heap, timer);
    wheel->count--;
    return timer;
}

static void wheel_set_now(struct rti_wheel *wheel, uint64_t now_ns)
{
    RT_ASSERT(now_ns != RTI_TIME_NEVER && wheel->pass_end_ns == 0);
    if (now_ns > wheel->now_ns) {
        wheel->now_ns = now_ns;
    }
}

struct rti_timer *rti_wheel_take(struct rti_wheel *wheel, uint64_t now_ns)
{
    wheel_set_now(wheel, now_ns);
    return wheel_take(wheel, now_ns);
}

size_t rti_wheel_expire_max(struct rti_wheel *wheel, uint64_t now_ns, size_t max)
{
    wheel_set_now(wheel, now_ns);
    wheel->pass_end_ns = now_ns + 1;
    size_t fired = 0;
    struct rti_timer *timer;
    while (fired < max && (timer = wheel_take(wheel, now_ns)) != NULL) {
        fired++;
        RTI_PROBE1(timer, timer->deadline_ns);
        timer->fire(timer);
    }
    wheel->pass_end_ns = 0;
    while ((timer = wheel->fresh) != NULL) {
        rti_timer_unlink(timer);
        timer->place = PLACE_HEAP;
        rti_timer_heap_insert(&wheel->heap, timer);
    }
    return fired;
}

size_t rti_wheel_expire(struct rti_wheel *wheel, uint64_t now_ns)
{
    return rti_wheel_expire_max(wheel, now_ns, SIZE_MAX);
}

size_t rti_wheel_audit(struct rti_wheel *wheel)
{
    size_t count = rti_timer_heap_audit(&wheel->heap);
    RT_ASSERT(wheel->heap.root == NULL || wheel->heap.root->place == PLACE_HEAP);
    for (const struct rti_timer *timer = wheel->fresh; timer != NULL; timer = timer->next) {
        RT_ASSERT(timer->place == PLACE_FRESH && timer->deadline_ns < wheel->pass_end_ns);
        count++;
    }
    RT_ASSERT(count == wheel->count);
    return count;
}

#endif
