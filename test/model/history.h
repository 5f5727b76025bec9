/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_HISTORY_H
#define MODEL_HISTORY_H

/* A history of calls on a channel and the question whether it is linearizable: whether there is an
 * order of all calls, in which a call that had returned before another was made comes first, and in
 * which each result is what a plain bounded queue would have given.
 *
 * Time is a count of the beginnings and ends of calls. It is ordinary memory, which only a search
 * of every schedule may look at: a model that records a history has a bound of preemptions, and
 * that turns the reduction off. A call begins with a step of its own, a load of a word that nobody
 * writes, so that it begins when its thread is chosen and not as soon as the last one has ended; it
 * ends right after its last step. So each recorded interval is as short as it can be.
 *
 * The search for an order is brute force: it places one of the earliest calls, goes on, and takes
 * it back. For at most HISTORY_MAX calls that is nothing beside the execution itself.
 *
 * At a rendezvous a send and a receive happen at one moment, as a pair; the queue has no places. */

#include <string.h>

#include "base/atomic.h"
#include "port/explore/explore.h"

#include <orrery/rt/status.h>

enum { HISTORY_MAX = 6 };

enum call_kind {
    CALL_SEND, /* waits or tries: the result says which was legal */
    CALL_RECV,
    CALL_RESERVE,
    CALL_COMMIT, /* of a permit, with the value */
    CALL_ABORT,
    CALL_CLOSE_SENDER,
    CALL_CLOSE_RECEIVER, /* what is queued is destroyed */
};

struct call {
    enum call_kind kind;
    uint64_t value; /* sent or received */
    rt_status_code result;
    unsigned began;
    unsigned ended; /* 0: it has not */
};

static struct {
    struct call calls[HISTORY_MAX];
    unsigned count;
    unsigned clock;
    rti_atomic_u32 moment; /* what a call begins with */
} history;

/* What a sequence of calls leaves behind. */
struct queue {
    uint64_t values[HISTORY_MAX];
    unsigned length;
    unsigned reserved;
    unsigned capacity; /* 0: rendezvous */
    bool is_sender_closed;
    bool is_receiver_closed;
};

static inline void history_start(void)
{
    memset(history.calls, 0, sizeof(history.calls));
    history.count = 0;
    history.clock = 0;
    rti_u32_init(&history.moment, 0);
    explore_name(&history.moment, "moment");
}

static inline struct call *history_begin(enum call_kind kind, uint64_t value)
{
    (void)rti_u32_load_relaxed(&history.moment);
    EXPLORE_ASSERT(history.count < HISTORY_MAX);
    struct call *call = &history.calls[history.count++];
    *call = (struct call){.kind = kind, .value = value, .began = ++history.clock};
    return call;
}

static inline void history_end(struct call *call, rt_status_code result)
{
    call->result = result;
    call->ended = ++history.clock;
}

static inline bool queue_push(struct queue *queue, uint64_t value)
{
    if (queue->length + queue->reserved >= queue->capacity) {
        return false;
    }
    queue->values[queue->length++] = value;
    return true;
}

static inline bool queue_pop(struct queue *queue, uint64_t value)
{
    if (queue->length == 0 || queue->values[0] != value) {
        return false;
    }
    queue->length--;
    memmove(queue->values, queue->values + 1, queue->length * sizeof(queue->values[0]));
    return true;
}

static inline bool queue_send(struct queue *queue, const struct call *call)
{
    switch (call->result) {
    case RT_OK:
        return !queue->is_receiver_closed && queue_push(queue, call->value);
    case RT_ERR_FULL:
        return !queue->is_receiver_closed && queue->length + queue->reserved == queue->capacity;
    case RT_ERR_DISCONNECTED:
        return queue->is_receiver_closed;
    default:
        return call->result == RT_ERR_CANCELLED;
    }
}

static inline bool queue_recv(struct queue *queue, const struct call *call)
{
    bool is_over = queue->is_sender_closed && queue->reserved == 0;
    switch (call->result) {
    case RT_OK:
        return queue_pop(queue, call->value);
    case RT_ERR_EMPTY:
        return queue->length == 0 && !is_over;
    case RT_ERR_DISCONNECTED:
        return queue->length == 0 && is_over;
    default:
        return call->result == RT_ERR_CANCELLED;
    }
}

/* Makes the call on the queue; false if a queue could not have answered so. */
static inline bool queue_take_call(struct queue *queue, const struct call *call)
{
    switch (call->kind) {
    case CALL_SEND:
        return queue_send(queue, call);
    case CALL_RECV:
        return queue_recv(queue, call);
    case CALL_RESERVE:
        if (call->result == RT_OK && queue->length + queue->reserved < queue->capacity) {
            queue->reserved++;
            return true;
        }
        return call->result == RT_ERR_FULL && queue->length + queue->reserved == queue->capacity;
    case CALL_COMMIT:
        queue->reserved--;
        return queue_push(queue, call->value);
    case CALL_ABORT:
        queue->reserved--;
        return true;
    case CALL_CLOSE_SENDER:
        queue->is_sender_closed = true;
        return true;
    default:
        queue->is_receiver_closed = true;
        queue->length = 0;
        return true;
    }
}

/* May the call be the next one: has no other that is left returned before it was made? */
static inline bool history_is_next(unsigned placed, unsigned i)
{
    for (unsigned k = 0; k < history.count; k++) {
        if ((placed & (1u << k)) == 0 && history.calls[k].ended < history.calls[i].began) {
            return false;
        }
    }
    return (placed & (1u << i)) == 0;
}

/* A send and a receive that meet. */
static inline bool history_is_meeting(unsigned i, unsigned k)
{
    const struct call *send = &history.calls[i];
    const struct call *recv = &history.calls[k];
    return send->kind == CALL_SEND && recv->kind == CALL_RECV && send->result == RT_OK &&
           recv->result == RT_OK && send->value == recv->value;
}

/* Is there an order for those that are not placed yet? */
static inline bool history_has_order(unsigned placed, const struct queue *queue)
{
    if (placed == (1u << history.count) - 1) {
        return true;
    }
    for (unsigned i = 0; i < history.count; i++) {
        if (!history_is_next(placed, i)) {
            continue;
        }
        struct queue after = *queue;
        if (queue_take_call(&after, &history.calls[i]) &&
            history_has_order(placed | 1u << i, &after)) {
            return true;
        }
        for (unsigned k = 0; queue->capacity == 0 && k < history.count; k++) {
            if (history_is_next(placed, k) && history_is_meeting(i, k) &&
                history_has_order(placed | 1u << i | 1u << k, queue)) {
                return true;
            }
        }
    }
    return false;
}

/* Checks the history of a channel that began empty. */
static inline void history_check(unsigned capacity)
{
    struct queue queue = {.capacity = capacity};
    for (unsigned i = 0; i < history.count; i++) {
        EXPLORE_ASSERT(history.calls[i].ended != 0);
    }
    bool is_linearizable = history_has_order(0, &queue);
    EXPLORE_ASSERT(is_linearizable);
}

#endif
