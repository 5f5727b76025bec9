/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_BLOCK_DEVICE_H
#define RTI_BLOCK_DEVICE_H

/* A block device: what a file system of a small target is built on. The functions are those that
 * flash memory has, so that littlefs takes them as they are and FatFs after a layer that rewrites
 * whole blocks: bytes are programmed once after their block was erased, and read at any time.
 *
 * Calls may block, and come from one task, the file system's. Each gives false if the device has
 * failed; what was to be changed is undefined then. */

#include <stdbool.h>

#include "base/compiler.h"

struct rti_block_device {
    size_t block_size;
    size_t block_count;
    /* Inside one block. */
    bool (*read)(struct rti_block_device *device, size_t block, size_t offset, void *bytes,
                 size_t size);
    /* Inside one block, of bytes that nobody has programmed since it was erased. */
    bool (*program)(struct rti_block_device *device, size_t block, size_t offset, const void *bytes,
                    size_t size);
    bool (*erase)(struct rti_block_device *device, size_t block);
    /* What was programmed survives a loss of power from here on. */
    bool (*sync)(struct rti_block_device *device);
};

#endif
