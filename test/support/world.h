/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WORLD_H
#define WORLD_H

/* In which world a case runs: the simulator, unless ORRERY_WORLD=real asks for the machine itself
 * with its own clock. The same cases run in both; what depends on the virtual clock says so in its
 * first line and is skipped in the other. */

#include <orrery/rt.h>

/* Is it the machine itself? */
bool world_is_real(void);

/* The case counts on a clock that stands still while anything runs: skips it in the real world. */
void world_needs_virtual_clock(void);

/* The case counts on the simulator for something else: skips it in the real world. */
void world_needs_simulator(const char *why);

/* Of cases about sockets and files, whose usual world is the machine: does ORRERY_WORLD=sim ask for
 * the simulated ones? */
bool world_io_is_simulated(void);

/* The case counts on what only the machine has: skips it where sockets and files are simulated. */
void world_needs_machine(const char *why);

/* As world_run, on the machine unless sockets and files are simulated. */
void world_io_run(actor_fn fn, void *arg);

/* Runs a program in the order of the fixed engine, to its end or to rt_shutdown: in the simulator,
 * or between rt_init and rt_cleanup. */
void world_run(actor_fn fn, void *arg);

#endif
