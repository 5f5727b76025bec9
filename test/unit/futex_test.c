/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#define RTI_MODULE "futex_test"
#include "support/port_fixture.h"

#define ROUNDS 2000U

static rti_atomic_u32 ball;

/* Returns the ball: each odd value becomes the next even one. */
static void return_the_ball(void *arg)
{
    (void)arg;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t seen;
        while ((seen = rti_u32_load_acquire(&ball)) != 2 * i + 1) {
            port->ops->futex_wait(port, &ball, seen, RTI_TIME_NEVER);
        }
        rti_u32_store_release(&ball, 2 * i + 2);
        port->ops->futex_wake(port, &ball, 1);
    }
}

TEST(futex_two_threads_pass_a_word_to_and_fro)
{
    struct rti_port_thread thread;
    fixture_open(NULL);
    rti_u32_init(&ball, 0);
    CHECK_OK(port->ops->thread_start(port, &thread, return_the_ball, NULL));
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t seen;
        rti_u32_store_release(&ball, 2 * i + 1);
        port->ops->futex_wake(port, &ball, 1);
        while ((seen = rti_u32_load_acquire(&ball)) != 2 * i + 2) {
            port->ops->futex_wait(port, &ball, seen, RTI_TIME_NEVER);
        }
    }
    port->ops->thread_join(port, &thread);
    fixture_close();
}

TEST(futex_wait_for_another_value_returns_at_once)
{
    rti_atomic_u32 word;
    fixture_open(NULL);
    rti_u32_init(&word, 1);
    CHECK(port->ops->futex_wait(port, &word, 2, RTI_TIME_NEVER));
    fixture_close();
}

TEST(futex_deadline_is_never_early_and_says_so)
{
    rti_atomic_u32 word;
    fixture_open(NULL);
    rti_u32_init(&word, 1);
    for (uint64_t ns = 1; ns < 4000000; ns = ns * 3 + 1) {
        uint64_t deadline = port->ops->clock_ns(port) + ns;
        while (port->ops->futex_wait(port, &word, 1, deadline)) {
        }
        CHECK(port->ops->clock_ns(port) >= deadline);
    }
    /* Passed already: no wait at all. */
    CHECK(!port->ops->futex_wait(port, &word, 1, 0));
    fixture_close();
}

TEST(futex_wake_without_a_waiter_does_nothing)
{
    rti_atomic_u32 word;
    fixture_open(NULL);
    rti_u32_init(&word, 1);
    port->ops->futex_wake(port, &word, 1);
    port->ops->futex_wake(port, &word, UINT32_MAX);
    CHECK(!port->ops->futex_wait(port, &word, 1, 0));
    fixture_close();
}
