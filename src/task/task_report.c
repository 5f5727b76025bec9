/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "task_report"
#include "task/task_report.h"

#include "base/peek.h"
#include "task/tasks.h"

#if !RTI_ONE_WORKER
/* What lies apart from the slot; NULL while the slot is being made. */
static const struct rti_task_side *report_side(const struct rti_task *task)
{
    uint32_t distance = 0;
    (void)rti_peek_copy(NULL, &distance, &task->cx.cancel.owner_word, sizeof(distance));
    uintptr_t rest = (uintptr_t)&task->cx + distance * RTI_CX_REST_UNIT;
    return distance == 0
               ? NULL
               : (const struct rti_task_side *)(rest - offsetof(struct rti_task_side, rest));
}
#endif

/* Was it given a name? */
static RTI_UNSANITIZED bool report_has_name(const struct rti_task *task)
{
    return task->has_name;
}

/* Where a task was spawned, and its ancestors; NULL ends the chain. */
static void report_sites_of(const struct rti_task *task, const rt_site *sites[RTI_TASK_SITES])
{
#if RTI_ONE_WORKER
    (void)rti_peek_copy(NULL, sites, task->sites, sizeof(task->sites));
#else
    _Static_assert(RTI_TASK_SITES == RTI_ORIGIN_SITES, "the chain of a task is its fiber's");
    const void *addresses[RTI_ORIGIN_SITES];
    const void *lines[RTI_ORIGIN_SITES];
    uint32_t number = 0;
    const struct rti_sched *sched = rti_fiber_peek_sched(&task->fiber);
    const struct rti_task_side *side = report_side(task);
    (void)rti_peek_copy(NULL, &number, &task->fiber.origin.number, sizeof(number));
    if (sched == NULL) {
        sites[0] = NULL;
        return;
    }
    rti_origins_tell(&sched->origins, number, addresses, lines);
    if (number == 0 && side != NULL) {
        (void)rti_peek_copy(NULL, (void *)&lines[0], &side->site, sizeof(lines[0]));
    }
    for (size_t i = 0; i < RTI_TASK_SITES; i++) {
        sites[i] = lines[i];
    }
#endif
}

const rt_site *rti_task_site(const struct rti_task *task)
{
    const rt_site *sites[RTI_TASK_SITES];
    report_sites_of(task, sites);
    return sites[0];
}

void rti_task_identify(const struct rti_task *task, struct rti_task_identity *identity)
{
    (void)rti_peek_copy(NULL, &identity->serial, &task->fiber.run.id, sizeof(identity->serial));
    identity->serial &= ~RTI_TASK_TRACE_ID;
    report_sites_of(task, identity->sites);
    identity->name = identity->sites[0] == NULL ? NULL : identity->sites[0]->what;
    if (report_has_name(task)) {
#if RTI_ONE_WORKER
        identity->name = rti_task_side(task)->name;
#else
        const struct rti_task_side *side = report_side(task);
        (void)rti_peek_copy(NULL, &identity->name, side == NULL ? NULL : &side->name,
                            sizeof(identity->name));
#endif
    }
}

void rti_task_remark_identity(struct rti_remark *line, const struct rti_task_identity *identity)
{
    /* A slot that is just being taken has no name yet. */
    rti_remark_add(line, identity->name != NULL ? identity->name : "");
    rti_remark_add(line, " (");
    rti_remark_add_number(line, identity->serial);
    rti_remark_add(line, ")");
}

void rti_task_remark_name(struct rti_remark *line, const struct rti_task *task)
{
    struct rti_task_identity identity;
    rti_task_identify(task, &identity);
    rti_task_remark_identity(line, &identity);
}

void rti_task_remark_site(struct rti_remark *line, const rt_site *site)
{
    rti_remark_add(line, site->file);
    rti_remark_add(line, ":");
    rti_remark_add_number(line, site->line);
}

void rti_task_remark_origin(struct rti_remark *line, const struct rti_task_identity *identity)
{
    rti_remark_add(line, " spawned at ");
    for (size_t i = 0; i < RTI_TASK_SITES && identity->sites[i] != NULL; i++) {
        if (i > 0) {
            rti_remark_add(line, ", from ");
        }
        rti_task_remark_site(line, identity->sites[i]);
    }
}

void rti_task_remark_chain(struct rti_remark *line, const struct rti_task *task)
{
    struct rti_task_identity identity;
    rti_task_identify(task, &identity);
    rti_task_remark_origin(line, &identity);
}

void rti_task_report_unheard(const struct rti_task *task)
{
    if (task->outcome != RT_OUTCOME_PANICKED) {
        return;
    }
    const struct rti_task_annex *annex = task->has_message ? rti_task_annex(task) : NULL;
    struct rti_remark line;
    rti_remark_init(&line);
    rti_remark_add(&line, "task ");
    rti_task_remark_name(&line, task);
    rti_remark_add(&line, " panicked");
    if (annex != NULL && annex->panic_site != NULL) {
        rti_remark_add(&line, " at ");
        rti_task_remark_site(&line, annex->panic_site);
    }
    rti_remark_add(&line, ": ");
    rti_remark_add(&line,
                   annex != NULL && annex->message[0] != '\0' ? annex->message : "no message");
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
