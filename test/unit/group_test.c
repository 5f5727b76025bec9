/* SPDX-License-Identifier: Apache-2.0 */
/* Groups: joining, leaving by oneself and by death, sending to all and to one. */
#define RTI_MODULE "group_test"
#include "actor/group.h"

#include <orrery/rt.h>

#include "support/test.h"
#include "support/world.h"

static const actor_config small = {.stack_size = 8192, .priority = RT_PRIO_NORMAL};
static unsigned got[4];
static char letters[4] = "abcd";

static struct rti_groups *module(void)
{
    return rti_worker_current()->sched->modules[RTI_MODULE_GROUP];
}

static void settle(void)
{
    rt_message msg;
    CHECK_STATUS(rt_ipc_recv(&msg, 1), RT_ERR_TIMEOUT);
}

static void member(void *arg)
{
    rt_message msg;
    size_t index = (size_t)((char *)arg - letters);
    CHECK_OK(rt_group_join("crew"));
    CHECK_OK(rt_group_join("crew"));
    for (;;) {
        CHECK_OK(rt_ipc_recv(&msg, -1));
        if (rt_behaviour_id(&msg) == 1) {
            CHECK_OK(rt_group_leave("crew"));
            CHECK_STATUS(rt_group_leave("crew"), RT_ERR_NOT_FOUND);
            continue;
        }
        got[index]++;
    }
}

static void on_message(void *state, const rt_behaviour_message *msg)
{
    (void)msg;
    got[(size_t)((char *)state - letters)]++;
}

static void on_start(void *state, void *arg)
{
    (void)state;
    (void)arg;
    CHECK_OK(rt_group_join("crew"));
}

static const rt_behaviour_fn handlers[] = {on_message};
static const rt_behaviour_type type = {
    .handlers = handlers, .handler_count = 1, .start = on_start, .priority = RT_PRIO_NORMAL};

static void crew(void *arg)
{
    size_t sent;
    actor_id ids[4];
    actor_id members[4];
    actor_id to;
    (void)arg;
    memset(got, 0, sizeof(got));
    CHECK_STATUS(rt_group_send("crew", 0, "x", 1, &sent), RT_ERR_NOT_FOUND);
    CHECK_STATUS(rt_group_send_one("crew", 0, "x", 1, NULL), RT_ERR_NOT_FOUND);
    for (size_t i = 0; i < 3; i++) {
        ids[i] = rt_spawn_ex(member, &letters[i], &small);
    }
    ids[3] = rt_behaviour_spawn(&type, &letters[3]);
    settle();
    CHECK_OK(rt_group_join("crew"));
    rti_groups_audit(module());
    CHECK_EQ(rt_group_members("crew", members, 4), 5);
    CHECK_EQ(rt_group_members("nobody", members, 4), 0);
    for (size_t i = 0; i < 4; i++) {
        CHECK_EQ(members[i], ids[i]);
    }
    CHECK_OK(rt_group_send("crew", 0, "x", 1, &sent));
    CHECK_EQ(sent, 4); /* all but the sender */
    settle();
    for (size_t i = 0; i < 4; i++) {
        CHECK_EQ(got[i], 1);
    }
    CHECK_OK(rt_group_leave("crew"));
    for (size_t i = 0; i < 8; i++) {
        CHECK_OK(rt_group_send_one("crew", 0, "x", 1, &to));
        CHECK_EQ(to, ids[i % 4]);
    }
    settle();
    for (size_t i = 0; i < 4; i++) {
        CHECK_EQ(got[i], 3);
    }
    /* One leaves, one is killed: a doomed one is passed over at once. */
    CHECK_OK(rt_behaviour_send(ids[1], 1, NULL, 0));
    settle();
    CHECK_EQ(rt_group_members("crew", NULL, 0), 3);
    CHECK_OK(rt_actor_kill(ids[0]));
    CHECK_OK(rt_group_send_one("crew", 0, "x", 1, &to));
    CHECK_EQ(to, ids[2]);
    CHECK_STATUS(rt_group_send("crew", 0, "x", 1, &sent), RT_ERR_INVALID);
    CHECK_EQ(sent, 2);
    settle();
    CHECK_EQ(rt_group_members("crew", NULL, 0), 2);
    for (size_t i = 1; i < 4; i++) {
        CHECK_OK(rt_actor_kill(ids[i]));
    }
    settle();
    CHECK_EQ(rt_group_members("crew", NULL, 0), 0);
    CHECK_EQ(rti_pool_in_use(&module()->groups), 0);
    CHECK_EQ(rti_pool_in_use(&module()->members), 0);
    rt_exit();
}

TEST(group_reaches_all_and_each_in_turn_and_forgets_the_dead)
{
    world_run(crew, NULL);
}

static void limits(void *arg)
{
    char name[] = "group_";
    size_t made = 0;
    (void)arg;
    CHECK_STATUS(rt_group_join(NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_group_join(""), RT_ERR_INVALID);
    CHECK_STATUS(rt_group_join("a name that is longer than any name may be"), RT_ERR_INVALID);
    for (name[5] = 'a'; !RT_FAILED(rt_group_join(name)); name[5]++) {
        made++;
    }
    CHECK_EQ(made, RT_MAX_GROUPS);
    CHECK_OK(rt_group_leave("groupc"));
    CHECK_OK(rt_group_join("another"));
    rti_groups_audit(module());
    rt_exit();
}

TEST(group_limits_are_reached_and_recover)
{
    world_run(limits, NULL);
}

TEST(group_calls_without_a_runtime_are_refused)
{
    CHECK_STATUS(rt_group_join("x"), RT_ERR_THREAD);
    CHECK_STATUS(rt_group_leave("x"), RT_ERR_THREAD);
    CHECK_STATUS(rt_group_send("x", 0, NULL, 0, NULL), RT_ERR_THREAD);
    CHECK_STATUS(rt_group_send_one("x", 0, NULL, 0, NULL), RT_ERR_THREAD);
    CHECK_EQ(rt_group_members("x", NULL, 0), 0);
}
