/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_MUTEX_H
#define RTI_MUTEX_H

/* A mutex: a line and the one who holds it.
 *
 * The holder is known by its cleanup stack, which a fiber and a poll context have and nobody
 * shares. Unlocking names the next holder while the line's lock is held. The record on the holder's
 * cleanup stack is pushed by the holder itself, when it knows: a stack belongs to who runs on it.
 * Between the two the mutex is with somebody who does not know yet; if that one never comes to
 * know, its waiter's `left` passes the mutex on.
 *
 * The death of the holder runs the record: nobody holds the mutex then, and `is_orphaned` keeps it
 * that way. A status that says "you have it, but beware" would be dropped with the others by a
 * caller that only looks for RT_OK, together with the mutex.
 *
 * I1  The record is on the holder's stack iff the holder knows.                 (mutex_hold)
 * I2  Nobody is in line of a mutex that is free or orphaned.                    (rti_mutex_audit)
 * I3  An orphaned mutex has no holder.                                          (rti_mutex_audit)
 *
 * Costs: 96 bytes; a lock or unlock that meets nobody is about 30 instructions. */

#include <orrery/rt/mutex.h>

#include "sync/line.h"

struct rti_mutex {
    uint32_t magic;
    bool is_orphaned;
    struct rti_line line;
    struct rti_cleanups *holder; /* NULL: nobody */
    struct rti_cleanup cleanup;  /* on the holder's stack */
};

/* The mutex behind the storage; NULL if it is none. */
struct rti_mutex *rti_mutex_of(rt_mutex *storage);

/* Does the caller hold it? */
bool rti_mutex_is_held(const struct rti_mutex *mutex, struct rti_cx *cx, struct rti_worker *worker);

/* Gives it to the next; the caller holds it. */
void rti_mutex_release(struct rti_mutex *mutex);

/* Takes it for the caller, as rt_mutex_lock_until, but without a check point of its own and with
 * another name for a poll context. `call` has passed rti_line_begin. */
rt_status rti_mutex_take(struct rti_mutex *mutex, struct rti_line_call *call);

/* Prepares a call on its line. */
void rti_mutex_call(struct rti_mutex *mutex, struct rti_line_call *call, struct rti_cx_op op,
                    rt_time deadline);

void rti_mutex_audit(struct rti_mutex *mutex);

#endif
