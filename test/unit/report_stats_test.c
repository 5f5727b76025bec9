/* SPDX-License-Identifier: Apache-2.0 */
#include <orrery/rt.h>

#include "observe/report.h"
#include "support/test.h"

static char memory[1 << 14];
static struct rti_text text;

static bool has_line(const char *line)
{
    memory[text.length] = '\0';
    const char *at = strstr(memory, line);
    return at != NULL && (at == memory || at[-1] == '\n');
}

static void waiter(void *arg)
{
    (void)arg;
    rt_message msg;
    (void)rt_ipc_recv(&msg, 60000);
    rt_exit();
}

static void *task_that_waits(void *arg)
{
    (void)rt_sleep(60 * RT_NS_PER_S);
    return arg;
}

static void looker(void *arg)
{
    (void)arg;
    rt_yield();
    rti_text_init(&text, memory, sizeof(memory) - 1);
    rti_report_stats(&text, rti_sched_current());
    CHECK(!text.is_cut);
    CHECK(has_line("process\tsim\t"));
    CHECK(has_line("stat\tactors\t2\n"));
    CHECK(has_line("stat\tactors_waiting\t1\n"));
    CHECK(has_line("stat\tactors_running\t1\n"));
    /* More of them than there are slots without a reserve. */
    CHECK(has_line("stat\ttasks\t200\n"));
    CHECK(has_line("stat\ttasks_waiting\t200\n"));
    CHECK(has_line("stat\ttasks_spawned\t200\n"));
    CHECK(has_line("stat\ttasks_ready\t0\n"));
    rt_exit();
}

static void first(void *arg)
{
    (void)arg;
    CHECK_OK(rt_task_reserve(&(rt_task_room){.tasks = 300}));
    for (int i = 0; i < 200; i++) {
        CHECK_OK(rt_detach(rt_go(task_that_waits, NULL)));
    }
    (void)rt_spawn(waiter, NULL);
    (void)rt_spawn(looker, NULL);
    rt_exit();
}

TEST(report_of_counters_counts_those_of_a_reserved_table_too)
{
    CHECK_OK(rt_sim_run(&(rt_sim_config){.fixed_order = true}, first, NULL));
    CHECK(text.length > 0);
}
