/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_BLOCKING_POOL_H
#define RTI_BLOCKING_POOL_H

/* The blocking pool: work that may block runs here, on a bounded number of threads. The essay is in
 * blocking_pool.c. */

#include <orrery/rt/spsc.h>

#include "port/linux/stage.h"

/* Threads of the file lane: the default and the most that a config may ask for. */
#ifndef RTI_BLOCKING_THREADS
#define RTI_BLOCKING_THREADS 4
#endif
#ifndef RTI_BLOCKING_THREADS_MAX
#define RTI_BLOCKING_THREADS_MAX 32
#endif

/* Entries of a thread's queues: one would do, since one op at most is out with a thread. */
#define RTI_BLOCKING_QUEUE_ENTRIES 2

struct rti_blocking_thread {
    struct rti_port *port;         /* set before the thread starts */
    struct rti_port_thread thread; /* valid if is_started */
    bool is_started;               /* scheduler */
    bool is_busy;                  /* scheduler: an op is out with this thread */
    rti_atomic_u32 bell;           /* futex: changes with each request and with stop */
    rti_atomic_u32 is_stopping;    /* scheduler writes, thread reads */
    rt_spsc_queue requests;        /* scheduler to thread */
    rt_spsc_queue completions;     /* thread to scheduler */
    struct rti_op *requests_buffer[RTI_BLOCKING_QUEUE_ENTRIES];
    struct rti_op *completions_buffer[RTI_BLOCKING_QUEUE_ENTRIES];
};

/* All fields are the scheduler's; the counters are for statistics and tests. */
struct rti_blocking_lane {
    struct rti_list backlog; /* ops that no thread has yet, FIFO */
    struct rti_blocking_thread *threads;
    uint32_t threads_max;
    uint32_t threads_started;
    uint32_t busy_count; /* threads with an op */
    uint32_t backlog_count;
    uint32_t backlog_peak;
    uint64_t completed_count;
    uint64_t withdrawn_count; /* cancelled before a thread had them */
};

enum rti_blocking_lane_name {
    RTI_LANE_FILE,
    RTI_LANE_DNS,
    RTI_LANE_COUNT,
};

struct rti_blocking_pool {
    struct rti_port *port;
    struct rti_list *answered; /* the port's list: where ops go that no thread could be had for */
    struct rti_blocking_lane lanes[RTI_LANE_COUNT];
    struct rti_blocking_thread file_threads[RTI_BLOCKING_THREADS_MAX];
    struct rti_blocking_thread dns_thread;
};

/* Prepares without a thread. */
void rti_blocking_pool_init(struct rti_blocking_pool *pool, struct rti_port *port,
                            uint32_t file_threads_max, struct rti_list *answered);

/* Starts every thread now; RT_ERR_NOMEM if the system has no more, those started stay. */
rt_status rti_blocking_pool_start_all(struct rti_blocking_pool *pool);

/* Waits for what runs, joins every thread. What they completed can still be collected. */
void rti_blocking_pool_stop(struct rti_blocking_pool *pool);

/* Takes an op in flight: gives it to a thread or puts it into the backlog. */
void rti_blocking_pool_submit(struct rti_blocking_pool *pool, struct rti_op *op);

/* Takes an op out of the backlog; the caller answers it. */
void rti_blocking_pool_withdraw(struct rti_blocking_pool *pool, struct rti_op *op);

/* Takes all of the backlog out, answered with `status`. */
void rti_blocking_pool_answer_backlog(struct rti_blocking_pool *pool, rt_status_code status);

/* Moves what the threads completed to the tail of `into` and gives them the next of the backlog. */
void rti_blocking_pool_collect(struct rti_blocking_pool *pool, struct rti_list *into);

/* Walks the lanes and panics if an invariant is broken; returns the ops in backlog and threads. */
size_t rti_blocking_pool_audit(const struct rti_blocking_pool *pool);

#endif
