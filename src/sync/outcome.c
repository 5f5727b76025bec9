/* SPDX-License-Identifier: Apache-2.0 */
/* The outcome lattice Ok < Err < Cancelled < Panicked; the manual is <orrery/rt/outcome.h>. */
#include <orrery/rt/outcome.h>

#include "base/compiler.h"

static const char *const outcome_names[] = {
    [RT_OUTCOME_OK] = "RT_OUTCOME_OK",
    [RT_OUTCOME_ERR] = "RT_OUTCOME_ERR",
    [RT_OUTCOME_CANCELLED] = "RT_OUTCOME_CANCELLED",
    [RT_OUTCOME_PANICKED] = "RT_OUTCOME_PANICKED",
};

static rt_outcome outcome_known(rt_outcome outcome)
{
    return (unsigned)outcome <= RT_OUTCOME_PANICKED ? outcome : RT_OUTCOME_PANICKED;
}

rt_outcome rt_outcome_join(rt_outcome a, rt_outcome b)
{
    a = outcome_known(a);
    b = outcome_known(b);
    return a > b ? a : b;
}

bool rt_outcome_of(rt_status_code code, rt_outcome *out)
{
    if (out == NULL || (unsigned)code >= RT_STATUS_COUNT) {
        return false;
    }
    switch (code) {
    case RT_OK:
        *out = RT_OUTCOME_OK;
        return true;
    case RT_ERR_FULL:
    case RT_ERR_EMPTY:
    case RT_ERR_WOULDBLOCK:
        return false;
    case RT_ERR_CANCELLED:
    case RT_ERR_BUDGET_EXHAUSTED:
        *out = RT_OUTCOME_CANCELLED;
        return true;
    case RT_ERR_PANICKED:
        *out = RT_OUTCOME_PANICKED;
        return true;
    default:
        *out = RT_OUTCOME_ERR;
        return true;
    }
}

const char *rt_outcome_name(rt_outcome outcome)
{
    return (unsigned)outcome < RTI_COUNT_OF(outcome_names) ? outcome_names[outcome]
                                                           : "RT_OUTCOME_UNKNOWN";
}
