/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "loop_runnable"
#include "machine/loop_runnable.h"

#include "base/marks.h"
#include "machine/platform.h"
#include "port/op.h"
#include "sched/crew.h"
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
    self->loop->journal =
        rti_sched_journal(self->sched); /* it may be started and stopped at any time */
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

#if !RTI_ONE_WORKER

/* On any thread, after what came is in its place. */
static void host_rouse_shared(struct rti_loop *loop)
{
    struct rti_loop_runnable *self = host_of(loop);
    if (rti_posted_ask(&self->is_posted)) {
        rti_sched_wake(self->sched, &self->runnable);
    }
}

/* The port has answered an op, on some thread. */
static void host_bring(struct rti_loop *loop, struct rti_op *op)
{
    struct rti_loop_runnable *self = host_of(loop);
    rti_lock_acquire(&self->lock, self->sched);
    rti_list_push_tail(&self->answers, &op->link);
    rti_lock_release(&self->lock);
    host_rouse_shared(loop);
}

/* Takes up what was there when the step began: an answer may lead to the next, told by another
 * worker, and the machines would not have their turn. Who brings more has raised the flag again. */
static void host_take_answers(struct rti_loop_runnable *self)
{
    struct rti_list answers;
    struct rti_link *link;
    rti_list_init(&answers);
    rti_lock_acquire(&self->lock, self->sched);
    rti_list_splice_tail(&answers, &self->answers);
    rti_lock_release(&self->lock);
    while ((link = rti_list_pop(&answers)) != NULL) {
        rti_platform_answered(RTI_CONTAINER_OF(link, struct rti_op, link));
    }
}

/* The earliest of the loop's timers is due; under the lock of the engine's wheel. */
static void host_timer_fired(struct rti_timer *timer)
{
    host_rouse_shared(RTI_CONTAINER_OF(timer, struct rti_loop_runnable, timer)->loop);
}

static void host_disarm(struct rti_loop_runnable *self)
{
    if (self->armed_ns != RTI_TIME_NEVER) {
        (void)rti_clockwork_disarm(self->clockwork, &self->timer);
        self->armed_ns = RTI_TIME_NEVER;
    }
}

/* Sees to it that the step is woken for the earliest of the loop's timers. What was armed for the
 * same time, which the step had not come to when it read the clock, is armed, or has raised the
 * flag since. What was armed for a time that has come may be what woke this step. */
static void host_arm(struct rti_loop_runnable *self)
{
    uint64_t next_ns = rti_wheel_next_deadline(self->loop->wheel);
    if (next_ns == self->armed_ns && next_ns > self->loop->now_ns) {
        return;
    }
    host_disarm(self);
    if (next_ns != RTI_TIME_NEVER) {
        self->armed_ns = next_ns;
        self->clockwork = rti_clockwork_here(self->sched);
        rti_clockwork_arm(self->clockwork, &self->timer, next_ns);
        rti_sched_attend(self->sched);
    }
}

/* The end of a step that has nothing to do, or that somebody is about to wake. */
static void host_park(struct rti_loop_runnable *self)
{
    if (!rti_runnable_to_parked(&self->runnable)) {
        rti_crew_queue(rti_sched_crew(self->sched), &self->runnable);
    }
}

static void host_step_shared(struct rti_runnable *runnable, struct rti_worker *worker)
{
    struct rti_loop_runnable *self = RTI_CONTAINER_OF(runnable, struct rti_loop_runnable, runnable);
    struct rti_loop *loop = self->loop;
    RT_ASSERT(worker->sched == self->sched);
    rti_posted_hear(&self->is_posted);
    if (!rti_loop_is_group_made(loop)) {
        RT_SOMETIMES(true, "hosted_loop_waits_for_its_group");
        host_park(self);
        return;
    }
    loop->journal = rti_sched_journal(self->sched);
    host_take_answers(self);
    rti_loop_work(loop);
    bool is_over = rti_loop_is_over(loop);
    if (is_over) {
        host_disarm(self);
    } else {
        host_arm(self);
        if (rti_loop_is_idle(loop)) {
            host_park(self);
            return;
        }
    }
    if (!rti_posted_ask(&self->is_posted)) {
        RT_SOMETIMES(is_over, "hosted_loop_is_woken_at_its_end");
        host_park(self);
    } else if (is_over) {
        RT_ASSERT(rti_list_is_empty(&self->answers));
        rti_sched_end(self->sched, runnable);
    } else {
        rti_runnable_to(runnable, RTI_RUNNABLE_RUNNING, RTI_RUNNABLE_READY);
        rti_crew_queue(rti_sched_crew(self->sched), runnable);
    }
}

static void host_write(struct rti_loop *loop, const struct rti_journal_event *event)
{
    rti_sched_write(host_of(loop)->sched, event);
}

static void host_share(struct rti_loop_runnable *self)
{
    struct rti_loop *loop = self->loop;
    rti_lock_init(&self->lock, self->sched, RTI_LOCK_IO);
    rti_list_init(&self->answers);
    rti_timer_init(&self->timer, host_timer_fired);
    self->armed_ns = RTI_TIME_NEVER;
    /* It is about to be ready. */
    rti_u32_init(&self->is_posted, 1);
    self->runnable.step = host_step_shared;
    /* What comes in comes in a step, which sees it. */
    loop->rouse = NULL;
    loop->rouse_remote = host_rouse_shared;
    loop->bring = host_bring;
    loop->write = host_write;
    loop->wheel = &loop->own_wheel;
}

#endif

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
    loop->journal = rti_sched_journal(sched);
    rti_runnable_init(&self->runnable, id, priority, host_step);
#if !RTI_ONE_WORKER
    if (!rti_sched_is_local(sched)) {
        host_share(self);
        rti_sched_start(sched, &self->runnable);
        return;
    }
#endif
    loop->wheel = rti_sched_wheel(sched);
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
    rt_loop_config hosted = *config;
    hosted.port = sched->port;
    rt_status status = rti_loop_make(loop, &hosted);
    if (!RT_FAILED(status)) {
        struct rti_loop *inside = rti_loop_of(loop);
        rti_loop_host((struct rti_loop_runnable *)inside->host_storage, loop, sched,
                      HOST_ID_FIRST + inside->thread_id, (uint8_t)priority);
        rti_loop_made(inside);
    }
    return status;
}
