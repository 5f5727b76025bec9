/* SPDX-License-Identifier: Apache-2.0 */

/* A scheduler that blocks and threads that post to it: the posts' queue, the attention flag and the
 * wake word, in the order in which scheduler.c, port_linux.c and poller.c use them. The bell is an
 * eventfd there and a futex here; a bell that was rung stays rung until it is heard. */

#include "port/linux/wake_word.h"

#include "base/mpsc.h"
#include "port/explore/explore.h"

enum { POSTERS = 2, POSTS = 2 };

struct post {
    struct rti_mpsc_node node;
    uint32_t text;
};

static struct rti_mpsc posts;
static struct post items[POSTERS][POSTS];
static rti_atomic_u32 attention;
static struct rti_wake_word wake;
static rti_atomic_u32 bell;
static uint32_t heard_count; /* the scheduler's, as is the next */
static uint32_t block_count;

static void setup(void)
{
    rti_mpsc_init(&posts);
    rti_u32_init(&attention, 0);
    rti_wake_word_init(&wake);
    rti_u32_init(&bell, 0);
    explore_name(&posts.tail, "tail");
    explore_name(&attention, "attention");
    explore_name(&wake.word, "wake");
    explore_name(&bell, "bell");
    heard_count = 0;
    block_count = 0;
}

static void post(unsigned number)
{
    struct post *item = &items[explore_self()][number];
    RTI_PLAIN_WRITE(&item->text, sizeof item->text);
    item->text = 1;
    (void)rti_mpsc_push(&posts, &item->node);
    /* Pairs with the exchange in look. */
    rti_u32_store_release(&attention, 1);
    if (rti_wake_word_call(&wake)) {
        (void)rti_u32_add_acqrel(&bell, 1);
        explore_futex_wake(&bell, 1, EXPLORE_SITE);
    }
}

static void post_once(void)
{
    post(0);
}

static void post_twice(void)
{
    post(0);
    post(1);
}

/* As rti_poller_wait: blocks if it may and nobody has called. */
static void port_wait(bool may_block)
{
    bool is_asleep = may_block && rti_wake_word_announce(&wake);
    if (!is_asleep) {
        (void)rti_wake_word_answer(&wake);
        return;
    }
    block_count++;
    while (rti_u32_load_acquire(&bell) == 0) {
        (void)explore_futex_wait(&bell, 0, false, EXPLORE_SITE);
    }
    (void)rti_u32_exchange_acqrel(&bell, 0);
    (void)rti_wake_word_answer(&wake);
}

static bool drain(void)
{
    struct rti_mpsc_node *node = NULL;
    enum rti_mpsc_result answer;
    uint32_t before = heard_count;
    while ((answer = rti_mpsc_pop(&posts, &node)) == RTI_MPSC_ITEM) {
        const struct post *item = RTI_CONTAINER_OF(node, struct post, node);
        RTI_PLAIN_READ(&item->text, sizeof item->text);
        EXPLORE_ASSERT(item->text == 1);
        heard_count++;
    }
    if (answer == RTI_MPSC_BUSY) {
        rti_u32_store_relaxed(&attention, 1);
    }
    return heard_count != before;
}

/* Turns of a scheduler that has nothing else to do: looks if asked to, blocks if nothing came. */
static void hear(uint32_t count)
{
    while (heard_count < count) {
        bool is_ready = false;
        if (rti_u32_load_relaxed(&attention) != 0) {
            (void)rti_u32_exchange_acqrel(&attention, 0);
            port_wait(false);
            is_ready = drain();
        }
        if (!is_ready) {
            port_wait(true);
            (void)drain();
        }
    }
}

static void hear_one(void)
{
    hear(1);
}

static void hear_two(void)
{
    hear(2);
}

static void check(void)
{
    EXPLORE_ASSERT(rti_mpsc_audit(&posts) == 0);
    EXPLORE_ASSERT(rti_u32_load_relaxed(&wake.word) != RTI_WAKE_ASLEEP);
}

MODEL(wake_word_ends_a_block){
    .about = "one post, one scheduler that blocks",
    .setup = setup,
    .threads = {post_once, hear_one},
    .check = check,
    .spurious_wakes_max = 1,
};

MODEL(wake_word_loses_no_call_of_one_poster){
    .about = "two posts of one thread",
    .setup = setup,
    .threads = {post_twice, hear_two},
    .check = check,
};

MODEL(wake_word_loses_no_call_of_two_posters){
    .about = "a post each of two threads, one of them between the steps of its push",
    .setup = setup,
    .threads = {post_once, post_once, hear_two},
    .check = check,
};
