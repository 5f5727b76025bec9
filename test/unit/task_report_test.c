/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "task_report_test"
#include "task/task_report.h"

#include "support/test.h"

static const rt_site here = {"server.c", 28, "handle"};
static const rt_site there = {"main.c", 15, "main"};

TEST(report_names_a_task_and_its_chain_of_spawns)
{
    static struct rti_sched sched;
    struct rti_task task = {.fiber.run.id = RTI_TASK_TRACE_ID | 7, .fiber.sched = &sched};
    rti_origins_init(&sched.origins);
    uint32_t before = rti_origins_number(&sched.origins, 0, RTI_ORIGIN_NOWHERE, &there);
    task.fiber.origin.number =
        rti_origins_number(&sched.origins, before, RTI_ORIGIN_NOWHERE, &here);
    struct rti_remark line;
    rti_remark_init(&line);
    rti_task_remark_name(&line, &task);
    rti_task_remark_chain(&line, &task);
    CHECK_STR(line.text, "handle (7) spawned at server.c:28, from main.c:15");
}

TEST(report_line_that_is_too_long_is_cut_and_says_so)
{
    struct rti_remark line;
    rti_remark_init(&line);
    for (int i = 0; i < 100; i++) {
        rti_remark_add(&line, "word ");
    }
    CHECK_EQ(line.length, RTI_REMARK_MAX);
    CHECK_EQ(strlen(line.text), RTI_REMARK_MAX);
    CHECK_STR(line.text + RTI_REMARK_MAX - 3, "...");
    rti_remark_init(&line);
    rti_remark_add_number(&line, UINT64_MAX);
    rti_remark_add_number(&line, 0);
    CHECK_STR(line.text, "184467440737095516150");
}

TEST(report_of_one_that_did_not_panic_is_none)
{
    struct rti_task task = {.outcome = RT_OUTCOME_CANCELLED};
    rti_task_report_unheard(&task);
}
