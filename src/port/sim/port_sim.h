/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_PORT_SIM_H
#define RTI_PORT_SIM_H

/* The simulator's body of the seam: a clock that stands still while anything runs, and jumps.
 *
 * Time passes only when the scheduler waits: to the earliest deadline, at once. Randomness is the
 * stream of one seed. So a run depends on its seed and on nothing else, and a simulated year of
 * sleeping takes no time.
 *
 * Signals come from the program alone: one that is raised is told at once.
 *
 * Ops: NOP and work complete at the next wait; work runs in place. Ops on descriptors belong to the
 * network that the world is given (sim_net.h); without one they are answered RT_ERR_UNSUPPORTED.
 * Works on files belong to its disk (sim_disk.h); without one files are the host's.
 *
 * A wait ends with what comes first, the deadline or the next thing that happens in the world and
 * answers somebody. What happens at the very time of the deadline comes before it.
 *
 * I1  The clock never goes back, and moves only in `wait` and `futex_wait`. (RT_ASSERT there) */

#include "base/list.h"
#include "base/rng.h"
#include "port/port.h"

/* Numbers of simulated signals are below this. */
#define RTI_SIM_SIGNALS 65

struct rti_sim_disk;
struct rti_sim_net;

struct rti_port_sim {
    struct rti_port port;
    uint64_t now_ns;
    struct rti_rng rng;                          /* the program's randomness */
    struct rti_list answered;                    /* ops whose `done` is due at the next wait */
    bool is_waiting;                             /* inside `wait`, which looks itself */
    rti_atomic_u32 is_woken;                     /* any thread: a wake that no wait has consumed */
    struct rti_sim_net *net;                     /* NULL: there is none */
    struct rti_sim_disk *disk;                   /* the same */
    struct rti_port *host;                       /* lends memory; NULL: there is none */
    void (*caught[RTI_SIM_SIGNALS])(int number); /* NULL: nobody wants it */
};

/* Starts a simulated world at time `start_ns`. `host` may be NULL. */
void rti_port_sim_init(struct rti_port_sim *sim, uint64_t seed, uint64_t start_ns,
                       struct rti_port *host);

/* An op in flight holds its answer: its `done` is called by the next wait. */
void rti_port_sim_answer(struct rti_port_sim *sim, struct rti_op *op);

#endif
