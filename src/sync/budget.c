/* SPDX-License-Identifier: Apache-2.0 */
/* Budgets: three quotas whose meet is the minimum; the manual is <orrery/rt/budget.h>. */
#include <orrery/rt/budget.h>

#include <stddef.h>

static uint64_t minimum(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

rt_budget rt_budget_meet(rt_budget a, rt_budget b)
{
    return (rt_budget){
        .deadline = minimum(a.deadline, b.deadline),
        .poll_quota = (uint32_t)minimum(a.poll_quota, b.poll_quota),
        .cost_quota = minimum(a.cost_quota, b.cost_quota),
    };
}

bool rt_budget_is_exhausted(const rt_budget *budget, rt_time now)
{
    return budget == NULL || budget->poll_quota == 0 || budget->cost_quota == 0 ||
           (budget->deadline != RT_TIME_NEVER && now >= budget->deadline);
}

static const rt_status budget_invalid = {RT_ERR_INVALID, "the budget is NULL"};
static const rt_status budget_used_up = {RT_ERR_BUDGET_EXHAUSTED, "the quota is used up"};

rt_status rt_budget_take_poll(rt_budget *budget)
{
    if (budget == NULL) {
        return budget_invalid;
    }
    if (budget->poll_quota == 0) {
        return budget_used_up;
    }
    if (budget->poll_quota != UINT32_MAX) {
        budget->poll_quota--;
    }
    return RT_SUCCESS;
}

rt_status rt_budget_take_cost(rt_budget *budget, uint64_t cost)
{
    if (budget == NULL) {
        return budget_invalid;
    }
    if (budget->cost_quota < cost) {
        return budget_used_up;
    }
    if (budget->cost_quota != UINT64_MAX) {
        budget->cost_quota -= cost;
    }
    return RT_SUCCESS;
}

rt_time rt_budget_deadline(const rt_budget *budget, rt_time requested)
{
    return budget == NULL ? requested : minimum(budget->deadline, requested);
}
