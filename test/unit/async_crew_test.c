/* SPDX-License-Identifier: Apache-2.0 */
/* Poll tasks on several workers: called by one worker at a time, woken by all. */
#define _GNU_SOURCE
#define RTI_MODULE "async_crew_test"
#include <stdlib.h>

#include <orrery/rt.h>

#include "support/crew.h"
#include "support/test.h"
#include "sync/channels.h"
#include "task/asyncs.h"

#define WORKERS 4
#define TASKS   16
#define VALUES  500

static struct rti_channels channels;
static struct rti_asyncs asyncs;
static rt_channel_sender *tx[2];
static rt_channel_receiver *rx[2];
static rti_atomic_u64 sum;
static rti_atomic_u32 ended;

struct worker_state {
    rt_async_frame frame;
    rt_nap nap;
    rti_atomic_u32 inside; /* calls under way */
    rti_atomic_u32 pauses; /* begun */
    uint64_t value;
    uint64_t done;
};

static struct worker_state states[TASKS];
static rt_async_task *tasks[TASKS];

static void open_world(void)
{
    crew_world_open(WORKERS);
    CHECK_OK(rti_channels_init(&channels, &crew_world.sched));
    CHECK_OK(rti_asyncs_init(&asyncs, &crew_world.sched));
    memset(states, 0, sizeof(states));
    rti_u64_init(&sum, 0);
    rti_u32_init(&ended, 0);
}

static void close_world(void)
{
    CHECK_OK(rti_sched_run(&crew_world.sched));
    CHECK_EQ(rti_asyncs_audit(&asyncs), 0);
    rti_asyncs_deinit(&asyncs);
    rti_channels_deinit(&channels);
    crew_world_close();
}

static rt_status relay(struct worker_state *self, rt_cx *cx)
{
    RT_ASYNC_BEGIN(&self->frame);
    for (;;) {
        RT_AWAIT(rt_channel_recv(rx[0], cx, &self->value));
        if (RT_FAILED(rt_awaited)) {
            break;
        }
        RT_AWAIT(rt_channel_send(tx[1], cx, &self->value));
        CHECK_OK(rt_awaited);
        self->done++;
        if (self->done % 16 == 0) {
            RT_AWAIT(rt_async_sleep(&self->nap, cx, 2000));
            CHECK_OK(rt_awaited);
        }
    }
    RT_ASYNC_END(RT_SUCCESS);
}

/* No two workers are in it at the same time. */
static rt_status relay_alone(void *state, rt_cx *cx)
{
    struct worker_state *self = state;
    CHECK_EQ(rti_u32_add_relaxed(&self->inside, 1), 0);
    rt_status status = relay(self, cx);
    (void)rti_u32_sub_acqrel(&self->inside, 1);
    return status;
}

static void feed(void *arg)
{
    for (uint64_t i = 1; i <= VALUES; i++) {
        uint64_t value = ((uintptr_t)arg << 32) + i;
        CHECK_OK(rt_channel_send(tx[0], NULL, &value));
        rti_u64_add_relaxed(&sum, value);
    }
    if (rti_u32_add_relaxed(&ended, 1) == 1) {
        CHECK_OK(rt_channel_close_sender(tx[0]));
    }
}

static void drain(void *arg)
{
    uint64_t left = 0;
    (void)arg;
    for (uint64_t i = 0; i < 2 * VALUES; i++) {
        uint64_t value = 0;
        CHECK_OK(rt_channel_recv(rx[1], NULL, &value));
        left += value;
    }
    for (size_t i = 0; i < TASKS; i++) {
        rt_status status = {RT_ERR_STATE, NULL};
        CHECK_OK(rt_async_join(&tasks[i], NULL, &status));
        CHECK_OK(status);
    }
    CHECK(rti_u64_load_relaxed(&sum) == left);
}

static void relay_through(size_t capacity)
{
    open_world();
    rt_channel_config config = {.elem_size = 8, .capacity = capacity};
    for (size_t i = 0; i < 2; i++) {
        CHECK_OK(capacity == 0 ? rt_channel_create_rendezvous(&config, &tx[i], &rx[i])
                               : rt_channel_create(&config, &tx[i], &rx[i]));
    }
    for (size_t i = 0; i < TASKS; i++) {
        tasks[i] = rt_async(relay_alone, &states[i]);
        CHECK(tasks[i] != NULL);
    }
    crew_world_go(feed, (void *)1, 2);
    crew_world_go(feed, (void *)2, 2);
    crew_world_go(drain, NULL, 2);
    CHECK_OK(rti_sched_run(&crew_world.sched));
    CHECK_OK(rt_channel_close_receiver(rx[0]));
    CHECK_OK(rt_channel_close_sender(tx[1]));
    CHECK_OK(rt_channel_close_receiver(rx[1]));
    close_world();
}

TEST(async_crew_relays_values_between_workers)
{
    relay_through(4);
}

TEST(async_crew_relays_values_from_hand_to_hand)
{
    relay_through(0);
}

static rt_status pause_often(void *state, rt_cx *cx)
{
    struct worker_state *self = state;
    RT_ASYNC_BEGIN(&self->frame);
    for (;;) {
        rti_u32_add_relaxed(&self->pauses, 1);
        RT_AWAIT(rt_async_pause(cx));
        if (RT_FAILED(rt_awaited)) {
            break;
        }
    }
    RT_ASYNC_END(rt_awaited);
}

/* The same, with calls for naps that it does not wait for. */
static rt_status pause_over_naps(void *state, rt_cx *cx)
{
    struct worker_state *self = state;
    RT_ASYNC_BEGIN(&self->frame);
    for (;;) {
        rt_status nap = rt_async_sleep(&self->nap, cx, 1000);
        CHECK(nap.code == RT_ERR_WOULDBLOCK || !RT_FAILED(nap));
        rti_u32_add_relaxed(&self->pauses, 1);
        RT_AWAIT(rt_async_pause(cx));
        if (RT_FAILED(rt_awaited)) {
            break;
        }
    }
    RT_ASYNC_END(rt_awaited);
}

/* A wake that comes while a call runs that then pauses is not lost: there is one more pause. */
static void wake_often(struct worker_state *state, rt_async_task *task)
{
    for (uint32_t round = 1; round <= 200; round++) {
        while (rti_u32_load_relaxed(&state->pauses) < round) {
            rti_fiber_yield(rti_worker_current());
        }
        CHECK_OK(rt_async_wake(task));
    }
}

static void wake_one(void *arg)
{
    size_t i = (size_t)(uintptr_t)arg;
    rt_status status = {RT_OK, NULL};
    wake_often(&states[i], tasks[i]);
    CHECK_OK(rt_async_cancel(tasks[i]));
    CHECK_OK(rt_async_join(&tasks[i], NULL, &status));
    CHECK_STATUS(status, RT_ERR_CANCELLED);
}

static void wake_all(rt_poll_fn paused)
{
    open_world();
    for (size_t i = 0; i < TASKS; i++) {
        tasks[i] = rt_async(paused, &states[i]);
    }
    for (uintptr_t i = 0; i < TASKS; i++) {
        crew_world_go(wake_one, (void *)i, 2);
    }
    close_world();
}

TEST(async_crew_wakes_from_all_sides_and_ends)
{
    wake_all(pause_often);
}

TEST(async_crew_loses_no_wake_to_a_call_for_something_else)
{
    wake_all(pause_over_naps);
}

/* Starts a task and waits for its end, as its watcher or by looking again; every other round it
 * goes before the end comes. */
#define FAMILIES 8
#define ROUNDS   200

struct parent {
    rt_async_frame frame;
    rt_nap nap;
    rt_async_task *child;
    bool is_patient;
};

static rti_atomic_u32 born;
static struct parent parents[FAMILIES];

static rt_status child(void *state, rt_cx *cx)
{
    (void)cx;
    CHECK(state == &born);
    rti_u32_add_relaxed(&born, 1);
    return RT_SUCCESS;
}

static rt_status parent(void *state, rt_cx *cx)
{
    struct parent *self = state;
    RT_ASYNC_BEGIN(&self->frame);
    self->child = rt_async(child, &born);
    CHECK(self->child != NULL);
    if (self->is_patient) {
        RT_AWAIT(rt_async_join(&self->child, cx, NULL));
        CHECK_OK(rt_awaited);
    } else {
        rt_status status = rt_async_join(&self->child, cx, NULL);
        CHECK(status.code == RT_OK || status.code == RT_ERR_WOULDBLOCK);
        if (RT_FAILED(status)) {
            /* It stands there as the watcher; the handle goes all the same. */
            CHECK_OK(rt_async_detach(self->child));
        }
    }
    RT_ASYNC_END(RT_SUCCESS);
}

static void raise_families(void *arg)
{
    struct parent *mine = arg;
    for (int round = 0; round < ROUNDS; round++) {
        rt_status status = {RT_ERR_STATE, NULL};
        *mine = (struct parent){.is_patient = round % 2 == 0};
        rt_async_task *task = rt_async(parent, mine);
        CHECK(task != NULL);
        CHECK_OK(rt_async_join(&task, NULL, &status));
        CHECK_OK(status);
    }
}

TEST(async_crew_starts_watches_and_lets_go_on_all_workers)
{
    open_world();
    rti_u32_init(&born, 0);
    /* What lies on the desks is missing to no task that waits. */
    CHECK_EQ(asyncs.contexts.count, RT_MAX_ASYNC_CONTEXTS + WORKERS);
    for (size_t i = 0; i < FAMILIES; i++) {
        crew_world_go(raise_families, &parents[i], 2);
    }
    CHECK_OK(rti_sched_run(&crew_world.sched));
    CHECK_EQ(rti_u32_load_relaxed(&born), FAMILIES * ROUNDS);
    close_world();
}

#define CHILDREN 3000

/* Any numbers, but none twice. */
static uint32_t numbers[FAMILIES * CHILDREN];

static int compare_numbers(const void *a, const void *b)
{
    uint32_t first = *(const uint32_t *)a;
    uint32_t second = *(const uint32_t *)b;
    return (first > second) - (first < second);
}

static void number_children(void *arg)
{
    uint32_t *mine = arg;
    for (size_t i = 0; i < CHILDREN; i++) {
        rt_async_task *task = rt_async(child, &born);
        CHECK(task != NULL);
        mine[i] = rti_asyncs_lookup(&asyncs, task)->run.id;
        CHECK_OK(rt_async_join(&task, NULL, NULL));
    }
}

TEST(async_crew_gives_no_number_twice)
{
    open_world();
    rti_u32_init(&born, 0);
    for (size_t i = 0; i < FAMILIES; i++) {
        crew_world_go(number_children, &numbers[i * CHILDREN], 2);
    }
    CHECK_OK(rti_sched_run(&crew_world.sched));
    qsort(numbers, FAMILIES * CHILDREN, sizeof(numbers[0]), compare_numbers);
    for (size_t i = 1; i < FAMILIES * CHILDREN; i++) {
        CHECK(numbers[i - 1] != numbers[i]);
    }
    close_world();
}

/* The same through the public interface: an actor, tasks and poll tasks on the parallel engine. */
static rt_channel_sender *public_tx;
static rt_channel_receiver *public_rx;
static rt_mutex public_mutex;
static uint64_t public_count; /* the mutex guards it */

struct counting {
    rt_async_frame frame;
    rt_select_arm arm;
    rt_selected chosen;
    uint64_t value;
};

static rt_status count_values(void *state, rt_cx *cx)
{
    struct counting *self = state;
    RT_ASYNC_BEGIN(&self->frame);
    rt_arm_recv(&self->arm, public_rx, &self->value);
    for (;;) {
        RT_AWAIT(rt_select(&self->arm, 1, cx, &self->chosen));
        CHECK_OK(rt_awaited);
        if (RT_FAILED(self->chosen.status)) {
            break;
        }
        RT_AWAIT(rt_mutex_lock(&public_mutex, cx));
        CHECK_OK(rt_awaited);
        public_count += self->value;
        CHECK_OK(rt_mutex_unlock(&public_mutex, cx));
    }
    RT_ASYNC_END(RT_SUCCESS);
}

static void *send_some(void *arg)
{
    for (uint64_t i = 1; i <= 200; i++) {
        CHECK_OK(rt_channel_send(public_tx, NULL, &i));
    }
    return arg;
}

static void public_main(void *arg)
{
    static struct counting counters[8];
    rt_async_task *counts[8];
    rt_task *senders[4];
    rt_channel_config config = {.elem_size = 8, .capacity = 2};
    (void)arg;
    memset(counters, 0, sizeof(counters));
    public_count = 0;
    CHECK_OK(rt_channel_create(&config, &public_tx, &public_rx));
    CHECK_OK(rt_mutex_init(&public_mutex));
    for (size_t i = 0; i < 8; i++) {
        counts[i] = rt_async(count_values, &counters[i]);
        CHECK(counts[i] != NULL);
    }
    for (size_t i = 0; i < 4; i++) {
        senders[i] = rt_go(send_some, NULL);
        CHECK(senders[i] != NULL);
    }
    for (size_t i = 0; i < 4; i++) {
        CHECK_OK(rt_join(senders[i], NULL));
    }
    CHECK_OK(rt_channel_close_sender(public_tx));
    for (size_t i = 0; i < 8; i++) {
        rt_status status = {RT_ERR_STATE, NULL};
        CHECK_OK(rt_async_join(&counts[i], NULL, &status));
        CHECK_OK(status);
    }
    CHECK_EQ(public_count, 4 * 200 * 201 / 2);
    CHECK_OK(rt_channel_close_receiver(public_rx));
    CHECK_OK(rt_mutex_deinit(&public_mutex));
    rt_exit();
}

TEST(async_crew_counts_on_the_parallel_engine)
{
    for (int i = 0; i < 5; i++) {
        CHECK_OK(rt_init_ex(&(rt_config){.workers = 4}));
        CHECK(rt_spawn(public_main, NULL) != ACTOR_ID_INVALID);
        rt_run();
        rt_cleanup();
    }
}

/* ---- slots on desks ---- */

#define PROMISED 100
#define KEEPERS  4
#define AT_ONCE  20

static rt_status begins_and_ends(void *state, rt_cx *cx)
{
    (void)state;
    (void)cx;
    return RT_SUCCESS;
}

static rt_status pauses_once(void *state, rt_cx *cx)
{
    (void)state;
    return rt_async_pause(cx);
}

/* Leaves slots on the desk of whatever worker it is on. */
static void *fill_a_desk(void *arg)
{
    rt_async_task *some[AT_ONCE];
    for (int round = 0; round < 200; round++) {
        for (size_t i = 0; i < AT_ONCE; i++) {
            some[i] = rt_async(begins_and_ends, NULL);
            CHECK(some[i] != NULL);
        }
        for (size_t i = 0; i < AT_ONCE; i++) {
            if (i % 4 == 3) {
                CHECK_OK(rt_async_detach(some[i]));
            } else {
                CHECK_OK(rt_async_join(&some[i], NULL, NULL));
            }
        }
        rt_yield();
    }
    return arg;
}

/* As many as were promised live at a time, wherever slots lie. */
static void promise_main(void *arg)
{
    static rt_async_task *all[PROMISED];
    rt_task *keepers[KEEPERS];
    (void)arg;
    rt_async_task *one = rt_async(begins_and_ends, NULL);
    CHECK_OK(rt_async_join(&one, NULL, NULL));
    CHECK_OK(rt_async_reserve(&(rt_async_config){.tasks = PROMISED, .contexts = 8}));
    for (size_t i = 0; i < KEEPERS; i++) {
        keepers[i] = rt_go(fill_a_desk, NULL);
        CHECK(keepers[i] != NULL);
    }
    for (size_t i = 0; i < KEEPERS; i++) {
        CHECK_OK(rt_join(keepers[i], NULL));
    }
    for (size_t i = 0; i < PROMISED; i++) {
        all[i] = rt_async(pauses_once, NULL);
        CHECK(all[i] != NULL);
    }
    CHECK_STATUS(rt_async_reserve(&(rt_async_config){.tasks = 1}), RT_ERR_STATE);
    for (size_t i = 0; i < PROMISED; i++) {
        CHECK_OK(rt_async_cancel(all[i]));
        CHECK_OK(rt_async_join(&all[i], NULL, NULL));
    }
    rt_exit();
}

TEST(async_crew_has_room_for_all_that_were_promised_wherever_slots_lie)
{
    for (int i = 0; i < 5; i++) {
        CHECK_OK(rt_init_ex(&(rt_config){.workers = KEEPERS}));
        CHECK(rt_spawn(promise_main, NULL) != ACTOR_ID_INVALID);
        rt_run();
        rt_cleanup();
    }
}

/* One desk: it gets a parcel, keeps two and returns the third. */
static void count_parcels(void *arg)
{
    static rt_async_task *many[3 * RTI_ASYNC_PARCEL + 1];
    const size_t count = sizeof(many) / sizeof(many[0]);
    (void)arg;
    CHECK_OK(rt_async_reserve(&(rt_async_config){.tasks = count, .contexts = 8}));
    const rti_atomic_u32 *on_desk = &asyncs.desks[0].free_count;
    CHECK_EQ(asyncs.count, count + 2 * RTI_ASYNC_PARCEL);
    for (size_t i = 0; i < count; i++) {
        many[i] = rt_async(begins_and_ends, NULL);
        CHECK(many[i] != NULL);
        CHECK_EQ(rti_u32_load_relaxed(on_desk), RTI_ASYNC_PARCEL - 1 - i % RTI_ASYNC_PARCEL);
    }
    for (size_t i = 0; i < count; i++) {
        CHECK_OK(rt_async_join(&many[i], NULL, NULL));
        CHECK(rti_u32_load_relaxed(on_desk) <= 2 * RTI_ASYNC_PARCEL);
        CHECK_EQ(rti_asyncs_audit(&asyncs), count - 1 - i);
    }
    /* The same slots again, and no others. */
    uint32_t fresh = rti_u32_load_relaxed(&asyncs.fresh);
    for (size_t i = 0; i < count; i++) {
        many[i] = rt_async(begins_and_ends, NULL);
        CHECK(many[i] != NULL);
    }
    for (size_t i = 0; i < count; i++) {
        CHECK_OK(rt_async_join(&many[i], NULL, NULL));
    }
    CHECK_EQ(rti_u32_load_relaxed(&asyncs.fresh), fresh);
}

TEST(async_crew_desk_gets_and_returns_slots_by_the_parcel)
{
    crew_world_open(1);
    CHECK_OK(rti_channels_init(&channels, &crew_world.sched));
    CHECK_OK(rti_asyncs_init(&asyncs, &crew_world.sched));
    crew_world_go(count_parcels, NULL, 2);
    close_world();
}
