/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "cell_pile"
#include "actor/cell_pile.h"

#include <string.h>

#if RTI_ASAN
#include <sanitizer/asan_interface.h>
#define CELL_HIDE(address, size) __asan_poison_memory_region(address, size)
#define CELL_SHOW(address, size) __asan_unpoison_memory_region(address, size)
#else
#define CELL_HIDE(address, size) ((void)(address), (void)(size))
#define CELL_SHOW(address, size) ((void)(address), (void)(size))
#endif

static size_t kind_payload(enum rti_cell_kind kind)
{
    return (kind == RTI_CELL_SMALL ? RTI_CELL_SMALL_SIZE : RTI_CELL_LARGE_SIZE) -
           sizeof(struct rti_cell);
}

void rti_cell_mark_free(struct rti_cell *cell, enum rti_cell_kind kind)
{
#if RT_CHECKS
    memset(cell->data, RTI_POOL_POISON, kind_payload(kind));
#endif
    CELL_HIDE(cell->data, kind_payload(kind));
}

void rti_cell_mark_used(struct rti_cell *cell, enum rti_cell_kind kind)
{
    CELL_SHOW(cell->data, kind_payload(kind));
    /* A payload that is compared with itself, one byte on, is uniform. */
    RT_DCHECK(cell->data[0] == RTI_POOL_POISON);
    RT_DCHECK(memcmp(cell->data, cell->data + 1, kind_payload(kind) - 1) == 0);
}

void rti_cell_pile_clear(struct rti_cell_pile *pile, struct rti_pool *pool, enum rti_cell_kind kind)
{
    while (pile->count > 0) {
        struct rti_cell *cell = rti_cell_pile_pop(pile, kind);
        RT_ASSERT(cell->len == RTI_CELL_FREE);
        rti_pool_free(pool, cell);
    }
    RT_ASSERT(pile->first == NULL);
}

size_t rti_cell_pile_audit(const struct rti_cell_pile *pile, size_t max)
{
    uint32_t count = 0;
    for (const struct rti_cell *at = pile->first; at != NULL; at = at->next_free) {
        RT_ASSERT(at->len == RTI_CELL_FREE && ++count <= pile->count);
    }
    RT_ASSERT(count == pile->count && count <= max);
    return count;
}
