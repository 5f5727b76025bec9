/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_WAIT_H
#define RTI_WAIT_H

/* Everything that waits is a waiter, and this is the one protocol.
 *
 * A wait is one suspension. Its waiters are the events that may end it: one per wait list (a
 * channel's receivers, a mailbox, a join), one for the deadline, one for cancellation. Exactly one
 * event claims the wait; the claimer delivers what it has, then wakes. Everybody who comes later
 * finds the wait claimed and passes on to the next waiter.
 *
 *     struct rti_wait wait;                     on the waiter's own stack, or in a poll task
 *     rti_wait_begin(&wait, target, wake);
 *     rti_wait_add(&wait, &waiter, EVENT, unlink);     for each event source, then link it there
 *     uint32_t event = suspend;                 a fiber parks, a thread blocks: the wake decides
 *     rti_wait_finish(&wait);                   unlinks the losers
 *
 * How the waiter waits is the wake function's business: it queues a fiber, unparks a thread or
 * calls a poll task's waker. The sources never know.
 *
 * Two waits that end together, a sender and a receiver that meet, are claimed as a pair: both or
 * none. The one that lies lower in memory is marked RTI_EVENT_TRYING first, then the other is
 * claimed, then the mark becomes the event, or is taken back. Whoever meets the mark spins: what it
 * stands for is a few instructions long and waits for nothing but higher waits, so that no circle
 * of pairs can form. The order by address decides who spins, never who wins; with one worker nobody
 * ever meets the mark.
 *
 * I1  `claimed` goes from RTI_EVENT_NONE to one event, once; who moved it wakes, once.
 *                                                           (rti_wait_claim; explored)
 * I2  After rti_wait_finish no source holds a link to a waiter of this wait. (RT_ASSERT there)
 * I3  Waiters leave a list in the order they entered it; their ids only grow. (rti_waitlist_add)
 *
 * Memory order: the claim is acquire-release and the wake publishes, so what the claimer wrote
 * before the wake is seen by the waiter after it. On an engine with one worker (`is_local`) the
 * claim is a load and a store, without a locked instruction.
 *
 * Rejected: a wait list entry per fiber (no select), callbacks instead of claims (the loser's
 * callback runs on a dead frame), a lock per wait (the claim word is the lock), ending one's own
 * wait first and beginning anew if the partner is gone (two selects that offer each other the same
 * can miss each other for ever, and who begins anew has lost its place in line). */

#include "base/atomic.h"
#include "base/list.h"

/* What ended a wait. Sources number their own events from RTI_EVENT_SOURCE. */
enum {
    RTI_EVENT_NONE = 0,
    RTI_EVENT_TIMEOUT = 1,
    RTI_EVENT_CANCEL = 2,
    RTI_EVENT_KILL = 3,
    RTI_EVENT_SOURCE = 4,
};

/* No event: the wait is being claimed together with another one. */
#define RTI_EVENT_TRYING UINT32_MAX

/* What a wait is for, for reports. */
enum rti_wait_reason {
    RTI_REASON_UNKNOWN,
    RTI_REASON_MAIL,    /* an actor's receive */
    RTI_REASON_SEND,    /* a SYNC send */
    RTI_REASON_CALL,    /* the answer to a call */
    RTI_REASON_BUS,     /* a read of a bus */
    RTI_REASON_CHANNEL, /* a value or room in a channel */
    RTI_REASON_SELECT,  /* the first of several */
    RTI_REASON_JOIN,    /* the end of a task or job */
    RTI_REASON_TIME,    /* a sleep */
    RTI_REASON_REGION,  /* the last member of a region */
    RTI_REASON_IO,      /* a socket, a file or a name */
    RTI_REASON_LOCK,    /* a mutex, semaphore, condition or the like */
    RTI_REASON_COUNT,
};

struct rti_wait;

/* Are waiters numbered as they come? The numbers are for I3 alone, so where memory is scarce only
 * checked builds have them. */
#define RTI_HAS_ARRIVALS (RT_CHECKS || !RTI_ONE_WORKER)

struct rti_waiter {
    struct rti_wait *wait;                     /* fixed by rti_wait_add */
    void (*unlink)(struct rti_waiter *waiter); /* leaves the source; called if it lost */
    void *slot;                                /* where the claimer puts or takes the value */
    uint32_t event;                            /* what `claimed` becomes if this one wins */
#if RTI_HAS_ARRIVALS
    uint64_t id; /* order of arrival on its list */
#endif
    struct rti_link link;       /* the source's list; linked by the source */
    struct rti_waiter *sibling; /* next waiter of the same wait */
};

struct rti_wait {
    rti_atomic_u32 claimed;
    bool is_local;  /* every claim happens on the waiter's own thread */
    uint8_t reason; /* enum rti_wait_reason */
    struct rti_waiter *waiters;
    void (*wake)(
        struct rti_wait *wait); /* called by the claimer; the wait may be gone afterwards */
    void *target;               /* what wake wakes */
};

static inline void rti_wait_begin(struct rti_wait *wait, void (*wake)(struct rti_wait *),
                                  void *target, bool is_local)
{
    rti_u32_init(&wait->claimed, RTI_EVENT_NONE);
    wait->is_local = is_local;
    wait->reason = RTI_REASON_UNKNOWN;
    wait->waiters = NULL;
    wait->wake = wake;
    wait->target = target;
}

/* Adds an event to the wait. The caller then links the waiter at its source. */
static inline void rti_wait_add(struct rti_wait *wait, struct rti_waiter *waiter, uint32_t event,
                                void (*unlink)(struct rti_waiter *))
{
    RT_DCHECK(event != RTI_EVENT_NONE && unlink != NULL);
    rti_link_init(&waiter->link);
    waiter->wait = wait;
    waiter->sibling = wait->waiters;
    waiter->unlink = unlink;
#if RTI_HAS_ARRIVALS
    waiter->id = 0;
#endif
    waiter->slot = NULL;
    waiter->event = event;
    wait->waiters = waiter;
}

/* Begins a wait again whose waiters are those of the last time: for a wait that is kept from one
 * suspension of its owner to the next, and whose claimer takes the waiter from its source, so that
 * it is never finished. The caller then links the waiter at its source. */
static inline void rti_wait_rearm(struct rti_wait *wait)
{
    rti_u32_init(&wait->claimed, RTI_EVENT_NONE);
}

/* Tries to be the one event that ends the wait. The winner delivers, then calls wait->wake once. */
static inline bool rti_wait_claim(struct rti_wait *wait, uint32_t event)
{
    uint32_t none = RTI_EVENT_NONE;
    if (RTI_ONE_WORKER || wait->is_local) {
        if (rti_u32_load_relaxed(&wait->claimed) != none) {
            return false;
        }
        rti_u32_store_relaxed(&wait->claimed, event);
        return true;
    }
    /* Acquire: the claimer may now read what the waiter wrote before it linked itself. Release
     * pairs with the acquire in rti_wait_event. */
    while (RTI_UNLIKELY(!rti_u32_cas_acqrel(&wait->claimed, &none, event))) {
        if (RTI_LIKELY(none != RTI_EVENT_TRYING)) {
            return false;
        }
        rti_spin_hint();
        none = RTI_EVENT_NONE;
    }
    return true;
}

/* The same for who knows that the wait is local. */
static inline bool rti_wait_claim_here(struct rti_wait *wait, uint32_t event)
{
    RT_DCHECK(RTI_ONE_WORKER || wait->is_local);
    if (RTI_UNLIKELY(rti_u32_load_relaxed(&wait->claimed) != RTI_EVENT_NONE)) {
        return false;
    }
    rti_u32_store_relaxed(&wait->claimed, event);
    return true;
}

/* What came of an attempt to claim two waits at once. */
enum rti_wait_pair {
    RTI_PAIR_CLAIMED,     /* both, by the caller */
    RTI_PAIR_FIRST_GONE,  /* another event has the first; the second is as it was */
    RTI_PAIR_SECOND_GONE, /* the other way round */
};

/* Claims two different waits, both or none. The caller sees to it that both stay where they are:
 * it is the owner of one and holds the lock of the source that the other waits at. */
static inline enum rti_wait_pair rti_wait_claim_pair(struct rti_wait *first, uint32_t first_event,
                                                     struct rti_wait *second, uint32_t second_event)
{
    bool is_first_lower = (uintptr_t)first < (uintptr_t)second;
    struct rti_wait *lower = is_first_lower ? first : second;
    struct rti_wait *upper = is_first_lower ? second : first;
    RT_DCHECK(first != second);
    if (!rti_wait_claim(lower, RTI_EVENT_TRYING)) {
        return is_first_lower ? RTI_PAIR_FIRST_GONE : RTI_PAIR_SECOND_GONE;
    }
    if (!rti_wait_claim(upper, is_first_lower ? second_event : first_event)) {
        /* Release pairs with the acquire of whoever claims it next. */
        rti_u32_store_release(&lower->claimed, RTI_EVENT_NONE);
        return is_first_lower ? RTI_PAIR_SECOND_GONE : RTI_PAIR_FIRST_GONE;
    }
    /* Release pairs with the acquire in rti_wait_event. */
    rti_u32_store_release(&lower->claimed, is_first_lower ? first_event : second_event);
    return RTI_PAIR_CLAIMED;
}

/* The event that claimed the wait, or RTI_EVENT_NONE. Acquire pairs with the claimer's release. */
static inline uint32_t rti_wait_event(const struct rti_wait *wait)
{
    if (RTI_ONE_WORKER) {
        return rti_u32_load_relaxed(&wait->claimed);
    }
    uint32_t event = rti_u32_load_acquire(&wait->claimed);
    return event == RTI_EVENT_TRYING ? RTI_EVENT_NONE : event;
}

/* Unlinks every waiter that is still at its source. The wait's memory is the caller's again. */
static inline void rti_wait_finish(struct rti_wait *wait)
{
    for (struct rti_waiter *waiter = wait->waiters; waiter != NULL; waiter = waiter->sibling) {
        waiter->unlink(waiter);
    }
    wait->waiters = NULL;
}

/* A source's line of waiters. On an engine with several workers the source's lock guards it. */
struct rti_waitlist {
    struct rti_list list;
#if RTI_HAS_ARRIVALS
    uint64_t next_id;
#endif
};

static inline void rti_waitlist_init(struct rti_waitlist *waitlist)
{
    rti_list_init(&waitlist->list);
#if RTI_HAS_ARRIVALS
    waitlist->next_id = 1;
#endif
}

static inline bool rti_waitlist_is_empty(const struct rti_waitlist *waitlist)
{
    return rti_list_is_empty(&waitlist->list);
}

static inline void rti_waitlist_add(struct rti_waitlist *waitlist, struct rti_waiter *waiter)
{
#if RTI_HAS_ARRIVALS
    waiter->id = waitlist->next_id++;
#endif
    rti_list_push_tail(&waitlist->list, &waiter->link);
}

/* Checks I3 for a waiter in this line: it came behind the one whose number `last` holds, 0 for
 * none, and takes its place there. */
static inline void rti_waitlist_audit(const struct rti_waitlist *waitlist,
                                      const struct rti_waiter *waiter, uint64_t *last)
{
#if RTI_HAS_ARRIVALS
    RT_ASSERT(waiter->id > *last && waiter->id < waitlist->next_id);
    *last = waiter->id;
#else
    (void)waitlist, (void)waiter, (void)last;
#endif
}

/* The `unlink` of a waiter whose source is a plain wait list. */
static inline void rti_waitlist_unlink(struct rti_waiter *waiter)
{
    if (rti_link_is_linked(&waiter->link)) {
        rti_list_remove(&waiter->link);
    }
}

/* Takes the first waiter whose wait could be claimed; those already claimed by another event are
 * passed over and left to their owners. NULL if there is none. The caller delivers through
 * waiter->slot and then calls rti_wait_wake. */
static inline struct rti_waiter *rti_waitlist_claim(struct rti_waitlist *waitlist)
{
    struct rti_link *link;
    while ((link = rti_list_pop(&waitlist->list)) != NULL) {
        struct rti_waiter *waiter = RTI_CONTAINER_OF(link, struct rti_waiter, link);
        if (rti_wait_claim(waiter->wait, waiter->event)) {
            return waiter;
        }
    }
    return NULL;
}

/* Ends the wait that this waiter has claimed. The waiter may be gone when this returns. */
static inline void rti_waiter_wake(struct rti_waiter *waiter)
{
    struct rti_wait *wait = waiter->wait;
    wait->wake(wait);
}

/* Claims everybody in line, then wakes them in order. A wake may end the object that the line lies
 * in, or another of those claimed: nothing of the line is touched once the first is woken, and who
 * leaves meanwhile is not woken. */
static inline void rti_waitlist_wake_all(struct rti_waitlist *waitlist)
{
    struct rti_list claimed;
    struct rti_waiter *waiter;
    struct rti_link *link;
    rti_list_init(&claimed);
    while ((waiter = rti_waitlist_claim(waitlist)) != NULL) {
        rti_list_push_tail(&claimed, &waiter->link);
    }
    while ((link = rti_list_pop(&claimed)) != NULL) {
        rti_waiter_wake(RTI_CONTAINER_OF(link, struct rti_waiter, link));
    }
}

#endif
