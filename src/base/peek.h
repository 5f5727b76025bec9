/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_PEEK_H
#define RTI_PEEK_H

/* Reading what belongs to others: the stacks of parked fibers, of which a tool wants to know what
 * they wait for.
 *
 * Where everything stands still, on the scheduler's thread of an engine with one worker, memory is
 * copied as it is. Anywhere else what is looked at may go away meanwhile: then a function of the
 * port copies, which fails where there is nothing instead of faulting, and whoever looks asks
 * afterwards whether it has stood still. */

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

/* Copies memory that may not be there; false if it is not. NULL: everything stands still. */
typedef bool (*rti_peek)(void *to, const void *from, size_t size);

/* Copies something that may be gone; false if it is, or was never there. */
bool rti_peek_copy(rti_peek peek, void *to, const void *from, size_t size);

#endif
