/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPLORE_FIBER_H
#define EXPLORE_FIBER_H

/* The explorer's own switch between the threads of a model, which are fibers of one thread of the
 * operating system. It is not the library's switch: the explorer must not stand on what it checks,
 * needs neither floating point state nor annotations, and begins each fiber again a million times a
 * second. */

#include <stddef.h>

struct fiber;

enum { FIBER_STACK_SIZE = 64 * 1024, FIBER_STORAGE_SIZE = FIBER_STACK_SIZE + 1024 };

/* A fiber in storage that it carries itself; `main` never returns. */
struct fiber {
    void *stack_pointer;
    void (*main)(void);
    _Alignas(16) unsigned char stack[FIBER_STORAGE_SIZE];
};

/* Makes the next switch to `fiber` begin `main`, whatever it did before. */
void fiber_prepare(struct fiber *fiber, void (*main)(void));

/* Leaves `from`, which may be any fiber or the controller, and goes on in `to`. */
void fiber_switch(struct fiber *from, struct fiber *to);

#endif
