/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINES_H
#define ENGINES_H

/* Runs one program on every engine, one after the other, in one process: what holds on one holds on
 * all. A line says which one is tried, so that a failure names it. */

#include <orrery/rt.h>

#define ENGINES_WORKERS 4

enum engine { ENGINE_FIXED, ENGINE_SIM, ENGINE_PARALLEL, ENGINES };

/* The engine that the program runs on now. */
enum engine engine_now(void);

/* Runs `main` as a task of each engine, to its end. */
void engines_run(void *(*main)(void *arg), void *arg);

/* The same, with a call before the task is started and one when the run is over. NULL: none. */
struct engines_program {
    void *(*main)(void *arg);
    void *arg;
    void (*before)(void);
    void (*after)(void);
};

/* On one of them. */
void engines_run_on(enum engine engine, const struct engines_program *program);

void engines_run_program(const struct engines_program *program);

#endif
