/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_TEXT_H
#define RTI_TEXT_H

/* The library's own code, as addresses: is this one inside the runtime?
 *
 * The table is made by base/compiler.h, one row per source file and kind of section, in numbers
 * relative to their own place: no relocation, no start-up code, the same in the static library and
 * in the shared one. Link-time optimization merges the files of program and library; the rows are
 * then too wide or empty, and rti_text_is_known says no if they are empty.
 *
 * Costs: nothing until somebody asks; then a walk over two rows per file. Safe in a signal handler.
 */

#include <stdbool.h>

#include "base/compiler.h"

/* Does this address lie in the library's code? */
bool rti_text_holds(uintptr_t address);

/* No address of the library's code is below *low or at or above *high. */
void rti_text_bounds(uintptr_t *low, uintptr_t *high);

/* Is there a table, and does it hold what it must? */
bool rti_text_is_known(void);

#endif
