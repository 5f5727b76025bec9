/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "recv_ring"
#include "machine/recv_ring.h"

#include <string.h>

#include "base/assert.h"

/* What lies before a datagram. */
struct header {
    uint32_t length;
    rt_net_address from;
};

#define HEADER_SIZE sizeof(struct header)

_Static_assert(HEADER_SIZE == RT_RECV_ENTRY_OVERHEAD, "no padding");

rt_status rt_recv_ring_init(rt_recv_ring *ring, void *memory, size_t capacity,
                            rt_recv_policy policy)
{
    if (ring == NULL || memory == NULL || capacity < 8 || capacity > UINT32_MAX ||
        (unsigned)policy > RT_RECV_OVERWRITE_OLDEST) {
        return (rt_status){RT_ERR_INVALID, "a ring has memory for 8 bytes or more and a policy"};
    }
    *ring = (rt_recv_ring){.memory = memory, .capacity = capacity, .policy = policy};
    return RT_SUCCESS;
}

void rti_recv_ring_audit(const rt_recv_ring *ring)
{
    RT_ASSERT(ring->memory != NULL && ring->head < ring->capacity);
    RT_ASSERT(ring->count <= ring->capacity);
}

static size_t ring_at(const rt_recv_ring *ring, size_t distance)
{
    size_t until_end = ring->capacity - ring->head;
    return distance < until_end ? ring->head + distance : distance - until_end;
}

/* Copies out from the oldest on, without taking. */
static void ring_copy_out(const rt_recv_ring *ring, size_t distance, void *to, size_t size)
{
    RT_ASSERT(size <= ring->count && distance <= ring->count - size);
    size_t from = ring_at(ring, distance);
    size_t first = ring->capacity - from < size ? ring->capacity - from : size;
    if (size > 0) {
        memcpy(to, ring->memory + from, first);
        memcpy((unsigned char *)to + first, ring->memory, size - first);
    }
}

static void ring_copy_in(rt_recv_ring *ring, const void *from, size_t size)
{
    RT_ASSERT(size <= ring->capacity - ring->count);
    size_t to = ring_at(ring, ring->count);
    size_t first = ring->capacity - to < size ? ring->capacity - to : size;
    if (size > 0) {
        memcpy(ring->memory + to, from, first);
        memcpy(ring->memory, (const unsigned char *)from + first, size - first);
    }
    ring->count += size;
}

static void ring_skip(rt_recv_ring *ring, size_t size)
{
    RT_ASSERT(size <= ring->count);
    ring->head = ring_at(ring, size);
    ring->count -= size;
    RT_AUDIT(rti_recv_ring_audit(ring));
}

/* Moves what is in the ring to its front if there is little room behind it and it is little itself:
 * a read that fills its room must be followed by another, which finds nothing most of the time. At
 * most a quarter of the ring is moved, and not again before three eighths of it have come in. */
static void ring_make_room(rt_recv_ring *ring)
{
    size_t free = ring->capacity - ring->count;
    if (ring->count == 0) {
        ring->head = 0;
    } else if (ring->capacity - ring->head >= ring->count &&
               ring->capacity - ring->head - ring->count < free / 2 &&
               ring->count <= ring->capacity / 4) {
        memmove(ring->memory, ring->memory + ring->head, ring->count);
        ring->head = 0;
    }
}

unsigned char *rti_recv_ring_space(rt_recv_ring *ring, size_t *size)
{
    /* All but a few times there is more room behind what it holds than that needs. */
    size_t end = ring->head + ring->count;
    if (RTI_LIKELY(ring->count != 0 && end < ring->capacity &&
                   ring->capacity - end >= (ring->capacity - ring->count) / 2)) {
        *size = ring->capacity - end;
        return ring->memory + end;
    }
    ring_make_room(ring);
    size_t free = ring->capacity - ring->count;
    size_t at = ring_at(ring, ring->count);
    size_t until_end = ring->capacity - at;
    *size = free < until_end ? free : until_end;
    return free == 0 ? NULL : ring->memory + at;
}

/* Throws the oldest bytes of a stream away until there is room. */
static void ring_overwrite(rt_recv_ring *ring, size_t size)
{
    size_t free = ring->capacity - ring->count;
    if (size > free) {
        ring->stats.overwritten_bytes += size - free;
        ring->stats.overwritten_entries++;
        ring_skip(ring, size - free);
    }
}

void rti_recv_ring_put(rt_recv_ring *ring, const unsigned char *bytes, size_t size)
{
    ring->stats.received_bytes += size;
    ring->stats.received_entries++;
    if (ring->policy == RT_RECV_OVERWRITE_OLDEST) {
        if (size > ring->capacity) {
            /* Only the last of it can stay: what comes before is old already. */
            ring->stats.overwritten_bytes += size - ring->capacity;
            bytes += size - ring->capacity;
            size = ring->capacity;
        }
        ring_overwrite(ring, size);
    }
    size_t free = ring->capacity - ring->count;
    size_t kept = size < free ? size : free;
    ring->stats.dropped_bytes += size - kept;
    ring->stats.dropped_entries += kept < size;
    ring_copy_in(ring, bytes, kept);
}

size_t rt_recv_ring_read(rt_recv_ring *ring, void *buffer, size_t size)
{
    size_t taken = size < ring->count ? size : ring->count;
    if (taken == 0) {
        return 0;
    }
    if (RTI_LIKELY(taken < ring->capacity - ring->head)) {
        /* In one piece, and short of the end. */
        memcpy(buffer, ring->memory + ring->head, taken);
        ring->head += taken;
        ring->count -= taken;
        RT_AUDIT(rti_recv_ring_audit(ring));
        return taken;
    }
    ring_copy_out(ring, 0, buffer, taken);
    ring_skip(ring, taken);
    return taken;
}

/* What is said of the oldest datagram. */
static struct header ring_peek(const rt_recv_ring *ring)
{
    struct header header;
    ring_copy_out(ring, 0, &header, HEADER_SIZE);
    RT_ASSERT(header.length <= ring->count - HEADER_SIZE);
    return header;
}

static void ring_overwrite_datagrams(rt_recv_ring *ring, size_t size)
{
    while (ring->capacity - ring->count < size) {
        size_t length = ring_peek(ring).length;
        ring->stats.overwritten_bytes += length;
        ring->stats.overwritten_entries++;
        ring_skip(ring, HEADER_SIZE + length);
    }
}

void rti_recv_ring_put_datagram(rt_recv_ring *ring, const unsigned char *bytes, size_t size,
                                const rt_net_address *from)
{
    const struct header header = {.length = (uint32_t)size, .from = *from};
    bool is_too_long = ring->capacity < HEADER_SIZE || size > ring->capacity - HEADER_SIZE;
    ring->stats.received_bytes += size;
    ring->stats.received_entries++;
    if (ring->policy == RT_RECV_OVERWRITE_OLDEST && !is_too_long) {
        ring_overwrite_datagrams(ring, HEADER_SIZE + size);
    }
    if (is_too_long || ring->capacity - ring->count < HEADER_SIZE + size) {
        ring->stats.dropped_bytes += size;
        ring->stats.dropped_entries++;
        return;
    }
    ring_copy_in(ring, &header, HEADER_SIZE);
    ring_copy_in(ring, bytes, size);
}

bool rt_recv_ring_next_from(rt_recv_ring *ring, void *buffer, size_t size, size_t *length,
                            rt_net_address *from)
{
    if (ring->count == 0) {
        return false;
    }
    const struct header header = ring_peek(ring);
    size_t whole = header.length;
    ring_copy_out(ring, HEADER_SIZE, buffer, whole < size ? whole : size);
    ring_skip(ring, HEADER_SIZE + whole);
    *length = whole;
    *from = header.from;
    return true;
}

bool rt_recv_ring_next(rt_recv_ring *ring, void *buffer, size_t size, size_t *length)
{
    rt_net_address from;
    return rt_recv_ring_next_from(ring, buffer, size, length, &from);
}
