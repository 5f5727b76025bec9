/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORTEX_M_SYS_WAIT_H
#define CORTEX_M_SYS_WAIT_H

/* Processes, for the cases of portable test files that want a second one: there is none here, and
 * the case is skipped. */

#include <unistd.h>

#include "support/test.h"

static inline int posix_fork(void)
{
    test_skip("there is one process here");
}

static inline int posix_waitpid(int pid, int *status, int options)
{
    (void)pid;
    (void)options;
    *status = 0;
    return 0;
}

#define fork                posix_fork
#define waitpid             posix_waitpid
#define WIFSIGNALED(status) ((status) < 0)
#define WTERMSIG(status)    (status)
#define WIFEXITED(status)   ((status) >= 0)
#define WEXITSTATUS(status) (status)

#endif
