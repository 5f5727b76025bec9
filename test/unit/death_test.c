/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "death_test"
#include "actor/death.h"

#include <orrery/rt/ipc.h>

#include "support/actors.h"
#include "support/test.h"

static struct actors_world *world;
static struct rti_notice notices[3];
static actor_id dying;

static void release_said(struct rti_notice *notice)
{
    actors_say((char)('1' + (notice - notices)));
}

static void hook_bus(struct rti_death_hook *hook, struct rti_actor *actor)
{
    (void)hook;
    CHECK_EQ(actor->id, dying);
    CHECK(!rt_actor_alive(dying));
    CHECK(rti_list_is_empty(&actor->links) && rti_list_is_empty(&actor->watchers));
    actors_say('b');
}

static void hook_timers(struct rti_death_hook *hook, struct rti_actor *actor)
{
    (void)hook;
    CHECK_EQ(actor->id, dying);
    actors_say('t');
}

static void hook_resources(struct rti_death_hook *hook, struct rti_actor *actor)
{
    (void)hook;
    CHECK_EQ(actor->id, dying);
    CHECK_EQ(rti_actors_count(&world->actors), 1);
    actors_say('r');
}

static void dies_with_mail(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    CHECK_EQ(msg.sender, RT_SENDER_TIMER);
    CHECK_OK(rt_ipc_recv(&msg, -1));
    actors_say('x');
    rt_exit();
}

TEST(death_runs_its_hooks_in_the_order_of_the_steps)
{
    static struct rti_death_hook hooks[] = {
        {.died = hook_resources}, {.died = hook_timers}, {.died = hook_bus}, {.died = hook_bus}};
    world = actors_start();
    rti_death_hook_add(&world->actors, RTI_DEATH_RESOURCES, &hooks[0]);
    rti_death_hook_add(&world->actors, RTI_DEATH_TIMERS, &hooks[1]);
    rti_death_hook_add(&world->actors, RTI_DEATH_BUS, &hooks[2]);
    rti_death_hook_add(&world->actors, RTI_DEATH_BUS, &hooks[3]);
    dying = actors_spawn(dies_with_mail, NULL, RT_PRIO_NORMAL, NULL);
    struct rti_actor *actor = rti_actor_lookup(dying);
    static int data = 5;
    rti_notice_init(&notices[0], RT_SENDER_TIMER, NULL, 0);
    rti_notice_init(&notices[1], RT_SENDER_TIMER, &data, sizeof(data));
    rti_notice_init(&notices[2], RT_SENDER_TIMER, &data, sizeof(data));
    for (size_t i = 0; i < 3; i++) {
        notices[i].entry.release = release_said;
        rti_mailbox_push_notice(actor, &notices[i]);
    }
    actors_finish(world);
    /* The first, without data, is released when it is received; the held and the queued one with
     * step 1, before the hooks. */
    CHECK_STR(actors_said(), "1x23bbtr");
}

static void take_apart_by_hand(void *arg)
{
    (void)arg;
    rti_death_process(rti_actor_current());
}

/* In the child of the fork that catches the panic: a runtime stays where it was made. */
static void run_one_that_takes_itself_apart(void *arg)
{
    (void)arg;
    world = actors_start();
    actors_spawn(take_apart_by_hand, NULL, RT_PRIO_NORMAL, NULL);
    (void)rti_sched_run(&world->sched);
}

TEST(death_is_not_processed_on_the_stack_of_an_actor)
{
    CHECK_PANICS("death", run_one_that_takes_itself_apart, NULL);
}

static rt_exit_reason heard;
static actor_id watcher_of;

static void watcher(void *arg)
{
    (void)arg;
    uint32_t ref;
    rt_message msg;
    rt_exit_msg exit_msg;
    CHECK_OK(rt_monitor(watcher_of, &ref));
    CHECK_OK(rt_ipc_recv(&msg, -1));
    CHECK_OK(rt_decode_exit(&msg, &exit_msg));
    CHECK_EQ(exit_msg.actor, watcher_of);
    heard = exit_msg.reason;
    rt_exit();
}

static void returns(void *arg)
{
    (void)arg;
    rt_yield();
}

static void exits(void *arg)
{
    (void)arg;
    rt_yield();
    rt_exit();
}

static void kills_itself(void *arg)
{
    (void)arg;
    rt_yield();
    (void)rt_actor_kill(rt_self());
}

static void breaks_guard(void *arg)
{
    (void)arg;
    rt_yield();
    *(uint64_t *)(void *)rti_stack_low(&rti_actor_current()->fiber.stack) = 0;
    rt_yield();
    actors_say('!');
}

static void breaks_guard_and_exits(void *arg)
{
    (void)arg;
    rt_yield();
    *(uint64_t *)(void *)rti_stack_low(&rti_actor_current()->fiber.stack) = 0;
    rt_exit();
}

static void run_world(void)
{
    CHECK_OK(actors_run(world));
}

static rt_exit_reason reason_of(actor_fn fn)
{
    world = actors_start();
    heard = (rt_exit_reason)99;
    actors_spawn(watcher, NULL, RT_PRIO_HIGH, NULL);
    watcher_of = actors_spawn(fn, NULL, RT_PRIO_NORMAL, NULL);
    char wanted[80] = "";
    if (fn == breaks_guard || fn == breaks_guard_and_exits) {
        snprintf(wanted, sizeof(wanted), "orrery: Actor %u stack overflow detected\n", watcher_of);
    }
    CHECK_STR(actors_capture(run_world), wanted);
    actors_finish(world);
    CHECK_STR(actors_said(), "");
    return heard;
}

TEST(death_by_overflow_is_told_with_the_name)
{
    char wanted[80];
    world = actors_start();
    actor_id id = actors_spawn(breaks_guard, NULL, RT_PRIO_NORMAL, "telemetry");
    snprintf(wanted, sizeof(wanted), "orrery: Actor %u stack overflow detected (telemetry)\n", id);
    CHECK_STR(actors_capture(run_world), wanted);
    actors_finish(world);
}

TEST(death_has_one_of_four_reasons)
{
    CHECK_EQ(reason_of(exits), RT_EXIT_NORMAL);
    CHECK_EQ(reason_of(returns), RT_EXIT_CRASH);
    CHECK_EQ(reason_of(kills_itself), RT_EXIT_KILLED);
    CHECK_EQ(reason_of(breaks_guard), RT_EXIT_CRASH_STACK);
    CHECK_EQ(reason_of(breaks_guard_and_exits), RT_EXIT_CRASH_STACK);
}
