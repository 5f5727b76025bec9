/* SPDX-License-Identifier: Apache-2.0 */
/* The essay is in deadlock.h. */
#define RTI_MODULE "deadlock"
#include "observe/deadlock.h"

#include "actor/actors.h"
#include "actor/call.h"
#include "sched/crew.h"
#include "sync/channel_wait.h"
#include "sync/line_waiter.h"
#include "sync/select.h"
#include "task/task_report.h"
#include "task/task_state.h"

/* A longer chain of waiters than this is being changed under us: whoever has it is live. */
#define DEADLOCK_WAITERS_MAX 64

#define DEADLOCK_NOBODY UINT32_MAX

/* What a search looks at. */
struct search {
    struct rti_deadlock *deadlock;
    struct rti_sched *sched;
    struct rti_tasks *tasks;
    struct rti_actors *actors;
    const struct rti_deadlock_options *options;
    uint64_t now_ns;
    uint64_t nodes_seen;
};

static uint32_t node_of_task(const struct search *search, const struct rti_task *task)
{
    const struct rti_tasks *tasks = search->tasks;
    bool is_slot = tasks != NULL && task >= tasks->slots && task < tasks->slots + RT_MAX_TASKS;
    return is_slot ? (uint32_t)(task - tasks->slots) : DEADLOCK_NOBODY;
}

static uint32_t node_of_actor(const struct search *search, actor_id id)
{
    struct rti_actors *actors = search->actors;
    const struct rti_actor *actor = rti_actors_lookup(actors, id);
    return actor == NULL ? DEADLOCK_NOBODY
                         : (uint32_t)(RT_MAX_TASKS + (size_t)(actor - actors->table));
}

/* The fiber whose cleanup stack this is. */
static uint32_t node_of_holder(const struct search *search, const struct rti_cleanups *holder)
{
    for (uint32_t i = 0; i < RTI_DEADLOCK_NODES; i++) {
        const struct rti_fiber *fiber = search->deadlock->nodes[i].fiber;
        if (fiber != NULL && &fiber->cleanups == holder) {
            return i;
        }
    }
    return DEADLOCK_NOBODY;
}

/* It waits for this one; for nobody that is known, it is live. */
static void node_add_target(struct rti_deadlock_node *node, uint32_t target)
{
    if (target == DEADLOCK_NOBODY || node->target_count == RTI_DEADLOCK_TARGETS) {
        node->is_live = true;
    } else {
        node->targets[node->target_count++] = target;
    }
}

/* What one event that would end the wait comes from; `waiter` is a copy. */
static void node_add_waiter(const struct search *search, struct rti_deadlock_node *node,
                            const struct rti_waiter *place, const struct rti_waiter *waiter)
{
    struct rti_cleanups *holder = NULL;
    if (waiter->event == RTI_EVENT_CANCEL) {
        return;
    }
    if (waiter->event == RTI_EVENT_TIMEOUT) {
        node->is_live = true;
    } else if (waiter->unlink == rti_task_unwatch) {
        node_add_target(node, node_of_task(search, waiter->slot));
    } else if (node >= search->deadlock->nodes + RT_MAX_TASKS &&
               (waiter->unlink == rti_actors_unlink_sync || rti_waiter_is_of_call(waiter))) {
        const struct rti_actor *actor =
            RTI_CONTAINER_OF(node->fiber, const struct rti_actor, fiber);
        node_add_target(node, node_of_actor(search, actor->waits_for));
    } else if (rti_waiter_is_of_line(waiter) &&
               rti_waiter_mutex_holder(place, search->options->peek, &holder)) {
        node_add_target(node, node_of_holder(search, holder));
    } else if (rti_waiter_is_of_channel(waiter) || rti_waiter_is_of_channel_arm(waiter) ||
               rti_waiter_is_of_line(waiter) || waiter->unlink == rti_actors_unwatch ||
               waiter->unlink == rti_actors_unlink_line || node->reason == RTI_REASON_REGION) {
        node->is_anybody = true;
    } else {
        node->is_live = true;
    }
}

/* Reads what the fiber of a node waits for. What moves meanwhile is live. */
static void node_read(const struct search *search, struct rti_deadlock_node *node)
{
    rti_peek peek = search->options->peek;
    struct rti_wait wait;
    struct rti_waiter waiter;
    size_t count = 0;
    bool is_read = rti_peek_copy(peek, &wait, node->wait, sizeof(wait));
    node->reason = is_read ? wait.reason : RTI_REASON_UNKNOWN;
    node->is_live = !is_read || rti_u32_load_relaxed(&wait.claimed) != RTI_EVENT_NONE;
    const struct rti_waiter *place = wait.waiters;
    while (!node->is_live && place != NULL) {
        if (count++ == DEADLOCK_WAITERS_MAX ||
            !rti_peek_copy(peek, &waiter, place, sizeof(waiter))) {
            node->is_live = true;
            break;
        }
        node_add_waiter(search, node, place, &waiter);
        place = waiter.sibling;
    }
    if (node->target_count == 0) {
        /* Nothing but a cancellation: whoever runs may bring that. */
        node->is_anybody = true;
    }
}

/* What is said of a fiber outside of its stack, at one moment. */
static bool node_snap(const struct search *search, const struct rti_fiber *fiber,
                      const struct rti_wait **wait, uint64_t *parked_ns)
{
    rti_peek peek = search->options->peek;
    if (rti_runnable_state(&fiber->run) != RTI_RUNNABLE_PARKED ||
        !rti_peek_copy(peek, wait, &fiber->wait, sizeof(fiber->wait))) {
        return false;
    }
#if RTI_HAS_TOOLS
    return rti_peek_copy(peek, parked_ns, rti_fiber_parked_ns(fiber), sizeof(*parked_ns));
#else
    *parked_ns = 0;
    return true;
#endif
}

static void node_init(struct search *search, struct rti_deadlock_node *node,
                      const struct rti_fiber *fiber)
{
    *node = (struct rti_deadlock_node){.fiber = fiber, .is_live = true};
    search->nodes_seen++;
}

/* Fills in a node that has its fiber. */
static void node_look(const struct search *search, struct rti_deadlock_node *node)
{
    const struct rti_wait *wait_after = NULL;
    uint64_t parked_after_ns = 0;
    if (!node_snap(search, node->fiber, &node->wait, &node->parked_ns) ||
        search->now_ns < node->parked_ns ||
        search->now_ns - node->parked_ns < search->options->span_ns) {
        return;
    }
    node_read(search, node);
    if (!node_snap(search, node->fiber, &wait_after, &parked_after_ns) ||
        wait_after != node->wait || parked_after_ns != node->parked_ns) {
        node->is_live = true;
    }
}

/* All nodes with their fibers, then what each waits for: a holder is found among them. */
static void search_collect(struct search *search)
{
    struct rti_deadlock_node *nodes = search->deadlock->nodes;
    for (size_t i = 0; i < RTI_DEADLOCK_NODES; i++) {
        nodes[i].fiber = NULL;
    }
    /* Others may have begun to use the room that rt_task_reserve made since the search began. */
    uint32_t fresh = search->tasks == NULL ? 0 : rti_tasks_fresh(search->tasks);
    for (uint32_t i = 0; i < fresh && i < RT_MAX_TASKS; i++) {
        struct rti_task *task = &search->tasks->slots[i];
        enum rti_task_life life = rti_task_life(&task->life);
        if (life == RTI_TASK_HELD || life == RTI_TASK_WATCHED || life == RTI_TASK_RELEASED) {
            node_init(search, &nodes[i], &task->fiber);
        }
    }
    /* The lock keeps whom an actor waits for from changing under us. */
    RT_ASSERT(search->actors != NULL);
    rti_actors_lock(search->actors);
    for (size_t i = 0; i < RT_MAX_ACTORS; i++) {
        const struct rti_actor *actor = &search->actors->table[i];
        if (actor->id != ACTOR_ID_INVALID) {
            node_init(search, &nodes[RT_MAX_TASKS + i], &actor->fiber);
        }
    }
    for (size_t i = 0; i < RTI_DEADLOCK_NODES; i++) {
        if (nodes[i].fiber != NULL) {
            node_look(search, &nodes[i]);
        }
    }
    rti_actors_unlock(search->actors);
}

static bool timers_are_armed(const struct rti_timer_source *timers)
{
    return timers->next_deadline != NULL &&
           timers->next_deadline(timers->context) != RTI_TIME_NEVER;
}

/* May anything beside tasks and actors bring what anybody could? */
static bool search_is_world_live(const struct search *search)
{
    const struct rti_crew *crew = rti_sched_crew(search->sched);
    bool is_live = search->options->is_open || rti_sched_live(search->sched) > search->nodes_seen;
    if (crew == NULL) {
        return is_live || timers_are_armed(&search->sched->timers);
    }
    for (uint32_t i = 0; i < crew->stations_count && !is_live; i++) {
        is_live = timers_are_armed(&crew->stations[i].timers);
    }
    return is_live;
}

static bool node_hears(const struct rti_deadlock *deadlock, const struct rti_deadlock_node *node,
                       bool is_world_live)
{
    bool is_live = node->is_anybody && is_world_live;
    for (uint32_t i = 0; i < node->target_count && !is_live; i++) {
        const struct rti_deadlock_node *target = &deadlock->nodes[node->targets[i]];
        /* One whose fiber is gone has ended just now. */
        is_live = target->fiber == NULL || target->is_live;
    }
    return is_live;
}

/* Passes the word on until nobody is left who could hear it. */
static void search_spread(const struct search *search)
{
    struct rti_deadlock *deadlock = search->deadlock;
    bool is_world_live = search_is_world_live(search);
    bool has_changed = true;
    for (size_t i = 0; i < RTI_DEADLOCK_NODES; i++) {
        is_world_live |= deadlock->nodes[i].fiber != NULL && deadlock->nodes[i].is_live;
    }
    while (has_changed) {
        has_changed = false;
        for (size_t i = 0; i < RTI_DEADLOCK_NODES; i++) {
            struct rti_deadlock_node *node = &deadlock->nodes[i];
            if (node->fiber != NULL && !node->is_live &&
                node_hears(deadlock, node, is_world_live)) {
                node->is_live = true;
                has_changed = true;
            }
        }
    }
}

static bool node_is_stuck(const struct rti_deadlock_node *node)
{
    return node->fiber != NULL && !node->is_live;
}

static void line_add_who(struct rti_remark *line, const struct search *search, uint32_t index)
{
    if (index < RT_MAX_TASKS) {
        rti_remark_add(line, "task ");
        rti_task_remark_name(line, &search->tasks->slots[index]);
        return;
    }
    const struct rti_actor *actor = &search->actors->table[index - RT_MAX_TASKS];
    rti_remark_add(line, "actor ");
    rti_remark_add(line, actor->name);
    rti_remark_add(line, " (");
    rti_remark_add_number(line, actor->id);
    rti_remark_add(line, ")");
}

/* "deadlock: task fetch (7) waits for a lock of task main (1), spawned at server.c:28" */
static void node_tell(const struct search *search, uint32_t index)
{
    struct rti_deadlock_node *node = &search->deadlock->nodes[index];
    struct rti_remark line;
    rti_remark_init(&line);
    rti_remark_add(&line, "deadlock:   ");
    line_add_who(&line, search, index);
    rti_remark_add(&line, " waits for ");
    rti_remark_add(&line, rti_task_reason_name(node->reason));
    for (uint32_t i = 0; i < node->target_count; i++) {
        rti_remark_add(&line, i == 0 ? " of " : " or ");
        line_add_who(&line, search, node->targets[i]);
    }
    if (node->is_anybody) {
        rti_remark_add(&line, ", and nobody is left to end that");
    }
    if (index < RT_MAX_TASKS) {
        rti_remark_add(&line, ",");
        rti_task_remark_chain(&line, &search->tasks->slots[index]);
    }
    rti_port_log(line.text);
    node->is_told = true;
}

/* Was a circle with this first one told before? If not it is from now on. */
static bool search_remember(const struct search *search, uint32_t index)
{
    const struct rti_deadlock_node *first = &search->deadlock->nodes[index];
    bool is_known = search->deadlock->told[index].id == first->fiber->run.id &&
                    search->deadlock->told[index].parked_ns == first->parked_ns;
    search->deadlock->told[index].id = first->fiber->run.id;
    search->deadlock->told[index].parked_ns = first->parked_ns;
    return is_known;
}

/* Follows the first arrow of each, as long as it leads to somebody new. */
static void search_tell_chain(const struct search *search, uint32_t index, bool is_loud)
{
    struct rti_deadlock_node *nodes = search->deadlock->nodes;
    while (!nodes[index].is_told) {
        nodes[index].is_told = true;
        if (is_loud) {
            node_tell(search, index);
        }
        if (nodes[index].target_count == 0) {
            return;
        }
        index = nodes[index].targets[0];
    }
}

/* Whether only those wait who may as well be idle: for mail, and for nothing else. */
static bool search_is_idle(const struct search *search)
{
    for (size_t i = 0; i < RTI_DEADLOCK_NODES; i++) {
        const struct rti_deadlock_node *node = &search->deadlock->nodes[i];
        if (node_is_stuck(node) && node->reason != RTI_REASON_MAIL) {
            return false;
        }
    }
    return true;
}

void rti_deadlock_forget(struct rti_deadlock *deadlock)
{
    deadlock->is_refusal_told = false;
    for (size_t i = 0; i < RTI_DEADLOCK_NODES; i++) {
        deadlock->told[i].id = 0;
    }
}

size_t rti_deadlock_tell(struct rti_deadlock *deadlock, struct rti_sched *sched,
                         const struct rti_deadlock_options *options)
{
    struct search search = {
        .deadlock = deadlock,
        .sched = sched,
        .tasks = sched->modules[RTI_MODULE_TASK],
        .actors = sched->modules[RTI_MODULE_ACTOR],
        .options = options,
        .now_ns = rti_sched_clock(sched),
    };
    size_t count = 0;
    if (search.tasks != NULL && rti_tasks_fresh(search.tasks) > RT_MAX_TASKS) {
        /* There are no nodes for tasks in the room that rt_task_reserve made. */
        if (!deadlock->is_refusal_told) {
            deadlock->is_refusal_told = true;
            rti_port_log("deadlock: more tasks than RT_MAX_TASKS were started, so that deadlocks "
                         "are not looked for any more");
        }
        return 0;
    }
    search_collect(&search);
    search_spread(&search);
    if (search_is_idle(&search)) {
        return 0;
    }
    for (uint32_t i = 0; i < RTI_DEADLOCK_NODES; i++) {
        const struct rti_deadlock_node *node = &deadlock->nodes[i];
        if (!node_is_stuck(node) || node->is_told) {
            continue;
        }
        bool is_known = search_remember(&search, i);
        if (!is_known && count++ == 0) {
            rti_port_log("deadlock: these wait for each other, and nothing can end it");
        }
        search_tell_chain(&search, i, !is_known);
    }
    return count;
}
