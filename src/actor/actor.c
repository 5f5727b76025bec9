/* SPDX-License-Identifier: Apache-2.0 */
/* Birth, identity and killing of actors; the essay is in actor.h. */
#define RTI_MODULE "actor"
#include "actor/actor.h"

#include <string.h>

#include "actor/actors.h"
#include "actor/behaviour.h"
#include "base/marks.h"
#include "sched/fiber_life.h"

/* Stacks are painted where debugging is worth the time of filling them. */
#define ACTOR_PAINTS_STACKS (RT_STACK_PAINT || RT_CHECKS)

_Static_assert(RT_ACTOR_STACK_SIZE_MIN >= RTI_STACK_SIZE_MIN, "a stack that no fiber can run on");
_Static_assert(RT_MAX_ACTORS > 0 && RT_MAX_ACTORS <= 1 << 20, "the id has room for generations");

static const actor_config actor_config_default = {.priority = RT_PRIO_NORMAL};

/* By enum rti_spawn_refusal. */
static const rt_status actor_refusals[] = {
    {RT_OK, RTI_SENTENCE(NULL)},
    {RT_ERR_NOMEM, RTI_SENTENCE("RT_MAX_ACTORS actors live already")},
    {RT_ERR_INVALID,
     RTI_SENTENCE("no function, an unknown priority, or a stack of a size that cannot be")},
    {RT_ERR_NOMEM, RTI_SENTENCE("there is no memory for its stack")},
};

/* Is this a configuration that could ever be met? */
static bool actor_config_is_valid(const actor_config *config)
{
    return (unsigned)config->priority < RTI_PRIORITY_LEVELS &&
           (config->stack_size == 0 || config->stack_size >= RT_ACTOR_STACK_SIZE_MIN) &&
           config->stack_size <= RT_STACK_SIZE_MAX;
}

static void actor_copy_name(struct rti_actor *actor, const char *name)
{
    size_t length = 0;
    if (RTI_LIKELY(name == NULL)) {
        actor->name[0] = '\0';
        return;
    }
    while (length + 1 < sizeof(actor->name) && name[length] != '\0') {
        actor->name[length] = name[length];
        length++;
    }
    actor->name[length] = '\0';
}

static const struct rti_fiber_kind actor_kind = {.main = rti_fiber_call,
                                                 .on_done = rti_actor_on_done};

void rti_actor_init_slot(struct rti_actor *actor, struct rti_actors *actors)
{
    actor->id = ACTOR_ID_INVALID;
    actor->reachable_id = ACTOR_ID_INVALID;
    actor->actors = actors;
    rti_fiber_init_slot(&actor->fiber, actors->sched, &actor_kind);
    actor->fiber.run.is_actor = true;
    rti_mailbox_init(&actor->mailbox, rti_fiber_wake, &actor->fiber, actors->sched->is_local);
#if RTI_KEEPS_WAITER
    actor->mailbox.waiter.unlink = rti_actors_unwatch;
#endif
    actor->held = NULL;
    actor->waits_for = ACTOR_ID_INVALID;
    actor->is_id_kept = false;
    rti_u8_init(&actor->is_attached, 0);
    if (RTI_TRACES_TRAVEL) {
        *rti_actor_trace(actor) = (struct rt_trace){.flags = 0};
    }
#if RT_HAS_BEHAVIOURS
    rti_pressure_init(&actor->pressure, ACTOR_ID_INVALID, NULL);
    actor->mute_waiter = NULL;
#endif
#if RT_HAS_CALLS
    actor->call_serial = 0;
    actor->reply = NULL;
    actor->call = NULL;
    rti_waitlist_init(&actor->callers);
#endif
    rti_list_init(&actor->links);
#if RT_HAS_MONITORS
    rti_list_init(&actor->monitors);
    rti_list_init(&actor->watchers);
#endif
#if RT_HAS_NAMES
    rti_list_init(&actor->names);
#endif
    for (size_t i = 0; i < RTI_OWNED_COUNT; i++) {
        rti_list_init(&actor->owned[i]);
    }
}

/* Makes an actor of a free slot, which is as its last actor's end has left it: empty. */
static inline void actor_begin(struct rti_actor *actor, actor_id id)
{
    RT_ASSERT(actor->id == ACTOR_ID_INVALID && actor->reachable_id == ACTOR_ID_INVALID);
    RT_DCHECK(rti_actor_is_bare(actor));
    actor->id = id;
    actor->reachable_id = id;
    rti_mailbox_reset(&actor->mailbox);
    actor->messages_sent = 0;
    actor->messages_received = 0;
    actor->turn_mark = 0;
#if RT_HAS_BEHAVIOURS
    actor->pressure.self = id;
#endif
#if RT_HAS_BUS
    actor->bus_published = 0;
    actor->bus_read = 0;
#endif
    actor->spawn_refusal = RTI_SPAWN_OK;
    /* call_serial goes on: an id may live again, and no answer to a former life may find this. */
}

/* What an actor runs, and where that was said. */
struct actor_code {
    actor_fn fn;
    void *arg;
    const void *site;              /* behind the call of rt_spawn */
    const struct rti_birth *birth; /* what is special about it; NULL: nothing */
    bool is_straight;              /* the call goes straight (worker->straight) */
};

static inline actor_id actor_kept_id(const struct actor_code *code)
{
    return code->birth != NULL ? code->birth->kept_id : ACTOR_ID_INVALID;
}

/* Gives the actor, which has its stack, its fiber. */
static RTI_ALWAYSINLINE void actor_begin_fiber(struct rti_actor *actor, struct rti_worker *worker,
                                               const actor_config *config,
                                               const struct actor_code *code)
{
    struct rti_fiber_life life = {
        .starter = worker->fiber,
        .site = code->site,
        .id = actor->id,
        .priority = (uint8_t)config->priority,
        .is_straight = code->is_straight,
    };
    if (rti_traces_are_used(worker->sched)) {
        rti_trace_copy(worker, rti_actor_trace(actor));
    }
    actor->is_stack_painted = ACTOR_PAINTS_STACKS;
    if (ACTOR_PAINTS_STACKS) {
        rti_stack_paint(&actor->fiber.stack);
    }
    actor->fiber.fn = code->fn;
    actor->fiber.arg = code->arg;
    rti_fiber_begin(&actor->fiber, worker, &life, !config->malloc_stack);
}

/* Remembers for the caller why it has no new actor. */
static RTI_COLD actor_id actor_refuse_spawn(struct rti_actors *actors, enum rti_spawn_refusal why)
{
    /* No way in, but where flash is scarce that is there once. */
    struct rti_actor *self = RTI_ONE_WORKER ? rti_actor_current() : rti_actor_of(rti_worker_here());
    if (self != NULL) {
        self->spawn_refusal = (uint8_t)why;
    } else {
        rti_actors_lock(actors);
        actors->spawn_refusal = (uint8_t)why;
        rti_actors_unlock(actors);
    }
    return ACTOR_ID_INVALID;
}

rt_status rt_spawn_status(void)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_actors *actors = rti_actors_of(worker);
    if (actors == NULL) {
        return rti_actor_refusal(worker);
    }
    struct rti_actor *self = rti_actor_of(worker);
    if (self != NULL) {
        return actor_refusals[self->spawn_refusal];
    }
    rti_actors_lock(actors);
    uint8_t refusal = actors->spawn_refusal;
    rti_actors_unlock(actors);
    return actor_refusals[refusal];
}

/* With several workers: takes a stack, which may have to be asked of the system, which nobody does
 * under the lock; then a slot, with the lock. NULL, and nothing has changed, if there is none. */
static RTI_NOINLINE struct rti_actor *actor_take_slot_shared(struct rti_actors *actors,
                                                             struct rti_stack_block *memory,
                                                             actor_id kept_id,
                                                             enum rti_spawn_refusal *why)
{
    struct rti_stack stack;
    bool is_taken = rti_stacks_take(actors->stacks, memory, &stack);
    rti_actors_lock(actors);
    uint32_t index = kept_id != ACTOR_ID_INVALID ? rti_handle_index(&actors->ids, kept_id)
                                                 : rti_handle_next_index(&actors->ids);
    if (is_taken && index != RTI_HANDLE_END) {
        struct rti_actor *actor = &actors->table[index];
        actor->stack = *memory;
        actor->fiber.stack = stack;
        return actor;
    }
    rti_actors_unlock(actors);
    if (is_taken) {
        rti_stacks_give(actors->stacks, memory, &stack);
    }
    *why = index == RTI_HANDLE_END ? RTI_SPAWN_NO_SLOT : RTI_SPAWN_NO_STACK;
    return NULL;
}

/* Takes the next free slot, or the one of the kept id, with a stack and the lock; NULL, and nothing
 * has changed, if there is none. */
static RTI_ALWAYSINLINE struct rti_actor *actor_take_slot(struct rti_actors *actors,
                                                          const actor_config *config,
                                                          const struct actor_code *code,
                                                          enum rti_spawn_refusal *why)
{
    actor_id kept_id = actor_kept_id(code);
    size_t size = config->stack_size != 0 ? config->stack_size : RT_DEFAULT_STACK_SIZE;
    if (!code->is_straight && RTI_UNLIKELY(!rti_sched_is_local(actors->sched))) {
        struct rti_stack_block memory;
        rti_stack_block_ask(&memory, size, config->malloc_stack);
        return actor_take_slot_shared(actors, &memory, kept_id, why);
    }
    uint32_t index = RTI_UNLIKELY(kept_id != ACTOR_ID_INVALID)
                         ? rti_handle_index(&actors->ids, kept_id)
                         : rti_handle_next_index(&actors->ids);
    if (RTI_UNLIKELY(index == RTI_HANDLE_END)) {
        *why = RTI_SPAWN_NO_SLOT;
        return NULL;
    }
    struct rti_actor *actor = &actors->table[index];
    RTI_KEEP(actor);
    rti_stack_block_ask(&actor->stack, size, config->malloc_stack);
    if (RTI_UNLIKELY(
            !rti_stacks_take_as(actors->stacks, &actor->stack, &actor->fiber.stack, true))) {
        *why = RTI_SPAWN_NO_STACK;
        return NULL;
    }
    return actor;
}

static RTI_ALWAYSINLINE actor_id actor_spawn(struct rti_worker *worker,
                                             const struct actor_code *code,
                                             const actor_config *config)
{
    struct rti_actors *actors =
        code->is_straight ? rti_worker_straight(worker, RTI_MODULE_ACTOR) : rti_actors_of(worker);
    if (RTI_UNLIKELY(actors == NULL)) {
        rti_port_log("rt_spawn: this thread has no runtime: call rt_init here first");
        return ACTOR_ID_INVALID;
    }
    if (RTI_UNLIKELY(code->fn == NULL || !actor_config_is_valid(config))) {
        return actor_refuse_spawn(actors, RTI_SPAWN_NO_SENSE);
    }
    enum rti_spawn_refusal why;
    struct rti_actor *actor = actor_take_slot(actors, config, code, &why);
    if (RTI_UNLIKELY(actor == NULL)) {
        return actor_refuse_spawn(actors, why);
    }
    actor_id id = actor_kept_id(code);
    if (RTI_LIKELY(id == ACTOR_ID_INVALID)) {
        id = rti_handle_alloc(&actors->ids);
    } else {
        actors->kept_count--;
    }
    actor_begin(actor, id);
    actor_copy_name(actor, config->name);
    actor_begin_fiber(actor, worker, config, code);
    if (RTI_UNLIKELY(code->birth != NULL)) {
        code->birth->prepare(actor, code->birth->arg);
    }
    if (code->is_straight) {
        rti_fiber_start_straight(worker->sched, &actor->fiber, (uint8_t)config->priority);
        return id;
    }
    rti_actors_unlock(actors);
    rti_fiber_start_begun(actors->sched, &actor->fiber);
    if (rti_worker_records(worker)) {
        rti_worker_note_name(config->name);
    }
    return id;
}

actor_id rti_actor_spawn_as(actor_fn fn, void *arg, const actor_config *config,
                            const struct rti_birth *birth)
{
    RT_ASSERT(birth->prepare != NULL);
    return actor_spawn(rti_worker_enter(),
                       &(struct actor_code){fn, arg, RTI_CALL_SITE(), birth, false},
                       config != NULL ? config : &actor_config_default);
}

void rti_actor_forget_id(struct rti_actors *actors, actor_id kept_id)
{
    RT_ASSERT(actors->kept_count > 0);
    RT_ASSERT(actors->table[rti_handle_index(&actors->ids, kept_id)].id == ACTOR_ID_INVALID);
    actors->kept_count--;
    rti_handle_free(&actors->ids, kept_id);
}

/* A spawn in every way. */
static RTI_NOINLINE actor_id actor_spawn_any(actor_fn fn, void *arg, const actor_config *config,
                                             const void *site)
{
    return actor_spawn(rti_worker_enter(), &(struct actor_code){fn, arg, site, NULL, false},
                       config);
}

/* Both public ways in, which differ in the configuration alone. Where flash is scarce there is one
 * way behind them. */
static RTI_NOINLINE actor_id actor_spawn_plain(actor_fn fn, void *arg, const actor_config *config,
                                               const void *site)
{
    struct rti_worker *worker = RTI_ONE_WORKER ? NULL : rti_worker_enter();
    if (worker == NULL || RTI_UNLIKELY(rti_worker_straight(worker, RTI_MODULE_ACTOR) == NULL)) {
        return actor_spawn_any(fn, arg, config, site);
    }
    return actor_spawn(worker, &(struct actor_code){fn, arg, site, NULL, true}, config);
}

actor_id rt_spawn_ex(actor_fn fn, void *arg, const actor_config *cfg)
{
    return actor_spawn_plain(fn, arg, cfg != NULL ? cfg : &actor_config_default, RTI_CALL_SITE());
}

actor_id rt_spawn(actor_fn fn, void *arg)
{
    return actor_spawn_plain(fn, arg, &actor_config_default, RTI_CALL_SITE());
}

_Noreturn void rt_exit(void)
{
    struct rti_worker *worker = rti_worker_enter();
    if (worker == NULL || rti_actor_of(worker) == NULL) {
        rti_panic(RTI_MODULE, __LINE__, "rt_exit outside of an actor, or in a forked process");
    }
    rti_fiber_exit(worker);
}

actor_id rt_self(void)
{
    struct rti_worker *worker = rti_worker_enter();
    return worker == NULL ? ACTOR_ID_INVALID : rti_sender_id(worker);
}

void rt_yield(void)
{
    struct rti_worker *worker = rti_worker_enter_inline();
    if (worker != NULL && worker->fiber != NULL) {
        rti_fiber_yield(worker);
    }
}

bool rt_actor_alive(actor_id id)
{
    if (rti_is_behaviour_id(id)) {
        struct rti_behaviours *behaviours = rti_behaviours_of(rti_worker_enter());
        return behaviours != NULL && rti_behaviour_lookup(behaviours, id) != NULL;
    }
    struct rti_actors *actors = rti_actors_of(rti_worker_enter());
    if (actors == NULL) {
        return false;
    }
    rti_actors_lock(actors);
    bool is_alive = rti_actors_lookup(actors, id) != NULL;
    rti_actors_unlock(actors);
    return is_alive;
}

#if RTI_ONE_WORKER
struct rti_actor *rti_actor_current(void)
{
    return rti_actor_entered(rti_worker_enter());
}
#endif

struct rti_actor *rti_actor_lookup(actor_id id)
{
    struct rti_actors *actors = rti_actors_of(rti_worker_enter());
    return actors == NULL ? NULL : rti_actors_lookup(actors, id);
}

void rti_mailbox_push_notice(struct rti_actor *actor, struct rti_notice *notice)
{
    RT_ASSERT(actor->id != ACTOR_ID_INVALID);
    RT_ASSERT(!rti_notice_is_queued(notice) && actor->held != &notice->entry);
    rti_mailbox_push(&actor->mailbox, &notice->entry);
}

void rti_actor_drop_held(struct rti_actor *actor, rt_status_code result)
{
    struct rti_entry *held = actor->held;
    if (held != NULL) {
        actor->held = NULL;
        rti_ipc_pools_end(&actor->actors->ipc, held, result);
    }
}

void rti_actor_drop_reply(struct rti_actor *actor)
{
#if RT_HAS_CALLS
    struct rti_entry *reply = actor->reply;
    if (reply != NULL) {
        actor->reply = NULL;
        rti_ipc_pools_free(&actor->actors->ipc, reply);
    }
#else
    (void)actor;
#endif
}

rt_status rti_actor_refusal(const struct rti_worker *worker)
{
    if (worker == NULL) {
        return (rt_status){RT_ERR_THREAD, RTI_SENTENCE("this thread has no runtime")};
    }
    return (rt_status){RT_ERR_THREAD, RTI_SENTENCE("only an actor can do this")};
}

/* The death of a doomed actor must not wait behind the work of those more urgent than it was: that
 * one has no urgency of its own left. */
static void actor_hasten(struct rti_sched *sched, struct rti_runnable *run)
{
    enum rti_runnable_state state = rti_runnable_state(run);
    RT_ASSERT(state == RTI_RUNNABLE_READY || state == RTI_RUNNABLE_PARKED);
    RT_SOMETIMES(state == RTI_RUNNABLE_READY, "actor: killed while it was ready");
    RT_SOMETIMES(state == RTI_RUNNABLE_PARKED, "actor: killed while it was parked");
    if (state == RTI_RUNNABLE_READY && run->priority != RT_PRIO_CRITICAL) {
        rti_processor_remove(&sched->processor, run);
        run->priority = RT_PRIO_CRITICAL;
        rti_processor_queue(&sched->processor, run);
    }
    run->priority = RT_PRIO_CRITICAL;
}

void rti_actor_kill(struct rti_actor *actor)
{
    struct rti_sched *sched = actor->actors->sched;
    RT_ASSERT(actor->reachable_id == actor->id && rti_worker_current()->fiber != &actor->fiber);
    actor->reachable_id = ACTOR_ID_INVALID;
    if (rti_sched_is_local(sched)) {
        actor_hasten(sched, &actor->fiber.run);
    }
    bool is_marked = rti_fiber_kill(sched, &actor->fiber);
    /* With several workers it may have come to its own end, and its death waits for the lock. */
    RT_ASSERT(is_marked || !rti_sched_is_local(sched));
}

void rti_actor_doom(struct rti_actor *actor)
{
    struct rti_sched *sched = actor->actors->sched;
    /* With one worker nobody runs it before it is killed. */
    if (!rti_sched_is_local(sched)) {
        (void)rti_fiber_kill(sched, &actor->fiber); /* a second time it changes nothing */
    }
}

rt_status rt_actor_kill(actor_id id)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_actors *actors = rti_actors_of(worker);
    if (actors == NULL) {
        return rti_actor_refusal(worker);
    }
    if (rti_is_behaviour_id(id)) {
        return rti_behaviour_kill(actors, id);
    }
    rti_actors_lock(actors);
    struct rti_actor *actor = rti_actors_lookup(actors, id);
    if (actor == NULL) {
        rti_actors_unlock(actors);
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("no living actor has this id")};
    }
    if (&actor->fiber == worker->fiber) {
        actor->reachable_id = ACTOR_ID_INVALID;
        rti_actors_unlock(actors);
        (void)rti_fiber_kill(worker->sched, &actor->fiber); /* does not return */
    } else {
        rti_actor_kill(actor);
        rti_actors_unlock(actors);
    }
    return RT_SUCCESS;
}

static rt_actor_state actor_state(const struct rti_actor *actor)
{
    switch (rti_runnable_state(&actor->fiber.run)) {
    case RTI_RUNNABLE_RUNNING:
        return ACTOR_STATE_RUNNING;
    case RTI_RUNNABLE_PARKED:
        return ACTOR_STATE_BLOCKED;
    default:
        return ACTOR_STATE_READY;
    }
}

/* A message that went straight to a waiting receiver was never queued, but there it was. */
static size_t actor_depth_max(const struct rti_actor *actor)
{
    size_t count_max = actor->mailbox.count_max;
    return count_max == 0 && actor->messages_received > 0 ? 1 : count_max;
}

static void actor_describe(const struct rti_actor *actor, struct rt_actor_stats *out)
{
    *out = (struct rt_actor_stats)
    {
        .priority = (rt_priority)actor->fiber.run.priority, .state = actor_state(actor),
        .messages_sent = actor->messages_sent, .messages_received = actor->messages_received,
#if RT_HAS_BUS
        .bus_published = actor->bus_published, .bus_read = actor->bus_read,
#endif
        .mailbox_depth = actor->mailbox.count, .mailbox_depth_max = actor_depth_max(actor),
        .stack_size = rti_stack_own_size(&actor->fiber.stack),
        .stack_used_max = actor->is_stack_painted ? rti_stack_high_water(&actor->fiber.stack) : 0,
    };
    memcpy(out->name, actor->name, sizeof(out->name));
}

rt_status rt_actor_stats(actor_id id, struct rt_actor_stats *out)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_actors *actors = rti_actors_of(worker);
    if (actors == NULL) {
        return rti_actor_refusal(worker);
    }
    rti_actors_lock(actors);
    const struct rti_actor *actor = rti_actors_lookup(actors, id);
    bool is_answered = actor != NULL && out != NULL;
    if (is_answered) {
        actor_describe(actor, out);
    }
    rti_actors_unlock(actors);
    return is_answered ? RT_SUCCESS
                       : (rt_status){RT_ERR_INVALID,
                                     RTI_SENTENCE(
                                         "no living actor has this id, or no room for the answer")};
}
