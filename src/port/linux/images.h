/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_LINUX_IMAGES_H
#define RTI_LINUX_IMAGES_H

/* The images of this process: the files whose code is mapped, and where their unwind tables lie.
 *
 * The list is read from /proc/self/maps, by open and read, because that is all that a signal
 * handler may do: the loader's own list is behind the loader's lock. It is read when somebody asks
 * for an address that no image of the table holds, at most once per question.
 *
 * The table only grows. An image is written, then published by the count, and never changes, so
 * that readers need no lock; one reader of the file at a time, and who comes second makes do with
 * what there is. Where a closed library has made way for another the younger entry is found first;
 * but nobody looks for it as long as the old one answers, so until the list is read for something
 * else a place in there has the wrong name, and a walk through it ends early or goes astray. A
 * table that is full stays as it is.
 *
 * I1  What lies below `count` does not change.                                      (image_add)
 *
 * Pairs: the release of the count with the acquire of readers.
 *
 * Rejected: dl_iterate_phdr and dladdr (the loader's lock; a handler may have interrupted who holds
 * it). */

#include <stdbool.h>

#include "base/atomic.h"
#include "base/compiler.h"

#define RTI_IMAGES_MAX     128
#define RTI_IMAGE_NAME_MAX 32

struct rti_image {
    uintptr_t low; /* its code */
    uintptr_t high;
    uintptr_t bias;      /* what the loader added to the addresses of the file */
    uintptr_t table;     /* .eh_frame_hdr; 0: there is none */
    uintptr_t table_end; /* behind it */
    char name[RTI_IMAGE_NAME_MAX];
};

/* The image whose code holds the address, or NULL. Any thread, signal handler. */
const struct rti_image *rti_linux_image_find(uintptr_t address);

/* The same, but reads the list anew if the address is in none. */
const struct rti_image *rti_linux_image_search(uintptr_t address);

#endif
