/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_ACTOR_H
#define ORRERY_RT_ACTOR_H

/* Actors: what runs, each with a stack, a mailbox and an id of its own.
 *
 * An actor runs until it waits, yields or ends; nothing interrupts it, but that on the parallel
 * engine others run beside one that computes for long (rt_init_ex). Among those that are ready the
 * most urgent priority runs first, and within a priority they take turns. Every function here
 * belongs to the thread that called rt_init: inside an actor, or in main before rt_run. A call from
 * another thread, or without a runtime, is refused and changes nothing. */

#include <orrery/rt/types.h>
#include <orrery/rt_static_config.h>

RT_EXTERN_C_BEGIN

/* Where an actor begins. Returning from it is a crash: an actor ends by rt_exit. */
typedef void (*actor_fn)(void *arg);

typedef struct {
    size_t stack_size; /* bytes, 0 = RT_DEFAULT_STACK_SIZE */
    rt_priority priority;
    const char *name;  /* for debugging, may be NULL; copied, at most RT_ACTOR_NAME_MAX bytes */
    bool malloc_stack; /* false = static arena, true = the heap */
} actor_config;

/* Bytes of an actor's name that are kept. */
#define RT_ACTOR_NAME_MAX RT_NAME_LENGTH_MAX

/* The smallest stack_size that is accepted, bytes. A Cortex-M with a floating-point unit has larger
 * guards and larger frames of interrupts. */
#if defined(__ARM_ARCH_7EM__) && defined(__ARM_FP)
#define RT_ACTOR_STACK_SIZE_MIN 960
#elif defined(__SIZEOF_POINTER__) && __SIZEOF_POINTER__ == 4
#define RT_ACTOR_STACK_SIZE_MIN 768
#else
#define RT_ACTOR_STACK_SIZE_MIN 4096
#endif

/* What an actor does at this moment. */
typedef enum {
    ACTOR_STATE_READY,   /* waits for its turn */
    ACTOR_STATE_RUNNING, /* it is the one that asks */
    ACTOR_STATE_BLOCKED, /* waits for a message, a release, a timer or I/O */
} rt_actor_state;

/* What rt_actor_stats tells. */
struct rt_actor_stats {
    char name[RT_ACTOR_NAME_MAX + 1]; /* as given at spawn, perhaps cut; "" if none was */
    rt_priority priority;
    rt_actor_state state;
    uint64_t messages_sent;     /* accepted by their receivers' mailboxes */
    uint64_t messages_received; /* taken from its mailbox, notices included */
    uint64_t bus_published;     /* entries it has published, on any bus */
    uint64_t bus_read;          /* entries it has read, on any bus */
    size_t mailbox_depth;       /* messages that wait now */
    size_t mailbox_depth_max;   /* the most that ever waited */
    size_t stack_size;          /* bytes the actor may use */
    size_t stack_used_max;      /* the deepest it ever was, our frames included; 0: not painted */
};

/* Starts an actor with the default stack, priority RT_PRIO_NORMAL and no name. It first runs when
 * its turn comes, not inside this call.
 * Callable from an actor, and from main between rt_init and rt_run.
 * Never suspends.
 * `arg` stays the caller's; what it points to must live as long as the actor uses it.
 * Returns the new actor's id. Returns ACTOR_ID_INVALID, and nothing has changed, if `fn` is NULL,
 * RT_MAX_ACTORS actors live, the stack arena has no room, or the caller may not call.
 * Nothing is lost on cancel. */
RT_API actor_id rt_spawn(actor_fn fn, void *arg);

/* Starts an actor with explicit configuration.
 * Callable from an actor, and from main between rt_init and rt_run.
 * Never suspends.
 * `cfg` is read during the call only, its name included; NULL means the defaults of rt_spawn. `arg`
 * stays the caller's.
 * Returns the new actor's id. Returns ACTOR_ID_INVALID, and nothing has changed, for the reasons of
 * rt_spawn, if the priority is none of the four, or if the stack size is not 0 and below
 * RT_ACTOR_STACK_SIZE_MIN, or above RT_STACK_SIZE_MAX.
 * Nothing is lost on cancel. */
RT_API actor_id rt_spawn_ex(actor_fn fn, void *arg, const actor_config *cfg);

/* Tells why the caller's last rt_spawn or rt_spawn_ex that failed did so.
 * Callable from an actor, which hears of its own spawns only; from main, which shares one answer
 * with every caller that is no actor.
 * Never suspends.
 * The sentence of the status lives for ever.
 * Returns RT_OK if none failed; RT_ERR_INVALID for a function, a priority or a stack size that
 * cannot be; RT_ERR_NOMEM if RT_MAX_ACTORS actors lived or there was no memory for the stack;
 * RT_ERR_THREAD on a foreign thread, where a spawn says so in the log.
 * Nothing is lost on cancel. */
RT_API rt_status rt_spawn_status(void);

/* Ends the calling actor with the reason RT_EXIT_NORMAL. Its mailbox is cleared, its links and
 * monitors are told, then its subscriptions, timers, names and stack are given back.
 * Callable from an actor; anywhere else the process panics, because there is no way on.
 * Never suspends: it does not come back at all.
 * What the actor's own stack holds is gone; what it pointed to stays with its owners.
 * Returns never.
 * Messages that wait in the actor's mailbox are lost, and there is nothing to cancel. */
RT_NORETURN
RT_API void rt_exit(void);

/* Gives the id of the calling actor.
 * Callable from anywhere.
 * Never suspends.
 * There is no pointer to own.
 * Returns the id; ACTOR_ID_INVALID outside of an actor.
 * Nothing is lost on cancel. */
RT_API actor_id rt_self(void);

/* Lets every other ready actor of the same or a more urgent priority run first.
 * Callable from an actor; anywhere else it does nothing.
 * May suspend.
 * There is no pointer to own.
 * Returns nothing.
 * Nothing is lost on cancel; an actor that is killed meanwhile does not come back. */
RT_API RT_SUSPENDS void rt_yield(void);

/* Says whether an actor lives: it was spawned, has not ended and was not killed.
 * Callable from an actor, and from main on the runtime's thread.
 * Never suspends.
 * There is no pointer to own.
 * Returns true or false; false for an id that was never given out, and on a foreign thread.
 * Nothing is lost on cancel. */
RT_API bool rt_actor_alive(actor_id id);

/* Ends another actor, or the caller, with the reason RT_EXIT_KILLED. From this call on the id names
 * nothing. The actor runs no more of its own code; it is taken apart at the level of
 * RT_PRIO_CRITICAL as soon as the caller waits or yields, and only then its links and monitors are
 * told. An actor that kills itself does not come back from this call.
 * Callable from an actor, and from main on the runtime's thread.
 * Never suspends.
 * There is no pointer to own; what the victim held by pointer stays with its owners.
 * Returns RT_OK; RT_ERR_INVALID if no living actor has this id; RT_ERR_THREAD on a foreign thread.
 * Messages that wait in the victim's mailbox are lost, and there is nothing to cancel. */
RT_API rt_status rt_actor_kill(actor_id id);

/* Tells what an actor is and has done so far.
 * Callable from an actor, and from main on the runtime's thread.
 * Never suspends. With painted stacks (checked builds, or RT_STACK_PAINT) it walks the unused part
 * of the stack.
 * `out` stays the caller's and is unchanged on failure.
 * Returns RT_OK; RT_ERR_INVALID if no living actor has this id or `out` is NULL; RT_ERR_THREAD on a
 * foreign thread.
 * Nothing is lost on cancel. */
RT_API rt_status rt_actor_stats(actor_id id, struct rt_actor_stats *out);

RT_EXTERN_C_END

#endif
