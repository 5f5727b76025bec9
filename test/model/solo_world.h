/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_SOLO_WORLD_H
#define MODEL_SOLO_WORLD_H

/* A worker that holds one of two stations and may work alone, one that has none, a mailbox with its
 * receiver, and somebody in `next`. */

#include "search_world.h"

#include "actor/rest.h"
#include "sched/solo.h"

enum { STATIONS = 2, MEMBERS = 2, LETTERS = 3 };

static struct rti_sched sched;
static struct rti_crew crew;
static struct rti_station stations[STATIONS];
static struct rti_member members[MEMBERS];
static struct rti_port port;
static struct rti_port_ops ops;
static struct rti_letterbox box;
static struct rti_letter letters[LETTERS];
static struct rti_runnable run;
static struct rti_runnable woken; /* in `next` */
static unsigned private_uses;     /* plain: of what is the worker's while it works alone */
static bool has_woken[MEMBERS];   /* its push found the box idle */
static bool is_resting;
static unsigned served;         /* letters that were taken */
static unsigned served_next;    /* the worker's own letter that is to come next */
static unsigned takes[MEMBERS]; /* of `woken` */

/* Each thread of the model is the member of its number. */
struct rti_worker *rti_worker_current(void)
{
    return members[explore_self()].worker;
}

/* The first member holds a station and the other is idle; the box is idle. */
static void setup(void)
{
    ops = *explore_port()->ops;
    ops.clock_ns = world_clock;
    ops.wait = world_wait;
    ops.wake = world_wake;
    port = (struct rti_port){.ops = &ops};
    sched = (struct rti_sched){.port = &port, .crew = &crew, .is_local = false};
    crew = (struct rti_crew){.sched = &sched,
                             .stations = stations,
                             .members = members,
                             .stations_count = STATIONS,
                             .members_max = MEMBERS,
                             .members_count = MEMBERS,
                             .can_solo = true};
    rti_lock_init(&crew.lock, &sched, RTI_LOCK_CREW);
    rti_injector_init(&crew.injector, &sched);
    rti_u32_init(&world_bell, 0);
    for (uint32_t i = 0; i < MEMBERS; i++) {
        members[i] = (struct rti_member){.crew = &crew, .index = i, .look_interval = 1};
        members[i].worker = &members[i].own;
        members[i].own = (struct rti_worker){.sched = &sched, .member = &members[i]};
        rti_u32_init(&members[i].own.is_solo, 0);
        rti_u32_init(&members[i].own.is_inside, 0);
        has_woken[i] = false;
        takes[i] = 0;
    }
    for (uint32_t i = 0; i < STATIONS; i++) {
        rti_station_init(&stations[i], i, &sched);
        rti_u32_init(&stations[i].state, RTI_STATION_HELD);
    }
    members[0].own.station = &stations[0];
    (void)rti_crew_give_back(&crew, &stations[1]);
    rti_letterbox_init(&box);
    run = (struct rti_runnable){.is_shared = true};
    rti_u32_init(&run.state, RTI_RUNNABLE_RUNNING);
    rti_runnable_init(&woken, 1, 0, world_step);
    rti_u32_init(&woken.state, RTI_RUNNABLE_READY);
    private_uses = 0;
    is_resting = false;
    served = 0;
    served_next = 0;
    explore_name(&members[0].own.is_solo, "solo");
    explore_name(&members[0].own.is_inside, "inside");
    explore_name(&box.word, "word");
    explore_name(&crew.lock.is_taken, "lock");
    explore_name(&stations[0].next, "next");
}

#endif
