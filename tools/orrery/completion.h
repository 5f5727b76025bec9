/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_TOOL_COMPLETION_H
#define ORRERY_TOOL_COMPLETION_H

/* The completions of a shell as a script to source; NULL for a shell it does not know. */
const char *completion_for(const char *shell);

#endif
