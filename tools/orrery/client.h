/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_TOOL_CLIENT_H
#define ORRERY_TOOL_CLIENT_H

/* The socket of a running program: one line asks, the answer is all that comes until its end. */

#include "orrery.h"

/* Asks the program; the answer, with a zero behind it, is the caller's to free. NULL after a
 * complaint: there is no such program, or it does not let itself be looked at. */
char *client_ask(uint64_t pid, const char *request, size_t *size);

#endif
