/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_CANCEL_H
#define RTI_CANCEL_H

/* Cancellation: a flag that is raised once, and a line of those who wait meanwhile.
 *
 * A fiber's `cancel` is that of its current context (sync/cx.h). It lies in this layer so that
 * everything that waits can look at it.
 *
 * A wait that can be cancelled adds one more waiter, with the event RTI_EVENT_CANCEL, and links it
 * here. Raising the flag claims every wait in the line; a wait that something else has claimed
 * already keeps what it got. Those claimed are gathered and woken when the lock is given back. They
 * are in a list until then, so that with one worker a waker may end another one of them, which is
 * then not woken. With several, nobody but who claimed it touches a claimed waiter until it is
 * woken.
 *
 * The flag is looked at without the lock. A wait that is begun when it has just been raised ends at
 * once: adding to the line looks again.
 *
 * With one worker a fiber that waits for one thing only is spared the line. It leaves its waiter
 * beside the flag, as `lone`, with nothing filled in but the wait, and takes it away itself when it
 * goes on. Whoever raises the flag first puts it into the line.
 *
 * I1  `is_requested` goes from 0 to 1 and never back.                  (rti_cancel_request)
 * I2  Once it is 1 the line holds nobody whose wait is unclaimed, and nobody is lone.
 *                                                                      (rti_cancel_add) */

#include "sched/lock.h"
#include "sched/wait.h"

struct rti_cancel {
    struct rti_list line;    /* of waiters */
    struct rti_waiter *lone; /* one worker: waits beside the line; NULL: nobody */
    struct rti_sched *sched;
    struct rti_lock lock;
    /* What the context knows that it belongs to: here, because there is room. */
    uint32_t owner_word;
    uint16_t owner_half;
    rti_atomic_u8 is_requested; /* bool; written under the lock */
    bool is_seen; /* a call of the one who was asked has failed for it; written by that one */
};

static inline void rti_cancel_init(struct rti_cancel *cancel, struct rti_sched *sched)
{
    rti_u8_init(&cancel->is_requested, 0);
    cancel->is_seen = false;
    rti_lock_init(&cancel->lock, sched, RTI_LOCK_CANCEL);
    rti_list_init(&cancel->line);
    cancel->lone = NULL;
    cancel->sched = sched;
}

static inline bool rti_cancel_is_requested(const struct rti_cancel *cancel)
{
    return rti_u8_load_relaxed(&cancel->is_requested) != 0;
}

/* Wakes those claimed, in the order in which they came. A waker may end the object that the flag
 * lies in. No lock is held. */
static inline void rti_cancel_wake_all(struct rti_list *claimed)
{
    struct rti_link *link;
    while ((link = rti_list_pop(claimed)) != NULL) {
        rti_waiter_wake(RTI_CONTAINER_OF(link, struct rti_waiter, link));
    }
}

static inline void rti_cancel_unlink(struct rti_waiter *waiter)
{
    struct rti_cancel *cancel = waiter->slot;
    rti_lock_acquire(&cancel->lock, cancel->sched);
    rti_waitlist_unlink(waiter);
    rti_lock_release(&cancel->lock);
}

/* Claims everybody in line, for the caller to wake. Who is claimed already stays in line: it still
 * knows the flag, and whoever ends the flag's life must find it (sync/cx.c). */
static inline void rti_cancel_claim_all(struct rti_cancel *cancel, struct rti_list *claimed)
{
    struct rti_waiter *waiter = cancel->lone;
    rti_lock_acquire(&cancel->lock, cancel->sched);
    if (waiter != NULL) {
        cancel->lone = NULL;
        rti_wait_add(waiter->wait, waiter, RTI_EVENT_CANCEL, rti_cancel_unlink);
        waiter->slot = cancel;
        rti_list_push_tail(&cancel->line, &waiter->link);
    }
    struct rti_link *next;
    for (struct rti_link *at = rti_list_peek(&cancel->line); at != NULL; at = next) {
        next = rti_list_next(&cancel->line, at);
        waiter = RTI_CONTAINER_OF(at, struct rti_waiter, link);
        if (rti_wait_claim(waiter->wait, waiter->event)) {
            rti_list_remove(at);
            rti_list_push_tail(claimed, at);
        }
    }
    rti_lock_release(&cancel->lock);
}

/* Adds cancellation to the events of a wait. */
static inline void rti_cancel_add(struct rti_cancel *cancel, struct rti_wait *wait,
                                  struct rti_waiter *waiter)
{
    rti_wait_add(wait, waiter, RTI_EVENT_CANCEL, rti_cancel_unlink);
    waiter->slot = cancel;
    rti_lock_acquire(&cancel->lock, cancel->sched);
    rti_list_push_tail(&cancel->line, &waiter->link);
    bool is_late = rti_cancel_is_requested(cancel);
    rti_lock_release(&cancel->lock);
    if (RTI_UNLIKELY(is_late)) {
        struct rti_list claimed;
        rti_list_init(&claimed);
        rti_cancel_claim_all(cancel, &claimed);
        rti_cancel_wake_all(&claimed);
    }
}

/* The same for a wait that begins on one worker, of the fiber whose flag this is, while the flag is
 * not raised. */
static inline void rti_cancel_add_lone(struct rti_cancel *cancel, struct rti_wait *wait,
                                       struct rti_waiter *waiter)
{
    RT_DCHECK(cancel->lone == NULL && wait->is_local && !rti_cancel_is_requested(cancel));
    waiter->wait = wait;
    cancel->lone = waiter;
}

/* The end of it. False if it has come into the line meanwhile: then it may still be there. */
static inline bool rti_cancel_remove_lone(struct rti_cancel *cancel)
{
    bool is_lone = cancel->lone != NULL;
    cancel->lone = NULL;
    return is_lone;
}

/* Raises the flag and claims who waits, for the caller to wake. False if it was raised before. */
static inline bool rti_cancel_request(struct rti_cancel *cancel, struct rti_list *claimed)
{
    rti_lock_acquire(&cancel->lock, cancel->sched);
    bool is_first = !rti_cancel_is_requested(cancel);
    rti_u8_store_relaxed(&cancel->is_requested, 1);
    rti_lock_release(&cancel->lock);
    if (is_first) {
        rti_cancel_claim_all(cancel, claimed);
    }
    return is_first;
}

#endif
