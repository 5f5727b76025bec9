/* SPDX-License-Identifier: Apache-2.0 */
/* The turns of behaviours, with one worker and with several; the essay is in behaviour.h. */
#define RTI_MODULE "turn"
#include "actor/behaviour.h"
#include "actor/ipc.h"
#include "base/marks.h"
#include "sched/chain.h"
#include "sched/crew.h"
#include "sched/fiber.h"
#include "sched/solo.h"

#if RT_HAS_BEHAVIOURS

/* How a turn ended. */
enum outcome {
    OUTCOME_AGAIN, /* there is more to do */
    OUTCOME_EMPTY, /* nothing waits; one worker */
    OUTCOME_RESTS, /* the same with several: it is parked already, and perhaps another's */
    OUTCOME_MUTED, /* it waits for another */
    OUTCOME_ENDED,
};

static RTI_ALWAYSINLINE void turn_handle(struct rti_behaviours *module, struct rti_behaviour *self,
                                         struct rti_cell *cell)
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
static RTI_NOINLINE void turn_tell(struct rti_turn *turn, struct rti_cell *cell)
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
static inline int32_t turn_mark(const struct rti_behaviour *self)
{
    return RTI_LIKELY(self->is_plain) ? RTI_GATE_NEVER
                                      : rti_pressure_mark(rti_pressure_limit(&self->pressure));
}

/* Does it drop what is too old? With several workers the receiver itself does. */
static bool turn_is_dropping(const struct rti_behaviour *self)
{
    const rt_mailbox_config *limit =
        RTI_LIKELY(self->is_plain) ? NULL : rti_pressure_limit(&self->pressure);
    return limit != NULL && limit->overflow == RT_OVERFLOW_DROP_OLD;
}

/* Drops a message that it has taken, for one that drops what is too old, if too many wait. */
static RTI_NOINLINE bool turn_drop(struct rti_behaviour *self)
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
static RTI_ALWAYSINLINE void turn_take(struct rti_turn *turn, struct rti_behaviour *self,
                                       struct rti_cell *cell, bool is_told)
{
    turn->cell = cell;
    if (RTI_LIKELY(cell->to == self->life_id)) {
        if (RTI_UNLIKELY(is_told)) {
            turn_tell(turn, cell);
        }
        turn_handle(turn->module, self, cell);
    } else {
        RT_SOMETIMES(true, "behaviour: a message for a former life is dropped");
        rti_behaviours_count_dead_letter(turn->module);
    }
    RT_DCHECK(turn->is_over == 0 || turn->reductions <= 0);
}

/* What comes is about no message, and belongs to no request. */
static void turn_forget_message(struct rti_turn *turn)
{
    turn->cell = NULL;
    if (rti_traces_are_used(turn->module->sched)) {
        *rti_trace_here(rti_worker_current()) = (struct rt_trace){.flags = 0};
    }
}

/* Does what others have ordered. */
static RTI_NOINLINE void turn_obey(struct rti_turn *turn, uint32_t orders)
{
    struct rti_behaviour *self = turn->self;
    turn_forget_message(turn);
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
static RTI_NOINLINE enum outcome turn_pause(struct rti_turn *turn)
{
    uint32_t orders = rti_u32_load_relaxed(&turn->self->orders);
    if ((orders & RTI_ORDERS) != 0 && !turn->is_ended) {
        turn_obey(turn, orders);
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
static RTI_ALWAYSINLINE void turn_take_alone(struct rti_turn *turn, struct rti_behaviour *self,
                                             struct rti_worker *worker, struct rti_mpsc_node *node,
                                             int32_t mark)
{
    struct rti_cell *cell = RTI_CONTAINER_OF(node, struct rti_cell, node);
    if (RTI_UNLIKELY(rti_gate_leave(&self->gate, mark))) {
        rti_pressure_release(turn->module, &self->pressure);
    }
    bool is_told = RTI_UNLIKELY(worker->straight_turn == NULL) && rti_sched_is_told(worker->sched);
    turn_take(turn, self, cell, is_told);
    if (RTI_LIKELY(turn->cell != NULL)) {
        rti_cell_free_alone(&turn->module->cells, cell);
    }
}

/* One worker: the messages of a turn after the first. What can end a turn before its mailbox is
 * empty takes its reductions, so that one comparison for each message asks for all of it. */
static RTI_NOINLINE enum outcome turn_work_on(struct rti_turn *turn, struct rti_behaviour *self,
                                              struct rti_worker *worker)
{
    int32_t mark = turn_mark(self);
    int32_t taken = 1;
    while (!rti_mpsc_is_empty_alone(&self->mailbox)) {
        if (RTI_UNLIKELY(taken == RT_BEHAVIOUR_BATCH)) {
            return OUTCOME_AGAIN;
        }
        struct rti_mpsc_node *node = rti_mpsc_pop_alone(&self->mailbox);
        /* Where many wait the next one is cold. */
        __builtin_prefetch(self->mailbox.head);
        turn_take_alone(turn, self, worker, node, mark);
        taken++;
        if (RTI_UNLIKELY(taken >= turn->reductions)) {
            return turn_pause(turn);
        }
    }
    return OUTCOME_EMPTY;
}

/* The messages of a turn, with one worker. Most turns are of one. */
static RTI_ALWAYSINLINE enum outcome
turn_work_alone(struct rti_turn *turn, struct rti_behaviour *self, struct rti_worker *worker)
{
    struct rti_mpsc_node *node = rti_mpsc_pop_first_alone(&self->mailbox);
    if (RTI_UNLIKELY(node == NULL)) {
        return OUTCOME_EMPTY;
    }
    turn_take_alone(turn, self, worker, node, turn_mark(self));
    if (RTI_UNLIKELY(turn->reductions <= 1)) {
        return turn_pause(turn);
    }
    return RTI_LIKELY(rti_mpsc_is_empty_alone(&self->mailbox)) ? OUTCOME_EMPTY
                                                               : turn_work_on(turn, self, worker);
}

/* Gives back a cell, with several workers. */
static inline void turn_free(const struct rti_turn *turn, struct rti_cell *cell)
{
    struct rti_cells *cells = &turn->module->cells;
#if RTI_HAS_CELL_CACHES
    rti_cell_free_at(cells, turn->cache, cell);
#else
    rti_cell_free(cells, cell);
#endif
}

/* The turn ends, but not by a rest: the last cell does not wait for the next turn. */
static RTI_NOINLINE enum outcome turn_pause_shared(struct rti_turn *turn, struct rti_cell *kept)
{
    if (kept != NULL) {
        struct rti_cells *cells = &turn->module->cells;
        rti_letterbox_let_go(rti_behaviour_letters(turn->self), rti_cells_origin(cells));
        rti_cell_free(cells, kept);
    }
    return turn_pause(turn);
}

/* Does somebody who is muted wait for the room that there is now, with several workers? */
static bool turn_is_awaited(const struct rti_letterbox *letters, struct rti_worker *worker)
{
    bool is_solo = rti_solo_begin(worker);
    bool is_awaited = rti_letterbox_is_awaited(letters, is_solo);
    rti_solo_finish(worker, is_solo);
    return is_awaited;
}

/* Rests, with several workers; see rti_rest_try. */
static RTI_ALWAYSINLINE bool turn_try_rest(struct rti_behaviour *self, struct rti_worker *worker)
{
    struct rti_letterbox *letters = rti_behaviour_letters(self);
    bool is_solo = rti_solo_begin(worker);
    bool is_resting = rti_rest_try(&self->run, letters, is_solo);
    rti_solo_finish(worker, is_solo);
    return is_resting;
}

#if RTI_HAS_CELL_CACHES

/* There may be room now for who is muted, with several workers: lets them go if so. */
static RTI_NOINLINE void turn_make_room(struct rti_turn *turn, struct rti_behaviour *self,
                                        struct rti_worker *worker, int32_t mark, uint32_t *entered)
{
    struct rti_letterbox *letters = rti_behaviour_letters(self);
    if (RTI_UNLIKELY(rti_letterbox_has_room(letters, mark, entered)) &&
        RTI_UNLIKELY(turn_is_awaited(letters, worker))) {
        rti_pressure_release(turn->module, &self->pressure);
    }
}

/* The letters that were taken over, but for the last one, while this worker works alone: then
 * nobody else can order anything, or begin to be told, and one question asks for both. Returns how
 * many were taken in the turn. */
static RTI_NOINLINE int32_t turn_work_taken_over(struct rti_turn *turn, struct rti_behaviour *self,
                                                 struct rti_worker *worker, int32_t taken,
                                                 uint32_t *entered)
{
    struct rti_letterbox *letters = rti_behaviour_letters(self);
    struct rti_cell_cache *cache = turn->cache;
    int32_t mark = turn_mark(self);
    uint32_t stile = rti_letterbox_stile(mark, *entered);
    struct rti_letter *letter = letters->first;
    do {
        struct rti_letter *next = letter->next;
        if (RTI_UNLIKELY(next == NULL)) {
            break;
        }
        letters->first = next;
        /* Where many wait the next one is cold. */
        __builtin_prefetch(next);
        if (RTI_UNLIKELY(rti_letterbox_leave_to(letters, stile))) {
            turn_make_room(turn, self, worker, mark, entered);
            stile = rti_letterbox_stile(mark, *entered);
        }
        struct rti_cell *cell = RTI_CONTAINER_OF(letter, struct rti_cell, letter);
        turn_take(turn, self, cell, false);
        taken++;
        /* It is not the last that came, so the mailbox does not name it. */
        if (RTI_LIKELY(turn->cell != NULL) && RTI_UNLIKELY(!rti_cell_cache_try_give(cache, cell))) {
            rti_cell_free(&turn->module->cells, cell);
        }
        letter = letters->first;
    } while (RTI_LIKELY(taken < turn->reductions) && RTI_LIKELY(taken != RT_BEHAVIOUR_BATCH) &&
             RTI_LIKELY(rti_solo_goes_on(worker)));
    return taken;
}

#endif

/* The same with several: an order can come at any time, and the word is looked at as well. `taken`
 * messages were handled in this turn, and `kept` is the last of them, if the mailbox names it. */
static enum outcome turn_work_shared(struct rti_turn *turn, struct rti_behaviour *self,
                                     struct rti_worker *worker, int32_t taken,
                                     struct rti_cell *kept)
{
    uintptr_t origin = rti_cells_origin(&turn->module->cells);
    struct rti_letterbox *letters = rti_behaviour_letters(self);
    uint32_t entered = rti_letterbox_entered(rti_letterbox_look(letters));
    int32_t mark = turn_mark(self);
    bool is_dropping = turn_is_dropping(self);
    /* A turn begins because something has come, as a rule. */
    bool is_more = taken == 0 && letters->first == NULL;
#if RTI_HAS_CELL_CACHES
    /* Nobody was told when this chain began; then that is so as long as it works alone. */
    bool is_quick = worker->shared_turn != NULL && !is_dropping;
#endif
    for (;;) {
        if (RTI_UNLIKELY((rti_u32_load_relaxed(&self->orders) & RTI_ORDERS) != 0 ||
                         taken >= turn->reductions || taken == RT_BEHAVIOUR_BATCH)) {
            rti_turn_count(turn, rti_worker_station(worker), taken);
            return turn_pause_shared(turn, kept);
        }
        if (letters->first == NULL) {
            /* It tries to rest before it looks for more: the rest looks itself, and most often
             * there is no more. */
            if (!is_more && RTI_LIKELY(turn_try_rest(self, worker))) {
                rti_turn_count(turn, rti_worker_station(worker),
                               taken); /* of it, another's now, nothing is touched */
                if (kept != NULL) {
                    turn_free(turn, kept);
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
                turn_free(turn, kept);
                kept = NULL;
            }
        }
#if RTI_HAS_CELL_CACHES
        if (is_quick && letters->first->next != NULL && rti_solo_goes_on(worker)) {
            taken = turn_work_taken_over(turn, self, worker, taken, &entered);
            continue;
        }
#endif
        struct rti_letter *letter = rti_letterbox_take(letters);
        /* Where many wait the next one is cold. */
        __builtin_prefetch(letters->first);
        struct rti_cell *cell = RTI_CONTAINER_OF(letter, struct rti_cell, letter);
        if (RTI_UNLIKELY(rti_letterbox_leave(letters, mark, &entered)) &&
            RTI_UNLIKELY(turn_is_awaited(letters, worker))) {
            rti_pressure_release(turn->module, &self->pressure);
        }
        turn->cell = cell;
        if (RTI_LIKELY(!is_dropping) || !turn_drop(self)) {
            turn_take(turn, self, cell, rti_sched_is_told(worker->sched));
        }
        taken++;
        if (RTI_UNLIKELY(turn->cell == NULL)) {
            continue; /* handed on */
        }
        /* One that others came behind is not named, as a rule. */
        if (letters->first == NULL && rti_letterbox_keeps(letters, origin, letter)) {
            kept = cell;
        } else {
            turn_free(turn, cell);
        }
    }
}

/* Queues one whose turn is over and that has more to do. */
static inline void turn_queue(struct rti_sched *sched, struct rti_runnable *run)
{
    if (RTI_LIKELY(rti_sched_is_local(sched))) {
        rti_processor_queue(&sched->processor, run);
    } else {
        rti_crew_queue(rti_sched_crew(sched), run);
    }
}

/* Its first turn, unless it was killed before. */
static RTI_NOINLINE void turn_start(struct rti_turn *turn)
{
    struct rti_behaviour *self = turn->self;
    if ((rti_u32_load_relaxed(&self->orders) & RTI_ORDER_KILL) != 0) {
        return;
    }
    self->is_started = true;
    self->is_plain = rti_pressure_limit(&self->pressure) == NULL;
    turn_forget_message(turn);
    if (self->type->start != NULL) {
        void *arg = self->state;
        self->state = self->type->state_size > 0 ? self->own : arg;
        self->type->start(self->state, arg);
    }
    self->state = self->type->state_size > 0 ? self->own : self->state;
}

/* A turn did not end for want of mail: it has more to do, is muted, or has ended. */
static RTI_NOINLINE void turn_leave(struct rti_turn *turn, struct rti_worker *worker,
                                    enum outcome outcome)
{
    struct rti_runnable *run = &turn->self->run;
    bool is_ended = outcome == OUTCOME_ENDED;
    if (is_ended) {
        rti_behaviour_end_life(turn, worker);
    }
#if RTI_HAS_CELL_CACHES
    /* After its `end`, which may send too: the turn is the next one's. */
    turn->muted_on = ACTOR_ID_INVALID;
#endif
    if (is_ended) {
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
        turn_queue(worker->sched, run);
    }
}

/* A turn begins: the state of the last one is gone. */
static RTI_ALWAYSINLINE struct rti_behaviour *turn_enter(struct rti_turn *turn,
                                                         struct rti_runnable *run)
{
    struct rti_behaviour *self = RTI_CONTAINER_OF(run, struct rti_behaviour, run);
    rti_turn_begin(turn, self);
    return self;
}

static RTI_ALWAYSINLINE bool turn_has_orders(const struct rti_behaviour *self)
{
    return RTI_UNLIKELY((rti_u32_load_relaxed(&self->orders) & RTI_ORDERS) != 0);
}

/* Has it something to do before its messages? */
static RTI_ALWAYSINLINE bool turn_is_called(const struct rti_behaviour *self)
{
    return RTI_UNLIKELY(!self->is_started) || turn_has_orders(self);
}

/* One worker: it begins with other than a message. True if that leaves nothing of the turn. */
static RTI_NOINLINE bool turn_prepare(struct rti_turn *turn)
{
    struct rti_behaviour *self = turn->self;
    if (!self->is_started) {
        turn_start(turn);
    }
    if ((rti_u32_load_relaxed(&self->orders) & RTI_ORDERS) != 0) {
        rti_turn_cut(turn);
    }
    return turn->reductions <= 0;
}

static RTI_ALWAYSINLINE void turn_alone(struct rti_turn *turn, struct rti_runnable *run,
                                        struct rti_worker *worker)
{
    struct rti_behaviour *self = turn_enter(turn, run);
    enum outcome outcome;
    if (RTI_UNLIKELY(turn_is_called(self)) && turn_prepare(turn)) {
        outcome = turn_pause(turn);
    } else {
        outcome = turn_work_alone(turn, self, worker);
    }
    if (RTI_UNLIKELY(outcome != OUTCOME_EMPTY)) {
        turn_leave(turn, worker, outcome);
    } else {
        rti_rest_alone(run, &self->mailbox);
    }
}

static RTI_NOINLINE void turn_shared(struct rti_turn *turn, struct rti_worker *worker,
                                     int32_t taken, struct rti_cell *kept)
{
    struct rti_behaviour *self = turn->self;
    if (RTI_UNLIKELY(!self->is_started)) {
        turn_start(turn);
    }
    enum outcome outcome = turn_work_shared(turn, self, worker, taken, kept);
    if (RTI_UNLIKELY(outcome != OUTCOME_RESTS)) {
        turn_leave(turn, worker, outcome);
    }
}

/* The turns of behaviours that follow each other on the one worker, without the scheduler. */
static RTI_ALWAYSINLINE void turns_alone(struct rti_turn *turn, struct rti_runnable *run,
                                         struct rti_worker *worker)
{
    do {
        turn_alone(turn, run, worker);
        run = rti_worker_go_on(worker, rti_behaviour_step);
    } while (run != NULL);
}

/* The same with several: as long as each wakes the next. */
static void turns_shared(struct rti_turn *turn, struct rti_runnable *run, struct rti_worker *worker)
{
    do {
        (void)turn_enter(turn, run);
        turn_shared(turn, worker, 0, NULL);
#if RTI_ONE_WORKER
        run = NULL;
#else
        run = rti_chain_next(worker, rti_behaviour_step);
#endif
    } while (run != NULL);
}

#if RTI_HAS_CELL_CACHES

/* With several workers: takes the first message of a turn if it has been taken over by who sent it,
 * alone, and nobody has ordered anything. NULL if it is any other case. */
static RTI_ALWAYSINLINE struct rti_cell *turn_take_first(struct rti_behaviour *self)
{
    struct rti_letterbox *letters = rti_behaviour_letters(self);
    if (RTI_UNLIKELY(!self->is_plain) || turn_has_orders(self)) {
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
 * who is next at the station, if anybody is and the chain is not cut. False if it is any other
 * case, and nothing has happened. */
static RTI_ALWAYSINLINE bool turn_go_on(struct rti_turn *turn, struct rti_behaviour *self,
                                        struct rti_worker *worker, struct rti_station *station,
                                        bool is_cut, struct rti_runnable **next)
{
    struct rti_letterbox *letters = rti_behaviour_letters(self);
    struct rti_cell *cell = turn->cell;
    /* An order nudges after it is there: it keeps awake who has not rested, or wakes. */
    if (RTI_UNLIKELY(cell == NULL || turn->reductions <= 1 || letters->first != NULL) ||
        RTI_UNLIKELY(!rti_solo_enter(worker))) {
        return false;
    }
    bool is_resting = rti_rest_try(&self->run, letters, true);
    bool is_followed = is_resting && !is_cut;
    struct rti_runnable *taken = is_followed ? rti_station_pick_alone(station) : NULL;
    rti_solo_leave(worker);
    if (RTI_UNLIKELY(!is_resting)) {
        return false;
    }
    rti_turn_count(turn, station, 1); /* of it, another's now, nothing is touched */
    if (RTI_UNLIKELY(!rti_cell_cache_try_give(turn->cache, cell))) {
        rti_cell_free(&turn->module->cells, cell);
    }
    *next =
        taken == NULL ? NULL : rti_chain_begin_oldest(worker, station, taken, rti_behaviour_step);
    return true;
}

/* A turn of any other kind, or the rest of one whose first message `cell` was handled. */
static RTI_NOINLINE void turn_otherwise(struct rti_turn *turn, struct rti_worker *worker,
                                        struct rti_cell *cell)
{
    if (cell == NULL) {
        turn_shared(turn, worker, 0, NULL);
        return;
    }
    struct rti_letterbox *letters = rti_behaviour_letters(turn->self);
    struct rti_cell *kept = turn->cell; /* NULL: handed on */
    uintptr_t origin = rti_cells_origin(&turn->module->cells);
    if (kept != NULL && !rti_letterbox_keeps(letters, origin, &cell->letter)) {
        turn_free(turn, cell);
        kept = NULL;
    }
    turn_shared(turn, worker, 1, kept);
}

/* The same where the station has a cache of messages, and nobody records or is told. Whoever begins
 * to be told ends that anybody works alone, and only who does goes on here without the question; a
 * chain that begins asks it, before anybody can work alone again. */
static RTI_ALWAYSINLINE void turns_quick(struct rti_turn *turn, struct rti_runnable *run,
                                         struct rti_worker *worker)
{
    struct rti_station *station = worker->station;
    int32_t left = rti_chain_length(worker);
    do {
        struct rti_behaviour *self = turn_enter(turn, run);
        struct rti_cell *cell = turn_take_first(self);
        if (RTI_LIKELY(cell != NULL)) {
            turn_take(turn, self, cell, false);
            left--;
            bool is_cut = RTI_UNLIKELY(left < 0) || rti_chain_is_called(worker);
            if (RTI_LIKELY(turn_go_on(turn, self, worker, station, is_cut, &run))) {
                continue;
            }
        }
        turn_otherwise(turn, worker, cell);
        run = rti_chain_next(worker, rti_behaviour_step);
        if (RTI_UNLIKELY(run != NULL && rti_sched_is_told(worker->sched))) {
            turns_shared(turn, run, worker);
            return;
        }
        left = rti_chain_length(worker);
    } while (run != NULL);
}

#endif

void rti_behaviour_step(struct rti_runnable *run, struct rti_worker *worker)
{
    struct rti_behaviours *module = rti_behaviours_of(worker);
    struct rti_turn turn = {.module = module};
    worker->turn = &turn;
    if (RTI_LIKELY(rti_sched_is_local(module->sched))) {
        bool is_straight = worker->straight[RTI_MODULE_BEHAVIOUR] != NULL;
        worker->straight_turn = is_straight && !rti_sched_is_told(module->sched) ? &turn : NULL;
        turns_alone(&turn, run, worker);
        worker->straight_turn = NULL;
    } else {
#if RTI_HAS_CELL_CACHES
        turn.cache = rti_cells_cache_of(&module->cells, worker);
        bool is_quick = turn.cache != NULL && !rti_worker_records(worker);
        if (RTI_LIKELY(is_quick && !rti_sched_is_told(module->sched))) {
            worker->shared_turn = &turn;
            turns_quick(&turn, run, worker);
            worker->shared_turn = NULL;
            worker->turn = NULL;
            return;
        }
#endif
        turns_shared(&turn, run, worker);
    }
    worker->turn = NULL;
}

#endif

void rt_reductions_add(uint32_t count)
{
    struct rti_worker *worker = rti_worker_enter();
    if (worker == NULL) {
        return;
    }
    struct rti_turn *turn = rti_turn_of(worker);
    if (turn != NULL) {
        if (turn->reductions <= 0 || count >= (uint32_t)turn->reductions) {
            rti_turn_cut(turn);
        } else {
            turn->cut += (int32_t)count; /* what the program computes is no message */
            turn->reductions -= (int32_t)count;
        }
        return;
    }
    struct rti_actor *self = rti_actor_of(worker);
    if (self == NULL) {
        return;
    }
    self->turn_mark -= count;
    rti_count work = self->messages_sent + self->messages_received;
    if (work - self->turn_mark >= RT_REDUCTIONS) {
        self->turn_mark = work;
        rti_fiber_yield(worker);
    }
}
