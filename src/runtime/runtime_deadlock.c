/* SPDX-License-Identifier: Apache-2.0 */
/* The essay is in runtime_deadlock.h. */
#define RTI_MODULE "runtime_deadlock"
#include "runtime/runtime_deadlock.h"
#include "observe/deadlock.h"
#include "sync/channels.h"
#include "sync/signals.h"

static struct {
    struct rti_deadlock deadlock;
    struct rti_clockwork *clockwork; /* that `timer` is armed at; NULL: nobody looks */
    struct rti_timer timer;
    struct rti_post post; /* queued by the timer: what it does is too long for a callback */
    rti_atomic_u32 is_posted;
    rt_time after; /* RT_TIME_NEVER: a post that is still queued has nothing to do */
    rti_peek peek;
} watch;

static void watch_disarm(void)
{
    if (watch.clockwork != NULL) {
        (void)rti_clockwork_disarm(watch.clockwork, &watch.timer);
        watch.clockwork = NULL;
    }
}

static void watch_arm(void)
{
    struct rti_sched *sched = &rti_runtime.sched;
    watch.clockwork = rti_clockwork_here(sched);
    rti_clockwork_arm(watch.clockwork, &watch.timer, rti_deadline_after(sched, watch.after));
}

/* Somebody outside may bring a value: a thread that did before, or the system by a signal. */
static bool watch_is_open(struct rti_sched *sched)
{
    struct rti_signals *signals = sched->modules[RTI_MODULE_SIGNAL];
    return rti_channels_were_visited(sched->modules[RTI_MODULE_CHANNEL]) ||
           (signals != NULL && rti_signals_are_awaited(signals));
}

static void watch_look(struct rti_post *post)
{
    (void)post;
    struct rti_sched *sched = &rti_runtime.sched;
    /* Release pairs with the exchange in watch_fire: from here on the post may be queued again. */
    rti_u32_store_release(&watch.is_posted, 0);
    if (watch.after == RT_TIME_NEVER) {
        return;
    }
    /* If it was queued in a run before, somebody may have asked anew since. */
    watch_disarm();
    const struct rti_deadlock_options options = {
        .peek = rti_sched_is_local(sched) ? NULL : watch.peek,
        .span_ns = watch.after,
        .is_open = watch_is_open(sched),
    };
    (void)rti_deadlock_tell(&watch.deadlock, sched, &options);
    watch_arm();
}

static void watch_fire(struct rti_timer *timer)
{
    (void)timer;
    /* Acquire pairs with the release in watch_look. */
    if (rti_u32_exchange_acqrel(&watch.is_posted, 1) == 0) {
        rti_sched_post(&rti_runtime.sched, &watch.post);
    }
}

static void idle_look(struct rti_sched *sched)
{
    (void)rti_deadlock_tell(&watch.deadlock, sched, &(struct rti_deadlock_options){.peek = NULL});
}

void rti_runtime_tell_deadlocks_at_idle(void)
{
    rti_deadlock_forget(&watch.deadlock);
    rti_runtime.sched.on_idle = idle_look;
}

void rti_runtime_watch_deadlocks(rt_time after, rti_peek peek)
{
    watch_disarm();
    rti_runtime.sched.on_idle = NULL;
    rti_deadlock_forget(&watch.deadlock);
    watch.after = after;
    watch.peek = peek;
    watch.post.call = watch_look;
    if (after != RT_TIME_NEVER) {
        rti_timer_init(&watch.timer, watch_fire);
        watch_arm();
    }
}

void rti_runtime_forget_deadlocks(void)
{
    rti_runtime.sched.on_idle = NULL;
    watch_disarm();
    /* The last runs of this runtime may still call the post; the next runtime queues it anew. */
    watch.after = RT_TIME_NEVER;
    rti_u32_store_relaxed(&watch.is_posted, 0);
}
