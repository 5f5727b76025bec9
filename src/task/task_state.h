/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_TASK_STATE_H
#define RTI_TASK_STATE_H

/* The state of a task as the specification draws it (T2), and where each state is kept.
 *
 * Nothing keeps it a second time: what runs is known by the runnable's word (sched/runnable.h),
 * what has ended by the life word (task_life.h), and a request to stop by the context. The table
 * says which move of T2 is which step of theirs; the first column that fits is the state:
 *
 *     life COMPLETE or FREE                 Complete
 *     asked to stop                         Cancelled, until its hooks are done
 *     runnable RUNNING, or WOKEN            Running
 *     runnable PARKED                       Waiting
 *     else                                  Ready
 *
 * Every move is one of RTI_TASK_MOVES; task_state_test watches tasks through whole lives. */

#include "task/task.h"

enum rti_task_state {
    RTI_TASK_STATE_NONE, /* before the spawn and after the take */
    RTI_TASK_STATE_READY,
    RTI_TASK_STATE_RUNNING,
    RTI_TASK_STATE_WAITING,
    RTI_TASK_STATE_CANCELLED,
    RTI_TASK_STATE_COMPLETE,
    RTI_TASK_STATE_COUNT,
};

/* From, to, trigger, and the function that makes the move. */
#define RTI_TASK_MOVES(X)                                                                          \
    X(NONE, READY, "spawn", rti_task_to_held)                                                      \
    X(READY, RUNNING, "schedule", rti_runnable_to_running)                                         \
    X(RUNNING, READY, "yield", rti_runnable_to_yielding)                                           \
    X(RUNNING, WAITING, "a call waits", rti_runnable_to_parked)                                    \
    X(WAITING, READY, "wake", rti_runnable_to_woken)                                               \
    X(RUNNING, COMPLETE, "return, panic", rti_task_to_ended)                                       \
    X(READY, CANCELLED, "cancel", rti_task_to_cancelled)                                           \
    X(RUNNING, CANCELLED, "cancel", rti_task_to_cancelled)                                         \
    X(WAITING, CANCELLED, "cancel", rti_task_to_cancelled)                                         \
    X(CANCELLED, COMPLETE, "hooks are done", rti_task_to_ended)                                    \
    X(COMPLETE, NONE, "join, detach, cancel", rti_task_to_free)

/* Asks a task to stop: any state but COMPLETE becomes CANCELLED. A second time changes nothing. */
void rti_task_to_cancelled(struct rti_task *task);

/* The state now. Any thread; of a task that runs elsewhere it may be old at once. */
enum rti_task_state rti_task_state(const struct rti_task *task);

/* Is this one move of the table? */
bool rti_task_is_move(enum rti_task_state from, enum rti_task_state to);

/* "ready", "running" and so on. */
const char *rti_task_state_name(enum rti_task_state state);

/* "a join", "time" and so on, for an enum rti_wait_reason. Safe in a signal handler. */
const char *rti_task_reason_name(uint8_t reason);

/* The same for what a parked fiber waits for. Safe in a signal handler. */
const char *rti_task_waits_for(const struct rti_fiber *fiber);

#endif
