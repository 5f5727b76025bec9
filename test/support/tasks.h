/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TASKS_H
#define TASKS_H

/* Programs of tasks for the cases of task/: run in the simulator in the order of the fixed engine,
 * or with a seed of its own order, or on the fixed engine itself.
 *
 *     static void *program(void *arg) { ... rt_go(...) ... return NULL; }
 *     CHECK_OK(tasks_run(program, NULL));
 *
 * After each run the runtime is gone; a checked build has audited it and found every handle
 * consumed. */

#include <orrery/rt.h>

/* In the simulator, first come, first served. */
rt_status tasks_run(rt_task_fn fn, void *arg);

/* In the simulator, in an order drawn from the seed. */
rt_status tasks_run_seeded(rt_task_fn fn, void *arg, uint64_t seed);

/* On the fixed engine, with the machine's clock. */
rt_status tasks_run_fixed(rt_task_fn fn, void *arg);

/* In all three. Demands RT_OK. */
void tasks_run_everywhere(rt_task_fn fn, void *arg);

/* What the last simulated run came to. */
extern rt_sim_report tasks_report;

/* A task that gives back its argument. */
void *tasks_echo(void *arg);

/* Sleeps so many milliseconds, `arg` as a number; gives back the argument. A cancellation ends it.
 */
void *tasks_sleep_ms(void *arg);

/* Waits until it is cancelled. */
void *tasks_wait_for_ever(void *arg);

/* A number as an argument, and back. */
#define TASKS_NUMBER(n) ((void *)(uintptr_t)(n))

/* A log of single characters that tasks write and cases compare; empty at the start of a run. */
void tasks_say(char c);
const char *tasks_said(void);

/* Runs fn(arg) as a run of its own with what it writes to standard error kept back, and gives that
 * text. */
const char *tasks_capture(rt_task_fn fn, void *arg);

#endif
