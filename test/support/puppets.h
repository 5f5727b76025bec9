/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PUPPETS_H
#define PUPPETS_H

/* Buses with several subscribers, told as a list of steps in one place.
 *
 * A case is one actor, the master, and puppets: actors that do what the master calls them to do and
 * answer with what came of it. Entries are ints. */

#include <orrery/rt.h>

enum { PUPPET_NOTHING = -1 }; /* what a read gives when there is nothing */

enum puppet_verb { PUPPET_SUBSCRIBE, PUPPET_UNSUBSCRIBE, PUPPET_READ, PUPPET_WAIT, PUPPET_END };

struct puppet_command {
    enum puppet_verb verb;
    bus_id bus;
    int32_t timeout_ms; /* PUPPET_WAIT */
};

struct puppet_answer {
    rt_status_code code;
    int value;  /* PUPPET_NOTHING if none was read */
    rt_time at; /* when it was done */
};

/* 32 subscribers, 8 entries, no limit of readers or age. */
extern const rt_bus_config puppets_plain_bus;

/* Runs the master in the simulator, in the order of the fixed engine. */
void puppets_run(actor_fn master);

/* Ends the master and the run, whatever the puppets wait for. */
_Noreturn void puppets_done(void);

/* Lets simulated time pass; nobody sends the master anything. */
void puppets_nap(int32_t ms);

bus_id puppets_bus(const rt_bus_config *config);
bus_id puppets_bus_with(size_t max_entries, uint8_t max_readers, uint32_t max_age_ms);
void puppets_publish(bus_id bus, int value);

/* A new puppet; one that subscribes. */
actor_id puppet_make(void);
actor_id puppet_subscriber(bus_id bus);

/* Has a puppet do something and waits until it is done. */
struct puppet_answer puppet_tell(actor_id who, struct puppet_command command);
rt_status_code puppet_subscribe(actor_id who, bus_id bus);
rt_status_code puppet_unsubscribe(actor_id who, bus_id bus);
int puppet_read(actor_id who, bus_id bus);
void puppet_end(actor_id who);

#endif
