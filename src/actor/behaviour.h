/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_BEHAVIOUR_H
#define RTI_BEHAVIOUR_H

/* Behaviours: runnables without a stack, in a table of places. The manual is
 * <orrery/rt/behaviour.h>, the reasons are in docs/internals/behaviour.md.
 *
 * A place has many lives, one after the other, and its memory and its mailbox outlive them all. So
 * a sender needs no lock and no count to be sure that the mailbox is there: it compares the id of
 * the place with the one it was given, pushes, and at worst pushes to a life that has just ended.
 * Each message names the life it is for; another life drops it.
 *
 *     id = 1 << 31 | generation << index_bits | index       generation >= 1
 *
 * Scheduled or not is said by the mailbox itself (base/mpsc.h with one worker, actor/letterbox.h
 * with several): a consumer that finds nothing more marks its queue idle in the same atomic step
 * that shows that it is empty, and the one push that finds the mark wakes it. Three other ways to
 * be without a turn keep the queue unmarked, so that no push wakes what must not run: before the
 * first turn, muted, and between two lives.
 *
 *     free --spawn--> READY --turn--> idle --push--> READY
 *                       ^  |          muted --release--> READY
 *                       |  +--again--> READY (batch or reductions used up)
 *                       +-- end: taken apart in its own last turn, then free
 *
 * Orders come from outside (kill, stop) as bits of a word. Who orders takes the mark away and
 * wakes; with several workers by a nudge, which also keeps one awake that is about to rest. There
 * the word is looked at before every message, so an order does not wait behind the mail; with one
 * worker it is looked at when a turn begins, and who is given an order in its own turn has no
 * reductions left. So it is with several while a worker works alone: it looks whether it still does
 * before every message, and who orders from elsewhere ends that (decision 112).
 *
 * The mistakes that the specification's text would lead to, and what is here instead: AC-Z3 skips
 * the first message (the resting node is no message); AC-Z4 sets idle over scheduled when the turn
 * ends (the runnable's own state word goes RUNNING to PARKED or, if a wake came, to READY); AC-Z5
 * loses a muted sender when a list cannot grow (the link is part of the actor).
 *
 * I1  `reachable_id` is `life_id` or ACTOR_ID_INVALID.                     (rti_behaviours_audit)
 * I2  A queue that is marked idle belongs to a life that is parked and not muted. (audit)
 * I3  A behaviour runs on at most one worker (runnable.h, I2).
 * I4  When a life has ended nothing of it is listed anywhere.             (behaviour_die)
 * I5  The limit of the gate is that of the pressure of its life.            (rti_behaviours_audit)
 *
 * Who writes: the life itself, in its turn, but for `reachable_id` and `orders` (any worker),
 * the mailbox (mpsc.h and gate.h, or letterbox.h), `pressure` (pressure.h), `watchers` (the actor
 * system). Pairs: the release of reachable_id in the spawn with the acquire in the lookup.
 *
 * Costs: 256 bytes, static assert; a send and its dispatch are measured by bench/behaviour_bench.
 *
 * Rejected: a table of pointers to behaviours that are freed (senders would need hazard pointers);
 * the life in the mailbox's tail (a double-width exchange); a flag "scheduled" beside the queue
 * (two words that must agree). */

#include <orrery/rt/behaviour.h>
#include <orrery/rt/blob.h>
#include <orrery/rt_static_config.h>

#include "actor/actors.h"
#include "actor/attachment.h"
#include "actor/cells.h"
#include "actor/letterbox.h"
#include "actor/pressure.h"
#include "actor/rest.h"
#include "base/mpsc.h"
#include "sched/runnable.h"

#define RTI_BEHAVIOUR_ID_BIT         UINT32_C(0x80000000)
#define RTI_BEHAVIOUR_INDEX_BITS_MAX 20
#define RTI_BEHAVIOUR_NONE           UINT32_MAX

/* What others want of a behaviour. The bits above are the generation of the life that is meant, so
 * that an order which comes too late finds another number there and does nothing. */
enum rti_order {
    RTI_ORDER_KILL = 1,
    RTI_ORDER_STOP = 2,
    RTI_ORDER_BITS = 2,
};
#define RTI_ORDERS (RTI_ORDER_KILL | RTI_ORDER_STOP)

/* Where one worker is all there can be no mailbox has several senders at a time. */
#define RTI_HAS_LETTERBOXES (RT_MAX_WORKERS > 1)

/* With several workers the order of the fields keeps apart what is written by the receiver and what
 * by its senders, in lines of 64 bytes: first what both read and who is woken is written, then the
 * word of the mailbox, then what the receiver alone writes for each message. With one worker the
 * first two lines are all that a message needs of a place. */
struct rti_behaviour {
    struct rti_runnable run;
    const rt_behaviour_type *type;
    void *state;
    rti_atomic_u32 reachable_id;
    uint32_t life_id; /* of the present life, or the last one */
    rti_atomic_u32 orders;
    bool is_started;
    bool is_id_kept : 1; /* the id stays taken when this life ends; under the module's lock */
    bool is_alive : 1;   /* from the spawn to the end of its last turn; the same */
    bool is_named;       /* this life has or had a name; under the lock of the actors */
    bool is_plain; /* it has begun, without a limit: asked in every turn, in a line that is there */
    struct rti_list watchers;
    struct rti_list attachments;
    union {
        struct { /* one worker */
            struct rti_mpsc mailbox;
            struct rti_gate gate;
        };
#if RTI_HAS_LETTERBOXES
        struct { /* several */
            uint64_t apart[3];
            struct rti_letterbox letters; /* its word is the last of a line */
        };
#endif
    };
    union {
        _Alignas(8) unsigned char own[RT_BEHAVIOUR_STATE_MAX]; /* its state, if that is small */
        uint32_t next_free; /* nobody lives here: index, RTI_BEHAVIOUR_NONE at the end */
    };
    struct rti_pressure pressure;
};

struct rti_behaviours {
    struct rti_actors *actors;
    struct rti_sched *sched;
    struct rti_behaviour *places;
    size_t capacity;
    uint32_t index_bits;
    uint32_t index_mask;
    uint32_t fresh;     /* places that were ever used */
    uint32_t free_head; /* freed first, used next; RTI_BEHAVIOUR_NONE */
    uint32_t free_tail;
    uint32_t live;
    uint32_t live_max;
    uint32_t kept_count; /* ids that are taken although nobody lives under them */
    rti_atomic_u32 dead_letters;
    struct rti_lock lock;      /* the places that are free */
    struct rti_lock mute_lock; /* who is muted */
    struct rti_cells cells;
    void *mapped; /* from rt_behaviour_reserve; NULL: the static memory */
    size_t mapped_size;
    struct rti_dense dense; /* the places */
    struct rti_behaviour static_places[RT_MAX_BEHAVIOURS];
    _Alignas(RTI_ONE_WORKER ? 16 : RTI_CACHE_LINE) unsigned char static_cells[RTI_CELLS_BYTES(
        RTI_CELLS_STOCK_MAX(RT_BEHAVIOUR_MESSAGE_POOL_SIZE))];
};

/* A turn of a behaviour, on the worker's stack. */
struct rti_turn {
    struct rti_behaviour *self;
    struct rti_behaviours *module;
    struct rti_cell *cell; /* in a handler: its message; NULL once handed on */
#if RTI_HAS_CELL_CACHES
    struct rti_cell_cache *cache; /* of the station, which stays for the turn; NULL: none */
#endif
    int32_t reductions; /* left when it began, without what it spent on other than messages */
    int32_t cut;        /* of those: not spent on what it sent */
    union {
        struct {
            bool is_muted; /* it may not go on */
            bool is_ended;
        };
        uint16_t is_over; /* not 0: either */
    };
#if RTI_HAS_CELL_CACHES
    actor_id muted_on; /* it has too many, and takes what else this turn sends; 0: nobody */
#endif
    rt_exit_reason reason; /* if it has ended */
};

/* The module of a scheduler; NULL if it has none. */
static inline struct rti_behaviours *rti_behaviours_at(const struct rti_sched *sched)
{
    return RT_HAS_BEHAVIOURS ? sched->modules[RTI_MODULE_BEHAVIOUR] : NULL;
}

static inline struct rti_behaviours *rti_behaviours_of(const struct rti_worker *worker)
{
    return worker == NULL ? NULL : rti_behaviours_at(worker->sched);
}

/* The turn that the caller is in; NULL outside of a behaviour. A turn is on the worker's own stack,
 * and no fiber runs until it is over. */
static inline struct rti_turn *rti_turn_of(const struct rti_worker *worker)
{
#if RT_HAS_BEHAVIOURS
    return worker->turn;
#else
    (void)worker;
    return NULL;
#endif
}

static RTI_ALWAYSINLINE void rti_turn_begin(struct rti_turn *turn, struct rti_behaviour *self)
{
    turn->self = self;
    turn->reductions = RT_REDUCTIONS;
    turn->cut = 0;
    turn->is_over = 0;
}

/* The turn ends with what it is about. */
static inline void rti_turn_cut(struct rti_turn *turn)
{
    if (turn->reductions > 0) {
        turn->cut += turn->reductions;
        turn->reductions = 0;
    }
}

/* The life ends with this turn. */
static inline void rti_turn_end(struct rti_turn *turn, rt_exit_reason reason)
{
    turn->is_ended = true;
    turn->reason = reason;
    rti_turn_cut(turn);
}

/* Tells the station what was done in a turn: messages that were taken and sent (sched/width.h). */
static inline void rti_turn_count(const struct rti_turn *turn, struct rti_station *station,
                                  int32_t taken)
{
#if RTI_ONE_WORKER
    (void)turn, (void)station, (void)taken;
#else
    uint32_t sent = (uint32_t)RT_REDUCTIONS - (uint32_t)turn->cut - (uint32_t)turn->reductions;
    rti_station_count(&station->messages, (uint32_t)taken + sent);
#endif
}

static inline bool rti_is_behaviour_id(actor_id id)
{
    return RT_HAS_BEHAVIOURS && id >= RTI_BEHAVIOUR_ID_BIT && id < RT_SENDER_SUPERVISOR;
}

/* The living behaviour with this id; NULL for every other number. */
static inline struct rti_behaviour *rti_behaviour_lookup(struct rti_behaviours *module, actor_id id)
{
    uint32_t index = id & module->index_mask;
    /* No life has one of the ids above: the comparison refuses them. */
    if (RTI_UNLIKELY(id < RTI_BEHAVIOUR_ID_BIT || index >= module->capacity)) {
        return NULL;
    }
    struct rti_behaviour *place = &module->places[index];
    RTI_ASSUME(place != NULL);
    /* Acquire pairs with the release in the spawn: the place is complete. */
    return RTI_LIKELY(rti_u32_load_acquire(&place->reachable_id) == id) ? place : NULL;
}

/* Its mailbox on an engine with several workers. */
static inline struct rti_letterbox *rti_behaviour_letters(struct rti_behaviour *behaviour)
{
#if RTI_HAS_LETTERBOXES
    return &behaviour->letters;
#else
    (void)behaviour;
    return NULL;
#endif
}

/* Its gate, on either engine: the functions of gate.h and letterbox.h. */
static inline uint32_t rti_behaviour_depth(const struct rti_behaviours *module,
                                           struct rti_behaviour *behaviour, uint32_t limit)
{
    return rti_sched_is_local(module->sched)
               ? rti_gate_depth(&behaviour->gate, limit)
               : rti_letterbox_depth(rti_behaviour_letters(behaviour), limit);
}

static inline void rti_behaviour_set_limit(const struct rti_behaviours *module,
                                           struct rti_behaviour *behaviour, uint32_t before,
                                           uint32_t now)
{
    if (rti_sched_is_local(module->sched)) {
        rti_gate_set_limit(&behaviour->gate, before, now);
    } else {
        rti_letterbox_set_limit(rti_behaviour_letters(behaviour), before, now);
    }
}

static inline bool rti_behaviour_announce(const struct rti_behaviours *module,
                                          struct rti_behaviour *behaviour, int32_t mark)
{
    return rti_sched_is_local(module->sched)
               ? rti_gate_announce(&behaviour->gate, mark)
               : rti_letterbox_announce(rti_behaviour_letters(behaviour), mark);
}

static inline void rti_behaviour_withdraw(const struct rti_behaviours *module,
                                          struct rti_behaviour *behaviour)
{
    if (rti_sched_is_local(module->sched)) {
        rti_gate_withdraw(&behaviour->gate);
    } else {
        rti_letterbox_withdraw(rti_behaviour_letters(behaviour));
    }
}

/* Messages in its mailbox; checks what can be checked. Nobody is at work. */
static inline size_t rti_behaviour_audit_mail(const struct rti_behaviours *module,
                                              struct rti_behaviour *behaviour)
{
    return rti_sched_is_local(module->sched)
               ? rti_mpsc_audit(&behaviour->mailbox)
               : rti_letterbox_audit(rti_behaviour_letters(behaviour),
                                     rti_cells_origin(&module->cells));
}

/* Hangs the module at the scheduler of `actors`. */
void rti_behaviours_init(struct rti_behaviours *module, struct rti_actors *actors);
/* Nothing lives. */
void rti_behaviours_deinit(struct rti_behaviours *module);
void rti_behaviours_audit(const struct rti_behaviours *module);

static inline void rti_behaviours_count_dead_letter(struct rti_behaviours *module)
{
    (void)rti_u32_add_relaxed(&module->dead_letters, 1);
}

/* Dooms every living behaviour. Called on the worker's own stack. */
void rti_behaviours_kill_all(struct rti_behaviours *module);

/* Ends the messages that nobody will handle. By who is the consumer of this mailbox. */
void rti_behaviour_clear(struct rti_behaviours *module, struct rti_behaviour *self);

/* The step of every behaviour: its turn, and those of others that follow (turn.c). */
void rti_behaviour_step(struct rti_runnable *run, struct rti_worker *worker);

/* Its last turn is over: takes its life apart, and tells those who watch it. */
void rti_behaviour_end_life(struct rti_turn *turn, struct rti_worker *worker);

bool rti_behaviour_type_is_valid(const rt_behaviour_type *type);

/* How a supervised behaviour differs from another when it is spawned; as struct rti_birth. */
struct rti_behaviour_birth {
    actor_id kept_id;
    void (*prepare)(struct rti_behaviour *behaviour, void *arg);
    void *arg;
};

/* Starts a behaviour; `birth` may be NULL. */
actor_id rti_behaviour_spawn_as(const rt_behaviour_type *type, void *arg,
                                const struct rti_behaviour_birth *birth);

/* Gives an id back that was kept and that nobody lives under. */
void rti_behaviour_forget_id(struct rti_actors *actors, actor_id kept_id);
/* The id goes with its life: clears *kept if there is a life; true if it can be reached. */
bool rti_behaviour_drop_id(struct rti_actors *actors, actor_id id, actor_id *kept);

/* Those who watch a living behaviour; NULL if it is none. */
struct rti_list *rti_behaviour_watchers(struct rti_actors *actors, actor_id id);

/* Gives an order to the life `id` in this place, if it has not ended. */
void rti_behaviour_order(struct rti_behaviours *module, struct rti_behaviour *behaviour,
                         actor_id id, enum rti_order order);
void rti_behaviour_ask_to_stop(struct rti_actors *actors, actor_id id);

/* Ends the behaviour with this id; RT_ERR_INVALID if there is none. */
rt_status rti_behaviour_kill(struct rti_actors *actors, actor_id id);

/* Makes one ready whose mailbox was marked idle, for the push that found the mark. */
static inline void rti_behaviour_rouse(struct rti_behaviours *module,
                                       struct rti_behaviour *behaviour)
{
    if (rti_sched_is_local(module->sched)) {
        rti_sched_wake(module->sched, &behaviour->run);
        return;
    }
    RTI_PROBE1(ready, behaviour->run.id);
    rti_rest_end(&behaviour->run);
    rti_sched_queue_shared(module->sched, &behaviour->run);
}

/* rt_behaviour_send but for the thread. */
rt_status rti_behaviour_send(struct rti_worker *worker, actor_id to, uint32_t id, const void *data,
                             size_t len);

/* The same for the token of a blob, whose hold goes along, or is given back on failure. */
rt_status rti_behaviour_send_blob(struct rti_worker *worker, actor_id to, uint32_t id,
                                  const rt_blob_token *token);

/* Who sends: the actor of either kind that runs on this worker; ACTOR_ID_INVALID: main. */
actor_id rti_sender_id(const struct rti_worker *worker);

#endif
