/* SPDX-License-Identifier: Apache-2.0 */
#include <orrery/rt/outcome.h>

#include "support/test.h"

TEST(outcome_join_is_the_worse_of_the_two)
{
    for (int a = RT_OUTCOME_OK; a <= RT_OUTCOME_PANICKED; a++) {
        for (int b = RT_OUTCOME_OK; b <= RT_OUTCOME_PANICKED; b++) {
            int join = (int)rt_outcome_join((rt_outcome)a, (rt_outcome)b);
            CHECK_EQ(join, a > b ? a : b);
            CHECK_EQ(rt_outcome_join((rt_outcome)b, (rt_outcome)a), join);
        }
        CHECK_EQ(rt_outcome_join((rt_outcome)a, RT_OUTCOME_OK), a);
    }
}

TEST(outcome_severity_is_ok_err_cancelled_panicked)
{
    CHECK(RT_OUTCOME_OK < RT_OUTCOME_ERR);
    CHECK(RT_OUTCOME_ERR < RT_OUTCOME_CANCELLED);
    CHECK(RT_OUTCOME_CANCELLED < RT_OUTCOME_PANICKED);
}

TEST(outcome_of_an_unknown_value_counts_as_panicked)
{
    CHECK_EQ(rt_outcome_join((rt_outcome)9, RT_OUTCOME_OK), RT_OUTCOME_PANICKED);
    CHECK_STR(rt_outcome_name((rt_outcome)9), "RT_OUTCOME_UNKNOWN");
    CHECK_STR(rt_outcome_name(RT_OUTCOME_CANCELLED), "RT_OUTCOME_CANCELLED");
}

TEST(outcome_of_a_status_follows_the_tables_of_the_specification)
{
    rt_outcome outcome = RT_OUTCOME_OK;
    CHECK(rt_outcome_of(RT_ERR_DISCONNECTED, &outcome));
    CHECK_EQ(outcome, RT_OUTCOME_ERR);
    CHECK(rt_outcome_of(RT_ERR_CANCELLED, &outcome));
    CHECK_EQ(outcome, RT_OUTCOME_CANCELLED);
    CHECK(rt_outcome_of(RT_ERR_TIMER_DURATION_EXCEEDED, &outcome));
    CHECK_EQ(outcome, RT_OUTCOME_ERR);
    CHECK(rt_outcome_of(RT_ERR_RESOURCE_EXHAUSTED, &outcome));
    CHECK_EQ(outcome, RT_OUTCOME_ERR);
    CHECK(rt_outcome_of(RT_ERR_BUDGET_EXHAUSTED, &outcome));
    CHECK_EQ(outcome, RT_OUTCOME_CANCELLED);
    CHECK(rt_outcome_of(RT_ERR_PANICKED, &outcome));
    CHECK_EQ(outcome, RT_OUTCOME_PANICKED);
    CHECK(rt_outcome_of(RT_OK, &outcome));
    CHECK_EQ(outcome, RT_OUTCOME_OK);
}

TEST(outcome_of_full_and_empty_is_none)
{
    rt_outcome outcome = RT_OUTCOME_ERR;
    CHECK(!rt_outcome_of(RT_ERR_FULL, &outcome));
    CHECK(!rt_outcome_of(RT_ERR_EMPTY, &outcome));
    CHECK(!rt_outcome_of(RT_ERR_WOULDBLOCK, &outcome));
    CHECK(!rt_outcome_of(RT_STATUS_COUNT, &outcome));
    CHECK(!rt_outcome_of(RT_OK, NULL));
    CHECK_EQ(outcome, RT_OUTCOME_ERR);
}
