/* SPDX-License-Identifier: Apache-2.0 */
/* A tree of supervisors on virtual workers: children of both kinds, with names and kept addresses,
 * end, crash and are killed, supervisors too, while others ask for children to be added, stopped,
 * started and forgotten, and send to their groups and share blobs with them. No child has two lives
 * at a time, each has its name from its first turn on, every request is answered with a status that
 * is documented, and when the root has stopped nobody lives and nothing is held.
 *
 * Seeds: 20 */
#define _GNU_SOURCE
#define RTI_MODULE "supervise_sim_test"
#include <orrery/rt.h>

#include "actor/behaviour.h"
#include "actor/blob.h"
#include "base/atomic.h"
#include "runtime/runtime.h"
#include "support/test.h"
#include "virtual/world.h"

TEST_TIMEOUT(60);

#define GREMLINS 3
#define STEPS    16
#define CHILDREN 5 /* listed; the last is added */

static const actor_config small = {.stack_size = 32768, .priority = RT_PRIO_NORMAL};

static struct {
    rti_atomic_u32 lives[CHILDREN]; /* of those without a stack: now */
    rti_atomic_u32 starts;
    rti_atomic_u32 done; /* gremlins */
    bool kills_supervisors;
} play;

static uint64_t draw(uint64_t *dice, uint64_t n)
{
    *dice = *dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*dice >> 33) % n;
}

enum { ASK_END, ASK_CRASH, ASK_WORK };

/* What goes with its life: a membership, memory, holds. */
static void own_something(void)
{
    rt_heap_mark mark = rt_heap_mark_get();
    CHECK_OK(rt_group_join("children"));
    WITNESS(rt_heap_alloc(40) != NULL);
    CHECK_OK(rt_heap_release(mark));
    WITNESS(rt_heap_alloc(100) != NULL);
}

static void check_bytes(const rt_blob *blob)
{
    const char *bytes = rt_blob_data(blob);
    for (size_t i = 0; i < rt_blob_size(blob); i++) {
        WITNESS(bytes[i] == 'x');
    }
}

static void obey(void *state, const rt_behaviour_message *msg)
{
    rt_blob *blob;
    rt_blob *part;
    (void)state;
    rti_virtual_compute();
    if (msg->id == ASK_WORK && !RT_FAILED(rt_blob_take_from(msg, &blob))) {
        check_bytes(blob);
        /* A part of it goes on to another; what it holds itself goes with its life. */
        if (rt_blob_size(blob) > 8 && !RT_FAILED(rt_blob_slice(blob, 4, 8, &part))) {
            (void)rt_blob_send(rt_whereis("b"), ASK_WORK, part);
            rt_blob_release(part);
        }
    }
    if (msg->id != ASK_WORK) {
        CHECK_OK(rt_behaviour_end(msg->id == ASK_END ? RT_EXIT_NORMAL : RT_EXIT_CRASH));
    }
}

/* Asked to stop: later, by a message to itself. */
static void stop_later(void *state)
{
    (void)state;
    if (RT_FAILED(rt_behaviour_send(rt_self(), ASK_END, NULL, 0))) {
        CHECK_OK(rt_behaviour_end(RT_EXIT_NORMAL));
    }
}

/* Who begins under a name has it in its first turn already, unless it is killed meanwhile. */
static void expect_name(const char *name)
{
    bool is_named = rt_whereis(name) == rt_self();
    WITNESS(is_named || !rt_actor_alive(rt_self()));
}

static void child_start(void *state, void *arg)
{
    uint32_t *child = state;
    *child = (uint32_t)(uintptr_t)arg;
    rti_u32_add_relaxed(&play.starts, 1);
    own_something();
    if (*child == 1 || *child == 4) {
        expect_name(*child == 1 ? "b" : "e");
    }
    /* A supervisor that was killed has not waited for the last turns of its children. */
    uint32_t others = rti_u32_add_relaxed(&play.lives[*child], 1);
    WITNESS(others == 0 || play.kills_supervisors);
}

static void child_over(void *state, rt_exit_reason reason)
{
    uint32_t *child = state;
    (void)reason;
    rti_u32_sub_acqrel(&play.lives[*child], 1);
}

static const rt_behaviour_fn handlers[] = {obey, obey, obey};
static const rt_behaviour_type prompt_type = {.handlers = handlers,
                                              .handler_count = 3,
                                              .start = child_start,
                                              .end = child_over,
                                              .state_size = sizeof(uint32_t)};
static const rt_behaviour_type slow_type = {.handlers = handlers,
                                            .handler_count = 3,
                                            .start = child_start,
                                            .stop = stop_later,
                                            .end = child_over,
                                            .state_size = sizeof(uint32_t)};
static const rt_behaviour_type crowd_type = {.handlers = handlers, .handler_count = 3};

/* With a stack: ends when it is asked to, or returns, which is a crash. */
static void fiber_child(void *arg)
{
    rt_message msg;
    (void)arg;
    rti_u32_add_relaxed(&play.starts, 1);
    expect_name("a");
    own_something();
    CHECK_OK(rt_ipc_recv(&msg, -1));
    if (rt_is_stop_msg(&msg) || rt_behaviour_id(&msg) == ASK_END) {
        rt_exit();
    }
}

/* Does not hear, and is killed. */
static void deaf_child(void *arg)
{
    rt_message msg;
    (void)arg;
    rti_u32_add_relaxed(&play.starts, 1);
    for (;;) {
        CHECK_OK(rt_ipc_recv(&msg, -1));
    }
}

static void expect(rt_status status)
{
    WITNESS(status.code == RT_OK || status.code == RT_ERR_INVALID ||
            status.code == RT_ERR_NOT_FOUND || status.code == RT_ERR_STATE ||
            status.code == RT_ERR_EXISTS || status.code == RT_ERR_NOMEM ||
            status.code == RT_ERR_CLOSED);
}

/* One of those that a supervisor has, as it says; ACTOR_ID_INVALID if that does not run. */
static actor_id anyone(uint64_t *dice, const char *supervisor)
{
    rt_child_info info[12];
    size_t count = 0;
    rt_status status = rt_supervisor_which_children(rt_whereis(supervisor), info, 12, &count);
    expect(status);
    count = count < 12 ? count : 12;
    return RT_FAILED(status) || count == 0 ? ACTOR_ID_INVALID : info[draw(dice, count)].actor;
}

static const char *const ids[CHILDREN] = {"a", "b", "c", "d", "e"};

static void ask_for_something(uint64_t *dice)
{
    const rt_child_spec extra = {.id = "e",
                                 .behaviour = &prompt_type,
                                 .arg = (void *)(uintptr_t)4,
                                 .restart = (rt_restart)draw(dice, 3),
                                 .keeps_address = draw(dice, 2) == 0,
                                 .name = "e"};
    actor_id mixed = rt_whereis("mixed");
    const char *id = ids[draw(dice, CHILDREN)];
    switch (draw(dice, 7)) {
    case 0:
        expect(rt_supervisor_add(mixed, &extra, NULL));
        break;
    case 1:
        expect(rt_supervisor_stop_child(mixed, id));
        break;
    case 2:
        expect(rt_supervisor_restart_child(mixed, id, NULL));
        break;
    case 3:
        expect(rt_supervisor_remove_child(mixed, "e"));
        break;
    case 4:
        expect(rt_supervisor_stop_actor(rt_whereis("crowd"), anyone(dice, "crowd")));
        break;
    case 5:
        /* It takes the name for a moment, if nobody lives under it. */
        if (!RT_FAILED(rt_register("e", rt_self()))) {
            CHECK_OK(rt_unregister("e"));
        }
        break;
    default:
        expect(rt_supervisor_spawn(rt_whereis("crowd"), NULL, NULL));
        break;
    }
}

static void share_something(void)
{
    rt_blob *blob;
    size_t sent;
    (void)rt_group_send("children", ASK_WORK, "hello", 5, &sent);
    if (!RT_FAILED(rt_blob_create(32, &blob))) {
        memset(rt_blob_bytes(blob), 'x', 32);
        (void)rt_blob_send(rt_whereis("b"), ASK_WORK, blob);
        (void)rt_blob_send(rt_whereis("a"), ASK_WORK, blob);
        rt_blob_release(blob);
    }
    (void)rt_group_send_one("children", ASK_WORK, NULL, 0, NULL);
}

static void gremlin(void *arg)
{
    uint64_t dice = (uintptr_t)arg;
    for (unsigned i = 0; i < STEPS; i++) {
        actor_id victim = draw(&dice, 3) == 0 ? rt_whereis("b") : anyone(&dice, "mixed");
        victim = draw(&dice, 4) == 0 ? anyone(&dice, "crowd") : victim;
        switch (draw(&dice, 6)) {
        case 0:
            (void)rt_actor_kill(victim);
            break;
        case 1:
            (void)rt_behaviour_send(victim, ASK_END, NULL, 0);
            break;
        case 2:
            (void)rt_behaviour_send(victim, ASK_CRASH, NULL, 0);
            break;
        case 3:
            if (play.kills_supervisors) {
                (void)rt_actor_kill(rt_whereis(draw(&dice, 2) == 0 ? "mixed" : "crowd"));
            }
            break;
        default:
            ask_for_something(&dice);
            break;
        }
        if (draw(&dice, 4) == 0) {
            share_something();
        }
        if (draw(&dice, 3) == 0) {
            CHECK_OK(rt_sleep(draw(&dice, 2000)));
        }
    }
    rti_u32_add_relaxed(&play.done, 1);
    rt_exit();
}

static void manage(void *arg)
{
    actor_id root = *(const actor_id *)arg;
    while (rti_u32_load_relaxed(&play.done) < GREMLINS) {
        CHECK_OK(rt_sleep(5000));
    }
    WITNESS(rt_supervisor_stop(root, -1).code == RT_OK);
    WITNESS(!rt_actor_alive(root) && rt_whereis("mixed") == ACTOR_ID_INVALID);
    WITNESS(rt_whereis("b") == ACTOR_ID_INVALID && rt_whereis("e") == ACTOR_ID_INVALID);
    for (unsigned i = 0; i < CHILDREN; i++) {
        WITNESS(rti_u32_load_acquire(&play.lives[i]) == 0 || play.kills_supervisors);
    }
    rt_exit();
}

static void program(uint64_t seed)
{
    const rt_config config = {.workers = 2 + (uint32_t)(seed % 3)};
    const rt_child_spec children[] = {
        {.id = "a", .fn = fiber_child, .actor = small, .restart = RT_TRANSIENT, .name = "a"},
        {.id = "b",
         .behaviour = &prompt_type,
         .arg = (void *)(uintptr_t)1,
         .keeps_address = seed % 2 == 0,
         .name = "b"},
        {.id = "c", .behaviour = &slow_type, .arg = (void *)(uintptr_t)2, .shutdown_ms = 1},
        {.id = "d", .fn = deaf_child, .actor = small, .keeps_address = true, .shutdown_ms = 1},
    };
    const rt_child_spec kind = {
        .id = "", .behaviour = &crowd_type, .restart = RT_TRANSIENT, .keeps_address = true};
    const rt_supervisor_config mixed = {.strategy = (rt_strategy)(seed / 2 % 3),
                                        .intensity = RT_INTENSITY_MAX,
                                        .period_ms = 1,
                                        .children = children,
                                        .child_count = 4,
                                        .backoff_ms = seed % 5 == 0 ? 1 : 0,
                                        .actor = small,
                                        .name = "mixed"};
    const rt_supervisor_config crowd = {.strategy = RT_SIMPLE,
                                        .intensity = RT_INTENSITY_MAX,
                                        .period_ms = 1,
                                        .children = &kind,
                                        .child_count = 1,
                                        .actor = small,
                                        .name = "crowd"};
    const rt_child_spec trees[] = {{.id = "mixed", .supervisor = &mixed},
                                   {.id = "crowd", .supervisor = &crowd}};
    const rt_supervisor_config top = {.intensity = RT_INTENSITY_MAX,
                                      .period_ms = 1,
                                      .children = trees,
                                      .child_count = 2,
                                      .actor = small};
    actor_id root;
    memset(&play, 0, sizeof(play));
    play.kills_supervisors = seed / 6 % 2 == 0;
    CHECK_OK(rt_init_ex(&config));
    CHECK_OK(rt_supervisor_start(&top, &root));
    for (uintptr_t i = 0; i < GREMLINS; i++) {
        WITNESS(rt_spawn_ex(gremlin, (void *)(seed * GREMLINS + i + 1), &small) !=
                ACTOR_ID_INVALID);
    }
    WITNESS(rt_spawn_ex(manage, &root, &small) != ACTOR_ID_INVALID);
    rt_run();
    WITNESS(rti_u32_load_relaxed(&play.done) == GREMLINS);
    WITNESS(play.kills_supervisors || rti_u32_load_relaxed(&play.starts) > 0);
    WITNESS(rti_sched_live(&rti_runtime.sched) == 0);
    WITNESS(rt_group_members("children", NULL, 0) == 0);
    rti_blobs_audit(rti_blobs_at(&rti_runtime.sched));
    WITNESS(rti_pool_in_use(&rti_blobs_at(&rti_runtime.sched)->holds) == 0);
}

TEST_SEEDED(supervise_sim_a_tree_outlives_what_is_done_to_it)
{
    worlds_play(program);
}

/* No entry for a name is left: a child or a supervisor that is to have one does not live, not for
 * one turn, though others would run it at once. */
static rti_atomic_u32 nameless; /* that have begun */

static void nameless_start(void *state, void *arg)
{
    (void)state;
    (void)arg;
    rti_u32_add_relaxed(&nameless, 1);
}

static void nameless_fiber(void *arg)
{
    nameless_start(NULL, arg);
    rt_exit();
}

static const rt_behaviour_type nameless_type = {
    .handlers = handlers, .handler_count = 3, .start = nameless_start};

static void use_up_names(void)
{
    char name[] = "name 000";
    for (unsigned i = 0; i < RT_NAME_POOL_SIZE; i++) {
        name[5] = (char)('0' + i / 100);
        name[6] = (char)('0' + i / 10 % 10);
        name[7] = (char)('0' + i % 10);
        CHECK_OK(rt_register(name, rt_self()));
    }
}

static void start_the_nameless(void *arg)
{
    const rt_child_spec inner = {
        .id = "x", .fn = nameless_fiber, .actor = small, .restart = RT_TEMPORARY};
    const rt_supervisor_config below = {.children = &inner, .child_count = 1, .actor = small};
    const rt_supervisor_config named = {
        .children = &inner, .child_count = 1, .actor = small, .name = "n"};
    const rt_child_spec specs[] = {
        {.id = "a", .fn = nameless_fiber, .actor = small, .name = "a"},
        {.id = "b", .behaviour = &nameless_type, .name = "b"},
        {.id = "c", .supervisor = &below, .name = "c"},
        {.id = "d", .supervisor = &named, .name = "d"},
    };
    const rt_supervisor_config config = {.actor = small};
    actor_id supervisor;
    actor_id other;
    (void)arg;
    use_up_names();
    CHECK_OK(rt_supervisor_start(&config, &supervisor));
    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        WITNESS(rt_supervisor_add(supervisor, &specs[i], NULL).code == RT_ERR_NOMEM);
    }
    WITNESS(rt_supervisor_start(&named, &other).code == RT_ERR_NOMEM);
    CHECK_OK(rt_supervisor_stop(supervisor, -1));
    rt_exit();
}

static void program_without_names(uint64_t seed)
{
    const rt_config config = {.workers = 2 + (uint32_t)(seed % 3)};
    rti_u32_store_relaxed(&nameless, 0);
    CHECK_OK(rt_init_ex(&config));
    WITNESS(rt_spawn_ex(start_the_nameless, NULL, &small) != ACTOR_ID_INVALID);
    rt_run();
    WITNESS(rti_u32_load_relaxed(&nameless) == 0);
    WITNESS(rti_sched_live(&rti_runtime.sched) == 0);
}

TEST_SEEDED(supervise_sim_who_gets_no_name_does_not_begin)
{
    worlds_play(program_without_names);
}

/* The stack of a child is more than half of what there is: it is there for its next life as soon as
 * its supervisor hears that this one has ended. */
#define LARGE_LIVES 12

static rti_atomic_u32 large_starts;

static void large_child(void *arg)
{
    rt_message msg;
    (void)arg;
    rti_u32_add_relaxed(&large_starts, 1);
    CHECK_OK(rt_ipc_recv(&msg, -1));
}

static void kill_the_large(void *arg)
{
    actor_id supervisor = *(const actor_id *)arg;
    rt_child_info info;
    size_t count;
    for (uint32_t i = 0; i < LARGE_LIVES; i++) {
        while (rti_u32_load_relaxed(&large_starts) <= i) {
            WITNESS(rt_actor_alive(supervisor));
            CHECK_OK(rt_sleep(1000));
        }
        CHECK_OK(rt_supervisor_which_children(supervisor, &info, 1, &count));
        WITNESS(info.restarts == i);
        (void)rt_actor_kill(rt_whereis("large"));
    }
    CHECK_OK(rt_supervisor_stop(supervisor, -1));
    rt_exit();
}

static void program_of_a_large_child(uint64_t seed)
{
    const rt_config config = {.workers = 2 + (uint32_t)(seed % 3)};
    const actor_config large = {.stack_size = RT_STACK_ARENA_SIZE / 2 + 65536,
                                .priority = RT_PRIO_NORMAL};
    const rt_child_spec child = {.id = "a", .fn = large_child, .actor = large, .name = "large"};
    const rt_supervisor_config top = {.intensity = LARGE_LIVES,
                                      .period_ms = 60000,
                                      .children = &child,
                                      .child_count = 1,
                                      .actor = small};
    actor_id root;
    rti_u32_store_relaxed(&large_starts, 0);
    CHECK_OK(rt_init_ex(&config));
    CHECK_OK(rt_supervisor_start(&top, &root));
    WITNESS(rt_spawn_ex(kill_the_large, &root, &small) != ACTOR_ID_INVALID);
    rt_run();
    WITNESS(rti_sched_live(&rti_runtime.sched) == 0);
}

TEST_SEEDED(supervise_sim_stack_of_a_child_is_there_for_its_next_life)
{
    worlds_play(program_of_a_large_child);
}
