/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "parker"
#include "sched/parker.h"

#include "base/assert.h"

void rti_parker_init(struct rti_parker *parker)
{
    rti_u32_init(&parker->state, RTI_PARKER_EMPTY);
}

bool rti_parker_park(struct rti_parker *parker, struct rti_port *port, uint64_t deadline_ns)
{
    uint32_t expected = RTI_PARKER_EMPTY;
    /* Announce sleep only if there is no token; the failed exchange acquires what unpark released.
     */
    if (!rti_u32_cas_acqrel(&parker->state, &expected, RTI_PARKER_PARKED)) {
        RT_ASSERT(expected == RTI_PARKER_NOTIFIED);
        rti_u32_exchange_acqrel(&parker->state, RTI_PARKER_EMPTY);
        return true;
    }
    bool is_in_time = true;
    /* Acquire pairs with the release in unpark. */
    while (is_in_time && rti_u32_load_acquire(&parker->state) == RTI_PARKER_PARKED) {
        is_in_time = port->ops->futex_wait(port, &parker->state, RTI_PARKER_PARKED, deadline_ns);
    }
    /* Take the token if it came, also when it came together with the deadline. */
    return rti_u32_exchange_acqrel(&parker->state, RTI_PARKER_EMPTY) == RTI_PARKER_NOTIFIED;
}

void rti_parker_unpark(struct rti_parker *parker, struct rti_port *port)
{
    /* Release pairs with the acquire in park. */
    if (rti_u32_exchange_acqrel(&parker->state, RTI_PARKER_NOTIFIED) == RTI_PARKER_PARKED) {
        port->ops->futex_wake(port, &parker->state, 1);
    }
}
