/* SPDX-License-Identifier: Apache-2.0 */
/* The places, the lives and the turns of behaviours; the essay is in behaviour.h. */
#define RTI_MODULE "behaviour"
#include "actor/behaviour.h"

#include <string.h>

#include "actor/ipc.h"
#include "base/marks.h"
#include "sched/chain.h"
#include "sched/crew.h"
#include "sched/solo.h"

#if RT_HAS_BEHAVIOURS

_Static_assert(sizeof(struct rti_behaviour) <= RT_BEHAVIOUR_SIZE, "an idle behaviour is small");
#if RTI_HAS_LETTERBOXES && RTI_CACHE_LINE == 64 && UINTPTR_MAX > UINT32_MAX
_Static_assert(offsetof(struct rti_behaviour, letters.ceiling) == 128,
               "senders have their own line");
#endif
_Static_assert(RT_MAX_BEHAVIOURS > 0 && RT_MAX_BEHAVIOURS <= 1 << RTI_BEHAVIOUR_INDEX_BITS_MAX,
               "the id has room for generations");

/* How a turn ended. */
enum outcome {
    OUTCOME_AGAIN, /* there is more to do */
    OUTCOME_EMPTY, /* nothing waits; one worker */
    OUTCOME_RESTS, /* the same with several: it is parked already, and perhaps another's */
    OUTCOME_MUTED, /* it waits for another */
    OUTCOME_ENDED,
};

/* The id after `id` for the same place; ACTOR_ID_INVALID if it has used its last generation. */
static actor_id behaviour_next_id(const struct rti_behaviours *module, actor_id id)
{
    uint32_t step = UINT32_C(1) << module->index_bits;
    /* The highest ids are senders that are no actor. */
    return id > RT_SENDER_SUPERVISOR - 1 - step ? ACTOR_ID_INVALID : id + step;
}

static void behaviour_enqueue_free(struct rti_behaviours *module, uint32_t index)
{
    struct rti_behaviour *place = &module->places[index];
    if (behaviour_next_id(module, place->life_id) == ACTOR_ID_INVALID) {
        /* Worn out: no id is left that would never have named another. */
        return;
    }
    place->next_free = RTI_BEHAVIOUR_NONE;
    if (module->free_head == RTI_BEHAVIOUR_NONE) {
        module->free_head = index;
    } else {
        module->places[module->free_tail].next_free = index;
    }
    module->free_tail = index;
}

static void behaviour_init_place(const struct rti_behaviours *module, struct rti_behaviour *place,
                                 uint32_t index)
{
    if (rti_sched_is_local(module->sched)) {
        rti_mpsc_init_active(&place->mailbox);
        rti_gate_init(&place->gate);
    } else {
        rti_letterbox_init(rti_behaviour_letters(place));
    }
    rti_u32_init(&place->reachable_id, ACTOR_ID_INVALID);
    rti_u32_init(&place->orders, 0);
    place->life_id = RTI_BEHAVIOUR_ID_BIT | index;
    place->is_alive = false;
}

/* Takes a place that nobody lives in; NULL if there is none. */
static struct rti_behaviour *behaviour_take_place(struct rti_behaviours *module)
{
    struct rti_behaviour *place = NULL;
    rti_lock_acquire(&module->lock, module->sched);
    if (module->free_head != RTI_BEHAVIOUR_NONE) {
        place = &module->places[module->free_head];
        module->free_head = place->next_free;
    } else if (module->fresh < module->capacity) {
        place = &module->places[module->fresh];
        rti_port_use_dense(module->sched->port, &module->dense, place + 1);
        behaviour_init_place(module, place, module->fresh);
        module->fresh++;
    }
    if (place != NULL) {
        place->life_id = behaviour_next_id(module, place->life_id);
        module->live++;
        module->live_max = module->live > module->live_max ? module->live : module->live_max;
    }
    rti_lock_release(&module->lock);
    return place;
}

static struct rti_behaviour *behaviour_take_kept(struct rti_behaviours *module, actor_id kept_id)
{
    uint32_t index = kept_id & module->index_mask;
    struct rti_behaviour *place = &module->places[index];
    rti_lock_acquire(&module->lock, module->sched);
    RT_ASSERT(place->life_id == kept_id && !place->is_alive && module->kept_count > 0);
    module->kept_count--;
    module->live++;
    rti_lock_release(&module->lock);
    return place;
}

/* The last act of a life: the place may be another's as soon as it is free. */
static void behaviour_give_place(struct rti_behaviours *module, struct rti_behaviour *place)
{
    uint32_t index = (uint32_t)(place - module->places);
    rti_lock_acquire(&module->lock, module->sched);
    place->is_alive = false;
    module->live--;
    if (place->is_id_kept) {
        module->kept_count++;
    } else {
        behaviour_enqueue_free(module, index);
    }
    rti_lock_release(&module->lock);
}

static RTI_ALWAYSINLINE void behaviour_handle(struct rti_behaviours *module,
                                              struct rti_behaviour *self, struct rti_cell *cell)
{
    const rt_behaviour_type *type = self->type;
    rt_behaviour_fn handler = NULL;
    uint32_t id = rti_cell_id(cell);
    if (RTI_LIKELY(id < type->handler_count)) {
        handler = type->handlers[id];
    }
    if (RTI_UNLIKELY(handler == NULL)) {
        handler = type->otherwise;
        if (handler == NULL) {
            rti_behaviours_count_dead_letter(module);
            return;
        }
    }
    rt_behaviour_message msg = {.sender = rti_cell_sender(cell),
                                .id = id,
                                .len = rti_cell_len(cell),
                                .data = rti_cell_len(cell) > 0 ? cell->data : NULL};
    handler(self->state, &msg);
}

/* The behaviour works for what this message is about, and that it does is written down. */
static RTI_NOINLINE void behaviour_tell(struct rti_turn *turn, struct rti_cell *cell)
{
    struct rti_worker *worker = rti_worker_current();
    rti_ipc_record(turn->module->sched, RTI_JOURNAL_RECV, turn->self->life_id,
                   rti_cell_sender(cell));
    if (rti_traces_are_used(turn->module->sched)) {
        *rti_trace_here(worker) = (cell->len & RTI_CELL_TRACE) != 0 ? *rti_cell_trace(cell)
                                                                    : (struct rt_trace){.flags = 0};
    }
}

/* Where those who are muted on this one go on. */
static inline int32_t behaviour_mark(const struct rti_behaviour *self)
{
    return RTI_LIKELY(!self->is_limited) ? RTI_GATE_NEVER
                                         : rti_pressure_mark(rti_pressure_limit(&self->pressure));
}

/* Does it drop what is too old? With several workers the receiver itself does. */
static bool behaviour_is_dropping(const struct rti_behaviour *self)
{
    const rt_mailbox_config *limit =
        RTI_LIKELY(!self->is_limited) ? NULL : rti_pressure_limit(&self->pressure);
    return limit != NULL && limit->overflow == RT_OVERFLOW_DROP_OLD;
}

/* Drops a message that one has taken who drops what is too old, if more than may be wait. */
static RTI_NOINLINE bool behaviour_drop(struct rti_behaviour *self)
{
    const struct rti_letterbox *letters = rti_behaviour_letters(self);
    if (!rti_letterbox_is_full_at(letters, rti_letterbox_look(letters))) {
        return false;
    }
    (void)rti_u32_add_relaxed(&self->pressure.dropped, 1);
    return true;
}

/* A message was taken and counted out: it is handled if it is for this life. What becomes of its
 * cell is the caller's: unless it was handed on, `turn->cell` still is it. */
static RTI_ALWAYSINLINE void behaviour_take(struct rti_turn *turn, struct rti_behaviour *self,
                                            struct rti_cell *cell, bool is_told)
{
    turn->cell = cell;
    if (RTI_LIKELY(cell->to == self->life_id)) {
        if (RTI_UNLIKELY(is_told)) {
            behaviour_tell(turn, cell);
        }
        behaviour_handle(turn->module, self, cell);
    } else {
        RT_SOMETIMES(true, "behaviour: a message for a former life is dropped");
        rti_behaviours_count_dead_letter(turn->module);
    }
    RT_DCHECK(turn->is_over == 0 || turn->reductions <= 0);
}

/* Does what others have ordered. */
static RTI_NOINLINE void behaviour_obey(struct rti_turn *turn, uint32_t orders)
{
    struct rti_behaviour *self = turn->self;
    turn->cell = NULL;
    if ((orders & RTI_ORDER_KILL) != 0) {
        rti_turn_end(turn, RT_EXIT_KILLED);
        return;
    }
    /* Acquire-release: what who ordered did before is seen; pairs with rti_behaviour_order. */
    (void)rti_u32_and_acqrel(&self->orders, ~(uint32_t)RTI_ORDER_STOP);
    if (self->type->stop != NULL) {
        self->type->stop(self->state);
    } else {
        rti_turn_end(turn, RT_EXIT_NORMAL);
    }
}

/* Why a turn ends though its mailbox may have more. */
static RTI_NOINLINE enum outcome behaviour_pause(struct rti_turn *turn)
{
    uint32_t orders = rti_u32_load_relaxed(&turn->self->orders);
    if ((orders & RTI_ORDERS) != 0 && !turn->is_ended) {
        behaviour_obey(turn, orders);
    }
    if (turn->is_over != 0) {
        return turn->is_ended ? OUTCOME_ENDED : OUTCOME_MUTED;
    }
    RT_SOMETIMES(turn->reductions <= 0, "behaviour: a turn ends by its reductions");
    /* Obeying may have brought the next order, which is no message. */
    bool has_orders = (rti_u32_load_relaxed(&turn->self->orders) & RTI_ORDERS) != 0;
    bool is_empty = rti_sched_is_local(turn->module->sched) && !has_orders &&
                    rti_mpsc_is_empty_alone(&turn->self->mailbox);
    return is_empty ? OUTCOME_EMPTY : OUTCOME_AGAIN;
}

/* A message was taken out of the mailbox, with one worker; who waits for that may go on. */
static RTI_ALWAYSINLINE void behaviour_take_alone(struct rti_turn *turn, struct rti_behaviour *self,
                                                  struct rti_worker *worker,
                                                  struct rti_mpsc_node *node, int32_t mark)
{
    struct rti_cell *cell = RTI_CONTAINER_OF(node, struct rti_cell, node);
    if (RTI_UNLIKELY(rti_gate_leave(&self->gate, mark))) {
        rti_pressure_release(turn->module, &self->pressure);
    }
    bool is_told = RTI_UNLIKELY(worker->straight_turn == NULL) && rti_sched_is_told(worker->sched);
    behaviour_take(turn, self, cell, is_told);
    if (RTI_LIKELY(turn->cell != NULL)) {
        rti_cell_free_alone(&turn->module->cells, cell);
    }
}

/* One worker: the messages of a turn after the first. What can end a turn before its mailbox is
 * empty takes its reductions, so that one comparison for each message asks for all of it. */
static RTI_NOINLINE enum outcome
behaviour_work_on(struct rti_turn *turn, struct rti_behaviour *self, struct rti_worker *worker)
{
    int32_t mark = behaviour_mark(self);
    int32_t taken = 1;
    while (!rti_mpsc_is_empty_alone(&self->mailbox)) {
        if (RTI_UNLIKELY(taken == RT_BEHAVIOUR_BATCH)) {
            return OUTCOME_AGAIN;
        }
        struct rti_mpsc_node *node = rti_mpsc_pop_alone(&self->mailbox);
        /* Where many wait the next one is cold. */
        __builtin_prefetch(self->mailbox.head);
        behaviour_take_alone(turn, self, worker, node, mark);
        taken++;
        if (RTI_UNLIKELY(taken >= turn->reductions)) {
            return behaviour_pause(turn);
        }
    }
    return OUTCOME_EMPTY;
}

/* The messages of a turn, with one worker. Most turns are of one. */
static RTI_ALWAYSINLINE enum outcome
behaviour_work_alone(struct rti_turn *turn, struct rti_behaviour *self, struct rti_worker *worker)
{
    struct rti_mpsc_node *node = rti_mpsc_pop_first_alone(&self->mailbox);
    if (RTI_UNLIKELY(node == NULL)) {
        return OUTCOME_EMPTY;
    }
    behaviour_take_alone(turn, self, worker, node, behaviour_mark(self));
    if (RTI_UNLIKELY(turn->reductions <= 1)) {
        return behaviour_pause(turn);
    }
    return RTI_LIKELY(rti_mpsc_is_empty_alone(&self->mailbox))
               ? OUTCOME_EMPTY
               : behaviour_work_on(turn, self, worker);
}

/* Gives back a cell, with several workers. */
static inline void behaviour_free(const struct rti_turn *turn, struct rti_cell *cell)
{
    struct rti_cells *cells = &turn->module->cells;
#if RTI_HAS_CELL_CACHES
    rti_cell_free_at(cells, turn->cache, cell);
#else
    rti_cell_free(cells, cell);
#endif
}

/* The turn ends, but not by a rest: the last cell does not wait for the next turn. */
static RTI_NOINLINE enum outcome behaviour_pause_shared(struct rti_turn *turn,
                                                        struct rti_cell *kept)
{
    if (kept != NULL) {
        struct rti_cells *cells = &turn->module->cells;
        rti_letterbox_let_go(rti_behaviour_letters(turn->self), rti_cells_origin(cells));
        rti_cell_free(cells, kept);
    }
    return behaviour_pause(turn);
}

/* Does somebody who is muted wait for the room that there is now, with several workers? */
static bool behaviour_is_awaited(const struct rti_letterbox *letters, struct rti_worker *worker)
{
    bool is_solo = rti_solo_begin(worker);
    bool is_awaited = rti_letterbox_is_awaited(letters, is_solo);
    rti_solo_finish(worker, is_solo);
    return is_awaited;
}

/* Rests, with several workers; see rti_rest_try. */
static RTI_ALWAYSINLINE bool behaviour_try_rest(struct rti_behaviour *self,
                                                struct rti_worker *worker)
{
    struct rti_letterbox *letters = rti_behaviour_letters(self);
    bool is_solo = rti_solo_begin(worker);
    bool is_resting = rti_rest_try(&self->run, letters, is_solo);
    rti_solo_finish(worker, is_solo);
    return is_resting;
}

/* The same with several: an order can come at any time, and the word is looked at as well. `taken`
 * messages were handled in this turn, and `kept` is the last of them, if the mailbox names it. */
static enum outcome behaviour_work_shared(struct rti_turn *turn, struct rti_behaviour *self,
                                          struct rti_worker *worker, int32_t taken,
                                          struct rti_cell *kept)
{
    uintptr_t origin = rti_cells_origin(&turn->module->cells);
    struct rti_letterbox *letters = rti_behaviour_letters(self);
    uint32_t entered = rti_letterbox_entered(rti_letterbox_look(letters));
    int32_t mark = behaviour_mark(self);
    bool is_dropping = behaviour_is_dropping(self);
    /* A turn begins because something has come, as a rule. */
    bool is_more = taken == 0;
    for (;;) {
        if (RTI_UNLIKELY((rti_u32_load_relaxed(&self->orders) & RTI_ORDERS) != 0 ||
                         taken >= turn->reductions || taken == RT_BEHAVIOUR_BATCH)) {
            rti_turn_count(turn, worker, taken);
            return behaviour_pause_shared(turn, kept);
        }
        if (letters->first == NULL) {
            /* It tries to rest before it looks for more: the rest looks itself, and most often
             * there is no more. */
            if (!is_more && RTI_LIKELY(behaviour_try_rest(self, worker))) {
                rti_turn_count(turn, worker, taken); /* of it, another's now, nothing is touched */
                if (kept != NULL) {
                    behaviour_free(turn, kept);
                }
                return OUTCOME_RESTS;
            }
            if (RTI_UNLIKELY(!rti_letterbox_collect(letters, origin))) {
                /* Nothing has come, or only a nudge. */
                rti_letterbox_calm(letters);
                is_more = false;
                continue;
            }
            is_more = false;
            if (kept != NULL) {
                /* The word names another. */
                behaviour_free(turn, kept);
                kept = NULL;
            }
        }
        struct rti_letter *letter = rti_letterbox_take(letters);
        /* Where many wait the next one is cold. */
        __builtin_prefetch(letters->first);
        struct rti_cell *cell = RTI_CONTAINER_OF(letter, struct rti_cell, letter);
        if (RTI_UNLIKELY(rti_letterbox_leave(letters, mark, &entered)) &&
            RTI_UNLIKELY(behaviour_is_awaited(letters, worker))) {
            rti_pressure_release(turn->module, &self->pressure);
        }
        turn->cell = cell;
        if (RTI_LIKELY(!is_dropping) || !behaviour_drop(self)) {
            behaviour_take(turn, self, cell, rti_sched_is_told(worker->sched));
        }
        taken++;
        if (RTI_UNLIKELY(turn->cell == NULL)) {
            continue; /* handed on */
        }
        /* One that others came behind is not named, as a rule. */
        if (letters->first == NULL && rti_letterbox_keeps(letters, origin, letter)) {
            kept = cell;
        } else {
            behaviour_free(turn, cell);
        }
    }
}

/* The part of the orders' word that names a life. */
static uint32_t behaviour_tag(const struct rti_behaviours *module, actor_id id)
{
    return ((id & ~RTI_BEHAVIOUR_ID_BIT) >> module->index_bits) << RTI_ORDER_BITS;
}

/* From here on orders are for the life of this tag; 0: for nobody. */
static void behaviour_set_orders(struct rti_behaviour *self, uint32_t tag)
{
    /* Acquire-release: pairs with the one in rti_behaviour_order. */
    (void)rti_u32_exchange_acqrel(&self->orders, tag);
}

/* Takes a life apart: its mail, what hangs at it. Those who watch it are left in `watchers`: they
 * are told when its place is free, because its supervisor may want it again at once. */
static void behaviour_die(struct rti_turn *turn, struct rti_list *watchers)
{
    struct rti_behaviour *self = turn->self;
    struct rti_behaviours *module = turn->module;
    rti_u32_store_relaxed(&self->reachable_id, ACTOR_ID_INVALID);
    turn->cell = NULL;
    if (self->type->end != NULL && self->is_started) {
        self->type->end(self->state, turn->reason);
    }
    if (turn->is_muted) {
        /* Its handler's last send muted it; perhaps it was released since, which changes nothing.
         */
        rti_pressure_unmute(module, &self->pressure);
    }
    behaviour_set_orders(self, 0);
    rti_behaviour_clear(module, self);
    rti_pressure_release(module, &self->pressure);
    rti_behaviour_set_limit(module, self, rti_pressure_high(rti_pressure_limit(&self->pressure)),
                            RTI_GATE_OPEN);
    rti_actors_lock(module->actors);
    rti_list_splice_tail(watchers, &self->watchers);
    rti_actors_unlock(module->actors);
    rti_attachments_end(&self->attachments);
    RT_ASSERT(rti_list_is_empty(&self->pressure.muted) && self->pressure.on == ACTOR_ID_INVALID);
    if (rti_runnable_state(&self->run) == RTI_RUNNABLE_WOKEN) {
        /* It was muted and released in its last turn. Nobody wakes it from here on. */
        rti_runnable_to(&self->run, RTI_RUNNABLE_WOKEN, RTI_RUNNABLE_RUNNING);
    }
    rti_sched_end(module->sched, &self->run);
}

/* Queues one whose turn is over and that has more to do. */
static inline void behaviour_queue(struct rti_sched *sched, struct rti_runnable *run)
{
    if (RTI_LIKELY(rti_sched_is_local(sched))) {
        rti_processor_queue(&sched->processor, run);
    } else {
        rti_crew_queue(rti_sched_crew(sched), run);
    }
}

/* Its first turn, unless it was killed before. */
static RTI_NOINLINE void behaviour_start(struct rti_turn *turn, struct rti_worker *worker)
{
    struct rti_behaviour *self = turn->self;
    if ((rti_u32_load_relaxed(&self->orders) & RTI_ORDER_KILL) != 0) {
        return;
    }
    self->is_started = true;
    turn->cell = NULL;
    if (rti_traces_are_used(turn->module->sched)) {
        *rti_trace_here(worker) = (struct rt_trace){.flags = 0};
    }
    if (self->type->start != NULL) {
        void *arg = self->state;
        self->state = self->type->state_size > 0 ? self->own : arg;
        self->type->start(self->state, arg);
    }
    self->state = self->type->state_size > 0 ? self->own : self->state;
}

/* Its last turn is over. */
static RTI_NOINLINE void behaviour_end(struct rti_turn *turn, struct rti_worker *worker)
{
    struct rti_behaviours *module = turn->module;
    struct rti_list watchers;
    actor_id id = turn->self->life_id;
    rti_list_init(&watchers);
    behaviour_die(turn, &watchers);
    worker->turn = NULL;
    behaviour_give_place(module, turn->self);
    rti_actors_lock(module->actors);
    rti_monitors_tell(&watchers, id, turn->reason);
    rti_actors_unlock(module->actors);
    worker->turn = turn; /* the next one's */
}

/* A turn did not end for want of mail: it has more to do, is muted, or has ended. */
static RTI_NOINLINE void behaviour_leave(struct rti_turn *turn, struct rti_worker *worker,
                                         enum outcome outcome)
{
    struct rti_runnable *run = &turn->self->run;
    if (outcome == OUTCOME_ENDED) {
        behaviour_end(turn, worker);
        return;
    }
    bool is_queued = true;
    if (outcome == OUTCOME_MUTED) {
        /* A release that came between has left the queueing to us. */
        is_queued = !rti_runnable_to_parked(run);
    } else {
        rti_runnable_to_yielding(run);
    }
    if (is_queued) {
        behaviour_queue(worker->sched, run);
    }
}

/* A turn begins: the state of the last one is gone. */
static RTI_ALWAYSINLINE struct rti_behaviour *behaviour_enter_turn(struct rti_turn *turn,
                                                                   struct rti_runnable *run)
{
    struct rti_behaviour *self = RTI_CONTAINER_OF(run, struct rti_behaviour, run);
    rti_turn_begin(turn, self);
    return self;
}

static RTI_ALWAYSINLINE bool behaviour_has_orders(const struct rti_behaviour *self)
{
    return RTI_UNLIKELY((rti_u32_load_relaxed(&self->orders) & RTI_ORDERS) != 0);
}

/* Has it something to do before its messages? */
static RTI_ALWAYSINLINE bool behaviour_is_called(const struct rti_behaviour *self)
{
    return RTI_UNLIKELY(!self->is_started) || behaviour_has_orders(self);
}

/* One worker: it begins with other than a message. True if that leaves nothing of the turn. */
static RTI_NOINLINE bool behaviour_prepare(struct rti_turn *turn, struct rti_worker *worker)
{
    struct rti_behaviour *self = turn->self;
    if (!self->is_started) {
        behaviour_start(turn, worker);
    }
    if ((rti_u32_load_relaxed(&self->orders) & RTI_ORDERS) != 0) {
        rti_turn_cut(turn);
    }
    return turn->reductions <= 0;
}

static RTI_ALWAYSINLINE void behaviour_turn_alone(struct rti_turn *turn, struct rti_runnable *run,
                                                  struct rti_worker *worker)
{
    struct rti_behaviour *self = behaviour_enter_turn(turn, run);
    enum outcome outcome;
    if (RTI_UNLIKELY(behaviour_is_called(self)) && behaviour_prepare(turn, worker)) {
        outcome = behaviour_pause(turn);
    } else {
        outcome = behaviour_work_alone(turn, self, worker);
    }
    if (RTI_UNLIKELY(outcome != OUTCOME_EMPTY)) {
        behaviour_leave(turn, worker, outcome);
    } else {
        rti_rest_alone(run, &self->mailbox);
    }
}

static RTI_NOINLINE void behaviour_turn_shared(struct rti_turn *turn, struct rti_worker *worker,
                                               int32_t taken, struct rti_cell *kept)
{
    struct rti_behaviour *self = turn->self;
    if (RTI_UNLIKELY(!self->is_started)) {
        behaviour_start(turn, worker);
    }
    enum outcome outcome = behaviour_work_shared(turn, self, worker, taken, kept);
    if (RTI_UNLIKELY(outcome != OUTCOME_RESTS)) {
        behaviour_leave(turn, worker, outcome);
    }
}

static void behaviour_step(struct rti_runnable *run, struct rti_worker *worker);

/* The turns of behaviours that follow each other on the one worker, without the scheduler. */
static RTI_ALWAYSINLINE void behaviour_turns_alone(struct rti_turn *turn, struct rti_runnable *run,
                                                   struct rti_worker *worker)
{
    do {
        behaviour_turn_alone(turn, run, worker);
        run = rti_worker_go_on(worker, behaviour_step);
    } while (run != NULL);
}

#if RTI_ONE_WORKER

static void behaviour_turns_shared(struct rti_turn *turn, struct rti_runnable *run,
                                   struct rti_worker *worker)
{
    (void)behaviour_enter_turn(turn, run);
    behaviour_turn_shared(turn, worker, 0, NULL);
}

#else

/* With several workers: takes the first message of a turn if it has been taken over by who sent it,
 * alone, and nobody has ordered anything. NULL if it is any other case. */
static RTI_ALWAYSINLINE struct rti_cell *behaviour_take_first(struct rti_behaviour *self)
{
    struct rti_letterbox *letters = rti_behaviour_letters(self);
    if (RTI_UNLIKELY(self->is_limited) || behaviour_is_called(self)) {
        return NULL;
    }
    struct rti_letter *letter = rti_letterbox_take(letters);
    if (RTI_UNLIKELY(letter == NULL)) {
        return NULL;
    }
    rti_letterbox_leave_open(letters);
    return RTI_CONTAINER_OF(letter, struct rti_cell, letter);
}

/* Its first message was handled: if there is no more, and it works alone, it rests and goes on with
 * whom it has woken, if with anybody. `*left`: turns that may follow. False if it is any other
 * case, and nothing has happened. */
static RTI_ALWAYSINLINE bool behaviour_go_on(struct rti_turn *turn, struct rti_worker *worker,
                                             struct rti_cell *cell, struct rti_runnable **next,
                                             int32_t left)
{
    struct rti_behaviour *self = turn->self;
    struct rti_letterbox *letters = rti_behaviour_letters(self);
    /* An order nudges after it is there: it keeps awake who has not rested, or wakes. */
    if (RTI_UNLIKELY(turn->cell == NULL || turn->reductions <= 1 || letters->first != NULL)) {
        return false;
    }
    bool is_cut = RTI_UNLIKELY(left <= 0) || rti_chain_is_called(worker) ||
                  RTI_UNLIKELY(rti_sched_is_told(worker->sched));
    if (RTI_UNLIKELY(!rti_solo_enter(worker))) {
        return false;
    }
    bool is_resting = rti_rest_try(&self->run, letters, true);
    bool is_followed = is_resting && !is_cut;
    struct rti_runnable *woken = is_followed ? rti_station_pick_next_alone(worker->station) : NULL;
    rti_solo_leave(worker);
    if (RTI_UNLIKELY(!is_resting)) {
        return false;
    }
    rti_turn_count(turn, worker, 1); /* of it, another's now, nothing is touched */
    if (RTI_UNLIKELY(!rti_cell_cache_try_give(turn->cache, cell))) {
        rti_cell_free(&turn->module->cells, cell);
    }
    *next = woken != NULL ? rti_chain_begin_woken(worker, woken, behaviour_step) : NULL;
    return true;
}

/* A turn of any other kind, or the rest of one whose first message `cell` was handled. */
static RTI_NOINLINE void behaviour_turn_otherwise(struct rti_turn *turn, struct rti_worker *worker,
                                                  struct rti_cell *cell)
{
    if (cell == NULL) {
        behaviour_turn_shared(turn, worker, 0, NULL);
        return;
    }
    struct rti_letterbox *letters = rti_behaviour_letters(turn->self);
    struct rti_cell *kept = turn->cell; /* NULL: handed on */
    uintptr_t origin = rti_cells_origin(&turn->module->cells);
    if (kept != NULL && !rti_letterbox_keeps(letters, origin, &cell->letter)) {
        behaviour_free(turn, cell);
        kept = NULL;
    }
    behaviour_turn_shared(turn, worker, 1, kept);
}

/* The same with several: as long as each wakes the next. */
static void behaviour_turns_shared(struct rti_turn *turn, struct rti_runnable *run,
                                   struct rti_worker *worker)
{
    do {
        (void)behaviour_enter_turn(turn, run);
        behaviour_turn_shared(turn, worker, 0, NULL);
        run = rti_chain_next(worker, behaviour_step);
    } while (run != NULL);
}

/* The same where the station has a cache of messages, and nobody records or is told: after each
 * handler that is asked anew. */
static RTI_ALWAYSINLINE void behaviour_turns_quick(struct rti_turn *turn, struct rti_runnable *run,
                                                   struct rti_worker *worker)
{
    int32_t left = rti_chain_length(worker);
    do {
        struct rti_behaviour *self = behaviour_enter_turn(turn, run);
        struct rti_cell *cell = behaviour_take_first(self);
        if (RTI_LIKELY(cell != NULL)) {
            behaviour_take(turn, self, cell, false);
            if (RTI_LIKELY(behaviour_go_on(turn, worker, cell, &run, left))) {
                left--;
                continue;
            }
        }
        behaviour_turn_otherwise(turn, worker, cell);
        run = rti_chain_next(worker, behaviour_step);
        if (RTI_UNLIKELY(run != NULL && rti_sched_is_told(worker->sched))) {
            behaviour_turns_shared(turn, run, worker);
            return;
        }
        left--;
    } while (run != NULL);
}

#endif

static void behaviour_step(struct rti_runnable *run, struct rti_worker *worker)
{
    struct rti_behaviours *module = rti_behaviours_of(worker);
    struct rti_turn turn = {.module = module};
    worker->turn = &turn;
    if (RTI_LIKELY(rti_sched_is_local(module->sched))) {
        bool is_straight = worker->straight[RTI_MODULE_BEHAVIOUR] != NULL;
        worker->straight_turn = is_straight && !rti_sched_is_told(module->sched) ? &turn : NULL;
        behaviour_turns_alone(&turn, run, worker);
        worker->straight_turn = NULL;
    } else {
#if RTI_HAS_CELL_CACHES
        turn.cache = rti_cells_cache_of(&module->cells, worker);
        bool is_quick = turn.cache != NULL && !rti_worker_records(worker);
        if (RTI_LIKELY(is_quick && !rti_sched_is_told(module->sched))) {
            worker->shared_turn = &turn;
            behaviour_turns_quick(&turn, run, worker);
            worker->shared_turn = NULL;
            worker->turn = NULL;
            return;
        }
#endif
        behaviour_turns_shared(&turn, run, worker);
    }
    worker->turn = NULL;
}

static void behaviour_begin(struct rti_behaviours *module, struct rti_behaviour *self,
                            const rt_behaviour_type *type, void *arg,
                            const struct rti_behaviour_birth *birth)
{
    self->type = type;
    self->state = arg; /* until the first turn */
    self->is_started = false;
    self->is_id_kept = false;
    self->is_alive = true;
    rti_list_init(&self->watchers);
    rti_list_init(&self->attachments);
    bool is_limited = type->mailbox.high > 0 || type->mailbox.is_system;
    const rt_mailbox_config *limit = is_limited ? &type->mailbox : NULL;
    /* Under the lock: an order for a former life may still look whether that one is muted. */
    rti_lock_acquire(&module->mute_lock, module->sched);
    rti_pressure_init(&self->pressure, self->life_id, limit);
    rti_behaviour_set_limit(module, self, RTI_GATE_OPEN, rti_pressure_high(limit));
    rti_lock_release(&module->mute_lock);
    self->is_limited = is_limited;
    memset(self->own, 0, sizeof(self->own));
    behaviour_set_orders(self, behaviour_tag(module, self->life_id));
    rti_runnable_init(&self->run, self->life_id, (uint8_t)type->priority, behaviour_step);
    if (birth != NULL) {
        rti_actors_lock(module->actors);
        birth->prepare(self, birth->arg);
        rti_actors_unlock(module->actors);
    }
    /* Pairs with the acquire in rti_behaviour_lookup. */
    rti_u32_store_release(&self->reachable_id, self->life_id);
    rti_sched_start(module->sched, &self->run);
}

actor_id rti_behaviour_spawn_as(const rt_behaviour_type *type, void *arg,
                                const struct rti_behaviour_birth *birth)
{
    actor_id kept_id = birth != NULL ? birth->kept_id : ACTOR_ID_INVALID;
    struct rti_behaviours *module = rti_behaviours_of(rti_worker_enter());
    if (module == NULL || !rti_behaviour_type_is_valid(type)) {
        return ACTOR_ID_INVALID;
    }
    struct rti_behaviour *self = kept_id != ACTOR_ID_INVALID ? behaviour_take_kept(module, kept_id)
                                                             : behaviour_take_place(module);
    if (self == NULL) {
        return ACTOR_ID_INVALID;
    }
    actor_id id = self->life_id;
    behaviour_begin(module, self, type, arg, birth);
    return id;
}

actor_id rt_behaviour_spawn(const rt_behaviour_type *type, void *arg)
{
    return rti_behaviour_spawn_as(type, arg, NULL);
}

static struct rti_behaviours *behaviours_of(struct rti_actors *actors)
{
    return rti_behaviours_at(actors->sched);
}

/* The place of an id that was issued, whoever lives there. */
static struct rti_behaviour *behaviour_place(struct rti_behaviours *module, actor_id id)
{
    uint32_t index = id & module->index_mask;
    RT_ASSERT(rti_is_behaviour_id(id) && index < module->fresh);
    return &module->places[index];
}

void rti_behaviour_forget_id(struct rti_actors *actors, actor_id kept_id)
{
    struct rti_behaviours *module = behaviours_of(actors);
    struct rti_behaviour *place = behaviour_place(module, kept_id);
    rti_lock_acquire(&module->lock, module->sched);
    RT_ASSERT(place->life_id == kept_id && !place->is_alive && module->kept_count > 0);
    module->kept_count--;
    behaviour_enqueue_free(module, (uint32_t)(place - module->places));
    rti_lock_release(&module->lock);
}

bool rti_behaviour_drop_id(struct rti_actors *actors, actor_id id, actor_id *kept)
{
    struct rti_behaviours *module = behaviours_of(actors);
    struct rti_behaviour *place = behaviour_place(module, id);
    rti_lock_acquire(&module->lock, module->sched);
    if (*kept != ACTOR_ID_INVALID && place->life_id == *kept && place->is_alive) {
        place->is_id_kept = false;
        *kept = ACTOR_ID_INVALID;
    }
    rti_lock_release(&module->lock);
    return rti_behaviour_lookup(module, id) != NULL;
}

struct rti_list *rti_behaviour_watchers(struct rti_actors *actors, actor_id id)
{
    struct rti_behaviours *module = behaviours_of(actors);
    struct rti_behaviour *self = module == NULL ? NULL : rti_behaviour_lookup(module, id);
    return self == NULL ? NULL : &self->watchers;
}

/* One worker: if it is this one's turn it ends, because it looks at its reductions alone. */
static void behaviour_interrupt(const struct rti_behaviour *behaviour)
{
    struct rti_turn *turn = rti_turn_of(rti_worker_current());
    if (turn != NULL && turn->self == behaviour) {
        rti_turn_cut(turn);
    }
}

void rti_behaviour_order(struct rti_behaviours *module, struct rti_behaviour *behaviour,
                         actor_id id, enum rti_order order)
{
    bool is_local = rti_sched_is_local(module->sched);
    uint32_t tag = behaviour_tag(module, id);
    uint32_t before = rti_u32_load_relaxed(&behaviour->orders);
    /* Before the look at the mute: who is about to be muted looks at the orders under the lock.
     * Acquire-release: pairs with the life's look when it obeys. */
    do {
        if (before >> RTI_ORDER_BITS != tag >> RTI_ORDER_BITS) {
            return; /* that life has ended */
        }
    } while (!rti_u32_cas_acqrel(&behaviour->orders, &before, before | order));
    if (rti_pressure_let_go(module, &behaviour->pressure)) {
        RT_SOMETIMES(true, "behaviour: an order reaches one that is muted");
    }
    bool was_idle;
    if (is_local) {
        behaviour_interrupt(behaviour);
        was_idle = rti_mpsc_rouse_alone(&behaviour->mailbox);
    } else {
        bool is_visiting = rti_solo_knock(module->sched);
        was_idle = rti_letterbox_nudge(rti_behaviour_letters(behaviour));
        rti_solo_go(module->sched, is_visiting);
    }
    if (was_idle) {
        rti_behaviour_rouse(module, behaviour);
    }
}

/* The turn that the caller is in; NULL, with the reason in `*status`, outside of a behaviour. */
static struct rti_turn *behaviour_enter(rt_status *status)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_turn *turn = worker == NULL ? NULL : rti_turn_of(worker);
    *status = turn != NULL
                  ? RT_SUCCESS
                  : (rt_status){RT_ERR_THREAD, RTI_SENTENCE("only a behaviour can do this")};
    return turn;
}

rt_status rt_behaviour_become(const rt_behaviour_type *type)
{
    rt_status status;
    struct rti_turn *turn = behaviour_enter(&status);
    if (turn == NULL) {
        return status;
    }
    if (!rti_behaviour_type_is_valid(type)) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("nothing can be of this type")};
    }
    turn->self->type = type;
    return RT_SUCCESS;
}

rt_status rt_behaviour_end(rt_exit_reason reason)
{
    rt_status status;
    struct rti_turn *turn = behaviour_enter(&status);
    if (turn == NULL) {
        return status;
    }
    if ((unsigned)reason > RT_EXIT_KILLED) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("this is no reason to end")};
    }
    rti_turn_end(turn, reason);
    return RT_SUCCESS;
}

#endif
