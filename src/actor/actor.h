/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_ACTOR_H
#define RTI_ACTOR_H

/* An actor is a fiber with a mailbox and an id.
 *
 * Its life: rt_spawn takes a stack and a slot of the table and starts the fiber; the fiber runs the
 * user's function itself, nothing lies between. It ends by rt_exit, by returning, by a kill or by a
 * broken stack guard, and is then taken apart in death.c, on the scheduler's stack, without a line
 * of its own code running.
 *
 * Two ids. `id` is what the actor is called in everything said about it, until its slot is free
 * again. `reachable_id` is what a lookup compares: it becomes ACTOR_ID_INVALID with the kill or the
 * beginning of death, so that one comparison refuses ids that are stale, never issued, doomed or
 * dying. Between a kill and the death that it leads to nothing new can be attached to the actor.
 *
 * What is attached to an actor hangs in lists of its own: link ends, monitors it made, monitors on
 * it, names, calls that wait for its answer, and one list for each module above (`owned`). Death
 * walks these lists; it never searches.
 *
 * I1  reachable_id is id or ACTOR_ID_INVALID; id is ACTOR_ID_INVALID iff the slot is free.
 *                                                                          (rti_actors_audit)
 * I2  `held` is not linked in the mailbox, and neither is `reply`.         (rti_actors_audit)
 * I3  `waits_for` is not ACTOR_ID_INVALID only while the actor waits in a SYNC send or a call.
 *                                                                          (rti_actors_audit)
 * I4  Nothing is attached to a free slot: its lists are empty, it holds and waits for nothing. So a
 *     spawn has nothing to empty.                    (rti_actor_is_bare, death, rti_actors_audit)
 * I5  Who puts something into a list of an actor's notes it in `is_attached`, so that an end need
 *     not look at the lists of most.                                     (rti_actor_ends_bare)
 *
 * Everything here belongs to the scheduler's thread. */

#include <orrery/rt/actor.h>
#include <orrery/rt/link.h>

#include "actor/mailbox.h"
#include "actor/pressure.h"
#include "sched/fiber.h"
#include "sched/stacks.h"
#include "sched/trace.h"

struct rti_actors;
struct rti_call_wait;

/* Is there anything that hangs attachments at actors? */
#define RTI_HAS_ATTACHMENTS (RT_HAS_BEHAVIOURS || RT_HAS_MONITORS)

/* Lists that modules above hang their per-actor records in; they empty them in their death hook. */
enum rti_owned {
#if RT_HAS_BUS
    RTI_OWNED_SUBSCRIPTIONS,
#endif
    RTI_OWNED_TIMERS,
#if RTI_HAS_ATTACHMENTS
    RTI_OWNED_ATTACHMENTS, /* attachment.h */
#endif
    RTI_OWNED_COUNT,
};

/* Why there is no new actor. */
enum rti_spawn_refusal {
    RTI_SPAWN_OK,
    RTI_SPAWN_NO_SLOT,
    RTI_SPAWN_NO_SENSE,
    RTI_SPAWN_NO_STACK,
};

struct rti_actor {
    struct rti_fiber fiber;
    actor_id id;
    actor_id reachable_id;
    struct rti_actors *actors;
    struct rti_mailbox mailbox;
    struct rti_entry *held; /* received last, still readable; NULL if none */
    uint32_t tick;          /* the id of the timer whose tick was received last */
    rti_count messages_sent;
    rti_count messages_received;
#if RT_HAS_BUS
    rti_count bus_published; /* entries, on any bus */
    rti_count bus_read;
#endif
    actor_id waits_for; /* the receiver of its SYNC message, or whom it calls */
#if RT_HAS_CALLS
    uint32_t call_serial;        /* of its last call */
    struct rti_entry *reply;     /* the answer to its last call, still readable; NULL if none */
    struct rti_call_wait *call;  /* on its stack while it waits for an answer */
    struct rti_waitlist callers; /* calls that wait for this actor's answer */
#endif
    struct rti_list links; /* its link ends, oldest first */
#if RT_HAS_MONITORS
    struct rti_list monitors; /* those it made */
    struct rti_list watchers; /* those on it, oldest first */
#endif
#if RT_HAS_NAMES
    struct rti_list names; /* registered */
#endif
    struct rti_list owned[RTI_OWNED_COUNT];
    struct rti_stack_block stack; /* the memory of its fiber's stack */
    uint8_t spawn_refusal;        /* enum rti_spawn_refusal: why its last spawn that failed did */
    bool is_stack_painted;
    rti_atomic_u8 is_attached; /* bool: something was put into one of its lists in this life */
    bool is_id_kept; /* its id stays taken when it ends, for the next life of a supervised one */
#if RT_HAS_BEHAVIOURS
    struct rti_pressure pressure;
    rt_mailbox_config limit;        /* what pressure.limit points to, if it does */
    struct rti_waiter *mute_waiter; /* on its stack while it is muted */
#endif
    rti_count turn_mark; /* messages sent and received when its turn began */
#if RTI_TRACES_TRAVEL
    struct rt_trace trace; /* of the message received last, or what was set since */
#endif
    char name[RT_ACTOR_NAME_MAX + 1];
};

/* Where an actor keeps its trace context; NULL on a machine where actors have none. */
static inline struct rt_trace *rti_actor_trace(struct rti_actor *actor)
{
#if RTI_TRACES_TRAVEL
    return &actor->trace;
#else
    (void)actor;
    return NULL;
#endif
}

/* Makes a free slot, once for all the actors that will have it. */
void rti_actor_init_slot(struct rti_actor *actor, struct rti_actors *actors);

/* The limit of its mailbox; NULL: none. */
static inline const rt_mailbox_config *rti_actor_limit(const struct rti_actor *actor)
{
#if RT_HAS_BEHAVIOURS
    return rti_pressure_limit(&actor->pressure);
#else
    (void)actor;
    return NULL;
#endif
}

/* The answer to its last call; NULL: none that it may still read. */
static inline struct rti_entry *rti_actor_reply(const struct rti_actor *actor)
{
#if RT_HAS_CALLS
    return actor->reply;
#else
    (void)actor;
    return NULL;
#endif
}

/* Does nobody wait for its answer, watch it, or call it by a name, and does it watch nobody? */
static inline bool rti_actor_is_unknown(const struct rti_actor *actor)
{
    bool is_unknown = true;
#if RT_HAS_CALLS
    is_unknown = is_unknown && rti_waitlist_is_empty(&actor->callers);
#endif
#if RT_HAS_NAMES
    is_unknown = is_unknown && rti_list_is_empty(&actor->names);
#endif
#if RT_HAS_MONITORS
    is_unknown =
        is_unknown && rti_list_is_empty(&actor->monitors) && rti_list_is_empty(&actor->watchers);
#endif
    (void)actor;
    return is_unknown;
}

/* Is nothing attached to the actor that others know of, or that its end would have to give back?
 * Its stack aside. */
static inline bool rti_actor_is_bare(const struct rti_actor *actor)
{
    bool is_bare = actor->mailbox.count == 0 && actor->held == NULL &&
                   rti_actor_reply(actor) == NULL && rti_actor_is_unknown(actor) &&
                   rti_list_is_empty(&actor->links) && rti_actor_limit(actor) == NULL;
    for (size_t i = 0; i < RTI_OWNED_COUNT; i++) {
        is_bare = is_bare && rti_list_is_empty(&actor->owned[i]);
    }
    return is_bare;
}

/* Something hangs at the actor from here on that its end has to look for: links, monitors of either
 * side, names, calls, what modules above own, a limit. Messages are counted, and need no note. */
static inline void rti_actor_note_attached(struct rti_actor *actor)
{
    rti_u8_store_relaxed(&actor->is_attached, 1);
}

/* Is it bare? Two looks instead of a dozen, for its end. */
static inline bool rti_actor_ends_bare(const struct rti_actor *actor)
{
    uintptr_t mail = (uintptr_t)actor->held | (uintptr_t)rti_actor_reply(actor) |
                     (uintptr_t)actor->mailbox.count;
    bool is_bare = mail == 0 && rti_u8_load_relaxed(&actor->is_attached) == 0;
    RT_DCHECK(!is_bare || rti_actor_is_bare(actor));
    return is_bare;
}

/* The end of an actor's fiber. */
void rti_actor_on_done(struct rti_fiber *fiber);

/* The actor that runs on this worker; NULL on the worker's own stack and in a fiber that is none.
 */
static inline struct rti_actor *rti_actor_of(struct rti_worker *worker)
{
    struct rti_fiber *fiber = worker->fiber;
    if (fiber == NULL || !rti_fiber_is_actor(fiber)) {
        return NULL;
    }
    return RTI_CONTAINER_OF(fiber, struct rti_actor, fiber);
}

/* The same outside of the runtime, where there is no worker. */
static inline struct rti_actor *rti_actor_entered(struct rti_worker *worker)
{
    return worker == NULL ? NULL : rti_actor_of(worker);
}

/* The actor that calls this, as the first act of a public function; NULL outside of an actor and of
 * the runtime. Where flash is scarce it is there once. */
#if RTI_ONE_WORKER
struct rti_actor *rti_actor_current(void);
#else
static RTI_ENTERING struct rti_actor *rti_actor_current(void)
{
    return rti_actor_entered(rti_worker_enter());
}
#endif

/* The living actor with this id in the calling thread's runtime; NULL for every other number. For
 * who knows that there is one worker, or that the actor cannot end meanwhile. */
struct rti_actor *rti_actor_lookup(actor_id id);

/* Puts a notice at the tail of an actor's mailbox and wakes it if it waits for mail. The notice is
 * not queued and not held; it never fails. The mailbox has it until `release`. */
void rti_mailbox_push_notice(struct rti_actor *actor, struct rti_notice *notice);

/* Takes a queued notice out again; `release` is not called. */
static inline void rti_mailbox_remove_notice(struct rti_actor *actor, struct rti_notice *notice)
{
    rti_mailbox_remove(&actor->mailbox, &notice->entry);
}

/* Ends an actor other than the calling one. Under the lock. */
void rti_actor_kill(struct rti_actor *actor);

/* How a supervised actor differs from another when it is spawned. */
struct rti_birth {
    actor_id
        kept_id; /* the id that an actor with is_id_kept has left; ACTOR_ID_INVALID: a new one */
    /* Before it can run, and under the lock: what must be attached to it is. */
    void (*prepare)(struct rti_actor *actor, void *arg);
    void *arg;
};

/* Has one that is being prepared end before its first turn, whoever runs it. It is still to be
 * killed by its id. */
void rti_actor_doom(struct rti_actor *actor);

/* Starts an actor as rt_spawn_ex does. */
actor_id rti_actor_spawn_as(actor_fn fn, void *arg, const actor_config *config,
                            const struct rti_birth *birth);

/* Gives an id that was kept, and that nobody lives under, back to the table. Under the lock. */
void rti_actor_forget_id(struct rti_actors *actors, actor_id kept_id);

/* Ends the life of the message received last. */
void rti_actor_drop_held(struct rti_actor *actor, rt_status_code result);

/* Ends the life of the answer to the last call. */
void rti_actor_drop_reply(struct rti_actor *actor);

/* The status of every call that needs an actor and is made elsewhere, with the sentence that says
 * what is wrong. */
rt_status rti_actor_refusal(const struct rti_worker *worker);

#endif
