/* SPDX-License-Identifier: Apache-2.0 */
/* The twins of the calls that go straight: while a worker records, what they do is written down,
 * word for word, and nothing else about them changes. */
#define RTI_MODULE "noted_test"
#include <orrery/rt.h>
#include <string.h>

#include "sched/scheduler.h"
#include "support/test.h"

#define TRIPS 200

static rti_atomic_u64 ring[RTI_RECORDER_WORDS];
static uint64_t words[RTI_RECORDER_WORDS];
static struct rti_recording recording = {.rings_count = 1, .rings = ring};
static size_t value_size;
static rt_channel_sender *tx[2];
static rt_channel_receiver *rx[2];
static long hops;
static actor_id hoppers[2];

static void record(bool is_on)
{
    struct rti_worker *worker = rti_worker_current();
    rti_ptr_store_release(&worker->sched->recording, &recording);
    if (is_on) {
        rti_recording_begin(&recording);
    } else {
        rti_recording_end(&recording);
    }
    rti_worker_follow(worker);
}

static size_t count_words(enum rti_note kind)
{
    uint64_t lost;
    size_t found = 0;
    size_t count = rti_recorder_copy(&rti_worker_current()->recorder, &recording, words, &lost);
    for (size_t i = 0; i < count; i++) {
        found += words[i] >> 56 == (uint64_t)kind;
    }
    return found;
}

static void trip(uint64_t number)
{
    uint64_t value[2] = {number, ~number};
    uint64_t back[2] = {0, 0};
    CHECK_OK(rt_channel_send(tx[0], NULL, value));
    CHECK_OK(rt_channel_recv(rx[1], NULL, back));
    CHECK_EQ(memcmp(value, back, value_size), 0);
}

static void there(void *arg)
{
    struct rti_worker *worker = rti_worker_current();
    (void)arg;
    trip(1);
    CHECK(worker->straight[RTI_MODULE_CHANNEL] != NULL);
    record(true);
    CHECK(worker->straight[RTI_MODULE_CHANNEL] == NULL);
    for (uint64_t i = 0; i < TRIPS; i++) {
        trip(i);
    }
    record(false);
    CHECK(worker->straight[RTI_MODULE_CHANNEL] != NULL);
    size_t turns = count_words(RTI_NOTE_RUN);
    size_t wakes = count_words(RTI_NOTE_WAKE);
    CHECK(turns >= 2 * TRIPS - 1 && turns <= 2 * TRIPS + 1);
    CHECK(wakes >= 2 * TRIPS - 1 && wakes <= 2 * TRIPS + 1);
    trip(2);
    CHECK_EQ(count_words(RTI_NOTE_RUN), turns);
    CHECK_OK(rt_channel_close_sender(tx[0]));
    rt_shutdown();
    rt_exit();
}

static void back(void *arg)
{
    uint64_t value[2];
    (void)arg;
    while (!RT_FAILED(rt_channel_recv(rx[0], NULL, value))) {
        CHECK_OK(rt_channel_send(tx[1], NULL, value));
    }
    rt_exit();
}

static void run_rendezvous(size_t size)
{
    value_size = size;
    CHECK_OK(rt_init());
    for (int i = 0; i < 2; i++) {
        rt_channel_config config = {.elem_size = size};
        CHECK_OK(rt_channel_create_rendezvous(&config, &tx[i], &rx[i]));
    }
    CHECK(rt_spawn(there, NULL) != ACTOR_ID_INVALID);
    CHECK(rt_spawn(back, NULL) != ACTOR_ID_INVALID);
    rt_run();
    rt_cleanup();
}

TEST(noted_rendezvous_of_words_has_a_wake_and_a_turn_for_each_hop)
{
    run_rendezvous(sizeof(uint64_t));
}

TEST(noted_rendezvous_of_other_values_has_a_wake_and_a_turn_for_each_hop)
{
    run_rendezvous(2 * sizeof(uint64_t));
}

/* The last hop ends the recording. */
static void hop(void *state, const rt_behaviour_message *msg)
{
    const actor_id *next = state;
    if (--hops == 0) {
        record(false);
        rt_shutdown();
        return;
    }
    CHECK_OK(rt_behaviour_send(*next, 0, msg->data, msg->len));
}

static const rt_behaviour_fn hop_handlers[] = {hop};
static const rt_behaviour_type hopper = {
    .handlers = hop_handlers, .handler_count = 1, .priority = RT_PRIO_NORMAL};

TEST(noted_behaviours_have_a_send_and_a_wake_for_each_message)
{
    uint64_t number = 7;
    CHECK_OK(rt_init());
    hoppers[0] = rt_behaviour_spawn(&hopper, &hoppers[1]);
    hoppers[1] = rt_behaviour_spawn(&hopper, &hoppers[0]);
    hops = TRIPS;
    record(true);
    CHECK_OK(rt_behaviour_send(hoppers[0], 0, &number, sizeof(number)));
    rt_run();
    size_t sends = count_words(RTI_NOTE_SEND);
    size_t wakes = count_words(RTI_NOTE_WAKE);
    CHECK_EQ(sends, TRIPS);
    CHECK(wakes >= TRIPS - 2);
    rt_cleanup();
}
