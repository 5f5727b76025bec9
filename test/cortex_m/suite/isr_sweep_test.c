/* SPDX-License-Identifier: Apache-2.0 */
/* Every interrupt-facing queue with an interrupt at every instruction: SPSC from both sides, the
 * MPSC queue of the scheduler's posts from both sides, and rt_isr_post into a runtime that takes,
 * works and sleeps. Each sweep has a wrong version that it must catch. */
#define RTI_MODULE "isr_sweep_test"
#include <orrery/rt.h>

#include "actor/actors.h"
#include "actor/ipc.h"
#include "base/mpsc.h"
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

/* The queue of posts. An entry that was lost, came twice or came out of order is bad. */

struct item {
    struct rti_mpsc_node node;
    uint32_t number;
};

static struct rti_mpsc mpsc;
static struct item items[3];
static bool (*mpsc_push)(struct rti_mpsc *, struct rti_mpsc_node *);
static bool (*mpsc_pop)(struct rti_mpsc *, struct rti_mpsc_node **);

static bool pop_right(struct rti_mpsc *q, struct rti_mpsc_node **node)
{
    return rti_mpsc_pop(q, node) == RTI_MPSC_ITEM;
}

/* Right with one thread only: what an interrupt pushes meanwhile is overwritten. */
static bool pop_as_if_alone(struct rti_mpsc *q, struct rti_mpsc_node **node)
{
    *node = rti_mpsc_pop_alone(q);
    return *node != NULL;
}

static bool push_as_if_alone(struct rti_mpsc *q, struct rti_mpsc_node *node)
{
    return rti_mpsc_push_alone(q, node);
}

static volatile bool is_item_pushed;

static void handler_pushes_item(void)
{
    if (!is_item_pushed) {
        is_item_pushed = true;
        (void)rti_mpsc_push(&mpsc, &items[2].node);
    }
}

/* A bit for each item that came; a second time is bad. */
static void mpsc_take(uint32_t *seen)
{
    struct rti_mpsc_node *node;
    for (uint32_t i = 0; i < 3 && mpsc_pop(&mpsc, &node); i++) {
        struct item *item = RTI_CONTAINER_OF(node, struct item, node);
        bad += (*seen & 1u << item->number) != 0;
        *seen |= 1u << item->number;
    }
}

/* Two pushes and two pops of the thread, and one push of the handler somewhere among them. */
static void sweep_mpsc(void)
{
    for (uint32_t at = 0; at < SPAN; at++) {
        uint32_t seen = 0;
        is_item_pushed = false;
        rti_mpsc_init(&mpsc);
        for (uint32_t i = 0; i < 3; i++) {
            items[i].number = i;
        }
        sweep_arm(at, handler_pushes_item);
        (void)mpsc_push(&mpsc, &items[0].node);
        mpsc_take(&seen);
        (void)mpsc_push(&mpsc, &items[1].node);
        mpsc_take(&seen);
        sweep_disarm();
        handler_pushes_item();
        sweep_note();
        mpsc_take(&seen);
        bad += seen != 7;
    }
}

TEST(mpsc_is_whole_with_a_push_at_every_instruction)
{
    mpsc_push = rti_mpsc_push;
    mpsc_pop = pop_right;
    sweep_mpsc();
    CHECK_EQ(bad, 0);
    printf("interrupted at %u places\n", (unsigned)sweep_places());
    CHECK(sweep_places() > 60);
}

TEST(mpsc_sweep_catches_a_pop_that_thinks_it_is_alone)
{
    mpsc_push = rti_mpsc_push;
    mpsc_pop = pop_as_if_alone;
    sweep_mpsc();
    printf("the wrong version gave %u bad values\n", (unsigned)bad);
    CHECK(bad > 1);
}

TEST(mpsc_sweep_catches_a_push_that_thinks_it_is_alone)
{
    mpsc_push = push_as_if_alone;
    mpsc_pop = pop_right;
    sweep_mpsc();
    printf("the wrong version gave %u bad values\n", (unsigned)bad);
    CHECK(bad > 1);
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

/* The delivery of posts, interrupted by one more: the first is on its way when the second comes. */

static bool (*post)(const void *entry);

static bool post_right(const void *entry)
{
    return rt_isr_post(&source, entry);
}

/* A source that says too late that its post is not on its way: after the last look at the queue,
 * so that an entry which comes between the two waits for the next one. */
static struct {
    struct rti_post post;
    rt_spsc_queue queue;
    struct rti_sched *sched;
    rti_atomic_u32 is_sent;
    actor_id to;
} wrong;

static void wrong_deliver(struct rti_post *sent)
{
    uint32_t value;
    (void)sent;
    struct rti_actors *actors = wrong.sched->modules[RTI_MODULE_ACTOR];
    while (rt_spsc_pop(&wrong.queue, &value)) {
        struct rti_entry *entry = rti_ipc_pools_make(&actors->ipc, &value, sizeof(value));
        CHECK(entry != NULL);
        rti_ipc_deliver(rti_worker_current(), rti_actors_lookup(actors, wrong.to), entry);
    }
    (void)rti_u32_exchange_acqrel(&wrong.is_sent, 0);
}

static bool post_wrong(const void *entry)
{
    if (!rt_spsc_push(&wrong.queue, entry)) {
        return false;
    }
    if (rti_u32_exchange_acqrel(&wrong.is_sent, 1) == 0) {
        rti_sched_post(wrong.sched, &wrong.post);
    }
    return true;
}

static void handler_posts_more(void)
{
    CHECK(post(&posted));
    posted++;
}

static bool receive_number(uint32_t *value)
{
    rt_message msg;
    rt_status status = rt_ipc_recv(&msg, 3);
    if (RT_FAILED(status)) {
        CHECK_STATUS(status, RT_ERR_TIMEOUT);
        return false;
    }
    memcpy(value, msg.data, sizeof(*value));
    return true;
}

#define DELIVERY_SPAN 4000u

static void receiver_of_two(void *arg)
{
    (void)arg;
    CHECK_OK(rt_isr_open(&source, rt_self(), events, sizeof(events[0]), 4));
    static uint32_t wrong_events[4];
    CHECK_OK(rt_spsc_init(&wrong.queue, wrong_events, sizeof(wrong_events[0]), 4));
    wrong.post.call = wrong_deliver;
    wrong.sched = rti_worker_current()->sched;
    wrong.to = rt_self();
    uint32_t next = 0;
    for (uint32_t at = 0; at < DELIVERY_SPAN; at++) {
        handler_posts_more();
        sweep_arm(at, handler_posts_more);
        for (uint32_t i = 0; i < 2; i++) {
            uint32_t value = next;
            if (!receive_number(&value)) {
                late++;
                /* The next post brings what was left lying. */
                handler_posts_more();
                CHECK(receive_number(&value));
            }
            bad += value != next;
            next = value + 1;
        }
        sweep_disarm();
        sweep_note();
        while (next < posted) {
            uint32_t value;
            CHECK(receive_number(&value));
            next = value + 1;
        }
    }
    rt_exit();
}

static void sweep_delivery(void)
{
    CHECK_OK(rt_init());
    CHECK(rt_spawn(receiver_of_two, NULL) != ACTOR_ID_INVALID);
    rt_run();
    rt_cleanup();
}

TEST(isr_post_at_every_instruction_of_a_delivery_is_heard_at_once)
{
    post = post_right;
    sweep_delivery();
    printf("interrupted at %u places\n", (unsigned)sweep_places());
    CHECK_EQ(posted, 2 * DELIVERY_SPAN);
    CHECK_EQ(bad, 0);
    CHECK_EQ(late, 0);
    CHECK(sweep_places() > 300);
}

TEST(isr_sweep_catches_a_delivery_that_says_too_late_that_it_is_over)
{
    post = post_wrong;
    sweep_delivery();
    printf("the wrong version was late %u times\n", (unsigned)late);
    CHECK(late > 1);
}
