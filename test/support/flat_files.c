/* SPDX-License-Identifier: Apache-2.0 */
#include "support/flat_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static struct flat_files *flat_of(struct rti_file_system *system)
{
    return RTI_CONTAINER_OF(system, struct flat_files, system);
}

static bool directory_write(struct flat_files *flat)
{
    struct rti_block_device *device = flat->device;
    return device->erase(device, 0) &&
           device->program(device, 0, 0, flat->entries, sizeof(flat->entries));
}

/* The block of a file's byte. */
static size_t file_block(const struct flat_files *flat, const struct flat_entry *entry,
                         uint64_t offset)
{
    size_t each = (flat->device->block_count - 1) / FLAT_FILES_MAX;
    return 1 + (size_t)(entry - flat->entries) * each + (size_t)(offset / FLAT_BLOCK_SIZE);
}

static uint64_t file_size_max(const struct flat_files *flat)
{
    return (uint64_t)((flat->device->block_count - 1) / FLAT_FILES_MAX) * FLAT_BLOCK_SIZE;
}

static struct flat_entry *entry_find(struct flat_files *flat, const char *name)
{
    for (size_t i = 0; i < FLAT_FILES_MAX; i++) {
        if (strcmp(flat->entries[i].name, name) == 0) {
            return &flat->entries[i];
        }
    }
    return NULL;
}

static int flat_open(struct rti_file_system *system, const char *path, int flags, void **handle)
{
    struct flat_files *flat = flat_of(system);
    size_t length = strlen(path);
    if (length == 0 || length > FLAT_NAME_MAX) {
        return -EINVAL;
    }
    struct flat_entry *entry = entry_find(flat, path);
    if (entry != NULL && (flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) {
        return -EEXIST;
    }
    bool is_new = entry == NULL;
    if (is_new) {
        entry = (flags & O_CREAT) != 0 ? entry_find(flat, "") : NULL;
        if (entry == NULL) {
            return (flags & O_CREAT) != 0 ? -ENOSPC : -ENOENT;
        }
        memcpy(entry->name, path, length + 1);
    }
    if (is_new || (flags & O_TRUNC) != 0) {
        entry->size = 0;
        if (!directory_write(flat)) {
            return -EIO;
        }
    }
    *handle = entry;
    return 0;
}

static int flat_sync(struct rti_file_system *system, void *handle)
{
    struct rti_block_device *device = flat_of(system)->device;
    (void)handle;
    return device->sync(device) ? 0 : -EIO;
}

static int64_t flat_size(struct rti_file_system *system, void *handle)
{
    const struct flat_entry *entry = handle;
    (void)system;
    return entry->size;
}

static int64_t flat_read(struct rti_file_system *system, void *handle, uint64_t offset, void *bytes,
                         size_t size)
{
    struct flat_files *flat = flat_of(system);
    const struct flat_entry *entry = handle;
    size_t done = 0;
    while (done < size && offset + done < entry->size) {
        size_t at = (size_t)((offset + done) % FLAT_BLOCK_SIZE);
        size_t count = FLAT_BLOCK_SIZE - at;
        count = count < size - done ? count : size - done;
        count =
            count < entry->size - (offset + done) ? count : (size_t)(entry->size - (offset + done));
        if (!flat->device->read(flat->device, file_block(flat, entry, offset + done), at,
                                (char *)bytes + done, count)) {
            return -EIO;
        }
        done += count;
    }
    return (int64_t)done;
}

/* Changes bytes of one block. */
static bool block_change(struct flat_files *flat, size_t block, size_t at, const char *bytes,
                         size_t count)
{
    static char whole[FLAT_BLOCK_SIZE];
    struct rti_block_device *device = flat->device;
    if (!device->read(device, block, 0, whole, FLAT_BLOCK_SIZE)) {
        return false;
    }
    memcpy(whole + at, bytes, count);
    return device->erase(device, block) &&
           device->program(device, block, 0, whole, FLAT_BLOCK_SIZE);
}

static int64_t flat_write(struct rti_file_system *system, void *handle, uint64_t offset,
                          const void *bytes, size_t size)
{
    struct flat_files *flat = flat_of(system);
    struct flat_entry *entry = handle;
    size_t done = 0;
    if (offset >= file_size_max(flat)) {
        return -ENOSPC;
    }
    while (done < size && offset + done < file_size_max(flat)) {
        size_t at = (size_t)((offset + done) % FLAT_BLOCK_SIZE);
        size_t count = FLAT_BLOCK_SIZE - at < size - done ? FLAT_BLOCK_SIZE - at : size - done;
        if (!block_change(flat, file_block(flat, entry, offset + done), at,
                          (const char *)bytes + done, count)) {
            return -EIO;
        }
        done += count;
    }
    if (offset + done > entry->size) {
        entry->size = (uint32_t)(offset + done);
        if (!directory_write(flat)) {
            return -EIO;
        }
    }
    return (int64_t)done;
}

bool flat_files_mount(struct flat_files *flat, struct rti_block_device *device)
{
    flat->device = device;
    flat->system = (struct rti_file_system){.open = flat_open,
                                            .close = flat_sync,
                                            .read = flat_read,
                                            .write = flat_write,
                                            .size = flat_size,
                                            .sync = flat_sync};
    return device->block_size == FLAT_BLOCK_SIZE &&
           device->read(device, 0, 0, flat->entries, sizeof(flat->entries));
}

bool flat_files_format(struct flat_files *flat, struct rti_block_device *device)
{
    if (!flat_files_mount(flat, device)) {
        return false;
    }
    memset(flat->entries, 0, sizeof(flat->entries));
    return directory_write(flat);
}
