/* SPDX-License-Identifier: Apache-2.0 */
/* Behaviours under names: who has one, who takes it over, and that it goes with its life. */
#define RTI_MODULE "behaviour_names_test"
#include <orrery/rt.h>

#include "actor/behaviour.h"
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

static void ends(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
    CHECK_OK(rt_behaviour_end(RT_EXIT_NORMAL));
}

static const rt_behaviour_fn handlers[] = {ends};
static const rt_behaviour_type plain = {
    .handlers = handlers, .handler_count = 1, .priority = RT_PRIO_NORMAL};

static actor_id namesake; /* who takes the name of one that ends */

/* It has ended, so that its name may be another's, and it may have none itself. */
static void named_over(void *state, rt_exit_reason reason)
{
    (void)state;
    (void)reason;
    CHECK_EQ(rt_whereis("one"), ACTOR_ID_INVALID);
    CHECK_STATUS(rt_register("late", rt_self()), RT_ERR_INVALID);
    if (namesake != ACTOR_ID_INVALID) {
        CHECK_OK(rt_register("one", namesake));
    }
}

static void named_start(void *state, void *arg)
{
    (void)state;
    CHECK_OK(rt_register(arg, rt_self()));
}

static const rt_behaviour_type named = {
    .handlers = handlers, .handler_count = 1, .start = named_start, .end = named_over};

static size_t names_in_use(void)
{
    return rti_registry_audit(&module()->actors->registry);
}

static void names(void *arg)
{
    (void)arg;
    namesake = ACTOR_ID_INVALID;
    actor_id first = rt_behaviour_spawn(&named, "one");
    actor_id second = rt_behaviour_spawn(&plain, NULL);
    CHECK_OK(rt_register("two", second));
    settle();
    CHECK_EQ(rt_whereis("one"), first);
    CHECK_EQ(rt_whereis("two"), second);
    CHECK_OK(rt_register("one", first));
    CHECK_OK(rt_register("three", first));
    CHECK_STATUS(rt_register("one", second), RT_ERR_EXISTS);
    CHECK_STATUS(rt_register("one", rt_self()), RT_ERR_EXISTS);
    CHECK_OK(rt_unregister("three"));
    CHECK_STATUS(rt_unregister("three"), RT_ERR_NOT_FOUND);
    CHECK_OK(rt_register("three", rt_self()));
    CHECK_OK(rt_register("four", first));
    CHECK_EQ(names_in_use(), 4);
    /* Who is killed has no name from there on, though its end is to come. */
    CHECK_OK(rt_actor_kill(first));
    CHECK_EQ(rt_whereis("one"), ACTOR_ID_INVALID);
    CHECK_STATUS(rt_unregister("four"), RT_ERR_NOT_FOUND);
    CHECK_STATUS(rt_register("five", first), RT_ERR_INVALID);
    CHECK_OK(rt_register("one", second));
    CHECK_EQ(rt_whereis("one"), second);
    CHECK_OK(rt_unregister("one"));
    settle();
    CHECK_EQ(names_in_use(), 2);
    CHECK_EQ(rt_whereis("two"), second);
    /* Its name is taken by another while it ends. */
    first = rt_behaviour_spawn(&named, "one");
    settle();
    namesake = second;
    CHECK_OK(rt_behaviour_send(first, 0, NULL, 0));
    settle();
    CHECK_EQ(rt_whereis("one"), second);
    CHECK_OK(rt_actor_kill(second));
    settle();
    CHECK_EQ(names_in_use(), 1);
    CHECK_EQ(rt_whereis("three"), rt_self());
    rt_exit();
}

TEST(behaviour_has_names_until_it_ends)
{
    world_run(names, NULL);
}

static void no_more_names(void *arg)
{
    char name[16];
    actor_id id = rt_behaviour_spawn(&plain, NULL);
    size_t made = 0;
    (void)arg;
    for (; made <= RT_NAME_POOL_SIZE; made++) {
        (void)snprintf(name, sizeof(name), "name%zu", made);
        if (rt_register(name, id).code != RT_OK) {
            break;
        }
    }
    CHECK_EQ(made, RT_NAME_POOL_SIZE);
    CHECK_STATUS(rt_register("more", id), RT_ERR_NOMEM);
    CHECK_OK(rt_unregister("name0"));
    CHECK_OK(rt_register("more", id));
    CHECK_OK(rt_actor_kill(id));
    settle();
    CHECK_EQ(names_in_use(), 0);
    rt_exit();
}

TEST(behaviour_takes_all_names_and_gives_them_back)
{
    world_run(no_more_names, NULL);
}

/* On several workers: behaviours take names in their first turn and end in it, are killed by
 * others, and others look their names up, take them over and take them away. */

#define ROUNDS 4000
#define NAMES  8

static const char *const texts[NAMES] = {"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"};
static rti_atomic_u32 rounds;

static void takes_a_name(void *state, void *arg)
{
    (void)state;
    rt_status status = rt_register(arg, rt_self());
    /* Another life has it, or this one was killed meanwhile. */
    CHECK(!RT_FAILED(status) || status.code == RT_ERR_EXISTS || status.code == RT_ERR_INVALID);
}

static const rt_behaviour_type mortal = {
    .handlers = handlers, .handler_count = 1, .start = takes_a_name, .priority = RT_PRIO_NORMAL};

static void meddle(void *state, const rt_behaviour_message *msg);

static const rt_behaviour_fn meddler_handlers[] = {meddle};
static const rt_behaviour_type meddler = {
    .handlers = meddler_handlers, .handler_count = 1, .priority = RT_PRIO_NORMAL};

static void meddle(void *state, const rt_behaviour_message *msg)
{
    uint32_t round = rti_u32_add_relaxed(&rounds, 1);
    const char *name = texts[round % NAMES];
    (void)state;
    (void)msg;
    if (round >= ROUNDS) {
        rt_shutdown();
        return;
    }
    actor_id born = rt_behaviour_spawn(&mortal, (void *)(uintptr_t)name);
    if (round % 3 == 0) {
        (void)rt_behaviour_send(born, 0, NULL, 0);
    } else if (round % 3 == 1) {
        rt_status status = rt_register("spare", born);
        CHECK(!RT_FAILED(status) || status.code == RT_ERR_EXISTS || status.code == RT_ERR_INVALID);
    } else if (round % 6 == 2) {
        (void)rt_actor_kill(born);
    }
    actor_id found = rt_whereis(texts[(round + 3) % NAMES]);
    if (found != ACTOR_ID_INVALID) {
        (void)rt_actor_kill(found);
    }
    (void)rt_actor_kill(rt_whereis("spare"));
    if (round % 5 == 0) {
        (void)rt_unregister(texts[(round + 1) % NAMES]);
    }
    CHECK_OK(rt_behaviour_send(rt_self(), 0, NULL, 0));
}

TEST(behaviours_on_several_workers_take_names_and_leave_none)
{
    const rt_config config = {.workers = 2};
    rt_status status = rt_init_ex(&config);
    if (status.code == RT_ERR_UNSUPPORTED) {
        test_skip("no parallel engine here");
    }
    CHECK_OK(status);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_OK(rt_behaviour_send(rt_behaviour_spawn(&meddler, NULL), 0, NULL, 0));
    }
    rt_run();
    rt_cleanup(); /* ends who is left, and demands that no name is */
}
