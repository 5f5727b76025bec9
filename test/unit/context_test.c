/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "context_test"
#include "sched/context.h"
#include "support/test.h"

static struct rti_context home;
static struct rti_context fiber;
static _Alignas(16) char stack[65536];

static void echo(void *transfer)
{
    for (;;) {
        uintptr_t value = (uintptr_t)transfer;
        transfer = rti_context_switch(&fiber, &home, (void *)(value + 1));
    }
}

TEST(context_transfer_crosses_each_way)
{
    rti_context_adopt(&home);
    rti_context_init(&fiber, stack, sizeof(stack), echo);
    for (uintptr_t i = 0; i < 10000; i++) {
        uintptr_t back = (uintptr_t)rti_context_switch(&home, &fiber, (void *)(i * 2));
        CHECK_EQ(back, i * 2 + 1);
    }
    rti_context_deinit(&fiber);
}
