/* SPDX-License-Identifier: Apache-2.0 */
/* A run ring on virtual threads: what a thief does at the ring of an owner that never rests. The
 * seed decides who goes on before each access to a shared word.
 *
 * How often a thief has to try has no bound: whoever decides may let the owner take one between
 * each look and its claim. What is bounded is the reason, and what a try costs. A claim fails only
 * if the owner has taken one since the look, so there are no more failures than takes. And each try
 * is for at most half of the one before, from half of the ring down to one: so many slots it reads,
 * so after a few tries it is as short as any can be.
 *
 * Seeds: 10 */
#define RTI_MODULE "ring_sim_test"
#include "base/ring.h"
#include "port/virtual/virtual.h"
#include "support/test.h"

TEST_TIMEOUT(60);

#define WORLDS      100
#define MAIN_THREAD 1

static struct rti_ring victim;
static struct rti_ring thief;
static rti_atomic_u32 is_over;
static uint32_t claims;      /* that the thief has made */
static uint32_t reads;       /* of the victim's slots, by the thief */
static rti_atomic_u32 takes; /* of the owner */

/* Takes the oldest and puts it back, as a task does that yields. */
static void owner_main(void *arg)
{
    (void)arg;
    while (rti_u32_load_relaxed(&is_over) == 0) {
        void *item = rti_ring_pop(&victim);
        if (item != NULL) {
            (void)rti_u32_add_relaxed(&takes, 1);
            RT_ASSERT(rti_ring_push(&victim, item));
        }
    }
}

static void on_access(uintptr_t thread, const void *address, bool is_write)
{
    if (thread != MAIN_THREAD) {
        return;
    }
    /* By that thread alone: to the sanitizer they are two. */
    uintptr_t place = (uintptr_t)address - (uintptr_t)victim.slots;
    claims += is_write && address == &victim.head;
    reads += !is_write && place < sizeof(victim.slots);
}

/* The most slots that so many tries may read. */
static uint32_t reads_max(uint32_t tries)
{
    uint32_t sum = 0;
    for (uint32_t count = RTI_RING_CAPACITY / 2; tries > 0; tries--) {
        sum += count;
        count -= count / 2;
    }
    return sum;
}

/* One steal of many items; gives how often it was tried. */
static uint32_t play(uint64_t seed)
{
    static char items[RTI_RING_CAPACITY];
    struct rti_virtual_config config = {
        .seed = seed, .start_ns = 1, .is_prompt = true, .on_access = on_access};
    struct rti_port_thread owner;
    rti_ring_init(&victim);
    rti_ring_init(&thief);
    rti_u32_init(&is_over, 0);
    for (uint32_t i = 0; i < RTI_RING_CAPACITY - 1; i++) {
        CHECK(rti_ring_push(&victim, &items[i]));
    }
    rti_virtual_open(&config);
    CHECK_OK(rti_virtual_thread_start(&owner, owner_main, NULL));
    claims = 0;
    reads = 0;
    rti_u32_init(&takes, 0);
    void *item = rti_ring_steal(&victim, &thief);
    uint32_t tries = claims;
    uint32_t taken = rti_u32_load_relaxed(&takes);
    rti_u32_store_relaxed(&is_over, 1);
    rti_virtual_thread_join(&owner);
    rti_virtual_close(NULL);
    CHECK(item != NULL);
    /* One that the owner has just taken may not be counted yet. */
    CHECK(tries >= 1 && tries - 1 <= taken + 1);
    CHECK(reads <= reads_max(tries));
    CHECK_EQ(rti_ring_count(&victim) + rti_ring_count(&thief) + 1, RTI_RING_CAPACITY - 1);
    return tries;
}

TEST_SEEDED(ring_thief_gets_something_from_an_owner_that_never_rests)
{
    uint32_t most = 0;
    for (uint64_t i = 0; i < WORLDS; i++) {
        uint32_t tries = play(test_seed() * WORLDS + i);
        most = tries > most ? tries : most;
    }
    /* The owner has come between: what is said above was tried. */
    CHECK(most > 1);
}
