/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_SUPERVISOR_H
#define RTI_SUPERVISOR_H

/* A supervisor is an ordinary actor with a table of children. The manual is
 * <orrery/rt/supervisor.h>, the reasons are in docs/internals/supervisor.md.
 *
 * The code is straight: the supervisor receives, and while it stops a child it waits for that
 * child's exit message alone; what else comes keeps its place in the mailbox. What can come:
 *
 *     exit      of a child. The message lies in the child's record (rti_monitor_embed), so it needs
 *               no pool and cannot be lost; the record is found by the message's own address
 *     request   a call of rt_supervisor_*: a few words; what is long lies in the table already
 *     stop      of the supervisor's own supervisor
 *     nothing   in time: a child's pause before its restart is over
 *
 * The states of a child, all of them written by its supervisor:
 *
 *     STOPPED --start--> RUNNING --exit, restart--> RESTARTING --start--> RUNNING
 *        ^                  |                           |
 *        +------stop--------+---------stop--------------+
 *
 * A restart is one sequence for all strategies: the group is the child alone, it and those behind
 * it, or all. Those of the group that run are stopped, the last first; the temporary ones are
 * forgotten; then all of the group is started, the first first. A start that fails leaves its child
 * RESTARTING, and the attempt is repeated: it counts as a restart, so a supervisor whose child
 * cannot be started gives up as it does for one that cannot be kept alive.
 *
 * Death. A supervisor that ends by itself has stopped its children before. One that is killed has
 * an attachment that kills them: nobody is left who would hear of their ends.
 *
 * I1  A child has an actor iff it is RUNNING or STOPPING.                (rti_supervisor_audit)
 * I2  A child that runs is watched, or its exit message is in the mailbox of its supervisor.
 *                                                                         (rti_supervisor_audit)
 * I3  No two children have the same id, but for "" in RT_SIMPLE.          (rti_supervisor_audit)
 * I4  At most `intensity` restarts lie within `period_ns` while the supervisor lives.
 *                                                                         (supervisor_may_restart)
 * I5  A kept address is issued and nobody else's from the first start of its child to the end of
 *     the child's record.                                                 (rti_child_free)
 *
 * Who writes: the supervisor alone, what others read under the lock of the actor system: the lists,
 * the states, the actors; others append to `asked`, under it too.
 *
 * Rejected: a supervisor as a behaviour (stopping a child is a wait in the middle of a restart in
 * the middle of a list: as a state machine it is three machines); links instead of monitors (a
 * child should not hear of its supervisor's end, it is killed); restart decisions in the death of
 * the child itself (they would run on the scheduler's stack and start actors there). */

#include <orrery/rt/supervisor.h>

#include "actor/actors.h"
#include "actor/attachment.h"

struct rti_supervisor;
struct rti_supervisors;

/* What starts a child, over all its lives. */
struct rti_child_code {
    actor_fn fn;
    void *arg;
    actor_config actor;
    const rt_behaviour_type *behaviour;
    const rt_supervisor_config *supervisor;
};

struct rti_child {
    struct rti_link link; /* the supervisor's children, or those asked for */
    struct rti_supervisor *supervisor;
    uint32_t serial;       /* names it in requests; never 0 */
    actor_id actor;        /* lives, or its exit message waits; else ACTOR_ID_INVALID */
    actor_id kept;         /* the address that all its lives have; ACTOR_ID_INVALID: none */
    uint8_t state;         /* rt_child_state */
    uint8_t restart;       /* rt_restart */
    rt_status_code naming; /* what became of its name when its present life began */
    bool keeps_address;
    bool is_significant;
    int32_t shutdown_ms;       /* below 0: for ever; 0: killed */
    uint32_t restarts;         /* ever */
    uint32_t pause_ms;         /* before its last restart */
    uint64_t started_ns;       /* when its present life began */
    uint64_t due_ns;           /* RESTARTING: when */
    struct rti_monitor watch;  /* the supervisor's, on this life */
    struct rti_notice request; /* asks the child to end: in its mailbox, or unlinked */
    struct rti_child_code code;
    char id[RT_NAME_MAX + 1];
    char name[RT_NAME_MAX + 1]; /* "": none */
    char actor_name[RT_ACTOR_NAME_MAX + 1];
};

struct rti_supervisor {
    struct rti_attachment attachment; /* at its own actor */
    struct rti_supervisors *module;
    struct rti_link at_module;
    struct rti_actor *self;
    actor_id id;
    struct rti_list children; /* in the order of their start */
    struct rti_list asked;    /* added by others, not yet taken over */
    struct rti_child *kind;   /* RT_SIMPLE: what each child is made of; else NULL */
    struct rti_pool *pool;    /* of its children: the module's or its own */
    struct rti_pool own_pool; /* in the caller's memory */
    rt_strategy strategy;
    rt_auto_shutdown auto_shutdown;
    uint32_t intensity;
    uint64_t period_ns;
    uint32_t backoff_ms;
    uint32_t backoff_max_ms;
    uint32_t restart_count;                  /* of `restarted_ns` that are in use */
    uint64_t restarted_ns[RT_INTENSITY_MAX]; /* the restarts within the period, oldest first */
};

struct rti_supervisors {
    struct rti_actors *actors;
    struct rti_list all;
    uint32_t next_serial;
    struct rti_pool pool;
    struct rti_pool children;
    RTI_POOL_STORAGE(memory, struct rti_supervisor, RT_MAX_SUPERVISORS);
    RTI_POOL_STORAGE(child_memory, struct rti_child, RT_CHILD_POOL_SIZE);
};

/* What a request asks for. */
enum rti_request_kind {
    RTI_REQUEST_STOP,
    RTI_REQUEST_ADD,
    RTI_REQUEST_STOP_CHILD,
    RTI_REQUEST_RESTART_CHILD,
    RTI_REQUEST_REMOVE_CHILD,
};

struct rti_request {
    uint32_t kind;   /* enum rti_request_kind */
    uint32_t serial; /* of the child */
};

struct rti_answer {
    rt_status_code code;
    actor_id actor;
};

/* Hangs the module at the scheduler of `actors`. */
void rti_supervisors_init(struct rti_supervisors *module, struct rti_actors *actors);
/* No actor lives. */
void rti_supervisors_deinit(struct rti_supervisors *module);

/* The module of a worker's runtime; NULL if there is none. */
static inline struct rti_supervisors *rti_supervisors_of(const struct rti_worker *worker)
{
    return worker == NULL ? NULL : worker->sched->modules[RTI_MODULE_SUPERVISOR];
}

/* The living supervisor with this id; NULL for every other number. Under the lock. */
struct rti_supervisor *rti_supervisor_lookup(struct rti_supervisors *module, actor_id id);

/* Makes a supervisor and its actor; rt_supervisor_start but for the thread. `birth` is that of a
 * child; NULL: it is none. */
rt_status rti_supervisor_open(struct rti_supervisors *module, const rt_supervisor_config *config,
                              const struct rti_birth *birth, actor_id *out);

/* Checks I1 to I3 of one supervisor, or of all. */
void rti_supervisor_audit(const struct rti_supervisor *supervisor);
void rti_supervisors_audit(const struct rti_supervisors *module);

/* Is this 1 to RT_NAME_MAX bytes? */
bool rti_child_name_is_valid(const char *name);

/* Can an actor be so, whatever memory there is? */
bool rti_child_actor_is_valid(const actor_config *config);

/* Is this something that can be started? */
bool rti_child_spec_is_valid(const rt_child_spec *spec, bool is_kind);

/* Makes a stopped child of a specification; NULL if the pool has no room. It is in no list. This
 * and the next two under the lock. */
struct rti_child *rti_child_make(struct rti_supervisor *supervisor, const rt_child_spec *spec);

/* Makes a stopped child as `kind` says, with an argument of its own. */
struct rti_child *rti_child_copy(const struct rti_child *kind, void *arg);

/* Ends the record of a child that does not run. */
void rti_child_free(struct rti_child *child);

/* Begins a life. RT_OK; RT_ERR_NOMEM or RT_ERR_EXISTS, and nothing has changed. */
rt_status rti_child_start(struct rti_child *child);

/* Ends its life: asks, waits, kills. Suspends. It is STOPPED afterwards. */
void rti_child_stop(struct rti_child *child);

/* The parts of it: asks it or kills it; then waits until it has ended, and kills it if that is not
 * before `deadline_ns`. */
void rti_child_ask(struct rti_child *child);
void rti_child_await(struct rti_child *child, uint64_t deadline_ns);

/* Another state, for all to see. */
void rti_child_to(struct rti_child *child, rt_child_state state);

/* The life has ended, and its exit message was received: that goes. */
void rti_child_ended(struct rti_child *child);

/* The supervisor was killed: the child goes with it. Under the lock. */
void rti_child_orphan(struct rti_child *child);

/* The child that an exit message is about; NULL if it is no child's. */
struct rti_child *rti_child_of_message(const struct rti_actor *supervisor, const rt_message *msg);

static inline bool rti_child_is_up(const struct rti_child *child)
{
    return child->actor != ACTOR_ID_INVALID;
}

static inline struct rti_child *rti_child_of(struct rti_link *link)
{
    return link == NULL ? NULL : RTI_CONTAINER_OF(link, struct rti_child, link);
}

static inline struct rti_child *rti_child_first(const struct rti_supervisor *supervisor)
{
    return rti_child_of(rti_list_peek(&supervisor->children));
}

/* The one started after `child`; NULL if it is the last. */
static inline struct rti_child *rti_child_next(const struct rti_child *child)
{
    return rti_child_of(rti_list_next(&child->supervisor->children, &child->link));
}

/* The one started before `child`, or the last with NULL; NULL at the beginning. */
static inline struct rti_child *rti_child_before(const struct rti_supervisor *supervisor,
                                                 const struct rti_child *child)
{
    const struct rti_link *head = &supervisor->children.head;
    struct rti_link *link = child == NULL ? head->prev : child->link.prev;
    return link == head ? NULL : rti_child_of(link);
}

#endif
