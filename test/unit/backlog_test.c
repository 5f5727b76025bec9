/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "backlog_test"
#include "sched/backlog.h"

#include "support/test.h"

#define RUNNABLES 32

static struct rti_sched sched;
static struct rti_backlog backlog;
static struct rti_runnable runnables[RUNNABLES];

static void start(void)
{
    sched.is_local = false;
    rti_backlog_init(&backlog, &sched);
    for (uint32_t i = 0; i < RUNNABLES; i++) {
        rti_runnable_init(&runnables[i], i, 2, NULL);
        rti_runnable_to(&runnables[i], RTI_RUNNABLE_NEW, RTI_RUNNABLE_READY);
    }
}

/* A half that lies, and others that come after it again and again. */
TEST(backlog_comes_to_everybody_however_many_follow)
{
    start();
    struct rti_runnable *some[4];
    for (uint32_t i = 0; i < 4; i++) {
        runnables[i].is_fresh = true;
        some[i] = &runnables[i];
    }
    rti_backlog_push(&backlog, &sched, some, 4);
    for (uint32_t turn = 0; turn < 4; turn++) {
        CHECK_EQ(rti_backlog_take_old(&backlog, &sched)->id, turn);
        for (uint32_t i = 0; i < 2; i++) {
            some[i] = &runnables[10 + 2 * turn + i];
            some[i]->is_fresh = true;
        }
        rti_backlog_push(&backlog, &sched, some, 2);
    }
    CHECK_EQ(rti_backlog_take_old(&backlog, &sched)->id, 16);
    CHECK_EQ(rti_backlog_audit(&backlog), 7);
}

/* Of both lists and of two levels, with room for fewer than there are. */
TEST(backlog_gives_the_old_of_an_urgent_level_before_the_young_of_another)
{
    start();
    struct rti_runnable *some[8];
    struct rti_runnable *out[8];
    for (uint32_t i = 0; i < 8; i++) {
        some[i] = &runnables[i];
        some[i]->is_fresh = true;
        some[i]->priority = i < 4 ? 1 : 2;
    }
    rti_backlog_push(&backlog, &sched, some, 4);
    CHECK_EQ(rti_backlog_take_old(&backlog, &sched)->id, 0);
    rti_backlog_push(&backlog, &sched, some + 4, 4);
    CHECK_EQ(rti_backlog_take(&backlog, &sched, RTI_PRIORITY_LEVELS, out, 2), 2);
    CHECK(out[0] == some[1] && out[1] == some[2]);
    CHECK_EQ(rti_backlog_take(&backlog, &sched, RTI_PRIORITY_LEVELS, out, 8), 5);
    CHECK(out[0] == some[3] && out[1] == some[4] && out[4] == some[7]);
    CHECK_EQ(rti_backlog_audit(&backlog), 0);
    CHECK_EQ(rti_backlog_take(&backlog, &sched, RTI_PRIORITY_LEVELS, out, 8), 0);
}

TEST(backlog_gives_the_urgent_first)
{
    start();
    struct rti_runnable *some[] = {&runnables[0], &runnables[1]};
    struct rti_runnable *out[2];
    runnables[0].is_fresh = runnables[1].is_fresh = true;
    runnables[0].priority = 1;
    rti_backlog_push(&backlog, &sched, &some[0], 1);
    rti_backlog_push(&backlog, &sched, &some[1], 1);
    /* Nobody is more urgent than level 1, and one is more urgent than level 2. */
    CHECK_EQ(rti_backlog_take(&backlog, &sched, 1, out, 2), 0);
    CHECK_EQ(rti_backlog_take(&backlog, &sched, 2, out, 2), 1);
    CHECK(out[0] == &runnables[0]);
    rti_backlog_push(&backlog, &sched, &some[0], 1);
    CHECK_EQ(rti_backlog_take(&backlog, &sched, RTI_PRIORITY_LEVELS, out, 2), 2);
    CHECK(out[0] == &runnables[0] && out[1] == &runnables[1]);
    CHECK(rti_backlog_take_old(&backlog, &sched) == NULL);
}
