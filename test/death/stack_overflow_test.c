/* SPDX-License-Identifier: Apache-2.0 */
/* Actors that use up their stacks, in every way there is, on the real machine: each ends alone,
 * with RT_EXIT_CRASH_STACK, and its neighbours' stacks are as they were. */
#define _GNU_SOURCE
#define RTI_MODULE "stack_overflow_test"
#include <alloca.h>
#include <orrery/rt.h>
#include <stdlib.h>

#include "port/linux/port_linux.h"
#include "runtime/runtime.h"
#include "support/actors.h"
#include "support/test.h"

#define STACK_SIZE 32768

/* How a shape goes down. */
struct shape {
    size_t frame;       /* bytes of each frame, beside what the compiler needs */
    void (*call)(void); /* made at each level; NULL: none */
    bool is_written;    /* the whole frame, else only what the compiler probes */
};

/* Goes down for ever. The volatile sum keeps the compiler from making a loop of it. */
static __attribute__((noinline)) size_t descend(const struct shape *shape, size_t depth)
{
    volatile char *frame = alloca(shape->frame);
    frame[0] = (char)depth;
    if (shape->is_written) {
        memset((void *)(uintptr_t)frame, (int)depth, shape->frame);
    }
    if (shape->call != NULL) {
        shape->call();
    }
    if (depth == SIZE_MAX) {
        return 0;
    }
    return descend(shape, depth + 1) + (size_t)frame[0];
}

static void descends(void *arg)
{
    descend(arg, 0);
    rt_exit();
}

/* The victim: what it does is told by its shape or by its function. */
static actor_fn victim_fn = descends;
static void *victim_arg;
static actor_config victim_config;

/* What the watcher heard. */
static int told_links;
static int told_monitors;
static rt_exit_reason last_reason;

static void watch_one(void)
{
    actor_id id = rt_spawn_ex(victim_fn, victim_arg, &victim_config);
    CHECK(id != ACTOR_ID_INVALID);
    uint32_t ref;
    CHECK_OK(rt_link(id));
    CHECK_OK(rt_monitor(id, &ref));
    for (int i = 0; i < 2; i++) {
        rt_message msg;
        rt_exit_msg end;
        CHECK_OK(rt_ipc_recv(&msg, -1));
        CHECK_OK(rt_decode_exit(&msg, &end));
        CHECK_EQ(end.actor, id);
        last_reason = end.reason;
        if (i == 0) {
            told_links++;
        } else {
            told_monitors++;
        }
    }
    CHECK(!rt_actor_alive(id));
}

static int victims;

static void watcher(void *arg)
{
    (void)arg;
    for (int i = 0; i < victims; i++) {
        watch_one();
        CHECK_EQ(last_reason, RT_EXIT_CRASH_STACK);
    }
    rt_exit();
}

static void start(size_t stack_size)
{
    victim_config = (actor_config){.stack_size = stack_size, .priority = RT_PRIO_NORMAL};
    victims = 1;
    CHECK_OK(rt_init());
}

/* Runs the watcher to its end, and everything with it. */
static void run_and_stop(void)
{
    CHECK(rt_spawn(watcher, NULL) != ACTOR_ID_INVALID);
    rt_run();
    CHECK_EQ(told_links, victims);
    CHECK_EQ(told_monitors, victims);
    rt_cleanup();
}

static void overflow_with(struct shape *shape)
{
    victim_arg = shape;
    start(STACK_SIZE);
    run_and_stop();
}

TEST(overflow_by_recursion_ends_the_actor_alone)
{
    static struct shape shape = {.frame = 16};
    overflow_with(&shape);
}

TEST(overflow_by_one_frame_of_40_kb_ends_the_actor_alone)
{
    static struct shape shape = {.frame = 40960};
    overflow_with(&shape);
}

TEST(overflow_by_one_frame_much_larger_than_everything_ends_the_actor_alone)
{
    static struct shape shape = {.frame = (size_t)64 << 20};
    overflow_with(&shape);
}

static void allocates_in_a_loop(void *arg)
{
    (void)arg;
    for (;;) {
        volatile char *more = alloca(48);
        more[0] = 1;
    }
}

TEST(overflow_by_alloca_in_a_loop_ends_the_actor_alone)
{
    victim_fn = allocates_in_a_loop;
    start(STACK_SIZE);
    run_and_stop();
}

/* A frame that is there at once, not made by alloca. The address sanitizer would put the array
 * elsewhere. */
static RTI_UNSANITIZED int large_frame(int seed)
{
    volatile char frame[40960];
    frame[0] = (char)seed;
    frame[sizeof(frame) - 1] = (char)seed;
    __asm__ volatile("" : : "r"(frame) : "memory"); /* all of it is there */
    return frame[seed];
}

static void has_a_large_frame(void *arg)
{
    (void)arg;
    large_frame(1);
    rt_exit();
}

TEST(overflow_by_a_local_array_of_40_kb_ends_the_actor_alone)
{
    victim_fn = has_a_large_frame;
    start(RT_ACTOR_STACK_SIZE_MIN);
    run_and_stop();
}

TEST(overflow_of_the_smallest_and_the_largest_stack_ends_the_actor_alone)
{
    static struct shape shape = {.frame = 100};
    victim_arg = &shape;
    start(RT_ACTOR_STACK_SIZE_MIN);
    run_and_stop();
    told_links = told_monitors = 0;
    start(RT_STACK_ARENA_SIZE - RT_DEFAULT_STACK_SIZE);
    run_and_stop();
}

TEST(overflow_of_a_stack_of_the_heap_ends_the_actor_alone)
{
    static struct shape shape = {.frame = 200, .is_written = true};
    victim_arg = &shape;
    start(STACK_SIZE);
    victim_config.malloc_stack = true;
    victims = 50;
    run_and_stop();
}

static void say_line(void)
{
    rt_run();
}

TEST(overflow_is_logged_with_the_actors_number)
{
    static struct shape shape = {.frame = 16};
    start(STACK_SIZE);
    actor_config config = {.stack_size = STACK_SIZE};
    actor_id id = rt_spawn_ex(descends, &shape, &config);
    const char *said = actors_capture(say_line);
    char wanted[64];
    snprintf(wanted, sizeof(wanted), "Actor %u stack overflow detected\n", (unsigned)id);
    CHECK(strstr(said, wanted) != NULL);
    rt_cleanup();
}

/* Neighbours: their stacks hold a pattern while the victims fall. */

#define NEIGHBOURS 4

struct neighbour {
    unsigned char pattern;
    int checked;
};

static struct neighbour neighbours[NEIGHBOURS];

static void is_a_neighbour(void *arg)
{
    struct neighbour *self = arg;
    unsigned char frame[8192];
    memset(frame, self->pattern, sizeof(frame));
    rt_message msg;
    for (;;) {
        __asm__ volatile("" : : "r"(frame) : "memory");
        CHECK_OK(rt_ipc_recv(&msg, -1));
        for (size_t i = 0; i < sizeof(frame); i++) {
            CHECK_EQ(frame[i], self->pattern);
        }
        self->checked++;
        if (msg.len == 0) {
            rt_exit();
        }
    }
}

static actor_id neighbour_ids[NEIGHBOURS];

static void spawn_neighbour(size_t i)
{
    actor_config config = {.stack_size = 16384, .priority = RT_PRIO_HIGH};
    neighbours[i].pattern = (unsigned char)(0x11 * (i + 1));
    neighbour_ids[i] = rt_spawn_ex(is_a_neighbour, &neighbours[i], &config);
    CHECK(neighbour_ids[i] != ACTOR_ID_INVALID);
}

/* One hundred shapes: twenty sizes of frame, written or only probed, with and without calls of the
 * runtime on the way. */

static void call_nothing(void)
{
}

static void call_self(void)
{
    CHECK(rt_self() != ACTOR_ID_INVALID);
}

static void call_send(void)
{
    (void)rt_ipc_send(rt_self(), "12345678", 8, IPC_ASYNC);
}

static void call_yield(void)
{
    rt_yield();
}

static const size_t frame_sizes[] = {1,    8,    24,    64,    100,   128,    200,
                                     333,  512,  777,   1024,  2048,  3000,   4096,
                                     5000, 8192, 12288, 16384, 40960, 1 << 20};

static void (*const level_calls[])(void) = {NULL, call_nothing, call_self, call_send, call_yield};

#define SHAPES (RTI_COUNT_OF(frame_sizes) * RTI_COUNT_OF(level_calls))

static void hundred_shapes(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < NEIGHBOURS / 2; i++) {
        spawn_neighbour(i);
    }
    /* The first victim's stack lies between those of neighbours, and is used again and again. */
    static struct shape shape = {.frame = 16};
    victim_arg = &shape;
    watch_one();
    for (size_t i = NEIGHBOURS / 2; i < NEIGHBOURS; i++) {
        spawn_neighbour(i);
    }
    for (size_t i = 0; i < SHAPES; i++) {
        shape.frame = frame_sizes[i % RTI_COUNT_OF(frame_sizes)];
        shape.call = level_calls[i / RTI_COUNT_OF(frame_sizes)];
        shape.is_written = i % 2 == 0 && shape.frame < 4096;
        watch_one();
        CHECK_EQ(last_reason, RT_EXIT_CRASH_STACK);
        for (size_t n = 0; n < NEIGHBOURS; n++) {
            CHECK_OK(rt_ipc_send(neighbour_ids[n], "?", 1, IPC_ASYNC));
        }
    }
    for (size_t n = 0; n < NEIGHBOURS; n++) {
        CHECK_OK(rt_ipc_send(neighbour_ids[n], NULL, 0, IPC_ASYNC));
    }
    rt_exit();
}

TEST(overflow_in_a_hundred_shapes_leaves_the_neighbours_alone)
{
    CHECK_EQ(SHAPES, 100);
    start(16384);
    CHECK(rt_spawn(hundred_shapes, NULL) != ACTOR_ID_INVALID);
    rt_run();
    CHECK_EQ(told_links, 1 + (int)SHAPES);
    for (size_t i = 0; i < NEIGHBOURS; i++) {
        CHECK_EQ(neighbours[i].checked, (int)SHAPES + 1);
    }
    rt_cleanup();
}

TEST(overflow_a_thousand_times_leaks_nothing)
{
    static struct shape shape = {.frame = 64};
    victim_arg = &shape;
    start(STACK_SIZE);
    victims = 1000;
    CHECK(rt_spawn(watcher, NULL) != ACTOR_ID_INVALID);
    rt_run();
    CHECK_EQ(told_links, 1000);
    const struct rti_actors *actors = &rti_runtime.actors;
    rti_actors_audit(actors);
    CHECK_EQ(rti_actors_count(actors), 0);
    CHECK_EQ(rti_runtime.stacks.free_bytes, RT_STACK_ARENA_SIZE);
    CHECK_EQ(rti_arena_stats(&rti_runtime.stacks.arena).used_count, rti_runtime.stacks.kept_count);
    /* The victims used one stack, the watcher the other. */
    CHECK_EQ(rti_runtime.stacks.kept_count, 2);
    CHECK_EQ(rti_pool_in_use(&actors->ipc.entries), 0);
    CHECK_EQ(rti_pool_in_use(&actors->links.pool), 0);
    rt_cleanup();
}

/* SYNC: the victim holds a message whose sender waits. */

static actor_id holder;
static rt_status_code sync_result;

static void overflows_while_holding(void *arg)
{
    rt_message msg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    descend(arg, 0);
    rt_exit();
}

static void sends_sync(void *arg)
{
    (void)arg;
    sync_result = rt_ipc_send(holder, "x", 1, IPC_SYNC).code;
    rt_exit();
}

TEST(overflow_of_the_receiver_ends_a_sync_send_with_closed)
{
    static struct shape shape = {.frame = 64};
    start(STACK_SIZE);
    holder = rt_spawn(overflows_while_holding, &shape);
    CHECK(rt_spawn(sends_sync, NULL) != ACTOR_ID_INVALID);
    sync_result = RT_OK;
    rt_run();
    CHECK_EQ(sync_result, RT_ERR_CLOSED);
    rt_cleanup();
}

/* What the victim holds through a context in one of its frames is given back while that frame is
 * still there. */

static rt_channel_sender *channel_tx;
static rt_channel_receiver *channel_rx;

static void overflows_with_a_permit(void *arg)
{
    (void)arg;
    static struct shape shape = {.frame = 64};
    rt_cx cx;
    rt_send_permit permit;
    CHECK_OK(rt_cx_init(&cx));
    CHECK_OK(rt_channel_try_reserve(channel_tx, &cx, &permit));
    CHECK_STATUS(rt_channel_try_send(channel_tx, &(int){1}), RT_ERR_FULL);
    descend(&shape, 0);
    rt_exit();
}

TEST(overflow_gives_back_the_permits_that_the_actor_held)
{
    static uint64_t memory[8];
    rt_channel_config config = {
        .elem_size = sizeof(int), .capacity = 1, .memory = memory, .memory_size = sizeof(memory)};
    victim_fn = overflows_with_a_permit;
    start(STACK_SIZE);
    CHECK_OK(rt_channel_create(&config, &channel_tx, &channel_rx));
    victims = 3;
    CHECK(rt_spawn(watcher, NULL) != ACTOR_ID_INVALID);
    rt_run();
    CHECK_EQ(told_links, 3);
    int value = 7;
    CHECK_OK(rt_channel_try_send(channel_tx, &value));
    CHECK_OK(rt_channel_try_recv(channel_rx, &value));
    CHECK_EQ(value, 7);
    CHECK_OK(rt_channel_close_sender(channel_tx));
    CHECK_OK(rt_channel_close_receiver(channel_rx));
    rt_cleanup();
}

/* A filter runs inside of a receive. */

static struct shape filter_shape = {.frame = 64};

static bool filter_overflows(const rt_message *msg, void *arg)
{
    (void)msg;
    return descend(arg, 0) != 0;
}

static void receives_with_a_filter(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_OK(rt_ipc_send(rt_self(), "1", 1, IPC_ASYNC));
    CHECK_OK(rt_ipc_send(rt_self(), "2", 1, IPC_ASYNC));
    rt_ipc_filter filter = {
        .sender = ACTOR_ID_INVALID, .match = filter_overflows, .arg = &filter_shape};
    (void)rt_ipc_recv_match(&filter, &msg, -1);
    rt_exit();
}

TEST(overflow_inside_a_filter_ends_the_actor_alone)
{
    victim_fn = receives_with_a_filter;
    start(STACK_SIZE);
    run_and_stop();
}

/* The call that finds no room for itself: with k bytes left, for every k. */

static size_t bytes_left;

static __attribute__((noinline)) void call_with_little_left(void)
{
    struct rti_fiber *self = rti_fiber_current();
    char *here = rti_arch_stack_pointer();
    volatile char *fill = alloca((size_t)(here - rti_stack_low(&self->stack)) - bytes_left - 256);
    fill[0] = 1;
    for (int i = 0; i < 3; i++) {
        rt_message msg;
        (void)rt_ipc_send(rt_self(), "1", 1, IPC_ASYNC);
        (void)rt_ipc_recv(&msg, 10);
        rt_yield();
    }
    /* Not reached with less than the reserve: a call has ended this actor. */
    CHECK(bytes_left + 1024 > RTI_STACK_RESERVE);
}

static void calls_with_little_left(void *arg)
{
    (void)arg;
    call_with_little_left();
    rt_exit();
}

TEST(overflow_is_found_by_the_call_that_has_no_room)
{
    victim_fn = calls_with_little_left;
    start(STACK_SIZE);
    victims = 1;
    for (bytes_left = 16; bytes_left < RTI_STACK_RESERVE - 512; bytes_left += 16) {
        CHECK(rt_spawn(watcher, NULL) != ACTOR_ID_INVALID);
        rt_run();
        CHECK_EQ(last_reason, RT_EXIT_CRASH_STACK);
    }
    CHECK_EQ(told_links, (int)((RTI_STACK_RESERVE - 512) / 16 - 1));
    rti_actors_audit(&rti_runtime.actors);
    rt_cleanup();
}

/* The simulator has the same stacks. */

static void sim_main(void *arg)
{
    victim_arg = arg;
    victim_config = (actor_config){.stack_size = STACK_SIZE};
    victims = 3;
    watcher(NULL);
}

TEST(overflow_in_the_simulator_is_the_same_each_time)
{
    static struct shape shape = {.frame = 64};
    rt_sim_report report[2];
    for (int i = 0; i < 2; i++) {
        rt_sim_config config = {.seed = 7, .report = &report[i]};
        CHECK_OK(rt_sim_run(&config, sim_main, &shape));
    }
    CHECK_EQ(told_links, 6);
    CHECK(report[0].trace_hash == report[1].trace_hash);
}

TEST(overflow_is_contained_after_the_runtime_began_anew)
{
    static struct shape shape = {.frame = 64};
    victim_arg = &shape;
    for (int i = 0; i < 5; i++) {
        told_links = told_monitors = 0;
        start(STACK_SIZE);
        run_and_stop();
    }
}
