/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "loop_runnable"
#include "machine/loop_runnable.h"

#include "sched/worker_local.h"
#include "time/deadline.h"

_Static_assert(sizeof(struct rti_loop_runnable) <= sizeof(((struct rti_loop *)0)->host_storage),
               "it fits the loop's storage");

/* Who a hosted loop is in traces, by its thread_id: no actor has such an id. */
#define HOST_ID_FIRST UINT32_C(0x80000000)

static struct rti_loop_runnable *host_of(struct rti_loop *loop)
{
    return loop->host;
}

static void host_wake(struct rti_loop_runnable *self)
{
    if (self->is_parked) {
        self->is_parked = false;
        rti_sched_wake(self->sched, &self->runnable);
    }
}

/* On the worker's thread: something came. While the step runs it sees that by itself. */
static void host_rouse(struct rti_loop *loop)
{
    host_wake(host_of(loop));
}

static void host_posted(struct rti_post *post)
{
    struct rti_loop_runnable *self = RTI_CONTAINER_OF(post, struct rti_loop_runnable, post);
    rti_posted_hear(&self->is_posted);
    host_wake(self);
}

/* On any thread. */
static void host_rouse_remote(struct rti_loop *loop)
{
    struct rti_loop_runnable *self = host_of(loop);
    if (rti_posted_ask(&self->is_posted)) {
        rti_sched_post(self->sched, &self->post);
    }
}

static void host_step(struct rti_runnable *runnable, struct rti_worker *worker)
{
    struct rti_loop_runnable *self = RTI_CONTAINER_OF(runnable, struct rti_loop_runnable, runnable);
    RT_ASSERT(worker->sched == self->sched && !self->is_parked);
    self->loop->journal = self->sched->journal; /* it may be started and stopped at any time */
    rti_loop_work(self->loop);
    if (rti_loop_is_over(self->loop)) {
        rti_sched_end(self->sched, runnable);
    } else if (rti_loop_is_idle(self->loop)) {
        bool is_parked = rti_runnable_to_parked(runnable);
        RT_ASSERT(is_parked);
        self->is_parked = true;
    } else {
        rti_runnable_to(runnable, RTI_RUNNABLE_RUNNING, RTI_RUNNABLE_READY);
        rti_processor_queue(&self->sched->processor, runnable);
    }
}

void rti_loop_host(struct rti_loop_runnable *self, rt_loop *outside, struct rti_sched *sched,
                   uint32_t id, uint8_t priority)
{
    struct rti_loop *loop = rti_loop_of(outside);
    RT_ASSERT(loop->port == sched->port && loop->stats.turns == 0 && !loop->is_hosted);
    *self = (struct rti_loop_runnable){.loop = loop, .sched = sched};
    self->post.call = host_posted;
    rti_u32_init(&self->is_posted, 0);
    loop->host = self;
    loop->is_hosted = true;
    loop->rouse = host_rouse;
    loop->rouse_remote = host_rouse_remote;
    loop->wheel = rti_sched_wheel(sched);
    loop->journal = sched->journal;
    rti_runnable_init(&self->runnable, id, priority, host_step);
    rti_sched_start(sched, &self->runnable);
}

rt_status rt_loop_host(rt_loop *loop, const rt_loop_config *config, rt_priority priority)
{
    struct rti_worker *worker = rti_worker_enter();
    if (worker == NULL) {
        return (rt_status){RT_ERR_THREAD, "this thread has no runtime"};
    }
    if (config == NULL || config->port != NULL) {
        return (rt_status){RT_ERR_INVALID, "a hosted loop has the port of its runtime"};
    }
    if ((unsigned)priority >= RTI_PRIORITY_LEVELS) {
        return (rt_status){RT_ERR_INVALID, "there is no such priority"};
    }
    struct rti_sched *sched = worker->sched;
    if (!sched->is_local) {
        return (rt_status){RT_ERR_UNSUPPORTED, "several workers share no one thread"};
    }
    rt_loop_config hosted = *config;
    hosted.port = sched->port;
    rt_status status = rt_loop_init(loop, &hosted);
    if (!RT_FAILED(status)) {
        struct rti_loop *inside = rti_loop_of(loop);
        rti_loop_host((struct rti_loop_runnable *)inside->host_storage, loop, sched,
                      HOST_ID_FIRST + inside->thread_id, (uint8_t)priority);
    }
    return status;
}
