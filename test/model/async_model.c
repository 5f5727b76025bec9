/* SPDX-License-Identifier: Apache-2.0 */

/* Who watches the end of a poll task, as rti_asyncs_watch and _unwatch have it: a fiber that joins,
 * a poll task that joined before and has lost interest, and the end. The slot is used again at
 * once, for a task that the same poll task watches: a registration counts only for the handle it
 * was made with and for who made it. And slots on desks: they are counted and handed on with all
 * that their tasks have done. */

#include "task/asyncs.h"

#include "port/explore/port.h"
#include "sched/parker.h"

enum { RESULT = 5 };

#define STALE                                                                                      \
    ((uintptr_t)64 | RTI_ASYNC_IS_TASK) /* a poll task; its slot is never anything else            \
                                         */

#define FIBER ((uintptr_t)&waiter | RTI_ASYNC_IS_FIBER)

static struct rti_sched sched;
static struct rti_asyncs asyncs;
static struct rti_worker nobody; /* who holds no station */
static struct rti_async *async;
static const rt_async_task *handle;
static const rt_async_task *second; /* of the next task in the same slot; NULL: none yet */
static uint64_t result;             /* plain: written by the end, read by who joins */
static struct rti_wait wait;
static struct rti_waiter waiter;
static struct rti_parker parker;
static rti_atomic_u32 wakes;       /* of the fiber */
static rti_atomic_u32 stale_wakes; /* of the poll task */
static rti_atomic_u32 taken;       /* by those who come with the handle in the same moment */
static rti_atomic_u32 refused;

/* Each thread of the model has a station of its own, but for one who has lost it. */
static struct rti_station stations[EXPLORE_THREADS_MAX];
static struct rti_worker workers[EXPLORE_THREADS_MAX];

struct rti_worker *rti_worker_current(void)
{
    unsigned self = explore_self();
    /* Before the first step it is nobody's number. */
    return &workers[self < EXPLORE_THREADS_MAX ? self : 0];
}

/* There is one slot, and it is in use. */
void rti_async_init_slot(struct rti_async *slot, struct rti_asyncs *module)
{
    (void)slot, (void)module;
    EXPLORE_ASSERT(false);
}

static rt_status poll_nothing(void *state, rt_cx *cx)
{
    (void)state, (void)cx;
    return RT_SUCCESS;
}

static void wake_by_parker(struct rti_wait *ended)
{
    (void)rti_u32_add_relaxed(&wakes, 1);
    rti_parker_unpark(ended->target, explore_port());
}

static void begin_task(void)
{
    async->poll = poll_nothing;
    rti_task_to_held(&async->life);
}

static void setup(void)
{
    sched.is_local = false;
    for (unsigned i = 0; i < EXPLORE_THREADS_MAX; i++) {
        workers[i] = (struct rti_worker){.sched = &sched, .station = &stations[i]};
    }
    asyncs.sched = &sched;
    asyncs.slots = asyncs.static_slots;
    asyncs.count = 1;
    rti_u32_init(&asyncs.fresh, 1);
    asyncs.free_head = 1;
    asyncs.parcel_head = 1;
    asyncs.desks_count = 1; /* there are several workers */
    rti_lock_init(&asyncs.lock, &sched, RTI_LOCK_TASK);
    rti_lock_init(&asyncs.guards[0].lock, &sched, RTI_LOCK_TASK);
    async = &asyncs.slots[0];
    async->asyncs = &asyncs;
    rti_u32_init(&async->generation, 1);
    async->watcher = 0;
    rti_task_life_init(&async->life, false);
    begin_task();
    handle = rti_asyncs_handle(&asyncs, async);
    second = NULL;
    result = 0;
    rti_parker_init(&parker);
    rti_u32_init(&wakes, 0);
    rti_u32_init(&stale_wakes, 0);
    rti_u32_init(&taken, 0);
    rti_u32_init(&refused, 0);
    rti_wait_begin(&wait, wake_by_parker, &parker, false);
    explore_name(&async->life.state, "life");
    explore_name(&asyncs.lock.is_taken, "lock");
    explore_name(&asyncs.guards[0].lock.is_taken, "guard");
    explore_name(&parker.state, "parker");
    explore_name(&wait.claimed, "claimed");
    explore_name(&wakes, "wakes");
    explore_name(&stale_wakes, "stale_wakes");
    explore_name(&taken, "taken");
    explore_name(&refused, "refused");
}

/* The poll task has asked for the end before, and goes on with something else. */
static void setup_stale(void)
{
    setup();
    EXPLORE_ASSERT(rti_asyncs_watch(&asyncs, handle, STALE) == RTI_ASYNC_FOUND_LIVE);
}

/* The end, as async_end_shared, async_conclude and async_tell have it. */
static void end(void)
{
    RTI_PLAIN_WRITE(&result, sizeof result);
    result = RESULT;
    if (rti_task_to_complete(&async->life) ||
        rti_task_to_ended(&async->life) != RTI_TASK_END_TELL) {
        return;
    }
    RTI_PLAIN_READ(&async->watcher, sizeof(async->watcher));
    uintptr_t watcher = async->watcher;
    if (watcher == STALE) {
        rti_task_to_told(&async->life);
        (void)rti_u32_add_relaxed(&stale_wakes, 1);
        return;
    }
    EXPLORE_ASSERT(watcher == FIBER);
    struct rti_waiter *told = (struct rti_waiter *)(watcher & ~RTI_ASYNC_IS);
    RTI_PLAIN_READ(&waiter, sizeof waiter);
    bool is_won = rti_wait_claim(told->wait, told->event);
    rti_task_to_told(&async->life);
    if (is_won) {
        rti_waiter_wake(told);
    }
}

static void unlink_waiter(struct rti_waiter *gone)
{
    rti_asyncs_unwatch(&asyncs, gone->slot, (uintptr_t)gone | RTI_ASYNC_IS_FIBER);
}

/* A fiber waits for the end, as join_park has it. */
static void await_end(void)
{
    rti_wait_add(&wait, &waiter, RTI_EVENT_SOURCE, unlink_waiter);
    RTI_PLAIN_WRITE(&waiter, sizeof waiter);
    waiter.slot = (void *)(uintptr_t)handle;
    if (rti_asyncs_watch(&asyncs, handle, FIBER) != RTI_ASYNC_FOUND_LIVE) {
        return;
    }
    EXPLORE_ASSERT(rti_parker_park(&parker, explore_port(), RTI_TIME_NEVER));
    rti_wait_finish(&wait);
    /* The stack is used for something else. */
    RTI_PLAIN_WRITE(&waiter, sizeof waiter);
    waiter.event = RTI_EVENT_NONE;
}

static void join(void)
{
    if (!rti_async_has_ended(async)) {
        await_end();
    }
    EXPLORE_ASSERT(rti_async_has_ended(async));
    RTI_PLAIN_READ(&result, sizeof result);
    EXPLORE_ASSERT(result == RESULT);
    EXPLORE_ASSERT(rti_asyncs_collect(&asyncs, &nobody, handle, NULL) == RTI_ASYNC_FOUND_ENDED);
}

/* The slot is another task's at once, and the poll task watches that one. */
static void join_and_reuse(void)
{
    join();
    struct rti_async *again = rti_asyncs_take(&asyncs, &nobody);
    EXPLORE_ASSERT(again == async);
    begin_task();
    second = rti_asyncs_handle(&asyncs, async);
    EXPLORE_ASSERT(rti_asyncs_watch(&asyncs, second, STALE) == RTI_ASYNC_FOUND_LIVE);
}

static void lose_interest(void)
{
    rti_asyncs_unwatch(&asyncs, handle, STALE);
}

static void check(void)
{
    EXPLORE_ASSERT(rti_u32_load_relaxed(&wakes) <= 1);
    EXPLORE_ASSERT(asyncs.free_head < asyncs.count && async->poll == NULL);
    explore_outcome(rti_u32_load_relaxed(&wakes));
}

static void check_reused(void)
{
    EXPLORE_ASSERT(rti_u32_load_relaxed(&wakes) <= 1);
    EXPLORE_ASSERT(rti_u32_load_relaxed(&wakes) + rti_u32_load_relaxed(&stale_wakes) <= 1);
    /* What was registered for the second task is still there. */
    EXPLORE_ASSERT(rti_task_life(&async->life) == RTI_TASK_WATCHED && async->watcher == STALE);
    explore_outcome(rti_u32_load_relaxed(&wakes) << 1 | rti_u32_load_relaxed(&stale_wakes));
}

MODEL(async_end_races_with_a_join){
    .about = "a join of a poll task either sees the end or is told of it",
    .setup = setup,
    .threads = {join, end},
    .check = check,
    .outcomes = {{2, {0, 1}}, {2, {0, 1}}},
};

MODEL(async_watcher_that_lost_interest_leaves_the_place_to_the_next){
    .about = "an old registration neither stays nor takes away a new one, of the same slot or not",
    .setup = setup_stale,
    .threads = {join_and_reuse, end, lose_interest},
    .check = check_reused,
    .outcomes = {{3, {0, 1, 2}}, {3, {0, 1, 2}}},
};

/* Comes with the handle, whatever others do with it. */
static void collect(void)
{
    bool is_taken = rti_asyncs_collect(&asyncs, &nobody, handle, NULL) == RTI_ASYNC_FOUND_ENDED;
    (void)rti_u32_add_relaxed(is_taken ? &taken : &refused, 1);
}

/* The same for who would wait if there were nothing to take. */
static void collect_ended(void)
{
    bool is_taken =
        rti_asyncs_collect_ended(&asyncs, &nobody, handle, NULL) == RTI_ASYNC_FOUND_ENDED;
    (void)rti_u32_add_relaxed(is_taken ? &taken : &refused, 1);
}

/* The same, when it has ended: the slot is another task's at once. */
static void collect_and_reuse(void)
{
    bool is_taken = rti_asyncs_collect(&asyncs, &nobody, handle, NULL) == RTI_ASYNC_FOUND_ENDED;
    (void)rti_u32_add_relaxed(is_taken ? &taken : &refused, 1);
    if (is_taken) {
        struct rti_async *again = rti_asyncs_take(&asyncs, &nobody);
        EXPLORE_ASSERT(again == async);
        begin_task();
        end();
    }
}

static void setup_ended(void)
{
    setup();
    end();
}

/* The second task has ended, and is there for who has its handle. */
static void check_taken(void)
{
    EXPLORE_ASSERT(rti_u32_load_relaxed(&taken) == 1 && rti_u32_load_relaxed(&refused) == 1);
    explore_outcome(async->poll != NULL);
}

MODEL(async_joins_of_one_handle_are_one_join){
    .about = "of two who come with one handle one takes the result, and none that of the next task",
    .setup = setup_ended,
    .threads = {collect, collect_and_reuse},
    .check = check_taken,
    .outcomes = {{2, {0, 1}}, {2, {0, 1}}},
};

MODEL(async_joins_that_look_first_are_one_join){
    .about = "the same for one who looks for the end before it takes the guard",
    .setup = setup_ended,
    .threads = {collect_ended, collect_and_reuse},
    .check = check_taken,
    .outcomes = {{2, {0, 1}}, {2, {0, 1}}},
};

/* The end is not there yet, perhaps: who sees it without the guard sees all that came before. */
static void look_for_end(void)
{
    if (rti_asyncs_collect_ended(&asyncs, &nobody, handle, NULL) == RTI_ASYNC_FOUND_ENDED) {
        RTI_PLAIN_READ(&result, sizeof result);
        EXPLORE_ASSERT(result == RESULT && async->poll == NULL);
        (void)rti_u32_add_relaxed(&taken, 1);
    }
}

static void check_seen(void)
{
    EXPLORE_ASSERT((async->poll == NULL) == (rti_u32_load_relaxed(&taken) == 1));
    explore_outcome(rti_u32_load_relaxed(&taken));
}

MODEL(async_end_that_is_seen_without_the_guard_is_complete){
    .about = "who finds the end before it takes the guard finds the result, and the slot as it was",
    .setup = setup,
    .threads = {look_for_end, end},
    .check = check_seen,
    .outcomes = {{2, {0, 1}}, {2, {0, 1}}},
};

/* Another fiber comes while the first may wait: it does not take its place. */
static void come_second(void)
{
    static struct rti_wait other_wait;
    static struct rti_waiter other;
    rti_wait_begin(&other_wait, wake_by_parker, NULL, false);
    rti_wait_add(&other_wait, &other, RTI_EVENT_SOURCE, unlink_waiter);
    uintptr_t watcher = (uintptr_t)&other | RTI_ASYNC_IS_FIBER;
    enum rti_async_found found = rti_asyncs_watch(&asyncs, handle, watcher);
    EXPLORE_ASSERT(found != RTI_ASYNC_FOUND_LIVE);
    (void)rti_u32_add_relaxed(&refused, found == RTI_ASYNC_FOUND_AWAITED);
}

static void await_first(void)
{
    EXPLORE_ASSERT(rti_parker_park(&parker, explore_port(), RTI_TIME_NEVER));
    rti_wait_finish(&wait);
    EXPLORE_ASSERT(rti_asyncs_collect(&asyncs, &nobody, handle, NULL) == RTI_ASYNC_FOUND_ENDED);
}

/* The first one waits already. */
static void setup_awaited(void)
{
    setup();
    rti_wait_add(&wait, &waiter, RTI_EVENT_SOURCE, unlink_waiter);
    waiter.slot = (void *)(uintptr_t)handle;
    EXPLORE_ASSERT(rti_asyncs_watch(&asyncs, handle, FIBER) == RTI_ASYNC_FOUND_LIVE);
}

static void check_awaited(void)
{
    EXPLORE_ASSERT(rti_u32_load_relaxed(&wakes) == 1);
    explore_outcome(rti_u32_load_relaxed(&refused));
}

MODEL(async_fiber_that_waits_keeps_its_place){
    .about = "a fiber that waits for an end is told of it, whoever else comes with the handle",
    .setup = setup_awaited,
    .threads = {await_first, end, come_second},
    .check = check_awaited,
    .outcomes = {{2, {0, 1}}, {2, {0, 1}}},
};

/* The holder of a desk, which has no slots yet. */
static struct rti_station station;
static struct rti_worker holder;

static void setup_desk(void)
{
    setup();
    station = (struct rti_station){.index = 0};
    holder = (struct rti_worker){.station = &station};
    asyncs.desks_count = 1;
    asyncs.has_desk_slots = true;
    asyncs.desks[0].free_head = 0;
    asyncs.desks[0].free_min = 0;
    asyncs.desks[0].free_max = RTI_ASYNC_PARCEL;
    rti_u32_init(&asyncs.desks[0].free_count, 0);
    explore_name(&asyncs.desks[0].free_count, "on desk");
}

static void setup_ended_at_desk(void)
{
    setup_desk();
    end();
}

/* As collect_and_reuse, without the lock. */
static void collect_and_reuse_at_desk(void)
{
    bool is_taken = rti_asyncs_collect(&asyncs, &holder, handle, NULL) == RTI_ASYNC_FOUND_ENDED;
    (void)rti_u32_add_relaxed(is_taken ? &taken : &refused, 1);
    if (is_taken) {
        struct rti_async *again = rti_asyncs_take(&asyncs, &holder);
        EXPLORE_ASSERT(again == async);
        begin_task();
        end();
    }
}

MODEL(async_joins_of_one_handle_are_one_join_at_a_desk){
    .about = "the same where the slot is used again by who keeps it on its desk",
    .setup = setup_ended_at_desk,
    .threads = {collect, collect_and_reuse_at_desk},
    .check = check_taken,
    .outcomes = {{2, {0, 1}}, {2, {0, 1}}},
};

/* A task that nobody holds ends, and its slot goes to the desk. */
static void end_at_desk(void)
{
    RTI_PLAIN_WRITE(&result, sizeof result);
    result = RESULT;
    rti_u8_store_relaxed(&async->life.state, RTI_TASK_FREE);
    rti_asyncs_free(&asyncs, &holder, async, (uint32_t)(async - asyncs.slots));
}

/* Somebody asks whether there are tasks. Nothing begins, and there is one desk: the end may come
 * meanwhile. */
static void count_used(void)
{
    rti_lock_acquire(&asyncs.lock, &sched);
    size_t used = rti_asyncs_used(&asyncs);
    rti_lock_release(&asyncs.lock);
    EXPLORE_ASSERT(used <= 1);
    if (used == 0) {
        RTI_PLAIN_READ(&result, sizeof result);
        EXPLORE_ASSERT(result == RESULT);
        RTI_PLAIN_READ(&async->poll, sizeof(async->poll));
        EXPLORE_ASSERT(async->poll == NULL);
    }
    (void)rti_u32_add_relaxed(&taken, used == 0);
}

static void check_counted(void)
{
    explore_outcome(rti_u32_load_relaxed(&taken));
}

MODEL(async_slot_on_a_desk_is_counted_after_its_task){
    .about = "who finds that all slots were given back finds all that their tasks have done",
    .setup = setup_desk,
    .threads = {end_at_desk, count_used},
    .check = check_counted,
    .outcomes = {{2, {0, 1}}, {2, {0, 1}}},
};

/* A parcel and as many beside it, on the desk, and one slot in use. */
enum { PARCELS = 2 * RTI_ASYNC_PARCEL };

static void setup_parcels(void)
{
    setup_desk();
    asyncs.count = PARCELS + 1;
    rti_u32_init(&asyncs.fresh, PARCELS + 1);
    asyncs.free_head = asyncs.count;
    for (uint32_t i = 1; i <= PARCELS; i++) {
        asyncs.slots[i].asyncs = &asyncs;
        asyncs.slots[i].poll = NULL;
        asyncs.slots[i].next_free = i + 1;
        rti_task_life_init(&asyncs.slots[i].life, false);
    }
    asyncs.parcel_head = asyncs.count;
    asyncs.desks[0].free_head = 1;
    asyncs.desks[0].parcel = 1 + RTI_ASYNC_PARCEL;
    asyncs.desks[0].free_min = RTI_ASYNC_PARCEL;
    asyncs.desks[0].free_max = PARCELS;
    rti_u32_init(&asyncs.desks[0].free_count, PARCELS);
}

/* The desk is full and returns its parcel; then it opens the next one, is empty, and gets one. */
static void return_and_get(void)
{
    uint32_t taken_slots = 0;
    end_at_desk();
    for (uint32_t i = 0; i <= RTI_ASYNC_PARCEL; i++) {
        const struct rti_async *got = rti_asyncs_desk_take(&asyncs, &asyncs.desks[0]);
        EXPLORE_ASSERT(got != NULL);
        uint32_t bit = UINT32_C(1) << (got - asyncs.slots);
        EXPLORE_ASSERT((taken_slots & bit) == 0);
        taken_slots |= bit;
    }
    EXPLORE_ASSERT(rti_asyncs_desk_fill(&asyncs, &asyncs.desks[0]) == RTI_ASYNC_PARCEL);
    uint32_t at = asyncs.desks[0].free_head;
    for (uint32_t i = 0; i < RTI_ASYNC_PARCEL; i++, at = asyncs.slots[at].next_free) {
        EXPLORE_ASSERT(at < asyncs.count && (taken_slots >> at & 1) == 0);
    }
}

/* Somebody counts meanwhile: with one desk no slot can come to another after it was counted, so
 * there are never more in use than those the holder may have taken. */
static void count_meanwhile(void)
{
    rti_lock_acquire(&asyncs.lock, &sched);
    size_t used = rti_asyncs_used(&asyncs);
    rti_lock_release(&asyncs.lock);
    EXPLORE_ASSERT(used <= RTI_ASYNC_PARCEL + 1);
}

static void check_parcels(void)
{
    EXPLORE_ASSERT(rti_asyncs_used(&asyncs) == RTI_ASYNC_PARCEL + 1);
    EXPLORE_ASSERT(asyncs.free_head == asyncs.count);
}

MODEL(async_parcels_are_counted_once){
    .about = "a slot that goes from a desk to the list and back is counted at one of them",
    .setup = setup_parcels,
    .threads = {return_and_get, count_meanwhile},
    .check = check_parcels,
};

/* ---- who works alone ---- */

static struct rti_crew crew;
static struct rti_member member;
static struct rti_port port;
static struct rti_port_ops ops;

static uint64_t clock_that_stands(struct rti_port *of)
{
    (void)of;
    return 1;
}

/* The first thread works alone and keeps slots on its desk; the other has no station. */
static void setup_solo(void)
{
    setup_desk();
    end();
    ops = *explore_port()->ops;
    ops.clock_ns = clock_that_stands;
    port = (struct rti_port){.ops = &ops};
    sched.port = &port;
    sched.crew = &crew;
    crew = (struct rti_crew){.sched = &sched, .stations_count = 1};
    rti_lock_init(&crew.lock, &sched, RTI_LOCK_CREW);
    member = (struct rti_member){.crew = &crew, .worker = &workers[0]};
    crew.solo = &member;
    rti_u32_init(&workers[0].is_solo, 1);
    rti_u32_init(&workers[0].is_inside, 0);
    workers[1].station = NULL;
    explore_name(&workers[0].is_solo, "solo");
    explore_name(&workers[0].is_inside, "inside");
    explore_name(&crew.lock.is_taken, "crew");
}

static void collect_alone_and_reuse(void)
{
    bool is_taken =
        rti_asyncs_collect_ended(&asyncs, &workers[0], handle, NULL) == RTI_ASYNC_FOUND_ENDED;
    (void)rti_u32_add_relaxed(is_taken ? &taken : &refused, 1);
    if (is_taken) {
        struct rti_async *again = rti_asyncs_take(&asyncs, &workers[0]);
        EXPLORE_ASSERT(again == async);
        begin_task();
        end();
    }
}

static void collect_as_a_guest(void)
{
    bool is_taken = rti_asyncs_collect(&asyncs, &workers[1], handle, NULL) == RTI_ASYNC_FOUND_ENDED;
    (void)rti_u32_add_relaxed(is_taken ? &taken : &refused, 1);
}

MODEL(async_joins_of_one_handle_are_one_join_beside_who_works_alone){
    .about = "the same where one works alone, and the other has no station",
    .setup = setup_solo,
    .threads = {collect_alone_and_reuse, collect_as_a_guest},
    .check = check_taken,
    .outcomes = {{2, {0, 1}}, {2, {0, 1}}},
};
