/* SPDX-License-Identifier: Apache-2.0 */
/* Interrupts that post; the manual is <orrery/rt/isr.h>.
 *
 * A source is a queue of one producer, the interrupt, and one consumer, the scheduler, and a post
 * that is on its way at most once. The producer pushes, then sends the post unless it is on its
 * way. The consumer first says that it is not, then takes what is there: an entry that is pushed
 * after that sends the post again.
 *
 * I1  An entry that was pushed is taken, or a post or the retry timer is on its way.
 *                                                           (isr_sweep_test)
 * I2  Entries become messages in the order of their posts.  (isr_test)
 *
 * Pairs: the exchange of `is_sent` by the producer with the one by the consumer, so that whoever
 * comes second sees what the first did before.
 *
 * Costs: a push, an exchange and, for the first of a batch, the push of the post.
 *
 * Rejected: a message made by the interrupt itself (the pools would need atomics on every send); a
 * table of sources that the scheduler walks (it would look in vain at each turn). */
#define RTI_MODULE "isr"
#include <orrery/rt/isr.h>
#include <orrery/rt/spsc.h>

#include "actor/actors.h"
#include "actor/ipc.h"
#include "base/marks.h"
#include "time/deadline.h"

/* How long entries wait before they are tried again when the message pool is used up. */
#define RETRY_NS RTI_NS_PER_MS

struct isr {
    struct rti_post post;
    struct rti_timer retry; /* armed while entries wait for a message */
    rt_spsc_queue queue;
    struct rti_sched *sched;
    rti_atomic_u32 is_sent; /* the post is on its way */
    actor_id to;
};

_Static_assert(sizeof(struct isr) <= sizeof(rt_isr), "a source fits its storage");
_Static_assert(_Alignof(struct isr) <= _Alignof(rt_isr), "a source is aligned");

static struct isr *isr_of(rt_isr *isr)
{
    return (struct isr *)(void *)isr;
}

/* Makes a message of the oldest entry. False if there is none, or no memory for it now. */
static bool isr_deliver_one(struct isr *isr, struct rti_actors *actors)
{
    unsigned char bytes[RT_MAX_MESSAGE_SIZE];
    if (!rt_spsc_peek(&isr->queue, bytes)) {
        return false;
    }
    struct rti_actor *receiver = rti_actors_lookup(actors, isr->to);
    struct rti_entry *entry = NULL;
    if (receiver != NULL) {
        entry = rti_ipc_pools_make(&actors->ipc, bytes, isr->queue.entry_size);
        if (entry == NULL) {
            RT_SOMETIMES(true, "isr_entries_wait_for_the_pool");
            if (!rti_timer_is_armed(&isr->retry)) {
                rti_wheel_arm(rti_sched_wheel(isr->sched), &isr->retry,
                              rti_deadline_after(isr->sched, RETRY_NS));
            }
            return false;
        }
    }
    (void)rt_spsc_pop(&isr->queue, bytes);
    if (entry != NULL) {
        rti_ipc_deliver(rti_worker_current(), receiver, entry);
    }
    return true;
}

static void isr_send(struct isr *isr)
{
    /* Pairs with the exchange in isr_deliver. */
    if (rti_u32_exchange_acqrel(&isr->is_sent, 1) == 0) {
        rti_sched_post(isr->sched, &isr->post);
    }
}

static void isr_deliver(struct rti_post *post)
{
    struct isr *isr = RTI_CONTAINER_OF(post, struct isr, post);
    struct rti_actors *actors = isr->sched->modules[RTI_MODULE_ACTOR];
    /* Before the queue is looked at: what is pushed from here on sends the post again. Pairs with
     * the exchange in isr_send. */
    (void)rti_u32_exchange_acqrel(&isr->is_sent, 0);
    size_t count = 0;
    rti_actors_lock(actors);
    while (isr_deliver_one(isr, actors)) {
        if (++count == isr->queue.capacity) {
            /* An interrupt that never stops shall not keep the actors from running. */
            isr_send(isr);
            break;
        }
    }
    rti_actors_unlock(actors);
}

static void isr_retry(struct rti_timer *timer)
{
    struct isr *isr = RTI_CONTAINER_OF(timer, struct isr, retry);
    isr_send(isr);
}

rt_status rt_isr_open(rt_isr *isr, actor_id to, void *buffer, size_t entry_size, size_t capacity)
{
    struct rti_worker *worker = rti_worker_enter();
    if (isr == NULL || entry_size > RT_MAX_MESSAGE_SIZE) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("isr is NULL or an entry is no message")};
    }
    if (worker == NULL) {
        return (rt_status){RT_ERR_THREAD, RTI_SENTENCE("this thread has no runtime")};
    }
    struct isr made = {.sched = worker->sched, .to = to, .post.call = isr_deliver};
    rt_status status = rt_spsc_init(&made.queue, buffer, entry_size, capacity);
    if (RT_FAILED(status)) {
        return status;
    }
    *isr_of(isr) = made;
    rti_timer_init(&isr_of(isr)->retry, isr_retry);
    return RT_SUCCESS;
}

void rt_isr_set_receiver(rt_isr *isr, actor_id to)
{
    struct rti_worker *worker = rti_worker_enter();
    RT_ASSERT(isr != NULL && worker != NULL && worker->sched == isr_of(isr)->sched);
    isr_of(isr)->to = to;
}

bool rt_isr_post(rt_isr *isr, const void *entry)
{
    if (!rt_spsc_push(&isr_of(isr)->queue, entry)) {
        return false;
    }
    isr_send(isr_of(isr));
    return true;
}
