/* SPDX-License-Identifier: Apache-2.0 */

/* The queue of many producers: each producer's nodes arrive in order and complete, none lost, none
 * twice; and between two idle times of the consumer exactly one push says that it was idle. */

#include "base/mpsc.h"

#include "base/atomic.h"

enum { PRODUCERS = 3, ITEMS = 2 };

struct item {
    struct rti_mpsc_node node;
    unsigned producer;
    unsigned number;
};

static struct rti_mpsc queue;
static struct item items[PRODUCERS][ITEMS];
static unsigned taken_count;          /* the consumer's, whoever that is */
static unsigned next_from[PRODUCERS]; /* the consumer's too */

static void setup(void)
{
    rti_mpsc_init(&queue);
    explore_name(&queue.tail, "tail");
    explore_name(&queue.resting.next, "resting.next");
    taken_count = 0;
    for (unsigned i = 0; i < PRODUCERS; i++) {
        next_from[i] = 0;
        for (unsigned k = 0; k < ITEMS; k++) {
            rti_ptr_init(&items[i][k].node.next, NULL);
            explore_name(&items[i][k].node.next, "node.next");
        }
    }
}

static bool produce_one(unsigned producer, unsigned number)
{
    struct item *item = &items[producer][number];
    RTI_PLAIN_WRITE(&item->producer, sizeof item->producer);
    item->producer = producer;
    RTI_PLAIN_WRITE(&item->number, sizeof item->number);
    item->number = number;
    return rti_mpsc_push(&queue, &item->node);
}

static void take(struct rti_mpsc_node *node)
{
    const struct item *item = RTI_CONTAINER_OF(node, struct item, node);
    RTI_PLAIN_READ(&item->producer, sizeof item->producer);
    RTI_PLAIN_READ(&item->number, sizeof item->number);
    EXPLORE_ASSERT(item->producer < PRODUCERS);
    EXPLORE_ASSERT(item->number == next_from[item->producer]);
    RTI_PLAIN_WRITE(&taken_count, sizeof taken_count);
    next_from[item->producer]++;
    taken_count++;
}

static void produce(void)
{
    for (unsigned i = 0; i < ITEMS; i++) {
        (void)produce_one(explore_self(), i);
    }
}

static void consume_all_of_two(void)
{
    while (taken_count < 2 * ITEMS) {
        struct rti_mpsc_node *node = NULL;
        if (rti_mpsc_pop(&queue, &node) == RTI_MPSC_ITEM) {
            take(node);
        } else {
            rti_spin_hint();
        }
    }
}

static void check_two(void)
{
    EXPLORE_ASSERT(taken_count == 2 * ITEMS);
    EXPLORE_ASSERT(rti_mpsc_audit(&queue) == 0);
}

MODEL(mpsc_delivers_in_order_per_producer){
    .about = "two producers, two nodes each, one consumer that waits for all",
    .setup = setup,
    .threads = {produce, produce, consume_all_of_two},
    .check = check_two,
};

static void consume_all_of_three(void)
{
    while (taken_count < 3) {
        struct rti_mpsc_node *node = NULL;
        if (rti_mpsc_pop(&queue, &node) == RTI_MPSC_ITEM) {
            take(node);
        } else {
            rti_spin_hint();
        }
    }
}

static void check_three(void)
{
    EXPLORE_ASSERT(taken_count == 3);
    EXPLORE_ASSERT(rti_mpsc_audit(&queue) == 0);
}

static void produce_first(void)
{
    (void)produce_one(explore_self(), 0);
}

MODEL(mpsc_delivers_from_three_producers){
    .about = "three producers, a node each, one consumer that waits for all",
    .setup = setup,
    .threads = {produce_first, produce_first, produce_first, consume_all_of_three},
    .check = check_three,
};

/* An actor: whoever makes it runnable runs it, until it is idle again. So all threads may be the
 * consumer in turn, and the race detector sees it if two are at once. */
static void run_actor(void)
{
    while (!rti_mpsc_try_idle(&queue)) {
        struct rti_mpsc_node *node = NULL;
        if (rti_mpsc_pop(&queue, &node) == RTI_MPSC_ITEM) {
            take(node);
        } else {
            rti_spin_hint();
        }
    }
}

static void send_two(void)
{
    for (unsigned i = 0; i < ITEMS; i++) {
        if (produce_one(explore_self(), i)) {
            run_actor();
        }
    }
}

static void send_one(void)
{
    if (produce_one(explore_self(), 0)) {
        run_actor();
    }
}

static void check_actor_of_two(void)
{
    check_two();
    EXPLORE_ASSERT(rti_mpsc_try_idle(&queue) == false);
}

MODEL(mpsc_wakes_an_idle_consumer_once){
    .about = "an actor that goes idle is made runnable by exactly one push; nothing is lost",
    .setup = setup,
    .threads = {send_two, send_two},
    .check = check_actor_of_two,
};

MODEL(mpsc_wakes_an_idle_consumer_once_among_three){
    .about = "the same with three producers",
    .setup = setup,
    .threads = {send_one, send_one, send_one},
    .check = check_three,
};

static void check_actor_mixed(void)
{
    EXPLORE_ASSERT(taken_count == 2 * ITEMS + 1);
    EXPLORE_ASSERT(rti_mpsc_audit(&queue) == 0);
}

MODEL(mpsc_wakes_an_idle_consumer_once_among_many){
    .about = "five nodes of three producers",
    .setup = setup,
    .threads = {send_two, send_two, send_one},
    .check = check_actor_mixed,
};

/* A node is free for use as soon as it is popped: the consumer pushes it again. */
static void consume_and_send_again(void)
{
    unsigned seen = 0;
    bool was_sent_again = false;
    while (seen < 3) {
        struct rti_mpsc_node *node = NULL;
        if (rti_mpsc_pop(&queue, &node) != RTI_MPSC_ITEM) {
            rti_spin_hint();
            continue;
        }
        const struct item *item = RTI_CONTAINER_OF(node, struct item, node);
        RTI_PLAIN_READ(&item->producer, sizeof item->producer);
        seen++;
        if (!was_sent_again) {
            was_sent_again = true;
            (void)produce_one(item->producer, 0);
        }
    }
}

static void check_reuse(void)
{
    EXPLORE_ASSERT(rti_mpsc_audit(&queue) == 0);
}

MODEL(mpsc_node_may_be_pushed_again_once_popped){
    .about = "the consumer reuses the node it popped at once",
    .setup = setup,
    .threads = {produce_first, produce_first, consume_and_send_again},
    .check = check_reuse,
};

/* EMPTY means that nothing is queued: who has pushed a node gets BUSY until it is reachable. */
static void push_and_take_own(void)
{
    struct rti_mpsc_node *node = NULL;
    (void)produce_one(explore_self(), 0);
    while (node != &items[explore_self()][0].node) {
        enum rti_mpsc_result answer = rti_mpsc_pop(&queue, &node);
        EXPLORE_ASSERT(answer != RTI_MPSC_EMPTY);
        if (answer == RTI_MPSC_BUSY) {
            rti_spin_hint();
        }
    }
}

MODEL(mpsc_is_never_empty_with_a_node_pushed){
    .about = "a consumer that pushed a node itself never finds the queue empty before it",
    .setup = setup,
    .threads = {produce_first, produce_first, push_and_take_own},
};
