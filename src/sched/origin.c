/* SPDX-License-Identifier: Apache-2.0 */
/* The table of chains; the essay is in origin.h. */
#define RTI_MODULE "origin"
#include "sched/origin.h"

#if !RTI_ONE_WORKER

#include "base/assert.h"

/* From here on only spawns without ancestors come in: there are no more of them than there are
 * calls in the program. */
#define ORIGINS_CROWDED (RTI_ORIGINS_MAX / 4 * 3)

/* How far from its first place an entry may lie. */
#define ORIGINS_PROBES (RTI_ORIGINS_MAX < 32 ? RTI_ORIGINS_MAX : 32)

void rti_origins_init(struct rti_origins *origins)
{
    rti_u32_init(&origins->count, 1);
    rti_u32_init(&origins->entries[0].is_taken, true);
}

/* The number of a spawn behind this chain, made if it is not there; 0: there is no room. */
static uint32_t origin_find(struct rti_origins *origins, uint32_t before, const void *address,
                            const void *line);

/* The chain without its oldest spawn; `address` is that of its youngest. */
static uint32_t origin_shorten(struct rti_origins *origins, uint32_t number, const void *address)
{
    const struct rti_origin_entry *entry = &origins->entries[number];
    if (entry->before == 0) {
        return 0;
    }
    const void *before = rti_ptr_load_relaxed(&origins->entries[entry->before].address);
    return origin_find(origins, origin_shorten(origins, entry->before, before), address,
                       entry->line);
}

/* Fills an entry that is the caller's. */
static void origin_make(struct rti_origins *origins, uint32_t number, uint32_t before,
                        const void *address, const void *line)
{
    struct rti_origin_entry *entry = &origins->entries[number];
    RTI_PLAIN_WRITE(&entry->line, sizeof(entry->line));
    RTI_PLAIN_WRITE(&entry->before, sizeof(entry->before));
    entry->line = line;
    entry->before = before;
    entry->length = origins->entries[before].length + 1;
    RT_ASSERT(entry->length <= RTI_ORIGIN_SITES);
    /* Whom it starts keeps one spawn less of it, if it is as long as can be. No longer chain is
     * made meanwhile than this one. */
    entry->as_parent =
        entry->length < RTI_ORIGIN_SITES ? number : origin_shorten(origins, number, address);
    /* Release pairs with rti_origin_is and rti_origins_tell. */
    rti_ptr_store_release(&entry->address, (void *)(uintptr_t)address);
}

static uint32_t origin_find(struct rti_origins *origins, uint32_t before, const void *address,
                            const void *line)
{
    uint32_t place = rti_origins_place(before, address);
    for (uint32_t i = 0; i < ORIGINS_PROBES; i++) {
        uint32_t number = (place + i) % RTI_ORIGINS_MAX;
        struct rti_origin_entry *entry = &origins->entries[number];
        if (rti_origin_is(entry, before, address, line)) {
            return number;
        }
        uint32_t is_taken = false;
        if (rti_u32_load_relaxed(&entry->is_taken) != 0 ||
            (before != 0 && rti_u32_load_relaxed(&origins->count) >= ORIGINS_CROWDED)) {
            continue;
        }
        /* Relaxed: the entry is handed to nobody by this. */
        if (rti_u32_cas_relaxed(&entry->is_taken, &is_taken, true)) {
            (void)rti_u32_add_relaxed(&origins->count, 1);
            origin_make(origins, number, before, address, line);
            return number;
        }
    }
    return 0;
}

uint32_t rti_origins_number_any(struct rti_origins *origins, uint32_t before, const void *address,
                                const void *line)
{
    uint32_t number = origin_find(origins, before, address, line);
    return number != 0 || before == 0 ? number : origin_find(origins, 0, address, line);
}

void rti_origins_tell(const struct rti_origins *origins, uint32_t number,
                      const void *addresses[RTI_ORIGIN_SITES], const void *lines[RTI_ORIGIN_SITES])
{
    for (size_t i = 0; i < RTI_ORIGIN_SITES; i++) {
        const struct rti_origin_entry *entry =
            number == 0 || number >= RTI_ORIGINS_MAX ? NULL : &origins->entries[number];
        /* Acquire pairs with the release in origin_make. */
        const void *address = entry == NULL ? NULL : rti_ptr_load_acquire(&entry->address);
        bool is_one = address != NULL;
        addresses[i] = address == RTI_ORIGIN_NOWHERE ? NULL : address;
        if (is_one) {
            RTI_PLAIN_READ(&entry->line, sizeof(entry->line));
            RTI_PLAIN_READ(&entry->before, sizeof(entry->before));
        }
        if (lines != NULL) {
            lines[i] = is_one ? entry->line : NULL;
        }
        number = is_one ? entry->before : 0;
    }
}

void rti_origins_audit(const struct rti_origins *origins)
{
    RT_ASSERT(origins->entries[0].as_parent == 0 && origins->entries[0].length == 0);
    for (uint32_t i = 1; i < RTI_ORIGINS_MAX; i++) {
        const struct rti_origin_entry *entry = &origins->entries[i];
        if (rti_ptr_load_acquire(&entry->address) == NULL) {
            continue;
        }
        RT_ASSERT(entry->length == origins->entries[entry->before].length + 1);
        RT_ASSERT(origins->entries[entry->as_parent].length < RTI_ORIGIN_SITES);
    }
}

#endif
