/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "ram_disk"
#include "port/storage/ram_disk.h"

#include <string.h>

#include "base/assert.h"

#define ERASED 0xFF

/* Where the bytes lie; they lie in one block, or the caller is wrong. */
static uint8_t *disk_place(struct rti_ram_disk *disk, size_t block, size_t offset, size_t size)
{
    const struct rti_block_device *device = &disk->device;
    RT_ASSERT(block < device->block_count);
    RT_ASSERT(offset <= device->block_size && size <= device->block_size - offset);
    return disk->memory + block * device->block_size + offset;
}

static struct rti_ram_disk *disk_of(struct rti_block_device *device)
{
    return RTI_CONTAINER_OF(device, struct rti_ram_disk, device);
}

/* Does this call fail because a test wants it to? */
static bool disk_fails(struct rti_ram_disk *disk)
{
    if (disk->failing_after == UINT32_MAX) {
        return false;
    }
    disk->failing_after -= disk->failing_after > 0;
    return disk->failing_after == 0;
}

static bool disk_read(struct rti_block_device *device, size_t block, size_t offset, void *bytes,
                      size_t size)
{
    struct rti_ram_disk *disk = disk_of(device);
    const uint8_t *place = disk_place(disk, block, offset, size);
    if (disk_fails(disk)) {
        return false;
    }
    memcpy(bytes, place, size);
    return true;
}

static bool disk_program(struct rti_block_device *device, size_t block, size_t offset,
                         const void *bytes, size_t size)
{
    struct rti_ram_disk *disk = disk_of(device);
    uint8_t *place = disk_place(disk, block, offset, size);
    for (size_t i = 0; i < size; i++) {
        RT_ASSERT(place[i] == ERASED);
    }
    if (disk_fails(disk)) {
        return false;
    }
    memcpy(place, bytes, size);
    return true;
}

static bool disk_erase(struct rti_block_device *device, size_t block)
{
    struct rti_ram_disk *disk = disk_of(device);
    uint8_t *place = disk_place(disk, block, 0, device->block_size);
    if (disk_fails(disk)) {
        return false;
    }
    memset(place, ERASED, device->block_size);
    disk->erases++;
    return true;
}

static bool disk_sync(struct rti_block_device *device)
{
    return !disk_fails(disk_of(device));
}

void rti_ram_disk_init(struct rti_ram_disk *disk, void *memory, size_t block_size,
                       size_t block_count)
{
    RT_ASSERT(memory != NULL && block_size > 0 && block_count > 0);
    *disk = (struct rti_ram_disk){
        .device = {.block_size = block_size,
                   .block_count = block_count,
                   .read = disk_read,
                   .program = disk_program,
                   .erase = disk_erase,
                   .sync = disk_sync},
        .memory = memory,
        .failing_after = UINT32_MAX,
    };
    memset(memory, ERASED, block_size * block_count);
}
