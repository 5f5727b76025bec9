/* SPDX-License-Identifier: Apache-2.0 */
/* A channel between machines: entries, rings, a full queue, the end from both sides. */
#define RTI_MODULE "machine_channel_test"
#include "support/machines.h"

#define APP(i) (&world.apps[i])

static rt_spsc_queue queue;
static uint32_t entries[8];

static void open_channel(rt_channel_op *op, unsigned from, unsigned to)
{
    CHECK_OK(rt_spsc_init(&queue, entries, sizeof(entries[0]), 8));
    rt_op_init(&op->base, RT_OP_CHANNEL);
    op->queue = &queue;
    op->base.destination = APP(to)->machine.id;
    CHECK_OK(rt_op_submit(&APP(from)->machine, &op->base));
    world_settle();
}

TEST(machine_channel_carries_entries_in_order_and_rings_once_for_many)
{
    for (unsigned loops = 1; loops <= 2; loops++) {
        rt_channel_op op;
        struct puppet *sender;
        uint32_t got;
        world_start(loops);
        sender = APP(loops - 1);
        open_channel(&op, 0, loops - 1);
        for (uint32_t i = 0; i < 8; i++) {
            CHECK(rt_channel_op_push(&sender->machine, &op, &i));
        }
        CHECK(!rt_channel_op_push(&sender->machine, &op, &got));
        world_settle();
        CHECK_EQ(APP(0)->count[RT_QUEUE_NOTIFICATIONS], 1);
        for (uint32_t i = 0; i < 8; i++) {
            CHECK(rt_spsc_pop(&queue, &got));
            CHECK_EQ(got, i);
        }
        uint32_t last = 99;
        CHECK(rt_channel_op_push(&sender->machine, &op, &last));
        world_settle();
        CHECK_EQ(APP(0)->count[RT_QUEUE_NOTIFICATIONS], 2);
        rt_op_complete(&sender->machine, &op.base, RT_ERR_CLOSED, 0);
        world_settle();
        CHECK_EQ(APP(0)->count[RT_QUEUE_COMPLETIONS], 1);
        CHECK(rt_spsc_pop(&queue, &got)); /* what was sent before the end is there */
        CHECK_EQ(got, 99);
        world_finish();
    }
}

TEST(machine_channel_ends_by_the_receivers_cancel)
{
    rt_channel_op op;
    world_start(2);
    open_channel(&op, 0, 1);
    CHECK(rt_op_cancel(&APP(0)->machine, &op.base));
    world_settle();
    CHECK(puppet_last(APP(1), RT_QUEUE_CANCELLATIONS) == &op.base);
    rt_op_complete(&APP(1)->machine, &op.base, RT_ERR_CANCELLED, 0);
    world_settle();
    CHECK_EQ(op.base.status, RT_ERR_CANCELLED);
    CHECK_EQ(APP(0)->count[RT_QUEUE_COMPLETIONS], 1);
    world_finish();
}
