/* SPDX-License-Identifier: Apache-2.0 */

/* The port of a model: sleeping and waking, as steps of the simulated machine. What else a port
 * can do has no place in a model and is not there. A deadline may come at any moment, or never, as
 * often as the model allows; and a panic is a failed execution, not the end of the process. */

#include "port/port.h"

#include "base/assert.h"
#include "base/marks.h"
#include "port/explore/machine.h"
#include "port/explore/port.h"

static bool port_futex_wait(struct rti_port *port, rti_atomic_u32 *word, uint32_t expected,
                            uint64_t deadline_ns)
{
    (void)port;
    return explore_futex_wait(word, expected, deadline_ns != RTI_TIME_NEVER, "futex_wait");
}

static void port_futex_wake(struct rti_port *port, rti_atomic_u32 *word, uint32_t count)
{
    (void)port;
    explore_futex_wake(word, count, "futex_wake");
}

/* Its other half is a whole fence here (atomic_explored.h), and so is this one. */
static bool port_fence_all(struct rti_port *port)
{
    (void)port;
    explore_fence("fence_all");
    return true;
}

struct rti_port *explore_port(void)
{
    static const struct rti_port_ops ops = {.name = "explore",
                                            .futex_wait = port_futex_wait,
                                            .futex_wake = port_futex_wake,
                                            .fence_all = port_fence_all};
    static struct rti_port port = {.ops = &ops};
    return &port;
}

_Noreturn void rti_panic(const char *module, int id, const char *sentence)
{
    machine_fail(EXPLORE_ASSERTION, "panic: %s:%d: %s", module, id,
                 sentence != NULL ? sentence : "");
}

/* Marks and faults are for runs with real schedules; here they would only be more code to run. */
void rti_mark_hit(struct rti_mark *mark)
{
    (void)mark;
}

bool rti_buggify_fires(struct rti_buggify_site *site)
{
    (void)site;
    return false;
}
