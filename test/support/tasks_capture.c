/* SPDX-License-Identifier: Apache-2.0 */
/* What a run of tasks says on standard error, caught. */
#include "support/actors.h"
#include "support/tasks.h"
#include "support/test.h"

static rt_task_fn captured_fn;
static void *captured_arg;

static void run_captured(void)
{
    (void)tasks_run(captured_fn, captured_arg);
}

const char *tasks_capture(rt_task_fn fn, void *arg)
{
    captured_fn = fn;
    captured_arg = arg;
    return actors_capture(run_captured);
}
