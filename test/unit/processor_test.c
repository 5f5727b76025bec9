/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "processor_test"
#include "sched/processor.h"

#include "base/rng.h"
#include "support/test.h"

#define COUNT 16

static struct rti_processor processor;
static struct rti_runnable runnables[COUNT];

static void no_step(struct rti_runnable *runnable, struct rti_worker *worker)
{
    (void)runnable;
    (void)worker;
}

static struct rti_runnable *make(size_t i, uint8_t priority)
{
    rti_runnable_init(&runnables[i], (uint32_t)i, priority, no_step);
    return &runnables[i];
}

static void queue(struct rti_runnable *runnable)
{
    rti_runnable_to(runnable, RTI_RUNNABLE_NEW, RTI_RUNNABLE_READY);
    rti_processor_queue(&processor, runnable);
}

static uint32_t pick(void)
{
    struct rti_runnable *runnable = rti_processor_pick(&processor);
    CHECK(runnable != NULL);
    rti_runnable_to_running(runnable);
    rti_runnable_to_done(runnable);
    rti_u32_init(&runnable->state, RTI_RUNNABLE_NEW);
    return runnable->id;
}

TEST(processor_picks_nothing_when_nothing_is_ready)
{
    rti_processor_init(&processor);
    CHECK(rti_processor_pick(&processor) == NULL);
    CHECK_EQ(rti_processor_audit(&processor), 0);
}

TEST(processor_picks_the_most_urgent_level_first_and_fifo_within)
{
    static const uint8_t priorities[] = {3, 0, 2, 0, 1, 3, 2};
    static const uint32_t wanted[] = {1, 3, 4, 2, 6, 0, 5};
    rti_processor_init(&processor);
    for (size_t i = 0; i < 7; i++) {
        queue(make(i, priorities[i]));
        CHECK_EQ(rti_processor_audit(&processor), i + 1);
    }
    for (size_t i = 0; i < 7; i++) {
        CHECK_EQ(pick(), wanted[i]);
        CHECK_EQ(rti_processor_audit(&processor), 6 - i);
    }
}

TEST(processor_gives_by_any_guess_what_it_gives_without)
{
    for (uint32_t ready = 0; ready < 1U << RTI_PRIORITY_LEVELS; ready++) {
        for (uint32_t guess = 0; guess < RTI_PRIORITY_LEVELS; guess++) {
            struct rti_runnable *urgent = NULL;
            rti_processor_init(&processor);
            for (uint32_t level = RTI_PRIORITY_LEVELS; level-- > 0;) {
                if ((ready & 1U << level) != 0) {
                    urgent = make(level, (uint8_t)level);
                    queue(urgent);
                }
            }
            CHECK(rti_processor_pick_guessed(&processor, guess) == urgent);
        }
    }
}

TEST(processor_removes_from_head_middle_and_tail)
{
    rti_processor_init(&processor);
    for (size_t i = 0; i < 5; i++) {
        queue(make(i, 1));
    }
    rti_processor_remove(&processor, &runnables[2]);
    rti_processor_remove(&processor, &runnables[4]);
    rti_processor_remove(&processor, &runnables[0]);
    CHECK_EQ(rti_processor_audit(&processor), 2);
    queue(make(5, 1));
    CHECK_EQ(pick(), 1);
    CHECK_EQ(pick(), 3);
    CHECK_EQ(pick(), 5);
    CHECK_EQ(rti_processor_audit(&processor), 0);
}

TEST(processor_removal_of_the_only_one_empties_its_level)
{
    rti_processor_init(&processor);
    queue(make(0, 2));
    rti_processor_remove(&processor, &runnables[0]);
    CHECK_EQ(rti_processor_audit(&processor), 0);
    CHECK(rti_processor_pick(&processor) == NULL);
}

static void remove_what_is_not_queued(void *arg)
{
    (void)arg;
    rti_processor_init(&processor);
    queue(make(0, 2));
    rti_processor_remove(&processor, make(1, 2));
}

TEST(processor_removal_of_one_that_is_not_queued_panics)
{
    CHECK_PANICS("processor", remove_what_is_not_queued, NULL);
}

static void init_with_a_fifth_level(void *arg)
{
    (void)arg;
    make(0, RTI_PRIORITY_LEVELS);
}

TEST(runnable_of_an_unknown_priority_panics)
{
    CHECK_PANICS("processor_test", init_with_a_fifth_level, NULL);
}

struct scripted {
    struct rti_chooser chooser;
    size_t place;
    size_t count_seen;
};

static size_t scripted_choose(struct rti_chooser *chooser, const struct rti_runqueue *level,
                              size_t count)
{
    struct scripted *scripted = RTI_CONTAINER_OF(chooser, struct scripted, chooser);
    CHECK(level->head != NULL);
    scripted->count_seen = count;
    return scripted->place;
}

TEST(processor_lets_the_chooser_take_any_of_the_most_urgent_level_only)
{
    struct scripted scripted = {.chooser = {scripted_choose}};
    rti_processor_init(&processor);
    CHECK(rti_processor_choose(&processor, &scripted.chooser) == NULL);
    queue(make(0, 3));
    queue(make(1, 1));
    queue(make(2, 1));
    queue(make(3, 1));
    scripted.place = 2;
    CHECK_EQ(rti_processor_choose(&processor, &scripted.chooser)->id, 3);
    CHECK_EQ(scripted.count_seen, 3);
    scripted.place = 0;
    CHECK_EQ(rti_processor_choose(&processor, &scripted.chooser)->id, 1);
    CHECK_EQ(rti_processor_choose(&processor, &scripted.chooser)->id, 2);
    CHECK_EQ(rti_processor_choose(&processor, &scripted.chooser)->id, 0);
    CHECK_EQ(scripted.count_seen, 1);
    CHECK_EQ(rti_processor_audit(&processor), 0);
}

static void choose_out_of_range(void *arg)
{
    struct scripted scripted = {.chooser = {scripted_choose}, .place = 1};
    (void)arg;
    rti_processor_init(&processor);
    queue(make(0, 0));
    rti_processor_choose(&processor, &scripted.chooser);
}

TEST(chooser_that_answers_out_of_range_panics)
{
    CHECK_PANICS("processor", choose_out_of_range, NULL);
}

/* Against a reference that keeps the order of queueing in an array. */
TEST(processor_agrees_with_a_plain_array_on_random_sequences)
{
    struct rti_rng rng;
    struct rti_runnable *ready[COUNT];
    size_t count = 0;
    rti_rng_init(&rng, 7);
    rti_processor_init(&processor);
    for (size_t i = 0; i < COUNT; i++) {
        make(i, (uint8_t)(i % RTI_PRIORITY_LEVELS));
    }
    for (int round = 0; round < 20000; round++) {
        struct rti_runnable *one = &runnables[rti_rng_below(&rng, COUNT)];
        if (rti_runnable_state(one) == RTI_RUNNABLE_NEW && rti_rng_chance(&rng, 1, 2)) {
            queue(one);
            ready[count++] = one;
        } else if (count > 0) {
            size_t best = 0;
            for (size_t i = 1; i < count; i++) {
                if (ready[i]->priority < ready[best]->priority) {
                    best = i;
                }
            }
            CHECK_EQ(pick(), ready[best]->id);
            memmove(&ready[best], &ready[best + 1], (count - best - 1) * sizeof(ready[0]));
            count--;
        }
        CHECK_EQ(rti_processor_audit(&processor), count);
    }
}
