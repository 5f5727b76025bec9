/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_SEMIHOST_H
#define RTI_SEMIHOST_H

/* Semihosting: a breakpoint instruction that the emulator or debugger takes for a call. Without
 * either the instruction is a fault, so nothing of this belongs into a product. */

#include "base/compiler.h"

/* Copies the words of the command line after the program's name; the length, 0 if there are none
 * or no room. */
size_t rti_semihost_arguments(char *text, size_t room);

#endif
