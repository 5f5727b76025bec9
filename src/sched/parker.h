/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_PARKER_H
#define RTI_PARKER_H

/* A parker lets one thread sleep until another wakes it, without losing a wake that comes first.
 *
 * It holds at most one token. unpark puts it there; park takes it, and sleeps until there is one.
 *
 *     EMPTY ---park---> PARKED        asleep, or about to be
 *     EMPTY, PARKED ---unpark---> NOTIFIED
 *     NOTIFIED ---park---> EMPTY      at once
 *
 * I1  After unpark, the current or the next park returns true.      (explored, with mutants)
 * I2  Only the parking thread leaves NOTIFIED; only unpark enters it.
 *
 * Memory order: both sides exchange the word with acquire-release, so what was written before
 * unpark is seen after park. The system call is made only when the other side sleeps. */

#include "port/port.h"

enum {
    RTI_PARKER_EMPTY = 0,
    RTI_PARKER_PARKED = 1,
    RTI_PARKER_NOTIFIED = 2,
};

struct rti_parker {
    rti_atomic_u32 state;
};

void rti_parker_init(struct rti_parker *parker);

/* Sleeps until a token is there and takes it: true. False if the deadline came first. One thread.
 */
bool rti_parker_park(struct rti_parker *parker, struct rti_port *port, uint64_t deadline_ns);

/* Puts the token there and wakes the thread if it sleeps. Any thread, any number of times. */
void rti_parker_unpark(struct rti_parker *parker, struct rti_port *port);

#endif
