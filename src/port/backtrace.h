/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_PORT_BACKTRACE_H
#define RTI_PORT_BACKTRACE_H

/* Where a computation stands, and who called whom to get there, as the seam shows it.
 *
 * A frame is what must be known of a processor to find the caller of the function it is in. The
 * program is not asked to keep frame pointers: where the port has the compiler's unwind tables it
 * goes by them, and what they do not tell ends the walk.
 *
 * A place is an address in code. Its text is `module+0xoffset`, the offset being what addr2line and
 * a disassembly of the module call the address: names of functions need symbols, which a program
 * that is installed need not have, and time, which a signal handler has not.
 *
 * The functions are for any thread and for a signal handler; errno stays. They read memory by a
 * copy that fails where there is none, so that a stack that changes meanwhile makes a wrong answer
 * and never a fault. */

#include <stdbool.h>

#include "base/remark.h"

struct rti_frame {
    uintptr_t pc;
    uintptr_t sp;
    uintptr_t fp;   /* the frame pointer, which may be a register like any other */
    uintptr_t base; /* the register that takes its part in frames without constant size */
    uintptr_t link; /* the register of the return address; 0 where there is none, or not known */
    bool is_exact;  /* pc is the next instruction; else it is where a call or a switch comes back */
};

/* The most places that anybody asks for. */
#define RTI_BACKTRACE_MAX 24

/* Writes the place of the frame and of its callers, innermost first, and returns how many they are.
 * Nothing at or above `high` is read of the stack. 0 where there is no way to tell. */
size_t rti_port_backtrace(const struct rti_frame *frame, uintptr_t high, uintptr_t *places,
                          size_t places_max);

/* Copies memory that may not be there; false if it is not. */
bool rti_port_peek(void *to, const void *from, size_t size);

/* Adds the text of a place. */
void rti_port_remark_place(struct rti_remark *line, uintptr_t place);

#endif
