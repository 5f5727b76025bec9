/* SPDX-License-Identifier: Apache-2.0 */
/* The journal of several virtual workers: one order, in which what happened because of something
 * else comes behind it; and the same world writes the same journal.
 *
 * Seeds: 2 */
#define _GNU_SOURCE
#define RTI_MODULE "journal_sim_test"
#include <orrery/rt.h>

#include "support/journal_walk.h"
#include "support/test.h"
#include "virtual/world.h"

TEST_TIMEOUT(60);

#define TASKS  6
#define VALUES 4
#define EVENTS 8192

static rt_journal journal;
static uint64_t ring[RT_JOURNAL_BYTES(EVENTS) / 8];
static rt_channel_sender *tx;
static rt_channel_receiver *rx;

static void *sender_main(void *arg)
{
    for (uint32_t i = 0; i < VALUES; i++) {
        CHECK_OK(rt_channel_send(tx, NULL, &i));
        if (((uintptr_t)arg + i) % 3 == 0) {
            CHECK_OK(rt_sleep(RT_NS_PER_US * i));
        }
    }
    return NULL;
}

static void *receiver_main(void *arg)
{
    rt_task *tasks[TASKS];
    (void)arg;
    for (uintptr_t i = 0; i < TASKS; i++) {
        tasks[i] = rt_go(sender_main, (void *)i);
        WITNESS(tasks[i] != NULL);
    }
    for (uint32_t i = 0; i < TASKS * VALUES; i++) {
        uint32_t value;
        CHECK_OK(rt_channel_recv(rx, NULL, &value));
    }
    for (uintptr_t i = 0; i < TASKS; i++) {
        CHECK_OK(rt_join(tasks[i], NULL));
    }
    return NULL;
}

static void program(uint64_t seed)
{
    struct journal_walk walk;
    const rt_channel_config channel = {.elem_size = sizeof(uint32_t), .capacity = 2};
    rt_config config = {.workers = (uint32_t)(2 + seed % 4)};
    CHECK_OK(rt_init_ex(&config));
    CHECK_OK(rt_journal_init(&journal, ring, sizeof(ring)));
    CHECK_OK(rt_channel_create(&channel, &tx, &rx));
    CHECK_OK(rt_journal_start(&journal));
    rt_task *task = rt_go(receiver_main, NULL);
    WITNESS(task != NULL);
    rt_run();
    CHECK_OK(rt_join(task, NULL));
    CHECK_OK(rt_journal_stop(&journal));
    journal_walk(&journal, &walk);
    WITNESS(walk.starts == TASKS + 1 && walk.ends == TASKS + 1);
    WITNESS(walk.sends == TASKS * VALUES && walk.recvs == TASKS * VALUES);
    WITNESS(walk.worker_min >= 1);
    CHECK_OK(rt_channel_close_sender(tx));
    CHECK_OK(rt_channel_close_receiver(rx));
}

TEST_SEEDED(journal_sim_has_one_order_of_what_several_workers_did)
{
    worlds_play(program);
}

static uint64_t digest_of_journal(const struct world_report *report)
{
    (void)report;
    return rt_journal_digest(&journal);
}

TEST_SEEDED(journal_sim_of_the_same_world_is_the_same)
{
    world_check_repeats(program, digest_of_journal);
}
