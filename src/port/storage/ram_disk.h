/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_RAM_DISK_H
#define RTI_RAM_DISK_H

/* A block device in memory, for tests and for what need not survive. It is as strict as flash:
 * erased bytes are 0xFF, and programming others is a bug that it does not forgive. */

#include "port/storage/block_device.h"

struct rti_ram_disk {
    struct rti_block_device device;
    uint8_t *memory; /* lent by who made it */
    uint32_t erases;
    uint32_t failing_after; /* calls until it fails, for tests; UINT32_MAX: never */
};

/* Makes a disk of erased blocks of `memory`, whose size is block_size * block_count. */
void rti_ram_disk_init(struct rti_ram_disk *disk, void *memory, size_t block_size,
                       size_t block_count);

#endif
