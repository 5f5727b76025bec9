/* SPDX-License-Identifier: Apache-2.0 */
/* A channel between machines is a standing op and a queue of one sender and one receiver. The entry
 * is in the queue before the bell rings, and the bell is heard before the queue is looked at. */
#define RTI_MODULE "channel_op"
#include <orrery/rt/machine_op.h>

#include "base/assert.h"

bool rt_channel_op_push(rt_machine *machine, rt_channel_op *op, const void *entry)
{
    RT_ASSERT(op->base.code == RT_OP_CHANNEL && op->queue != NULL);
    if (!rt_spsc_push(op->queue, entry)) {
        return false;
    }
    rt_op_ring(machine, &op->base);
    return true;
}
