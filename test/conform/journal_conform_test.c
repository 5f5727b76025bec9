/* SPDX-License-Identifier: Apache-2.0 */
/* What is promised of a program's journal, on the engines whose journal is the program's. */
#define RTI_MODULE "journal_conform_test"
#include "support/engines.h"
#include "support/journal_walk.h"
#include "support/test.h"

#define TASKS  8
#define VALUES 50
#define EVENTS 16384

static rt_journal journal;
static uint64_t ring[RT_JOURNAL_BYTES(EVENTS) / 8];
static rt_channel_sender *tx;
static rt_channel_receiver *rx;

static bool sink_takes(void *arg, const void *bytes, size_t size)
{
    (void)bytes;
    *(size_t *)arg += size;
    return true;
}

static void *sender_main(void *arg)
{
    for (uint32_t i = 0; i < VALUES; i++) {
        CHECK_OK(rt_channel_send(tx, NULL, &i));
        if (i % 8 == 0) {
            rt_yield();
        }
    }
    return arg;
}

/* While it is written: how far it is can be asked, a file of it is made only by one worker. */
static void look_at_it(void)
{
    size_t size = 0;
    uint64_t written = rt_journal_written(&journal);
    CHECK(written > 0 && rt_journal_written(&journal) >= written);
    CHECK(rt_journal_digest(&journal) != 0);
    rt_status status = rt_journal_export(&journal, sink_takes, &size);
    CHECK_EQ(status.code, engine_now() == ENGINE_FIXED ? RT_OK : RT_ERR_STATE);
    CHECK_STATUS(rt_journal_start(&journal), RT_ERR_STATE);
}

static void *talk_main(void *arg)
{
    rt_task *tasks[TASKS];
    const rt_channel_config config = {.elem_size = sizeof(uint32_t), .capacity = 4};
    CHECK_OK(rt_channel_create(&config, &tx, &rx));
    for (int i = 0; i < TASKS; i++) {
        tasks[i] = rt_go(sender_main, arg);
        CHECK(tasks[i] != NULL);
    }
    for (uint32_t i = 0; i < TASKS * VALUES; i++) {
        uint32_t value;
        CHECK_OK(rt_channel_recv(rx, NULL, &value));
    }
    for (int i = 0; i < TASKS; i++) {
        CHECK_OK(rt_join(tasks[i], NULL));
    }
    look_at_it();
    CHECK_OK(rt_channel_close_sender(tx));
    CHECK_OK(rt_channel_close_receiver(rx));
    return NULL;
}

static void begin_journal(void)
{
    CHECK_OK(rt_journal_init(&journal, ring, sizeof(ring)));
    CHECK_OK(rt_journal_start(&journal));
}

static void check_journal(void)
{
    struct journal_walk walk;
    size_t size = 0;
    CHECK_OK(rt_journal_stop(&journal));
    CHECK_STATUS(rt_journal_stop(&journal), RT_ERR_STATE);
    journal_walk(&journal, &walk);
    CHECK_EQ(walk.starts, TASKS + 1);
    CHECK_EQ(walk.ends, TASKS + 1);
    CHECK_EQ(walk.sends, TASKS * VALUES);
    CHECK_EQ(walk.recvs, TASKS * VALUES);
    CHECK(walk.dispatches >= walk.starts);
    bool is_fixed = engine_now() == ENGINE_FIXED;
    CHECK(is_fixed ? walk.worker_max == 0 : walk.worker_min >= 1);
    CHECK_OK(rt_journal_export(&journal, sink_takes, &size));
    CHECK(size > rt_journal_written(&journal) * sizeof(rt_journal_record));
}

TEST(journal_has_every_event_in_one_order_on_every_engine)
{
    const struct engines_program program = {
        .main = talk_main, .before = begin_journal, .after = check_journal};
    engines_run_on(ENGINE_FIXED, &program);
    engines_run_on(ENGINE_PARALLEL, &program);
}

/* Starts and stops it again and again while others are writing. */
static void *toggle_main(void *arg)
{
    rt_task *tasks[TASKS];
    const rt_channel_config config = {.elem_size = sizeof(uint32_t), .capacity = TASKS * VALUES};
    CHECK_OK(rt_channel_create(&config, &tx, &rx));
    for (int i = 0; i < TASKS; i++) {
        tasks[i] = rt_go(sender_main, arg);
        CHECK(tasks[i] != NULL);
    }
    for (int i = 0; i < 20; i++) {
        CHECK_OK(rt_journal_init(&journal, ring, sizeof(ring)));
        CHECK_OK(rt_journal_start(&journal));
        rt_yield();
        CHECK_OK(rt_journal_stop(&journal));
        /* It is the program's again. */
        memset(ring, 0, sizeof(ring));
        memset(&journal, 0, sizeof(journal));
    }
    for (int i = 0; i < TASKS; i++) {
        CHECK_OK(rt_join(tasks[i], NULL));
    }
    CHECK_OK(rt_channel_close_sender(tx));
    CHECK_OK(rt_channel_close_receiver(rx));
    return NULL;
}

TEST(journal_is_the_programs_again_when_it_is_stopped_on_every_engine)
{
    const struct engines_program program = {.main = toggle_main};
    engines_run_on(ENGINE_FIXED, &program);
    engines_run_on(ENGINE_PARALLEL, &program);
}
