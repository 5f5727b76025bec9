/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_TASK_CYCLE_H
#define RTI_TASK_CYCLE_H

/* Tasks that wait for each other's end for ever.
 *
 * A task that joins without a deadline notes whom it waits for, and looks along the notes of the
 * others: if they lead back to itself, nobody in the circle can ever go on. The join that would
 * close the circle is refused with RT_ERR_DEADLOCK, after a line that names all of them with their
 * places of spawn. A handle is held by one, so a task is in at most one circle.
 *
 * On an engine with several workers the notes are written under the module's lock, and only in
 * checked builds: there a join that waits would otherwise pay for a lock of all tasks.
 *
 * I1  `joins` is not NULL only while its task waits in a join.       (rti_task_join_end) */

#include "task/task.h"

/* Before `waiter` (NULL: no task) waits for `target`. RT_OK, or RT_ERR_DEADLOCK. */
rt_status rti_task_join_begin(struct rti_task *waiter, struct rti_task *target, rt_time deadline);

/* It waits no longer. */
void rti_task_join_end(struct rti_task *waiter);

#endif
