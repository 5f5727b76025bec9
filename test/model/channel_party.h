/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_CHANNEL_PARTY_H
#define MODEL_CHANNEL_PARTY_H

/* The channel under a lock, as the library has it on an engine with several workers, and the
 * threads that use it: what the models of channels share. The core is the library's own
 * (src/sync/channel.c), and so are the claim of a waiter and the parker. */

#include "base/assert.h"
#include "sync/channel.h"

#include "port/explore/port.h"
#include "sched/parker.h"
#include "sync/permit.h"

enum { PARTIES = 5, NOTHING = 0 };

/* One who uses the channel: a thread, and what it waits with. */
struct party {
    struct rti_parker parker;
    struct rti_wait wait;
    struct rti_channel_waiter waiter;
    struct rti_permit permit;
    bool is_armed;         /* its wait can be cancelled; under the lock */
    uint64_t value;        /* sent or received: plain, ordered by lock or wake */
    rt_status_code result; /* of its last call */
};

static struct rti_channel channel;
static _Alignas(16) unsigned char memory[RT_CHANNEL_BYTES(8, 2)];
static rti_atomic_u32 lock;
static struct party parties[PARTIES];
static uint64_t received[4]; /* what the receiving threads got, in their order; 2 each */

static inline struct party *self(void)
{
    return &parties[explore_self()];
}

static inline void enter(void)
{
    uint32_t unlocked = 0;
    /* Pairs with the release in leave. */
    while (!rti_u32_cas_acqrel(&lock, &unlocked, 1)) {
        rti_spin_hint();
        unlocked = 0;
    }
    RTI_PLAIN_WRITE(&channel, sizeof channel);
}

/* Leaves the lock, then wakes: never the other way round. */
static inline void leave(struct rti_list *wakes)
{
    rti_channel_audit(&channel);
    RTI_PLAIN_WRITE(&channel, sizeof channel);
    /* Pairs with the acquire in enter. */
    rti_u32_store_release(&lock, 0);
    rti_channel_wake_all(wakes);
}

static inline void unpark(struct rti_wait *ended)
{
    struct party *party = ended->target;
    rti_parker_unpark(&party->parker, explore_port());
}

static inline void take_out(struct rti_waiter *base)
{
    struct rti_list wakes;
    rti_list_init(&wakes);
    enter();
    (void)rti_channel_leave(&channel, rti_channel_waiter_of(base), false, &wakes);
    self()->is_armed = false;
    leave(&wakes);
}

/* In line, with the lock held: leaves it, sleeps, and says how the wait ended. */
static inline rt_status_code await(struct party *party, enum rti_channel_waiter_kind kind,
                                   struct rti_list *wakes)
{
    rti_wait_begin(&party->wait, unpark, party, false);
    rti_wait_add(&party->wait, &party->waiter.waiter, RTI_EVENT_SOURCE, take_out);
    party->waiter.waiter.slot = &party->value;
    party->waiter.end = NULL;
    party->waiter.permit = kind == RTI_CHANNEL_RESERVE ? &party->permit : NULL;
    rti_channel_join(&channel, &party->waiter, kind, wakes);
    party->is_armed = true;
    leave(wakes);
    EXPLORE_ASSERT(rti_parker_park(&party->parker, explore_port(), RTI_TIME_NEVER));
    uint32_t event = rti_wait_event(&party->wait);
    rti_wait_finish(&party->wait);
    /* The memory is ours again: whoever still has a link to it would serve nobody. */
    rti_u32_init(&party->wait.claimed, RTI_EVENT_NONE);
    return event == RTI_EVENT_SOURCE ? party->waiter.result : RT_ERR_CANCELLED;
}

static inline void send(uint64_t value)
{
    struct party *party = self();
    struct rti_list wakes;
    rti_list_init(&wakes);
    RTI_PLAIN_WRITE(&party->value, sizeof party->value);
    party->value = value;
    enter();
    switch (rti_channel_put(&channel, &party->value, &wakes)) {
    case RTI_CHANNEL_DONE:
        party->result = RT_OK;
        leave(&wakes);
        break;
    case RTI_CHANNEL_GONE:
        party->result = RT_ERR_DISCONNECTED;
        leave(&wakes);
        break;
    default:
        party->result = await(party, RTI_CHANNEL_SEND, &wakes);
        break;
    }
}

static inline uint64_t recv(void)
{
    struct party *party = self();
    struct rti_list wakes;
    rti_list_init(&wakes);
    enter();
    switch (rti_channel_take(&channel, &party->value, &wakes)) {
    case RTI_CHANNEL_DONE:
        party->result = RT_OK;
        leave(&wakes);
        break;
    case RTI_CHANNEL_GONE:
        party->result = RT_ERR_DISCONNECTED;
        leave(&wakes);
        break;
    default:
        party->result = await(party, RTI_CHANNEL_RECV, &wakes);
        break;
    }
    if (party->result != RT_OK) {
        return NOTHING;
    }
    RTI_PLAIN_READ(&party->value, sizeof party->value);
    return party->value;
}

static inline void setup_with(uint32_t capacity, bool is_rendezvous)
{
    rt_channel_config config = {.elem_size = 8, .capacity = capacity};
    rti_channel_init(&channel, &config, memory, is_rendezvous);
    rti_u32_init(&lock, 0);
    explore_name(&lock, "lock");
    for (int i = 0; i < PARTIES; i++) {
        rti_parker_init(&parties[i].parker);
        parties[i].is_armed = false;
        parties[i].value = NOTHING;
        parties[i].result = RT_ERR_WOULDBLOCK;
        parties[i].permit = (struct rti_permit){.serial = (uint64_t)i + 1};
        rti_link_init(&parties[i].permit.link);
    }
    for (int i = 0; i < 4; i++) {
        received[i] = NOTHING;
    }
}

static inline void setup_buffered(void)
{
    setup_with(1, false);
}

static inline void setup_rendezvous(void)
{
    setup_with(1, true);
}

static inline void setup_full(void)
{
    struct rti_list wakes;
    uint64_t value = 9;
    setup_with(1, false);
    rti_list_init(&wakes);
    EXPLORE_ASSERT(rti_channel_put(&channel, &value, &wakes) == RTI_CHANNEL_DONE);
}

#endif
