/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_SUPERVISOR_H
#define ORRERY_RT_SUPERVISOR_H

/* Supervisors: actors that start others, hear of their ends and start them again.
 *
 * A supervisor starts its children in the order in which they are listed and stops them in the
 * reverse order, one after the other. What it does when a child ends is said by the child's restart
 * type and by the supervisor's strategy:
 *
 *     RT_PERMANENT   is started again, however it ended
 *     RT_TRANSIENT   is started again unless it ended by rt_exit
 *     RT_TEMPORARY   is not started again, and is forgotten when it has ended
 *
 *     RT_ONE_FOR_ONE   the child that ended is started again
 *     RT_ONE_FOR_ALL   all others are stopped, then all are started, in order
 *     RT_REST_FOR_ONE  those listed behind it are stopped, then it and they are started, in order
 *     RT_SIMPLE        as RT_ONE_FOR_ONE, with children of one kind, added at run time
 *
 * More than `intensity` restarts within `period_ms` are too many: the supervisor stops its children
 * and ends itself with RT_EXIT_CRASH, so that its own supervisor can do something about it. A
 * supervisor whose children are supervisors is a tree. When a supervisor is killed its children are
 * killed with it, and so on down the tree.
 *
 * To stop a child the supervisor asks it: the child receives a message that rt_is_stop_msg knows,
 * and has `shutdown_ms` to end by itself, after which it is killed. The rules are those of
 * Erlang/OTP; docs/internals/supervisor.md has the table and says where they differ. */

#include <orrery/rt/actor.h>
#include <orrery/rt/behaviour.h>
#include <orrery/rt/link.h>
#include <orrery/rt/registry.h>
#include <orrery/rt_static_config.h>

RT_EXTERN_C_BEGIN

typedef enum {
    RT_ONE_FOR_ONE,
    RT_ONE_FOR_ALL,
    RT_REST_FOR_ONE,
    RT_SIMPLE,
} rt_strategy;

typedef enum {
    RT_PERMANENT,
    RT_TRANSIENT,
    RT_TEMPORARY,
} rt_restart;

/* Whether the end of significant children ends the supervisor. Only ends that lead to no restart
 * count. */
typedef enum {
    RT_AUTO_SHUTDOWN_NEVER,
    RT_AUTO_SHUTDOWN_ANY, /* when one significant child has ended by itself */
    RT_AUTO_SHUTDOWN_ALL, /* when the last one has */
} rt_auto_shutdown;

/* How long a child may take to end when it is asked to. */
#define RT_SHUTDOWN_DEFAULT 0    /* 5 seconds; for ever if it is a supervisor */
#define RT_SHUTDOWN_KILL    (-1) /* it is not asked but killed */
#define RT_SHUTDOWN_FOREVER (-2)

struct rt_supervisor_config;

/* A child: how it is started, and what its end means. It is an actor with a stack (`fn`), a
 * behaviour (`behaviour`) or a supervisor (`supervisor`); exactly one of the three is set. */
typedef struct {
    const char *id;     /* its name at the supervisor, 1 to RT_NAME_MAX bytes; copied */
    actor_fn fn;        /* an actor with a stack, started with `arg` and `actor` */
    void *arg;          /* stays the caller's and lives as long as the supervisor */
    actor_config actor; /* copied, its name too; as for rt_spawn_ex */
    const rt_behaviour_type *behaviour;            /* lives as long as the supervisor */
    const struct rt_supervisor_config *supervisor; /* lives as long as the supervisor */
    rt_restart restart;
    int32_t shutdown_ms; /* above 0: so long; else one of RT_SHUTDOWN_* */
    const char *name;   /* registered for each of its lives, before it begins; NULL: none; copied */
    bool keeps_address; /* each life has the actor_id of the first one; not for a supervisor */
    bool is_significant; /* see rt_auto_shutdown; not for RT_PERMANENT */
} rt_child_spec;

/* Bytes that one child takes of memory given to a supervisor. */
#define RT_CHILD_SIZE 704

/* Declares memory for the children of a supervisor that has more than the pool should give:
 *
 *     static RT_SUPERVISOR_MEMORY(clients_memory, 1000);
 *     config.memory = clients_memory, config.memory_size = sizeof(clients_memory) */
#define RT_SUPERVISOR_MEMORY(variable, count)                                                      \
    struct {                                                                                       \
        void *alignment;                                                                           \
        unsigned char bytes[(size_t)(count) * (RT_CHILD_SIZE + 4) + 16];                           \
    } variable[1]

typedef struct rt_supervisor_config {
    rt_strategy strategy;
    uint32_t intensity;            /* restarts that are not too many; at most RT_INTENSITY_MAX */
    uint32_t period_ms;            /* the time in which they are counted; 0: 5 seconds */
    const rt_child_spec *children; /* in the order of their start; RT_SIMPLE: the one kind */
    size_t child_count;
    rt_auto_shutdown auto_shutdown;
    uint32_t backoff_ms;     /* before the first restart of a child, then doubled; 0: none */
    uint32_t backoff_max_ms; /* no pause is longer; 0: 100 times backoff_ms */
    actor_config actor;      /* of the supervisor itself; a stack_size of 0: 16 KiB */
    const char *name;        /* registered for the supervisor; NULL: none */
    void *memory;            /* for the children; NULL: from a pool that all supervisors share */
    size_t memory_size;
} rt_supervisor_config;

typedef enum {
    RT_CHILD_STOPPED,    /* does not live: it ended and is not started again, or was stopped */
    RT_CHILD_RESTARTING, /* waits for its next start */
    RT_CHILD_RUNNING,
    RT_CHILD_STOPPING, /* was asked to end */
} rt_child_state;

/* What rt_supervisor_which_children tells of one child. */
typedef struct {
    char id[RT_NAME_MAX + 1]; /* "" for those of RT_SIMPLE */
    actor_id actor;           /* ACTOR_ID_INVALID unless it runs */
    rt_child_state state;
    rt_restart restart;
    bool is_supervisor;
    uint32_t restarts; /* of this child, since it was added */
} rt_child_info;

/* Starts a supervisor. It starts its children in its first turn; a child that cannot be started
 * then, because a pool is used up or its name is taken, has those before it stopped and the
 * supervisor end with RT_EXIT_CRASH.
 * Callable from an actor, and from main between rt_init and rt_run.
 * Never suspends.
 * `config` is read during the call, and so are its children and strings; what a child's arg,
 * behaviour and supervisor point to, and `memory`, stay the caller's and live as long as the
 * supervisor. `out` may be NULL.
 * Returns RT_OK; RT_ERR_INVALID if the configuration says what cannot be: no or more than one way
 * to start a child, two children with one id, a bad name, a priority or a stack that no actor can
 * have, an intensity above RT_INTENSITY_MAX, RT_SIMPLE with other than one child, keeps_address for
 * a supervisor; RT_ERR_NOMEM if there is no room for the supervisor, its actor or its children;
 * RT_ERR_EXISTS if its name is taken; RT_ERR_THREAD on a foreign thread. Failure changes nothing.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_supervisor_start(const rt_supervisor_config *config,
                                                   actor_id *out);

/* Has a supervisor stop its children, the last one first, and end with RT_EXIT_NORMAL.
 * Callable from an actor that is none of its children.
 * Suspends until it has ended, or for `timeout_ms` milliseconds; for ever if that is negative, and
 * not at all if it is 0.
 * There is no pointer to own.
 * Returns RT_OK; RT_ERR_TIMEOUT if it takes longer, and it goes on stopping; RT_ERR_INVALID if
 * `supervisor` is none; RT_ERR_NOMEM if there is no entry for the request; RT_ERR_THREAD outside of
 * an actor.
 * Nothing is lost on cancel: a request that was made stays made. */
RT_API RT_SUSPENDS rt_status rt_supervisor_stop(actor_id supervisor, int32_t timeout_ms);

/* Adds a child behind the others and starts it. Not for RT_SIMPLE.
 * Callable from an actor other than the supervisor.
 * Suspends until the supervisor has done it.
 * `spec` is read as in rt_supervisor_start. `out` receives the actor and may be NULL.
 * Returns RT_OK; RT_ERR_EXISTS if a child has this id, or another actor the child's name;
 * RT_ERR_NOMEM if a pool is used up: the child is not added; RT_ERR_INVALID for a bad
 * specification, or if `supervisor` is none; RT_ERR_STATE for RT_SIMPLE; RT_ERR_CLOSED if the
 * supervisor ended meanwhile; RT_ERR_THREAD outside of an actor.
 * Nothing is lost on cancel: the child is added all the same. */
RT_API RT_SUSPENDS rt_status rt_supervisor_add(actor_id supervisor, const rt_child_spec *spec,
                                               actor_id *out);

/* Starts one more child of a RT_SIMPLE supervisor, of its kind, with an argument of its own.
 * Callable from an actor other than the supervisor.
 * Suspends until the supervisor has done it.
 * `arg` stays the caller's and lives as long as the child and its restarts. `out` receives the
 * actor and may be NULL.
 * Returns RT_OK; RT_ERR_NOMEM if a pool is used up; RT_ERR_STATE if it is not RT_SIMPLE;
 * RT_ERR_INVALID if `supervisor` is none; RT_ERR_CLOSED if it ended meanwhile; RT_ERR_THREAD
 * outside of an actor.
 * Nothing is lost on cancel: the child is started all the same. */
RT_API RT_SUSPENDS rt_status rt_supervisor_spawn(actor_id supervisor, void *arg, actor_id *out);

/* Stops a child, which stays listed and is not started again until it is asked for or a sibling's
 * end restarts the whole group. A temporary one is forgotten. If it waits for its restart, siblings
 * that were stopped to be started together with it are started without it.
 * Callable from an actor other than the supervisor and the child.
 * Suspends until the child has ended.
 * `id` is read during the call.
 * Returns RT_OK, also if it does not run; RT_ERR_NOT_FOUND if there is no such child;
 * RT_ERR_INVALID if `supervisor` is none; RT_ERR_NOMEM if there is no entry for the request;
 * RT_ERR_CLOSED if the supervisor ended meanwhile; RT_ERR_THREAD outside of an actor.
 * Nothing is lost on cancel: a request that was made stays made. */
RT_API RT_SUSPENDS rt_status rt_supervisor_stop_child(actor_id supervisor, const char *id);

/* Stops the child that is this actor; of a RT_SIMPLE supervisor it is forgotten. In all else it is
 * rt_supervisor_stop_child.
 * Callable from an actor other than the supervisor and the child.
 * Suspends until the child has ended.
 * There is no pointer to own.
 * Returns what rt_supervisor_stop_child returns.
 * Nothing is lost on cancel: a request that was made stays made. */
RT_API RT_SUSPENDS rt_status rt_supervisor_stop_actor(actor_id supervisor, actor_id child);

/* Starts a child that is stopped.
 * Callable from an actor other than the supervisor.
 * Suspends until the supervisor has done it.
 * `id` is read during the call. `out` receives the actor and may be NULL.
 * Returns RT_OK; RT_ERR_STATE if it runs or waits for a restart; RT_ERR_NOT_FOUND if there is no
 * such child; RT_ERR_NOMEM if a pool is used up, RT_ERR_EXISTS if another actor has its name: it
 * stays stopped; RT_ERR_INVALID, RT_ERR_CLOSED and RT_ERR_THREAD as rt_supervisor_stop_child.
 * Nothing is lost on cancel: a request that was made stays made. */
RT_API RT_SUSPENDS rt_status rt_supervisor_restart_child(actor_id supervisor, const char *id,
                                                         actor_id *out);

/* Forgets a child that is stopped.
 * Callable from an actor other than the supervisor.
 * Suspends until the supervisor has done it.
 * `id` is read during the call.
 * Returns RT_OK; RT_ERR_STATE if it runs or waits for a restart; RT_ERR_NOT_FOUND if there is no
 * such child; RT_ERR_INVALID, RT_ERR_NOMEM, RT_ERR_CLOSED and RT_ERR_THREAD as
 * rt_supervisor_stop_child.
 * Nothing is lost on cancel: a request that was made stays made. */
RT_API RT_SUSPENDS rt_status rt_supervisor_remove_child(actor_id supervisor, const char *id);

/* Tells of a supervisor's children, in the order of their start, as they are at this moment.
 * Callable from an actor, and from main on the runtime's thread.
 * Never suspends.
 * `out` has room for `out_max` and stays the caller's; it may be NULL if that is 0. `count`
 * receives how many children there are, also if that is more.
 * Returns RT_OK; RT_ERR_INVALID if `supervisor` is none or `count` is NULL; RT_ERR_THREAD on a
 * foreign thread.
 * Nothing is lost on cancel. */
RT_API rt_status rt_supervisor_which_children(actor_id supervisor, rt_child_info *out,
                                              size_t out_max, size_t *count);

/* Says whether a message is a supervisor's request to end. Who receives it puts in order what it
 * has and calls rt_exit; a behaviour that has no handler for it ends by itself.
 * Callable from anywhere.
 * Never suspends.
 * `msg` stays the caller's; NULL is no message.
 * Returns true if the sender is RT_SENDER_SUPERVISOR.
 * Nothing is lost on cancel. */
RT_API bool rt_is_stop_msg(const rt_message *msg);

RT_EXTERN_C_END

#endif
