/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "thread_pool"
#include "task/thread_pool.h"

#include "sync/cx.h"

_Static_assert(sizeof(struct rti_job) % RTI_JOB_ALIGNMENT == 0, "the low bits are free");

static void pool_lock(struct rti_thread_pool *pool)
{
    uint32_t word = 0;
    /* Acquire pairs with the release of the last holder. */
    if (rti_u32_cas_acqrel(&pool->lock, &word, 1)) {
        return;
    }
    /* Acquire-release: as above, and says that somebody sleeps. */
    while (rti_u32_exchange_acqrel(&pool->lock, 2) != 0) {
        (void)pool->port->ops->futex_wait(pool->port, &pool->lock, 2, RTI_TIME_NEVER);
    }
}

static void pool_unlock(struct rti_thread_pool *pool)
{
    /* Release pairs with the next holder's acquire. */
    if (rti_u32_exchange_acqrel(&pool->lock, 0) == 2) {
        pool->port->ops->futex_wake(pool->port, &pool->lock, 1);
    }
}

/* Gives a job's place back if nobody needs it any more. Locked. */
static void job_settle(struct rti_job *job)
{
    struct rti_thread_pool *pool = job->pool;
    if (job->state == RTI_JOB_DONE && !job->is_held && !job->is_posted) {
        job->state = RTI_JOB_FREE;
        job->next = pool->free_head;
        pool->free_head = job;
    }
}

/* Takes the first of the queue; NULL if it is empty. Locked. */
static struct rti_job *pool_pop(struct rti_thread_pool *pool)
{
    struct rti_job *job = pool->first;
    if (job != NULL) {
        RT_ASSERT(job->state == RTI_JOB_QUEUED && pool->queued > 0);
        pool->first = job->next;
        pool->queued--;
        job->state = RTI_JOB_RUNNING;
    }
    return job;
}

/* A job has ended: its value is noted and who waits is told, on this thread or by the scheduler. */
static void job_finish(struct rti_job *job, void *value)
{
    struct rti_thread_pool *pool = job->pool;
    struct rti_sched *sched = pool->sched;
    struct rti_port *port = pool->port;
    pool_lock(pool);
    job->value = value;
    job->state = RTI_JOB_DONE;
    struct rti_parker *parker = job->parker;
    job->parker = NULL;
    bool is_posting = job->waiter != NULL && !job->is_posted;
    job->is_posted = job->is_posted || is_posting;
    job_settle(job);
    pool->unfinished--;
    bool is_last = pool->unfinished == 0 && pool->closer != NULL && !pool->is_close_posted;
    pool->is_close_posted = pool->is_close_posted || is_last;
    pool_unlock(pool);
    if (is_posting) {
        rti_sched_post(sched, &job->post);
    }
    if (parker != NULL) {
        rti_parker_unpark(parker, port);
    }
    if (is_last) {
        rti_sched_post(sched, &pool->close_post);
    }
}

/* The program's function returns to here, and it may fault before it has a frame. */
static RTI_OUTSIDE void *job_call(const struct rti_job *job)
{
    return job->fn(job->arg);
}

/* The next job for a thread of the pool; NULL: the pool stops and nothing is left. */
static struct rti_job *pool_await(struct rti_thread_pool *pool)
{
    for (;;) {
        /* Acquire pairs with the add of who rings: a job of an older bell is seen below. */
        uint32_t bell = rti_u32_load_acquire(&pool->bell);
        pool_lock(pool);
        struct rti_job *job = pool_pop(pool);
        bool is_over = job == NULL && pool->is_stopping;
        pool_unlock(pool);
        if (job != NULL || is_over) {
            return job;
        }
        (void)pool->port->ops->futex_wait(pool->port, &pool->bell, bell, RTI_TIME_NEVER);
    }
}

static void pool_thread(void *arg)
{
    struct rti_thread_pool *pool = arg;
    struct rti_job *job;
    while ((job = pool_await(pool)) != NULL) {
        job_finish(job, job_call(job));
    }
}

static void pool_ring(struct rti_thread_pool *pool, uint32_t threads)
{
    /* Pairs with the load in pool_await. */
    (void)rti_u32_add_acqrel(&pool->bell, 1);
    pool->port->ops->futex_wake(pool->port, &pool->bell, threads);
}

/* Claims the fiber that waits; NULL if there is none, or another event has it. Locked. */
static struct rti_waiter *pool_claim(struct rti_waiter **place)
{
    struct rti_waiter *waiter = *place;
    *place = NULL;
    return waiter != NULL && rti_wait_claim(waiter->wait, waiter->event) ? waiter : NULL;
}

/* Wakes who was claimed, if anybody was. On a worker. */
static void pool_wake(struct rti_waiter *claimed)
{
    if (claimed != NULL) {
        rti_waiter_wake(claimed);
    }
}

/* The post of a job: runs it, if there are no threads, and tells who waits for it. */
static void job_posted(struct rti_post *post)
{
    struct rti_job *job = RTI_CONTAINER_OF(post, struct rti_job, post);
    struct rti_thread_pool *pool = job->pool;
    if (!pool->is_threaded) {
        pool_lock(pool);
        struct rti_job *next = pool_pop(pool);
        pool_unlock(pool);
        RT_ASSERT(next == job);
        job_finish(job, job_call(job));
    }
    pool_lock(pool);
    struct rti_waiter *claimed = pool_claim(&job->waiter);
    pool_unlock(pool);
    pool_wake(claimed);
    pool_lock(pool);
    job->is_posted = false;
    job_settle(job);
    pool_unlock(pool);
}

static void pool_close_posted(struct rti_post *post)
{
    struct rti_thread_pool *pool = RTI_CONTAINER_OF(post, struct rti_thread_pool, close_post);
    pool_lock(pool);
    pool->is_close_posted = false;
    /* It may be of a closer that was killed, and the pool have jobs again: asked in one go, or
     * another closer could come in between. */
    struct rti_waiter *claimed = pool->unfinished == 0 ? pool_claim(&pool->closer) : NULL;
    pool_unlock(pool);
    pool_wake(claimed);
}

/* The first time it is opened. What is set here outlives a close: those who have joined before it
 * may still come for their results, and posts be on their way, when the pool is another's. */
static void pool_init(struct rti_thread_pool *pool, struct rti_sched *sched)
{
    pool->is_made = true;
    pool->is_threaded = true;
    pool->sched = sched;
    pool->port = sched->port;
    rti_u32_init(&pool->lock, 0);
    rti_u32_init(&pool->bell, 0);
    pool->queued = 0;
    pool->unfinished = 0;
    pool->first = NULL;
    pool->free_head = NULL;
    pool->closer = NULL;
    pool->is_close_posted = false;
    pool->close_post.call = pool_close_posted;
    for (size_t i = RT_MAX_POOL_JOBS; i > 0; i--) {
        struct rti_job *job = &pool->jobs[i - 1];
        job->state = RTI_JOB_FREE;
        job->is_held = false;
        job->is_posted = false;
        job->generation = 0;
        job->pool = pool;
        job->post.call = job_posted;
        job->next = pool->free_head;
        pool->free_head = job;
    }
}

/* Each time it is opened. */
static void pool_begin(struct rti_thread_pool *pool, uint32_t queue_max)
{
    pool_lock(pool);
    RT_ASSERT(pool->unfinished == 0 && pool->queued == 0 && pool->closer == NULL);
    pool->is_closing = false;
    pool->is_stopping = false;
    pool->threads_count = 0;
    pool->queue_max = queue_max;
    pool_unlock(pool);
}

/* Consumes the handles of jobs that nobody has joined. */
static void pool_forget(struct rti_thread_pool *pool)
{
    pool_lock(pool);
    for (size_t i = 0; i < RT_MAX_POOL_JOBS; i++) {
        struct rti_job *job = &pool->jobs[i];
        if (job->is_held && !job->is_awaited) {
            job->is_held = false;
            job_settle(job);
        }
    }
    pool_unlock(pool);
}

/* Has the threads end and waits for that: a moment, since there is no job left. */
static void pool_stop_threads(struct rti_thread_pool *pool)
{
    pool_lock(pool);
    pool->is_closing = true;
    pool->is_stopping = true;
    pool_unlock(pool);
    pool_ring(pool, UINT32_MAX);
    while (pool->threads_count > 0) {
        pool->threads_count--;
        pool->port->ops->thread_join(pool->port, &pool->threads[pool->threads_count]);
    }
}

static rt_status pool_start_threads(struct rti_thread_pool *pool, uint32_t threads)
{
    for (uint32_t i = 0; i < threads; i++) {
        rt_status status =
            pool->port->ops->thread_start(pool->port, &pool->threads[i], pool_thread, pool);
        if (status.code == RT_ERR_UNSUPPORTED) {
            pool->is_threaded = false;
            return RT_SUCCESS;
        }
        if (RT_FAILED(status)) {
            pool_stop_threads(pool);
            return status;
        }
        pool->threads_count++;
    }
    return RT_SUCCESS;
}

static struct rti_thread_pools *pools_of(const struct rti_worker *worker)
{
    return worker == NULL ? NULL : worker->sched->modules[RTI_MODULE_POOL];
}

/* A pool that is nobody's; NULL if there is none. */
static struct rti_thread_pool *pools_take(struct rti_thread_pools *pools)
{
    struct rti_thread_pool *taken = NULL;
    rti_lock_acquire(&pools->lock, pools->sched);
    for (size_t i = 0; i < RT_MAX_POOLS && taken == NULL; i++) {
        if (!pools->pools[i].is_taken) {
            taken = &pools->pools[i];
            taken->is_taken = true;
        }
    }
    rti_lock_release(&pools->lock);
    return taken;
}

static void pools_give(struct rti_thread_pools *pools, struct rti_thread_pool *pool)
{
    rti_lock_acquire(&pools->lock, pools->sched);
    RT_ASSERT(pool->is_taken);
    pool->is_taken = false;
    rti_lock_release(&pools->lock);
}

rt_pool *rt_pool_open(uint32_t threads, uint32_t queue)
{
    struct rti_thread_pools *pools = pools_of(rti_worker_enter());
    if (pools == NULL || threads == 0 || threads > RT_MAX_POOL_THREADS || queue == 0 ||
        queue > RT_MAX_POOL_JOBS) {
        return NULL;
    }
    struct rti_thread_pool *pool = pools_take(pools);
    if (pool == NULL) {
        return NULL;
    }
    if (!pool->is_made) {
        pool_init(pool, pools->sched);
    }
    pool_begin(pool, queue);
    if (RT_FAILED(pool_start_threads(pool, threads))) {
        pools_give(pools, pool);
        return NULL;
    }
    /* Release pairs with the acquire in pool_of. */
    rti_u8_store_release(&pool->open, 1);
    return (rt_pool *)(void *)pool;
}

static struct rti_thread_pool *pool_of(rt_pool *handle)
{
    struct rti_thread_pool *pool = (struct rti_thread_pool *)(void *)handle;
    /* Acquire pairs with the release of who has opened or closed it. */
    return pool != NULL && rti_u8_load_acquire(&pool->open) != 0 ? pool : NULL;
}

/* Puts a job into the queue, if it takes one. Locked. */
static struct rti_job *pool_push(struct rti_thread_pool *pool, rt_task_fn fn, void *arg)
{
    struct rti_job *job = pool->free_head;
    if (job == NULL || pool->queued == pool->queue_max) {
        return NULL;
    }
    pool->free_head = job->next;
    job->generation = (uint8_t)((job->generation + 1) % RTI_JOB_ALIGNMENT);
    job->state = RTI_JOB_QUEUED;
    job->is_held = true;
    job->is_awaited = false;
    job->is_posted = !pool->is_threaded;
    job->fn = fn;
    job->arg = arg;
    job->waiter = NULL;
    job->parker = NULL;
    job->next = NULL;
    if (pool->first == NULL) {
        pool->first = job;
    } else {
        pool->last->next = job;
    }
    pool->last = job;
    pool->queued++;
    pool->unfinished++;
    return job;
}

static rt_status pool_spawn(struct rti_thread_pool *pool, rt_task_fn fn, void *arg, rt_job **out)
{
    if (pool == NULL || fn == NULL) {
        return (rt_status){RT_ERR_INVALID, "there is no pool, or no function"};
    }
    pool_lock(pool);
    bool is_closing = pool->is_closing;
    struct rti_job *job = is_closing ? NULL : pool_push(pool, fn, arg);
    uint8_t generation = job == NULL ? 0 : job->generation;
    pool_unlock(pool);
    if (is_closing) {
        return (rt_status){RT_ERR_CLOSED, "the pool is being closed"};
    }
    if (job == NULL) {
        return (rt_status){RT_ERR_FULL, "the queue is full, or too many jobs were not joined"};
    }
    if (pool->is_threaded) {
        pool_ring(pool, 1);
    } else {
        rti_sched_post(pool->sched, &job->post);
    }
    *out = (rt_job *)((uintptr_t)job | generation);
    return RT_SUCCESS;
}

rt_job *rt_pool_spawn(rt_pool *handle, rt_task_fn fn, void *arg, rt_status *out_status)
{
    (void)rti_worker_enter();
    rt_job *job = NULL;
    rt_status status = pool_spawn(pool_of(handle), fn, arg, &job);
    if (out_status != NULL) {
        *out_status = status;
    }
    return job;
}

/* The job of a handle, with its pool locked; NULL, nothing locked, and *why, if it is consumed or
 * another waits with it. */
static struct rti_job *job_enter(rt_job *handle, rt_status *why)
{
    uintptr_t number = (uintptr_t)handle;
    struct rti_job *job = (struct rti_job *)(number & ~(uintptr_t)(RTI_JOB_ALIGNMENT - 1));
    *why = (rt_status){RT_ERR_INVALID, "this is no handle, or it is consumed"};
    if (job == NULL) {
        return NULL;
    }
    pool_lock(job->pool);
    bool is_it = job->is_held && job->generation == (number & (RTI_JOB_ALIGNMENT - 1));
    if (is_it && !job->is_awaited) {
        return job;
    }
    if (is_it) {
        why->msg = "another waits for the job with this handle";
    }
    pool_unlock(job->pool);
    return NULL;
}

/* Consumes the handle and leaves the job's pool, which is locked. */
static void job_leave(struct rti_job *job, void **value)
{
    struct rti_thread_pool *pool = job->pool;
    if (value != NULL && job->state == RTI_JOB_DONE) {
        *value = job->value;
    }
    job->is_held = false;
    job_settle(job);
    pool_unlock(pool);
}

/* Who waited was killed, and does not come back for the handle. */
static void job_unlink(struct rti_waiter *waiter)
{
    struct rti_job *job = waiter->slot;
    if (job != NULL) {
        pool_lock(job->pool);
        job->waiter = NULL;
        job_leave(job, NULL);
    }
}

bool rti_waiter_is_of_job(const struct rti_waiter *waiter)
{
    return waiter->unlink == job_unlink;
}

/* Waits as a fiber until the job is done. Its pool is locked before and after. */
static rt_status job_park(struct rti_worker *worker, struct rti_job *job)
{
    struct rti_wait wait;
    struct rti_waiter waiter;
    struct rti_cx_events events;
    struct rti_cx *cx = rti_fiber_cx(worker->fiber);
    rti_fiber_wait_begin(worker, &wait);
    wait.reason = RTI_REASON_JOIN;
    rti_wait_add(&wait, &waiter, RTI_EVENT_SOURCE, job_unlink);
    waiter.slot = job;
    job->waiter = &waiter;
    pool_unlock(job->pool);
    rti_cx_events_add(&events, cx, worker->sched, &wait, RT_TIME_NEVER);
    uint32_t event = rti_fiber_park_open(worker, &wait);
    waiter.slot = NULL;
    rti_wait_finish(&wait);
    pool_lock(job->pool);
    job->waiter = NULL;
    return event == RTI_EVENT_SOURCE ? RT_SUCCESS : rti_cx_events_status(&events, cx, event);
}

/* Waits as a thread, likewise. */
static void job_block(struct rti_job *job)
{
    struct rti_parker parker;
    rti_parker_init(&parker);
    job->parker = &parker;
    pool_unlock(job->pool);
    bool is_told = rti_parker_park(&parker, job->pool->port, RTI_TIME_NEVER);
    RT_ASSERT(is_told);
    pool_lock(job->pool);
}

/* Waits for the job, whose pool is locked on the way in and on the way out. */
static rt_status job_await(struct rti_worker *worker, struct rti_job *job)
{
    if (job->state == RTI_JOB_DONE) {
        return RT_SUCCESS;
    }
    if (worker != NULL && worker->fiber == NULL) {
        return (rt_status){RT_ERR_WOULDBLOCK, "the runtime's own stack cannot wait"};
    }
    if (worker == NULL) {
        job_block(job);
        return RT_SUCCESS;
    }
    struct rti_cx *cx = rti_fiber_cx(worker->fiber);
    rt_status status = cx == NULL ? RT_SUCCESS : rti_cx_checkpoint(cx);
    return RT_FAILED(status) ? status : job_park(worker, job);
}

rt_status rt_pool_join(rt_job *handle, void **value)
{
    struct rti_worker *worker = rti_worker_enter();
    rt_status status;
    struct rti_job *job = job_enter(handle, &status);
    if (job == NULL) {
        return status;
    }
    job->is_awaited = true;
    status = job_await(worker, job);
    job_leave(job, RT_FAILED(status) ? NULL : value);
    return status;
}

rt_status rt_pool_detach(rt_job *handle)
{
    (void)rti_worker_enter();
    rt_status status;
    struct rti_job *job = job_enter(handle, &status);
    if (job == NULL) {
        return status;
    }
    job_leave(job, NULL);
    return RT_SUCCESS;
}

static void closer_unlink(struct rti_waiter *waiter)
{
    struct rti_thread_pool *pool = waiter->slot;
    pool_lock(pool);
    if (pool->closer == waiter) {
        pool->closer = NULL;
    }
    pool_unlock(pool);
}

/* What a fiber that closes leaves behind if it is killed: a pool that is open as before. */
struct pool_closing {
    struct rti_cleanup cleanup;
    struct rti_thread_pool *pool;
};

static void pool_closing_abandoned(struct rti_cleanup *cleanup)
{
    struct rti_thread_pool *pool = RTI_CONTAINER_OF(cleanup, struct pool_closing, cleanup)->pool;
    pool_lock(pool);
    pool->is_closing = false;
    pool_unlock(pool);
}

/* Waits, as a fiber that cannot be cancelled, until the last job is done. */
static void pool_park(struct rti_worker *worker, struct rti_thread_pool *pool)
{
    struct rti_wait wait;
    struct rti_waiter waiter;
    rti_fiber_wait_begin(worker, &wait);
    wait.reason = RTI_REASON_JOIN;
    rti_wait_add(&wait, &waiter, RTI_EVENT_SOURCE, closer_unlink);
    waiter.slot = pool;
    pool_lock(pool);
    bool is_done = pool->unfinished == 0;
    if (!is_done) {
        pool->closer = &waiter;
    }
    pool_unlock(pool);
    if (is_done) {
        bool is_mine = rti_wait_claim(&wait, RTI_EVENT_SOURCE);
        RT_ASSERT(is_mine);
        rti_wait_finish(&wait);
        return;
    }
    (void)rti_fiber_park(worker, &wait);
}

static const rt_status pool_not_open = {RT_ERR_INVALID, "this is no open pool"};

/* Of those who close a pool one does. */
static rt_status pool_begin_close(struct rti_thread_pool *pool, const struct rti_worker *worker)
{
    rt_status status = RT_SUCCESS;
    pool_lock(pool);
    if (pool->is_closing) {
        status = pool_not_open;
    } else if (worker->fiber == NULL && !pool->is_threaded && pool->unfinished > 0) {
        status = (rt_status){RT_ERR_WOULDBLOCK, "jobs are left, and this stack must run them"};
    } else {
        pool->is_closing = true;
    }
    pool_unlock(pool);
    return status;
}

rt_status rt_pool_close(rt_pool *handle)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_thread_pool *pool = pool_of(handle);
    if (worker == NULL) {
        return (rt_status){RT_ERR_THREAD, "this thread has no runtime"};
    }
    rt_status status = pool == NULL ? pool_not_open : pool_begin_close(pool, worker);
    if (RT_FAILED(status)) {
        return status;
    }
    if (worker->fiber != NULL) {
        struct pool_closing closing = {.pool = pool};
        rti_cleanup_init(&closing.cleanup, pool_closing_abandoned);
        rti_cleanup_push(&worker->fiber->cleanups, &closing.cleanup);
        pool_park(worker, pool);
        rti_cleanup_remove(&closing.cleanup);
    }
    pool_stop_threads(pool);
    pool_forget(pool);
    /* Release pairs with the acquire in pool_of. */
    rti_u8_store_release(&pool->open, 0);
    pools_give(pools_of(rti_worker_current()), pool);
    return RT_SUCCESS;
}

void rti_thread_pools_init(struct rti_thread_pools *pools, struct rti_sched *sched)
{
    RT_ASSERT(sched->modules[RTI_MODULE_POOL] == NULL);
    pools->sched = sched;
    rti_lock_init(&pools->lock, sched, RTI_LOCK_TASK);
    for (size_t i = 0; i < RT_MAX_POOLS; i++) {
        pools->pools[i].is_taken = false;
        pools->pools[i].is_made = false;
        rti_u8_init(&pools->pools[i].open, 0);
    }
    sched->modules[RTI_MODULE_POOL] = pools;
}

void rti_thread_pools_deinit(struct rti_thread_pools *pools)
{
    RT_ASSERT(pools->sched->modules[RTI_MODULE_POOL] == pools);
    for (size_t i = 0; i < RT_MAX_POOLS; i++) {
        if (rti_u8_load_relaxed(&pools->pools[i].open) != 0) {
            pool_stop_threads(&pools->pools[i]);
            RT_AUDIT(rti_thread_pool_audit(&pools->pools[i]));
            rti_u8_store_relaxed(&pools->pools[i].open, 0);
        }
    }
    pools->sched->modules[RTI_MODULE_POOL] = NULL;
}

void rti_thread_pool_audit(struct rti_thread_pool *pool)
{
    uint32_t queued = 0;
    uint32_t unfinished = 0;
    pool_lock(pool);
    for (const struct rti_job *at = pool->first; at != NULL; at = at->next) {
        RT_ASSERT(at->state == RTI_JOB_QUEUED);
        queued++;
    }
    for (size_t i = 0; i < RT_MAX_POOL_JOBS; i++) {
        uint8_t state = pool->jobs[i].state;
        unfinished += state == RTI_JOB_QUEUED || state == RTI_JOB_RUNNING;
    }
    RT_ASSERT(queued == pool->queued && queued <= pool->queue_max);
    RT_ASSERT(unfinished == pool->unfinished);
    pool_unlock(pool);
}
