/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_RECV_RING_H
#define RTI_RECV_RING_H

/* The ring of a standing receive, filled and emptied on one thread. A stream's bytes lie in it as
 * they are; a datagram has its length and its sender before it.
 *
 * I1  head < capacity and count <= capacity.                                (rti_recv_ring_audit)
 * I2  received = still there + taken out + dropped + overwritten, in bytes. (recv_ring tests)
 * I3  In a ring of datagrams the entries fill `count` exactly.              (RT_ASSERT on the way)
 */

#include <orrery/rt/machine_op.h>

#include "base/assert.h"

/* The free bytes behind the newest, as far as they lie in one piece; NULL and 0 if it is full. */
unsigned char *rti_recv_ring_space(rt_recv_ring *ring, size_t *size);

/* Says that `size` bytes were written there. */
static inline void rti_recv_ring_commit(rt_recv_ring *ring, size_t size)
{
    RT_ASSERT(size <= ring->capacity - ring->count);
    ring->count += size;
    ring->stats.received_bytes += size;
    ring->stats.received_entries++;
}

/* Adds bytes of a stream as the policy says. */
void rti_recv_ring_put(rt_recv_ring *ring, const unsigned char *bytes, size_t size);

/* Adds a datagram as the policy says. */
void rti_recv_ring_put_datagram(rt_recv_ring *ring, const unsigned char *bytes, size_t size,
                                const rt_net_address *from);

void rti_recv_ring_audit(const rt_recv_ring *ring);

#endif
