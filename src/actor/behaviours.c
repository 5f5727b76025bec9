/* SPDX-License-Identifier: Apache-2.0 */
/* The behaviours of a scheduler together: the room for them, their numbers, their end. The essay is
 * in behaviour.h; what one of them does is in behaviour.c. */
#define RTI_MODULE "behaviours"
#include "actor/behaviour.h"

#include "sched/crew.h"

#if RT_HAS_BEHAVIOURS

void rti_behaviour_ask_to_stop(struct rti_actors *actors, actor_id id)
{
    struct rti_behaviours *module = rti_behaviours_at(actors->sched);
    struct rti_behaviour *self = rti_behaviour_lookup(module, id);
    /* It may be doomed or dead already: its exit message comes. */
    if (self != NULL) {
        rti_behaviour_order(module, self, id, RTI_ORDER_STOP);
    }
}

rt_status rti_behaviour_kill(struct rti_actors *actors, actor_id id)
{
    struct rti_behaviours *module = rti_behaviours_at(actors->sched);
    struct rti_behaviour *self = module == NULL ? NULL : rti_behaviour_lookup(module, id);
    uint32_t expected = id;
    /* Only one kill finds it, and none a life that came later. Acquire-release: pairs with the
     * release in the spawn. */
    if (self == NULL || !rti_u32_cas_acqrel(&self->reachable_id, &expected, ACTOR_ID_INVALID)) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("no living actor has this id")};
    }
    rti_behaviour_order(module, self, id, RTI_ORDER_KILL);
    return RT_SUCCESS;
}

void rti_behaviours_kill_all(struct rti_behaviours *module)
{
    for (uint32_t i = 0; i < module->fresh; i++) {
        actor_id id = rti_u32_load_relaxed(&module->places[i].reachable_id);
        if (id != ACTOR_ID_INVALID) {
            (void)rti_behaviour_kill(module->actors, id);
        }
    }
}

bool rti_behaviour_type_is_valid(const rt_behaviour_type *type)
{
    return type != NULL && (type->handlers != NULL || type->handler_count == 0) &&
           (type->handler_count > 0 || type->otherwise != NULL) &&
           type->state_size <= RT_BEHAVIOUR_STATE_MAX &&
           (unsigned)type->priority < RTI_PRIORITY_LEVELS &&
           rti_mailbox_config_is_valid(&type->mailbox);
}

static void behaviours_set_room(struct rti_behaviours *module, struct rti_behaviour *places,
                                size_t capacity)
{
    module->places = places;
    module->capacity = capacity;
    module->index_bits = 1;
    while (((size_t)1 << module->index_bits) < capacity) {
        module->index_bits++;
    }
    module->index_mask = (UINT32_C(1) << module->index_bits) - 1;
}

/* How many stations take messages; 0: there are none. */
static uint32_t behaviours_workers(const struct rti_behaviours *module)
{
    return rti_sched_is_local(module->sched) ? 0 : rti_sched_crew(module->sched)->stations_count;
}

void rti_behaviours_init(struct rti_behaviours *module, struct rti_actors *actors)
{
    RT_ASSERT(actors->sched->modules[RTI_MODULE_BEHAVIOUR] == NULL);
    module->actors = actors;
    module->sched = actors->sched;
    behaviours_set_room(module, module->static_places, RT_MAX_BEHAVIOURS);
    module->fresh = 0;
    module->free_head = RTI_BEHAVIOUR_NONE;
    module->free_tail = RTI_BEHAVIOUR_NONE;
    module->live = 0;
    module->live_max = 0;
    module->kept_count = 0;
    module->mapped = NULL;
    rti_port_expect_dense(module->sched->port, &module->dense, NULL, 0);
    rti_u32_init(&module->dead_letters, 0);
    rti_lock_init(&module->lock, actors->sched, RTI_LOCK_CHANNEL);
    rti_lock_init(&module->mute_lock, actors->sched, RTI_LOCK_CHANNEL);
    _Static_assert(RTI_ONE_WORKER || sizeof(module->static_cells) / 8 <= RTI_LETTERS_SPAN_MAX,
                   "every cell has a name");
    rti_cells_init(&module->cells, actors->sched, module->static_cells,
                   RT_BEHAVIOUR_MESSAGE_POOL_SIZE, behaviours_workers(module));
    actors->sched->modules[RTI_MODULE_BEHAVIOUR] = module;
}

/* Ends a message that nobody will handle. */
static void behaviour_drop(struct rti_behaviours *module, struct rti_cell *cell)
{
    rti_behaviours_count_dead_letter(module);
    rti_cell_free(&module->cells, cell);
}

static void behaviour_clear_shared(struct rti_behaviours *module, struct rti_behaviour *self)
{
    struct rti_letterbox *letters = rti_behaviour_letters(self);
    uintptr_t origin = rti_cells_origin(&module->cells);
    do {
        struct rti_letter *letter;
        while ((letter = rti_letterbox_take(letters)) != NULL) {
            uint32_t entered = 0;
            (void)rti_letterbox_leave(letters, RTI_GATE_NEVER, &entered);
            if (rti_letterbox_keeps(letters, origin, letter)) {
                rti_letterbox_let_go(letters, origin);
            }
            behaviour_drop(module, RTI_CONTAINER_OF(letter, struct rti_cell, letter));
        }
    } while (rti_letterbox_collect(letters, origin));
}

void rti_behaviour_clear(struct rti_behaviours *module, struct rti_behaviour *self)
{
    if (!rti_sched_is_local(module->sched)) {
        behaviour_clear_shared(module, self);
        return;
    }
    struct rti_mpsc_node *node;
    while ((node = rti_mpsc_pop_alone(&self->mailbox)) != NULL) {
        (void)rti_gate_leave(&self->gate, RTI_GATE_NEVER);
        behaviour_drop(module, RTI_CONTAINER_OF(node, struct rti_cell, node));
    }
}

void rti_behaviours_deinit(struct rti_behaviours *module)
{
    struct rti_port *port = module->sched->port;
    RT_ASSERT(module->live == 0 && module->kept_count == 0);
    for (uint32_t i = 0; i < module->fresh; i++) {
        rti_behaviour_clear(module, &module->places[i]);
    }
    rti_cells_deinit(&module->cells);
    if (module->mapped != NULL) {
        port->ops->memory_unmap(port, module->mapped, module->mapped_size);
    }
    module->actors->sched->modules[RTI_MODULE_BEHAVIOUR] = NULL;
}

rt_status rt_behaviour_reserve(const rt_behaviour_room *room)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_behaviours *module = rti_behaviours_of(worker);
    if (module == NULL) {
        return rti_actor_refusal(worker);
    }
    if (room == NULL || room->behaviours == 0 || room->messages == 0 ||
        room->behaviours > (size_t)1 << RTI_BEHAVIOUR_INDEX_BITS_MAX ||
        room->messages > UINT32_MAX / 4) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("there cannot be so much room")};
    }
    if (module->fresh > 0 || module->mapped != NULL || rti_cells_in_use(&module->cells) > 0) {
        return (rt_status){RT_ERR_STATE, RTI_SENTENCE("room is made once, before it is used")};
    }
    struct rti_port *port = module->sched->port;
    size_t places_size = room->behaviours * sizeof(struct rti_behaviour);
    uint32_t workers = behaviours_workers(module);
    size_t cells_size = RTI_CELLS_BYTES(rti_cells_stock(room->messages, workers));
    if (workers > 0 && cells_size / 8 > RTI_LETTERS_SPAN_MAX) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("there cannot be so much room")};
    }
    size_t size = places_size + cells_size;
    if (port->ops->memory_map == NULL) {
        return (rt_status){RT_ERR_UNSUPPORTED, RTI_SENTENCE("this machine maps no memory")};
    }
    unsigned char *memory = port->ops->memory_map(port, size);
    if (memory == NULL) {
        return (rt_status){RT_ERR_NOMEM, RTI_SENTENCE("the system has no memory")};
    }
    rti_port_expect_dense(port, &module->dense, memory, places_size);
    module->mapped = memory;
    module->mapped_size = size;
    behaviours_set_room(module, (struct rti_behaviour *)(void *)memory, room->behaviours);
    rti_cells_deinit(&module->cells);
    rti_cells_init(&module->cells, module->sched, memory + places_size, room->messages, workers);
    return RT_SUCCESS;
}

rt_status rt_behaviour_stats_get(rt_behaviour_stats *out)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_behaviours *module = rti_behaviours_of(worker);
    if (module == NULL) {
        return rti_actor_refusal(worker);
    }
    if (out == NULL) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("there is no room for the answer")};
    }
    rt_behaviour_stats stats = {.dead_letters = rti_u32_load_relaxed(&module->dead_letters)};
    rti_lock_acquire(&module->lock, module->sched);
    stats.live = module->live;
    stats.live_max = module->live_max;
    rti_lock_release(&module->lock);
    rti_lock_acquire(&module->cells.lock, module->sched);
    stats.messages = rti_cells_in_use(&module->cells);
    rti_lock_release(&module->cells.lock);
    *out = stats;
    return RT_SUCCESS;
}

void rti_behaviours_audit(const struct rti_behaviours *module)
{
    size_t alive = 0;
    size_t queued = 0;
    for (uint32_t i = 0; i < module->fresh; i++) {
        struct rti_behaviour *at = &module->places[i];
        actor_id reachable = rti_u32_load_relaxed(&at->reachable_id);
        RT_ASSERT(reachable == ACTOR_ID_INVALID || (reachable == at->life_id && at->is_alive));
        uint32_t high =
            at->is_alive ? rti_pressure_high(rti_pressure_limit(&at->pressure)) : RTI_GATE_OPEN;
        size_t nodes = rti_behaviour_audit_mail(module, at);
        RT_ASSERT(rti_behaviour_depth(module, at, high) == nodes);
        queued += nodes;
        if (at->is_alive) {
            alive++;
            rti_pressure_audit(&at->pressure);
        }
    }
    RT_ASSERT(alive == module->live);
    /* Each may be at one more. */
    RT_ASSERT(rti_cells_in_use(&module->cells) <= queued + module->live);
    rti_cells_audit(&module->cells);
}

#endif
