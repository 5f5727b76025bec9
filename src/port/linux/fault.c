/* SPDX-License-Identifier: Apache-2.0 */
/* Faults on Linux: four signals, one handler, one alternate stack.
 *
 * A thread that has used up its stack cannot run a handler there, so the handler runs on a stack of
 * its own. If the policy wants the thread to go on elsewhere, the handler changes the registers
 * that the kernel restores and returns: the kernel then also restores the signal mask and forgets
 * that the alternate stack was in use, which a jump out of the handler would not.
 *
 * What the policy does not want goes to whoever had the signal before: a handler is called, the
 * default action is taken by the faulting instruction itself, executed once more, so that a core
 * shows the place. A signal that was sent by somebody (kill) is no fault and is only passed on.
 *
 * Handlers and alternate stack are put back by close, each only if it is still ours: who replaced
 * one meanwhile keeps theirs.
 *
 * The state is the process's, as the handlers are: a handler is given no argument to find it by.
 *
 * I1  The state is written only while no handler of ours is installed.     (rti_linux_faults_open)
 * I2  Nothing here is called by the handler but what is async-signal-safe. (by inspection)
 *
 * Rejected: siglongjmp out of the handler (leaves the mask and the alternate stack as they are in
 * the handler); a thread that reads faults from signalfd (a synchronous fault cannot wait). */
#define _GNU_SOURCE
#define RTI_MODULE "fault"
#include "port/linux/fault.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/assert.h"

#if defined(__x86_64__)
#include "port/linux/ucontext_x86_64.h"
#elif defined(__aarch64__)
#include "port/linux/ucontext_aarch64.h"
#else
#error "no registers of a signal handler for this processor"
#endif

/* The kernel's own frame takes up to 11 KiB of it on processors with large registers; a handler
 * that was there before ours and is called by it may want as much again and more. */
#define FAULT_STACK_SIZE 65536

/* The signals in the order of enum rti_fault_kind. */
static const int fault_signals[RTI_FAULT_KINDS] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

static struct {
    rti_atomic_u32 is_open;
    const struct rti_fault_policy *policy;
    struct sigaction previous[RTI_FAULT_KINDS];
    stack_t previous_stack;
    unsigned char stack[FAULT_STACK_SIZE] RTI_ALIGNED(16);
} faults;

static enum rti_fault_kind fault_kind_of(int signal)
{
    size_t kind = 0;
    while (kind < RTI_FAULT_KINDS - 1 && fault_signals[kind] != signal) {
        kind++;
    }
    return (enum rti_fault_kind)kind;
}

/* Does what the kernel would have done without us. */
static void fault_take_default(const struct rti_fault *fault, bool is_sent)
{
    int signal = fault_signals[fault->kind];
    struct sigaction action = {.sa_handler = SIG_DFL};
    if (!is_sent) {
        faults.policy->mourn(fault);
    }
    sigaction(signal, &action, NULL);
    if (is_sent) {
        /* Blocked here, so it arrives when the handler has returned. */
        raise(signal);
    }
}

static void fault_pass_on(const struct rti_fault *fault, siginfo_t *info, void *context)
{
    const struct sigaction *previous = &faults.previous[fault->kind];
    bool is_sent = info->si_code <= 0;
    if ((previous->sa_flags & SA_SIGINFO) != 0) {
        previous->sa_sigaction(info->si_signo, info, context);
    } else if (previous->sa_handler != SIG_DFL && previous->sa_handler != SIG_IGN) {
        previous->sa_handler(info->si_signo);
    } else if (previous->sa_handler == SIG_DFL || !is_sent) {
        /* The kernel does not let a fault be ignored. */
        fault_take_default(fault, is_sent);
    }
}

static void fault_caught(int signal, siginfo_t *info, void *context)
{
    int saved_errno = errno;
    struct rti_fault fault = {.kind = fault_kind_of(signal)};
    ucontext_read(context, &fault);
    bool is_sent = info->si_code <= 0;
    fault.address = is_sent ? 0 : (uintptr_t)info->si_addr;
    if (!is_sent && faults.policy->judge(&fault)) {
        ucontext_land(context, &fault);
    } else {
        fault_pass_on(&fault, info, context);
    }
    errno = saved_errno;
}

static void fault_restore(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct sigaction now;
        int rc = sigaction(fault_signals[i], NULL, &now);
        if (rc == 0 && (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == fault_caught) {
            sigaction(fault_signals[i], &faults.previous[i], NULL);
        }
    }
    stack_t stack;
    int rc = sigaltstack(NULL, &stack);
    if (rc == 0 && stack.ss_sp == faults.stack) {
        sigaltstack(&faults.previous_stack, NULL);
    }
}

rt_status rti_linux_faults_open(struct rti_port *port, const struct rti_fault_policy *policy)
{
    (void)port;
    RT_ASSERT(policy->judge != NULL && policy->mourn != NULL);
    uint32_t expected = 0;
    /* Acquire pairs with the release in close: the last owner's handlers are gone. */
    if (!rti_u32_cas_acqrel(&faults.is_open, &expected, 1)) {
        return (rt_status){RT_ERR_STATE, "faults are caught by another runtime"};
    }
    faults.policy = policy;
    stack_t stack = {.ss_sp = faults.stack, .ss_size = sizeof(faults.stack)};
    size_t count = 0;
    if (sigaltstack(&stack, &faults.previous_stack) == 0) {
        struct sigaction action = {.sa_sigaction = fault_caught,
                                   .sa_flags = SA_SIGINFO | SA_ONSTACK};
        sigfillset(&action.sa_mask);
        while (count < RTI_FAULT_KINDS &&
               sigaction(fault_signals[count], &action, &faults.previous[count]) == 0) {
            count++;
        }
    }
    if (count == RTI_FAULT_KINDS) {
        return RT_SUCCESS;
    }
    fault_restore(count);
    rti_u32_store_release(&faults.is_open, 0); /* as in close */
    return (rt_status){RT_ERR_IO, "the system refuses handlers for faults"};
}

void rti_linux_faults_attend(struct rti_port *port, void *memory, size_t size)
{
    (void)port;
    stack_t stack = {.ss_sp = memory, .ss_size = size, .ss_flags = memory == NULL ? SS_DISABLE : 0};
    int rc = sigaltstack(&stack, NULL);
    RT_ASSERT(rc == 0);
}

void rti_linux_faults_close(struct rti_port *port)
{
    (void)port;
    RT_ASSERT(rti_u32_load_relaxed(&faults.is_open) == 1);
    fault_restore(RTI_FAULT_KINDS);
    /* Pairs with the acquire in open. */
    rti_u32_store_release(&faults.is_open, 0);
}
