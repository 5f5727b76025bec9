/* SPDX-License-Identifier: Apache-2.0 */
/* What a supervisor does from its first turn to its last; the essay is in supervisor.h. */
#define RTI_MODULE "supervisor"
#include "actor/supervisor.h"
#include "actor/call.h"
#include "base/remark.h"

#include <string.h>

#include <orrery/rt/call.h>
#include <orrery/rt/ipc.h>

#include "base/marks.h"
#include "time/deadline.h"

#define SUPERVISOR_STACK_SIZE     16384
#define SUPERVISOR_PERIOD_MS      5000
#define SUPERVISOR_BACKOFF_FACTOR 100

/* What becomes of the supervisor after an event. */
enum verdict {
    VERDICT_GO_ON,
    VERDICT_END,     /* as it was asked to, or for want of significant children */
    VERDICT_GIVE_UP, /* too many restarts */
};

static uint64_t supervisor_now(const struct rti_supervisor *self)
{
    return rti_sched_clock(self->module->actors->sched);
}

/* Counts a restart. False if it is one too many. */
static bool supervisor_may_restart(struct rti_supervisor *self)
{
    uint64_t now_ns = supervisor_now(self);
    uint32_t old = 0;
    while (old < self->restart_count && now_ns - self->restarted_ns[old] > self->period_ns) {
        old++;
    }
    self->restart_count -= old;
    memmove(self->restarted_ns, self->restarted_ns + old,
            self->restart_count * sizeof(self->restarted_ns[0]));
    if (self->restart_count >= self->intensity) {
        return false;
    }
    self->restarted_ns[self->restart_count++] = now_ns;
    return true;
}

/* How long a child waits for its next life: twice as long as the last time, unless it has lived
 * well for longer than the longest pause. */
static uint32_t supervisor_pause(const struct rti_supervisor *self, const struct rti_child *child)
{
    uint64_t lived_ns = supervisor_now(self) - child->started_ns;
    if (child->pause_ms == 0 || lived_ns > self->backoff_max_ms * RTI_NS_PER_MS) {
        return self->backoff_ms;
    }
    uint64_t pause_ms = (uint64_t)child->pause_ms * 2;
    return pause_ms > self->backoff_max_ms ? self->backoff_max_ms : (uint32_t)pause_ms;
}

/* The first child that is restarted together with `child`. */
static struct rti_child *supervisor_group(const struct rti_supervisor *self,
                                          struct rti_child *child)
{
    return self->strategy == RT_ONE_FOR_ALL ? rti_child_first(self) : child;
}

/* Is `other`, the group's first or behind it, restarted together with `child`? */
static bool supervisor_is_grouped(const struct rti_supervisor *self, const struct rti_child *child,
                                  const struct rti_child *other)
{
    return other == child || self->strategy == RT_ONE_FOR_ALL || self->strategy == RT_REST_FOR_ONE;
}

/* Forgets a child that does not live. */
static void supervisor_forget(struct rti_child *child)
{
    struct rti_actors *actors = child->supervisor->module->actors;
    rti_actors_lock(actors);
    rti_child_free(child);
    rti_actors_unlock(actors);
}

/* Stops a child and forgets it if it is temporary. */
static void supervisor_stop_one(struct rti_child *child)
{
    rti_child_stop(child);
    if (child->restart == RT_TEMPORARY) {
        supervisor_forget(child);
    }
}

/* Stops those of the group that live, the last one first. `child` itself does not. */
static void supervisor_stop_group(struct rti_supervisor *self, struct rti_child *child)
{
    struct rti_child *first = supervisor_group(self, child);
    struct rti_child *at = rti_child_before(self, NULL);
    bool is_last = false;
    while (at != NULL && !is_last) {
        is_last = at == first;
        struct rti_child *before = rti_child_before(self, at);
        if (at != child && supervisor_is_grouped(self, child, at)) {
            supervisor_stop_one(at);
        }
        at = before;
    }
}

/* Starts one of a group that is restarted. A failure leaves it to be started at `due_ns`. */
static bool supervisor_start_again(struct rti_supervisor *self, struct rti_child *child)
{
    struct rti_sched *sched = self->module->actors->sched;
    rti_actors_lock(self->module->actors);
    child->restarts++;
    rti_actors_unlock(self->module->actors);
    if (!RT_FAILED(rti_child_start(child))) {
        return true;
    }
    RT_SOMETIMES(true, "supervisor: a restart fails and is tried again");
    child->pause_ms = supervisor_pause(self, child);
    rti_child_to(child, RT_CHILD_RESTARTING);
    child->due_ns = rti_deadline_after(sched, child->pause_ms * RTI_NS_PER_MS);
    return false;
}

/* Starts those of the group that do not live, in order. A failure leaves its child, and it alone,
 * to be started again, and those behind it stopped, `child` among them. True if all live. */
static bool supervisor_start_group(struct rti_supervisor *self, struct rti_child *child)
{
    struct rti_child *at = supervisor_group(self, child);
    for (; at != NULL; at = rti_child_next(at)) {
        if (!supervisor_is_grouped(self, child, at) || rti_child_is_up(at)) {
            continue;
        }
        if (!supervisor_start_again(self, at)) {
            if (at != child && !rti_child_is_up(child)) {
                rti_child_to(child, RT_CHILD_STOPPED);
            }
            return false;
        }
    }
    return true;
}

/* `child` waited for its restart, and is stopped instead. Its siblings were stopped to be started
 * together with it, and are started without it. */
static void supervisor_start_others(struct rti_supervisor *self, struct rti_child *child)
{
    struct rti_child *at = supervisor_group(self, child);
    for (; at != NULL; at = rti_child_next(at)) {
        if (at != child && supervisor_is_grouped(self, child, at) && !rti_child_is_up(at) &&
            !supervisor_start_again(self, at)) {
            return;
        }
    }
}

/* A child has ended, or could not be started, and has to live again. */
static enum verdict supervisor_restart(struct rti_supervisor *self, struct rti_child *child)
{
    rti_child_to(child, RT_CHILD_RESTARTING);
    if (!supervisor_may_restart(self)) {
        return VERDICT_GIVE_UP;
    }
    supervisor_stop_group(self, child);
    if (self->backoff_ms == 0) {
        (void)supervisor_start_group(self, child);
        return VERDICT_GO_ON;
    }
    child->pause_ms = supervisor_pause(self, child);
    child->due_ns =
        rti_deadline_after(self->module->actors->sched, child->pause_ms * RTI_NS_PER_MS);
    return VERDICT_GO_ON;
}

/* A significant child has ended for good: is that the end? */
static enum verdict supervisor_weigh(const struct rti_supervisor *self)
{
    if (self->auto_shutdown == RT_AUTO_SHUTDOWN_ANY) {
        return VERDICT_END;
    }
    for (struct rti_child *at = rti_child_first(self); at != NULL; at = rti_child_next(at)) {
        if (at->is_significant && (rti_child_is_up(at) || at->state == RT_CHILD_RESTARTING)) {
            return VERDICT_GO_ON;
        }
    }
    return self->auto_shutdown == RT_AUTO_SHUTDOWN_ALL ? VERDICT_END : VERDICT_GO_ON;
}

static enum verdict supervisor_hear(struct rti_supervisor *self, struct rti_child *child,
                                    rt_exit_reason reason)
{
    rti_child_ended(child);
    bool is_restarted = child->restart == RT_PERMANENT ||
                        (child->restart == RT_TRANSIENT && reason != RT_EXIT_NORMAL);
    if (is_restarted) {
        return supervisor_restart(self, child);
    }
    bool is_significant = child->is_significant;
    if (child->restart == RT_TEMPORARY || self->strategy == RT_SIMPLE) {
        supervisor_forget(child);
    }
    return is_significant ? supervisor_weigh(self) : VERDICT_GO_ON;
}

/* Stops all children: each after the one behind it, or all at once if they are of one kind. */
static void supervisor_stop_all(struct rti_supervisor *self)
{
    struct rti_sched *sched = self->module->actors->sched;
    struct rti_child *at;
    if (self->strategy == RT_SIMPLE) {
        uint64_t deadline_ns = RTI_TIME_NEVER;
        if (self->kind->shutdown_ms > 0) {
            deadline_ns =
                rti_deadline_after(sched, (uint64_t)self->kind->shutdown_ms * RTI_NS_PER_MS);
        }
        for (at = rti_child_first(self); at != NULL; at = rti_child_next(at)) {
            rti_child_ask(at);
        }
        for (at = rti_child_first(self); at != NULL; at = rti_child_next(at)) {
            rti_child_await(at, deadline_ns);
        }
    }
    for (at = rti_child_before(self, NULL); at != NULL; at = rti_child_before(self, at)) {
        rti_child_stop(at);
    }
}

/* The child that a request is about; NULL if it is gone. */
static struct rti_child *supervisor_find(const struct rti_supervisor *self, uint32_t serial)
{
    for (struct rti_child *at = rti_child_first(self); at != NULL; at = rti_child_next(at)) {
        if (at->serial == serial) {
            return at;
        }
    }
    return NULL;
}

/* Takes over a child that another actor has put into `asked`, and starts it. */
static struct rti_answer supervisor_add(struct rti_supervisor *self, uint32_t serial)
{
    struct rti_child *child = NULL;
    rti_actors_lock(self->module->actors);
    for (struct rti_link *at = rti_list_peek(&self->asked); at != NULL && child == NULL;
         at = rti_list_next(&self->asked, at)) {
        child = rti_child_of(at)->serial == serial ? rti_child_of(at) : NULL;
    }
    if (child != NULL) {
        rti_list_remove(&child->link);
        rti_list_push_tail(&self->children, &child->link);
    }
    rti_actors_unlock(self->module->actors);
    if (child == NULL) {
        return (struct rti_answer){.code = RT_ERR_NOT_FOUND};
    }
    rt_status status = rti_child_start(child);
    struct rti_answer answer = {.code = status.code, .actor = child->actor};
    if (RT_FAILED(status)) {
        supervisor_forget(child);
    }
    return answer;
}

static struct rti_answer supervisor_stop_child(struct rti_supervisor *self, struct rti_child *child)
{
    bool is_awaited = child->state == RT_CHILD_RESTARTING;
    rti_child_stop(child);
    if (is_awaited) {
        supervisor_start_others(self, child);
    }
    if (child->restart == RT_TEMPORARY || self->strategy == RT_SIMPLE) {
        supervisor_forget(child);
    }
    return (struct rti_answer){.code = RT_OK};
}

static struct rti_answer supervisor_serve(struct rti_supervisor *self,
                                          const struct rti_request *request)
{
    if (request->kind == RTI_REQUEST_ADD) {
        return supervisor_add(self, request->serial);
    }
    struct rti_child *child = supervisor_find(self, request->serial);
    if (child == NULL) {
        return (struct rti_answer){.code = RT_ERR_NOT_FOUND};
    }
    if (request->kind == RTI_REQUEST_STOP_CHILD) {
        return supervisor_stop_child(self, child);
    }
    if (child->state != RT_CHILD_STOPPED) {
        return (struct rti_answer){.code = RT_ERR_STATE};
    }
    if (request->kind == RTI_REQUEST_REMOVE_CHILD) {
        supervisor_forget(child);
        return (struct rti_answer){.code = RT_OK};
    }
    rt_status status = rti_child_start(child);
    return (struct rti_answer){.code = status.code, .actor = child->actor};
}

static enum verdict supervisor_take(struct rti_supervisor *self, const rt_message *msg)
{
    struct rti_child *child = rti_child_of_message(self->self, msg);
    if (child != NULL) {
        rt_exit_reason reason = child->watch.exit.reason;
        return supervisor_hear(self, child, reason);
    }
    if (rt_is_stop_msg(msg)) {
        return VERDICT_END;
    }
    rt_call_id call = rt_call_ref(msg);
    struct rti_request request;
    if (call == 0 || msg->len != sizeof(request)) {
        return VERDICT_GO_ON;
    }
    memcpy(&request, msg->data, sizeof(request));
    if (request.kind == RTI_REQUEST_STOP) {
        return VERDICT_END;
    }
    struct rti_answer answer = supervisor_serve(self, &request);
    if (!rti_call_answer_word(call, (uint64_t)answer.code << 32 | answer.actor)) {
        /* It is somebody's own call, and no request of rt_supervisor_*. */
        rt_status status = rt_reply_to(call, &answer, sizeof(answer));
        (void)status;
    }
    return VERDICT_GO_ON;
}

/* The child whose restart is due first; NULL if none waits. */
static struct rti_child *supervisor_next_due(const struct rti_supervisor *self)
{
    struct rti_child *next = NULL;
    for (struct rti_child *at = rti_child_first(self); at != NULL; at = rti_child_next(at)) {
        if (at->state == RT_CHILD_RESTARTING && (next == NULL || at->due_ns < next->due_ns)) {
            next = at;
        }
    }
    return next;
}

/* How long the next receive may wait. */
static int32_t supervisor_wait_ms(const struct rti_supervisor *self, const struct rti_child *due)
{
    if (due == NULL) {
        return -1;
    }
    uint64_t now_ns = supervisor_now(self);
    if (due->due_ns <= now_ns) {
        return 0;
    }
    uint64_t wait_ms = (due->due_ns - now_ns + RTI_NS_PER_MS - 1) / RTI_NS_PER_MS;
    return wait_ms > INT32_MAX ? INT32_MAX : (int32_t)wait_ms;
}

/* A child's pause is over. The pause of a crash was counted when it crashed; a start that failed
 * is counted now. */
static enum verdict supervisor_resume(struct rti_supervisor *self, struct rti_child *child)
{
    if (self->backoff_ms == 0) {
        return supervisor_restart(self, child);
    }
    if (!supervisor_start_group(self, child) && !supervisor_may_restart(self)) {
        return VERDICT_GIVE_UP;
    }
    return VERDICT_GO_ON;
}

static enum verdict supervisor_turn(struct rti_supervisor *self)
{
    rt_message msg;
    struct rti_child *due = supervisor_next_due(self);
    int32_t wait_ms = supervisor_wait_ms(self, due);
    if (!RT_FAILED(rt_ipc_recv(&msg, wait_ms))) {
        return supervisor_take(self, &msg);
    }
    RT_ASSERT(due != NULL);
    return supervisor_resume(self, due);
}

/* Starts all children, the first first. */
static enum verdict supervisor_begin(struct rti_supervisor *self)
{
    for (struct rti_child *at = rti_child_first(self); at != NULL; at = rti_child_next(at)) {
        if (RT_FAILED(rti_child_start(at))) {
            return VERDICT_GIVE_UP;
        }
    }
    return VERDICT_GO_ON;
}

static RTI_COLD void supervisor_log(const struct rti_supervisor *self)
{
    struct rti_remark line;
    rti_remark_init(&line);
    rti_remark_add(&line, "Supervisor ");
    rti_remark_add(&line, self->self->name);
    rti_remark_add(&line, " (");
    rti_remark_add_number(&line, self->id);
    rti_remark_add(&line, ") gives up: its children cannot be kept alive");
    rti_port_log(line.text);
}

/* The actor's function. Its return is a crash, which is what giving up is. */
static void supervisor_main(void *arg)
{
    struct rti_supervisor *self = arg;
    enum verdict verdict = supervisor_begin(self);
    while (verdict == VERDICT_GO_ON) {
        verdict = supervisor_turn(self);
#if RT_CHECKS
        rti_actors_lock(self->module->actors);
        rti_supervisor_audit(self);
        rti_actors_unlock(self->module->actors);
#endif
    }
    supervisor_stop_all(self);
    if (verdict == VERDICT_END) {
        rt_exit();
    }
    supervisor_log(self);
}

/* Gives back what a supervisor has; no child of it runs. Under the lock. */
static void supervisor_free(struct rti_supervisor *self)
{
    struct rti_link *at;
    while ((at = rti_list_peek(&self->asked)) != NULL) {
        rti_child_free(rti_child_of(at));
    }
    while ((at = rti_list_peek(&self->children)) != NULL) {
        rti_child_free(rti_child_of(at));
    }
    if (self->kind != NULL) {
        rti_child_free(self->kind);
    }
    if (self->pool == &self->own_pool) {
        rti_pool_deinit(&self->own_pool);
    }
    if (rti_link_is_linked(&self->at_module)) {
        rti_list_remove(&self->at_module);
    }
    rti_pool_free(&self->module->pool, self);
}

/* The supervisor's actor has ended, perhaps by a kill. */
static void supervisor_died(struct rti_attachment *attachment)
{
    struct rti_supervisor *self = RTI_CONTAINER_OF(attachment, struct rti_supervisor, attachment);
    for (struct rti_child *at = rti_child_before(self, NULL); at != NULL;
         at = rti_child_before(self, at)) {
        rti_child_orphan(at);
    }
    supervisor_free(self);
}

static bool supervisor_has_id(const struct rti_supervisor *self, const char *id)
{
    for (struct rti_child *at = rti_child_first(self); at != NULL; at = rti_child_next(at)) {
        if (strcmp(at->id, id) == 0) {
            return true;
        }
    }
    return false;
}

/* Makes the records of the children that a configuration names. */
static rt_status supervisor_list(struct rti_supervisor *self, const rt_supervisor_config *config)
{
    for (size_t i = 0; i < config->child_count; i++) {
        const rt_child_spec *spec = &config->children[i];
        if (self->strategy != RT_SIMPLE && supervisor_has_id(self, spec->id)) {
            return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("two children have the same id")};
        }
        struct rti_child *child = rti_child_make(self, spec);
        if (child == NULL) {
            return (rt_status){RT_ERR_NOMEM, RTI_SENTENCE("no room for a child")};
        }
        if (self->strategy == RT_SIMPLE) {
            self->kind = child;
        } else {
            rti_list_push_tail(&self->children, &child->link);
        }
    }
    return RT_SUCCESS;
}

static bool supervisor_config_is_valid(const rt_supervisor_config *config)
{
    bool is_simple = config->strategy == RT_SIMPLE;
    if ((unsigned)config->strategy > RT_SIMPLE || config->intensity > RT_INTENSITY_MAX ||
        (unsigned)config->auto_shutdown > RT_AUTO_SHUTDOWN_ALL ||
        (config->children == NULL && config->child_count > 0) ||
        (is_simple && config->child_count != 1) || !rti_child_actor_is_valid(&config->actor) ||
        (config->name != NULL && !rti_child_name_is_valid(config->name)) ||
        (config->memory != NULL && ((uintptr_t)config->memory % _Alignof(struct rti_child)) != 0)) {
        return false;
    }
    for (size_t i = 0; i < config->child_count; i++) {
        if (!rti_child_spec_is_valid(&config->children[i], is_simple)) {
            return false;
        }
    }
    return true;
}

static void supervisor_init(struct rti_supervisor *self, struct rti_supervisors *module,
                            const rt_supervisor_config *config)
{
    self->module = module;
    rti_attachment_init(&self->attachment, supervisor_died);
    rti_link_init(&self->at_module);
    rti_list_init(&self->children);
    rti_list_init(&self->asked);
    self->kind = NULL;
    self->pool = &module->children;
    if (config->memory != NULL) {
        size_t count = config->memory_size / (sizeof(struct rti_child) + sizeof(uint32_t));
        while (count > 0 && RTI_POOL_BYTES(sizeof(struct rti_child), count) > config->memory_size) {
            count--;
        }
        rti_pool_init(&self->own_pool, config->memory, sizeof(struct rti_child), count);
        self->pool = &self->own_pool;
    }
    self->strategy = config->strategy;
    self->auto_shutdown = config->auto_shutdown;
    self->intensity = config->intensity;
    uint32_t period_ms = config->period_ms != 0 ? config->period_ms : SUPERVISOR_PERIOD_MS;
    self->period_ns = period_ms * RTI_NS_PER_MS;
    self->backoff_ms = config->backoff_ms;
    uint64_t max_ms = config->backoff_max_ms != 0
                          ? config->backoff_max_ms
                          : (uint64_t)config->backoff_ms * SUPERVISOR_BACKOFF_FACTOR;
    max_ms = max_ms < config->backoff_ms ? config->backoff_ms : max_ms;
    self->backoff_max_ms = max_ms > UINT32_MAX ? UINT32_MAX : (uint32_t)max_ms;
    self->restart_count = 0;
}

/* What the spawn of a supervisor's actor needs. */
struct animation {
    struct rti_supervisor *self;
    const char *name;
    const struct rti_birth *birth; /* of a child, or NULL */
    rt_status_code naming;
};

/* Before the actor can run: its table hangs at it. Under the lock. */
static void supervisor_prepare(struct rti_actor *actor, void *arg)
{
    struct animation *animation = arg;
    struct rti_supervisor *self = animation->self;
    self->id = actor->id;
    self->self = actor;
    rti_actor_note_attached(actor);
    rti_list_push_tail(&actor->owned[RTI_OWNED_ATTACHMENTS], &self->attachment.link);
    rti_list_push_tail(&self->module->all, &self->at_module);
    if (animation->name != NULL) {
        animation->naming = rti_registry_give(actor->actors, animation->name, actor).code;
        if (animation->naming != RT_OK) {
            rti_actor_doom(actor);
        }
    }
    if (animation->birth != NULL) {
        animation->birth->prepare(actor, animation->birth->arg);
    }
}

/* Gives a supervisor its actor, with which its record goes from here on. `*naming` receives what
 * became of its name. */
static actor_id supervisor_animate(struct rti_supervisor *self, const rt_supervisor_config *config,
                                   const struct rti_birth *birth, rt_status_code *naming)
{
    actor_config actor = config->actor;
    if (actor.stack_size == 0) {
        actor.stack_size = SUPERVISOR_STACK_SIZE;
    }
    if (actor.name == NULL) {
        actor.name = config->name != NULL ? config->name : "supervisor";
    }
    struct animation animation = {self, config->name, birth, RT_OK};
    const struct rti_birth own = {ACTOR_ID_INVALID, supervisor_prepare, &animation};
    actor_id id = rti_actor_spawn_as(supervisor_main, self, &actor, &own);
    *naming = animation.naming;
    return id;
}

/* Makes the record of a supervisor; NULL, with the reason in `*status`, if it cannot be. */
static struct rti_supervisor *supervisor_make(struct rti_supervisors *module,
                                              const rt_supervisor_config *config, rt_status *status)
{
    rti_actors_lock(module->actors);
    struct rti_supervisor *self = rti_pool_alloc(&module->pool);
    if (self == NULL) {
        *status = (rt_status){RT_ERR_NOMEM, RTI_SENTENCE("RT_MAX_SUPERVISORS supervisors live")};
    } else {
        supervisor_init(self, module, config);
        *status = supervisor_list(self, config);
        if (RT_FAILED(*status)) {
            supervisor_free(self);
            self = NULL;
        }
    }
    rti_actors_unlock(module->actors);
    return self;
}

rt_status rti_supervisor_open(struct rti_supervisors *module, const rt_supervisor_config *config,
                              const struct rti_birth *birth, actor_id *out)
{
    if (config == NULL || !supervisor_config_is_valid(config)) {
        return (rt_status){RT_ERR_INVALID,
                           RTI_SENTENCE("a supervisor cannot be as its configuration says")};
    }
    if (config->name != NULL && rt_whereis(config->name) != ACTOR_ID_INVALID) {
        return (rt_status){RT_ERR_EXISTS,
                           RTI_SENTENCE("another actor has the name of the supervisor")};
    }
    rt_status status;
    struct rti_supervisor *self = supervisor_make(module, config, &status);
    if (self == NULL) {
        return status;
    }
    rt_status_code naming;
    actor_id id = supervisor_animate(self, config, birth, &naming);
    if (id == ACTOR_ID_INVALID) {
        rti_actors_lock(module->actors);
        supervisor_free(self);
        rti_actors_unlock(module->actors);
        return (rt_status){RT_ERR_NOMEM, RTI_SENTENCE("no room for the supervisor's actor")};
    }
    if (naming != RT_OK) {
        (void)rt_actor_kill(id);
    }
    if (naming != RT_OK && birth == NULL) {
        return (rt_status){naming, RTI_SENTENCE("the supervisor could not have its name")};
    }
    /* A child without its name ends by its supervisor's hand. */
    *out = id;
    return RT_SUCCESS;
}

struct rti_supervisor *rti_supervisor_lookup(struct rti_supervisors *module, actor_id id)
{
    for (struct rti_link *at = rti_list_peek(&module->all); at != NULL;
         at = rti_list_next(&module->all, at)) {
        struct rti_supervisor *self = RTI_CONTAINER_OF(at, struct rti_supervisor, at_module);
        if (self->id == id && self->self->reachable_id == id) {
            return self;
        }
    }
    return NULL;
}

void rti_supervisor_audit(const struct rti_supervisor *self)
{
    RT_ASSERT(self->restart_count <= self->intensity);
    for (struct rti_child *at = rti_child_first(self); at != NULL; at = rti_child_next(at)) {
        bool is_up = at->state == RT_CHILD_RUNNING || at->state == RT_CHILD_STOPPING;
        RT_ASSERT(at->supervisor == self && is_up == rti_child_is_up(at));
        bool is_told = is_up && (rti_notice_is_queued(&at->watch.notice) ||
                                 self->self->held == &at->watch.notice.entry);
        RT_ASSERT(rti_link_is_linked(&at->watch.at_target) == (is_up && !is_told));
        RT_ASSERT(at->kept == ACTOR_ID_INVALID || !is_up || at->kept == at->actor);
        for (struct rti_child *later = rti_child_next(at); later != NULL && at->id[0] != '\0';
             later = rti_child_next(later)) {
            RT_ASSERT(strcmp(at->id, later->id) != 0);
        }
    }
}

void rti_supervisors_init(struct rti_supervisors *module, struct rti_actors *actors)
{
    RT_ASSERT(actors->sched->modules[RTI_MODULE_SUPERVISOR] == NULL);
    module->actors = actors;
    module->next_serial = 0;
    rti_list_init(&module->all);
    rti_pool_init(&module->pool, module->memory, sizeof(struct rti_supervisor), RT_MAX_SUPERVISORS);
    rti_pool_init(&module->children, module->child_memory, sizeof(struct rti_child),
                  RT_CHILD_POOL_SIZE);
    actors->sched->modules[RTI_MODULE_SUPERVISOR] = module;
}

void rti_supervisors_deinit(struct rti_supervisors *module)
{
    RT_ASSERT(rti_list_is_empty(&module->all));
    rti_pool_deinit(&module->children);
    rti_pool_deinit(&module->pool);
    module->actors->sched->modules[RTI_MODULE_SUPERVISOR] = NULL;
}

void rti_supervisors_audit(const struct rti_supervisors *module)
{
    for (struct rti_link *at = rti_list_peek(&module->all); at != NULL;
         at = rti_list_next(&module->all, at)) {
        rti_supervisor_audit(RTI_CONTAINER_OF(at, struct rti_supervisor, at_module));
    }
}
