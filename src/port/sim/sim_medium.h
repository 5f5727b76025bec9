/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_SIM_MEDIUM_H
#define RTI_SIM_MEDIUM_H

/* What a simulated disk holds: files with a name and sectors, all in one piece of memory that
 * outlives the run if its owner wants that. Names are whole paths; there are no folders.
 *
 * Each sector has its content twice: what a read sees now, and what is kept if the machine crashes.
 * A sync makes the second equal to the first. A crash goes the other way, sector by sector and as
 * the seed says: the new content was written, or it was not, or the first part of it was. The size
 * of a file that had grown ends up anywhere between; a file that was never synced may be gone.
 *
 * Nothing here holds a pointer: the memory may be moved between two runs.
 *
 * I1  A sector is in the chain of its bucket, or in the free chain.   (rti_sim_medium_audit)
 * I2  A sector that is not dirty is kept as it is.                     (rti_sim_medium_audit)
 *
 * Costs: a sector is found in a chain of its bucket; sync, truncate and crash walk all sectors. */

#include <stdbool.h>
#include <stddef.h>

#include "base/rng.h"

#define RTI_SIM_SECTOR_SIZE 512
#define RTI_SIM_NAME_SIZE   120
#define RTI_SIM_FILES       32
#define RTI_SIM_BUCKETS     256

/* Who has no sector. */
#define RTI_SIM_NO_SECTOR UINT32_MAX

struct rti_sim_file {
    bool is_used;
    bool is_kept; /* its name outlives a crash */
    char name[RTI_SIM_NAME_SIZE];
    uint64_t size;
    uint64_t kept_size;
};

struct rti_sim_sector {
    uint64_t index; /* in its file */
    uint32_t file;
    uint32_t next; /* in its chain */
    bool is_used;
    bool is_dirty;
    bool is_kept; /* `kept` is what was there; else nothing was, which reads as zeros */
    unsigned char now[RTI_SIM_SECTOR_SIZE];
    unsigned char kept[RTI_SIM_SECTOR_SIZE];
};

struct rti_sim_medium {
    uint32_t sectors_count;
    uint32_t free;
    uint32_t buckets[RTI_SIM_BUCKETS];
    struct rti_sim_file files[RTI_SIM_FILES];
    struct rti_sim_sector sectors[];
};

/* Makes an empty medium of aligned memory; NULL if it is too small for one sector. */
struct rti_sim_medium *rti_sim_medium_format(void *memory, size_t size);

/* The file of this name, -1 if there is none. */
int rti_sim_medium_find(const struct rti_sim_medium *medium, const char *name);

/* Makes an empty file; -1 if there is no room for one more. The name fits, and is not in use. */
int rti_sim_medium_create(struct rti_sim_medium *medium, const char *name);

/* Makes a file empty. */
void rti_sim_medium_truncate(struct rti_sim_medium *medium, int file);

/* Copies what there is from `offset` on; gives the number of bytes. */
size_t rti_sim_medium_read(const struct rti_sim_medium *medium, int file, uint64_t offset,
                           void *bytes, size_t length);

/* Writes as much as there is room for; gives the number of bytes. */
size_t rti_sim_medium_write(struct rti_sim_medium *medium, int file, uint64_t offset,
                            const void *bytes, size_t length);

/* From here on a crash leaves the file as it is now. */
void rti_sim_medium_sync(struct rti_sim_medium *medium, int file);

/* The machine crashes. */
void rti_sim_medium_crash(struct rti_sim_medium *medium, struct rti_rng *rng);

/* Checks I1 and I2. */
void rti_sim_medium_audit(const struct rti_sim_medium *medium);

#endif
