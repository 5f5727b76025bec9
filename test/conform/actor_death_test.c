/* SPDX-License-Identifier: Apache-2.0 */
/* The actor specification, "Linking and Monitoring", "Actor Death Handling", "Stack Overflow". */
#define RTI_MODULE "actor_death_test"
#include <orrery/rt/call.h>
#include <orrery/rt/ipc.h>

#include "support/actors.h"
#include "support/test.h"
#include "support/world.h"

static struct actors_world *world;
static actor_id a;
static actor_id b;
static actor_id c;

static void run_quietly(void)
{
    CHECK_OK(actors_run(world));
}

static void say_mail(const rt_message *msg)
{
    rt_exit_msg exit_msg;
    if (rt_is_exit_msg(msg)) {
        CHECK_OK(rt_decode_exit(msg, &exit_msg));
        actors_say("ncsk"[exit_msg.reason]);
    } else {
        actors_say(*(const char *)msg->data);
    }
}

/* What the actor hears from now on, one letter per message: the reason of an exit (n, c, s, k) or
 * the first byte of a payload. */
static void say_all_mail(int32_t timeout_ms)
{
    rt_message msg;
    while (!RT_FAILED(rt_ipc_recv(&msg, timeout_ms))) {
        say_mail(&msg);
    }
}

/* The same for who hears something, sooner or later: on a machine that is busy the time of who is
 * to die may come together with any limit of who waits for that. */
static void say_what_comes(void)
{
    rt_message msg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    say_mail(&msg);
    say_all_mail(50);
}

static void links_to_a(void *arg)
{
    (void)arg;
    CHECK_OK(rt_link(a));
    say_what_comes();
    rt_exit();
}

static void monitors_a(void *arg)
{
    (void)arg;
    uint32_t ref;
    CHECK_OK(rt_monitor(a, &ref));
    say_what_comes();
    rt_exit();
}

static void exits_soon(void *arg)
{
    (void)arg;
    actors_sleep_ms(5);
    rt_exit();
}

static void returns_soon(void *arg)
{
    (void)arg;
    actors_sleep_ms(5);
}

static void kills_a(void *arg)
{
    (void)arg;
    actors_sleep_ms(5);
    CHECK_OK(rt_actor_kill(a));
    rt_exit();
}

static void waits_for_ever(void *arg)
{
    (void)arg;
    say_all_mail(-1);
}

static void breaks_low_guard(void *arg)
{
    (void)arg;
    actors_sleep_ms(5);
    *(volatile uint64_t *)(void *)rti_stack_low(&rti_actor_current()->fiber.stack) = 1;
    rt_yield();
    actors_say('!');
}

static void breaks_high_guard(void *arg)
{
    (void)arg;
    actors_sleep_ms(5);
    struct rti_stack *stack = &rti_actor_current()->fiber.stack;
    *(volatile uint64_t *)(void *)stack->high_guard = 1;
    rt_yield();
    actors_say('!');
}

static const char *heard_by(actor_fn watcher, actor_fn mortal)
{
    world = actors_start();
    a = actors_spawn(mortal, NULL, RT_PRIO_LOW, NULL);
    actors_spawn(watcher, NULL, RT_PRIO_NORMAL, NULL);
    if (mortal == waits_for_ever) {
        actors_spawn(kills_a, NULL, RT_PRIO_NORMAL, NULL);
    }
    (void)actors_capture(run_quietly);
    actors_finish(world);
    return actors_said();
}

TEST(actor_exit_is_heard_as_normal)
{
    CHECK_STR(heard_by(links_to_a, exits_soon), "n");
    CHECK_STR(heard_by(monitors_a, exits_soon), "n");
}

TEST(actor_return_without_exit_is_heard_as_crash)
{
    CHECK_STR(heard_by(links_to_a, returns_soon), "c");
    CHECK_STR(heard_by(monitors_a, returns_soon), "c");
}

TEST(actor_kill_is_heard_as_killed)
{
    CHECK_STR(heard_by(links_to_a, waits_for_ever), "k");
    CHECK_STR(heard_by(monitors_a, waits_for_ever), "k");
}

TEST(actor_overflow_is_heard_as_stack_crash)
{
    CHECK_STR(heard_by(links_to_a, breaks_low_guard), "s");
    CHECK_STR(heard_by(monitors_a, breaks_low_guard), "s");
    CHECK_STR(heard_by(links_to_a, breaks_high_guard), "s");
}

static void dies_first(void *arg)
{
    (void)arg;
    CHECK_OK(rt_link(a));
    rt_exit();
}

static void hears_of_who_linked_it(void *arg)
{
    (void)arg;
    rt_message msg;
    rt_exit_msg exit_msg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    CHECK_EQ(msg.sender, RT_SENDER_SYSTEM);
    CHECK_EQ(msg.len, sizeof(rt_exit_msg));
    CHECK_OK(rt_decode_exit(&msg, &exit_msg));
    CHECK_EQ(exit_msg.actor, b);
    actors_say('h');
    rt_exit();
}

TEST(actor_link_tells_either_side)
{
    CHECK_STR(heard_by(links_to_a, exits_soon), "n");
    world = actors_start();
    a = actors_spawn(hears_of_who_linked_it, NULL, RT_PRIO_NORMAL, NULL);
    b = actors_spawn(dies_first, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "h");
}

static void watches_and_dies(void *arg)
{
    (void)arg;
    uint32_t ref;
    CHECK_OK(rt_monitor(a, &ref));
    rt_exit();
}

static void hears_nothing(void *arg)
{
    (void)arg;
    say_all_mail(50);
    rt_exit();
}

TEST(actor_monitor_tells_only_the_watcher)
{
    world = actors_start();
    a = actors_spawn(hears_nothing, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(watches_and_dies, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "");
}

static void links_and_monitors(void *arg)
{
    (void)arg;
    uint32_t ref;
    CHECK_OK(rt_link(a));
    CHECK_OK(rt_monitor(a, &ref));
    say_what_comes();
    rt_exit();
}

TEST(actor_that_links_and_monitors_hears_both)
{
    CHECK_STR(heard_by(links_and_monitors, exits_soon), "nn");
}

static void links_and_survives(void *arg)
{
    (void)arg;
    CHECK_OK(rt_link(a));
    say_what_comes();
    actors_say('.');
    rt_exit();
}

TEST(actor_linked_to_a_dead_one_lives_on)
{
    CHECK_STR(heard_by(links_and_survives, returns_soon), "c.");
}

static void fills_the_pools_then_hears(void *arg)
{
    (void)arg;
    rt_message msg;
    uint32_t ref;
    size_t filled = 0;
    CHECK_OK(rt_link(a));
    CHECK_OK(rt_monitor(a, &ref));
    while (!RT_FAILED(rt_ipc_send(rt_self(), "f", 1, IPC_ASYNC))) {
        filled++;
    }
    while (rt_actor_alive(a)) {
        actors_sleep_ms(20);
    }
    size_t exits = 0;
    while (!RT_FAILED(rt_ipc_recv(&msg, 0))) {
        exits += rt_is_exit_msg(&msg);
        filled -= !rt_is_exit_msg(&msg);
    }
    CHECK_EQ(exits, 2);
    CHECK_EQ(filled, 0);
    actors_say('2');
    rt_exit();
}

TEST(actor_exit_message_is_never_lost_to_a_full_pool)
{
    CHECK_STR(heard_by(fills_the_pools_then_hears, exits_soon), "2");
}

/* The order of exit messages. */

static void sends_m1_m2_and_dies(void *arg)
{
    (void)arg;
    CHECK_OK(rt_ipc_send(b, "1", 1, IPC_ASYNC));
    CHECK_OK(rt_ipc_send(b, "2", 1, IPC_ASYNC));
    CHECK_OK(rt_ipc_send(c, "3", 1, IPC_ASYNC));
    rt_exit();
}

static void receives_later(void *arg)
{
    if (arg != NULL) {
        CHECK_OK(rt_link(a));
    }
    actors_sleep_ms(10);
    say_all_mail(0);
    actors_say(arg != NULL ? 'b' : 'c');
    rt_exit();
}

TEST(actor_messages_sent_before_death_arrive_before_the_exit_message)
{
    world_needs_virtual_clock();
    world = actors_start();
    b = actors_spawn(receives_later, &b, RT_PRIO_HIGH, NULL);
    c = actors_spawn(receives_later, NULL, RT_PRIO_HIGH, NULL);
    a = actors_spawn(sends_m1_m2_and_dies, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    /* C is not linked: its message and nothing else. */
    CHECK_STR(actors_said(), "12nb3c");
}

static void others_send_before_the_death(void *arg)
{
    (void)arg;
    actors_sleep_ms(2);
    CHECK_OK(rt_ipc_send(b, "x", 1, IPC_ASYNC));
    actors_sleep_ms(5);
    CHECK_OK(rt_ipc_send(b, "y", 1, IPC_ASYNC));
    rt_exit();
}

TEST(actor_exit_message_comes_to_the_tail_of_the_mailbox)
{
    world_needs_virtual_clock();
    world = actors_start();
    a = actors_spawn(exits_soon, NULL, RT_PRIO_NORMAL, NULL);
    b = actors_spawn(receives_later, &b, RT_PRIO_NORMAL, NULL);
    actors_spawn(others_send_before_the_death, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "xnyb");
}

static void sends_to_the_dying(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_OK(rt_ipc_send(a, "m", 1, IPC_ASYNC));
    CHECK_OK(rt_ipc_send(a, "m", 1, IPC_ASYNC));
    CHECK_STATUS(rt_ipc_recv(&msg, 50), RT_ERR_TIMEOUT);
    actors_say('q');
    rt_exit();
}

TEST(actor_mailbox_of_the_dead_is_discarded_and_async_senders_hear_nothing)
{
    world = actors_start();
    a = actors_spawn(exits_soon, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(sends_to_the_dying, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "q");
}

static void links_two(void *arg)
{
    (void)arg;
    CHECK_OK(rt_link(a));
    say_what_comes();
    actors_say('.');
    rt_exit();
}

TEST(actor_death_is_told_to_every_linked_one)
{
    world = actors_start();
    a = actors_spawn(exits_soon, NULL, RT_PRIO_NORMAL, NULL);
    for (int i = 0; i < 5; i++) {
        actors_spawn(links_two, NULL, RT_PRIO_NORMAL, NULL);
    }
    actors_finish(world);
    CHECK_STR(actors_said(), "nnnnn.....");
}

/* The steps and what they free. */

static void rich_actor(void *arg)
{
    (void)arg;
    rt_message msg;
    uint32_t ref;
    CHECK_OK(rt_link(b));
    CHECK_OK(rt_monitor(b, &ref));
    CHECK_OK(rt_ipc_send(rt_self(), "1", 1, IPC_ASYNC));
    CHECK_OK(rt_ipc_send(rt_self(), "2", 1, IPC_ASYNC));
    CHECK_OK(rt_ipc_recv(&msg, 0));
    rt_exit();
}

TEST(actor_death_gives_everything_back)
{
    world = actors_start();
    b = actors_spawn(waits_for_ever, NULL, RT_PRIO_LOW, NULL);
    size_t stacks = actors_stacks_in_use(world);
    size_t free_bytes = world->stacks.free_bytes;
    a = rt_spawn(rich_actor, NULL);
    CHECK_STATUS(actors_run(world), RT_ERR_DEADLOCK);
    CHECK(!rt_actor_alive(a) && rt_actor_alive(b));
    CHECK_EQ(actors_stacks_in_use(world), stacks);
    CHECK_EQ(world->stacks.free_bytes, free_bytes);
    CHECK_EQ(rti_actors_count(&world->actors), 1);
    CHECK_EQ(rti_pool_in_use(&world->actors.ipc.entries), 0);
    CHECK_EQ(world->actors.monitors.refs.used_count, 0);
    /* The other one has heard of it. */
    CHECK_STR(actors_said(), "n");
    CHECK_EQ(rti_pool_in_use(&world->actors.links.pool), 0);
    actors_abandon(world);
}

static char steps[8];
static size_t steps_length;
static struct rti_death_hook bus_hook;
static struct rti_death_hook timers_hook;

static void note_step(struct rti_death_hook *hook, struct rti_actor *actor)
{
    /* Steps 1 to 3 are over: the mailbox is clear and the others have been told. */
    CHECK(rti_mailbox_is_empty(&actor->mailbox));
    CHECK_EQ(rti_actor_lookup(b)->mailbox.count, 2);
    /* Step 6 is not: the stack and the slot are still there. */
    CHECK_EQ(actors_stacks_in_use(world), 2);
    CHECK(actor->id != ACTOR_ID_INVALID);
    CHECK(hook == &bus_hook || hook == &timers_hook);
    steps[steps_length++] = hook == &bus_hook ? '4' : '5';
}

static void monitored_and_linked(void *arg)
{
    (void)arg;
    uint32_t ref;
    CHECK_OK(rt_link(a));
    CHECK_OK(rt_monitor(a, &ref));
    CHECK_OK(rt_ipc_send(a, NULL, 0, IPC_ASYNC));
    actors_sleep_ms(50);
    rti_list_init(&world->actors.death_hooks[RTI_DEATH_BUS]);
    rti_list_init(&world->actors.death_hooks[RTI_DEATH_TIMERS]);
    rt_exit();
}

TEST(actor_death_takes_its_six_steps_in_order)
{
    bus_hook.died = note_step;
    timers_hook.died = note_step;
    world = actors_start();
    rti_death_hook_add(&world->actors, RTI_DEATH_TIMERS, &timers_hook);
    rti_death_hook_add(&world->actors, RTI_DEATH_BUS, &bus_hook);
    a = actors_spawn(exits_soon, NULL, RT_PRIO_NORMAL, NULL);
    b = actors_spawn(monitored_and_linked, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    CHECK_STR(steps, "45");
}

static void says_when_told(void *arg)
{
    rt_message msg;
    uint32_t ref;
    const char *how = arg;
    CHECK_OK(*how == 'm' ? rt_monitor(a, &ref) : rt_link(a));
    CHECK_OK(rt_ipc_recv(&msg, -1));
    CHECK(rt_is_exit_msg(&msg));
    actors_say(*how);
    rt_exit();
}

/* Who is told first runs first. */
TEST(actor_death_tells_links_before_monitors)
{
    world = actors_start();
    a = actors_spawn(exits_soon, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(says_when_told, "m", RT_PRIO_NORMAL, NULL);
    actors_spawn(says_when_told, "l", RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "lm");
}

static rt_status sync_result;

static void sends_sync_to_a(void *arg)
{
    (void)arg;
    sync_result = rt_ipc_send(a, NULL, 0, IPC_SYNC);
    /* Woken by step 1, it runs only after the last step. */
    CHECK(!rt_actor_alive(a));
    CHECK_EQ(rti_actors_count(&world->actors), 1);
    rt_exit();
}

TEST(actor_death_is_one_piece_no_actor_sees_half_of_it)
{
    world = actors_start();
    a = actors_spawn(exits_soon, NULL, RT_PRIO_LOW, NULL);
    actors_spawn(sends_sync_to_a, NULL, RT_PRIO_CRITICAL, NULL);
    actors_finish(world);
    CHECK_STATUS(sync_result, RT_ERR_CLOSED);
}

/* Stack overflow. */

static void bystander(void *arg)
{
    (void)arg;
    for (int i = 0; i < 20; i++) {
        actors_sleep_ms(1);
    }
    actors_say('y');
    rt_exit();
}

static void spawns_after(void *arg)
{
    (void)arg;
    actors_sleep_ms(15);
    CHECK(!rt_actor_alive(a));
    actor_id again = actors_spawn(exits_soon, NULL, RT_PRIO_NORMAL, NULL);
    CHECK(again != a);
    actors_sleep_ms(10);
    CHECK(!rt_actor_alive(again));
    actors_say('z');
    rt_exit();
}

TEST(actor_overflow_leaves_the_runtime_stable)
{
    world = actors_start();
    a = actors_spawn(breaks_low_guard, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(bystander, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(spawns_after, NULL, RT_PRIO_NORMAL, NULL);
    (void)actors_capture(run_quietly);
    CHECK_EQ(strlen(actors_said()), 2);
    CHECK(strchr(actors_said(), 'y') != NULL && strchr(actors_said(), 'z') != NULL);
    actors_finish(world);
}

TEST(actor_overflow_is_logged_with_the_actors_number)
{
    char wanted[64];
    world = actors_start();
    a = actors_spawn(breaks_low_guard, NULL, RT_PRIO_NORMAL, NULL);
    snprintf(wanted, sizeof(wanted), "Actor %u stack overflow detected\n", a);
    const char *logged = actors_capture(run_quietly);
    CHECK(strstr(logged, wanted) != NULL);
    actors_finish(world);
}

static void overflows_with_everything(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_OK(rt_link(b));
    CHECK_OK(rt_ipc_send(rt_self(), "1", 1, IPC_ASYNC));
    CHECK_OK(rt_ipc_send(rt_self(), "2", 1, IPC_ASYNC));
    CHECK_OK(rt_ipc_recv(&msg, 0));
    *(volatile uint64_t *)(void *)rti_stack_low(&rti_actor_current()->fiber.stack) = 1;
    /* It is found out in the next switch, here in a wait that is taken apart. */
    (void)rt_ipc_send(b, NULL, 0, IPC_SYNC);
    actors_say('!');
}

static void hears_sync_from_the_dead(void *arg)
{
    (void)arg;
    rt_message msg;
    while (rt_actor_alive(a)) {
        actors_sleep_ms(10);
    }
    CHECK_OK(rt_ipc_recv(&msg, 0));
    CHECK_EQ(msg.sender, a);
    rt_ipc_release(&msg);
    say_all_mail(0);
    rt_exit();
}

TEST(actor_overflow_is_cleaned_up_as_any_death)
{
    world = actors_start();
    b = actors_spawn(hears_sync_from_the_dead, NULL, RT_PRIO_HIGH, NULL);
    a = actors_spawn(overflows_with_everything, NULL, RT_PRIO_NORMAL, NULL);
    (void)actors_capture(run_quietly);
    actors_finish(world);
    CHECK_STR(actors_said(), "s");
}

static void looks_at_its_guards(void *arg)
{
    (void)arg;
    const struct rti_stack *stack = &rti_actor_current()->fiber.stack;
    char local;
    const uint64_t guard = UINT64_C(0xDEADBEEFCAFEBABE);
    CHECK(memcmp(rti_stack_low(stack), &guard, 8) == 0);
    CHECK(memcmp(stack->high_guard, &guard, 8) == 0);
    CHECK(&local > (char *)rti_stack_usable(stack));
    CHECK(&local < (char *)rti_stack_usable(stack) + rti_stack_usable_size(stack));
    CHECK((char *)rti_stack_usable(stack) >= rti_stack_low(stack) + 8);
    CHECK((char *)rti_stack_usable(stack) + rti_stack_usable_size(stack) <=
          (char *)stack->high_guard);
    CHECK((size_t)((char *)stack->high_guard + 8 - (char *)rti_stack_low(stack)) -
              rti_stack_usable_size(stack) <=
          64);
    rt_exit();
}

TEST(actor_stack_has_a_guard_word_at_both_ends)
{
    world = actors_start();
    actors_spawn(looks_at_its_guards, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
}

static void spoils_and_repairs(void *arg)
{
    (void)arg;
    volatile uint64_t *guard =
        (volatile uint64_t *)(void *)rti_stack_low(&rti_actor_current()->fiber.stack);
    for (int i = 0; i < 3; i++) {
        *guard = 1;
        *guard = RTI_STACK_GUARD;
        rt_yield();
        actors_say('i');
    }
    *guard = 1;
    rt_message msg;
    (void)rt_ipc_recv(&msg, 10);
    actors_say('!');
}

TEST(actor_guards_are_checked_at_every_switch)
{
    world = actors_start();
    actors_spawn(spoils_and_repairs, NULL, RT_PRIO_NORMAL, NULL);
    (void)actors_capture(run_quietly);
    actors_finish(world);
    CHECK_STR(actors_said(), "iii");
}

/* The metadata that death needs lies outside of every stack. */
TEST(actor_metadata_lies_outside_of_the_stacks)
{
    world = actors_start();
    a = actors_spawn(exits_soon, NULL, RT_PRIO_NORMAL, NULL);
    const char *actor = (const char *)rti_actor_lookup(a);
    const char *stacks = (const char *)world->stacks.memory;
    CHECK(actor >= (const char *)world->actors.table && actor < (const char *)(&world->actors + 1));
    CHECK(actor < stacks || actor >= stacks + sizeof(world->stacks.memory));
    actors_finish(world);
}
