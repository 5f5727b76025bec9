/* SPDX-License-Identifier: Apache-2.0 */

/* Sleeping without losing a wake-up: the parker itself, and the protocol of an idle worker above
 * it, announce sleep and look again. */

#include "sched/parker.h"

#include "port/explore/port.h"

enum { SOME_TIME = 1 };

static struct rti_parker parker;
static rti_atomic_u32 work;        /* items to do */
static rti_atomic_u32 is_sleeping; /* announced by the worker, withdrawn by who wakes it */
static uint32_t data[3];
static uint32_t done_count;

static void setup(void)
{
    rti_parker_init(&parker);
    rti_u32_init(&work, 0);
    rti_u32_init(&is_sleeping, 0);
    explore_name(&parker.state, "parker");
    explore_name(&work, "work");
    explore_name(&is_sleeping, "is_sleeping");
    data[0] = data[1] = data[2] = 0;
    done_count = 0;
}

static void write_and_unpark(void)
{
    unsigned self = explore_self();
    RTI_PLAIN_WRITE(&data[self], sizeof data[self]);
    data[self] = 1;
    rti_parker_unpark(&parker, explore_port());
}

static void park_once(void)
{
    EXPLORE_ASSERT(rti_parker_park(&parker, explore_port(), RTI_TIME_NEVER));
    RTI_PLAIN_READ(&data[0], sizeof data[0]);
    EXPLORE_ASSERT(data[0] == 1);
}

MODEL(parker_sees_what_was_written_before_unpark){
    .about = "park returns after unpark and sees what came before it",
    .setup = setup,
    .threads = {write_and_unpark, park_once},
    .spurious_wakes_max = 1,
};

/* Two tokens may melt into one, but a park after the last unpark returns. */
static void park_until_both(void)
{
    while (rti_u32_load_acquire(&work) != 2) {
        EXPLORE_ASSERT(rti_parker_park(&parker, explore_port(), RTI_TIME_NEVER));
    }
}

static void add_and_unpark(void)
{
    (void)rti_u32_add_acqrel(&work, 1);
    rti_parker_unpark(&parker, explore_port());
}

static void check_parker(void)
{
    EXPLORE_ASSERT(rti_u32_load_relaxed(&parker.state) != RTI_PARKER_PARKED);
}

MODEL(parker_loses_no_token){
    .about = "two unparks, a parker that waits for both",
    .setup = setup,
    .threads = {add_and_unpark, add_and_unpark, park_until_both},
    .check = check_parker,
    .spurious_wakes_max = 1,
};

/* A timed park that came too early leaves the token for the next one. */
static void park_with_deadline(void)
{
    if (!rti_parker_park(&parker, explore_port(), SOME_TIME)) {
        EXPLORE_ASSERT(rti_parker_park(&parker, explore_port(), RTI_TIME_NEVER));
    }
    RTI_PLAIN_READ(&data[0], sizeof data[0]);
    EXPLORE_ASSERT(data[0] == 1);
}

static void check_token_is_taken(void)
{
    EXPLORE_ASSERT(rti_u32_load_relaxed(&parker.state) == RTI_PARKER_EMPTY);
}

MODEL(parker_timeout_loses_no_token){
    .about = "a deadline that crosses the unpark: the token is taken now or by the next park",
    .setup = setup,
    .threads = {write_and_unpark, park_with_deadline},
    .check = check_token_is_taken,
    .spurious_wakes_max = 1,
    .timeouts_max = 2,
};

/* An idle worker. Work is a word that producers write without a locked instruction, as the tail of
 * a run ring; the two fences are what keeps "worker looks, producer looks" from missing each
 * other. */
static bool take_work(void)
{
    uint32_t count = rti_u32_load_acquire(&work);
    if (count == done_count) {
        return false;
    }
    done_count = count;
    return true;
}

static void announce_and_sleep(void)
{
    rti_u32_store_relaxed(&is_sleeping, 1);
    /* Pairs with the fence in offer_work: one of the two sees the other's store. */
    rti_fence_seqcst();
    /* Look once more after announcing sleep. */
    if (rti_u32_load_acquire(&work) == done_count) {
        EXPLORE_ASSERT(rti_parker_park(&parker, explore_port(), RTI_TIME_NEVER));
        return;
    }
    /* Withdraw; if a producer was quicker, its token is on the way and is taken by a later park. */
    (void)rti_u32_exchange_acqrel(&is_sleeping, 0);
}

static void work_two(void)
{
    while (done_count < 2) {
        if (!take_work()) {
            announce_and_sleep();
        }
    }
}

static void offer_work(uint32_t count)
{
    rti_u32_store_release(&work, count);
    /* Pairs with the fence in announce_and_sleep. */
    rti_fence_seqcst();
    if (rti_u32_load_relaxed(&is_sleeping) == 1 && rti_u32_exchange_acqrel(&is_sleeping, 0) == 1) {
        rti_parker_unpark(&parker, explore_port());
    }
}

static void offer_two(void)
{
    offer_work(1);
    offer_work(2);
}

static void check_worked(void)
{
    EXPLORE_ASSERT(done_count == 2);
}

MODEL(idle_worker_misses_no_work){
    .about = "announce sleep, fence, look again, against store, fence, look",
    .setup = setup,
    .threads = {work_two, offer_two},
    .check = check_worked,
    .spurious_wakes_max = 1,
};

/* Two workers sleep, two producers offer one item each; the items are claimed by counting down. */
static struct rti_parker parkers[2];
static rti_atomic_u32 sleeping[2];

static void setup_two(void)
{
    setup();
    for (unsigned i = 0; i < 2; i++) {
        rti_parker_init(&parkers[i]);
        rti_u32_init(&sleeping[i], 0);
    }
    explore_name(&sleeping[0], "sleeping0");
    explore_name(&sleeping[1], "sleeping1");
    explore_name(&parkers[0].state, "parker0");
    explore_name(&parkers[1].state, "parker1");
}

static bool claim_work(void)
{
    uint32_t count = rti_u32_load_acquire(&work);
    while (count > 0) {
        if (rti_u32_cas_acqrel(&work, &count, count - 1)) {
            return true;
        }
    }
    return false;
}

static void work_one(void)
{
    unsigned self = explore_self();
    while (!claim_work()) {
        rti_u32_store_relaxed(&sleeping[self], 1);
        rti_fence_seqcst();
        if (rti_u32_load_acquire(&work) == 0) {
            EXPLORE_ASSERT(rti_parker_park(&parkers[self], explore_port(), RTI_TIME_NEVER));
        }
        (void)rti_u32_exchange_acqrel(&sleeping[self], 0);
    }
}

static void offer_to_any(void)
{
    for (unsigned k = 0; k < 2; k++) {
        (void)rti_u32_add_acqrel(&work, 1);
        rti_fence_seqcst();
        for (unsigned i = 0; i < 2; i++) {
            if (rti_u32_load_relaxed(&sleeping[i]) == 1 &&
                rti_u32_exchange_acqrel(&sleeping[i], 0) == 1) {
                rti_parker_unpark(&parkers[i], explore_port());
                break;
            }
        }
    }
}

static void check_all_done(void)
{
    EXPLORE_ASSERT(rti_u32_load_relaxed(&work) == 0);
}

MODEL(idle_workers_are_woken_one_per_item){
    .about = "two sleepers, two items, each item wakes one sleeper if there is one",
    .setup = setup_two,
    .threads = {work_one, work_one, offer_to_any},
    .check = check_all_done,
};
