/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the simulated world: descriptors, works, latency, faults. The essay is in sim_disk.h. */
#define RTI_MODULE "sim_disk"
#include "port/sim/sim_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/assert.h"
#include "base/hash.h"

/* The disk draws from a stream of its own, away from what program and network draw. */
#define DISK_SALT UINT64_C(0x7374726167653031)

/* The one world. Written by attach and detach. */
static struct rti_sim_disk *disk_world;

static bool disk_chance(struct rti_sim_disk *disk, uint32_t permille)
{
    return permille != 0 && rti_rng_chance(&disk->rng, permille, 1000);
}

struct rti_sim_medium *rti_sim_disk_medium(const rt_sim_disk *disk)
{
    const struct rti_sim_disk_handle *handle = (const void *)disk;
    return handle->magic == RTI_SIM_DISK_MAGIC ? handle->medium : NULL;
}

/* The medium is there from here on; false: nobody lends one. */
static bool disk_enter(struct rti_sim_disk *disk)
{
    if (disk->medium != NULL) {
        return true;
    }
    if (disk->config.disk != NULL) {
        disk->medium = rti_sim_disk_medium(disk->config.disk);
        return true;
    }
    struct rti_port *host = disk->sim->host;
    void *memory = host->ops->memory_map(host, RT_SIM_DISK_SIZE);
    if (memory == NULL) {
        return false;
    }
    disk->medium = rti_sim_medium_format(memory, RT_SIM_DISK_SIZE);
    disk->is_lent = true;
    RT_ASSERT(disk->medium != NULL);
    return true;
}

/* ---- Answers. ---- */

static void work_fail(struct rti_op *op, int error)
{
    rt_status_code status = RT_ERR_IO;
    if (error == ENOENT) {
        status = RT_ERR_NOT_FOUND;
    } else if (error == EEXIST) {
        status = RT_ERR_EXISTS;
    } else if (error == EBADF) {
        status = RT_ERR_INVALID;
    } else if (error == EMFILE) {
        status = RT_ERR_RESOURCE_EXHAUSTED;
    } else if (error == ENOMEM) {
        status = RT_ERR_NOMEM;
    }
    rti_op_answer(op, status, 0, error);
}

/* NULL: no such file is open. */
static struct rti_sim_open_file *slot_of(struct rti_sim_disk *disk, int fd)
{
    if (fd < RTI_SIM_FILE_FIRST || fd >= RTI_SIM_FILE_FIRST + RT_SIM_OPEN_FILES) {
        return NULL;
    }
    struct rti_sim_open_file *slot = &disk->slots[fd - RTI_SIM_FILE_FIRST];
    RT_ASSERT(!slot->is_open || disk->medium != NULL);
    return slot->is_open ? slot : NULL;
}

/* ---- The works. ---- */

/* The file of a path, made if the flags say so; an errno negated if it cannot be opened. */
static int file_of_path(struct rti_sim_disk *disk, const char *path, int flags)
{
    size_t length = strlen(path);
    if (length == 0 || length >= RTI_SIM_NAME_SIZE) {
        return length == 0 ? -ENOENT : -ENAMETOOLONG;
    }
    int file = rti_sim_medium_find(disk->medium, path);
    if (file >= 0) {
        return (flags & O_CREAT) != 0 && (flags & O_EXCL) != 0 ? -EEXIST : file;
    }
    if ((flags & O_CREAT) == 0) {
        return -ENOENT;
    }
    file = rti_sim_medium_create(disk->medium, path);
    return file >= 0 ? file : -ENOSPC;
}

static void work_open(struct rti_op *op)
{
    struct rti_sim_disk *disk = disk_world;
    int flags = (int)(uint32_t)(op->offset >> 32);
    int index = 0;
    while (index < RT_SIM_OPEN_FILES && disk->slots[index].is_open) {
        index++;
    }
    if (index == RT_SIM_OPEN_FILES || !disk_enter(disk)) {
        work_fail(op, index == RT_SIM_OPEN_FILES ? EMFILE : ENOMEM);
        return;
    }
    int file = file_of_path(disk, op->buffer, flags);
    if (file < 0) {
        work_fail(op, -file);
        return;
    }
    bool is_writable = (flags & O_ACCMODE) != O_RDONLY;
    if ((flags & O_TRUNC) != 0 && is_writable) {
        rti_sim_medium_truncate(disk->medium, file);
    }
    disk->slots[index] =
        (struct rti_sim_open_file){.is_open = true, .file = file, .flags = flags, .position = 0};
    rti_op_answer(op, RT_OK, RTI_SIM_FILE_FIRST + index, 0);
}

static void work_close(struct rti_op *op)
{
    struct rti_sim_open_file *slot = slot_of(disk_world, op->fd);
    if (slot == NULL) {
        work_fail(op, EBADF);
        return;
    }
    slot->is_open = false;
    rti_op_answer(op, RT_OK, 0, 0);
}

static void work_sync(struct rti_op *op)
{
    struct rti_sim_disk *disk = disk_world;
    const struct rti_sim_open_file *slot = slot_of(disk, op->fd);
    if (slot == NULL || disk_chance(disk, disk->config.sync_error)) {
        work_fail(op, slot == NULL ? EBADF : EIO);
        return;
    }
    rti_sim_medium_sync(disk->medium, slot->file);
    rti_op_answer(op, RT_OK, 0, 0);
}

static void work_read(struct rti_op *op)
{
    struct rti_sim_disk *disk = disk_world;
    const struct rti_sim_open_file *slot = slot_of(disk, op->fd);
    if (slot == NULL || (slot->flags & O_ACCMODE) == O_WRONLY) {
        work_fail(op, EBADF);
        return;
    }
    if (op->offset == RTI_FILE_POSITION) {
        op->offset = slot->position;
    }
    if (disk_chance(disk, disk->config.read_error)) {
        work_fail(op, EIO);
        return;
    }
    size_t count =
        rti_sim_medium_read(disk->medium, slot->file, op->offset, op->buffer, op->length);
    rti_op_answer(op, RT_OK, (int64_t)count, 0);
}

static void work_write(struct rti_op *op)
{
    struct rti_sim_disk *disk = disk_world;
    struct rti_sim_open_file *slot = slot_of(disk, op->fd);
    if (slot == NULL || (slot->flags & O_ACCMODE) == O_RDONLY) {
        work_fail(op, EBADF);
        return;
    }
    if (disk_chance(disk, disk->config.write_error)) {
        work_fail(op, EIO);
        return;
    }
    bool is_at_position = op->offset == RTI_FILE_POSITION;
    uint64_t offset = is_at_position ? slot->position : op->offset;
    /* As on Linux, what is opened to append appends wherever it is told to write. */
    offset = (slot->flags & O_APPEND) != 0 ? disk->medium->files[slot->file].size : offset;
    size_t length = op->length;
    if (length > 0 && offset >= RTI_FILE_OFFSET_MAX) {
        work_fail(op, EFBIG);
        return;
    }
    length =
        length < RTI_FILE_OFFSET_MAX - offset ? length : (size_t)(RTI_FILE_OFFSET_MAX - offset);
    if (length > 1 && disk_chance(disk, disk->config.short_write)) {
        length = 1 + (size_t)rti_rng_below(&disk->rng, length - 1);
    }
    size_t count = rti_sim_medium_write(disk->medium, slot->file, offset, op->buffer, length);
    if (count == 0 && length > 0) {
        work_fail(op, ENOSPC);
        return;
    }
    if (is_at_position) {
        slot->position = offset + count;
    }
    rti_op_answer(op, RT_OK, (int64_t)count, 0);
}

static void disk_move(int fd, uint64_t position)
{
    struct rti_sim_open_file *slot = slot_of(disk_world, fd);
    RT_ASSERT(position <= RTI_FILE_OFFSET_MAX);
    if (slot != NULL) {
        slot->position = position;
    }
}

static enum rti_file_kind disk_kind(int fd)
{
    struct rti_sim_disk *disk = disk_world;
    if (slot_of(disk, fd) != NULL) {
        return RTI_FILE_SEEKED;
    }
    struct rti_sim_net *net = disk->sim->net;
    return net != NULL && rti_sim_socket_of(net, fd) != NULL ? RTI_FILE_STREAM : RTI_FILE_NONE;
}

static const struct rti_port_file disk_table = {
    .open = work_open,
    .close = work_close,
    .sync = work_sync,
    .read = work_read,
    .write = work_write,
    .move = disk_move,
    .kind = disk_kind,
};

/* ---- Time. ---- */

static void work_do(struct rti_sim_disk *disk, struct rti_op *op)
{
    op->work(op);
    disk->digest = rti_digest_mix(disk->digest, disk->sim->now_ns);
    disk->digest = rti_digest_mix(disk->digest, (uint64_t)op->result);
    disk->digest = rti_digest_mix(disk->digest, (uint64_t)op->error);
    rti_port_sim_answer(disk->sim, op);
}

static void work_happens(struct rti_agenda_entry *entry)
{
    struct rti_sim_work *work = RTI_CONTAINER_OF(entry, struct rti_sim_work, entry);
    struct rti_op *op = work->op;
    work->op = NULL;
    work_do(disk_world, op);
}

static bool work_is_ours(const struct rti_op *op)
{
    return op->work == work_open || op->work == work_close || op->work == work_sync ||
           op->work == work_read || op->work == work_write;
}

bool rti_sim_disk_submit(struct rti_sim_disk *disk, struct rti_op *op)
{
    if (!work_is_ours(op)) {
        return false;
    }
    size_t index = 0;
    while (index < RTI_SIM_WORKS && disk->works[index].op != NULL) {
        index++;
    }
    if (index == RTI_SIM_WORKS) {
        work_do(disk, op);
        return true;
    }
    uint64_t span_ns = disk->config.latency_max - disk->config.latency_min;
    uint64_t latency_ns =
        disk->config.latency_min + (span_ns == 0 ? 0 : rti_rng_below(&disk->rng, span_ns + 1));
    struct rti_sim_work *work = &disk->works[index];
    work->op = op;
    rti_agenda_entry_init(&work->entry, work_happens);
    uint64_t due_ns = rti_agenda_after(disk->sim->now_ns, latency_ns);
    rti_agenda_add(&disk->agenda, &work->entry, due_ns);
    if (due_ns == disk->sim->now_ns) {
        disk->sim->port.ops->wake(&disk->sim->port);
    }
    return true;
}

bool rti_sim_disk_has(const struct rti_sim_disk *disk, int fd)
{
    return slot_of((struct rti_sim_disk *)(uintptr_t)disk, fd) != NULL;
}

/* ---- The world. ---- */

rt_status rti_sim_disk_check(const rt_sim_storage *config)
{
    if (config->latency_min > config->latency_max || config->latency_max > RT_SIM_LATENCY_MAX) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("the latency is no span of time")};
    }
    if (config->read_error > 1000 || config->write_error > 1000 || config->sync_error > 1000 ||
        config->short_write > 1000) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("a chance is above 1000 in 1000")};
    }
    if (config->disk != NULL && rti_sim_disk_medium(config->disk) == NULL) {
        return (rt_status){RT_ERR_INVALID,
                           RTI_SENTENCE("the disk is not prepared: rt_sim_disk_init does it")};
    }
    return RT_SUCCESS;
}

void rti_sim_disk_attach(struct rti_sim_disk *disk, struct rti_port_sim *sim,
                         const rt_sim_storage *config, uint64_t seed)
{
    RT_ASSERT(disk_world == NULL);
    memset(disk, 0, sizeof(*disk));
    disk->sim = sim;
    disk->config = *config;
    rti_agenda_init(&disk->agenda);
    if (config->machine_files || (config->disk == NULL && sim->host == NULL)) {
        return;
    }
    if (disk->config.latency_max == 0) {
        disk->config.latency_min = RT_SIM_DISK_LATENCY;
        disk->config.latency_max = RT_SIM_DISK_LATENCY;
    }
    rti_rng_init(&disk->rng, seed ^ DISK_SALT);
    disk->digest = rti_digest_init(1);
    disk_world = disk;
    sim->disk = disk;
    sim->port.file = &disk_table;
}

void rti_sim_disk_detach(struct rti_sim_disk *disk)
{
    struct rti_port_sim *sim = disk->sim;
    if (sim->disk != disk) {
        return;
    }
    if (disk->is_lent) {
        sim->host->ops->memory_unmap(sim->host, disk->medium, RT_SIM_DISK_SIZE);
    }
    disk->medium = NULL;
    sim->disk = NULL;
    sim->port.file = NULL;
    disk_world = NULL;
}

size_t rti_sim_disk_open_count(const struct rti_sim_disk *disk)
{
    size_t count = 0;
    for (size_t i = 0; i < RT_SIM_OPEN_FILES; i++) {
        count += disk->slots[i].is_open;
    }
    return count;
}
