/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_CREW_UNUSED_H
#define MODEL_CREW_UNUSED_H

/* What crew.c needs for members whose threads begin, and for fibers that end: no model has such,
 * and one that comes here fails. For models that link crew.c; one is one translation unit. */

#include "crew_world.h"
#include "sched/fault.h"
#include "sched/fiber.h"

static _Noreturn void unused(void)
{
    explore_assert_failed("no thread of a member begins, and no fiber ends", EXPLORE_SITE);
}

void rti_context_adopt(struct rti_context *context)
{
    (void)context;
    unused();
}

void rti_context_forget(struct rti_context *context, void *stack_low, size_t stack_size)
{
    (void)context, (void)stack_low, (void)stack_size;
    unused();
}

void *rti_faults_attend(struct rti_sched *of)
{
    (void)of;
    unused();
}

void rti_faults_unattend(struct rti_sched *of, void *stack)
{
    (void)of, (void)stack;
    unused();
}

void rti_fiber_step(struct rti_runnable *runnable, struct rti_worker *worker)
{
    (void)runnable, (void)worker;
    unused();
}

void rti_fiber_settle(struct rti_sched *of, struct rti_fiber *left)
{
    (void)of, (void)left;
    unused();
}

void rti_worker_set_current(struct rti_worker *worker)
{
    (void)worker;
    unused();
}

#endif
