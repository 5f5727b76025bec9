/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting and waking: never early, never lost, never for nothing. */
#define _GNU_SOURCE
#define RTI_MODULE "port_linux_test"
#include "support/port_fixture.h"

#include <signal.h>
#include <sys/time.h>

TEST(port_clock_never_goes_back)
{
    fixture_open(NULL);
    uint64_t last = port->ops->clock_ns(port);
    CHECK(last > 0);
    for (int i = 0; i < 1000; i++) {
        uint64_t now = port->ops->clock_ns(port);
        CHECK(now >= last);
        last = now;
    }
    fixture_close();
}

TEST(port_random_does_not_repeat)
{
    uint64_t seen[16];
    fixture_open(NULL);
    for (size_t i = 0; i < 16; i++) {
        seen[i] = port->ops->random(port);
        for (size_t k = 0; k < i; k++) {
            CHECK(seen[i] != seen[k]);
        }
    }
    fixture_close();
}

TEST(port_wait_with_a_passed_deadline_does_not_block)
{
    fixture_open(NULL);
    CHECK_EQ(port->ops->wait(port, 0), RTI_WAIT_DEADLINE);
    CHECK_EQ(port->ops->wait(port, port->ops->clock_ns(port)), RTI_WAIT_DEADLINE);
    CHECK_EQ(fixture.poller.blocks, 0);
    fixture_close();
}

static void wait_is_never_early(const struct rti_port_linux_config *config)
{
    fixture_open(config);
    for (uint64_t ns = 1; ns < 4000000; ns = ns * 2 + 1) {
        uint64_t deadline = port->ops->clock_ns(port) + ns;
        CHECK_EQ(port->ops->wait(port, deadline), RTI_WAIT_DEADLINE);
        CHECK(port->ops->clock_ns(port) >= deadline);
    }
    fixture_close();
}

TEST(port_wait_for_a_deadline_is_never_early)
{
    wait_is_never_early(NULL);
}

TEST(port_wait_for_a_deadline_is_never_early_on_an_older_kernel)
{
    wait_is_never_early(&(struct rti_port_linux_config){.is_coarse = true});
}

TEST(port_wake_before_wait_ends_it)
{
    fixture_open(NULL);
    port->ops->wake(port);
    CHECK_EQ(port->ops->wait(port, RTI_TIME_NEVER), RTI_WAIT_WOKEN);
    CHECK_EQ(port->ops->wait(port, 0), RTI_WAIT_DEADLINE);
    fixture_close();
}

TEST(port_wakes_coalesce_and_cost_no_system_call_while_it_is_awake)
{
    fixture_open(NULL);
    for (int i = 0; i < 1000; i++) {
        port->ops->wake(port);
    }
    CHECK_EQ(port->ops->wait(port, RTI_TIME_NEVER), RTI_WAIT_WOKEN);
    CHECK_EQ(port->ops->wait(port, 0), RTI_WAIT_DEADLINE);
    CHECK_EQ(rti_u64_load_relaxed(&fixture.poller.bells), 0);
    CHECK_EQ(fixture.poller.blocks, 0);
    fixture_close();
}

TEST(port_wake_raises_attention_and_so_does_an_op_decided_at_once)
{
    struct probe probe;
    fixture_open(NULL);
    port->ops->wake(port);
    CHECK_EQ(rti_u32_load_relaxed(&port->attention), 1);
    rti_u32_store_relaxed(&port->attention, 0);
    probe_submit(&probe, RTI_OP_NOP, -1, NULL, 0);
    CHECK_EQ(rti_u32_load_relaxed(&port->attention), 1);
    fixture_wait_for(&probe, 1);
    fixture_close();
}

/* Counts to the end and wakes at each step; the waiter must see the last step in any case. */
static rti_atomic_u32 steps;
static rti_atomic_u32 acknowledged;
static const uint32_t steps_max = RTI_TSAN ? 20000 : 100000;
static const uint32_t rounds_max = RTI_TSAN ? 1000 : 5000;

static void wake_at_each_step(void *arg)
{
    (void)arg;
    for (uint32_t i = 1; i <= steps_max; i++) {
        rti_u32_store_release(&steps, i);
        port->ops->wake(port);
    }
}

TEST(port_wakes_from_another_thread_are_not_lost)
{
    struct rti_port_thread thread;
    uint32_t seen = 0;
    fixture_open(NULL);
    CHECK_OK(port->ops->thread_start(port, &thread, wake_at_each_step, NULL));
    while (seen < steps_max) {
        CHECK_EQ(port->ops->wait(port, RTI_TIME_NEVER), RTI_WAIT_WOKEN);
        uint32_t now = rti_u32_load_acquire(&steps);
        CHECK(now >= seen);
        seen = now;
    }
    port->ops->thread_join(port, &thread);
    fixture_close();
}

/* One wake, and no other before it is answered: each is the only hope of its wait. */
static void wake_and_await_answer(void *arg)
{
    (void)arg;
    for (uint32_t i = 1; i <= rounds_max; i++) {
        uint32_t seen;
        rti_u32_store_release(&steps, i);
        port->ops->wake(port);
        while ((seen = rti_u32_load_acquire(&acknowledged)) != i) {
            port->ops->futex_wait(port, &acknowledged, seen, RTI_TIME_NEVER);
        }
    }
}

TEST(port_each_single_wake_ends_a_wait)
{
    struct rti_port_thread thread;
    fixture_open(NULL);
    CHECK_OK(port->ops->thread_start(port, &thread, wake_and_await_answer, NULL));
    for (uint32_t i = 1; i <= rounds_max; i++) {
        while (rti_u32_load_acquire(&steps) != i) {
            port->ops->wait(port, RTI_TIME_NEVER);
        }
        rti_u32_store_release(&acknowledged, i);
        port->ops->futex_wake(port, &acknowledged, 1);
    }
    port->ops->thread_join(port, &thread);
    fixture_close();
}

static void wake_who_has_slept_for_a_while(void *arg)
{
    (void)arg;
    while (rti_u32_load_relaxed(&fixture.poller.wake.word) != RTI_WAKE_ASLEEP) {
        usleep(100);
    }
    usleep(30000);
    port->ops->wake(port);
}

TEST(port_wait_without_anything_to_do_blocks_once_and_wakes_for_nothing)
{
    struct rti_port_thread thread;
    int fds[2];
    char byte;
    struct probe probe;
    fixture_open(NULL);
    socket_pair(fds);
    probe_submit(&probe, RTI_OP_READ, fds[0], &byte, 1);
    CHECK_OK(port->ops->thread_start(port, &thread, wake_who_has_slept_for_a_while, NULL));
    CHECK_EQ(port->ops->wait(port, RTI_TIME_NEVER), RTI_WAIT_WOKEN);
    CHECK_EQ(fixture.poller.blocks, 1);
    CHECK(fixture.poller.events <= 1);
    port->ops->thread_join(port, &thread);
    fixture_close();
}

static volatile sig_atomic_t signals_seen;
static bool signal_wakes;

static void on_signal(int number)
{
    (void)number;
    int saved = errno;
    errno = 4711;
    signals_seen++;
    if (signal_wakes) {
        port->ops->wake(port);
    }
    CHECK_EQ(errno, 4711);
    errno = saved;
}

/* A signal every millisecond, without SA_RESTART. */
static void signals_start(bool is_waking)
{
    struct sigaction action = {.sa_handler = on_signal};
    struct itimerval every = {.it_interval = {0, 1000}, .it_value = {0, 1000}};
    signal_wakes = is_waking;
    CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
    CHECK_EQ(setitimer(ITIMER_REAL, &every, NULL), 0);
}

TEST(port_wait_goes_on_after_a_signal)
{
    fixture_open(NULL);
    signals_start(false);
    uint64_t deadline = port->ops->clock_ns(port) + 20000000;
    CHECK_EQ(port->ops->wait(port, deadline), RTI_WAIT_DEADLINE);
    CHECK(port->ops->clock_ns(port) >= deadline);
    while (signals_seen == 0) {
        deadline = port->ops->clock_ns(port) + 1000000;
        CHECK_EQ(port->ops->wait(port, deadline), RTI_WAIT_DEADLINE);
    }
    fixture_close();
}

TEST(port_wake_from_a_signal_handler_ends_the_wait)
{
    fixture_open(NULL);
    signals_start(true);
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(port->ops->wait(port, RTI_TIME_NEVER), RTI_WAIT_WOKEN);
    }
    CHECK(signals_seen > 0);
    signal(SIGALRM, SIG_IGN);
    fixture_close();
}

TEST(port_two_ports_live_side_by_side)
{
    static struct rti_port_linux other;
    struct probe probe;
    fixture_open(NULL);
    CHECK_OK(rti_port_linux_init(&other, NULL));
    probe_submit(&probe, RTI_OP_NOP, -1, NULL, 0);
    CHECK_EQ(other.port.ops->wait(&other.port, 0), RTI_WAIT_DEADLINE);
    CHECK_EQ(probe.answers, 0);
    other.port.ops->wake(&other.port);
    fixture_wait_for(&probe, 1);
    CHECK_EQ(port->ops->wait(port, 0), RTI_WAIT_DEADLINE);
    CHECK_EQ(other.port.ops->wait(&other.port, RTI_TIME_NEVER), RTI_WAIT_WOKEN);
    rti_port_linux_deinit(&other);
    fixture_close();
}

TEST(port_unknown_op_is_unsupported)
{
    struct probe probe;
    fixture_open(NULL);
    probe_init(&probe, RTI_OP_NOP, -1, NULL, 0);
    probe.op.code = RTI_OP_CODE_COUNT;
    port->ops->submit(port, &probe.op);
    fixture_wait_for(&probe, 1);
    CHECK_ANSWER(&probe, RT_ERR_UNSUPPORTED, 0);
    CHECK(port->ops->attempt(port, &probe.op));
    CHECK_EQ(probe.op.status, RT_ERR_UNSUPPORTED);
    fixture_close();
}

TEST(port_config_with_half_a_table_is_refused)
{
    static struct rti_fd table[1];
    struct rti_port_linux_config config = {.fds = table};
    CHECK_STATUS(rti_port_linux_init(&fixture, &config), RT_ERR_INVALID);
    config = (struct rti_port_linux_config){.fds_count = 1};
    CHECK_STATUS(rti_port_linux_init(&fixture, &config), RT_ERR_INVALID);
}

TEST(wake_word_calls_ring_the_bell_only_for_a_sleeper)
{
    struct rti_wake_word wake;
    rti_wake_word_init(&wake);
    CHECK(!rti_wake_word_call(&wake));
    CHECK(!rti_wake_word_call(&wake));
    CHECK(!rti_wake_word_announce(&wake));
    CHECK(rti_wake_word_answer(&wake));
    CHECK(!rti_wake_word_answer(&wake));
    CHECK(rti_wake_word_announce(&wake));
    CHECK(rti_wake_word_call(&wake));
    CHECK(!rti_wake_word_call(&wake));
    CHECK(rti_wake_word_answer(&wake));
    CHECK(rti_wake_word_announce(&wake));
    CHECK(!rti_wake_word_answer(&wake));
}
