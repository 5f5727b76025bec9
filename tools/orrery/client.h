/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_TOOL_CLIENT_H
#define ORRERY_TOOL_CLIENT_H

/* The socket of a running program: one line asks, the answer is all that comes until its end. */

#include "orrery.h"

/* Asks the program; the answer, with a zero behind it, is the caller's to free. `span_ms` is how
 * long the program is asked to take before it answers. NULL after a complaint: there is no such
 * program, it does not let itself be looked at, or it says nothing for long, because it is stopped.
 */
char *client_ask(uint64_t pid, const char *request, uint64_t span_ms, size_t *size);

#endif
