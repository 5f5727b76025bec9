/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_THREAD_POOL_H
#define RTI_THREAD_POOL_H

/* Pools of threads for work that computes; the manual is <orrery/rt/pool.h>.
 *
 * One queue per pool, first in, first out, under one lock that threads of every kind take: those of
 * the pool, workers of the runtime and the program's own. It is a futex word of three states, since
 * sched/lock.h is for workers alone. The threads sleep on the bell, which changes with every job.
 *
 * A job is done on a thread that is no worker. Who waits for it may be a fiber: then the thread
 * posts to the scheduler, and the fiber is claimed and woken there, by a worker, as everywhere. Or
 * a thread: then a parker on its stack is given the token. A job's place is given back when it is
 * done, its handle is consumed and its post was called, whichever comes last.
 *
 * Where the port has no threads each spawn posts the job itself, and the post runs it.
 *
 * I1  A job is in the queue iff it is QUEUED.                               (pool_audit)
 * I2  `queued` <= queue_max; `unfinished` counts QUEUED and RUNNING.        (pool_audit)
 * I3  A waiter or parker in a job is there until it is told, or has left under the lock.
 *
 * Memory order: everything is under the lock but the bell, whose add pairs with the load before the
 * queue is looked at. */

#include <orrery/rt/pool.h>
#include <orrery/rt_static_config.h>

#include "sched/lock.h"
#include "sched/parker.h"
#include "sched/scheduler.h"
#include "sched/wait.h"

enum rti_job_state { RTI_JOB_FREE, RTI_JOB_QUEUED, RTI_JOB_RUNNING, RTI_JOB_DONE };

/* The low bits of a handle, which is the job's address, are its generation. */
#define RTI_JOB_ALIGNMENT 64

struct rti_thread_pool;

struct rti_job {
    _Alignas(RTI_JOB_ALIGNMENT) uint8_t state; /* enum rti_job_state */
    uint8_t generation;                        /* of the handle, below RTI_JOB_ALIGNMENT */
    bool is_held;                              /* its handle is not consumed */
    bool is_awaited;                           /* one who joins waits, and has the handle */
    bool is_posted;                            /* the scheduler has `post` */
    struct rti_thread_pool *pool;
    struct rti_job *next; /* in the queue, or in the free list */
    rt_task_fn fn;
    void *arg;
    void *value;
    struct rti_waiter *waiter; /* the fiber that joins; NULL: none */
    struct rti_parker *parker; /* the thread that joins; NULL: none */
    struct rti_post post;
};

struct rti_thread_pool {
    bool is_taken;      /* it is somebody's, or about to be; under the lock of all */
    bool is_made;       /* it was opened before; who has taken it */
    rti_atomic_u8 open; /* bool: it can be used */
    bool is_threaded;   /* the port has threads */
    bool is_closing;    /* takes no jobs: somebody waits for the last one */
    bool is_stopping;   /* its threads end when there is no job */
    struct rti_sched *sched;
    struct rti_port *port;
    rti_atomic_u32 lock; /* 0 free, 1 taken, 2 taken and somebody sleeps */
    rti_atomic_u32 bell;
    uint32_t threads_count;
    uint32_t queue_max;
    uint32_t queued;
    uint32_t unfinished;
    struct rti_job *first; /* the queue */
    struct rti_job *last;
    struct rti_job *free_head;
    struct rti_waiter *closer; /* the fiber that closes and waits for the last job; NULL: none */
    bool is_close_posted;
    struct rti_post close_post;
    struct rti_port_thread threads[RT_MAX_POOL_THREADS];
    struct rti_job jobs[RT_MAX_POOL_JOBS];
};

struct rti_thread_pools {
    struct rti_sched *sched;
    struct rti_lock lock; /* over which pools are taken */
    struct rti_thread_pool pools[RT_MAX_POOLS];
};

/* Makes the module and hangs it at the scheduler. */
void rti_thread_pools_init(struct rti_thread_pools *pools, struct rti_sched *sched);

/* Closes what is open, waits for its jobs, and takes the module away. Nothing lives any more. */
void rti_thread_pools_deinit(struct rti_thread_pools *pools);

/* Does this waiter wait for a job? For tools. */
bool rti_waiter_is_of_job(const struct rti_waiter *waiter);

/* Checks the invariants of a pool; takes its lock. */
void rti_thread_pool_audit(struct rti_thread_pool *pool);

#endif
