/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "sim_medium"
#include "port/sim/sim_medium.h"

#include <string.h>

#include "base/assert.h"
#include "base/marks.h"

static uint32_t bucket_of(uint32_t file, uint64_t index)
{
    return (uint32_t)((file * 61 + index) % RTI_SIM_BUCKETS);
}

struct rti_sim_medium *rti_sim_medium_format(void *memory, size_t size)
{
    struct rti_sim_medium *medium = memory;
    if (size < sizeof(*medium) + sizeof(medium->sectors[0])) {
        return NULL;
    }
    size_t count = (size - sizeof(*medium)) / sizeof(medium->sectors[0]);
    memset(medium, 0, sizeof(*medium));
    medium->sectors_count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX - 1;
    for (size_t i = 0; i < RTI_SIM_BUCKETS; i++) {
        medium->buckets[i] = RTI_SIM_NO_SECTOR;
    }
    medium->free = RTI_SIM_NO_SECTOR;
    for (uint32_t i = medium->sectors_count; i > 0; i--) {
        struct rti_sim_sector *sector = &medium->sectors[i - 1];
        sector->is_used = false;
        sector->next = medium->free;
        medium->free = i - 1;
    }
    return medium;
}

/* ---- Sectors. ---- */

/* NULL: the file has none there. */
static struct rti_sim_sector *sector_find(const struct rti_sim_medium *medium, uint32_t file,
                                          uint64_t index)
{
    uint32_t at = medium->buckets[bucket_of(file, index)];
    while (at != RTI_SIM_NO_SECTOR) {
        const struct rti_sim_sector *sector = &medium->sectors[at];
        if (sector->file == file && sector->index == index) {
            return (struct rti_sim_sector *)(uintptr_t)sector;
        }
        at = sector->next;
    }
    return NULL;
}

/* Finds or makes one; NULL: the disk is full. */
static struct rti_sim_sector *sector_get(struct rti_sim_medium *medium, uint32_t file,
                                         uint64_t index)
{
    struct rti_sim_sector *sector = sector_find(medium, file, index);
    if (sector != NULL || medium->free == RTI_SIM_NO_SECTOR) {
        return sector;
    }
    uint32_t at = medium->free;
    uint32_t *bucket = &medium->buckets[bucket_of(file, index)];
    sector = &medium->sectors[at];
    medium->free = sector->next;
    *sector = (struct rti_sim_sector){.index = index, .file = file, .next = *bucket};
    sector->is_used = true;
    *bucket = at;
    return sector;
}

static void sector_free(struct rti_sim_medium *medium, struct rti_sim_sector *sector)
{
    uint32_t at = (uint32_t)(sector - medium->sectors);
    uint32_t *link = &medium->buckets[bucket_of(sector->file, sector->index)];
    while (*link != at) {
        RT_ASSERT(*link != RTI_SIM_NO_SECTOR);
        link = &medium->sectors[*link].next;
    }
    *link = sector->next;
    sector->is_used = false;
    sector->next = medium->free;
    medium->free = at;
}

/* ---- Files. ---- */

int rti_sim_medium_find(const struct rti_sim_medium *medium, const char *name)
{
    for (int i = 0; i < RTI_SIM_FILES; i++) {
        if (medium->files[i].is_used && strcmp(medium->files[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

int rti_sim_medium_create(struct rti_sim_medium *medium, const char *name)
{
    size_t length = strlen(name);
    RT_ASSERT(length < RTI_SIM_NAME_SIZE);
    for (int i = 0; i < RTI_SIM_FILES; i++) {
        struct rti_sim_file *file = &medium->files[i];
        if (!file->is_used) {
            *file = (struct rti_sim_file){.is_used = true};
            memcpy(file->name, name, length + 1);
            return i;
        }
    }
    return -1;
}

/* Forgets what lies wholly behind the end of a file, and what its last sector has there. */
static void file_trim(struct rti_sim_medium *medium, uint32_t file)
{
    uint64_t size = medium->files[file].size;
    for (uint32_t i = 0; i < medium->sectors_count; i++) {
        struct rti_sim_sector *sector = &medium->sectors[i];
        uint64_t begin = sector->index * RTI_SIM_SECTOR_SIZE;
        if (!sector->is_used || sector->file != file || begin + RTI_SIM_SECTOR_SIZE <= size) {
            continue;
        }
        if (begin >= size) {
            sector_free(medium, sector);
            continue;
        }
        size_t inside = (size_t)(size - begin);
        memset(sector->now + inside, 0, RTI_SIM_SECTOR_SIZE - inside);
        memset(sector->kept + inside, 0, RTI_SIM_SECTOR_SIZE - inside);
    }
}

void rti_sim_medium_truncate(struct rti_sim_medium *medium, int file)
{
    for (uint32_t i = 0; i < medium->sectors_count; i++) {
        struct rti_sim_sector *sector = &medium->sectors[i];
        if (!sector->is_used || sector->file != (uint32_t)file) {
            continue;
        }
        if (sector->is_kept) {
            memset(sector->now, 0, sizeof(sector->now));
            sector->is_dirty = true;
        } else {
            sector_free(medium, sector);
        }
    }
    medium->files[file].size = 0;
}

/* The part of a transfer that lies in the sector of `offset`. */
static size_t piece_of(uint64_t offset, size_t left)
{
    size_t room = RTI_SIM_SECTOR_SIZE - (size_t)(offset % RTI_SIM_SECTOR_SIZE);
    return left < room ? left : room;
}

size_t rti_sim_medium_read(const struct rti_sim_medium *medium, int file, uint64_t offset,
                           void *bytes, size_t length)
{
    uint64_t size = medium->files[file].size;
    unsigned char *to = bytes;
    uint64_t there = offset < size ? size - offset : 0;
    size_t total = length < there ? length : (size_t)there;
    for (size_t done = 0; done < total;) {
        uint64_t at = offset + done;
        size_t piece = piece_of(at, total - done);
        const struct rti_sim_sector *sector =
            sector_find(medium, (uint32_t)file, at / RTI_SIM_SECTOR_SIZE);
        if (sector == NULL) {
            memset(to + done, 0, piece);
        } else {
            memcpy(to + done, sector->now + at % RTI_SIM_SECTOR_SIZE, piece);
        }
        done += piece;
    }
    return total;
}

size_t rti_sim_medium_write(struct rti_sim_medium *medium, int file, uint64_t offset,
                            const void *bytes, size_t length)
{
    const unsigned char *from = bytes;
    size_t done = 0;
    while (done < length) {
        uint64_t at = offset + done;
        size_t piece = piece_of(at, length - done);
        struct rti_sim_sector *sector =
            sector_get(medium, (uint32_t)file, at / RTI_SIM_SECTOR_SIZE);
        if (sector == NULL) {
            break;
        }
        memcpy(sector->now + at % RTI_SIM_SECTOR_SIZE, from + done, piece);
        sector->is_dirty = true;
        done += piece;
    }
    uint64_t end = offset + done;
    if (done > 0 && end > medium->files[file].size) {
        medium->files[file].size = end;
    }
    return done;
}

static void sector_keep(struct rti_sim_sector *sector)
{
    memcpy(sector->kept, sector->now, sizeof(sector->kept));
    sector->is_dirty = false;
    sector->is_kept = true;
}

void rti_sim_medium_sync(struct rti_sim_medium *medium, int file)
{
    for (uint32_t i = 0; i < medium->sectors_count; i++) {
        struct rti_sim_sector *sector = &medium->sectors[i];
        if (sector->is_used && sector->file == (uint32_t)file && sector->is_dirty) {
            sector_keep(sector);
        }
    }
    medium->files[file].is_kept = true;
    medium->files[file].kept_size = medium->files[file].size;
    file_trim(medium, (uint32_t)file);
    RT_AUDIT(rti_sim_medium_audit(medium));
}

/* ---- Crashes. ---- */

/* What is left of a sector: its new content from the start on, the old one behind. */
static void sector_crash(struct rti_sim_sector *sector, struct rti_rng *rng)
{
    uint64_t fate = rti_rng_below(rng, 3);
    size_t written = fate == 0   ? 0
                     : fate == 1 ? RTI_SIM_SECTOR_SIZE
                                 : (size_t)rti_rng_below(rng, RTI_SIM_SECTOR_SIZE);
    RT_SOMETIMES(written > 0 && written < RTI_SIM_SECTOR_SIZE, "sim: a crash tears a sector");
    if (!sector->is_kept) {
        memset(sector->kept, 0, sizeof(sector->kept));
    }
    memcpy(sector->now + written, sector->kept + written, RTI_SIM_SECTOR_SIZE - written);
    sector_keep(sector);
}

/* The size that is left of a file. */
static uint64_t size_crash(const struct rti_sim_file *file, struct rti_rng *rng)
{
    if (file->size > file->kept_size) {
        return file->kept_size + rti_rng_below(rng, file->size - file->kept_size + 1);
    }
    return rti_rng_chance(rng, 1, 2) ? file->size : file->kept_size;
}

void rti_sim_medium_crash(struct rti_sim_medium *medium, struct rti_rng *rng)
{
    for (uint32_t i = 0; i < medium->sectors_count; i++) {
        struct rti_sim_sector *sector = &medium->sectors[i];
        if (sector->is_used && sector->is_dirty) {
            sector_crash(sector, rng);
        }
    }
    for (uint32_t i = 0; i < RTI_SIM_FILES; i++) {
        struct rti_sim_file *file = &medium->files[i];
        if (!file->is_used) {
            continue;
        }
        bool is_gone = !file->is_kept && rti_rng_chance(rng, 1, 2);
        file->size = is_gone ? 0 : size_crash(file, rng);
        file->kept_size = file->size;
        file->is_kept = true;
        file_trim(medium, i);
        file->is_used = !is_gone;
    }
    RT_AUDIT(rti_sim_medium_audit(medium));
}

void rti_sim_medium_audit(const struct rti_sim_medium *medium)
{
    uint32_t seen = 0;
    for (uint32_t at = medium->free; at != RTI_SIM_NO_SECTOR; at = medium->sectors[at].next) {
        RT_ASSERT(at < medium->sectors_count && !medium->sectors[at].is_used);
        seen++;
    }
    for (size_t i = 0; i < RTI_SIM_BUCKETS; i++) {
        for (uint32_t at = medium->buckets[i]; at != RTI_SIM_NO_SECTOR;
             at = medium->sectors[at].next) {
            const struct rti_sim_sector *sector = &medium->sectors[at];
            RT_ASSERT(at < medium->sectors_count && sector->is_used);
            RT_ASSERT(bucket_of(sector->file, sector->index) == i);
            RT_ASSERT(sector->is_dirty ||
                      memcmp(sector->now, sector->kept, RTI_SIM_SECTOR_SIZE) == 0);
            seen++;
        }
    }
    RT_ASSERT(seen == medium->sectors_count);
}
