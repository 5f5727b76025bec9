/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "task_state"
#include "task/task_state.h"

#include "sched/backtrace.h"

void rti_task_to_cancelled(struct rti_task *task)
{
    if (!rti_task_is_complete(task)) {
        rti_cx_cancel(&task->cx);
    }
}

enum rti_task_state rti_task_state(const struct rti_task *task)
{
    switch (rti_task_life(&task->life)) {
    case RTI_TASK_FREE:
        return RTI_TASK_STATE_NONE;
    case RTI_TASK_COMPLETE:
        return RTI_TASK_STATE_COMPLETE;
    default:
        break;
    }
    if (rti_cancel_is_requested(&task->cx.cancel)) {
        return RTI_TASK_STATE_CANCELLED;
    }
    switch (rti_runnable_state(&task->fiber.run)) {
    case RTI_RUNNABLE_RUNNING:
    case RTI_RUNNABLE_WOKEN:
    case RTI_RUNNABLE_DONE:
        return RTI_TASK_STATE_RUNNING;
    case RTI_RUNNABLE_PARKED:
        return RTI_TASK_STATE_WAITING;
    default:
        return RTI_TASK_STATE_READY;
    }
}

bool rti_task_is_move(enum rti_task_state from, enum rti_task_state to)
{
    static const struct {
        uint8_t from;
        uint8_t to;
    } moves[] = {
#define TASK_MOVE(a, b, trigger, function) {RTI_TASK_STATE_##a, RTI_TASK_STATE_##b},
        RTI_TASK_MOVES(TASK_MOVE)
#undef TASK_MOVE
    };
    for (size_t i = 0; i < RTI_COUNT_OF(moves); i++) {
        if (moves[i].from == from && moves[i].to == to) {
            return true;
        }
    }
    return false;
}

const char *rti_task_state_name(enum rti_task_state state)
{
    static const char *const names[] = {"none",    "ready",     "running",
                                        "waiting", "cancelled", "complete"};
    _Static_assert(RTI_COUNT_OF(names) == RTI_TASK_STATE_COUNT, "each state has its name");
    return (unsigned)state < RTI_TASK_STATE_COUNT ? names[state] : "unknown";
}

const char *rti_task_reason_name(uint8_t reason)
{
    static const char *const names[] = {
        [RTI_REASON_UNKNOWN] = "something",  [RTI_REASON_MAIL] = "mail",
        [RTI_REASON_SEND] = "a release",     [RTI_REASON_CALL] = "an answer",
        [RTI_REASON_BUS] = "a bus",          [RTI_REASON_CHANNEL] = "a channel",
        [RTI_REASON_SELECT] = "a select",    [RTI_REASON_JOIN] = "a join",
        [RTI_REASON_TIME] = "time",          [RTI_REASON_REGION] = "a region",
        [RTI_REASON_IO] = "input or output", [RTI_REASON_LOCK] = "a lock",
    };
    _Static_assert(RTI_COUNT_OF(names) == RTI_REASON_COUNT, "each reason has its name");
    return reason < RTI_REASON_COUNT ? names[reason] : names[RTI_REASON_UNKNOWN];
}

const char *rti_task_waits_for(const struct rti_fiber *fiber)
{
    return rti_task_reason_name(rti_backtrace_reason(fiber));
}
