/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "call"
#include "actor/call.h"

#include "actor/actor_cycle.h"
#include "actor/actors.h"
#include "actor/ipc.h"
#include "base/marks.h"
#include "time/deadline.h"

#if RT_HAS_CALLS

static struct rti_call_wait *call_wait_of(struct rti_waiter *waiter)
{
    return RTI_CONTAINER_OF(waiter, struct rti_call_wait, waiter);
}

/* From here on no answer finds the call. */
static void call_unlink(struct rti_waiter *waiter)
{
    struct rti_actors *actors = rti_actors_of_waiter(waiter);
    rti_actors_lock(actors);
    call_wait_of(waiter)->caller->call = NULL;
    rti_waitlist_unlink(waiter);
    rti_actors_unlock(actors);
}

/* Claims a call's wait; false if a deadline or a kill was first. */
static bool call_claim(struct rti_call_wait *call, rt_status_code result)
{
    call->caller->call = NULL;
    if (!rti_wait_claim(call->waiter.wait, call->waiter.event)) {
        return false;
    }
    call->result = result;
    return true;
}

void rti_calls_close(struct rti_actor *dead)
{
    struct rti_waiter *waiter;
    while ((waiter = rti_waitlist_claim(&dead->callers)) != NULL) {
        struct rti_call_wait *call = call_wait_of(waiter);
        call->caller->call = NULL;
        call->result = RT_ERR_CLOSED;
        rti_waiter_wake(waiter);
    }
}

/* Parks the caller until the answer, the other's end or the deadline. `word` receives an answer of
 * one word; NULL: it is a message. Under the lock, which it gives back. */
static rt_status_code call_await(struct rti_worker *worker, struct rti_actor *self,
                                 struct rti_actor *target, uint64_t *word, int32_t timeout_ms)
{
    struct rti_wait wait;
    struct rti_call_wait call = {
        .caller = self, .result = RT_ERR_TIMEOUT, .is_for_word = word != NULL};
    struct rti_deadline deadline;
    rti_fiber_wait_begin(worker, &wait);
    wait.reason = RTI_REASON_CALL;
    rti_wait_add(&wait, &call.waiter, RTI_EVENT_SOURCE, call_unlink);
    rti_actor_note_attached(target);
    rti_waitlist_add(&target->callers, &call.waiter);
    self->call = &call;
    rti_actor_wait_for(self, target);
    rti_actors_unlock(self->actors);
    if (timeout_ms > 0) {
        uint64_t timeout_ns = (uint64_t)timeout_ms * RTI_NS_PER_MS;
        rti_deadline_add(&deadline, worker->sched, &wait,
                         rti_deadline_after(worker->sched, timeout_ns));
    }
    (void)rti_fiber_park(worker, &wait);
    rti_actor_wait_ended(self);
    if (word != NULL && call.result == RT_OK) {
        *word = call.word;
    }
    return call.result;
}

static rt_status call_check(struct rti_actor *self, struct rti_actor *target, const void *data,
                            size_t len)
{
    if (target == NULL || target == self) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("a call needs another actor that lives")};
    }
    if (len > RT_MAX_MESSAGE_SIZE || (data == NULL && len > 0)) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("the payload is NULL or too long")};
    }
    return RT_SUCCESS;
}

/* Under the lock, which it gives back. */
static rt_status call_make(struct rti_worker *worker, struct rti_actor *self,
                           struct rti_actor *target, struct rti_entry *request, uint64_t *word,
                           int32_t timeout_ms)
{
    rti_actor_drop_reply(self);
    request->kind = RTI_ENTRY_CALL;
    request->call_serial = ++self->call_serial;
    rti_ipc_deliver(worker, target, request);
    rt_status_code code = RT_ERR_TIMEOUT;
    if (timeout_ms != 0) {
        code = call_await(worker, self, target, word, timeout_ms);
    } else {
        rti_actors_unlock(self->actors); /* an answer finds nobody who waits */
    }
    switch (code) {
    case RT_OK:
        RT_ASSERT((self->reply != NULL) == (word == NULL));
        return RT_SUCCESS;
    case RT_ERR_CLOSED:
        return (rt_status){code, RTI_SENTENCE("the actor that was asked has ended")};
    default:
        return (rt_status){code, RTI_SENTENCE("no answer came in time")};
    }
}

static rt_status call_no_memory(void)
{
    return (rt_status){RT_ERR_NOMEM, RTI_SENTENCE("no mailbox entry or message block is left")};
}

/* Where the answer goes: one of the two. */
struct answer {
    rt_message *message;
    uint64_t *word;
};

static rt_status call_ask(actor_id to, const void *data, size_t len, const struct answer *answer,
                          int32_t timeout_ms)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_actor *self = worker == NULL ? NULL : rti_actor_of(worker);
    if (self == NULL) {
        return rti_actor_refusal(worker);
    }
    rti_actors_lock(self->actors);
    struct rti_actor *target = rti_actors_lookup(self->actors, to);
    struct rti_entry *request = NULL;
    rt_status status = call_check(self, target, data, len);
    if (!RT_FAILED(status) && answer->message == NULL && answer->word == NULL) {
        status = (rt_status){RT_ERR_INVALID, RTI_SENTENCE("there is no place for the answer")};
    } else if (!RT_FAILED(status) && timeout_ms == 0 && answer->word == NULL) {
        status = (rt_status){RT_ERR_WOULDBLOCK, RTI_SENTENCE("an answer is never there at once")};
    } else if (!RT_FAILED(status)) {
        request = rti_ipc_pools_make(&self->actors->ipc, data, len);
        status = request != NULL ? RT_SUCCESS : call_no_memory();
    }
    if (RT_FAILED(status)) {
        rti_actors_unlock(self->actors);
        return status;
    }
    status = call_make(worker, self, target, request, answer->word, timeout_ms);
    if (!RT_FAILED(status) && answer->word == NULL) {
        const struct rti_entry *reply = self->reply;
        *answer->message =
            (rt_message){.sender = reply->sender, .len = reply->len, .data = reply->data};
        rti_ipc_record(self->actors->sched, RTI_JOURNAL_RECV, self->id, reply->sender);
    }
    return status;
}

rt_status rt_call(actor_id to, const void *data, size_t len, rt_message *reply, int32_t timeout_ms)
{
    return call_ask(to, data, len, &(struct answer){.message = reply}, timeout_ms);
}

rt_status rti_call_for_word(actor_id to, const void *data, size_t len, uint64_t *word,
                            int32_t timeout_ms)
{
    return call_ask(to, data, len, &(struct answer){.word = word}, timeout_ms);
}

rt_call_id rt_call_ref(const rt_message *msg)
{
    struct rti_actor *self = rti_actor_current();
    struct rti_entry *held = self == NULL ? NULL : rti_ipc_held(self, msg);
    if (held == NULL || held->kind != RTI_ENTRY_CALL) {
        return 0;
    }
    return (rt_call_id)held->sender << 32 | held->call_serial;
}

/* The call of this name that still waits; NULL if there is none. */
static struct rti_call_wait *call_find(struct rti_actors *actors, rt_call_id id)
{
    struct rti_actor *caller = rti_actors_lookup(actors, (actor_id)(id >> 32));
    if (caller == NULL || caller->call == NULL || caller->call_serial != (uint32_t)id) {
        return NULL;
    }
    return caller->call;
}

static rt_status call_gone(void)
{
    return (rt_status){RT_ERR_NOT_FOUND, RTI_SENTENCE("nobody waits for this answer any more")};
}

static rt_status call_answer(struct rti_worker *worker, struct rti_actors *actors, rt_call_id call,
                             const void *data, size_t len)
{
    struct rti_call_wait *wait = call_find(actors, call);
    if (wait == NULL || wait->is_for_word || rti_wait_event(wait->waiter.wait) != RTI_EVENT_NONE) {
        return call_gone();
    }
    struct rti_entry *answer = rti_ipc_pools_make(&actors->ipc, data, len);
    if (answer == NULL) {
        RT_SOMETIMES(true, "call: no room for the answer");
        return call_no_memory();
    }
    if (!call_claim(wait, RT_OK)) {
        /* With several workers: the deadline came in between. */
        RT_ASSERT(!rti_sched_is_local(actors->sched));
        rti_ipc_pools_free(&actors->ipc, answer);
        return call_gone();
    }
    struct rti_actor *self = rti_actor_of(worker);
    struct rti_actor *caller = wait->caller;
    answer->sender = self == NULL ? ACTOR_ID_INVALID : self->id;
    RT_ASSERT(caller->reply == NULL);
    caller->reply = answer;
    rti_worker_note(worker, RTI_NOTE_SEND, 0, caller->id);
    rti_ipc_record(worker->sched, RTI_JOURNAL_SEND, answer->sender, caller->id);
    rti_waiter_wake(&wait->waiter);
    return RT_SUCCESS;
}

bool rti_call_answer_word(rt_call_id call, uint64_t word)
{
    struct rti_worker *worker = rti_worker_current();
    struct rti_actors *actors = rti_actors_of(worker);
    rti_actors_lock(actors);
    struct rti_call_wait *wait = call_find(actors, call);
    bool is_for_word = wait == NULL || wait->is_for_word;
    if (wait != NULL && is_for_word) {
        wait->word = word; /* read only if this claims the wait */
        if (call_claim(wait, RT_OK)) {
            rti_worker_note(worker, RTI_NOTE_SEND, 0, wait->caller->id);
            rti_waiter_wake(&wait->waiter);
        }
    }
    rti_actors_unlock(actors);
    return is_for_word;
}

rt_status rt_reply_to(rt_call_id call, const void *data, size_t len)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_actors *actors = rti_actors_of(worker);
    if (actors == NULL) {
        return rti_actor_refusal(worker);
    }
    if (len > RT_MAX_MESSAGE_SIZE || (data == NULL && len > 0)) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("the payload is NULL or too long")};
    }
    rti_actors_lock(actors);
    rt_status status = call_answer(worker, actors, call, data, len);
    rti_actors_unlock(actors);
    return status;
}

rt_status rt_reply(const rt_message *msg, const void *data, size_t len)
{
    struct rti_worker *worker = rti_worker_enter();
    if (worker == NULL || rti_actor_of(worker) == NULL) {
        return rti_actor_refusal(worker);
    }
    rt_call_id call = rt_call_ref(msg);
    if (call == 0) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("this is not a call received last")};
    }
    return rt_reply_to(call, data, len);
}

bool rti_waiter_is_of_call(const struct rti_waiter *waiter)
{
    return waiter->unlink == call_unlink;
}

#endif
