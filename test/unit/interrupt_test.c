/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#define RTI_MODULE "interrupt_test"
#include "port/backtrace.h"
#include "support/port_fixture.h"

#define ROUNDS 50
#define DEPTH  512

static rti_atomic_u32 is_sent;
static rti_atomic_u32 is_met;
static rti_atomic_ptr target;      /* the thread that is interrupted, once it attends */
static uintptr_t volatile deepest; /* of the interrupted thread: above this it is at present */
static uintptr_t shown;            /* what the handler was shown, and where the thread was */
static uintptr_t was_at;

static void remember_the_frame(const struct rti_frame *frame)
{
    if (rti_u32_load_relaxed(&is_met) == 0) {
        shown = frame->sp;
        was_at = deepest;
        rti_u32_store_relaxed(&is_met, 1);
    }
}

/* Meets the sanitizer, if there is one, in a call of the runtime's. */
static RTI_UNSANITIZED void go_deeper(void)
{
    char volatile room[DEPTH];
    const uint32_t volatile *met = (const uint32_t volatile *)&is_met;
    deepest = (uintptr_t)room;
    room[0] = 1;
    while (*met == 0) {
        (void)port->ops->interrupts_open(port, remember_the_frame); /* is refused: it is open */
    }
}

/* Lets the signal come where no sanitizer is met, then goes on. */
static RTI_UNSANITIZED void stand_and_go_deeper(void)
{
    deepest = (uintptr_t)__builtin_frame_address(0);
    const uint32_t volatile *sent = (const uint32_t volatile *)&is_sent;
    while (*sent == 0) {
        rti_spin_hint();
    }
    go_deeper();
}

static void be_interrupted(void *arg)
{
    (void)arg;
    rti_ptr_store_release(&target, (void *)port->ops->interrupts_attend(port));
    stand_and_go_deeper();
}

TEST(interrupt_shows_where_the_thread_is_when_the_handler_runs)
{
    fixture_open(NULL);
    CHECK_OK(port->ops->interrupts_open(port, remember_the_frame));
    for (int i = 0; i < ROUNDS; i++) {
        struct rti_port_thread thread;
        rti_u32_store_relaxed(&is_sent, 0);
        rti_u32_store_relaxed(&is_met, 0);
        rti_ptr_store_relaxed(&target, NULL);
        CHECK_OK(port->ops->thread_start(port, &thread, be_interrupted, NULL));
        while (rti_ptr_load_acquire(&target) == NULL) {
            rti_spin_hint();
        }
        port->ops->interrupt(port, (uintptr_t)rti_ptr_load_relaxed(&target));
        rti_u32_store_release(&is_sent, 1);
        port->ops->thread_join(port, &thread);
        CHECK(was_at != 0 && shown != 0);
        /* Stacks grow down: the frame that is shown is in the innermost function, or below. */
        CHECK(shown <= was_at);
    }
    port->ops->interrupts_close(port);
    fixture_close();
}
