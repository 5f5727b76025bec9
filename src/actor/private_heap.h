/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_PRIVATE_HEAP_H
#define RTI_PRIVATE_HEAP_H

/* A private heap: chunks of an arena that all heaps share, and in the last chunk a place to go on.
 *
 * The heap's own record lies at the start of its first chunk, so an actor without a heap pays
 * nothing and one with a heap needs no second allocation. Chunks are numbered; a mark is a chunk's
 * number and how much of it was used.
 *
 * I1  The chunks are numbered 0, 1, 2 ... in the order of their list.      (rti_heap_audit)
 * I2  `used` is the sum over the chunks, the record not counted.           (rti_heap_audit)
 *
 * Who writes: the actor that owns it; the arena under the module's lock. Costs: an allocation that
 * fits is an addition and a comparison, behind the search for the heap in the actor's list. */

#include <orrery/rt/heap.h>
#include <orrery/rt_static_config.h>

#include "actor/actors.h"
#include "actor/attachment.h"
#include "base/arena.h"
#include "sched/lock.h"

/* The smallest chunk, header included. */
#define RTI_HEAP_CHUNK_SIZE 1024

struct rti_heap_chunk {
    struct rti_link link;
    uint32_t number;
    uint32_t used; /* bytes behind the header, in use */
    uint32_t size; /* bytes behind the header */
    uint32_t base; /* of `used`, what is not the program's: the heap's record */
    _Alignas(16) unsigned char bytes[];
};

struct rti_heaps;

struct rti_heap {
    struct rti_attachment attachment;
    struct rti_heaps *module;
    struct rti_list chunks;
    size_t used;
    size_t used_max;
    size_t reserved;
    size_t limit;
};

struct rti_heaps {
    struct rti_actors *actors;
    struct rti_lock lock;
    struct rti_arena arena;
    _Alignas(RTI_ARENA_GRANULE) unsigned char memory[RTI_ARENA_BYTES(RT_HEAP_MEMORY_SIZE)];
};

void rti_heaps_init(struct rti_heaps *module, struct rti_actors *actors);
/* No actor lives. */
void rti_heaps_deinit(struct rti_heaps *module);
void rti_heap_audit(const struct rti_heap *heap);

#endif
