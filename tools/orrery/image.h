/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_TOOL_IMAGE_H
#define ORRERY_TOOL_IMAGE_H

/* The code of a process: the files that it has mapped, where they lie, and what is at an address.
 *
 * Names come from the symbol tables of the files, lines from addr2line where it is installed. The
 * files are 64-bit ELF of the machine's own byte order; every offset in them is checked, because a
 * file may have been replaced since the process was started. */

#include "orrery.h"

struct image {
    char *path;
    const unsigned char *bytes; /* the whole file */
    size_t size;
    uint64_t low; /* the mapped code: [low, high) in the process */
    uint64_t high;
    uint64_t bias; /* address in the process minus address in the file */
    struct image_symbol *symbols;
    size_t symbol_count;
    struct cfi *cfi; /* made when it is asked for */
};

struct image_symbol {
    uint64_t address; /* in the file */
    uint64_t size;
    const char *name;
};

struct images {
    struct image *items;
    size_t count;
};

/* Reads /proc/PID/maps and the files in it. What cannot be read is left out. */
void images_open(struct images *images, uint64_t pid);
void images_close(struct images *images);

/* The image that an address lies in; NULL if none does. */
struct image *images_find(const struct images *images, uint64_t address);

/* The name of the function at an address; NULL if it is not known. */
const char *images_function(const struct images *images, uint64_t address);

/* A section of a file by its name; NULL if it has none. `address` is where it lies in the file's
 * own addresses. */
const unsigned char *image_section(const struct image *image, const char *name, size_t *size,
                                   uint64_t *address);

/* Does the address lie in the code of the runtime itself? The library has a table of its code. */
bool images_is_library(const struct images *images, uint64_t address);

/* The function that the call before a return address calls directly; NULL if that is not known. */
const char *images_callee(const struct images *images, uint64_t return_address);

/* A place in the source; where functions are inlined one address is several, innermost first. */
struct place {
    char *function; /* NULL: not known */
    char *where;    /* `file:line` */
    struct place *outer;
};

/* Asks addr2line for the places of many addresses at once; NULL where they are not known. The array
 * is the caller's, and each chain in it. */
struct place **images_places(const struct images *images, const uint64_t *addresses, size_t count);
void place_free(struct place *place);

#endif
