/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FLAT_FILES_H
#define FLAT_FILES_H

/* The least that can be called a file system, for tests of storage: block 0 is the directory, and
 * each file has a fixed stretch of blocks. A block that changes is erased and programmed anew. */

#include "port/storage/block_device.h"
#include "port/storage/storage.h"

#define FLAT_FILES_MAX  3
#define FLAT_NAME_MAX   15
#define FLAT_BLOCK_SIZE 256 /* of the device */

struct flat_entry {
    char name[FLAT_NAME_MAX + 1]; /* "": free */
    uint32_t size;
};

struct flat_files {
    struct rti_file_system system;
    struct rti_block_device *device;
    struct flat_entry entries[FLAT_FILES_MAX]; /* as in block 0 */
};

/* Makes an empty file system on a device whose blocks are FLAT_BLOCK_SIZE long. */
bool flat_files_format(struct flat_files *flat, struct rti_block_device *device);

/* Reads what is there. */
bool flat_files_mount(struct flat_files *flat, struct rti_block_device *device);

#endif
