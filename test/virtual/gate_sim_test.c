/* SPDX-License-Identifier: Apache-2.0 */
/* Senders on several workers to a receiver whose limit no number of messages comes to: none is
 * refused, and the receiver is not killed for its mail.
 *
 * Seeds: 20 */
#define _GNU_SOURCE
#define RTI_MODULE "gate_sim_test"
#include <orrery/rt.h>

#include "base/atomic.h"
#include "runtime/runtime.h"
#include "support/test.h"
#include "virtual/world.h"

TEST_TIMEOUT(60);

#define SENDERS 3
#define EACH    20

static rti_atomic_u32 taken;

static void take(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
    rti_u32_add_relaxed(&taken, 1);
}

static const rt_behaviour_fn handlers[] = {take};
static const rt_behaviour_type open_type = {
    .handlers = handlers,
    .handler_count = 1,
    .mailbox = {.high = UINT32_MAX, .overflow = RT_OVERFLOW_REJECT}};
static actor_id receiver;

static void sender_main(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < EACH; i++) {
        WITNESS(rt_behaviour_send(receiver, 0, NULL, 0).code == RT_OK);
        if (i % 3 == 0) {
            rt_yield();
        }
    }
    rt_exit();
}

static void *keeper_main(void *arg)
{
    (void)arg;
    while (rti_u32_load_relaxed(&taken) < SENDERS * EACH) {
        CHECK_OK(rt_sleep(1000));
    }
    CHECK_OK(rt_actor_kill(receiver));
    return NULL;
}

static void program(uint64_t seed)
{
    rt_config config = {.workers = 2 + (uint32_t)(seed % 3)};
    rti_u32_init(&taken, 0);
    CHECK_OK(rt_init_ex(&config));
    receiver = rt_behaviour_spawn(&open_type, NULL);
    rt_task *keeper = rt_go(keeper_main, NULL);
    WITNESS(keeper != NULL);
    for (uintptr_t i = 0; i < SENDERS; i++) {
        WITNESS(rt_spawn(sender_main, NULL) != ACTOR_ID_INVALID);
    }
    rt_run();
    CHECK_OK(rt_join(keeper, NULL));
}

TEST_SEEDED(gate_sim_without_a_limit_refuses_nobody)
{
    worlds_play(program);
}

/* ---- The depth that is told ---- */

#define HIGH 4

static const rt_behaviour_type narrow_type = {
    .handlers = handlers,
    .handler_count = 1,
    .mailbox = {.high = HIGH, .overflow = RT_OVERFLOW_REJECT}};
static rti_atomic_u32 done;

static void pusher_main(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < 3 * EACH; i++) {
        (void)rt_behaviour_send(receiver, 0, NULL, 0);
        if (i % 3 == 0) {
            rt_yield();
        }
    }
    rti_u32_add_relaxed(&done, 1);
    rt_exit();
}

static void *looker_main(void *arg)
{
    (void)arg;
    while (rti_u32_load_relaxed(&done) < SENDERS) {
        rt_mailbox_stats stats;
        CHECK_OK(rt_mailbox_stats_get(receiver, &stats));
        /* Each sender may be between its look and its push. */
        WITNESS(stats.depth <= HIGH + SENDERS);
        rt_yield();
    }
    CHECK_OK(rt_actor_kill(receiver));
    return NULL;
}

static void narrow_program(uint64_t seed)
{
    rt_config config = {.workers = 2 + (uint32_t)(seed % 3)};
    rti_u32_init(&done, 0);
    CHECK_OK(rt_init_ex(&config));
    receiver = rt_behaviour_spawn(&narrow_type, NULL);
    rt_task *keeper = rt_go(looker_main, NULL);
    WITNESS(keeper != NULL);
    for (uintptr_t i = 0; i < SENDERS; i++) {
        WITNESS(rt_spawn(pusher_main, NULL) != ACTOR_ID_INVALID);
    }
    rt_run();
    CHECK_OK(rt_join(keeper, NULL));
}

TEST_SEEDED(gate_sim_tells_no_more_than_may_wait)
{
    worlds_play(narrow_program);
}

/* ---- The depth of a place whose lives have a limit or none ---- */

#define LIVES 30 /* each is sent one message */

static rti_atomic_u32 current;

static void *breeder_main(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < LIVES; i++) {
        actor_id id = rt_behaviour_spawn(i % 2 == 0 ? &open_type : &narrow_type, NULL);
        while (id == ACTOR_ID_INVALID) {
            rt_yield();
            id = rt_behaviour_spawn(i % 2 == 0 ? &open_type : &narrow_type, NULL);
        }
        rti_u32_store_relaxed(&current, id);
        rt_yield();
        (void)rt_behaviour_send(id, 0, NULL, 0);
        CHECK_OK(rt_actor_kill(id));
    }
    rti_u32_store_relaxed(&done, 1);
    return NULL;
}

static void *reader_main(void *arg)
{
    (void)arg;
    while (rti_u32_load_relaxed(&done) == 0) {
        rt_mailbox_stats stats;
        if (rt_mailbox_stats_get(rti_u32_load_relaxed(&current), &stats).code == RT_OK) {
            /* What a former life left behind waits too. */
            WITNESS(stats.depth <= LIVES);
        }
        rt_yield();
    }
    return NULL;
}

static void lives_program(uint64_t seed)
{
    rt_config config = {.workers = 2 + (uint32_t)(seed % 3)};
    rti_u32_init(&done, 0);
    rti_u32_init(&current, ACTOR_ID_INVALID);
    CHECK_OK(rt_init_ex(&config));
    CHECK_OK(rt_behaviour_reserve(&(rt_behaviour_room){.behaviours = 1, .messages = 64}));
    rt_task *breeder = rt_go(breeder_main, NULL);
    rt_task *reader = rt_go(reader_main, NULL);
    WITNESS(breeder != NULL && reader != NULL);
    rt_run();
    CHECK_OK(rt_join(breeder, NULL));
    CHECK_OK(rt_join(reader, NULL));
}

TEST_SEEDED(gate_sim_tells_the_depth_of_one_life)
{
    worlds_play(lives_program);
}
