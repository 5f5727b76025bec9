/* SPDX-License-Identifier: Apache-2.0 */
#include <orrery/rt/budget.h>

#include "support/test.h"

TEST(budget_meet_takes_the_tighter_of_every_component)
{
    rt_budget a = {.deadline = 100, .poll_quota = 7, .cost_quota = 1000};
    rt_budget b = {.deadline = 200, .poll_quota = 3, .cost_quota = 2000};
    rt_budget meet = rt_budget_meet(a, b);
    CHECK_EQ(meet.deadline, 100);
    CHECK_EQ(meet.poll_quota, 3);
    CHECK_EQ(meet.cost_quota, 1000);
    meet = rt_budget_meet(b, a);
    CHECK_EQ(meet.deadline, 100);
    CHECK_EQ(meet.poll_quota, 3);
    CHECK_EQ(meet.cost_quota, 1000);
}

TEST(budget_unlimited_is_neutral_and_never_exhausted)
{
    rt_budget unlimited = RT_BUDGET_UNLIMITED;
    rt_budget a = {.deadline = 100, .poll_quota = 7, .cost_quota = 1000};
    rt_budget meet = rt_budget_meet(a, unlimited);
    CHECK_EQ(meet.deadline, 100);
    CHECK_EQ(meet.poll_quota, 7);
    CHECK_EQ(meet.cost_quota, 1000);
    CHECK(!rt_budget_is_exhausted(&unlimited, RT_TIME_NEVER - 1));
    for (int i = 0; i < 3; i++) {
        CHECK_OK(rt_budget_take_poll(&unlimited));
        CHECK_OK(rt_budget_take_cost(&unlimited, UINT64_MAX));
    }
    CHECK(!rt_budget_is_exhausted(&unlimited, RT_TIME_NEVER));
}

TEST(budget_deadline_is_reached_at_its_very_nanosecond)
{
    rt_budget budget = {.deadline = 100, .poll_quota = 1, .cost_quota = 1};
    CHECK(!rt_budget_is_exhausted(&budget, 99));
    CHECK(rt_budget_is_exhausted(&budget, 100));
    CHECK(rt_budget_is_exhausted(NULL, 0));
}

TEST(budget_quotas_end_and_a_refusal_takes_nothing)
{
    rt_budget budget = {.deadline = RT_TIME_NEVER, .poll_quota = 2, .cost_quota = 10};
    CHECK_OK(rt_budget_take_poll(&budget));
    CHECK_OK(rt_budget_take_cost(&budget, 4));
    CHECK_STATUS(rt_budget_take_cost(&budget, 7), RT_ERR_BUDGET_EXHAUSTED);
    CHECK_EQ(budget.cost_quota, 6);
    CHECK_OK(rt_budget_take_cost(&budget, 6));
    CHECK(rt_budget_is_exhausted(&budget, 0));
    CHECK_OK(rt_budget_take_poll(&budget));
    CHECK_STATUS(rt_budget_take_poll(&budget), RT_ERR_BUDGET_EXHAUSTED);
    CHECK_STATUS(rt_budget_take_poll(NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_budget_take_cost(NULL, 1), RT_ERR_INVALID);
}

TEST(budget_effective_deadline_is_the_earlier_one)
{
    rt_budget budget = {.deadline = 100, .poll_quota = 2, .cost_quota = 10};
    CHECK_EQ(rt_budget_deadline(&budget, 50), 50);
    CHECK_EQ(rt_budget_deadline(&budget, 150), 100);
    CHECK_EQ(rt_budget_deadline(&budget, RT_TIME_NEVER), 100);
    CHECK_EQ(rt_budget_deadline(NULL, 150), 150);
}
