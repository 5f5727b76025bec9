/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "task_report"
#include "task/task_report.h"

void rti_task_line_add_name(struct rti_line *line, const struct rti_task *task)
{
    rti_line_add(line, task->name);
    rti_line_add(line, " (");
    rti_line_add_number(line, task->serial);
    rti_line_add(line, ")");
}

void rti_task_line_add_site(struct rti_line *line, const rt_site *site)
{
    rti_line_add(line, site->file);
    rti_line_add(line, ":");
    rti_line_add_number(line, site->line);
}

void rti_task_line_add_chain(struct rti_line *line, const struct rti_task *task)
{
    rti_line_add(line, " spawned at ");
    for (size_t i = 0; i < RTI_TASK_SITES && task->sites[i] != NULL; i++) {
        if (i > 0) {
            rti_line_add(line, ", from ");
        }
        rti_task_line_add_site(line, task->sites[i]);
    }
}

void rti_task_report_unheard(const struct rti_task *task)
{
    if (task->outcome != RT_OUTCOME_PANICKED) {
        return;
    }
    struct rti_line line;
    rti_line_init(&line);
    rti_line_add(&line, "task ");
    rti_task_line_add_name(&line, task);
    rti_line_add(&line, " panicked");
    if (task->panic_site != NULL) {
        rti_line_add(&line, " at ");
        rti_task_line_add_site(&line, task->panic_site);
    }
    rti_line_add(&line, ": ");
    rti_line_add(&line, task->message[0] != '\0' ? task->message : "no message");
    rti_line_add(&line, ";");
    rti_task_line_add_chain(&line, task);
    rti_port_log(line.text);
}

void rti_task_report_lost(const struct rti_task *task)
{
    struct rti_line line;
    rti_line_init(&line);
    rti_line_add(&line, "the handle of task ");
    rti_task_line_add_name(&line, task);
    rti_task_line_add_chain(&line, task);
    rti_line_add(&line, ", was never joined, detached or cancelled");
    if (RT_CHECKS) {
        rti_panic(RTI_MODULE, __LINE__, line.text);
    }
}

void rti_task_report_hook(const struct rti_task *task, const rt_site *hook, const char *why)
{
    struct rti_line line;
    rti_line_init(&line);
    rti_line_add(&line, "ensure hook at ");
    rti_task_line_add_site(&line, hook);
    rti_line_add(&line, " of task ");
    rti_task_line_add_name(&line, task);
    rti_line_add(&line, " failed: ");
    rti_line_add(&line, why != NULL ? why : "no message");
    rti_port_log(line.text);
}
