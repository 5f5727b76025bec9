/* SPDX-License-Identifier: Apache-2.0 */
/* The program that gdb_parked_fiber.sh looks at: two fibers park three named frames deep, one by
 * each kind of switch, one has not begun, and then the program stops where the script has a
 * breakpoint. */
#define RTI_MODULE "gdb_parked_fiber"
#include "sched/context.h"

#include <stdio.h>
#include <stdlib.h>

struct rti_context home;
struct rti_context parked_inline;
struct rti_context parked_tail;
struct rti_context not_begun;
static _Alignas(16) char stacks[3][65536];
static volatile int sink;

/* So that nothing else of the library must be linked. */
_Noreturn void rti_panic(const char *module, int id, const char *sentence)
{
    fprintf(stderr, "panic: %s:%d: %s\n", module, id, sentence);
    abort();
}

/* Nobody is summoned here. */
void rti_preempt_at_limit(uintptr_t frame_end, uintptr_t link);
void rti_preempt_at_limit(uintptr_t frame_end, uintptr_t link)
{
    (void)frame_end;
    (void)link;
    abort();
}

static RTI_NOINLINE void *park_by_tail(struct rti_context *self)
{
    return rti_context_switch_tail(self, &home, NULL);
}

static RTI_NOINLINE int frame_inner(struct rti_context *self, int inner_value)
{
    if (self == &parked_tail) {
        park_by_tail(self);
    } else {
        rti_context_switch(self, &home, NULL);
    }
    sink = inner_value;
    return inner_value;
}

static RTI_NOINLINE int frame_middle(struct rti_context *self, int middle_value)
{
    int below = frame_inner(self, middle_value + 1);
    sink = middle_value;
    return below + middle_value;
}

static RTI_NOINLINE int frame_outer(struct rti_context *self, int outer_value)
{
    int below = frame_middle(self, outer_value + 1);
    sink = outer_value;
    return below + outer_value;
}

static RTI_NOINLINE void fiber_entry(void *transfer)
{
    struct rti_context *self = transfer;
    sink = frame_outer(self, 41);
    rti_context_leave(self, &home, NULL);
}

RTI_NOINLINE void all_are_parked(void)
{
    sink = 1;
}

int main(void)
{
    rti_context_adopt(&home);
    rti_context_init(&parked_inline, stacks[0], sizeof(stacks[0]), fiber_entry);
    rti_context_init(&parked_tail, stacks[1], sizeof(stacks[1]), fiber_entry);
    rti_context_init(&not_begun, stacks[2], sizeof(stacks[2]), fiber_entry);
    rti_context_switch(&home, &parked_inline, &parked_inline);
    rti_context_switch(&home, &parked_tail, &parked_tail);
    all_are_parked();
    rti_context_switch(&home, &parked_inline, NULL);
    rti_context_switch(&home, &parked_tail, NULL);
    return sink == 41 + 42 + 43 ? 0 : 1;
}
