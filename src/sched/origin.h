/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_ORIGIN_H
#define RTI_ORIGIN_H

/* Where something that runs comes from: the code that started it, the code that started that, and
 * so on for a few generations, and who its starter was.
 *
 * A spawn is known by an address in the program, right behind the call that started, and, if it
 * starts a task, by the line of the source. Tools turn the address into a function and a line;
 * nothing else looks at it, and it never enters a journal. The chain can be told after the
 * ancestors have ended.
 *
 * A program has few places where something is started, and a million that were started there have
 * the same chain. So a chain is kept once, in a table of the scheduler, and who runs has its
 * number: the place in the table of its own spawn, which knows the number of the chain before it.
 * A chain that is as long as is remembered goes on without its oldest spawn (`as_parent`), and so a
 * task that starts its like for ever needs as many entries as the chain is long.
 *
 * The table is a hash of fixed size. An entry is made once and never changed, so it is read without
 * a lock. When it is nearly full a spawn that is not in it is noted without its ancestors, and when
 * it is full not at all: number 0. Two who make the same entry in the same moment may make it
 * twice; both say the same.
 *
 * I1  An entry that is ready is never written again.                          (origin_make)
 * I2  No chain is longer than RTI_ORIGIN_SITES.                               (rti_origins_audit)
 *
 * Costs: one look at the worker's last spawn, or into the table, when something is started. On a
 * small machine nothing is shared, and the one address that is kept lies with who was started. */

#include <stddef.h>

#include "base/atomic.h"

/* Generations that are remembered, the own one included. */
#if RTI_ONE_WORKER
#define RTI_ORIGIN_SITES 1
#else
#define RTI_ORIGIN_SITES 4
#endif

#if RTI_ONE_WORKER

struct rti_origin {
    const void *sites[RTI_ORIGIN_SITES];
    uint32_t parent; /* the starter's id in traces; 0: none, from outside */
};

#define RTI_ORIGIN_NOWHERE NULL

#else

struct rti_origin {
    uint32_t number; /* of its chain; 0: not known */
    uint32_t parent; /* the starter's id in traces; 0: none, from outside */
};

#define RTI_ORIGINS_BITS (RTI_EXPLORED ? 3 : 10) /* models have few spawns, and many schedulers */
#define RTI_ORIGINS_MAX  (1u << RTI_ORIGINS_BITS)

/* A spawn, and those before it. */
struct rti_origin_entry {
    rti_atomic_ptr address; /* behind the call; RTI_ORIGIN_NOWHERE if it is not known. Written last:
                             * NULL: it is not made yet, or just being made */
    const void *line;       /* of the source, a rt_site; NULL: not known */
    uint32_t before;        /* the number of the chain before it; 0: there is none */
    uint32_t as_parent;     /* what those have there that it starts */
    rti_atomic_u32 is_taken; /* bool: somebody makes or has made it */
    uint32_t length;
};

#define RTI_ORIGIN_NOWHERE ((const void *)1)

/* The last spawn of a worker, which the next one often repeats; all 0: there was none. */
struct rti_origin_last {
    const void *address;
    const void *line;
    uint32_t chain; /* of the starter */
    uint32_t number;
};

struct rti_origins {
    rti_atomic_u32 count;
    struct rti_origin_entry entries[RTI_ORIGINS_MAX]; /* the first stands for no chain */
};

/* An empty table, in memory that is 0. */
void rti_origins_init(struct rti_origins *origins);

/* rti_origins_number for a spawn that is not where it is looked for first. */
uint32_t rti_origins_number_any(struct rti_origins *origins, uint32_t before, const void *address,
                                const void *line);

/* Where a spawn is looked for first. */
static RTI_ALWAYSINLINE uint32_t rti_origins_place(uint32_t before, const void *address)
{
    uint32_t key =
        (uint32_t)(uintptr_t)address * UINT32_C(0x9e3779b1) + (before << (32 - RTI_ORIGINS_BITS));
    return key >> (32 - RTI_ORIGINS_BITS);
}

/* Is this the entry, and made? Acquire pairs with the release of who made it. */
static RTI_ALWAYSINLINE bool rti_origin_is(const struct rti_origin_entry *entry, uint32_t before,
                                           const void *address, const void *line)
{
    if (RTI_UNLIKELY(rti_ptr_load_acquire(&entry->address) != address)) {
        return false;
    }
    RTI_PLAIN_READ(&entry->line, sizeof(entry->line));
    RTI_PLAIN_READ(&entry->before, sizeof(entry->before));
    return RTI_LIKELY(entry->line == line) && RTI_LIKELY(entry->before == before);
}

/* The number of the chain of a spawn at `address`, or RTI_ORIGIN_NOWHERE, by who has the chain
 * `parent`; 0: there is no room for it. */
static RTI_ALWAYSINLINE uint32_t rti_origins_number(struct rti_origins *origins, uint32_t parent,
                                                    const void *address, const void *line)
{
    uint32_t before = origins->entries[parent].as_parent;
    uint32_t place = rti_origins_place(before, address);
    if (RTI_LIKELY(rti_origin_is(&origins->entries[place], before, address, line))) {
        return place;
    }
    return rti_origins_number_any(origins, before, address, line);
}

/* What a chain says, youngest first; NULL ends it. `lines` may be NULL. Any thread, signal handler;
 * of a number that is none it says nothing. */
void rti_origins_tell(const struct rti_origins *origins, uint32_t number,
                      const void *addresses[RTI_ORIGIN_SITES], const void *lines[RTI_ORIGIN_SITES]);

void rti_origins_audit(const struct rti_origins *origins);

#endif

/* The address behind the call of the function that says this; not to be used in one that may be
 * inlined into another function of the library. */
#define RTI_CALL_SITE() __builtin_return_address(0)

#endif
