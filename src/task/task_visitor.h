/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_TASK_VISITOR_H
#define RTI_TASK_VISITOR_H

/* Plain threads that hold a handle of a runtime with several workers: a join blocks the thread
 * (sched/visit.h), everything else is done as a task does it.
 *
 * A thread is no task: nobody waits for it, so it closes no circle of joins; and it cannot be
 * cancelled, so a join of it ends with the task, its deadline or the runtime. */

#include "task/task.h"

enum rti_task_verb {
    RTI_TASK_VERB_JOIN,
    RTI_TASK_VERB_JOIN_UNTIL,
    RTI_TASK_VERB_DETACH,
    RTI_TASK_VERB_CANCEL,
    RTI_TASK_VERB_ASK_CANCEL,
};

/* What a visitor wants of the task that a handle names. */
struct rti_task_errand {
    enum rti_task_verb verb;
    const rt_task *handle;
    void **value;           /* may be NULL */
    rt_task_result *result; /* may be NULL */
    rt_time deadline;       /* of JOIN_UNTIL */
};

/* Does it for the calling thread, which is no worker. Sets *is_consumed, if that is not NULL, when
 * the handle was. */
rt_status rti_task_visit(const struct rti_task_errand *errand, bool *is_consumed);

/* rt_task_has_ended of a visitor. */
bool rti_task_visit_has_ended(const rt_task *handle);

#endif
