/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_TASK_REPORT_H
#define RTI_TASK_REPORT_H

/* What is said about tasks in lines of diagnosis: who, where spawned, how it failed. */

#include "base/remark.h"
#include "task/task.h"

/* What a task is called, copied so that it may end, or its slot be taken, meanwhile. */
struct rti_task_identity {
    const char *name; /* NULL: none yet */
    uint32_t serial;
    const rt_site *sites[RTI_TASK_SITES];
};

/* Where a task was spawned. Who holds it. */
const rt_site *rti_task_site(const struct rti_task *task);

/* Any thread, signal handler. */
void rti_task_identify(const struct rti_task *task, struct rti_task_identity *identity);

/* Adds "fetch (7)": the name and the serial. */
void rti_task_remark_identity(struct rti_remark *line, const struct rti_task_identity *identity);
/* Adds " spawned at server.c:28, from main.c:15". */
void rti_task_remark_origin(struct rti_remark *line, const struct rti_task_identity *identity);

/* Adds "fetch (7)": the name and the serial. */
void rti_task_remark_name(struct rti_remark *line, const struct rti_task *task);

/* Adds "server.c:28". */
void rti_task_remark_site(struct rti_remark *line, const rt_site *site);

/* Adds " spawned at server.c:28, from main.c:15": the whole chain that is known. */
void rti_task_remark_chain(struct rti_remark *line, const struct rti_task *task);

/* Says in a line that a task panicked whose result nobody will take; nothing if it did not. */
void rti_task_report_unheard(const struct rti_task *task);

/* Says that the handle of a task that ended was never consumed. A checked build stops here. */
void rti_task_report_lost(const struct rti_task *task);

/* Says that an ensure hook failed. */
void rti_task_report_hook(const struct rti_task *task, const rt_site *hook, const char *why);

#endif
