/* SPDX-License-Identifier: Apache-2.0 */
/* The integration fixtures of the kernel's specification, section 6.3, and tm-budget-001 of 6.2,
 * which needs a context. */
#define RTI_MODULE "kernel_fixtures_test"
#include <orrery/rt/channel.h>
#include <orrery/rt/region.h>

#include "support/kernel.h"

static rt_region region;
static rt_outcome outcome;

static void work_past_the_deadline(void *arg)
{
    (void)arg;
    rt_cx cx;
    CHECK_OK(rt_cx_init(&cx));
    CHECK_OK(rt_region_enter(&region, NULL));
    CHECK_OK(rt_checkpoint(NULL));
    int value = 0;
    CHECK_STATUS(rt_channel_recv(kernel.rx, NULL, &value), RT_ERR_BUDGET_EXHAUSTED);
    CHECK_EQ(kernel.fibers.port.now_ns, 5 * RT_NS_PER_MS);
    CHECK(rt_cx_is_cancelled(NULL));
    CHECK_STATUS(rt_checkpoint(NULL), RT_ERR_CANCELLED);
    outcome = rt_cx_outcome(NULL, RT_OK);
    CHECK_OK(rt_cx_deinit(&cx));
}

TEST(tm_budget_001_a_budget_deadline_cancels_and_the_outcome_is_cancelled)
{
    rt_budget budget = RT_BUDGET_UNLIMITED;
    kernel_start();
    kernel_channel(1);
    budget.deadline = 5 * RT_NS_PER_MS;
    CHECK_OK(rt_region_open(&region, NULL, &budget));
    kernel_go(work_past_the_deadline, NULL);
    kernel_run();
    CHECK_EQ(outcome, RT_OUTCOME_CANCELLED);
    CHECK_EQ(rt_region_outcome(&region), RT_OUTCOME_CANCELLED);
    CHECK_OK(rt_region_close(&region, NULL));
    kernel_stop();
}

static void hold_one_wait_for_another(void *arg)
{
    (void)arg;
    rt_cx cx;
    rt_budget_scope scope;
    rt_budget budget = RT_BUDGET_UNLIMITED;
    rt_send_permit first;
    rt_send_permit second;
    budget.deadline = RT_NS_PER_MS;
    CHECK_OK(rt_cx_init(&cx));
    CHECK_OK(rt_cx_push_budget(NULL, budget, &scope));
    CHECK_OK(rt_channel_reserve(kernel.tx, NULL, &first));
    CHECK_STATUS(rt_channel_reserve(kernel.tx, NULL, &second), RT_ERR_BUDGET_EXHAUSTED);
    CHECK_STATUS(rt_channel_send(kernel.tx, NULL, &(int){1}), RT_ERR_CANCELLED);
    CHECK_EQ(rt_cx_outcome(NULL, RT_OK), RT_OUTCOME_CANCELLED);
    CHECK_EQ(kernel_info().reserved, 1);
    CHECK_OK(rt_cx_pop_budget(NULL, &scope));
    CHECK_OK(rt_cx_deinit(&cx));
}

static void send_after_it(void *arg)
{
    (void)arg;
    CHECK_OK(rt_channel_send(kernel.tx, NULL, &(int){2}));
    kernel_say('s');
}

TEST(int_channel_cancel_001_a_timeout_cancels_the_sender_and_aborts_its_permit)
{
    int value = 0;
    kernel_start();
    kernel_channel(1);
    kernel_go(hold_one_wait_for_another, NULL);
    kernel_go(send_after_it, NULL);
    kernel_run();
    CHECK_STR(kernel.order, "s");
    CHECK_EQ(kernel_info().reserved, 0);
    CHECK_OK(rt_channel_try_recv(kernel.rx, &value));
    CHECK_EQ(value, 2);
    kernel_stop();
}

static int fired;

static void note_fired(void *arg)
{
    (void)arg;
    fired++;
}

static void live_for_a_while(void *arg)
{
    (void)arg;
    rt_cx cx;
    CHECK_OK(rt_cx_init(&cx));
    CHECK_OK(rt_region_enter(&region, NULL));
    rti_fiber_sleep_until(rti_worker_current(), 100);
    CHECK_OK(rt_cx_deinit(&cx));
}

static void close_with_timers(void *arg)
{
    (void)arg;
    CHECK_OK(rt_region_close(&region, NULL));
    CHECK_EQ(rt_region_get_state(&region), RT_REGION_CLOSED);
    /* No timer of the region is active. */
    CHECK_EQ(rti_wheel_count(&kernel.fibers.clockwork.wheel), 0);
}

TEST(int_timer_region_close_001_timers_fire_while_draining_and_are_cancelled_at_the_end)
{
    rt_region_timer timers[3];
    kernel_start();
    CHECK_OK(rt_region_open(&region, NULL, NULL));
    static const rt_time deadlines[] = {50, 5000, 6000};
    for (int i = 0; i < 3; i++) {
        CHECK_OK(rt_region_timer_start(&region, NULL, &timers[i], deadlines[i],
                                       (rt_waker){note_fired, NULL}));
    }
    kernel_go(live_for_a_while, NULL);
    kernel_go(close_with_timers, NULL);
    kernel_run();
    /* The one of 50 came while the region drained; the others never do. */
    CHECK_EQ(fired, 1);
    CHECK_EQ(kernel.fibers.port.now_ns, 100);
    CHECK(!rt_region_timer_cancel(&timers[1]));
    kernel_stop();
}

static int destroyed;

static void note_destroyed(void *value, void *arg)
{
    (void)arg;
    destroyed += *(int *)value;
}

TEST(int_channel_region_close_001_permits_are_aborted_and_the_queue_destroyed)
{
    struct poller holder;
    struct poller waiting;
    rt_send_permit permit;
    rt_send_permit wanted;
    int value = 40;
    kernel_start();
    CHECK_OK(rt_region_open(&region, NULL, NULL));
    rt_channel_config config = {
        .elem_size = 4, .capacity = 2, .destroy = note_destroyed, .region = &region};
    CHECK_OK(rt_channel_create(&config, &kernel.tx, &kernel.rx));
    poller_init(&holder);
    poller_init(&waiting);
    CHECK_OK(rt_channel_send(kernel.tx, NULL, &value));
    CHECK_OK(rt_channel_reserve(kernel.tx, &holder.cx, &permit));
    CHECK_STATUS(rt_channel_reserve(kernel.tx, &waiting.cx, &wanted), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_region_close(&region, NULL));
    CHECK_EQ(destroyed, 40);
    CHECK_STATUS(rt_send_permit_send(&permit, &value), RT_ERR_STATE);
    CHECK_EQ(waiting.woken, 1);
    CHECK_STATUS(rt_channel_try_send(kernel.tx, &value), RT_ERR_INVALID);
    CHECK_STATUS(rt_channel_try_recv(kernel.rx, &value), RT_ERR_INVALID);
    poller_deinit(&holder);
    poller_deinit(&waiting);
    CHECK_EQ(rti_channels_audit(&kernel.channels), 0);
    kernel_stop();
}

#define SENDERS 3
#define EACH    20

static void replay_send(void *arg)
{
    rt_send_permit permit;
    int base = *(int *)arg;
    for (int i = 0; i < EACH; i++) {
        int value = base + i;
        if (i % 5 == 3) {
            CHECK_OK(rt_channel_reserve(kernel.tx, NULL, &permit));
            kernel_yield();
            CHECK_OK(i % 10 == 3 ? rt_send_permit_send(&permit, &value)
                                 : rt_send_permit_abort(&permit));
        } else {
            CHECK_OK(rt_channel_send(kernel.tx, NULL, &value));
        }
    }
}

static void replay_recv(void *arg)
{
    uint64_t *sum = arg;
    int value = 0;
    for (int i = 0; i < SENDERS * (EACH - 2); i++) {
        CHECK_OK(rt_channel_recv(kernel.rx, NULL, &value));
        *sum = *sum * 31 + (uint64_t)value;
    }
}

/* One run; the digest of every decision, and what was received in which order. */
static uint64_t replay_channel(uint64_t seed, uint64_t *sum)
{
    static int bases[SENDERS] = {0, 100, 200};
    *sum = 0;
    kernel_start();
    fibers_shuffle(&kernel.fibers, seed);
    kernel_channel(2);
    for (int i = 0; i < SENDERS; i++) {
        kernel_go(replay_send, &bases[i]);
    }
    kernel_go(replay_recv, sum);
    kernel_run();
    uint64_t digest = rti_journal_digest(&kernel.fibers.journal);
    kernel_stop();
    return digest;
}

TEST(int_replay_channel_001_the_same_seed_gives_the_same_digest)
{
    uint64_t sum;
    uint64_t again;
    uint64_t first = replay_channel(7, &sum);
    CHECK(replay_channel(7, &again) == first);
    CHECK(again == sum);
    uint64_t other = replay_channel(8, &again);
    CHECK(other != first);
}

static void sleep_in_steps(void *arg)
{
    int steps = *(int *)arg;
    for (int i = 0; i < steps; i++) {
        rti_fiber_sleep_until(rti_worker_current(), kernel.fibers.port.now_ns + RT_NS_PER_MS);
        kernel_say((char)('a' + steps));
    }
}

static uint64_t replay_timer(int first_steps)
{
    static int steps[3];
    kernel_start();
    for (int i = 0; i < 3; i++) {
        steps[i] = first_steps + i;
        kernel_go(sleep_in_steps, &steps[i]);
    }
    kernel_run();
    uint64_t digest = rti_journal_digest(&kernel.fibers.journal);
    kernel_stop();
    return digest;
}

TEST(int_replay_timer_001_equal_deadlines_replay_in_insertion_order)
{
    uint64_t first = replay_timer(2);
    /* All three are due at each millisecond: they come in the order in which they were armed. */
    CHECK_STR(kernel.order, "cdecdedee");
    CHECK(replay_timer(2) == first);
    CHECK(replay_timer(3) != first);
}
