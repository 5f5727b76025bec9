/* SPDX-License-Identifier: Apache-2.0 */
/* The turn; the essay is in loop.h. */
#define RTI_MODULE "loop"
#include "machine/loop.h"

#include <string.h>

#include "machine/platform.h"

_Static_assert(RT_STATUS_COUNT <= 256, "a status fits 8 bits of an event");

static rti_atomic_u32 *group_open(rt_loop_group *group)
{
    return (rti_atomic_u32 *)&group->open_count;
}

static rti_atomic_u32 *group_made(rt_loop_group *group)
{
    return (rti_atomic_u32 *)&group->made_count;
}

/* Ends the wait of a loop that runs in a thread of its own. */
static void loop_wake_port(struct rti_loop *loop)
{
    loop->port->ops->wake(loop->port);
}

void rt_loop_group_init(rt_loop_group *group, rt_loop **loops, uint32_t count)
{
    RT_ASSERT(group != NULL && loops != NULL && count > 0 && count <= RTI_LOOPS_MAX);
    *group = (rt_loop_group){.loops = loops, .count = count};
    rti_u32_init(group_open(group), count);
    rti_u32_init(group_made(group), 0);
}

static rt_status loop_check(const rt_loop *loop, const rt_loop_config *config)
{
    if (loop == NULL || config == NULL || config->port == NULL || config->app == NULL ||
        config->slots == NULL) {
        return (rt_status){RT_ERR_INVALID, "loop, port, app and slots must be given"};
    }
    if (config->slots_count < 2 || config->slots_count > UINT16_MAX) {
        return (rt_status){RT_ERR_INVALID, "a loop has 2 to 65,535 slots"};
    }
    if (config->group == NULL) {
        return config->thread_id == 0
                   ? rti_machine_check(&config->app_config)
                   : (rt_status){RT_ERR_INVALID, "a loop without a group has thread_id 0"};
    }
    if (config->thread_id >= config->group->count ||
        config->group->loops[config->thread_id] != loop) {
        return (rt_status){RT_ERR_INVALID, "the group has another loop in this place"};
    }
    return rti_machine_check(&config->app_config);
}

static void loop_make_root(struct rti_loop *loop, rt_machine *machine,
                           const rt_machine_config *config)
{
    rti_machine_init(machine, loop, NULL, config);
    rt_status status = rti_slots_take(loop, machine);
    RT_ASSERT(!RT_FAILED(status));
    rti_machine_want_tick(machine);
}

rt_status rti_loop_make(rt_loop *outside, const rt_loop_config *config)
{
    rt_status status = loop_check(outside, config);
    if (RT_FAILED(status)) {
        return status;
    }
    struct rti_loop *loop = rti_loop_of(outside);
    memset(loop, 0, sizeof(*loop));
    loop->thread_id = config->thread_id;
    loop->port = config->port;
    loop->group = config->group;
    if (loop->group == NULL) {
        loop->alone_loops[0] = outside;
        loop->group = &loop->alone;
        rt_loop_group_init(loop->group, loop->alone_loops, 1);
    }
    rti_u32_init(&loop->is_close_asked, 0);
    rti_inbox_init(&loop->inbox);
    rti_list_init(&loop->with_input);
    rti_list_init(&loop->with_output);
    rti_slots_init(loop, config->slots, config->slots_count);
    loop->rouse_remote = loop_wake_port;
    loop->now_ns = loop->port->ops->clock_ns(loop->port);
    loop->wheel = &loop->own_wheel;
    rti_wheel_init(loop->wheel, loop->now_ns);
    loop->platform = &loop->platform_machine;
    loop_make_root(loop, loop->platform, &rti_platform_config);
    loop->app = config->app;
    loop_make_root(loop, loop->app, &config->app_config);
    return RT_SUCCESS;
}

void rti_loop_made(struct rti_loop *loop)
{
    rt_loop_group *group = loop->group;
    /* Release: the loop is made; acquire: the others are. Pairs with itself and with the load in
     * rti_loop_is_group_made. */
    if (rti_u32_add_acqrel(group_made(group), 1) + 1 != group->count) {
        return;
    }
    for (uint32_t i = 0; i < group->count; i++) {
        struct rti_loop *peer = rti_loop_of(group->loops[i]);
        if (peer->bring != NULL) {
            /* It may have been started before this one was made. */
            peer->rouse_remote(peer);
        }
    }
}

bool rti_loop_is_group_made(const struct rti_loop *loop)
{
    /* Acquire pairs with the add in rti_loop_made. */
    return rti_u32_load_acquire(group_made(loop->group)) == loop->group->count;
}

rt_status rt_loop_init(rt_loop *outside, const rt_loop_config *config)
{
    rt_status status = rti_loop_make(outside, config);
    if (!RT_FAILED(status)) {
        rti_loop_made(rti_loop_of(outside));
    }
    return status;
}

void rt_loop_deinit(rt_loop *outside)
{
    struct rti_loop *loop = rti_loop_of(outside);
    RT_ASSERT(loop->is_closed && rti_loop_is_over(loop));
    RT_ASSERT(loop->stats.machines == 0);
    RT_ASSERT(rti_inbox_audit(&loop->inbox) == 0);
    RT_ASSERT(loop->wheel != &loop->own_wheel || rti_wheel_count(loop->wheel) == 0);
}

static void loop_write(struct rti_loop *loop, const struct rti_journal_event *event)
{
    if (loop->write != NULL) {
        loop->write(loop, event);
    } else {
        rti_journal_write(loop->journal, loop->now_ns, event);
    }
}

void rti_loop_record_write(struct rti_loop *loop, enum rti_journal_kind kind, const rt_op *op,
                           uint32_t machine_id)
{
    RT_ASSERT(loop->journal != NULL);
    struct rti_journal_event event = {.kind = kind,
                                      .task = machine_id,
                                      .channel = loop->thread_id,
                                      .timer = op->trace_id,
                                      .value = op->id};
    if (kind == RTI_JOURNAL_OP_ANSWER || kind == RTI_JOURNAL_OP_DONE) {
        event.channel = loop->thread_id << 8 | (uint32_t)op->status;
    }
    loop_write(loop, &event);
}

void rti_loop_record_parent(struct rti_loop *loop, enum rti_journal_kind kind, const rt_op *op,
                            uint32_t machine_id, uint32_t detail)
{
    if (RTI_LIKELY(loop->journal == NULL)) {
        return;
    }
    loop_write(loop, &(struct rti_journal_event){.kind = kind,
                                                 .task = machine_id,
                                                 .channel = detail,
                                                 .timer = op->parent_id,
                                                 .value = op->id});
    rti_loop_record_write(loop, RTI_JOURNAL_OP_TRACE, op, machine_id);
}

bool rti_loop_is_idle(struct rti_loop *loop)
{
    return rti_list_is_empty(&loop->with_input) && rti_list_is_empty(&loop->with_output) &&
           rti_inbox_try_idle(&loop->inbox);
}

/* Phase 1: the one call that blocks. */
static enum rti_wait_end loop_wait(struct rti_loop *loop, uint64_t until_ns)
{
    uint64_t deadline_ns = 0;
    if (until_ns > 0 && rti_loop_is_idle(loop) && !rti_loop_is_over(loop)) {
        deadline_ns = rti_wheel_next_deadline(loop->wheel);
        deadline_ns = deadline_ns < until_ns ? deadline_ns : until_ns;
        RT_ASSERT(rti_list_is_empty(&loop->with_output) && rti_list_is_empty(&loop->with_input));
    }
    loop->stats.waits++;
    return loop->port->ops->wait(loop->port, deadline_ns);
}

/* Phase 3: what was there when the visit began. */
static void loop_take_inbox(struct rti_loop *loop)
{
    struct rti_leg *leg;
    while ((leg = rti_inbox_next(&loop->inbox)) != NULL) {
        rti_route_arrival(loop, leg);
    }
}

/* Phase 4. */
static void loop_route(struct rti_loop *loop)
{
    struct rti_link *link;
    while ((link = rti_list_pop(&loop->with_output)) != NULL) {
        rt_machine *root =
            rti_machine_outside(RTI_CONTAINER_OF(link, struct rti_machine, output_link));
        rti_route_output(loop, root);
        if (rti_machine_of(root)->state == RTI_MACHINE_CLOSING) {
            rti_machine_want_tick(root);
        }
    }
}

static void loop_tick_one(struct rti_loop *loop, rt_machine *machine)
{
    loop->stats.ticks++;
    machine->tick(machine, loop->now_ns);
    struct rti_machine *self = rti_machine_of(machine);
    if (!rti_list_is_empty(&self->talking) || !rti_list_is_empty(&self->shown)) {
        rti_machine_pass_rest(machine);
    }
    if (RTI_UNLIKELY(self->state == RTI_MACHINE_CLOSING)) {
        (void)rti_machine_try_finish(machine);
    }
}

/* Phase 5: those that were ready when it began; who becomes ready meanwhile is in the next. */
static void loop_tick(struct rti_loop *loop)
{
    struct rti_list ready;
    struct rti_link *link;
    rti_list_init(&ready);
    rti_list_splice_tail(&ready, &loop->with_input);
    while ((link = rti_list_pop(&ready)) != NULL) {
        loop_tick_one(loop,
                      rti_machine_outside(RTI_CONTAINER_OF(link, struct rti_machine, input_link)));
    }
}

/* Closes the roots one after the other, once that was asked for. */
static void loop_close_next(struct rti_loop *loop)
{
    /* Pairs with the release in rt_loop_close. */
    if (loop->is_closed || rti_u32_load_acquire(&loop->is_close_asked) == 0) {
        return;
    }
    if (loop->app != NULL) {
        rt_machine_close(loop->app);
    } else if (loop->platform != NULL) {
        RT_ASSERT(loop->app == NULL);
        rt_machine_close(loop->platform);
    } else {
        loop->is_closed = true;
        rt_loop_group *group = loop->group;
        /* Release: all answers of this loop come before; acquire: those of the others. Pairs with
         * itself and with the load in rti_loop_is_over. */
        if (rti_u32_sub_acqrel(group_open(group), 1) == 1) {
            for (uint32_t i = 0; i < group->count; i++) {
                struct rti_loop *peer = rti_loop_of(group->loops[i]);
                peer->rouse_remote(peer);
            }
        }
    }
}

void rti_loop_machine_closed(struct rti_loop *loop, rt_machine *machine)
{
    if (machine == loop->app) {
        RT_ASSERT(loop->platform != NULL);
        loop->app = NULL;
    } else if (machine == loop->platform) {
        RT_ASSERT(loop->app == NULL);
        loop->platform = NULL;
    }
}

bool rti_loop_is_over(struct rti_loop *loop)
{
    /* Pairs with the subtraction in loop_close_next. */
    return loop->is_closed && rti_u32_load_acquire(group_open(loop->group)) == 0;
}

void rti_loop_work(struct rti_loop *loop)
{
    RT_ASSERT(!loop->is_ticking);
    loop->is_ticking = true;
    loop->now_ns = loop->port->ops->clock_ns(loop->port);
    loop->stats.turns++;
    if (loop->wheel == &loop->own_wheel) {
        rti_wheel_expire(loop->wheel, loop->now_ns);
    }
    loop_take_inbox(loop);
    for (unsigned i = 0; i < RTI_LOOP_ROUNDS_MAX; i++) {
        loop_close_next(loop);
        loop_route(loop);
        loop_tick(loop);
        if (rti_list_is_empty(&loop->with_output) && rti_list_is_empty(&loop->with_input)) {
            break;
        }
    }
    loop_close_next(loop);
    loop->is_ticking = false;
    RT_AUDIT(rti_loop_audit(loop));
}

bool rt_loop_turn(rt_loop *outside, rt_time until)
{
    struct rti_loop *loop = rti_loop_of(outside);
    RT_ASSERT(!loop->is_hosted && !loop->is_ticking);
    (void)loop_wait(loop, until);
    rti_loop_work(loop);
    return !rti_loop_is_over(loop);
}

rt_status rt_loop_run(rt_loop *outside)
{
    struct rti_loop *loop = rti_loop_of(outside);
    RT_ASSERT(!loop->is_hosted && !loop->is_ticking);
    while (!rti_loop_is_over(loop)) {
        bool is_stuck = loop_wait(loop, RT_TIME_NEVER) == RTI_WAIT_STUCK;
        uint64_t received = loop->stats.received;
        rti_loop_work(loop);
        if (is_stuck && rti_loop_is_idle(loop) && loop->stats.received == received &&
            !rti_loop_is_over(loop) && rti_wheel_count(loop->wheel) == 0) {
            return (rt_status){RT_ERR_DEADLOCK, "every machine waits and nothing can come"};
        }
    }
    return RT_SUCCESS;
}

void rt_loop_close(rt_loop *outside)
{
    struct rti_loop *loop = rti_loop_of(outside);
    /* Pairs with the acquire in loop_close_next. */
    rti_u32_store_release(&loop->is_close_asked, 1);
    loop->rouse_remote(loop);
}

rt_time rt_loop_next_deadline(rt_loop *outside)
{
    struct rti_loop *loop = rti_loop_of(outside);
    return rti_loop_is_idle(loop) ? rti_wheel_next_deadline(loop->wheel) : 0;
}

rt_machine_ref rt_loop_platform(const rt_loop *outside)
{
    const struct rti_loop *loop = rti_loop_of_const(outside);
    return loop->platform_machine.id;
}

rt_loop *rt_machine_loop(const rt_machine *machine)
{
    return rti_loop_outside(rti_machine_of_const(machine)->loop);
}

void rt_loop_get_stats(const rt_loop *outside, rt_loop_stats *stats)
{
    *stats = rti_loop_of_const(outside)->stats;
}

void rti_loop_audit(struct rti_loop *loop)
{
    rti_slots_audit(loop);
    rti_list_audit(&loop->with_input);
    RT_ASSERT(rti_list_audit(&loop->with_output) <= 2);
    RT_ASSERT(loop->platform != NULL || loop->app == NULL);
    for (size_t i = 0; i < loop->slots_count; i++) {
        if (loop->slots[i].machine != NULL) {
            rti_machine_audit(loop->slots[i].machine);
        }
    }
}
