/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_PLATFORM_H
#define RTI_PLATFORM_H

/* The platform machine: the root that turns ops of machines into ops of the port (port/op.h) and
 * the port's answers into completions. It is a machine like any other; what it waits for is in the
 * world and not in a queue.
 *
 * The port's op lies inside the rt_io_op, so nothing is allocated and nothing can be full. It is
 * submitted when the platform takes the op, and `done`, inside the port's wait on the loop's
 * thread, completes it. A loop that several workers run has no thread: there the port's answer is
 * brought to the loop (rti_loop.bring), whose next turn has it heard. A wish to cancel is handed to
 * the port; whatever the port answers is the answer.
 *
 * A standing receive of a stream has the port read into the free part of the ring. That part is
 * touched by nobody else: who takes bytes out only makes it longer at its far end, and a ring has
 * one op that fills it. Where there is no room, and for datagrams, it waits for the descriptor to
 * be readable and then reads without waiting, into the loop's scratch, which all receives use: such
 * a read never stays with the port.
 *
 * I1  The platform holds an op iff the port or `bring` has it.             (RT_ASSERT in done)
 * I2  After the completion the port has nothing of the op.                  (rti_op_is_idle) */

#include "machine/loop.h"

extern const rt_machine_config rti_platform_config;

/* Begins an op that the platform holds: the router gives it what its own loop says. It may be
 * answered when this returns. In a turn of the loop. */
void rti_platform_begin(rt_machine *machine, rt_op *op);

/* Hears an answer of the port that was brought to the loop. In a turn of the loop. */
void rti_platform_answered(struct rti_op *op);

#endif
