/* SPDX-License-Identifier: Apache-2.0 */
/* What is promised of a program's journal, on the engines whose journal is the program's. */
#define RTI_MODULE "journal_conform_test"
#include "observe/journal_api.h"
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

/* ---- behaviours ---- */

#define SOURCES 6
#define LETTERS 100

static actor_id sources[SOURCES];
static actor_id sink;
static uint32_t letters_taken;

static void sink_takes_one(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
    if (++letters_taken == SOURCES * LETTERS) {
        rt_shutdown();
    }
}

/* Sends some and asks itself for more; `state` counts. */
static void source_sends(void *state, const rt_behaviour_message *msg)
{
    uint32_t *sent = state;
    (void)msg;
    for (int i = 0; i < 5; i++) {
        CHECK_OK(rt_behaviour_send(sink, 0, sent, sizeof(*sent)));
        ++*sent;
    }
    if (*sent < LETTERS) {
        CHECK_OK(rt_behaviour_send(rt_self(), 0, NULL, 0));
    }
}

static size_t source_of(uint64_t id)
{
    size_t i = 0;
    while (i < SOURCES && sources[i] != id) {
        i++;
    }
    return i;
}

/* At no point of the journal has more come from one than it has sent, and in the end all has. */
static void check_letters(void)
{
    const struct rti_journal *written = rti_journal_of(&journal);
    uint32_t sent[SOURCES] = {0};
    uint32_t received[SOURCES] = {0};
    for (size_t i = 0; i < rti_journal_count(written); i++) {
        const struct rti_journal_record *record = rti_journal_at(written, i);
        size_t from = SOURCES;
        if (record->kind == RTI_JOURNAL_SEND && record->value == sink) {
            from = source_of(record->task);
            CHECK(from < SOURCES);
            sent[from]++;
        } else if (record->kind == RTI_JOURNAL_RECV && record->task == sink) {
            from = source_of(record->value);
            CHECK(from < SOURCES);
            received[from]++;
        }
        CHECK(from == SOURCES || received[from] <= sent[from]);
    }
    for (size_t i = 0; i < SOURCES; i++) {
        CHECK(sent[i] == LETTERS && received[i] == LETTERS);
    }
}

static void record_behaviours(void)
{
    static uint32_t counts[SOURCES];
    static const rt_behaviour_fn of_sink[] = {sink_takes_one};
    static const rt_behaviour_fn of_source[] = {source_sends};
    static const rt_behaviour_type sink_type = {
        .handlers = of_sink, .handler_count = 1, .priority = RT_PRIO_NORMAL};
    static const rt_behaviour_type source_type = {
        .handlers = of_source, .handler_count = 1, .priority = RT_PRIO_NORMAL};
    struct journal_walk walk;
    letters_taken = 0;
    CHECK_OK(rt_behaviour_reserve(&(rt_behaviour_room){.behaviours = 64, .messages = 4096}));
    begin_journal();
    sink = rt_behaviour_spawn(&sink_type, NULL);
    for (size_t i = 0; i < SOURCES; i++) {
        counts[i] = 0;
        sources[i] = rt_behaviour_spawn(&source_type, &counts[i]);
        CHECK_OK(rt_behaviour_send(sources[i], 0, NULL, 0));
    }
    rt_run();
    CHECK_OK(rt_journal_stop(&journal));
    journal_walk(&journal, &walk);
    CHECK_EQ(walk.sends, SOURCES * (LETTERS + LETTERS / 5));
    check_letters();
    rt_cleanup();
}

TEST(journal_has_the_sends_of_behaviours_before_their_receipts_on_one_worker_and_on_several)
{
    CHECK_OK(rt_init());
    record_behaviours();
    CHECK_OK(rt_init_ex(&(rt_config){.workers = 4}));
    record_behaviours();
}
