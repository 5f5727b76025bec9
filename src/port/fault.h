/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_PORT_FAULT_H
#define RTI_PORT_FAULT_H

/* A fault as the seam shows it: an instruction that the machine refuses to complete.
 *
 * The port catches it, says where the machine stood, and asks the policy of who opened faults
 * (port.h: faults_open). The policy has three answers: not mine, which passes the fault on to
 * whoever would have had it without us; land, which continues the thread in a function on another
 * stack, as if the instruction had jumped there; or a panic.
 *
 * The policy runs in a signal handler on an alternate stack: it calls what is async-signal-safe and
 * touches only what the faulting thread owns. */

#include <stdbool.h>

#include "base/compiler.h"

enum rti_fault_kind {
    RTI_FAULT_ACCESS,      /* memory that is not there or may not be touched */
    RTI_FAULT_BUS,         /* memory that is there and cannot be read */
    RTI_FAULT_ARITHMETIC,  /* a division by zero, or a trapped floating-point exception */
    RTI_FAULT_INSTRUCTION, /* not an instruction, or not allowed */
    RTI_FAULT_KINDS,
};

struct rti_fault {
    enum rti_fault_kind kind;
    uintptr_t address; /* of the access, or of the instruction */
    uintptr_t pc;
    uintptr_t sp;
    uintptr_t link;          /* the register of the return address; 0 where there is none */
    bool is_return_at_sp;    /* a function without a frame has its return address at sp */
    void (*land)(void *arg); /* where to continue; written by a policy that answers true */
    void *land_arg;          /* its argument */
    uintptr_t land_stack;    /* the stack below this address is free for it */
};

struct rti_fault_policy {
    /* May change the last three fields and answer true: land. False: not mine. */
    bool (*judge)(struct rti_fault *fault);
    /* Nobody wants the fault and it is about to end the process: time for a last line. */
    void (*mourn)(const struct rti_fault *fault);
};

#endif
