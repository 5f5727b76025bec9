/* SPDX-License-Identifier: Apache-2.0 */
/* Interrupts of threads on Linux: one signal, one handler.
 *
 * SIGURG, because nothing uses it by chance, debuggers pass it on silently and its default is to be
 * ignored. The handler runs on the thread's alternate stack: a fiber's stack may be smaller than
 * the kernel's frame. System calls that it interrupts are restarted where the system can.
 *
 * A program that has a handler of its own for SIGURG gets its signals all the same: what was not
 * sent by this process to a thread goes to it.
 *
 * The thread sanitizer keeps a signal back until the thread enters the sanitizer the next time, and
 * then shows the registers of when the signal came. By those the thread is in the program's code
 * while it has gone on to an atomic operation of the runtime's. So calls that were made since are
 * looked at, too: those whose return address lies above the old stack pointer are in sight of
 * whoever reads the frame, those below it are walked here. */
#define _GNU_SOURCE
#define RTI_MODULE "interrupt"
#include "port/linux/interrupt.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/text.h"

#if defined(__x86_64__)
#include "port/linux/ucontext_x86_64.h"
#elif defined(__aarch64__)
#include "port/linux/ucontext_aarch64.h"
#endif

#define INTERRUPT_SIGNAL SIGURG
/* Words that a frame begins with: the caller's frame pointer, the address to return to. */
#define INTERRUPT_LINKAGE 2

static struct {
    rti_atomic_u32 is_open;
    void (*handler)(const struct rti_frame *frame);
    struct sigaction previous;
} interrupts;

#if RTI_TSAN
/* If the thread has called the runtime since this frame was its innermost: the frame of now. */
static RTI_ALWAYSINLINE void interrupt_look_again(struct rti_frame *frame)
{
    const uintptr_t *here = __builtin_frame_address(0);
    struct rti_frame now = {.pc = (uintptr_t)__builtin_return_address(0),
                            .sp = (uintptr_t)(here + INTERRUPT_LINKAGE),
                            .fp = *here};
    uintptr_t places[RTI_BACKTRACE_MAX];
    size_t count = rti_port_backtrace(&now, frame->sp, places, RTI_BACKTRACE_MAX);
    for (size_t i = 0; i < count; i++) {
        if (rti_text_holds(places[i])) {
            now.pc = places[i];
            *frame = now;
            return;
        }
    }
}
#endif

static void interrupt_caught(int signal, siginfo_t *info, void *context)
{
    int saved_errno = errno;
    if (info->si_code == SI_TKILL && info->si_pid == getpid()) {
        struct rti_frame frame;
        ucontext_read_frame(context, &frame);
#if RTI_TSAN
        interrupt_look_again(&frame);
#endif
        interrupts.handler(&frame);
    } else if ((interrupts.previous.sa_flags & SA_SIGINFO) != 0) {
        interrupts.previous.sa_sigaction(signal, info, context);
    } else if (interrupts.previous.sa_handler != SIG_DFL &&
               interrupts.previous.sa_handler != SIG_IGN) {
        interrupts.previous.sa_handler(signal);
    }
    errno = saved_errno;
}

rt_status rti_linux_interrupts_open(struct rti_port *port,
                                    void (*handler)(const struct rti_frame *frame))
{
    (void)port;
    uint32_t expected = 0;
    /* Acquire pairs with the release in close. */
    if (!rti_u32_cas_acqrel(&interrupts.is_open, &expected, 1)) {
        return (rt_status){RT_ERR_STATE, "another runtime interrupts threads"};
    }
    interrupts.handler = handler;
    struct sigaction action = {.sa_sigaction = interrupt_caught,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    sigemptyset(&action.sa_mask);
    if (sigaction(INTERRUPT_SIGNAL, &action, &interrupts.previous) != 0) {
        rti_u32_store_release(&interrupts.is_open, 0); /* as in close */
        return (rt_status){RT_ERR_IO, "the system refuses a handler for interrupts"};
    }
    return RT_SUCCESS;
}

void rti_linux_interrupts_close(struct rti_port *port)
{
    (void)port;
    sigaction(INTERRUPT_SIGNAL, &interrupts.previous, NULL);
    /* Pairs with the acquire in open. */
    rti_u32_store_release(&interrupts.is_open, 0);
}

uintptr_t rti_linux_interrupts_attend(struct rti_port *port)
{
    (void)port;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, INTERRUPT_SIGNAL);
    int error = pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    RT_ASSERT(error == 0);
    _Static_assert(sizeof(pthread_t) <= sizeof(uintptr_t), "a thread's name is a word");
    return (uintptr_t)pthread_self();
}

void rti_linux_interrupt(struct rti_port *port, uintptr_t thread)
{
    (void)port;
    (void)pthread_kill((pthread_t)thread, INTERRUPT_SIGNAL);
}
