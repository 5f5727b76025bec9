/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_MACHINES_H
#define TEST_MACHINES_H

/* What the tests of machines start from: up to three loops on one simulated port, turned by hand,
 * each with a puppet as its app machine. A puppet takes whatever comes and keeps it for the test to
 * look at; what it does beyond is its script. */

#include <string.h>

#include "machine/loop.h"
#include "port/sim/port_sim.h"
#include "support/test.h"

#define WORLD_LOOPS_MAX 3
#define WORLD_SLOTS     16
#define PUPPET_GOT_MAX  64

struct puppet {
    rt_machine machine; /* first */
    void (*script)(struct puppet *puppet, rt_time now);
    rt_op *got[RT_QUEUE_COUNT][PUPPET_GOT_MAX];
    unsigned count[RT_QUEUE_COUNT];
    unsigned ticks;
    bool is_passive; /* takes nothing */
    bool is_closed;
    unsigned closed_turn; /* which machine of all this was to close */
    void *data;
};

struct world {
    struct rti_port_sim sim;
    rt_loop loops[WORLD_LOOPS_MAX];
    rt_loop *pointers[WORLD_LOOPS_MAX];
    rt_loop_group group;
    rt_machine_slot slots[WORLD_LOOPS_MAX][WORLD_SLOTS];
    struct puppet apps[WORLD_LOOPS_MAX];
    unsigned loops_count;
    unsigned closed_count;
};

static struct world world;

static inline struct puppet *puppet_of(rt_machine *machine)
{
    return (struct puppet *)machine;
}

static inline void puppet_tick(rt_machine *machine, rt_time now)
{
    struct puppet *puppet = puppet_of(machine);
    puppet->ticks++;
    for (unsigned queue = 0; queue < RT_QUEUE_COUNT && !puppet->is_passive; queue++) {
        rt_op *op;
        while ((op = rt_machine_next(machine, (rt_queue)queue)) != NULL) {
            CHECK(puppet->count[queue] < PUPPET_GOT_MAX);
            puppet->got[queue][puppet->count[queue]++] = op;
        }
    }
    if (puppet->script != NULL) {
        puppet->script(puppet, now);
    }
}

static inline void puppet_closed(rt_machine *machine)
{
    puppet_of(machine)->is_closed = true;
    puppet_of(machine)->closed_turn = ++world.closed_count;
}

static inline rt_machine_config puppet_config(void)
{
    return (rt_machine_config){.tick = puppet_tick, .on_closed = puppet_closed};
}

static inline void puppet_child(struct puppet *parent, struct puppet *child)
{
    rt_machine_config config = puppet_config();
    *child = (struct puppet){.ticks = 0};
    CHECK_OK(rt_machine_init_child(&parent->machine, &child->machine, &config));
}

static inline rt_op *puppet_last(struct puppet *puppet, rt_queue queue)
{
    return puppet->count[queue] == 0 ? NULL : puppet->got[queue][puppet->count[queue] - 1];
}

static inline struct rti_loop *world_loop(unsigned i)
{
    return rti_loop_of(&world.loops[i]);
}

static inline void world_start(unsigned loops_count)
{
    memset(&world, 0, sizeof(world));
    world.loops_count = loops_count;
    rti_port_sim_init(&world.sim, test_seed(), 1000, NULL);
    for (unsigned i = 0; i < loops_count; i++) {
        world.pointers[i] = &world.loops[i];
    }
    rt_loop_group_init(&world.group, world.pointers, loops_count);
    for (unsigned i = 0; i < loops_count; i++) {
        rt_loop_config config = {.port = &world.sim.port,
                                 .group = &world.group,
                                 .thread_id = i,
                                 .app = &world.apps[i].machine,
                                 .app_config = puppet_config(),
                                 .slots = world.slots[i],
                                 .slots_count = WORLD_SLOTS};
        CHECK_OK(rt_loop_init(&world.loops[i], &config));
    }
}

/* One turn of each loop, without waiting. */
static inline void world_turn(void)
{
    for (unsigned i = 0; i < world.loops_count; i++) {
        (void)rt_loop_turn(&world.loops[i], 0);
    }
}

static inline bool world_is_busy(void)
{
    bool is_busy = !rti_list_is_empty(&world.sim.answered);
    for (unsigned i = 0; i < world.loops_count; i++) {
        is_busy = is_busy || rti_inbox_audit(&world_loop(i)->inbox) > 0 ||
                  rt_loop_next_deadline(&world.loops[i]) == 0;
    }
    return is_busy;
}

/* Turns until nothing is left but to wait. */
static inline void world_settle(void)
{
    world_turn();
    for (unsigned i = 0; world_is_busy(); i++) {
        CHECK(i < 10000);
        world_turn();
    }
}

static inline void world_advance(uint64_t ns)
{
    world.sim.now_ns += ns;
    world_settle();
}

/* Closes every loop and demands that all of it goes. */
static inline void world_finish(void)
{
    for (unsigned i = 0; i < world.loops_count; i++) {
        rt_loop_close(&world.loops[i]);
    }
    for (unsigned i = 0; i < 1000 && !rti_loop_is_over(world_loop(0)); i++) {
        world_turn();
    }
    for (unsigned i = 0; i < world.loops_count; i++) {
        CHECK(rti_loop_is_over(world_loop(i)));
        CHECK(world.apps[i].is_closed);
        rt_loop_deinit(&world.loops[i]);
    }
}

#endif
