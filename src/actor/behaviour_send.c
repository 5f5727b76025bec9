/* SPDX-License-Identifier: Apache-2.0 */
/* Sending to actors of either kind, and what backpressure makes of it. The essays are in
 * behaviour.h and pressure.h. */
#define RTI_MODULE "behaviour_send"
#include <string.h>

#include <orrery/rt/ipc.h>

#include "actor/behaviour.h"
#include "actor/ipc.h"
#include "base/marks.h"
#include "sched/crew_start.h"
#include "sched/fiber.h"
#include "sched/solo.h"

actor_id rti_sender_id(const struct rti_worker *worker)
{
    const struct rti_turn *turn = rti_turn_of(worker);
    if (turn != NULL) {
        return turn->self->life_id;
    }
    const struct rti_fiber *fiber = worker->fiber;
    if (fiber == NULL || !fiber->run.is_actor) {
        return ACTOR_ID_INVALID;
    }
    return RTI_CONTAINER_OF(fiber, struct rti_actor, fiber)->id;
}

#if RT_HAS_BEHAVIOURS

static rt_status send_unknown(void)
{
    return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("no living actor has this id")};
}

static rt_status send_no_memory(void)
{
    return (rt_status){RT_ERR_NOMEM, RTI_SENTENCE("no message is left")};
}

/* Puts a letter into a mailbox with several workers; true if that was idle. By a worker that holds
 * a station, or a guest, `worker` being NULL. */
static inline bool send_put_letter(struct rti_behaviours *module, struct rti_behaviour *receiver,
                                   struct rti_letter *letter, struct rti_worker *worker)
{
    struct rti_letterbox *letters = rti_behaviour_letters(receiver);
    uintptr_t origin = rti_cells_origin(&module->cells);
    bool is_solo = worker != NULL && rti_solo_begin(worker);
    uint64_t word = rti_letterbox_look(letters);
    bool was_idle = is_solo ? rti_letterbox_push_solo(letters, origin, letter, word)
                            : rti_letterbox_push(letters, origin, letter, word);
    rti_solo_finish(worker, is_solo);
    return was_idle;
}

/* Puts a cell into a mailbox and makes its owner ready if it was idle. */
static inline void send_push(struct rti_behaviours *module, struct rti_behaviour *receiver,
                             struct rti_cell *cell)
{
    bool was_idle;
    if (rti_sched_is_local(module->sched)) {
        rti_gate_enter(&receiver->gate, rti_gate_look(&receiver->gate));
        was_idle = rti_mpsc_push_alone(&receiver->mailbox, &cell->node);
    } else {
        bool is_visiting = rti_solo_knock(module->sched);
        struct rti_worker *worker = is_visiting ? NULL : rti_worker_here();
        was_idle = send_put_letter(module, receiver, &cell->letter, worker);
        rti_solo_go(module->sched, is_visiting);
    }
    if (was_idle) {
        rti_behaviour_rouse(module, receiver);
    }
}

/* A muted actor with a stack: takes it out of the list if it still is in one. */
static void send_unlink_mute(struct rti_waiter *waiter)
{
    struct rti_actor *actor = waiter->slot;
    rti_pressure_unmute(rti_behaviours_of(rti_worker_current()), &actor->pressure);
    actor->mute_waiter = NULL;
}

/* Mutes the sender, if there is one that can be. An actor with a stack waits here. Under the lock
 * of the actors, which it gives back. */
static RTI_NOINLINE void send_mute(struct rti_worker *worker, struct rti_behaviours *module,
                                   struct rti_pressure *receiver)
{
    struct rti_turn *turn = rti_turn_of(worker);
    struct rti_actor *self = turn != NULL ? NULL : rti_actor_of(worker);
    if (turn != NULL) {
        /* Once in a turn: a release that has come meanwhile is a wake, and there is one for a park.
         */
        if (!turn->is_muted && rti_pressure_mute(module, &turn->self->pressure, receiver)) {
            turn->is_muted = true;
#if RTI_HAS_CELL_CACHES
            turn->muted_on = receiver->self;
#endif
            rti_turn_cut(turn);
        }
    }
    if (self == NULL) {
        rti_actors_unlock(module->actors);
        return;
    }
    struct rti_wait wait;
    struct rti_waiter waiter;
    rti_fiber_wait_begin(worker, &wait);
    rti_wait_add(&wait, &waiter, RTI_EVENT_SOURCE, send_unlink_mute);
    waiter.slot = self;
    self->mute_waiter = &waiter;
    bool is_muted = rti_pressure_mute(module, &self->pressure, receiver);
    rti_actors_unlock(module->actors);
    if (is_muted) {
        (void)rti_fiber_park(worker, &wait);
    } else {
        rti_wait_finish(&wait);
    }
}

/* Drops the oldest message of a mailbox for a new one. On one worker the receiver does not run, and
 * whoever does may take its place as the consumer. */
static void send_drop_oldest(struct rti_behaviours *module, struct rti_behaviour *receiver)
{
    if (!module->sched->is_local) {
        /* The consumer is at work, perhaps: it drops what is too old itself. */
        return;
    }
    struct rti_mpsc_node *node = rti_mpsc_pop_alone(&receiver->mailbox);
    if (node != NULL) {
        (void)rti_gate_leave(&receiver->gate, RTI_GATE_NEVER);
        rti_cell_free(&module->cells, RTI_CONTAINER_OF(node, struct rti_cell, node));
        (void)rti_u32_add_relaxed(&receiver->pressure.dropped, 1);
    }
}

/* What the sender of a message hears that is not delivered. */
static rt_status send_refuse(enum rti_admission admission, actor_id to)
{
    switch (admission) {
    case RTI_ADMIT_DROPPED:
        return RT_SUCCESS;
    case RTI_ADMIT_KILLED:
        (void)rt_actor_kill(to);
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("the receiver was killed for its mail")};
    default:
        return (rt_status){RT_ERR_FULL, RTI_SENTENCE("the receiver has too much mail")};
    }
}

static inline bool send_is_admitted(enum rti_admission admission)
{
    return admission <= RTI_ADMIT_FOR_OLD;
}

static struct rti_cell *send_make(struct rti_behaviours *module, const void *data, size_t len)
{
    struct rti_cell *cell = rti_cell_alloc(&module->cells, len);
    if (RTI_UNLIKELY(cell == NULL)) {
        return NULL;
    }
    cell->len |= (uint32_t)len;
    if (len > 0) {
        memcpy(cell->data, data, len);
    }
    return cell;
}

/* A message whose sender has a context: it lies behind the payload. */
static RTI_NOINLINE struct rti_cell *send_make_traced(struct rti_worker *worker,
                                                      struct rti_behaviours *module,
                                                      const void *data, size_t len)
{
    const struct rt_trace *trace = rti_trace_here(worker);
    if (!rti_trace_is_set(trace)) {
        return send_make(module, data, len);
    }
    struct rti_cell *cell = rti_cell_alloc(&module->cells, rti_cell_bytes(len, true));
    if (cell != NULL) {
        cell->len |= (uint32_t)len | RTI_CELL_TRACE;
        if (len > 0) {
            memcpy(cell->data, data, len);
        }
        *rti_cell_trace(cell) = *trace;
    }
    return cell;
}

static inline struct rti_cell *send_make_here(struct rti_worker *worker,
                                              struct rti_behaviours *module, const void *data,
                                              size_t len)
{
    return rti_traces_are_used(module->sched) ? send_make_traced(worker, module, data, len)
                                              : send_make(module, data, len);
}

static inline void send_deliver(struct rti_worker *worker, struct rti_behaviours *module,
                                struct rti_behaviour *receiver, struct rti_cell *cell)
{
    rti_worker_note(worker, RTI_NOTE_SEND, 0, cell->to);
    rti_ipc_record(worker->sched, RTI_JOURNAL_SEND, rti_cell_sender(cell), cell->to);
    send_push(module, receiver, cell);
}

static bool send_is_full(const struct rti_behaviours *module, struct rti_behaviour *receiver)
{
    if (rti_sched_is_local(module->sched)) {
        return rti_gate_is_full(&receiver->gate);
    }
    const struct rti_letterbox *letters = rti_behaviour_letters(receiver);
    return rti_letterbox_is_full_at(letters, rti_letterbox_look(letters));
}

/* A send to a behaviour with a limit. With several workers another life may have come meanwhile,
 * with another limit or none. */
static RTI_NOINLINE rt_status send_limited(struct rti_worker *worker, struct rti_behaviours *module,
                                           struct rti_behaviour *receiver,
                                           const rt_mailbox_config *limit, struct rti_cell *cell)
{
    enum rti_admission admission =
        rti_pressure_admit(&receiver->pressure, limit, send_is_full(module, receiver));
    if (!send_is_admitted(admission)) {
        actor_id to = cell->to;
        if (admission == RTI_ADMIT_DROPPED) {
            rti_cell_free(&module->cells, cell);
        }
        return send_refuse(admission, to);
    }
    if (admission == RTI_ADMIT_FOR_OLD) {
        send_drop_oldest(module, receiver);
    }
    send_deliver(worker, module, receiver, cell);
    if (admission == RTI_ADMIT_MUTED) {
        rti_actors_lock(module->actors);
        send_mute(worker, module, &receiver->pressure);
    }
    return RT_SUCCESS;
}

/* Sends a cell. If that fails it is the caller's still. */
static rt_status send_to_behaviour(struct rti_worker *worker, struct rti_behaviours *module,
                                   actor_id to, uint32_t id, struct rti_cell *cell)
{
    struct rti_behaviour *receiver = rti_behaviour_lookup(module, to);
    if (RTI_UNLIKELY(receiver == NULL)) {
        return send_unknown();
    }
    cell->to = to;
    cell->origin = rti_cell_origin(rti_cell_sender(cell), id);
    const rt_mailbox_config *limit = rti_pressure_limit(&receiver->pressure);
    if (RTI_UNLIKELY(limit != NULL && limit->high > 0)) {
        return send_limited(worker, module, receiver, limit, cell);
    }
    send_deliver(worker, module, receiver, cell);
    return RT_SUCCESS;
}

/* Sends a cell that was made for it, which ends if that fails. */
static rt_status send_made(struct rti_worker *worker, struct rti_behaviours *module, actor_id to,
                           uint32_t id, struct rti_cell *cell)
{
    rt_status status = send_to_behaviour(worker, module, to, id, cell);
    if (RTI_UNLIKELY(RT_FAILED(status))) {
        rti_cell_free(&module->cells, cell);
    }
    return status;
}

/* To an actor with a stack: an entry of its own pool that knows its id. If that fails the hold of a
 * blob is the caller's still. */
static rt_status send_to_actor(struct rti_worker *worker, const struct rti_cell *head,
                               const void *data)
{
    struct rti_actors *actors = rti_actors_of(worker);
    rti_actors_lock(actors);
    struct rti_actor *receiver = rti_actors_lookup(actors, head->to);
    struct rti_entry *entry =
        receiver == NULL ? NULL : rti_ipc_pools_make(&actors->ipc, data, rti_cell_len(head));
    if (entry == NULL) {
        rti_actors_unlock(actors);
        return receiver == NULL ? send_unknown() : send_no_memory();
    }
    entry->kind = (head->len & RTI_CELL_BLOB) != 0 ? RTI_ENTRY_BLOB : RTI_ENTRY_TYPED;
    entry->call_serial = rti_cell_id(head);
    entry->sender = rti_cell_sender(head);
    return rti_ipc_deliver_limited(worker, receiver, entry);
}

rt_status rti_behaviour_send(struct rti_worker *worker, actor_id to, uint32_t id, const void *data,
                             size_t len)
{
    struct rti_behaviours *module = rti_behaviours_of(worker);
    if (RTI_UNLIKELY(module == NULL)) {
        return rti_actor_refusal(worker);
    }
    if (RTI_UNLIKELY(len > RT_MAX_MESSAGE_SIZE || (data == NULL && len > 0))) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("the payload is NULL or too long")};
    }
    struct rti_turn *turn = rti_turn_of(worker);
    if (turn != NULL) {
        turn->reductions--;
    }
    actor_id sender = rti_sender_id(worker);
    if (RTI_UNLIKELY(!rti_is_behaviour_id(to))) {
        struct rti_cell head = {
            .to = to, .origin = rti_cell_origin(sender, id), .len = (uint32_t)len};
        return send_to_actor(worker, &head, data);
    }
    struct rti_cell *cell = send_make_here(worker, module, data, len);
    if (RTI_UNLIKELY(cell == NULL)) {
        return rti_behaviour_lookup(module, to) == NULL ? send_unknown() : send_no_memory();
    }
    cell->origin = rti_cell_origin(sender, id);
    return send_made(worker, module, to, id, cell);
}

rt_status rti_behaviour_send_blob(struct rti_worker *worker, actor_id to, uint32_t id,
                                  const rt_blob_token *token)
{
    struct rti_behaviours *module = rti_behaviours_of(worker);
    struct rti_turn *turn = rti_turn_of(worker);
    struct rti_cell head = {.to = to,
                            .origin = rti_cell_origin(rti_sender_id(worker), id),
                            .len = sizeof(*token) | RTI_CELL_BLOB};
    if (turn != NULL) {
        turn->reductions--;
    }
    if (!rti_is_behaviour_id(to)) {
        rt_status status = send_to_actor(worker, &head, token);
        if (RT_FAILED(status)) {
            rti_blob_discard(worker->sched, token);
        }
        return status;
    }
    struct rti_cell *cell = send_make_here(worker, module, token, sizeof(*token));
    if (cell == NULL) {
        rti_blob_discard(worker->sched, token);
        return send_no_memory();
    }
    cell->len |= RTI_CELL_BLOB;
    cell->origin = head.origin;
    return send_made(worker, module, to, id, cell);
}

/* Does a receiver whose gate is full take one more, without anybody being told or asked to wait?
 * Who is muted already ends its turn as it would. */
static inline bool send_is_welcome(const struct rti_behaviour *receiver,
                                   const struct rti_turn *turn)
{
    /* A life with another limit may have come meanwhile, with several workers. */
    const rt_mailbox_config *limit = rti_pressure_limit(&receiver->pressure);
    return turn->is_muted && limit != NULL && limit->overflow == RT_OVERFLOW_MUTE;
}

/* Copies the payload of a short message. `is_any`: its length may be other than 0, 8 and 16. */
static RTI_ALWAYSINLINE void send_copy(struct rti_cell *cell, const void *data, size_t len,
                                       bool is_any)
{
    if (RTI_LIKELY(len == 8)) {
        memcpy(cell->data, data, 8);
    } else if (len == 16) {
        memcpy(cell->data, data, 16);
    } else if (is_any && len > 0) {
        memcpy(cell->data, data, len);
    }
}

/* The straight path: from a behaviour to another, one worker, no journal, no contexts, a short
 * payload and a receiver that takes it. False, and nothing has happened, if it is any other case.
 * `is_noted`: its twin, for a worker that records and for payloads that are copied by a call; the
 * caller of the other one knows that it is none of those. */
static RTI_ALWAYSINLINE bool send_straight(struct rti_worker *worker, const struct rti_cell *head,
                                           const void *data, bool is_noted)
{
    struct rti_turn *turn = worker->straight_turn;
    if (is_noted && turn == NULL && rti_worker_noted(worker, RTI_MODULE_BEHAVIOUR) != NULL &&
        !rti_sched_is_told(worker->sched)) {
        turn = rti_turn_of(worker);
    }
    if (RTI_UNLIKELY(turn == NULL) || (is_noted && head->len > RTI_CELL_SMALL_MAX)) {
        return false;
    }
    struct rti_behaviours *module = turn->module;
    struct rti_behaviour *receiver = rti_behaviour_lookup(module, head->to);
    if (RTI_UNLIKELY(receiver == NULL)) {
        return false;
    }
    uint32_t entered = rti_gate_look(&receiver->gate);
    if (RTI_UNLIKELY(rti_gate_is_full_at(&receiver->gate, entered)) &&
        !send_is_welcome(receiver, turn)) {
        return false;
    }
    struct rti_cell *cell = rti_cell_reuse_small(&module->cells);
    if (RTI_UNLIKELY(cell == NULL)) {
        return false;
    }
    turn->reductions--;
    cell->to = head->to;
    cell->origin = rti_cell_origin(turn->self->life_id, rti_cell_id(head));
    cell->len = head->len;
    send_copy(cell, data, head->len, is_noted);
    if (is_noted) {
        rti_worker_note(worker, RTI_NOTE_SEND, 0, cell->to);
    }
    rti_gate_enter(&receiver->gate, entered);
    if (rti_mpsc_push_alone(&receiver->mailbox, &cell->node)) {
        RTI_PROBE1(ready, receiver->run.id);
        if (is_noted) {
            rti_worker_note(worker, RTI_NOTE_WAKE, 0, receiver->run.id);
        }
        rti_runnable_to_woken_here(&receiver->run);
        rti_processor_queue(rti_worker_processor(worker), &receiver->run);
    }
    return true;
}

#if RTI_HAS_LETTERBOXES

/* `next` is taken: who lies there goes to its ring. */
static RTI_NOINLINE rt_status send_queue(struct rti_worker *worker, struct rti_behaviour *receiver)
{
    if (!rti_crew_wake_alone(rti_sched_crew(worker->sched), worker, &receiver->run)) {
        rti_sched_queue_shared(worker->sched, &receiver->run);
    }
    return RT_SUCCESS;
}

/* Makes one ready whose mailbox was idle, by a worker that holds a station. */
static RTI_ALWAYSINLINE rt_status send_rouse(struct rti_worker *worker,
                                             struct rti_behaviour *receiver)
{
    RTI_PROBE1(ready, receiver->run.id);
    rti_rest_end(&receiver->run);
    return RTI_LIKELY(rti_station_put_next(worker->station, &receiver->run))
               ? RT_SUCCESS
               : send_queue(worker, receiver);
}

/* May one more message come at once, as its mailbox says? Else somebody is to be told or to wait.
 */
static RTI_ALWAYSINLINE bool send_has_room(const struct rti_behaviour *receiver,
                                           const struct rti_letterbox *letters, uint64_t word,
                                           const struct rti_turn *turn)
{
    return RTI_LIKELY(!rti_letterbox_is_full_at(letters, word)) || send_is_welcome(receiver, turn);
}

/* Writes a message of this turn into its cell, all but what is its payload. */
static RTI_ALWAYSINLINE void send_address(struct rti_cell *cell, struct rti_turn *turn,
                                          const struct rti_cell_cache *cache, actor_id to,
                                          uint32_t id, size_t len)
{
    turn->reductions--;
    cell->to = to;
    cell->len = rti_cell_cache_home(cache) | (uint32_t)len;
    cell->origin = rti_cell_origin(turn->self->life_id, id);
}

/* The straight path with several workers. */
static RTI_ALWAYSINLINE bool send_shared(struct rti_worker *worker, const struct rti_cell *head,
                                         const void *data)
{
    struct rti_turn *turn = worker->shared_turn;
    if (turn == NULL || head->len > RTI_CELL_SMALL_MAX ||
        RTI_UNLIKELY(rti_sched_is_told(worker->sched))) {
        return false;
    }
    struct rti_behaviour *receiver = rti_behaviour_lookup(turn->module, head->to);
    if (RTI_UNLIKELY(receiver == NULL)) {
        return false;
    }
    struct rti_letterbox *letters = rti_behaviour_letters(receiver);
    /* Of one without a limit the receiver's line is left alone. */
    if (rti_pressure_limit(&receiver->pressure) != NULL &&
        !send_has_room(receiver, letters, rti_letterbox_look(letters), turn)) {
        return false;
    }
    struct rti_cell *cell = rti_cell_cache_take(turn->cache, RTI_CELL_SMALL);
    if (RTI_UNLIKELY(cell == NULL)) {
        return false;
    }
    send_address(cell, turn, turn->cache, head->to, rti_cell_id(head), head->len);
    send_copy(cell, data, head->len, true);
    if (send_put_letter(turn->module, receiver, &cell->letter, worker)) {
        (void)send_rouse(worker, receiver);
    }
    return true;
}

#endif

/* Every other send; apart, so that the straight one needs no frame. */
static RTI_NOINLINE rt_status send_otherwise(actor_id to, uint32_t id, const void *data, size_t len)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_cell head = {
        .to = to, .origin = rti_cell_origin(ACTOR_ID_INVALID, id), .len = (uint32_t)len};
    if (worker != NULL && len == head.len && (data != NULL || len == 0)) {
#if RTI_HAS_LETTERBOXES
        /* With one worker there is no station. */
        if (send_shared(worker, &head, data)) {
            return RT_SUCCESS;
        }
#endif
        if (send_straight(worker, &head, data, true)) {
            return RT_SUCCESS;
        }
    }
    return rti_behaviour_send(worker, to, id, data, len);
}

#if RTI_HAS_LETTERBOXES

/* The message that could not be sent alone is undone, and goes the other way. */
static RTI_NOINLINE rt_status send_undo(struct rti_turn *turn, struct rti_cell *cell)
{
    actor_id to = cell->to;
    uint32_t id = rti_cell_id(cell);
    size_t len = rti_cell_len(cell);
    uint64_t payload[2];
    RT_DCHECK(len <= sizeof(payload));
    memcpy(payload, cell->data, len);
    turn->reductions++;
    rti_cell_cache_keep(turn->cache, cell, RTI_CELL_SMALL);
    return send_otherwise(to, id, len > 0 ? payload : NULL, len);
}

/* A message of 0, 8 or 16 bytes from a behaviour that works alone, with several workers, if a cell
 * lies ready: without a frame, in one section. Nobody is told: who begins to be ends this. */
static RTI_ALWAYSINLINE rt_status send_alone(actor_id to, uint32_t id, const void *data, size_t len,
                                             struct rti_worker *worker)
{
    struct rti_turn *turn = worker->shared_turn;
    if (RTI_UNLIKELY(turn == NULL)) {
        return send_otherwise(to, id, data, len);
    }
    struct rti_behaviours *module = turn->module;
    struct rti_behaviour *receiver = rti_behaviour_lookup(module, to);
    struct rti_cell_cache *cache = turn->cache;
    if (RTI_UNLIKELY(receiver == NULL) || RTI_UNLIKELY(cache->own[RTI_CELL_SMALL] == NULL)) {
        return send_otherwise(to, id, data, len);
    }
    /* The program's memory, which may be anywhere, is touched while nothing has happened yet. */
    uint64_t payload[2];
    memcpy(payload, data, len);
    struct rti_cell *cell = rti_cell_cache_reuse(cache, RTI_CELL_SMALL);
    memcpy(cell->data, payload, len);
    send_address(cell, turn, cache, to, id, len);
    struct rti_letterbox *letters = rti_behaviour_letters(receiver);
    uintptr_t origin = rti_cells_origin(&module->cells);
    if (RTI_UNLIKELY(!rti_solo_enter(worker))) {
        return send_undo(turn, cell);
    }
    uint64_t word = rti_letterbox_look(letters);
    if (RTI_UNLIKELY(rti_letterbox_is_full_at(letters, word)) && turn->muted_on != to) {
        rti_solo_leave(worker);
        return send_undo(turn, cell);
    }
    bool was_idle = rti_letterbox_push_solo(letters, origin, &cell->letter, word);
    rti_solo_leave(worker);
    return RTI_LIKELY(!was_idle) ? RT_SUCCESS : send_rouse(worker, receiver);
}

/* The same of those that are most frequent: each length is known where it is copied. */
static RTI_NOINLINE rt_status send_word(actor_id to, uint32_t id, const void *data,
                                        struct rti_worker *worker)
{
    return send_alone(to, id, data, 8, worker);
}

static RTI_NOINLINE rt_status send_two_words(actor_id to, uint32_t id, const void *data,
                                             struct rti_worker *worker)
{
    return send_alone(to, id, data, 16, worker);
}

static RTI_NOINLINE rt_status send_nothing(actor_id to, uint32_t id, struct rti_worker *worker)
{
    return send_alone(to, id, "", 0, worker);
}

#endif

/* A message of other than 8 bytes: no payload, or one that is copied without a call either. */
static RTI_NOINLINE rt_status send_other_length(actor_id to, uint32_t id, const void *data,
                                                size_t len)
{
    struct rti_worker *worker = rti_worker_here();
    struct rti_cell head = {
        .to = to, .origin = rti_cell_origin(ACTOR_ID_INVALID, id), .len = (uint32_t)len};
    bool is_short = len == 0 || (len == 16 && data != NULL);
    if (RTI_LIKELY(is_short && worker != NULL) &&
        RTI_LIKELY(send_straight(worker, &head, data, false))) {
        return RT_SUCCESS;
    }
#if RTI_HAS_LETTERBOXES
    if (RTI_LIKELY(is_short && worker != NULL)) {
        return len == 0 ? send_nothing(to, id, worker) : send_two_words(to, id, data, worker);
    }
#endif
    return send_otherwise(to, id, data, len);
}

rt_status rt_behaviour_send(actor_id to, uint32_t id, const void *data, size_t len)
{
    if (RTI_UNLIKELY(len != 8)) {
        return send_other_length(to, id, data, len);
    }
    struct rti_worker *worker = rti_worker_here();
    struct rti_cell head = {.to = to, .origin = rti_cell_origin(ACTOR_ID_INVALID, id), .len = 8};
    if (RTI_UNLIKELY(data == NULL || worker == NULL)) {
        return send_otherwise(to, id, data, 8);
    }
    if (RTI_LIKELY(send_straight(worker, &head, data, false))) {
        return RT_SUCCESS;
    }
#if RTI_HAS_LETTERBOXES
    return send_word(to, id, data, worker);
#else
    return send_otherwise(to, id, data, 8);
#endif
}

rt_status rt_behaviour_forward(actor_id to, uint32_t id)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_turn *turn = worker == NULL ? NULL : rti_turn_of(worker);
    if (turn == NULL) {
        return (rt_status){RT_ERR_THREAD, RTI_SENTENCE("only a behaviour can do this")};
    }
    struct rti_cell *cell = turn->cell;
    if (cell == NULL) {
        return (rt_status){RT_ERR_STATE, RTI_SENTENCE("there is no message to hand on")};
    }
    turn->reductions--;
    if (!rti_is_behaviour_id(to)) {
        struct rti_cell head = {.to = to,
                                .origin = rti_cell_origin(rti_cell_sender(cell), id),
                                .len = cell->len & ~RTI_CELL_TRACE};
        rt_status status = send_to_actor(worker, &head, cell->data);
        if (!RT_FAILED(status)) {
            cell->len &= ~RTI_CELL_BLOB; /* the hold went along */
        }
        return status;
    }
    if (!rti_sched_is_local(worker->sched)) {
        /* It may be what this one's mailbox names, and is about to be in another. */
        struct rti_letterbox *letters = rti_behaviour_letters(turn->self);
        uintptr_t origin = rti_cells_origin(&turn->module->cells);
        if (rti_letterbox_keeps(letters, origin, &cell->letter)) {
            rti_letterbox_let_go(letters, origin);
        }
    }
    rt_status status = send_to_behaviour(worker, turn->module, to, id, cell);
    if (!RT_FAILED(status)) {
        turn->cell = NULL;
    }
    return status;
}

/* Puts an entry that nothing refuses into a mailbox. */
static void send_put(struct rti_worker *worker, struct rti_actor *receiver, struct rti_entry *entry)
{
    struct rti_actor *sender = rti_actor_of(worker);
    if (sender != NULL) {
        sender->messages_sent++;
    }
    rti_worker_note(worker, RTI_NOTE_SEND, 0, receiver->id);
    rti_ipc_record(worker->sched, RTI_JOURNAL_SEND, entry->sender, receiver->id);
    rti_ipc_attach_trace(worker, &receiver->actors->ipc, entry);
    rti_mailbox_push(&receiver->mailbox, entry);
}

void rti_mailbox_drop_oldest(struct rti_actor *receiver)
{
    if (receiver->mailbox.is_shown) {
        /* A filter looks at one of them, perhaps on another worker: nothing leaves now. */
        return;
    }
    struct rti_entry *at = rti_mailbox_peek(&receiver->mailbox);
    while (at != NULL && rti_entry_is_notice(at)) {
        at = rti_mailbox_next(&receiver->mailbox, at);
    }
    if (at == NULL) {
        return;
    }
    if (receiver->mailbox.seen == at) {
        struct rti_link *before = at->link.prev;
        receiver->mailbox.seen = before == &receiver->mailbox.queue.head
                                     ? NULL
                                     : RTI_CONTAINER_OF(before, struct rti_entry, link);
    }
    rti_mailbox_remove(&receiver->mailbox, at);
    rti_ipc_pools_end(&receiver->actors->ipc, at, RT_ERR_CLOSED);
    (void)rti_u32_add_relaxed(&receiver->pressure.dropped, 1);
}

rt_status rti_ipc_deliver_limited(struct rti_worker *worker, struct rti_actor *receiver,
                                  struct rti_entry *entry)
{
    struct rti_ipc_pools *pools = &receiver->actors->ipc;
    struct rti_behaviours *module = rti_behaviours_of(worker);
    enum rti_admission admission = RTI_ADMIT;
    const rt_mailbox_config *limit = rti_actor_limit(receiver);
    if (limit != NULL) {
        admission = rti_pressure_admit(&receiver->pressure, limit,
                                       rti_mailbox_mail_count(&receiver->mailbox) >= limit->high);
    }
    if (!send_is_admitted(admission)) {
        actor_id to = receiver->id;
        /* Who is killed for its mail to itself does not come back. */
        bool is_last = admission == RTI_ADMIT_KILLED && to == rti_sender_id(worker);
        if (admission != RTI_ADMIT_DROPPED && !is_last && entry->kind == RTI_ENTRY_BLOB) {
            /* Nothing is sent: the hold does not go with the entry. */
            entry->kind = RTI_ENTRY_TYPED;
        }
        rti_ipc_pools_end(pools, entry, RT_OK);
        rti_actors_unlock(receiver->actors);
        return send_refuse(admission, to);
    }
    if (admission == RTI_ADMIT_FOR_OLD) {
        rti_mailbox_drop_oldest(receiver);
    }
    send_put(worker, receiver, entry);
    if (admission == RTI_ADMIT_MUTED && module != NULL) {
        send_mute(worker, module, &receiver->pressure);
    } else {
        rti_actors_unlock(receiver->actors);
    }
    return RT_SUCCESS;
}

#endif
