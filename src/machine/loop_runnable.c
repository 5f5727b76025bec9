/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "loop_runnable"
#include "machine/loop_runnable.h"

#include "time/deadline.h"

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
    /* Before the wake: what comes from here on posts anew. Pairs with the exchange in
     * host_rouse_remote. */
    (void)rti_u32_exchange_acqrel(&self->is_posted, 0);
    host_wake(self);
}

/* On any thread. */
static void host_rouse_remote(struct rti_loop *loop)
{
    struct rti_loop_runnable *self = host_of(loop);
    /* Pairs with the exchange in host_posted: one of the two sees the other. */
    if (rti_u32_exchange_acqrel(&self->is_posted, 1) == 0) {
        rti_sched_post(self->sched, &self->post);
    }
}

static void host_step(struct rti_runnable *runnable, struct rti_worker *worker)
{
    struct rti_loop_runnable *self = RTI_CONTAINER_OF(runnable, struct rti_loop_runnable, runnable);
    RT_ASSERT(worker->sched == self->sched && !self->is_parked);
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
