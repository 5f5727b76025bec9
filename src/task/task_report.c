/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "task_report"
#include "task/task_report.h"

void rti_task_remark_name(struct rti_remark *line, const struct rti_task *task)
{
    rti_remark_add(line, task->name);
    rti_remark_add(line, " (");
    rti_remark_add_number(line, task->serial);
    rti_remark_add(line, ")");
}

void rti_task_remark_site(struct rti_remark *line, const rt_site *site)
{
    rti_remark_add(line, site->file);
    rti_remark_add(line, ":");
    rti_remark_add_number(line, site->line);
}

void rti_task_remark_chain(struct rti_remark *line, const struct rti_task *task)
{
    rti_remark_add(line, " spawned at ");
    for (size_t i = 0; i < RTI_TASK_SITES && task->sites[i] != NULL; i++) {
        if (i > 0) {
            rti_remark_add(line, ", from ");
        }
        rti_task_remark_site(line, task->sites[i]);
    }
}

void rti_task_report_unheard(const struct rti_task *task)
{
    if (task->outcome != RT_OUTCOME_PANICKED) {
        return;
    }
    struct rti_remark line;
    rti_remark_init(&line);
    rti_remark_add(&line, "task ");
    rti_task_remark_name(&line, task);
    rti_remark_add(&line, " panicked");
    if (task->panic_site != NULL) {
        rti_remark_add(&line, " at ");
        rti_task_remark_site(&line, task->panic_site);
    }
    rti_remark_add(&line, ": ");
    rti_remark_add(&line, task->message[0] != '\0' ? task->message : "no message");
    rti_remark_add(&line, ";");
    rti_task_remark_chain(&line, task);
    rti_port_log(line.text);
}

void rti_task_report_lost(const struct rti_task *task)
{
    struct rti_remark line;
    rti_remark_init(&line);
    rti_remark_add(&line, "the handle of task ");
    rti_task_remark_name(&line, task);
    rti_task_remark_chain(&line, task);
    rti_remark_add(&line, ", was never joined, detached or cancelled");
    if (RT_CHECKS) {
        rti_panic(RTI_MODULE, __LINE__, line.text);
    }
}

void rti_task_report_hook(const struct rti_task *task, const rt_site *hook, const char *why)
{
    struct rti_remark line;
    rti_remark_init(&line);
    rti_remark_add(&line, "ensure hook at ");
    rti_task_remark_site(&line, hook);
    rti_remark_add(&line, " of task ");
    rti_task_remark_name(&line, task);
    rti_remark_add(&line, " failed: ");
    rti_remark_add(&line, why != NULL ? why : "no message");
    rti_port_log(line.text);
}
