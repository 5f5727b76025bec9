/* SPDX-License-Identifier: Apache-2.0 */

/* The word of a poll task: the step that parks it, from its first one on, and those who wake it, or
 * wish something of it, meanwhile. The queue is a word that says whether the task is in it. */

#include "task/async_word.h"

#include "port/explore/port.h"

enum { VALUE = 5 };

static rti_atomic_u8 word;
static rti_atomic_u8 wish;
static rti_atomic_u32 is_queued;
static uint64_t value; /* plain: written before the wake, read by the step that answers it */
static uint32_t steps;
static bool is_answered;
static bool is_called;

/* It was just started, in a slot whose last task has left the word as it is left, as a rule. */
static void setup(void)
{
    rti_u8_init(&word, RTI_ASYNC_RUNNING);
    rti_u8_init(&wish, RTI_ASYNC_GO_ON);
    rti_u32_init(&is_queued, 1);
    value = 0;
    steps = 0;
    is_answered = false;
    is_called = false;
    explore_name(&word, "word");
    explore_name(&wish, "wish");
    explore_name(&is_queued, "queued");
}

static void queue(void)
{
    /* Acquire-release, as a run queue has it. */
    EXPLORE_ASSERT(rti_u32_exchange_acqrel(&is_queued, 1) == 0);
}

static void take(void)
{
    while (rti_u32_load_acquire(&is_queued) == 0) {
        rti_spin_hint();
    }
    EXPLORE_ASSERT(rti_u32_exchange_acqrel(&is_queued, 0) == 1);
    steps++;
}

/* Takes it from the queue and begins a step; gives what the word was. */
static uint8_t begin_step(void)
{
    take();
    return rti_async_word_to_running(&word, true);
}

static void end_step(void)
{
    if (!rti_async_word_to_parked(&word, true)) {
        queue();
    }
}

/* Steps until one answers the wake. */
static void run_until_woken(void)
{
    while (!is_answered) {
        is_answered = begin_step() == RTI_ASYNC_NOTIFIED;
        if (is_answered) {
            RTI_PLAIN_READ(&value, sizeof value);
            EXPLORE_ASSERT(value == VALUE);
        }
        end_step();
    }
}

static void wake(void)
{
    if (rti_async_word_to_notified(&word, RTI_ASYNC_NOTIFIED, true) == RTI_ASYNC_PARKED) {
        queue();
    }
}

static void write_and_wake(void)
{
    RTI_PLAIN_WRITE(&value, sizeof value);
    value = VALUE;
    wake();
}

static void call(void)
{
    if (rti_async_word_to_notified(&word, RTI_ASYNC_CALLED, true) == RTI_ASYNC_PARKED) {
        queue();
    }
}

/* The first step answered the wake, or the second did. */
static void check_answered(void)
{
    EXPLORE_ASSERT(is_answered && (steps == 1 || steps == 2));
    EXPLORE_ASSERT(rti_u32_load_relaxed(&is_queued) == 0);
    EXPLORE_ASSERT(rti_u8_load_relaxed(&word) == RTI_ASYNC_PARKED);
    explore_outcome(steps);
}

MODEL(async_word_loses_no_wake){
    .about = "a wake before, during or after the first step is answered by one that sees its cause",
    .setup = setup,
    .threads = {run_until_woken, write_and_wake},
    .check = check_answered,
    .outcomes = {{2, {1, 2}}, {2, {1, 2}}},
};

/* Steps until one answers the call, whatever else it is woken for. */
static void run_until_called(void)
{
    while (!is_called) {
        is_called = begin_step() == RTI_ASYNC_CALLED;
        end_step();
    }
}

static void check_called(void)
{
    /* What came with the call was answered with it, or waits for its turn. */
    EXPLORE_ASSERT(is_called);
    EXPLORE_ASSERT(rti_u32_load_relaxed(&is_queued) ==
                   (rti_u8_load_relaxed(&word) == RTI_ASYNC_NOTIFIED));
    explore_outcome(steps);
}

MODEL(async_word_loses_no_call){
    .about = "a call and a wake: whichever comes first, a step learns that it was called",
    .setup = setup,
    .threads = {run_until_called, call, wake},
    .check = check_called,
    .outcomes = {{3, {1, 2, 3}}, {3, {1, 2, 3}}},
};

/* Steps until one sees the wish. */
static void run_until_stopped(void)
{
    uint8_t seen = RTI_ASYNC_GO_ON;
    while (seen == RTI_ASYNC_GO_ON) {
        take();
        (void)rti_async_word_begin(&word, &wish, &seen, true);
        end_step();
    }
    EXPLORE_ASSERT(seen == RTI_ASYNC_STOP);
}

static void stop(void)
{
    if (rti_async_word_wish(&word, &wish, RTI_ASYNC_STOP, true) == RTI_ASYNC_PARKED) {
        queue();
    }
}

/* A wish that was seen before its wake came: that waits for its turn. */
static void check_stopped(void)
{
    EXPLORE_ASSERT(rti_u32_load_relaxed(&is_queued) ==
                   (rti_u8_load_relaxed(&word) == RTI_ASYNC_NOTIFIED));
    explore_outcome(steps);
}

MODEL(async_word_loses_no_wish){
    .about = "a wish, and a wake: a step sees the wish before the task stays parked",
    .setup = setup,
    .threads = {run_until_stopped, stop, wake},
    .check = check_stopped,
    .outcomes = {{3, {1, 2, 3}}, {3, {1, 2, 3}}},
};
