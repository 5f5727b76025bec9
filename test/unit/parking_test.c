/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "parking_test"
#include "sched/parking.h"

#include "sched/fiber.h"
#include "support/fibers.h"
#include "support/test.h"

static struct fibers fibers;

static rt_status add_and_yield(void *a, void *b, uintptr_t c)
{
    int *sum = a;
    *sum += *(const int *)b + (int)c;
    rti_fiber_yield(rti_worker_current());
    return (rt_status){RT_ERR_LIMIT, "both words"};
}

/* A caller with values in registers that the call must keep, as a public function calls it. */
static RTI_NOINLINE rt_status call_as_public_function(int *sum, int by)
{
    return rti_call_parking(sum, &by, 1000, add_and_yield);
}

static void call_many_times(void *arg)
{
    int sum = 0;
    double kept = 1.5;
    int *calls = arg;
    for (int i = 0; i < 100; i++) {
        rt_status status = call_as_public_function(&sum, i);
        CHECK_STATUS(status, RT_ERR_LIMIT);
        CHECK_STR(status.msg, "both words");
        kept += 1.0;
        (*calls)++;
    }
    CHECK_EQ(sum, 100 * 1000 + 99 * 100 / 2);
    CHECK(kept > 101.4 && kept < 101.6);
}

TEST(parking_call_passes_arguments_and_both_words_of_the_result)
{
    int calls = 0;
    fibers_init(&fibers);
    fibers_unobserved(&fibers);
    for (int i = 0; i < 3; i++) {
        fibers_go(&fibers, 2, call_many_times, &calls);
    }
    CHECK_OK(fibers_run(&fibers));
    CHECK_EQ(calls, 300);
}
