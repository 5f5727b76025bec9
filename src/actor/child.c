/* SPDX-License-Identifier: Apache-2.0 */
/* One child of a supervisor: its record, its lives and their ends. The essay is in supervisor.h. */
#define RTI_MODULE "child"
#include <string.h>

#include <orrery/rt/ipc.h>

#include "actor/behaviour.h"
#include "actor/supervisor.h"
#include "base/marks.h"
#include "time/deadline.h"

#define CHILD_SHUTDOWN_MS 5000

_Static_assert(RT_CHILD_SIZE >= sizeof(struct rti_child), "what is told of the size is too small");

bool rti_child_name_is_valid(const char *name)
{
    return name != NULL && name[0] != '\0' && memchr(name, '\0', RT_NAME_MAX + 1) != NULL;
}

bool rti_child_actor_is_valid(const actor_config *config)
{
    return (unsigned)config->priority < RTI_PRIORITY_LEVELS &&
           (config->stack_size == 0 || config->stack_size >= RT_ACTOR_STACK_SIZE_MIN);
}

bool rti_child_spec_is_valid(const rt_child_spec *spec, bool is_kind)
{
    int ways = (spec->fn != NULL) + (spec->behaviour != NULL) + (spec->supervisor != NULL);
    return ways == 1 && (is_kind || rti_child_name_is_valid(spec->id)) &&
           (spec->name == NULL || (!is_kind && rti_child_name_is_valid(spec->name))) &&
           (spec->fn == NULL || rti_child_actor_is_valid(&spec->actor)) &&
           (unsigned)spec->restart <= RT_TEMPORARY && spec->shutdown_ms >= RT_SHUTDOWN_FOREVER &&
           !(spec->keeps_address && spec->supervisor != NULL) &&
           !(spec->is_significant && spec->restart == RT_PERMANENT) &&
           (spec->behaviour == NULL ||
            (RT_HAS_BEHAVIOURS && rti_behaviour_type_is_valid(spec->behaviour)));
}

/* Copies what fits; NULL is "". */
static void child_copy_text(char *to, size_t size, const char *from)
{
    size_t length = 0;
    while (from != NULL && length + 1 < size && from[length] != '\0') {
        to[length] = from[length];
        length++;
    }
    to[length] = '\0';
}

static int32_t child_shutdown_ms(const rt_child_spec *spec)
{
    switch (spec->shutdown_ms) {
    case RT_SHUTDOWN_DEFAULT:
        return spec->supervisor != NULL ? -1 : CHILD_SHUTDOWN_MS;
    case RT_SHUTDOWN_KILL:
        return 0;
    case RT_SHUTDOWN_FOREVER:
        return -1;
    default:
        return spec->shutdown_ms;
    }
}

/* The exit message was received and is done with, or its receiver is dead. */
static void child_watch_released(struct rti_notice *notice)
{
    (void)notice;
}

static void child_init(struct rti_child *child, struct rti_supervisor *supervisor)
{
    struct rti_supervisors *module = supervisor->module;
    module->next_serial += module->next_serial == UINT32_MAX ? 2 : 1;
    rti_link_init(&child->link);
    child->supervisor = supervisor;
    child->serial = module->next_serial;
    child->actor = ACTOR_ID_INVALID;
    child->kept = ACTOR_ID_INVALID;
    child->state = RT_CHILD_STOPPED;
    child->restarts = 0;
    child->pause_ms = 0;
    child->started_ns = 0;
    child->due_ns = 0;
    rti_link_init(&child->watch.at_target);
    rti_notice_init(&child->request, RT_SENDER_SUPERVISOR, NULL, 0);
    child->code.actor.name = child->actor_name;
}

struct rti_child *rti_child_make(struct rti_supervisor *supervisor, const rt_child_spec *spec)
{
    struct rti_child *child = rti_pool_alloc(supervisor->pool);
    if (child == NULL) {
        return NULL;
    }
    child->restart = (uint8_t)spec->restart;
    child->keeps_address = spec->keeps_address;
    child->is_significant = spec->is_significant;
    child->shutdown_ms = child_shutdown_ms(spec);
    child->code = (struct rti_child_code){
        .fn = spec->fn,
        .arg = spec->arg,
        .actor = spec->actor,
        .behaviour = spec->behaviour,
        .supervisor = spec->supervisor,
    };
    child_copy_text(child->id, sizeof(child->id), spec->id);
    child_copy_text(child->name, sizeof(child->name), spec->name);
    child_copy_text(child->actor_name, sizeof(child->actor_name),
                    spec->actor.name != NULL ? spec->actor.name : spec->id);
    child_init(child, supervisor);
    return child;
}

struct rti_child *rti_child_copy(const struct rti_child *kind, void *arg)
{
    struct rti_child *child = rti_pool_alloc(kind->supervisor->pool);
    if (child == NULL) {
        return NULL;
    }
    *child = *kind;
    child_init(child, kind->supervisor);
    child->code.arg = arg;
    child->id[0] = '\0';
    return child;
}

static void child_give_address_back(struct rti_child *child)
{
    struct rti_actors *actors = child->supervisor->module->actors;
    if (child->kept == ACTOR_ID_INVALID) {
        return;
    }
    if (RT_HAS_BEHAVIOURS && child->code.behaviour != NULL) {
        rti_behaviour_forget_id(actors, child->kept);
    } else {
        rti_actor_forget_id(actors, child->kept);
    }
    child->kept = ACTOR_ID_INVALID;
}

void rti_child_free(struct rti_child *child)
{
    RT_ASSERT(!rti_child_is_up(child));
    RT_ASSERT(!rti_notice_is_queued(&child->request));
    RT_ASSERT(!rti_link_is_linked(&child->watch.at_target));
    child_give_address_back(child);
    if (rti_link_is_linked(&child->link)) {
        rti_list_remove(&child->link);
    }
    rti_pool_free(child->supervisor->pool, child);
}

/* A life of a child is about to begin: it is watched from its first moment. Under the lock. */
static void child_begin(struct rti_child *child, actor_id id, struct rti_list *watchers)
{
    rti_monitor_embed(&child->watch, child->supervisor->self, watchers, id, child_watch_released);
    child->kept = child->keeps_address ? id : ACTOR_ID_INVALID;
    child->actor = id;
    child->state = RT_CHILD_RUNNING;
}

static void child_prepare_actor(struct rti_actor *actor, void *arg)
{
    struct rti_child *child = arg;
    actor->is_id_kept = child->keeps_address;
    rti_actor_note_attached(actor);
    child_begin(child, actor->id, &actor->watchers);
    if (child->name[0] != '\0') {
        child->naming = rti_registry_give(actor->actors, child->name, actor).code;
        if (child->naming != RT_OK) {
            rti_actor_doom(actor);
        }
    }
}

static void child_prepare_behaviour(struct rti_behaviour *behaviour, void *arg)
{
    struct rti_child *child = arg;
    behaviour->is_id_kept = child->keeps_address;
    child_begin(child, behaviour->life_id, &behaviour->watchers);
    if (child->name[0] != '\0') {
        struct rti_actors *actors = child->supervisor->module->actors;
        child->naming = rti_registry_give_behaviour(actors, child->name, behaviour).code;
        if (child->naming != RT_OK) {
            rti_behaviour_order(rti_behaviours_at(actors->sched), behaviour, behaviour->life_id,
                                RTI_ORDER_KILL);
        }
    }
}

/* Starts the actor of a child, or whatever it is. */
static rt_status child_spawn(struct rti_child *child, actor_id *id)
{
    const struct rti_child_code *code = &child->code;
    if (code->supervisor != NULL) {
        const struct rti_birth birth = {ACTOR_ID_INVALID, child_prepare_actor, child};
        return rti_supervisor_open(child->supervisor->module, code->supervisor, &birth, id);
    }
    if (RT_HAS_BEHAVIOURS && code->behaviour != NULL) {
        const struct rti_behaviour_birth birth = {child->kept, child_prepare_behaviour, child};
        *id = rti_behaviour_spawn_as(code->behaviour, code->arg, &birth);
    } else {
        const struct rti_birth birth = {child->kept, child_prepare_actor, child};
        *id = rti_actor_spawn_as(code->fn, code->arg, &code->actor, &birth);
    }
    if (*id == ACTOR_ID_INVALID) {
        return (rt_status){RT_ERR_NOMEM, RTI_SENTENCE("no room for a child")};
    }
    return RT_SUCCESS;
}

rt_status rti_child_start(struct rti_child *child)
{
    RT_ASSERT(!rti_child_is_up(child));
    struct rti_actors *actors = child->supervisor->module->actors;
    if (child->name[0] != '\0' && rt_whereis(child->name) != ACTOR_ID_INVALID) {
        return (rt_status){RT_ERR_EXISTS, RTI_SENTENCE("another actor has the name of the child")};
    }
    actor_id id;
    child->started_ns = rti_sched_clock(actors->sched);
    child->naming = RT_OK;
    rt_status status = child_spawn(child, &id);
    if (RT_FAILED(status) || child->naming == RT_OK) {
        return status;
    }
    RT_SOMETIMES(true, "child: no entry is left for its name");
    (void)rt_actor_kill(id);
    rti_child_await(child, RTI_TIME_NEVER);
    return (rt_status){child->naming, RTI_SENTENCE("the child could not have its name")};
}

void rti_child_to(struct rti_child *child, rt_child_state state)
{
    struct rti_actors *actors = child->supervisor->module->actors;
    rti_actors_lock(actors);
    child->state = (uint8_t)state;
    rti_actors_unlock(actors);
}

void rti_child_ended(struct rti_child *child)
{
    struct rti_actors *actors = child->supervisor->module->actors;
    rti_actors_lock(actors);
    /* The message lies in the child's record, which may go. */
    rti_actor_drop_held(child->supervisor->self, RT_OK);
    RT_ASSERT(rti_child_is_up(child));
    RT_ASSERT(!rti_link_is_linked(&child->watch.at_target));
    child->actor = ACTOR_ID_INVALID;
    child->state = RT_CHILD_STOPPED;
    rti_actors_unlock(actors);
}

void rti_child_ask(struct rti_child *child)
{
    struct rti_actors *actors = child->supervisor->module->actors;
    if (!rti_child_is_up(child) || child->state == RT_CHILD_STOPPING) {
        return;
    }
    rti_child_to(child, RT_CHILD_STOPPING);
    if (child->shutdown_ms == 0) {
        (void)rt_actor_kill(child->actor);
    } else if (RT_HAS_BEHAVIOURS && child->code.behaviour != NULL) {
        rti_behaviour_ask_to_stop(actors, child->actor);
    } else {
        rti_actors_lock(actors);
        struct rti_actor *actor = rti_actors_lookup(actors, child->actor);
        /* It may be doomed or dead already: its exit message comes. */
        if (actor != NULL) {
            rti_mailbox_push_notice(actor, &child->request);
        }
        rti_actors_unlock(actors);
    }
}

static bool child_is_its_exit(const rt_message *msg, void *arg)
{
    const struct rti_child *child = arg;
    return msg->data == &child->watch.exit;
}

/* Milliseconds until then, rounded up, for a receive. */
static int32_t child_wait_ms(struct rti_sched *sched, uint64_t deadline_ns)
{
    if (deadline_ns == RTI_TIME_NEVER) {
        return -1;
    }
    uint64_t now_ns = rti_sched_clock(sched);
    uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
    uint64_t left_ms = (left_ns + RTI_NS_PER_MS - 1) / RTI_NS_PER_MS;
    return left_ms > INT32_MAX ? INT32_MAX : (int32_t)left_ms;
}

void rti_child_await(struct rti_child *child, uint64_t deadline_ns)
{
    const rt_ipc_filter filter = {
        .sender = RT_SENDER_SYSTEM, .match = child_is_its_exit, .arg = child};
    struct rti_supervisor *supervisor = child->supervisor;
    rt_message msg;
    if (!rti_child_is_up(child)) {
        return;
    }
    int32_t wait_ms = child_wait_ms(supervisor->module->actors->sched, deadline_ns);
    rt_status status = rt_ipc_recv_match(&filter, &msg, wait_ms);
    if (RT_FAILED(status)) {
        RT_SOMETIMES(true, "child: is killed when it does not end in time");
        (void)rt_actor_kill(child->actor);
        status = rt_ipc_recv_match(&filter, &msg, -1);
        RT_ASSERT(!RT_FAILED(status));
    }
    rti_child_ended(child);
}

void rti_child_stop(struct rti_child *child)
{
    struct rti_sched *sched = child->supervisor->module->actors->sched;
    uint64_t deadline_ns = RTI_TIME_NEVER;
    if (child->shutdown_ms > 0) {
        deadline_ns = rti_deadline_after(sched, (uint64_t)child->shutdown_ms * RTI_NS_PER_MS);
    }
    rti_child_ask(child);
    rti_child_await(child, deadline_ns);
    rti_child_to(child, RT_CHILD_STOPPED);
}

void rti_child_orphan(struct rti_child *child)
{
    struct rti_actors *actors = child->supervisor->module->actors;
    if (!rti_child_is_up(child)) {
        return;
    }
    if (rti_link_is_linked(&child->watch.at_target)) {
        rti_list_remove(&child->watch.at_target);
    }
    if (rti_notice_is_queued(&child->request)) {
        /* The actor is there, perhaps doomed: nothing leaves its mailbox but by its own hand or
         * death, and a request leaves the record with both. */
        struct rti_actor *actor = &actors->table[child->actor & RTI_ACTOR_INDEX_MASK];
        RT_ASSERT(actor->id == child->actor);
        rti_mailbox_remove_notice(actor, &child->request);
    }
    RT_SOMETIMES(true, "child: is killed with its supervisor");
    if (RT_HAS_BEHAVIOURS && child->code.behaviour != NULL) {
        if (rti_behaviour_drop_id(actors, child->actor, &child->kept)) {
            (void)rti_behaviour_kill(actors, child->actor);
        }
    } else {
        struct rti_actor *actor = &actors->table[child->actor & RTI_ACTOR_INDEX_MASK];
        /* Its id goes with it; if it is gone already, the id is all that is left. */
        if (actor->id == child->kept) {
            actor->is_id_kept = false;
            child->kept = ACTOR_ID_INVALID;
        }
        if (actor->reachable_id == child->actor) {
            rti_actor_kill(actor);
        }
    }
    child->actor = ACTOR_ID_INVALID;
    child->state = RT_CHILD_STOPPED;
}

struct rti_child *rti_child_of_message(const struct rti_actor *supervisor, const rt_message *msg)
{
    struct rti_entry *held = supervisor->held;
    if (held == NULL || held->kind != RTI_ENTRY_NOTICE || held->data != msg->data) {
        return NULL;
    }
    struct rti_notice *notice = rti_notice_of(held);
    if (notice->entry.release != child_watch_released) {
        return NULL;
    }
    return RTI_CONTAINER_OF(notice, struct rti_child, watch.notice);
}
