/* SPDX-License-Identifier: Apache-2.0 */
/* The wheel without slots. What fires when is tried by wheel_test.c, on the board that is built
 * without them; here is what only this one has: its audit. */
#define RTI_MODULE "wheel_heap_test"
#include "support/test.h"
#include "time/wheel.h"

#if RT_WHEEL_DIGIT_BITS == 0

static struct rti_wheel wheel;

static void ignore(struct rti_timer *timer)
{
    (void)timer;
}

static void audit_of_a_broken_wheel(void *arg)
{
    static struct rti_timer timers[3];
    rti_wheel_init(&wheel, 0);
    for (unsigned i = 0; i < 3; i++) {
        rti_timer_init(&timers[i], ignore);
        rti_wheel_arm(&wheel, &timers[i], i * RTI_NS_PER_MS);
    }
    CHECK_EQ(rti_wheel_audit(&wheel), 3);
    if (*(const int *)arg == 1) {
        wheel.fresh = &timers[1];
    } else {
        wheel.count++;
    }
    rti_wheel_audit(&wheel);
}

TEST(wheel_without_slots_audit_sees_each_broken_invariant)
{
    for (int invariant = 1; invariant <= 2; invariant++) {
        CHECK_PANICS("wheel", audit_of_a_broken_wheel, &invariant);
    }
}

#else

TEST(wheel_without_slots_audit_sees_each_broken_invariant)
{
    test_skip("this build has the wheel with slots");
}

#endif
