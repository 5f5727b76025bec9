/* SPDX-License-Identifier: Apache-2.0 */

/* A panic of the code under test is a failed execution, not the end of the process. */

#include "base/assert.h"
#include "port/explore/machine.h"

_Noreturn void rti_panic(const char *module, int id, const char *sentence)
{
    machine_fail(EXPLORE_ASSERTION, "panic: %s:%d: %s", module, id,
                 sentence != NULL ? sentence : "");
}
