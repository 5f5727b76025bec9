/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "storage"
#include "port/storage/storage.h"

#include <errno.h>
#include <fcntl.h>

#include "base/assert.h"

struct slot {
    rti_atomic_u32 is_open;
    void *handle;
    int flags;
    uint64_t position;
};

static struct {
    struct rti_file_system *system;
    struct slot slots[RT_STORAGE_FILES];
} storage;

void rti_storage_mount(struct rti_file_system *system)
{
    for (size_t i = 0; i < RT_STORAGE_FILES; i++) {
        RT_ASSERT(rti_u32_load_relaxed(&storage.slots[i].is_open) == 0);
    }
    storage.system = system;
}

/* NULL: no such file is open. */
static struct slot *slot_of(int fd)
{
    if (fd < RTI_STORAGE_FD_FIRST || fd >= RTI_STORAGE_FD_FIRST + RT_STORAGE_FILES) {
        return NULL;
    }
    struct slot *slot = &storage.slots[fd - RTI_STORAGE_FD_FIRST];
    /* Acquire pairs with the release in storage_open. */
    return rti_u32_load_acquire(&slot->is_open) != 0 ? slot : NULL;
}

static void storage_answer(struct rti_op *op, int64_t result)
{
    if (result >= 0) {
        rti_op_answer(op, RT_OK, result, 0);
        return;
    }
    int error = (int)-result;
    rt_status_code status = RT_ERR_IO;
    if (error == ENOENT) {
        status = RT_ERR_NOT_FOUND;
    } else if (error == EEXIST) {
        status = RT_ERR_EXISTS;
    } else if (error == EBADF || error == EINVAL || error == EACCES) {
        status = RT_ERR_INVALID;
    } else if (error == EMFILE || error == ENOSPC) {
        status = RT_ERR_RESOURCE_EXHAUSTED;
    }
    rti_op_answer(op, status, 0, error);
}

static int storage_free_slot(void)
{
    for (int i = 0; i < RT_STORAGE_FILES; i++) {
        if (rti_u32_load_relaxed(&storage.slots[i].is_open) == 0) {
            return i;
        }
    }
    return -EMFILE;
}

static void storage_open(struct rti_op *op)
{
    struct rti_file_system *system = storage.system;
    int index = storage_free_slot();
    if (system == NULL || index < 0) {
        storage_answer(op, system == NULL ? -ENOENT : index);
        return;
    }
    struct slot *slot = &storage.slots[index];
    slot->flags = (int)(uint32_t)(op->offset >> 32);
    slot->position = 0;
    int result = system->open(system, op->buffer, slot->flags, &slot->handle);
    if (result < 0) {
        storage_answer(op, result);
        return;
    }
    /* Release pairs with the acquire in slot_of. */
    rti_u32_store_release(&slot->is_open, 1);
    storage_answer(op, RTI_STORAGE_FD_FIRST + index);
}

static void storage_close(struct rti_op *op)
{
    struct slot *slot = slot_of(op->fd);
    if (slot == NULL) {
        storage_answer(op, -EBADF);
        return;
    }
    rti_u32_store_relaxed(&slot->is_open, 0);
    storage_answer(op, storage.system->close(storage.system, slot->handle));
}

static void storage_sync(struct rti_op *op)
{
    struct slot *slot = slot_of(op->fd);
    storage_answer(op, slot == NULL ? -EBADF : storage.system->sync(storage.system, slot->handle));
}

static void storage_read(struct rti_op *op)
{
    struct slot *slot = slot_of(op->fd);
    if (slot == NULL || (slot->flags & O_ACCMODE) == O_WRONLY) {
        storage_answer(op, -EBADF);
        return;
    }
    if (op->offset == RTI_FILE_POSITION) {
        op->offset = slot->position;
    }
    storage_answer(
        op, storage.system->read(storage.system, slot->handle, op->offset, op->buffer, op->length));
}

static void storage_write(struct rti_op *op)
{
    struct slot *slot = slot_of(op->fd);
    struct rti_file_system *system = storage.system;
    if (slot == NULL || (slot->flags & O_ACCMODE) == O_RDONLY) {
        storage_answer(op, -EBADF);
        return;
    }
    bool is_at_position = op->offset == RTI_FILE_POSITION;
    uint64_t offset = is_at_position ? slot->position : op->offset;
    if (is_at_position && (slot->flags & O_APPEND) != 0) {
        int64_t size = system->size(system, slot->handle);
        if (size < 0) {
            storage_answer(op, size);
            return;
        }
        offset = (uint64_t)size;
    }
    int64_t put = system->write(system, slot->handle, offset, op->buffer, op->length);
    if (put > 0 && is_at_position) {
        slot->position = offset + (uint64_t)put;
    }
    storage_answer(op, put);
}

static void storage_move(int fd, uint64_t position)
{
    struct slot *slot = slot_of(fd);
    RT_ASSERT(position <= RTI_FILE_OFFSET_MAX);
    if (slot != NULL) {
        slot->position = position;
    }
}

static enum rti_file_kind storage_kind(int fd)
{
    return slot_of(fd) == NULL ? RTI_FILE_NONE : RTI_FILE_SEEKED;
}

const struct rti_port_file rti_storage_file = {
    .open = storage_open,
    .close = storage_close,
    .sync = storage_sync,
    .read = storage_read,
    .write = storage_write,
    .move = storage_move,
    .kind = storage_kind,
};
