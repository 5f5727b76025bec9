/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_VISITOR_H
#define RTI_VISITOR_H

/* A thread that is no worker, inside or beside the runtime of the process.
 *
 * What a worker has at hand, the scheduler and everything that hangs off it, a visitor must be
 * given, and it must stay there as long as the visit lasts. Both are the runtime's business
 * (src/runtime/), one per process and chosen at link time, like the services of port.h. A visit is
 * short, or it waits in a place from which the end of the runtime can evict it. */

struct rti_port;
struct rti_sched;

/* Begins a visit: the scheduler, or NULL if there is no runtime with several workers. With one
 * worker everything is the worker's alone, and nobody else may come in. Any thread. */
struct rti_sched *rti_visitor_enter(void);

/* Ends it. The same thread. */
void rti_visitor_leave(void);

/* The port of a thread that has no fiber to park, for what it asks of the outside: it does that
 * itself and blocks, without a word to any runtime. Only `clock_ns`, `attempt`, `perform` and
 * `close_fd` are there. NULL where there is none, and for another thread than the worker's beside a
 * runtime that has only one: nobody else may call that. Any thread. */
struct rti_port *rti_visitor_port(void);

#endif
