/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_STORAGE_H
#define RTI_STORAGE_H

/* Files of a small target: the works of port/file.h over a file system that the application brings,
 * littlefs or FatFs on a block device, or its own.
 *
 * A file system here has files with a size and nothing else: it reads and writes at an offset. What
 * a position is, what O_APPEND means and which descriptor a file has is done here, once for all of
 * them. Descriptors begin at RTI_STORAGE_FD_FIRST, so that they are none of the network's.
 *
 * Every function of the file system is called by one task, where works run, and may block.
 *
 * I1  A descriptor is open from the end of its open to the begin of its close; works on one are
 *     never under way together, which the layer above sees to (io/file_line.h).
 *
 * Who writes: the slots the task of works; `position` also the scheduler (`move`), between works of
 * its file. Pairs: `is_open` is stored with release at the end of open and read with acquire by
 * `kind`.
 *
 * There is one storage in a program, because works are given no port. */

#include "port/file.h"

#ifndef RT_STORAGE_FILES
#define RT_STORAGE_FILES 4 /* files open at the same time */
#endif

#define RTI_STORAGE_FD_FIRST 64

/* What the application brings. Results are 0 or a count; negative: an errno, negated. */
struct rti_file_system {
    /* Opens a file; flags are those of <fcntl.h>, O_CREAT, O_EXCL and O_TRUNC its own business.
     * `handle` is what the other functions get. */
    int (*open)(struct rti_file_system *system, const char *path, int flags, void **handle);
    int (*close)(struct rti_file_system *system, void *handle);
    int64_t (*read)(struct rti_file_system *system, void *handle, uint64_t offset, void *bytes,
                    size_t size);
    int64_t (*write)(struct rti_file_system *system, void *handle, uint64_t offset,
                     const void *bytes, size_t size);
    int64_t (*size)(struct rti_file_system *system, void *handle);
    int (*sync)(struct rti_file_system *system, void *handle);
};

/* Files live on `system` from here on; NULL: there are none. No file is open. */
void rti_storage_mount(struct rti_file_system *system);

extern const struct rti_port_file rti_storage_file;

#endif
