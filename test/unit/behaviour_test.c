/* SPDX-License-Identifier: Apache-2.0 */
/* The life of behaviours: places, turns, orders, ends. */
#define RTI_MODULE "behaviour_test"
#include "actor/behaviour.h"

#include <orrery/rt.h>

#include "support/test.h"
#include "support/world.h"

static struct rti_behaviours *module(void)
{
    return rti_behaviours_of(rti_worker_current());
}

static void settle(void)
{
    rt_message msg;
    CHECK_STATUS(rt_ipc_recv(&msg, 1), RT_ERR_TIMEOUT);
}

/* A counter: 0 adds, 1 tells its sum to the sender, 2 ends. */
struct counter {
    uint64_t sum;
    unsigned *starts;
};

static unsigned starts;
static unsigned ends;
static rt_exit_reason last_reason;
static unsigned plain_count;

static void counter_add(void *state, const rt_behaviour_message *msg)
{
    struct counter *self = state;
    uint64_t number;
    CHECK_EQ(msg->len, sizeof(number));
    memcpy(&number, msg->data, sizeof(number));
    self->sum += number;
}

static void counter_tell(void *state, const rt_behaviour_message *msg)
{
    struct counter *self = state;
    CHECK_OK(rt_behaviour_send(msg->sender, 9, &self->sum, sizeof(self->sum)));
}

static void counter_end(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    CHECK_EQ(msg->len, 1);
    CHECK_OK(rt_behaviour_end(*(const char *)msg->data == 'n' ? RT_EXIT_NORMAL : RT_EXIT_CRASH));
}

static void counter_start(void *state, void *arg)
{
    struct counter *self = state;
    CHECK_EQ(self->sum, 0);
    self->starts = arg;
    (*self->starts)++;
}

static void counter_over(void *state, rt_exit_reason reason)
{
    (void)state;
    ends++;
    last_reason = reason;
}

static void counter_other(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    plain_count += msg->id == RT_BEHAVIOUR_PLAIN;
}

static const rt_behaviour_fn counter_handlers[] = {counter_add, counter_tell, counter_end};
static const rt_behaviour_type counter = {.name = "counter",
                                          .handlers = counter_handlers,
                                          .handler_count = 3,
                                          .otherwise = counter_other,
                                          .start = counter_start,
                                          .end = counter_over,
                                          .state_size = sizeof(struct counter),
                                          .priority = RT_PRIO_NORMAL};

static void add(actor_id to, uint64_t number)
{
    CHECK_OK(rt_behaviour_send(to, 0, &number, sizeof(number)));
}

static uint64_t ask(actor_id to)
{
    rt_message msg;
    uint64_t sum;
    CHECK_OK(rt_behaviour_send(to, 1, NULL, 0));
    CHECK_OK(rt_ipc_recv(&msg, 10));
    CHECK_EQ(msg.sender, to);
    CHECK_EQ(rt_behaviour_id(&msg), 9);
    memcpy(&sum, msg.data, sizeof(sum));
    return sum;
}

static void counts(void *arg)
{
    (void)arg;
    starts = ends = plain_count = 0;
    actor_id one = rt_behaviour_spawn(&counter, &starts);
    actor_id two = rt_behaviour_spawn(&counter, &starts);
    CHECK(rt_actor_alive(one) && rt_actor_alive(two) && one != two);
    CHECK_EQ(starts, 0); /* not inside the spawn */
    for (uint64_t i = 1; i <= 10; i++) {
        add(one, i);
        add(two, 10 * i);
    }
    CHECK_EQ(ask(one), 55);
    CHECK_EQ(ask(two), 550);
    CHECK_EQ(starts, 2);
    CHECK_OK(rt_ipc_send(one, "plain", 5, IPC_ASYNC));
    CHECK_STATUS(rt_ipc_send(one, "plain", 5, IPC_SYNC), RT_ERR_INVALID);
    settle();
    CHECK_EQ(plain_count, 1);
    rti_behaviours_audit(module());
    CHECK_OK(rt_behaviour_send(one, 2, "n", 1));
    CHECK_OK(rt_behaviour_send(two, 2, "c", 1));
    settle();
    CHECK_EQ(ends, 2);
    CHECK_EQ(last_reason, RT_EXIT_CRASH);
    CHECK(!rt_actor_alive(one));
    CHECK_STATUS(rt_behaviour_send(one, 0, NULL, 0), RT_ERR_INVALID);
    rt_exit();
}

TEST(behaviour_has_a_state_of_its_own_and_answers)
{
    world_run(counts, NULL);
}

static void watched(void *arg)
{
    (void)arg;
    static const rt_exit_reason wanted[3] = {RT_EXIT_NORMAL, RT_EXIT_CRASH, RT_EXIT_KILLED};
    for (size_t i = 0; i < 3; i++) {
        uint32_t ref;
        rt_message msg;
        rt_exit_msg exit_msg;
        actor_id id = rt_behaviour_spawn(&counter, &starts);
        CHECK_OK(rt_monitor(id, &ref));
        if (i == 2) {
            CHECK_OK(rt_actor_kill(id));
            CHECK(!rt_actor_alive(id));
            CHECK_STATUS(rt_actor_kill(id), RT_ERR_INVALID);
        } else {
            CHECK_OK(rt_behaviour_send(id, 2, i == 0 ? "n" : "c", 1));
        }
        CHECK_OK(rt_ipc_recv(&msg, -1));
        CHECK_OK(rt_decode_exit(&msg, &exit_msg));
        CHECK_EQ(exit_msg.actor, id);
        CHECK_EQ(exit_msg.reason, wanted[i]);
        CHECK_STATUS(rt_monitor(id, &ref), RT_ERR_INVALID);
    }
    uint32_t ref;
    actor_id id = rt_behaviour_spawn(&counter, &starts);
    CHECK_OK(rt_monitor(id, &ref));
    CHECK_OK(rt_demonitor(ref));
    CHECK_OK(rt_actor_kill(id));
    settle();
    rt_exit();
}

TEST(behaviour_that_ends_is_told_of_once_with_its_reason)
{
    world_run(watched, NULL);
}

static void killed_early(void *arg)
{
    (void)arg;
    starts = ends = 0;
    actor_id id = rt_behaviour_spawn(&counter, &starts);
    add(id, 1);
    CHECK_OK(rt_actor_kill(id));
    settle();
    /* It has not begun, so there is nothing to end. */
    CHECK_EQ(starts, 0);
    CHECK_EQ(ends, 0);
    rt_behaviour_stats stats;
    CHECK_OK(rt_behaviour_stats_get(&stats));
    CHECK_EQ(stats.live, 0);
    CHECK_EQ(stats.messages, 0);
    CHECK_EQ(stats.dead_letters, 1);
    rt_exit();
}

TEST(behaviour_killed_before_its_first_turn_never_begins)
{
    world_run(killed_early, NULL);
}

static void stop_by_kill(void *state)
{
    (void)state;
    CHECK_OK(rt_actor_kill(rt_self()));
}

static void stopped(void *arg)
{
    (void)arg;
    starts = ends = 0;
    rt_behaviour_type type = counter;
    type.stop = stop_by_kill;
    actor_id idle = rt_behaviour_spawn(&type, &starts);
    actor_id busy = rt_behaviour_spawn(&type, &starts);
    settle();
    add(busy, 1);
    rti_behaviour_ask_to_stop(module()->actors, idle);
    rti_behaviour_ask_to_stop(module()->actors, busy);
    settle();
    CHECK_EQ(ends, 2);
    CHECK_EQ(last_reason, RT_EXIT_KILLED);
    CHECK(!rt_actor_alive(idle) && !rt_actor_alive(busy));
    rti_behaviours_audit(module());
    rt_exit();
}

TEST(behaviour_that_orders_its_end_while_it_obeys_ends)
{
    world_run(stopped, NULL);
}

/* A place that has issued its last id is used no more. */
static void worn_out(void *arg)
{
    (void)arg;
    struct rti_behaviour *place = &module()->places[0];
    uint32_t step = UINT32_C(1) << module()->index_bits;
    actor_id id = rt_behaviour_spawn(&counter, &starts);
    CHECK_OK(rt_actor_kill(id));
    settle();
    CHECK_EQ(module()->fresh, 1);
    place->life_id = (RT_SENDER_SUPERVISOR - 1) / step * step - step; /* one more is left */
    for (unsigned i = 0; i < 3; i++) {
        id = rt_behaviour_spawn(&counter, &starts);
        CHECK(id != ACTOR_ID_INVALID && id < RT_SENDER_SUPERVISOR);
        CHECK_EQ(id & module()->index_mask, i == 0 ? 0 : 1);
        add(id, 7);
        CHECK_EQ(ask(id), 7);
        CHECK_OK(rt_actor_kill(id));
        settle();
        rti_behaviours_audit(module());
    }
    CHECK_EQ(module()->fresh, 2);
    rt_exit();
}

TEST(behaviour_place_that_is_worn_out_is_used_no_more)
{
    world_run(worn_out, NULL);
}

/* Asked to stop it goes on, and is asked once. */
static unsigned stops;

static void stays(void *state)
{
    (void)state;
    stops++;
}

static void asked_once(void *arg)
{
    rt_behaviour_type type = counter;
    (void)arg;
    type.stop = stays;
    stops = 0;
    actor_id id = rt_behaviour_spawn(&type, &starts);
    for (unsigned i = 1; i <= 3; i++) {
        rti_behaviour_ask_to_stop(module()->actors, id);
        for (unsigned k = 0; k < 3; k++) {
            add(id, 1);
            settle();
        }
        CHECK_EQ(stops, i);
        CHECK_EQ(ask(id), 3 * i);
    }
    CHECK_OK(rt_actor_kill(id));
    settle();
    rt_exit();
}

TEST(behaviour_is_asked_to_stop_once)
{
    world_run(asked_once, NULL);
}

static void reused(void *arg)
{
    (void)arg;
    actor_id old[8];
    for (unsigned round = 0; round < 8; round++) {
        actor_id id = rt_behaviour_spawn(&counter, &starts);
        old[round] = id;
        add(id, round + 1);
        /* While another lives in their place. */
        for (unsigned i = 0; i < round; i++) {
            CHECK(!rt_actor_alive(old[i]));
            CHECK_STATUS(rt_actor_kill(old[i]), RT_ERR_INVALID);
            CHECK_STATUS(rt_behaviour_send(old[i], 2, "n", 1), RT_ERR_INVALID);
        }
        CHECK_EQ(ask(id), round + 1);
        CHECK_OK(rt_actor_kill(id));
        settle();
        for (unsigned i = 0; i <= round; i++) {
            CHECK_STATUS(rt_behaviour_send(old[i], 0, NULL, 0), RT_ERR_INVALID);
            CHECK(!rt_actor_alive(old[i]));
        }
    }
    CHECK_EQ(module()->fresh, 1); /* all in one place */
    rt_exit();
}

TEST(behaviour_ids_of_former_lives_name_nobody)
{
    world_run(reused, NULL);
}

/* A message that a sender pushes to a place whose life has just ended. */
static void late_letter(void *arg)
{
    (void)arg;
    actor_id first = rt_behaviour_spawn(&counter, &starts);
    settle();
    struct rti_behaviour *place = rti_behaviour_lookup(module(), first);
    CHECK_OK(rt_actor_kill(first));
    settle();
    struct rti_cell *cell = rti_cell_alloc(&module()->cells, 0);
    *cell = (struct rti_cell){.to = first, .origin = rti_cell_origin(ACTOR_ID_INVALID, 2)};
    rti_gate_enter(&place->gate, rti_gate_look(&place->gate));
    CHECK(!rti_mpsc_push_alone(&place->mailbox, &cell->node)); /* nobody is to be woken */
    actor_id second = rt_behaviour_spawn(&counter, &starts);
    CHECK(rti_behaviour_lookup(module(), second) == place);
    add(second, 5);
    CHECK_EQ(ask(second), 5);
    CHECK(rt_actor_alive(second));
    CHECK_OK(rt_actor_kill(second));
    rt_exit();
}

TEST(behaviour_drops_a_message_for_a_former_life)
{
    world_run(late_letter, NULL);
}

static void full_house(void *arg)
{
    (void)arg;
    static actor_id ids[RT_MAX_BEHAVIOURS];
    for (size_t i = 0; i < RT_MAX_BEHAVIOURS; i++) {
        ids[i] = rt_behaviour_spawn(&counter, &starts);
        CHECK(ids[i] != ACTOR_ID_INVALID);
    }
    CHECK_EQ(rt_behaviour_spawn(&counter, &starts), ACTOR_ID_INVALID);
    const rt_behaviour_room room = {.behaviours = 1000, .messages = 1000};
    CHECK_STATUS(rt_behaviour_reserve(&room), RT_ERR_STATE);
    CHECK_OK(rt_actor_kill(ids[7]));
    settle();
    ids[7] = rt_behaviour_spawn(&counter, &starts);
    CHECK(ids[7] != ACTOR_ID_INVALID);
    for (size_t i = 0; i < RT_MAX_BEHAVIOURS; i++) {
        CHECK_OK(rt_actor_kill(ids[i]));
    }
    rt_exit();
}

TEST(behaviours_are_as_many_as_their_limit_and_no_more)
{
    world_run(full_house, NULL);
}

static void roomy(void *arg)
{
    (void)arg;
    rt_behaviour_room room = {.behaviours = 0, .messages = 10};
    CHECK_STATUS(rt_behaviour_reserve(&room), RT_ERR_INVALID);
    CHECK_STATUS(rt_behaviour_reserve(NULL), RT_ERR_INVALID);
#if defined(__arm__)
    test_skip("a board has no more memory to give");
#endif
    room.behaviours = 3000;
    room.messages = 5000;
    CHECK_OK(rt_behaviour_reserve(&room));
    CHECK_STATUS(rt_behaviour_reserve(&room), RT_ERR_STATE);
    starts = 0;
    static actor_id ids[3000];
    for (size_t i = 0; i < 3000; i++) {
        ids[i] = rt_behaviour_spawn(&counter, &starts);
        add(ids[i], i);
    }
    CHECK_EQ(rt_behaviour_spawn(&counter, &starts), ACTOR_ID_INVALID);
    settle();
    CHECK_EQ(starts, 3000);
    CHECK_EQ(ask(ids[2999]), 2999);
    rti_behaviours_audit(module());
    for (size_t i = 0; i < 3000; i++) {
        CHECK_OK(rt_actor_kill(ids[i]));
    }
    rt_exit();
}

TEST(behaviours_get_more_room_from_the_system)
{
    world_run(roomy, NULL);
}

/* A turn has a limit: one that floods itself does not keep another from its turn. */
static unsigned flood_left;

static void flood_self(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
    if (flood_left > 0) {
        flood_left--;
        CHECK_OK(rt_behaviour_send(rt_self(), 0, NULL, 0));
    }
}

static const rt_behaviour_fn flood_handlers[] = {flood_self};
static const rt_behaviour_type flooder = {
    .handlers = flood_handlers, .handler_count = 1, .priority = RT_PRIO_NORMAL};

static void fair(void *arg)
{
    (void)arg;
    flood_left = 1000;
    actor_id id = rt_behaviour_spawn(&flooder, NULL);
    CHECK_OK(rt_behaviour_send(id, 0, NULL, 0));
    rt_yield();
    CHECK_EQ(flood_left, 1000 - RT_BEHAVIOUR_BATCH);
    rt_yield();
    CHECK_EQ(flood_left, 1000 - 2 * RT_BEHAVIOUR_BATCH);
    CHECK_OK(rt_actor_kill(id));
    rt_exit();
}

TEST(behaviour_turn_ends_after_a_batch)
{
    world_run(fair, NULL);
}

static unsigned heavy_count;

static void heavy(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
    heavy_count++;
    rt_reductions_add(RT_REDUCTIONS / 3);
}

static const rt_behaviour_fn heavy_handlers[] = {heavy};
static const rt_behaviour_type heavy_type = {
    .handlers = heavy_handlers, .handler_count = 1, .priority = RT_PRIO_NORMAL};

static void reduced(void *arg)
{
    (void)arg;
    heavy_count = 0;
    actor_id id = rt_behaviour_spawn(&heavy_type, NULL);
    for (unsigned i = 0; i < 10; i++) {
        CHECK_OK(rt_behaviour_send(id, 0, NULL, 0));
    }
    rt_yield();
    /* Three thirds and three dispatches are more than the whole. */
    CHECK_EQ(heavy_count, 3);
    rt_yield();
    CHECK_EQ(heavy_count, 6);
    CHECK_OK(rt_actor_kill(id));
    rt_exit();
}

TEST(behaviour_turn_ends_when_its_reductions_are_used_up)
{
    world_needs_simulator("the order of the turns");
    world_run(reduced, NULL);
}

/* An actor with a stack that receives what waits yields after its reductions. */
static unsigned received;

static rt_status receive_in_time(rt_message *msg)
{
    return rt_ipc_recv(msg, 0);
}

static rt_status receive_any(rt_message *msg)
{
    return rt_ipc_recv(msg, -1);
}

static rt_status receive_match(rt_message *msg)
{
    return rt_ipc_recv_match(NULL, msg, -1);
}

static rt_status receive_match_in_time(rt_message *msg)
{
    return rt_ipc_recv_match(NULL, msg, 0);
}

static rt_status (*const receives[])(rt_message *) = {receive_any, receive_in_time, receive_match,
                                                      receive_match_in_time};

static void receiver(void *arg)
{
    rt_status (*const *receive)(rt_message *) = arg;
    rt_message msg;
    for (unsigned i = 0; i < RT_REDUCTIONS + 10; i++) {
        CHECK_OK((*receive)(&msg));
        received++;
        CHECK_OK(rt_ipc_send(rt_self(), "x", 1, IPC_ASYNC));
    }
    rt_exit();
}

static void reduced_actor(void *arg)
{
    const actor_config small = {.stack_size = 16384, .priority = RT_PRIO_NORMAL};
    (void)arg;
    for (size_t i = 0; i < sizeof(receives) / sizeof(receives[0]); i++) {
        received = 0;
        actor_id id = rt_spawn_ex(receiver, (void *)(uintptr_t)&receives[i], &small);
        CHECK_OK(rt_ipc_send(id, "x", 1, IPC_ASYNC));
        rt_yield();
        /* A message is received and one is sent: two reductions. */
        CHECK_EQ(received, RT_REDUCTIONS / 2);
        rt_yield();
        CHECK_EQ(received, RT_REDUCTIONS);
        CHECK_OK(rt_actor_kill(id));
    }
    rt_exit();
}

TEST(actor_turn_ends_when_its_reductions_are_used_up)
{
    world_needs_simulator("the order of the turns");
    world_run(reduced_actor, NULL);
}

/* Become. */
static unsigned kinds[2];

static void second_kind(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
    kinds[1]++;
}

static const rt_behaviour_fn second_handlers[] = {second_kind};
static const rt_behaviour_type second_type = {.handlers = second_handlers, .handler_count = 1};

static void first_kind(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
    kinds[0]++;
    static const rt_behaviour_type nothing = {.handler_count = 0};
    CHECK_STATUS(rt_behaviour_become(&nothing), RT_ERR_INVALID);
    CHECK_OK(rt_behaviour_become(&second_type));
}

static const rt_behaviour_fn first_handlers[] = {first_kind};
static const rt_behaviour_type first_type = {
    .handlers = first_handlers, .handler_count = 1, .priority = RT_PRIO_NORMAL};

static void becomes(void *arg)
{
    (void)arg;
    kinds[0] = kinds[1] = 0;
    actor_id id = rt_behaviour_spawn(&first_type, NULL);
    for (unsigned i = 0; i < 5; i++) {
        CHECK_OK(rt_behaviour_send(id, 0, NULL, 0));
    }
    settle();
    CHECK_EQ(kinds[0], 1);
    CHECK_EQ(kinds[1], 4);
    CHECK_STATUS(rt_behaviour_become(&first_type), RT_ERR_THREAD);
    CHECK_STATUS(rt_behaviour_end(RT_EXIT_NORMAL), RT_ERR_THREAD);
    CHECK_OK(rt_actor_kill(id));
    rt_exit();
}

TEST(behaviour_becomes_another_with_the_next_message)
{
    world_run(becomes, NULL);
}

/* What waits is refused inside of a handler. */
static void waits_in_vain(void *state, const rt_behaviour_message *msg)
{
    rt_message other;
    (void)state;
    CHECK_STATUS(rt_ipc_recv(&other, -1), RT_ERR_THREAD);
    CHECK_STATUS(rt_ipc_send(msg->sender, "x", 1, IPC_SYNC), RT_ERR_THREAD);
    CHECK_STATUS(rt_call(msg->sender, "x", 1, &other, -1), RT_ERR_THREAD);
    rt_yield();
    CHECK_OK(rt_ipc_send(msg->sender, "plain", 5, IPC_ASYNC));
}

static const rt_behaviour_fn waiting_handlers[] = {waits_in_vain};
static const rt_behaviour_type waiting_type = {
    .handlers = waiting_handlers, .handler_count = 1, .priority = RT_PRIO_NORMAL};

static void never_waits(void *arg)
{
    (void)arg;
    rt_message msg;
    actor_id id = rt_behaviour_spawn(&waiting_type, NULL);
    CHECK_OK(rt_behaviour_send(id, 0, NULL, 0));
    CHECK_OK(rt_ipc_recv(&msg, 10));
    CHECK_EQ(msg.sender, id);
    CHECK_EQ(rt_behaviour_id(&msg), RT_BEHAVIOUR_PLAIN);
    CHECK_OK(rt_actor_kill(id));
    rt_exit();
}

TEST(behaviour_handlers_never_wait)
{
    world_run(never_waits, NULL);
}

TEST(behaviour_types_that_cannot_be_are_refused)
{
    rt_behaviour_type type = first_type;
    CHECK(rti_behaviour_type_is_valid(&type));
    type.state_size = RT_BEHAVIOUR_STATE_MAX + 1;
    CHECK(!rti_behaviour_type_is_valid(&type));
    type = first_type;
    type.handlers = NULL;
    CHECK(!rti_behaviour_type_is_valid(&type));
    type = first_type;
    type.priority = (rt_priority)7;
    CHECK(!rti_behaviour_type_is_valid(&type));
    type = first_type;
    type.mailbox.overflow = (rt_overflow)9;
    CHECK(!rti_behaviour_type_is_valid(&type));
    CHECK(!rti_behaviour_type_is_valid(NULL));
    CHECK_EQ(rt_behaviour_spawn(&first_type, NULL), ACTOR_ID_INVALID);
}

TEST(behaviour_is_small_when_it_is_idle)
{
    CHECK(sizeof(struct rti_behaviour) <= 256);
}

/* Supervised behaviours. */
static void supervised(void *arg)
{
    (void)arg;
    starts = ends = 0;
    const actor_config small = {.stack_size = 16384, .priority = RT_PRIO_NORMAL};
    rt_child_spec specs[2] = {
        {.id = "kept", .behaviour = &counter, .arg = &starts, .keeps_address = true},
        {.id = "new", .behaviour = &counter, .arg = &starts}};
    rt_supervisor_config config = {
        .intensity = 10, .children = specs, .child_count = 2, .actor = small};
    actor_id supervisor;
    rt_child_info before[2];
    rt_child_info after[2];
    size_t count;
    CHECK_OK(rt_supervisor_start(&config, &supervisor));
    settle();
    CHECK_OK(rt_supervisor_which_children(supervisor, before, 2, &count));
    add(before[0].actor, 3);
    CHECK_EQ(ask(before[0].actor), 3);
    CHECK_OK(rt_actor_kill(before[0].actor));
    CHECK_OK(rt_behaviour_send(before[1].actor, 2, "c", 1));
    settle();
    CHECK_OK(rt_supervisor_which_children(supervisor, after, 2, &count));
    CHECK_EQ(after[0].actor, before[0].actor);
    CHECK(after[1].actor != before[1].actor);
    CHECK_EQ(ask(after[0].actor), 0); /* a new state */
    CHECK_EQ(starts, 4);
    CHECK_OK(rt_supervisor_stop(supervisor, -1));
    CHECK_EQ(ends, 4);
    CHECK_EQ(last_reason, RT_EXIT_NORMAL);
    CHECK(!rt_actor_alive(after[0].actor));
    CHECK_EQ(module()->kept_count, 0);
    rt_exit();
}

TEST(behaviour_is_supervised_like_any_actor)
{
    world_run(supervised, NULL);
}

/* Behaviours whose turns follow each other: a more urgent one comes next, an actor with a stack in
 * its turn, and the end of the run at once. */
static actor_id talkers[2];
static actor_id urgent;
static uint32_t talks;
static uint32_t talks_when_urgent;
static uint32_t talks_when_stacked;

static void talk(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    CHECK(talks_when_urgent == 0 || talks_when_urgent == 500);
    if (++talks == 500) {
        CHECK_OK(rt_behaviour_send(urgent, 0, NULL, 0));
    }
    CHECK(talks <= 1000);
    if (talks == 1000) {
        rt_shutdown();
    }
    CHECK_OK(rt_behaviour_send(talkers[talks % 2], 0, msg->data, msg->len));
}

static void interrupt(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
    talks_when_urgent = talks;
}

static void stacked(void *arg)
{
    (void)arg;
    rt_yield();
    talks_when_stacked = talks;
    rt_exit();
}

static void talks_on(void *arg)
{
    static const rt_behaviour_fn talk_handlers[] = {talk};
    static const rt_behaviour_fn interrupt_handlers[] = {interrupt};
    static const rt_behaviour_type talker = {
        .handlers = talk_handlers, .handler_count = 1, .priority = RT_PRIO_NORMAL};
    static const rt_behaviour_type interrupter = {
        .handlers = interrupt_handlers, .handler_count = 1, .priority = RT_PRIO_CRITICAL};
    (void)arg;
    urgent = rt_behaviour_spawn(&interrupter, NULL);
    talkers[0] = rt_behaviour_spawn(&talker, NULL);
    talkers[1] = rt_behaviour_spawn(&talker, NULL);
    CHECK_OK(rt_behaviour_send(talkers[0], 0, "12345678", 8));
    CHECK(rt_spawn(stacked, NULL) != ACTOR_ID_INVALID);
    rt_exit();
}

TEST(behaviours_whose_turns_follow_each_other_keep_nobody_waiting)
{
    CHECK_OK(rt_init());
    CHECK(rt_spawn(talks_on, NULL) != ACTOR_ID_INVALID);
    rt_run();
    CHECK_EQ(talks, 1000);
    CHECK_EQ(talks_when_urgent, 500);
    CHECK(talks_when_stacked > 0 && talks_when_stacked < 10);
    rt_cleanup();
}

/* What it says of its end when it has ended is not what it ended with. */
static void says_more(void *state, rt_exit_reason reason)
{
    (void)state;
    CHECK_EQ(reason, RT_EXIT_KILLED);
    CHECK_OK(rt_behaviour_end(RT_EXIT_NORMAL));
}

static const rt_behaviour_type talker = {
    .handlers = counter_handlers, .handler_count = 3, .end = says_more};

static void last_words(void *arg)
{
    rt_message msg;
    rt_exit_msg exit_msg;
    uint32_t ref;
    (void)arg;
    actor_id id = rt_behaviour_spawn(&talker, NULL);
    CHECK_OK(rt_monitor(id, &ref));
    settle();
    CHECK_OK(rt_actor_kill(id));
    CHECK_OK(rt_ipc_recv(&msg, -1));
    CHECK_OK(rt_decode_exit(&msg, &exit_msg));
    CHECK_EQ(exit_msg.reason, RT_EXIT_KILLED);
    rt_exit();
}

TEST(behaviour_that_has_ended_does_not_change_why)
{
    world_run(last_words, NULL);
}
