/* SPDX-License-Identifier: Apache-2.0 */
/* A fiber that is summoned, and its next call of the runtime. That the handler summons those who
 * are interrupted inside of it is tried on threads: test/preempt. */
#define _GNU_SOURCE
#define RTI_MODULE "preempt_call_test"
#include "sched/preempt.h"

#include <orrery/rt.h>

#include "base/text.h"
#include "sched/overrun.h"
#include "support/crew.h"
#include "support/test.h"

static void (*act)(void);
static bool has_acted;

static void be_the_fiber(void *arg)
{
    (void)arg;
    act();
    has_acted = true;
}

/* Runs this in a fiber of a crew of one. */
static void run(void (*what)(void))
{
    if (!rti_text_is_known()) {
        test_skip("the library's code is not told from the program's here");
    }
    act = what;
    crew_world_open(1);
    crew_world_go(be_the_fiber, NULL, 2);
    CHECK_OK(rti_sched_run(&crew_world.sched));
    crew_world_close();
    CHECK(has_acted);
}

static struct rti_worker *self(void)
{
    return rti_worker_current();
}

static bool is_summoned(void)
{
    return self()->fiber->stack.limit != rti_stack_limit(&self()->fiber->stack);
}

/* As the handler does, in a turn that the warden has seen or, if not, in the one after. */
static void summon(bool is_seen)
{
    uint64_t turns = rti_u64_load_relaxed(&self()->station->turns);
    rti_u64_store_relaxed(&self()->member->overrun.turns, turns - !is_seen);
    rti_stack_summon(&self()->fiber->stack);
    CHECK(is_summoned());
}

static void call_the_clock(void)
{
    CHECK(rt_clock() > 0);
    CHECK(self()->station != NULL); /* nobody has summoned it */
    summon(true);
    CHECK(rt_clock() > 0);
    CHECK(self()->station == NULL && self()->lent == &crew_world.stations[0]);
    CHECK(!is_summoned());
    CHECK(rt_clock() > 0);
    rt_yield(); /* needs a station again, and gets one */
    CHECK(self()->station != NULL);
}

TEST(preempt_is_obeyed_by_the_next_call_of_the_runtime)
{
    run(call_the_clock);
}

static void call_in_the_next_turn(void)
{
    summon(false);
    CHECK(rt_clock() > 0);
    CHECK(self()->station != NULL && !is_summoned());
}

TEST(preempt_is_over_with_the_turn_that_was_meant)
{
    run(call_in_the_next_turn);
}

/* A call of the runtime that has called the program has left its place on the stack. */
static void call_below_a_call(void)
{
    volatile uintptr_t place = (uintptr_t)rti_text_holds + 1;
    summon(true);
    CHECK(rt_clock() > 0);
    CHECK(self()->station != NULL && !is_summoned());
    CHECK(place != 0);
}

TEST(preempt_is_not_obeyed_by_who_is_called_by_the_runtime)
{
    run(call_below_a_call);
}

#if defined(__aarch64__)
/* Where return addresses are signed the signature is in the bits that no address has. */
static void call_below_a_signed_call(void)
{
    volatile uintptr_t place = ((uintptr_t)rti_text_holds + 4) | (uintptr_t)0x2a << 48;
    summon(true);
    CHECK(rt_clock() > 0);
    CHECK(self()->station != NULL && !is_summoned());
    CHECK(place != 0);
}

TEST(preempt_sees_a_call_whose_return_address_is_signed)
{
    run(call_below_a_signed_call);
}
#endif

/* The summons is no part of what is known of the stack. */
static void ask_for_the_stack(void)
{
    const struct rti_stack *stack = &self()->fiber->stack;
    const void *low = rti_stack_low(stack);
    const void *guard = rti_stack_guard(stack);
    size_t size = rti_stack_own_size(stack);
    summon(true);
    CHECK(rti_stack_low(stack) == low && rti_stack_guard(stack) == guard);
    CHECK_EQ(rti_stack_own_size(stack), size);
    CHECK(rti_stack_is_intact(stack));
    rti_stack_unsummon(&self()->fiber->stack);
    CHECK(!is_summoned());
}

TEST(preempt_summons_leave_the_bounds_of_a_stack_as_they_are)
{
    run(ask_for_the_stack);
}

static rt_mutex mutex;
static rt_semaphore semaphore;
static rt_once once;
static rt_wait_group group;
static rt_condition condition;
static rt_interval interval;

static rt_send_permit permit;
static rt_heap_stats stats;
static uint64_t word;
static uint16_t port;

/* Calls that wait for nothing, each of a module with its own way in. What they give is of no
 * interest: most find that nothing of what they need is there. */
static void call_one(unsigned number)
{
    actor_id nobody = ACTOR_ID_INVALID;
    switch (number) {
    case 0:
        CHECK(!rt_ipc_pending());
        break;
    case 1:
        CHECK_EQ(rt_ipc_count(), 0);
        break;
    case 2:
        CHECK(RT_FAILED(rt_link(nobody)));
        break;
    case 3:
        CHECK(RT_FAILED(rt_timer_cancel(1)));
        break;
    case 4:
        CHECK(rt_heap_alloc(1) == NULL);
        break;
    case 5:
        CHECK(RT_FAILED(rt_heap_stats_get(&stats)));
        break;
    case 6:
        (void)rt_heap_mark_get();
        break;
    case 7:
        CHECK(RT_FAILED(rt_heap_limit(1)));
        break;
    case 8:
        CHECK_OK(rt_cx_spend(NULL, 1));
        break;
    case 9:
        CHECK(RT_FAILED(rt_mutex_try_lock(&mutex, NULL)));
        break;
    case 10:
        CHECK(RT_FAILED(rt_mutex_unlock(&mutex, NULL)));
        break;
    case 11:
        CHECK(RT_FAILED(rt_semaphore_try_acquire(&semaphore, 1)));
        break;
    case 12:
        CHECK_EQ(rt_semaphore_count(&semaphore), 0);
        break;
    case 13:
        CHECK(!rt_once_is_done(&once));
        break;
    case 14:
        CHECK(RT_FAILED(rt_wait_group_done(&group)));
        break;
    case 15:
        CHECK(RT_FAILED(rt_condition_signal(&condition)));
        break;
    case 16:
        CHECK(RT_FAILED(rt_interval_try_recv(&interval, &word)));
        break;
    case 17:
        CHECK(RT_FAILED(rt_channel_try_reserve(NULL, NULL, &permit)));
        break;
    case 18:
        CHECK(RT_FAILED(rt_signal_dropped(NULL, &word)));
        break;
    case 19:
        CHECK(RT_FAILED(rt_net_local_port(-1, &port)));
        break;
    default:
        CHECK(RT_FAILED(rt_supervisor_stop_actor(nobody, nobody)));
        break;
    }
}

#define CALLS 21

/* Words that earlier calls of the runtime have left below would look like an open one in a frame
 * that does not write all of its words. */
static RTI_NOINLINE void clear_what_lies_below(void)
{
    volatile uintptr_t words[512];
    for (unsigned i = 0; i < 512; i++) {
        words[i] = i;
    }
    CHECK_EQ(words[0], 0);
}

static void call_each(void)
{
    for (unsigned i = 0; i < CALLS; i++) {
        summon(true);
        clear_what_lies_below();
        call_one(i);
        CHECK(self()->station == NULL && !is_summoned());
        rt_yield();
    }
}

TEST(preempt_is_obeyed_by_calls_whose_way_in_is_a_function_of_its_own)
{
    run(call_each);
}

#define LIVE 12

/* The compiler does not know of the call: what it has in registers has to stay there. */
static RTI_NOINLINE uint64_t enter_with(const volatile uint64_t *words,
                                        const volatile double *reals)
{
    uint64_t a = words[0], b = words[1], c = words[2], d = words[3];
    uint64_t e = words[4], f = words[5], g = words[6], h = words[7];
    uint64_t i = words[8], j = words[9], k = words[10], l = words[11];
    double m = reals[0], n = reals[1], o = reals[2], p = reals[3];
    double q = reals[4], r = reals[5], s = reals[6], t = reals[7];
    const struct rti_worker *worker = rti_worker_enter();
    uint64_t sum = a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j;
    sum += 11 * k + 12 * l;
    double real = m + 2 * n + 3 * o + 4 * p + 5 * q + 6 * r + 7 * s + 8 * t;
    return sum + (uint64_t)real + (worker == rti_worker_current() ? 0 : 1);
}

static void enter_with_all_registers(void)
{
    volatile uint64_t words[LIVE];
    volatile double reals[LIVE];
    for (unsigned i = 0; i < LIVE; i++) {
        words[i] = UINT64_C(0x0123456789abcdef) * (i + 3);
        reals[i] = 1000.5 * (i + 1);
    }
    uint64_t expected = enter_with(words, reals);
    for (unsigned i = 0; i < 100; i++) {
        rti_stack_summon(&self()->fiber->stack);
        CHECK_EQ(enter_with(words, reals), expected);
        CHECK(!is_summoned());
    }
}

TEST(preempt_at_a_call_leaves_all_registers_as_they_are)
{
    run(enter_with_all_registers);
}
