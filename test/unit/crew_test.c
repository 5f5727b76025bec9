/* SPDX-License-Identifier: Apache-2.0 */
/* The engine of several workers on real threads: everything runs once, nothing is lost, everybody
 * sleeps when there is nothing to do and wakes when there is. */
#define _GNU_SOURCE
#define RTI_MODULE "crew_test"
#include "sched/crew.h"

#include <errno.h>
#include <orrery/rt/pin.h>
#include <string.h>

#include "sched/crew_search.h"
#include "sched/fault.h"
#include "sched/lock.h"
#include "support/crew.h"
#include "support/test.h"

#define YIELDS 200

static rti_atomic_u64 total;

static void count_one(void *arg)
{
    (void)arg;
    rti_u64_add_relaxed(&total, 1);
}

TEST(crew_runs_each_of_many_fibers_once)
{
    crew_world_open(4);
    for (int i = 0; i < CREW_FIBERS_MAX; i++) {
        crew_world_go(count_one, NULL, (uint8_t)(i % RTI_PRIORITY_LEVELS));
    }
    crew_world_close();
    CHECK_EQ(rti_u64_load_relaxed(&total), CREW_FIBERS_MAX);
}

TEST(crew_without_anything_to_run_is_over_at_once)
{
    crew_world_open(4);
    CHECK_OK(rti_sched_run(&crew_world.sched));
    CHECK_OK(rti_sched_run(&crew_world.sched));
    crew_world_close();
}

static void yield_often(void *arg)
{
    for (int i = 0; i < YIELDS; i++) {
        rti_fiber_yield(rti_worker_current());
    }
    count_one(arg);
}

TEST(crew_of_one_worker_lets_fibers_yield_to_each_other)
{
    crew_world_open(1);
    for (int i = 0; i < 100; i++) {
        crew_world_go(yield_often, NULL, 2);
    }
    crew_world_close();
    CHECK_EQ(rti_u64_load_relaxed(&total), 100);
}

/* Each writes its name between two yields. */
static char order[64];
static uint32_t order_count;

static void write_name(void *arg)
{
    const char *name = arg;
    for (int i = 0; i < 8; i++) {
        order[order_count] = *name;
        order_count++;
        rti_fiber_yield(rti_worker_current());
    }
}

TEST(crew_of_one_worker_keeps_the_order_of_those_that_yield)
{
    crew_world_open(1);
    crew_world_go(write_name, "a", 2);
    crew_world_go(write_name, "b", 2);
    crew_world_go(write_name, "c", 2);
    crew_world_close();
    CHECK_EQ(order_count, 24);
    CHECK(strcmp(order, "abcabcabcabcabcabcabcabc") == 0);
}

/* One of a less urgent level waits until those of a more urgent one do not yield any more. */
TEST(crew_yield_lets_nobody_less_urgent_go_first)
{
    crew_world_open(1);
    crew_world_go(write_name, "c", 3);
    crew_world_go(write_name, "a", 1);
    crew_world_go(write_name, "b", 1);
    crew_world_close();
    CHECK(strcmp(order, "ababababababababcccccccc") == 0);
}

/* The same when nobody of its own level is there. */
TEST(crew_yield_of_the_most_urgent_one_comes_back_to_it)
{
    crew_world_open(1);
    crew_world_go(write_name, "b", 3);
    crew_world_go(write_name, "a", 0);
    crew_world_close();
    CHECK(strcmp(order, "aaaaaaaabbbbbbbb") == 0);
}

/* Turns are counted however a yield goes: by them the warden knows that a worker is not stuck. */
static void yield_and_look_at_the_turns(void *arg)
{
    for (int i = 0; i < YIELDS; i++) {
        const struct rti_station *station = rti_worker_current()->station;
        uint64_t before = rti_u64_load_relaxed(&station->turns);
        uint32_t tick = station->tick;
        rti_fiber_yield(rti_worker_current());
        CHECK(rti_u64_load_relaxed(&station->turns) > before);
        CHECK(station->tick != tick);
    }
    count_one(arg);
}

TEST(crew_counts_the_turns_of_one_that_yields_alone)
{
    crew_world_open(1);
    crew_world_go(yield_and_look_at_the_turns, NULL, 2);
    crew_world_close();
    CHECK_EQ(rti_u64_load_relaxed(&total), 1);
}

TEST(crew_counts_the_turns_of_those_that_yield_to_each_other)
{
    crew_world_open(1);
    crew_world_go(yield_and_look_at_the_turns, NULL, 2);
    crew_world_go(yield_and_look_at_the_turns, NULL, 2);
    crew_world_close();
    CHECK_EQ(rti_u64_load_relaxed(&total), 2);
}

TEST(crew_fibers_that_yield_move_between_workers_and_all_end)
{
    crew_world_open(4);
    for (int i = 0; i < 300; i++) {
        crew_world_go(yield_often, NULL, (uint8_t)(i % RTI_PRIORITY_LEVELS));
    }
    crew_world_close();
    CHECK_EQ(rti_u64_load_relaxed(&total), 300);
}

static void spawn_tree(void *arg)
{
    uintptr_t depth = (uintptr_t)arg;
    count_one(NULL);
    for (int i = 0; depth > 0 && i < 4; i++) {
        crew_world_go(spawn_tree, (void *)(depth - 1), 2);
    }
}

TEST(crew_fibers_start_fibers_and_the_run_ends_after_the_last)
{
    crew_world_open(3);
    crew_world_go(spawn_tree, (void *)(uintptr_t)4, 2);
    crew_world_close();
    CHECK_EQ(rti_u64_load_relaxed(&total), 1 + 4 + 16 + 64 + 256);
}

/* A pair over two lines under one lock each: A wakes B, then waits; and the other way round. */
struct line {
    struct rti_lock lock;
    struct rti_waitlist list;
    uint32_t tokens;
};

static void line_init(struct line *line)
{
    rti_lock_init(&line->lock, &crew_world.sched, RTI_LOCK_CHANNEL);
    rti_waitlist_init(&line->list);
    line->tokens = 0;
}

static void line_unlink(struct rti_waiter *waiter)
{
    struct line *line = waiter->slot;
    rti_lock_acquire(&line->lock, &crew_world.sched);
    rti_waitlist_unlink(waiter);
    rti_lock_release(&line->lock);
}

static uint32_t line_take(struct line *line, uint64_t deadline_ns)
{
    struct rti_worker *worker = rti_worker_current();
    struct rti_wait wait;
    struct rti_waiter waiter;
    struct rti_deadline deadline;
    rti_fiber_wait_begin(worker, &wait);
    rti_lock_acquire(&line->lock, &crew_world.sched);
    if (line->tokens > 0) {
        line->tokens--;
        rti_lock_release(&line->lock);
        return RTI_EVENT_SOURCE;
    }
    rti_wait_add(&wait, &waiter, RTI_EVENT_SOURCE, line_unlink);
    waiter.slot = line;
    rti_waitlist_add(&line->list, &waiter);
    rti_lock_release(&line->lock);
    rti_deadline_add(&deadline, &crew_world.sched, &wait, deadline_ns);
    return rti_fiber_park(worker, &wait);
}

static void line_give(struct line *line)
{
    rti_lock_acquire(&line->lock, &crew_world.sched);
    struct rti_waiter *waiter = rti_waitlist_claim(&line->list);
    if (waiter == NULL) {
        line->tokens++;
    }
    rti_lock_release(&line->lock);
    if (waiter != NULL) {
        rti_waiter_wake(waiter);
    }
}

#define PAIRS 50
#define HOPS  400
static struct line lines[PAIRS][2];

static void hop(void *arg)
{
    size_t me = (uintptr_t)arg % 2;
    struct line *pair = lines[(uintptr_t)arg / 2];
    for (int i = 0; i < HOPS; i++) {
        if (me == 0) {
            line_give(&pair[1]);
            CHECK_EQ(line_take(&pair[0], RTI_TIME_NEVER), RTI_EVENT_SOURCE);
        } else {
            CHECK_EQ(line_take(&pair[1], RTI_TIME_NEVER), RTI_EVENT_SOURCE);
            line_give(&pair[0]);
        }
    }
    count_one(NULL);
}

TEST(crew_pairs_hand_tokens_to_and_fro_and_lose_none)
{
    crew_world_open(4);
    for (uintptr_t i = 0; i < 2 * (uintptr_t)PAIRS; i++) {
        line_init(&lines[i / 2][i % 2]);
        crew_world_go(hop, (void *)i, 2);
    }
    crew_world_close();
    CHECK_EQ(rti_u64_load_relaxed(&total), 2 * PAIRS);
}

static void sleep_some(void *arg)
{
    for (int i = 0; i < 5; i++) {
        uint64_t deadline_ns =
            rti_deadline_after(&crew_world.sched, ((uintptr_t)arg % 17 + 1) * 50 * RTI_NS_PER_US);
        rti_fiber_sleep_until(rti_worker_current(), deadline_ns);
        CHECK(rti_sched_clock(&crew_world.sched) >= deadline_ns);
    }
    count_one(NULL);
}

TEST(crew_sleepers_wake_and_never_early)
{
    crew_world_open(3);
    for (uintptr_t i = 0; i < 200; i++) {
        crew_world_go(sleep_some, (void *)i, 2);
    }
    crew_world_close();
    CHECK_EQ(rti_u64_load_relaxed(&total), 200);
}

/* A token and a deadline that come at about the same time: each take ends by exactly one. */
static struct line raced;
static rti_atomic_u64 given;
static rti_atomic_u64 taken;

static void race_take(void *arg)
{
    (void)arg;
    for (int i = 0; i < 100; i++) {
        uint64_t deadline_ns = rti_deadline_after(&crew_world.sched, 20 * RTI_NS_PER_US);
        if (line_take(&raced, deadline_ns) == RTI_EVENT_SOURCE) {
            rti_u64_add_relaxed(&taken, 1);
        }
    }
}

static void race_give(void *arg)
{
    (void)arg;
    for (int i = 0; i < 100; i++) {
        rti_u64_add_relaxed(&given, 1);
        line_give(&raced);
        rti_fiber_sleep_until(rti_worker_current(),
                              rti_deadline_after(&crew_world.sched, 20 * RTI_NS_PER_US));
    }
}

TEST(crew_wait_ends_by_its_token_or_its_deadline_and_no_token_is_lost)
{
    crew_world_open(4);
    line_init(&raced);
    for (int i = 0; i < 8; i++) {
        crew_world_go(race_take, NULL, 2);
        crew_world_go(race_give, NULL, 2);
    }
    crew_world_close();
    CHECK_EQ(rti_u64_load_relaxed(&given), rti_u64_load_relaxed(&taken) + raced.tokens);
    CHECK(rti_waitlist_is_empty(&raced.list));
}

static struct line never;

static void wait_for_ever(void *arg)
{
    (void)arg;
    (void)line_take(&never, RTI_TIME_NEVER);
    CHECK(false);
}

static void kill_range(void *arg)
{
    uintptr_t first = (uintptr_t)arg;
    for (uintptr_t i = first; i < first + 50; i++) {
        (void)rti_fiber_kill(&crew_world.sched, &crew_world.fibers[i]);
        rti_fiber_yield(rti_worker_current());
    }
}

TEST(crew_kill_reaches_fibers_wherever_they_are_and_unlinks_them)
{
    crew_world_open(4);
    line_init(&never);
    for (int i = 0; i < 200; i++) {
        crew_world_go(wait_for_ever, NULL, (uint8_t)(i % RTI_PRIORITY_LEVELS));
    }
    for (uintptr_t i = 0; i < 4; i++) {
        crew_world_go(kill_range, (void *)(i * 50), 1);
        crew_world_go(kill_range, (void *)(i * 50), 3);
    }
    crew_world_close();
    CHECK_EQ(rti_u32_load_relaxed(&crew_world.ended[RTI_FIBER_KILLED]), 200);
    CHECK(rti_waitlist_is_empty(&never.list));
}

static void stop_here(void *arg)
{
    (void)arg;
    rti_sched_stop(&crew_world.sched);
}

TEST(crew_stop_ends_the_run_and_a_second_run_goes_on)
{
    crew_world_open(3);
    for (int i = 0; i < 100; i++) {
        crew_world_go(yield_often, NULL, 2);
    }
    crew_world_go(stop_here, NULL, 2);
    CHECK_OK(rti_sched_run(&crew_world.sched));
    crew_world_close();
    CHECK_EQ(rti_u64_load_relaxed(&total), 100);
}

static void keep_errno(void *arg)
{
    int mine = (int)(uintptr_t)arg + 1;
    *rti_errno_address() = mine;
    for (int i = 0; i < YIELDS; i++) {
        rti_fiber_yield(rti_worker_current());
        CHECK_EQ(*rti_errno_address(), mine);
    }
}

TEST(crew_fiber_takes_its_errno_along_to_another_thread)
{
    crew_world_open(4);
    for (uintptr_t i = 0; i < 64; i++) {
        crew_world_go(keep_errno, (void *)i, 2);
    }
    crew_world_close();
}

static struct rti_post posts[64];

static void post_called(struct rti_post *post)
{
    crew_world_go(count_one, post, 2);
}

static void post_from_thread(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < RTI_COUNT_OF(posts); i++) {
        posts[i].call = post_called;
        rti_sched_post(&crew_world.sched, &posts[i]);
    }
}

static void wait_for_posts(void *arg)
{
    (void)arg;
    while (rti_u64_load_relaxed(&total) < RTI_COUNT_OF(posts)) {
        rti_fiber_sleep_until(rti_worker_current(),
                              rti_deadline_after(&crew_world.sched, 100 * RTI_NS_PER_US));
    }
}

TEST(crew_calls_what_another_thread_posts)
{
    struct rti_port_thread thread;
    crew_world_open(2);
    struct rti_port *port = &crew_world.port.port;
    crew_world_go(wait_for_posts, NULL, 2);
    CHECK_OK(port->ops->thread_start(port, &thread, post_from_thread, NULL));
    crew_world_close();
    port->ops->thread_join(port, &thread);
    CHECK_EQ(rti_u64_load_relaxed(&total), RTI_COUNT_OF(posts));
}

/* Endless loops, one per worker and more: the others run all the same. */
static rti_atomic_u32 are_done;

static void loop_for_ever(void *arg)
{
    volatile uint64_t *turns = arg;
    while (rti_u32_load_relaxed(&are_done) == 0) {
        (*turns)++;
    }
}

static void end_the_loops(void *arg)
{
    (void)arg;
    for (int i = 0; i < 5; i++) {
        rti_fiber_sleep_until(rti_worker_current(),
                              rti_deadline_after(&crew_world.sched, RTI_NS_PER_MS));
    }
    rti_u32_store_relaxed(&are_done, 1);
}

TEST(crew_endless_loops_on_every_worker_do_not_stop_the_others)
{
    static volatile uint64_t turns[4];
    if (RTI_TSAN) {
        test_skip("the sanitizer keeps signals back until the program calls something");
    }
    crew_world_open(2);
    CHECK_OK(rti_faults_open(&crew_world.sched));
    for (size_t i = 0; i < RTI_COUNT_OF(turns); i++) {
        crew_world_go(loop_for_ever, (void *)(uintptr_t)&turns[i], 0);
    }
    crew_world_go(end_the_loops, NULL, 3);
    CHECK_OK(rti_sched_run(&crew_world.sched));
    rti_faults_close(&crew_world.sched);
    crew_world_close();
}

/* T-2, restated: all work starts at one station whose worker never gives up its turn; only if the
 * others steal does it get done. */
static rti_atomic_u32 stolen_count;

static void count_stolen(void *arg)
{
    (void)arg;
    rti_u32_add_relaxed(&stolen_count, 1);
}

static void spawn_and_hold(void *arg)
{
    (void)arg;
    for (int i = 0; i < 100; i++) {
        crew_world_go(count_stolen, NULL, 2);
    }
    while (rti_u32_load_relaxed(&stolen_count) < 100) {
        rti_spin_hint();
    }
}

TEST(crew_idle_workers_steal_what_lies_at_a_busy_one)
{
    crew_world_open(2);
    crew_world_go(spawn_and_hold, NULL, 2);
    crew_world_close();
    CHECK_EQ(rti_u32_load_relaxed(&stolen_count), 100);
    uint64_t stolen = 0;
    for (size_t i = 0; i < 2; i++) {
        stolen += rti_u64_load_relaxed(&crew_world.stations[i].stolen);
    }
    CHECK(stolen >= 50);
}

/* T-4, restated: more are started than a ring holds, so that halves of it pass through the
 * injector; all of them run once, and nobody that yields keeps them from it for more than a round.
 */
#define FAIR 1000
static uint32_t turns_of[FAIR];
static uint32_t turns_of_others_max;
static uint32_t ended_count;

static void run_once(void *arg)
{
    turns_of[(uintptr_t)arg]++;
    ended_count++;
}

/* How often this one ran while there were some that had not run at all. */
static void yield_beside(void *arg)
{
    (void)arg;
    uint32_t turns = 0;
    while (ended_count < FAIR) {
        turns++;
        rti_fiber_yield(rti_worker_current());
    }
    turns_of_others_max = turns > turns_of_others_max ? turns : turns_of_others_max;
}

TEST(crew_of_one_worker_runs_all_that_is_started_beside_one_that_yields)
{
    crew_world_open(1);
    crew_world_go(yield_beside, NULL, 2);
    for (uintptr_t i = 0; i < FAIR; i++) {
        crew_world_go(run_once, (void *)i, 2);
    }
    crew_world_close();
    for (uint32_t i = 0; i < FAIR; i++) {
        CHECK_EQ(turns_of[i], 1);
    }
    /* At least one of the others runs in every 61 of its turns, and 128 at a time come over. */
    CHECK(turns_of_others_max > 0);
    CHECK(turns_of_others_max <= (FAIR / (RTI_RING_CAPACITY / 2) + 2) * 61);
}

/* What lies in the injector is taken though the station is never empty. */
static rti_atomic_u32 is_injected_done;

static void injected(void *arg)
{
    (void)arg;
    rti_u32_store_relaxed(&is_injected_done, 1);
}

static void yield_until_injected(void *arg)
{
    (void)arg;
    while (rti_u32_load_relaxed(&is_injected_done) == 0) {
        rti_fiber_yield(rti_worker_current());
    }
}

static struct rti_post inject_post;

static void inject_call(struct rti_post *post)
{
    (void)post;
    crew_world_go(injected, NULL, 3); /* the least urgent level, on the thread that polls */
}

static void inject_from_thread(void *arg)
{
    (void)arg;
    inject_post.call = inject_call;
    rti_sched_post(&crew_world.sched, &inject_post);
}

TEST(crew_takes_from_the_injector_though_its_stations_are_never_empty)
{
    struct rti_port_thread thread;
    crew_world_open(2);
    struct rti_port *port = &crew_world.port.port;
    for (int i = 0; i < 8; i++) {
        crew_world_go(yield_until_injected, NULL, 3);
    }
    CHECK_OK(port->ops->thread_start(port, &thread, inject_from_thread, NULL));
    crew_world_close();
    port->ops->thread_join(port, &thread);
}

/* ---- who wakes others for one that has left ---- */

static void (*wake_quietly)(struct rti_port *port, rti_atomic_u32 *word, uint32_t count);

static void wake_with_an_errno(struct rti_port *port, rti_atomic_u32 *word, uint32_t count)
{
    wake_quietly(port, word, count);
    errno = EAGAIN;
}

static void yield_with_an_errno(void *arg)
{
    int mine = (int)(intptr_t)arg;
    for (int i = 0; i < 20000; i++) {
        *rti_errno_address() = mine; /* not `errno`: another thread may be meant */
        rti_fiber_yield(rti_worker_current());
        CHECK_EQ(*rti_errno_address(), mine);
    }
}

/* Who is switched to straight shows the one that was left, and wakes a worker for it: its own errno
 * is in place by then. */
TEST(crew_keeps_the_errno_of_a_fiber_whose_turn_begins_with_a_wake)
{
    static struct rti_port_ops ops;
    crew_world_open(4);
    ops = *crew_world.port.port.ops;
    wake_quietly = ops.futex_wake;
    ops.futex_wake = wake_with_an_errno;
    crew_world.port.port.ops = &ops;
    for (intptr_t i = 1; i <= 6; i++) {
        crew_world_go(yield_with_an_errno, (void *)(1000 + i), 1);
    }
    CHECK_OK(rti_sched_run(&crew_world.sched));
    CHECK_EQ(rti_sched_live(&crew_world.sched), 0);
    crew_world_close();
}

/* ---- threads that the system does not have ---- */

static rti_atomic_u32 threads_allowed;

static rt_status thread_start_limited(struct rti_port *port, struct rti_port_thread *thread,
                                      void (*main)(void *arg), void *arg)
{
    uint32_t left = rti_u32_load_relaxed(&threads_allowed);
    while (left > 0 && !rti_u32_cas_acqrel(&threads_allowed, &left, left - 1)) {
    }
    return left == 0 ? (rt_status){RT_ERR_NOMEM, "no thread, says the test"}
                     : rti_linux_thread_start(port, thread, main, arg);
}

static void yield_a_hundred_times(void *arg)
{
    (void)arg;
    for (int i = 0; i < 100; i++) {
        rti_fiber_yield(rti_worker_current());
    }
}

static void open_with_few_threads(uint32_t workers)
{
    static struct rti_port_ops ops;
    crew_world_open(workers);
    ops = *crew_world.port.port.ops;
    ops.thread_start = thread_start_limited;
    crew_world.port.port.ops = &ops;
}

/* Every run has fewer threads than workers, and the last one as many as it wants. */
TEST(crew_runs_with_the_threads_that_the_system_gives)
{
    open_with_few_threads(4);
    for (uint32_t allowed = 0; allowed < 6; allowed++) {
        rti_u32_store_relaxed(&threads_allowed, allowed);
        for (int i = 0; i < 20; i++) {
            crew_world_go(yield_a_hundred_times, NULL, 1);
        }
        CHECK_OK(rti_sched_run(&crew_world.sched));
        CHECK_EQ(rti_sched_live(&crew_world.sched), 0);
    }
    rti_u32_store_relaxed(&threads_allowed, 1000);
    for (int i = 0; i < 20; i++) {
        crew_world_go(yield_a_hundred_times, NULL, 1);
    }
    crew_world_close();
    CHECK_EQ(rti_u32_load_relaxed(&crew_world.ended[RTI_FIBER_RETURNED]), 140);
}

/* Is pinned if there are threads for it, stays so over the end of a run, and comes to its end. */
static void be_pinned_over_two_runs(void *arg)
{
    rt_status status = rt_pin();
    CHECK(status.code == RT_OK || status.code == RT_ERR_RESOURCE_EXHAUSTED);
    yield_a_hundred_times(NULL);
    rti_sched_stop(&crew_world.sched);
    yield_a_hundred_times(NULL);
    if (status.code == RT_OK && arg != NULL) {
        CHECK_OK(rt_unpin());
    }
}

/* The first run has some threads, those that follow have others, or none beside the first. */
TEST(crew_of_pinned_fibers_comes_to_its_end_however_few_threads_the_system_gives)
{
    open_with_few_threads(2);
    for (uint32_t world = 0; world < 30; world++) {
        rti_u32_store_relaxed(&threads_allowed, world % 5 + 1);
        for (uintptr_t i = 0; i < 5; i++) {
            crew_world_go(be_pinned_over_two_runs, i % 2 == 0 ? NULL : &crew_world, 1);
        }
        CHECK_OK(rti_sched_run(&crew_world.sched));
        rti_u32_store_relaxed(&threads_allowed, world / 5 % 3);
        for (int i = 0; i < 6; i++) {
            CHECK_OK(rti_sched_run(&crew_world.sched));
        }
        CHECK_EQ(rti_sched_live(&crew_world.sched), 0);
    }
    crew_world_close();
}

/* ---- a run that begins on a pinned thread ---- */

static rti_atomic_u32 is_first_pinned;
static void (*late_main)(void *arg);

/* A thread that begins when the first member is pinned: nobody else finds that fiber before. */
static void begin_late(void *arg)
{
    while (rti_u32_load_acquire(&is_first_pinned) == 0) {
        rti_pause();
    }
    late_main(arg);
}

static void be_pinned_to_the_first(void *arg)
{
    (void)arg;
    CHECK_EQ(rti_worker_member(rti_worker_current())->index, 0);
    CHECK_OK(rt_pin());
    rti_sched_stop(&crew_world.sched);
    rti_u32_store_release(&is_first_pinned, 1);
    rti_fiber_yield(rti_worker_current());
    CHECK_OK(rt_unpin());
}

static rt_status thread_start_late(struct rti_port *port, struct rti_port_thread *thread,
                                   void (*main)(void *arg), void *arg)
{
    if (main != rti_member_main) {
        return (rt_status){RT_ERR_NOMEM, "no thread for the warden, says the test"};
    }
    late_main = main;
    return rti_linux_thread_start(port, thread, begin_late, arg);
}

/* The system has no thread for the first member's pin, but one for somebody who makes work outside
 * at the same time. If that one's thread found the pinned fiber, it would send its station away. */
static rt_status thread_start_beside(struct rti_port *port, struct rti_port_thread *thread,
                                     void (*main)(void *arg), void *arg)
{
    static bool is_beside;
    struct rti_crew *crew = crew_world.sched.crew;
    if (is_beside) {
        return rti_linux_thread_start(port, thread, main, arg);
    }
    if (main == rti_member_main) {
        is_beside = true;
        rti_crew_rouse_one(crew);
        is_beside = false;
        bool is_sent = false;
        while (crew->members[2].is_started && !is_sent) {
            rti_lock_acquire(&crew->lock, crew->sched);
            is_sent = crew->members[0].given != NULL;
            rti_lock_release(&crew->lock);
        }
    }
    return (rt_status){RT_ERR_NOMEM, "no thread, says the test"};
}

TEST(crew_that_begins_on_a_pinned_thread_settles_that_before_others_look_for_work)
{
    static struct rti_port_ops ops;
    crew_world_open(2);
    ops = *crew_world.port.port.ops;
    ops.thread_start = thread_start_late;
    crew_world.port.port.ops = &ops;
    crew_world_go(be_pinned_to_the_first, NULL, 1);
    CHECK_OK(rti_sched_run(&crew_world.sched));
    CHECK_EQ(rti_sched_live(&crew_world.sched), 1);
    ops.thread_start = thread_start_beside;
    crew_world_close();
    CHECK_EQ(rti_u32_load_relaxed(&crew_world.ended[RTI_FIBER_RETURNED]), 1);
}
