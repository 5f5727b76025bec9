/* SPDX-License-Identifier: Apache-2.0 */
/* The places and the lives of behaviours; their turns are in turn.c, the essay is in behaviour.h.
 */
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
#if RT_HAS_NAMES
    if (RTI_UNLIKELY(self->is_named)) {
        rti_registry_forget_behaviour(&module->actors->registry, self->life_id);
    }
#endif
    rti_actors_unlock(module->actors);
    rti_attachments_end(&self->attachments);
    RT_ASSERT(rti_list_is_empty(&self->pressure.muted) && self->pressure.on == ACTOR_ID_INVALID);
    if (rti_runnable_state(&self->run) == RTI_RUNNABLE_WOKEN) {
        /* It was muted and released in its last turn. Nobody wakes it from here on. */
        rti_runnable_to(&self->run, RTI_RUNNABLE_WOKEN, RTI_RUNNABLE_RUNNING);
    }
    rti_sched_end(module->sched, &self->run);
}

/* Its last turn is over. */
void rti_behaviour_end_life(struct rti_turn *turn, struct rti_worker *worker)
{
    struct rti_behaviours *module = turn->module;
    struct rti_list watchers;
    actor_id id = turn->self->life_id;
    rt_exit_reason reason = turn->reason; /* whatever its `end` says of another */
    rti_list_init(&watchers);
    behaviour_die(turn, &watchers);
    worker->turn = NULL;
    behaviour_give_place(module, turn->self);
    rti_actors_lock(module->actors);
    rti_monitors_tell(&watchers, id, reason);
    rti_actors_unlock(module->actors);
    worker->turn = turn; /* the next one's */
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
    self->is_named = false;
    rti_list_init(&self->watchers);
    rti_list_init(&self->attachments);
    self->is_plain = false;
    bool is_limited = type->mailbox.high > 0 || type->mailbox.is_system;
    const rt_mailbox_config *limit = is_limited ? &type->mailbox : NULL;
    /* Under the lock: an order for a former life may still look whether that one is muted. */
    rti_lock_acquire(&module->mute_lock, module->sched);
    rti_pressure_init(&self->pressure, self->life_id, limit);
    rti_behaviour_set_limit(module, self, RTI_GATE_OPEN, rti_pressure_high(limit));
    rti_lock_release(&module->mute_lock);
    memset(self->own, 0, sizeof(self->own));
    behaviour_set_orders(self, behaviour_tag(module, self->life_id));
    rti_runnable_init(&self->run, self->life_id, (uint8_t)type->priority, rti_behaviour_step);
    if (birth != NULL) {
        rti_actors_lock(module->actors);
        birth->prepare(self, birth->arg);
    }
    /* Pairs with the acquire in rti_behaviour_lookup. */
    rti_u32_store_release(&self->reachable_id, self->life_id);
    if (birth != NULL) {
        rti_actors_unlock(module->actors);
    }
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
    RT_ASSERT(rti_is_behaviour_id(id) && index < module->capacity);
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

/* If it is in a turn of its own that one ends: who is alone looks at its reductions, not at its
 * orders. */
static void behaviour_interrupt(const struct rti_behaviour *behaviour)
{
    const struct rti_worker *worker = rti_worker_current();
    struct rti_turn *turn = worker == NULL ? NULL : rti_turn_of(worker);
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
    behaviour_interrupt(behaviour);
    if (is_local) {
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
