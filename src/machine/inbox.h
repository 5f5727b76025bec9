/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_INBOX_H
#define RTI_INBOX_H

/* The inbox of a loop: where other loops put what is for its machines.
 *
 * It is a queue of many producers (base/mpsc.h) of legs, and two things more. A visit takes what
 * was there when it began and no more, so that a loop which is fed faster than it works still comes
 * to its timers and machines: the visit pushes a marker of its own behind what is there and ends
 * where it meets it. And a loop that finds the inbox empty marks it idle before it blocks; the one
 * push that finds the mark is told to wake it. A loop that is at work is woken by nobody.
 *
 * I1  `has_marker` iff the marker is in the queue.                    (RT_ASSERT at the next visit)
 * I2  `is_idle` implies that nothing was taken since the mark was set; the mark itself may be gone
 *     already, and then a wake is on its way.                              (machine_model.c)
 *
 * Who writes: the queue as base/mpsc.h says; the two flags the loop alone. */

#include "machine/travel.h"

struct rti_inbox {
    struct rti_mpsc queue;
    struct rti_mpsc_node marker;
    bool has_marker;
    bool is_idle;
};

/* Makes an empty, idle inbox. Before it is shared. */
void rti_inbox_init(struct rti_inbox *inbox);

/* Puts a leg in. Any thread. True: the loop may be asleep and the caller must wake it. */
static inline bool rti_inbox_push(struct rti_inbox *inbox, struct rti_leg *leg)
{
    return rti_mpsc_push(&inbox->queue, &leg->node);
}

/* Takes the oldest leg that was there when this visit began; NULL ends the visit. The loop only. */
struct rti_leg *rti_inbox_next(struct rti_inbox *inbox);

/* May the loop block now? True: nothing is there, and who puts something in will be told to wake
 * it. The loop only. */
bool rti_inbox_try_idle(struct rti_inbox *inbox);

/* Checks I1 and returns how many legs there are. The loop only, while no producer is active. */
size_t rti_inbox_audit(const struct rti_inbox *inbox);

#endif
