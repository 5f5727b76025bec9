/* SPDX-License-Identifier: Apache-2.0 */
/* Every interrupt-facing queue with an interrupt at every instruction: SPSC from both sides, and
 * rt_isr_post into a runtime that takes, works and sleeps. Each sweep has a wrong version that it
 * must catch. */
#define RTI_MODULE "isr_sweep_test"
#include <orrery/rt.h>

#include "base/spsc.h"
#include "cortex_m/harness/sweep.h"
#include "support/test.h"

#define SPAN 700u

static rt_spsc_queue queue;
static uint32_t slots[2];
static uint32_t next_in;
static uint32_t next_out;
static uint32_t bad;

/* The pop under test. */
static bool (*pop)(rt_spsc_queue *, void *);

static void handler_pushes(void)
{
    if (rt_spsc_push(&queue, &next_in)) {
        next_in++;
    }
}

static void take(void)
{
    uint32_t value = UINT32_MAX;
    if (pop(&queue, &value)) {
        bad += value != next_out;
        next_out = value + 1;
    }
}

/* The queue is full: the handler's push fails until the pop has let go of the slot. */
static void sweep_pop(void)
{
    for (uint32_t at = 0; at < SPAN; at++) {
        CHECK_OK(rt_spsc_init(&queue, slots, sizeof(slots[0]), 2));
        next_in = 0;
        next_out = 0;
        handler_pushes();
        handler_pushes();
        sweep_arm(at, handler_pushes);
        take();
        take();
        sweep_disarm();
        sweep_note();
        take();
        take();
        bad += next_out != next_in;
    }
}

TEST(spsc_pop_is_whole_with_an_interrupt_at_every_instruction)
{
    pop = rt_spsc_pop;
    sweep_pop();
    CHECK_EQ(bad, 0);
    printf("interrupted at %u places\n", (unsigned)sweep_places());
    CHECK(sweep_places() > 60);
}

/* Lets go of the slot before it has read it. */
static bool pop_early(rt_spsc_queue *q, void *out)
{
    size_t tail = q->tail;
    if (q->head == tail) {
        return false;
    }
    q->tail = tail + 1;
    memcpy(out, (char *)q->buffer + (tail & (q->capacity - 1)) * q->entry_size, q->entry_size);
    return true;
}

TEST(spsc_sweep_catches_a_pop_that_lets_go_too_early)
{
    pop = pop_early;
    sweep_pop();
    printf("the wrong version gave %u bad values\n", (unsigned)bad);
    CHECK(bad > 3);
}

static bool (*push)(rt_spsc_queue *, const void *);

static void handler_pops(void)
{
    take();
}

static void sweep_push(void)
{
    pop = rt_spsc_pop;
    for (uint32_t at = 0; at < SPAN; at++) {
        CHECK_OK(rt_spsc_init(&queue, slots, sizeof(slots[0]), 2));
        memset(slots, 0xFF, sizeof(slots));
        next_out = 0;
        sweep_arm(at, handler_pops);
        for (uint32_t i = 0; i < 2; i++) {
            CHECK(push(&queue, &i));
        }
        sweep_disarm();
        sweep_note();
        take();
        take();
        bad += next_out != 2;
    }
}

TEST(spsc_push_is_whole_with_an_interrupt_at_every_instruction)
{
    push = rt_spsc_push;
    sweep_push();
    CHECK_EQ(bad, 0);
    CHECK(sweep_places() > 40);
}

/* Shows the entry before it is written. */
static bool push_early(rt_spsc_queue *q, const void *entry)
{
    size_t head = q->head;
    q->head = head + 1;
    memcpy((char *)q->buffer + (head & (q->capacity - 1)) * q->entry_size, entry, q->entry_size);
    return true;
}

TEST(spsc_sweep_catches_a_push_that_shows_too_early)
{
    push = push_early;
    sweep_push();
    printf("the wrong version gave %u bad values\n", (unsigned)bad);
    CHECK(bad > 3);
}

/* The runtime: a post at every instruction of a receive, from the look at the mailbox to the sleep
 * and back. A post that got lost is heard by the deadline only. */

static rt_isr source;
static uint32_t events[4];
static uint32_t posted;
static uint32_t late;

static void handler_posts(void)
{
    CHECK(rt_isr_post(&source, &posted));
    posted++;
}

#define RUNTIME_SPAN 6000u
#define RUNTIME_STEP 1u

static void receiver(void *arg)
{
    (void)arg;
    CHECK_OK(rt_isr_open(&source, rt_self(), events, sizeof(events[0]), 4));
    for (uint32_t at = 0; at < RUNTIME_SPAN; at += RUNTIME_STEP) {
        rt_message msg;
        sweep_arm(at, handler_posts);
        rt_status status = rt_ipc_recv(&msg, 3);
        sweep_disarm();
        sweep_note();
        if (status.code == RT_ERR_TIMEOUT) {
            late++;
            continue;
        }
        CHECK_OK(status);
        uint32_t value;
        memcpy(&value, msg.data, sizeof(value));
        bad += value + 1 != posted;
    }
    rt_exit();
}

TEST(isr_post_at_every_instruction_of_a_receive_is_heard_at_once)
{
    CHECK_OK(rt_init());
    CHECK(rt_spawn(receiver, NULL) != ACTOR_ID_INVALID);
    rt_run();
    rt_cleanup();
    printf("interrupted at %u places\n", (unsigned)sweep_places());
    CHECK_EQ(posted, RUNTIME_SPAN / RUNTIME_STEP);
    CHECK_EQ(bad, 0);
    CHECK_EQ(late, 0);
    CHECK(sweep_places() > 300);
}
