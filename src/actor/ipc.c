/* SPDX-License-Identifier: Apache-2.0 */
/* Sending and receiving.
 *
 * Every function checks first and then commits: from the first block taken on nothing can fail. The
 * clock is read only for a receive with a positive timeout that finds nothing.
 *
 * A SYNC sender waits with a waiter whose source is the entry it sent. Release, the receiver's next
 * receive and the receiver's death end that wait through the entry; the sender's death takes the
 * waiter away from the entry and leaves the message as it is.
 *
 * When a message and a deadline come between two turns of the receiver, whichever claimed the wait,
 * the message is delivered: a completion wins over a timeout.
 *
 * Most messages are small, plain, from one actor to another, and find room. rt_ipc_send and
 * rt_ipc_recv are that case and no other, written so that they make no call and need no frame;
 * whatever differs goes, before anything has changed, to the function that knows all cases and asks
 * all questions anew. */
#define RTI_MODULE "ipc"
#include <orrery/rt/ipc.h>

#include "actor/actor_cycle.h"
#include "actor/actors.h"
#include "actor/behaviour.h"
#include "actor/ipc.h"
#include "base/marks.h"
#include "sched/fiber_park.h"
#include "sched/parking.h"
#include "time/deadline.h"

/* Gives a message to an actor whose endless receive was claimed for it. */
static RTI_ALWAYSINLINE void ipc_hand_over(struct rti_worker *worker, struct rti_actor *receiver,
                                           struct rti_entry *entry)
{
    RT_DCHECK(receiver->held == NULL);
    receiver->held = entry;
    receiver->messages_received++;
    RTI_PROBE2(receive, receiver->id, entry->sender);
    rti_fiber_wake_straight(worker, &receiver->fiber, RTI_NOTE_HAND, true);
}

/* The rest of a quick send to an actor that waits for mail in another way than for ever. */
static RTI_NOINLINE rt_status ipc_wake_reader(struct rti_mailbox *mailbox)
{
    rti_mailbox_wake_reader(mailbox);
    return RT_SUCCESS;
}

/* Is nothing to be told or locked when a message goes straight to a reader? */
static inline bool ipc_may_hand_over(const struct rti_worker *worker,
                                     const struct rti_actor *receiver)
{
    return RT_QUICK_IPC && rti_sched_is_local(worker->sched) && !rti_sched_is_told(worker->sched) &&
           rti_actor_limit(receiver) == NULL;
}

/* Where flash is scarce the last step of every send that may hand over is there once: ipc_give. In
 * two parts, so that the first, which hands over, needs no frame. Elsewhere it is part of who
 * sends, where the compiler makes less of it as a function of its own.
 *
 * The second: into the mailbox of one who does not wait, or not for ever. */
static RTI_NOINLINE rt_status ipc_append(struct rti_mailbox *mailbox, struct rti_entry *entry)
{
    rti_mailbox_append(mailbox, entry);
    if (RTI_UNLIKELY(mailbox->reader != NULL)) {
        return ipc_wake_reader(mailbox);
    }
    return RT_SUCCESS;
}

/* Gives a message to an actor that may be handed one: into its hand, or its mailbox. */
static RTI_NOINLINE rt_status ipc_give(struct rti_actor *receiver, struct rti_entry *entry,
                                       struct rti_worker *worker)
{
    struct rti_mailbox *mailbox = &receiver->mailbox;
    if (rti_mailbox_claim_reader(mailbox)) {
        ipc_hand_over(worker, receiver, entry);
        return RT_SUCCESS;
    }
    rti_worker_note(worker, RTI_NOTE_SEND, 0, receiver->id);
    return ipc_append(mailbox, entry);
}

void rti_ipc_deliver(struct rti_worker *worker, struct rti_actor *receiver, struct rti_entry *entry)
{
    struct rti_actor *sender = rti_actor_of(worker);
    actor_id id = ACTOR_ID_INVALID;
    if (RTI_LIKELY(sender != NULL)) {
        id = sender->id;
        sender->messages_sent++;
    }
    entry->sender = id;
    RTI_PROBE2(send, id, receiver->id);
    rti_ipc_record(worker->sched, RTI_JOURNAL_SEND, id, receiver->id);
    rti_ipc_attach_trace(worker, &receiver->actors->ipc, entry);
    bool may_hand_over = ipc_may_hand_over(worker, receiver);
    if (RTI_ONE_WORKER && may_hand_over) {
        (void)ipc_give(receiver, entry, worker);
    } else if (may_hand_over && rti_mailbox_claim_reader(&receiver->mailbox)) {
        ipc_hand_over(worker, receiver, entry);
    } else {
        rti_worker_note(worker, RTI_NOTE_SEND, 0, receiver->id);
        rti_mailbox_push(&receiver->mailbox, entry);
    }
}

/* The part of a SYNC send that waits until the message, already delivered, is released or lost. It
 * gives the lock back. */
static rt_status ipc_await_release(void *on, void *to, uintptr_t message)
{
    struct rti_worker *worker = on;
    struct rti_actor *sender = rti_actor_of(worker);
    struct rti_entry *entry = (struct rti_entry *)message;
    struct rti_wait wait;
    struct rti_sync_wait sync;
    sync.entry = entry;
    sync.result = RT_OK;
    rti_fiber_wait_begin(worker, &wait);
    wait.reason = RTI_REASON_SEND;
    rti_wait_add(&wait, &sync.waiter, RTI_EVENT_SOURCE, rti_actors_unlink_sync);
    entry->waiting = &sync;
    rti_actor_wait_for(sender, to);
    rti_actors_unlock(sender->actors);
    /* Who ended the wait has taken its only waiter from the message. */
    (void)rti_fiber_park_open(worker, &wait);
    rti_actor_wait_ended(sender);
    if (sync.result != RT_OK) {
        return (rt_status){sync.result,
                           RTI_SENTENCE("the receiver ended before it released the message")};
    }
    return RT_SUCCESS;
}

/* The checks of a SYNC send, and its message; NULL with the reason if it cannot be. */
static struct rti_entry *ipc_make_sync(struct rti_worker *worker, struct rti_actor *receiver,
                                       const void *data, size_t len, rt_status *why)
{
    struct rti_actor *sender = rti_actor_of(worker);
    if (sender == NULL) {
        *why = rti_actor_refusal(worker);
        return NULL;
    }
    if (sender == receiver) {
        *why = (rt_status){RT_ERR_INVALID,
                           RTI_SENTENCE("an actor that waits for itself waits for ever")};
        return NULL;
    }
    struct rti_entry *entry = rti_ipc_pools_make_sync(&receiver->actors->ipc, data, len);
    if (entry == NULL) {
        *why = (rt_status){RT_ERR_NOMEM, RTI_SENTENCE("no mailbox entry or sync buffer is left")};
    }
    return entry;
}

/* Under the lock, which it gives back. */
static rt_status ipc_send_async(struct rti_worker *worker, struct rti_actor *receiver,
                                const void *data, size_t len)
{
    struct rti_entry *entry = rti_ipc_pools_make(&receiver->actors->ipc, data, len);
    if (entry == NULL) {
        rti_actors_unlock(receiver->actors);
        return (rt_status){RT_ERR_NOMEM, RTI_SENTENCE("no mailbox entry or message block is left")};
    }
    entry->sender = rti_sender_id(worker);
    return rti_ipc_deliver_limited(worker, receiver, entry);
}

/* To an id that is no actor's with a stack. */
static rt_status ipc_send_elsewhere(struct rti_worker *worker, actor_id to, const void *data,
                                    size_t len, rt_ipc_mode mode)
{
    if (mode == IPC_ASYNC && rti_is_behaviour_id(to) && rti_behaviours_of(worker) != NULL) {
        return rti_behaviour_send(worker, to, RT_BEHAVIOUR_PLAIN, data, len);
    }
    return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("no living actor has this id")};
}

/* What is wrong with a message to this receiver; RT_OK if nothing is. */
static rt_status ipc_check(const struct rti_actor *receiver, const void *data, size_t len,
                           rt_ipc_mode mode)
{
    if (receiver == NULL) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("no living actor has this id")};
    }
    if (data == NULL && len > 0) {
        return (rt_status){RT_ERR_INVALID,
                           RTI_SENTENCE("the payload is NULL and its length is not 0")};
    }
    if (len > RT_MAX_MESSAGE_SIZE) {
        return (rt_status){RT_ERR_INVALID,
                           RTI_SENTENCE("the payload is longer than RT_MAX_MESSAGE_SIZE")};
    }
    if (mode != IPC_ASYNC && mode != IPC_SYNC) {
        return (rt_status){RT_ERR_INVALID,
                           RTI_SENTENCE("the mode is neither IPC_ASYNC nor IPC_SYNC")};
    }
    return RT_SUCCESS;
}

/* A send of any kind. */
static RTI_NOINLINE rt_status ipc_send(actor_id to, const void *data, size_t len, rt_ipc_mode mode)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_actors *actors = rti_actors_of(worker);
    if (actors == NULL) {
        return rti_actor_refusal(worker);
    }
    if (rti_is_behaviour_id(to)) {
        return ipc_send_elsewhere(worker, to, data, len, mode);
    }
    rti_actors_lock(actors);
    struct rti_actor *receiver = rti_actors_lookup(actors, to);
    rt_status status = ipc_check(receiver, data, len, mode);
    if (!RT_FAILED(status) && mode == IPC_ASYNC) {
        return ipc_send_async(worker, receiver, data, len);
    }
    struct rti_entry *entry =
        RT_FAILED(status) ? NULL : ipc_make_sync(worker, receiver, data, len, &status);
    if (entry == NULL) {
        rti_actors_unlock(actors);
        return status;
    }
    rti_ipc_deliver(worker, receiver, entry);
    return rti_call_parking(worker, receiver, (uintptr_t)entry, ipc_await_release);
}

/* The actor that calls, if what it does may be done in the quick way: there is one worker, it has
 * stack left, nobody keeps a journal and no trace context is about. NULL otherwise. */
static RTI_ALWAYSINLINE struct rti_actor *ipc_quick_self(struct rti_worker *worker)
{
    struct rti_fiber *fiber = RTI_LIKELY(worker != NULL) ? worker->fiber : NULL;
    if (RTI_UNLIKELY(!RT_QUICK_IPC || fiber == NULL ||
                     rti_arch_stack_pointer() < fiber->stack.limit || !rti_fiber_is_actor(fiber) ||
                     !rti_sched_is_local(worker->sched) || rti_sched_is_told(worker->sched))) {
        return NULL;
    }
    return RTI_CONTAINER_OF(fiber, struct rti_actor, fiber);
}

RTI_FLAT rt_status rt_ipc_send(actor_id to, const void *data, size_t len, rt_ipc_mode mode)
{
    struct rti_worker *worker = rti_worker_here();
    struct rti_actor *self = ipc_quick_self(worker);
    if (RTI_UNLIKELY(self == NULL || mode != IPC_ASYNC || len > RTI_SMALL_MAX || data == NULL)) {
        return ipc_send(to, data, len, mode);
    }
    struct rti_actor *receiver;
    if (RTI_UNLIKELY(!rti_actors_find(self->actors, to, &receiver) ||
                     rti_actor_limit(receiver) != NULL)) {
        return ipc_send(to, data, len, mode);
    }
    RTI_KEEP(receiver);
    struct rti_entry *entry = rti_ipc_pools_make_quick(&self->actors->ipc, data, len);
    if (RTI_UNLIKELY(entry == NULL)) {
        return ipc_send(to, data, len, mode);
    }
    entry->sender = self->id;
    self->messages_sent++;
    RTI_PROBE2(send, self->id, receiver->id);
    if (RTI_ONE_WORKER) {
        return ipc_give(receiver, entry, worker);
    }
    struct rti_mailbox *mailbox = &receiver->mailbox;
    if (rti_mailbox_claim_reader(mailbox)) {
        ipc_hand_over(worker, receiver, entry);
        return RT_SUCCESS;
    }
    rti_worker_note(worker, RTI_NOTE_SEND, 0, receiver->id);
    rti_mailbox_append(mailbox, entry);
    if (RTI_UNLIKELY(mailbox->reader != NULL)) {
        return ipc_wake_reader(mailbox);
    }
    return RT_SUCCESS;
}

static inline void ipc_show(const struct rti_entry *entry, rt_message *msg)
{
    *msg = (rt_message){.sender = entry->sender, .len = entry->len, .data = entry->data};
}

/* The mailbox of an actor with a limit has become emptier, or its owner waits for what is not in
 * it: those who are muted on it may go on. */
static RTI_NOINLINE void ipc_release_muted(struct rti_actor *self)
{
#if RT_HAS_BEHAVIOURS
    struct rti_behaviours *module = rti_behaviours_of(rti_worker_current());
    /* With several workers a muted one that ends leaves the list without our lock: the release
     * looks there under the list's own. */
    bool is_local = rti_sched_is_local(self->actors->sched);
    bool may_be_muted = is_local ? !rti_list_is_empty(&self->pressure.muted)
                                 : rti_actor_limit(self)->overflow == RT_OVERFLOW_MUTE;
    if (module != NULL && may_be_muted) {
        rti_pressure_release(module, &self->pressure);
    }
#else
    (void)self;
#endif
}

/* Takes an entry out of the queue and shows it to its receiver. */
static inline void ipc_take(struct rti_actor *self, struct rti_entry *entry, rt_message *msg)
{
    rti_mailbox_remove(&self->mailbox, entry);
    if (RTI_UNLIKELY(rti_actor_limit(self) != NULL) &&
        rti_mailbox_mail_count(&self->mailbox) <= rti_pressure_low(rti_actor_limit(self))) {
        ipc_release_muted(self);
    }
    self->messages_received++;
    ipc_show(entry, msg);
    RTI_PROBE2(receive, self->id, entry->sender);
    rti_worker_note_here(RTI_NOTE_RECV, 0, entry->sender);
    rti_ipc_record(self->actors->sched, RTI_JOURNAL_RECV, self->id, entry->sender);
    rti_ipc_adopt_trace(self, entry);
    if (entry->kind == RTI_ENTRY_TICK) {
        self->tick = *(const uint32_t *)entry->data;
        msg->data = &self->tick;
    } else if (RTI_LIKELY(entry->data != NULL)) {
        self->held = entry;
        return;
    }
    /* A notice of which nothing must be kept. */
    rti_ipc_pools_end(&self->actors->ipc, entry, RT_OK);
}

/* What was shown to the actor before goes now. */
static inline void ipc_begin_receive(struct rti_actor *self)
{
    struct rti_entry *held = self->held;
    if (held != NULL) {
        self->held = NULL;
        if (!RTI_ONE_WORKER && RTI_LIKELY(held->kind <= RTI_ENTRY_CALL)) {
            rti_ipc_pools_free(&self->actors->ipc, held);
        } else {
            rti_ipc_pools_end(&self->actors->ipc, held, RT_OK);
        }
    }
    if (RTI_UNLIKELY(rti_actor_reply(self) != NULL)) {
        rti_actor_drop_reply(self);
    }
}

/* Parks the actor until mail comes or the deadline passes. Under the lock, which it gives back. */
static uint32_t ipc_await_mail(struct rti_worker *worker, struct rti_actor *self,
                               uint64_t deadline_ns)
{
    struct rti_wait wait;
    struct rti_waiter waiter;
    struct rti_deadline deadline;
    rti_fiber_wait_begin(worker, &wait);
    wait.reason = RTI_REASON_MAIL;
    rti_wait_add(&wait, &waiter, RTI_EVENT_SOURCE, rti_actors_unwatch);
    rti_mailbox_watch(&self->mailbox, &waiter);
    rti_actors_unlock(self->actors);
    rti_deadline_add(&deadline, worker->sched, &wait, deadline_ns);
    return rti_fiber_park(worker, &wait);
}

static uint64_t ipc_deadline(struct rti_worker *worker, int32_t timeout_ms)
{
    if (timeout_ms < 0) {
        return RTI_TIME_NEVER;
    }
    return rti_deadline_after(worker->sched, (uint64_t)timeout_ms * RTI_NS_PER_MS);
}

static rt_status ipc_would_block(void)
{
    return (rt_status){RT_ERR_WOULDBLOCK, RTI_SENTENCE("no such message waits")};
}

static rt_status ipc_timed_out(void)
{
    return (rt_status){RT_ERR_TIMEOUT, RTI_SENTENCE("no such message came in time")};
}

#if RT_HAS_MONITORS
static rt_status ipc_end_doomed(struct rti_actor *self, rt_message *msg);
#else
/* Without supervisors nobody takes anything back. */
static inline rt_status ipc_end_doomed(const struct rti_actor *self, const rt_message *msg)
{
    (void)self, (void)msg;
    rti_panic(RTI_MODULE, __LINE__, "mail that woke an actor is gone");
}
#endif

/* The end of a receive that waited for ever, if what woke it is in the mailbox. */
static RTI_NOINLINE rt_status ipc_receive_woken(struct rti_actor *self, rt_message *msg)
{
    rti_actors_lock(self->actors);
    struct rti_entry *entry = rti_mailbox_peek(&self->mailbox);
    if (RTI_UNLIKELY(entry == NULL)) {
        return ipc_end_doomed(self, msg);
    }
    ipc_take(self, entry, msg);
    rti_actors_unlock(self->actors);
    return RT_SUCCESS;
}

/* The part of a receive that waits for ever. What woke it is in its hand, or in its mailbox. Under
 * the lock, which it gives back. */
static rt_status ipc_receive_later(void *actor, void *msg, uintptr_t on)
{
    struct rti_worker *worker = (struct rti_worker *)on;
    struct rti_actor *self = actor;
    struct rti_wait *wait = rti_mailbox_watch_for_ever(&self->mailbox);
    rti_actors_unlock(self->actors);
    (void)(RTI_ONE_WORKER ? rti_fiber_park_open(worker, wait) : rti_fiber_park_here(worker, wait));
    const struct rti_entry *held = self->held;
    if (RTI_LIKELY(held != NULL)) {
        ipc_show(held, msg);
        rti_parking_tell(self->fiber.run.id);
        return RT_SUCCESS;
    }
    return ipc_receive_woken(self, msg);
}

/* Where flash is scarce, and nobody records, every receive that waits for ever does it in the quick
 * way, which is there once. */
#if RTI_ONE_WORKER && !RT_TRACE
#define IPC_WAITS_STRAIGHT true
#define IPC_STRAIGHT       RTI_NOINLINE
#else
#define IPC_WAITS_STRAIGHT false
#define IPC_STRAIGHT
#endif

/* The same for a quick receive. */
static IPC_STRAIGHT rt_status ipc_receive_straight(void *actor, void *msg, uintptr_t on)
{
    struct rti_actor *self = actor;
    struct rti_wait *wait = rti_mailbox_watch_for_ever(&self->mailbox);
    rti_fiber_park_straight((struct rti_worker *)on, &self->fiber, wait);
    const struct rti_entry *held = self->held;
    if (RTI_UNLIKELY(held == NULL)) {
        return ipc_receive_woken(self, msg);
    }
    ipc_show(held, msg);
    rti_parking_tell(self->fiber.run.id);
    return RT_SUCCESS;
}

#if RT_HAS_MONITORS
/* What woke the actor is gone again: its supervisor has ended and taken its request back, and has
 * killed the actor, which ends where it waits next. Under the lock. */
static RTI_NOINLINE rt_status ipc_end_doomed(struct rti_actor *self, rt_message *msg)
{
    RT_ASSERT(self->reachable_id == ACTOR_ID_INVALID);
    return ipc_receive_later(self, msg, (uintptr_t)rti_worker_current());
}
#endif

/* The part of a receive that waits with a timeout. Under the lock, which it gives back. */
static rt_status ipc_receive_timed(void *actor, void *msg, uintptr_t timeout)
{
    struct rti_worker *worker = rti_worker_current();
    struct rti_actor *self = actor;
    uint32_t event = ipc_await_mail(worker, self, ipc_deadline(worker, (int32_t)timeout));
    rti_actors_lock(self->actors);
    struct rti_entry *entry = rti_mailbox_peek(&self->mailbox);
    RT_SOMETIMES(entry != NULL && event == RTI_EVENT_TIMEOUT, "ipc: a message beats its timeout");
    if (RTI_UNLIKELY(entry == NULL && event == RTI_EVENT_SOURCE)) {
        return ipc_end_doomed(self, msg);
    }
    if (entry != NULL) {
        ipc_take(self, entry, msg);
    }
    rti_actors_unlock(self->actors);
    return entry != NULL ? RT_SUCCESS : ipc_timed_out();
}

/* Has the actor sent and received so much that its turn is over? What it counts itself
 * (rt_reductions_add) is in `turn_mark`. */
static inline bool ipc_is_turn_over(const struct rti_actor *self)
{
    return self->messages_sent + self->messages_received - self->turn_mark >= RT_REDUCTIONS;
}

/* Ends the turn of an actor that has used up its reductions. */
static void ipc_end_turn(struct rti_worker *worker, struct rti_actor *self)
{
    RT_SOMETIMES(true, "ipc: a turn ends by its reductions");
    self->turn_mark = self->messages_sent + self->messages_received;
    rti_fiber_yield(worker);
}

/* A receive of any kind. */
static RTI_NOINLINE rt_status ipc_receive(rt_message *msg, int32_t timeout_ms)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_actor *self = worker == NULL ? NULL : rti_actor_of(worker);
    if (self == NULL) {
        return rti_actor_refusal(worker);
    }
    if (msg == NULL) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("there is no place for the message")};
    }
    rti_actors_lock(self->actors);
    ipc_begin_receive(self);
    struct rti_entry *entry = rti_mailbox_peek(&self->mailbox);
    /* Who waits lets the others run anyway. */
    if (RTI_UNLIKELY((entry != NULL || timeout_ms == 0) && ipc_is_turn_over(self))) {
        rti_actors_unlock(self->actors);
        ipc_end_turn(worker, self);
        worker = rti_worker_current();
        rti_actors_lock(self->actors);
        entry = rti_mailbox_peek(&self->mailbox);
    }
    if (entry == NULL && timeout_ms < 0) {
        return rti_call_parking(self, msg, (uintptr_t)worker,
                                IPC_WAITS_STRAIGHT ? ipc_receive_straight : ipc_receive_later);
    }
    if (entry == NULL && timeout_ms > 0) {
        return rti_call_parking(self, msg, (uintptr_t)timeout_ms, ipc_receive_timed);
    }
    if (entry != NULL) {
        ipc_take(self, entry, msg);
    }
    rti_actors_unlock(self->actors);
    return entry != NULL ? RT_SUCCESS : ipc_would_block();
}

RTI_FLAT rt_status rt_ipc_recv(rt_message *msg, int32_t timeout_ms)
{
    struct rti_worker *worker = rti_worker_here();
    struct rti_actor *self = ipc_quick_self(worker);
    if (RTI_UNLIKELY(self == NULL || msg == NULL || rti_actor_reply(self) != NULL ||
                     rti_actor_limit(self) != NULL)) {
        return ipc_receive(msg, timeout_ms);
    }
    /* Where flash is scarce what waits in the mailbox is taken in one way only. */
    if (RTI_ONE_WORKER && (!rti_mailbox_is_empty(&self->mailbox) || timeout_ms >= 0)) {
        return ipc_receive(msg, timeout_ms);
    }
    struct rti_entry *held = self->held;
    if (RTI_UNLIKELY(held != NULL && !rti_ipc_pools_is_plain(held))) {
        return ipc_receive(msg, timeout_ms);
    }
    if (RTI_ONE_WORKER || RTI_LIKELY(rti_mailbox_is_empty(&self->mailbox))) {
        if (!RTI_ONE_WORKER && RTI_UNLIKELY(timeout_ms >= 0)) {
            return ipc_receive(msg, timeout_ms);
        }
        self->held = NULL;
        if (RTI_LIKELY(held != NULL)) {
            rti_ipc_pools_free_small(&self->actors->ipc, held);
        }
        return rti_call_parking(self, msg, (uintptr_t)worker, ipc_receive_straight);
    }
    struct rti_entry *entry = rti_mailbox_peek(&self->mailbox);
    if (RTI_UNLIKELY(rti_entry_is_notice(entry) || ipc_is_turn_over(self))) {
        return ipc_receive(msg, timeout_ms);
    }
    self->held = entry;
    if (RTI_LIKELY(held != NULL)) {
        rti_ipc_pools_free_small(&self->actors->ipc, held);
    }
    rti_mailbox_remove(&self->mailbox, entry);
    self->messages_received++;
    RTI_PROBE2(receive, self->id, entry->sender);
    rti_worker_note(worker, RTI_NOTE_RECV, 0, entry->sender);
    ipc_show(entry, msg);
    return RT_SUCCESS;
}

/* The compiler may not make a jump of the call: the function would return to our caller. */
static RTI_OUTSIDE bool ipc_ask(const rt_ipc_filter *filter, const rt_message *shown)
{
    bool is_wanted = filter->match(shown, filter->arg);
    __asm__ volatile("" : "+r"(is_wanted));
    return is_wanted;
}

static bool ipc_passes(const rt_ipc_filter *filter, const struct rti_entry *entry)
{
    if (filter->sender != ACTOR_ID_INVALID && filter->sender != entry->sender) {
        return false;
    }
    if (filter->match == NULL) {
        return true;
    }
    rt_message shown = {.sender = entry->sender, .len = entry->len, .data = entry->data};
    return ipc_ask(filter, &shown);
}

/* The first entry behind the last one seen that passes; `seen` moves on. Only the owner of the
 * mailbox, which is here, takes anything out, and a sender that drops the oldest, who moves `seen`
 * back and does not while it is shown. Under the lock, but for the filter. */
static struct rti_entry *ipc_search(struct rti_actor *self, const rt_ipc_filter *filter)
{
    struct rti_mailbox *mailbox = &self->mailbox;
    struct rti_entry *at;
    while ((at = rti_mailbox_next(mailbox, mailbox->seen)) != NULL) {
        mailbox->seen = at;
        mailbox->is_shown = true;
        rti_actors_unlock(self->actors);
        bool is_wanted = ipc_passes(filter, at);
        rti_actors_lock(self->actors);
        mailbox->is_shown = false;
        if (is_wanted) {
            return at;
        }
    }
    return NULL;
}

static rt_status ipc_receive_match(struct rti_worker *worker, struct rti_actor *self,
                                   const rt_ipc_filter *filter, rt_message *msg, int32_t timeout_ms)
{
    self->mailbox.seen = NULL;
    struct rti_entry *entry = ipc_search(self, filter);
    if (entry == NULL && timeout_ms == 0) {
        return ipc_would_block();
    }
    uint64_t deadline_ns = entry != NULL ? RTI_TIME_NEVER : ipc_deadline(worker, timeout_ms);
    while (entry == NULL) {
        if (RTI_UNLIKELY(rti_actor_limit(self) != NULL)) {
            ipc_release_muted(self);
        }
        uint32_t event = ipc_await_mail(rti_worker_current(), self, deadline_ns);
        rti_actors_lock(self->actors);
        entry = ipc_search(self, filter);
        if (entry == NULL && event == RTI_EVENT_TIMEOUT) {
            return ipc_timed_out();
        }
    }
    ipc_take(self, entry, msg);
    return RT_SUCCESS;
}

rt_status rt_ipc_recv_match(const rt_ipc_filter *filter, rt_message *msg, int32_t timeout_ms)
{
    static const rt_ipc_filter everything = {.sender = ACTOR_ID_INVALID};
    struct rti_worker *worker = rti_worker_enter();
    struct rti_actor *self = worker == NULL ? NULL : rti_actor_of(worker);
    if (self == NULL) {
        return rti_actor_refusal(worker);
    }
    if (msg == NULL) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("there is no place for the message")};
    }
    if (RTI_UNLIKELY(ipc_is_turn_over(self))) {
        ipc_end_turn(worker, self);
        worker = rti_worker_current();
    }
    rti_actors_lock(self->actors);
    ipc_begin_receive(self);
    rt_status status =
        ipc_receive_match(worker, self, filter != NULL ? filter : &everything, msg, timeout_ms);
    rti_actors_unlock(self->actors);
    return status;
}

struct rti_entry *rti_ipc_held(struct rti_actor *self, const rt_message *msg)
{
    struct rti_entry *held = self->held;
    if (msg == NULL || held == NULL || held->data != msg->data || held->sender != msg->sender ||
        held->len != msg->len) {
        return NULL;
    }
    return held;
}

void rt_ipc_release(const rt_message *msg)
{
    struct rti_actor *self = rti_actor_current();
    struct rti_entry *held = self == NULL ? NULL : rti_ipc_held(self, msg);
    if (held != NULL && held->kind == RTI_ENTRY_SYNC) {
        rti_actors_lock(self->actors);
        rti_actor_drop_held(self, RT_OK);
        rti_actors_unlock(self->actors);
    }
}

static RTI_ENTERING size_t ipc_count(void)
{
    struct rti_actor *self = rti_actor_current();
    if (self == NULL) {
        return 0;
    }
    rti_actors_lock(self->actors);
    size_t count = self->mailbox.count;
    rti_actors_unlock(self->actors);
    return count;
}

bool rt_ipc_pending(void)
{
    return ipc_count() > 0;
}

size_t rt_ipc_count(void)
{
    return ipc_count();
}

uint32_t rt_behaviour_id(const rt_message *msg)
{
    struct rti_actor *self = rti_actor_current();
    const struct rti_entry *held = self == NULL ? NULL : rti_ipc_held(self, msg);
    bool has_id = held != NULL && (held->kind == RTI_ENTRY_TYPED || held->kind == RTI_ENTRY_BLOB);
    return has_id ? held->call_serial : RT_BEHAVIOUR_PLAIN;
}
