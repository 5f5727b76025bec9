/* SPDX-License-Identifier: Apache-2.0 */
/* A behaviour that works alone (sched/solo.h) has a mailbox full of what it has sent to itself, and
 * takes one letter after the other in one turn, without a question that is not needed while it is
 * alone. In the middle it orders its own end, or another does, from a worker or a thread without a
 * station; or a journal is begun, or a trace context is set; or it just goes on. What follows is as
 * if it had asked before each letter.
 *
 * Seeds: 20 */
#define _GNU_SOURCE
#define RTI_MODULE "solo_mail_sim_test"
#include <orrery/rt.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "base/journal.h"
#include "observe/journal_api.h"
#include "runtime/runtime.h"
#include "sched/crew.h"
#include "support/test.h"
#include "virtual/world.h"

TEST_TIMEOUT(60);

#define LETTERS UINT64_C(60)
#define EVENTS  4096

enum { ASK_MANY, ASK_LETTER, ASK_END };
enum plan {
    PLAN_ENDS_ITSELF,
    PLAN_IS_ENDED,
    PLAN_IS_WRITTEN_DOWN,
    PLAN_HAS_A_CONTEXT,
    PLAN_GOES_ON, /* nothing but a message to the other one: alone to the last letter */
    PLANS
};

static struct {
    enum plan plan;
    uint64_t turning_point; /* the letter in which it happens */
    uint64_t taken;
    uint64_t solo;            /* letters that were taken alone */
    uint64_t late;            /* letters that were begun after the order had been given */
    bool is_asked;            /* to end, when all are taken */
    rti_atomic_u32 is_over;   /* the order was given */
    rti_atomic_u32 is_passed; /* the message with a context has come */
    actor_id taker;
    actor_id heir;
} play;

static uint64_t solo; /* of all worlds together */
static uint64_t interrupted;

static rt_journal journal;
static uint64_t journal_ring[RT_JOURNAL_BYTES(EVENTS) / 8];

static const struct rt_trace context = {.trace_id = {7}, .span_id = {8}, .flags = 1};

static void send_many(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
    for (uint64_t number = 0; number < LETTERS; number++) {
        rt_status status = rt_behaviour_send(rt_self(), ASK_LETTER, &number, sizeof(number));
        /* It may have been ended already. */
        WITNESS(!RT_FAILED(status) || play.plan == PLAN_IS_ENDED);
    }
}

static void turn_the_page(void)
{
    uint64_t number = play.taken;
    switch (play.plan) {
    case PLAN_IS_ENDED:
        return;
    case PLAN_ENDS_ITSELF:
        CHECK_OK(rt_actor_kill(rt_self()));
        rti_u32_store_relaxed(&play.is_over, 1);
        break;
    case PLAN_IS_WRITTEN_DOWN:
        CHECK_OK(rt_journal_start(&journal));
        break;
    case PLAN_HAS_A_CONTEXT:
        CHECK_OK(rt_trace_set(&context));
        break;
    default:
        break;
    }
    CHECK_OK(rt_behaviour_send(play.heir, ASK_LETTER, &number, sizeof(number)));
}

static void end_if_done(void)
{
    if (play.taken == LETTERS && (play.is_asked || play.plan == PLAN_IS_ENDED)) {
        if (play.plan == PLAN_IS_WRITTEN_DOWN) {
            CHECK_OK(rt_journal_stop(&journal));
        }
        CHECK_OK(rt_behaviour_end(RT_EXIT_NORMAL));
    }
}

static void take_letter(void *state, const rt_behaviour_message *msg)
{
    uint64_t number;
    (void)state;
    memcpy(&number, msg->data, sizeof(number));
    WITNESS(number == play.taken);
    play.late += rti_u32_load_relaxed(&play.is_over);
    play.solo += rti_u32_load_relaxed(&rti_worker_current()->is_solo);
    rti_virtual_sleep(100000);
    if (number == play.turning_point) {
        turn_the_page();
    }
    play.taken++;
    end_if_done();
}

/* The last letter is not what ends it: it rests behind that one, and is woken. */
static void take_end(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
    play.is_asked = true;
    end_if_done();
}

static const rt_behaviour_fn taker_handlers[] = {send_many, take_letter, take_end};
static const rt_behaviour_type taker_type = {.handlers = taker_handlers, .handler_count = 3};

static void inherit(void *state, const rt_behaviour_message *msg)
{
    struct rt_trace has = rt_trace_get();
    (void)state;
    (void)msg;
    if (play.plan == PLAN_HAS_A_CONTEXT) {
        WITNESS(memcmp(has.trace_id, context.trace_id, sizeof(has.trace_id)) == 0);
        rti_u32_store_relaxed(&play.is_passed, 1);
    }
    (void)rt_behaviour_send(play.taker, ASK_END, NULL, 0); /* it may have ended itself */
    CHECK_OK(rt_behaviour_end(RT_EXIT_NORMAL));
}

static const rt_behaviour_fn heir_handlers[] = {NULL, inherit};
static const rt_behaviour_type heir_type = {.handlers = heir_handlers, .handler_count = 2};

/* Comes while letters are taken, if there is a worker for it, and ends their taker. */
static void outsider(void *arg)
{
    uint64_t seed = (uint64_t)(uintptr_t)arg;
    CHECK_OK(rt_sleep((1 + seed % 4) * RT_NS_PER_MS));
    (void)rt_actor_kill(play.taker); /* it may have come to its end */
    rti_u32_store_release(&play.is_over, 1);
    rt_exit();
}

static void check_journal(void)
{
    const struct rti_journal *written = rti_journal_of(&journal);
    uint64_t received = 0;
    WITNESS(written->written == rti_journal_count(written));
    for (size_t i = 0; i < rti_journal_count(written); i++) {
        received += rti_journal_at(written, i)->kind == RTI_JOURNAL_RECV;
    }
    /* The letters behind that one; what the heir takes, and what asks the taker to end. */
    WITNESS(received == LETTERS - 1 - play.turning_point + 2);
}

static void program(uint64_t seed)
{
    rt_config config = {.workers = 1 + (uint32_t)(seed % 3)};
    memset(&play, 0, sizeof(play));
    play.plan = (enum plan)(seed / 3 % PLANS);
    play.turning_point = play.plan == PLAN_IS_ENDED ? LETTERS : 1 + seed % (LETTERS - 2);
    CHECK_OK(rt_journal_init(&journal, journal_ring, sizeof(journal_ring)));
    CHECK_OK(rt_init_ex(&config));
    play.taker = rt_behaviour_spawn(&taker_type, NULL);
    if (play.plan != PLAN_IS_ENDED) {
        play.heir = rt_behaviour_spawn(&heir_type, NULL);
    } else {
        WITNESS(rt_spawn(outsider, (void *)(uintptr_t)seed) != ACTOR_ID_INVALID);
    }
    CHECK_OK(rt_behaviour_send(play.taker, ASK_MANY, NULL, 0));
    rt_run();
    WITNESS(rti_sched_live(&rti_runtime.sched) == 0);
    /* Who orders from elsewhere may come between the question and the letter. */
    WITNESS(play.late <= (play.plan == PLAN_IS_ENDED ? 1 : 0));
    WITNESS(play.plan == PLAN_ENDS_ITSELF ? play.taken == play.turning_point + 1
                                          : play.plan == PLAN_IS_ENDED || play.taken == LETTERS);
    WITNESS(play.plan != PLAN_HAS_A_CONTEXT || rti_u32_load_relaxed(&play.is_passed) == 1);
    if (play.plan == PLAN_IS_WRITTEN_DOWN) {
        check_journal();
    }
    interrupted += play.plan == PLAN_IS_ENDED && play.taken > 0 && play.taken < LETTERS;
    solo += play.solo;
}

TEST_SEEDED(solo_sim_mail_is_taken_as_if_each_letter_were_asked_about)
{
    worlds_play(program);
    /* One world alone, which a failure names, may have none. */
    CHECK(getenv("ORRERY_SEED") != NULL || (solo > 0 && interrupted > 0));
}
