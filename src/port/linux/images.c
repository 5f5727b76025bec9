/* SPDX-License-Identifier: Apache-2.0 */
/* The essay is in images.h. */
#define _GNU_SOURCE
#define RTI_MODULE "images"
#include "port/linux/images.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "port/linux/watch.h"

/* Program headers that are looked at; a file has about a dozen. */
#define IMAGE_HEADERS_MAX 64

static struct {
    struct rti_image table[RTI_IMAGES_MAX];
    rti_atomic_u32 count;
    rti_atomic_u32 is_being_read;
} images;

/* A line of the list, and the last one before it that began a file. */
struct map_line {
    uintptr_t low;
    uintptr_t high;
    uint64_t offset;
    uint64_t inode;
    bool is_code;
    char name[RTI_IMAGE_NAME_MAX]; /* the last part of the path */
};

/* The file of the list, piece by piece. */
struct map_file {
    int fd;
    size_t at;
    size_t length;
    char bytes[256];
};

static int map_next(struct map_file *file)
{
    if (file->at == file->length) {
        ssize_t got = read(file->fd, file->bytes, sizeof(file->bytes));
        file->at = 0;
        file->length = got > 0 ? (size_t)got : 0;
        if (file->length == 0) {
            return -1;
        }
    }
    return (unsigned char)file->bytes[file->at++];
}

/* Takes a number and the one character that ends it, which is returned. */
static int map_take_number(struct map_file *file, unsigned base, uint64_t *number)
{
    *number = 0;
    for (;;) {
        int c = map_next(file);
        unsigned digit = 16;
        if (c >= '0' && c <= '9') {
            digit = (unsigned)(c - '0');
        } else if (c >= 'a' && c <= 'f') {
            digit = (unsigned)(c - 'a') + 10;
        }
        if (digit >= base) {
            return c;
        }
        *number = *number * base + digit;
    }
}

/* The rest of the line: blanks, and a path whose last part is kept. */
static int map_take_name(struct map_file *file, char name[static RTI_IMAGE_NAME_MAX])
{
    size_t length = 0;
    int c = map_next(file);
    while (c == ' ') {
        c = map_next(file);
    }
    for (; c != '\n' && c >= 0; c = map_next(file)) {
        if (c == '/') {
            length = 0;
        } else if (length < RTI_IMAGE_NAME_MAX - 1) {
            name[length++] = (char)(c < ' ' ? '?' : c);
        }
    }
    name[length] = '\0';
    return c;
}

/* "low-high rwxp offset major:minor inode path"; false at the end. */
static bool map_take_line(struct map_file *file, struct map_line *line)
{
    uint64_t low;
    uint64_t high;
    uint64_t ignored;
    if (map_take_number(file, 16, &low) != '-' || map_take_number(file, 16, &high) != ' ') {
        return false;
    }
    line->low = (uintptr_t)low;
    line->high = (uintptr_t)high;
    (void)map_next(file);
    (void)map_next(file);
    line->is_code = map_next(file) == 'x';
    (void)map_next(file);
    (void)map_next(file);
    (void)map_take_number(file, 16, &line->offset);
    (void)map_take_number(file, 16, &ignored);
    (void)map_take_number(file, 16, &ignored);
    int end = map_take_number(file, 10, &line->inode);
    if (end == '\n') {
        line->name[0] = '\0';
        return true;
    }
    return map_take_name(file, line->name) == '\n';
}

/* Finds the tables of a file by its headers, which are mapped at `base`. */
static void image_read_headers(struct rti_image *image, uintptr_t base)
{
    Elf64_Ehdr file;
    Elf64_Phdr header;
    bool is_placed = false;
    if (!rti_watch_peek(&file, (const void *)base, sizeof(file)) ||
        memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 || file.e_phentsize != sizeof(header)) {
        return;
    }
    for (size_t i = 0; i < file.e_phnum && i < IMAGE_HEADERS_MAX; i++) {
        const void *at = (const void *)(base + file.e_phoff + i * sizeof(header));
        if (!rti_watch_peek(&header, at, sizeof(header))) {
            return;
        }
        if (header.p_type == PT_LOAD && !is_placed) {
            image->bias = base - (uintptr_t)(header.p_vaddr - header.p_offset);
            is_placed = true;
        } else if (header.p_type == PT_GNU_EH_FRAME) {
            image->table = (uintptr_t)header.p_vaddr;
            image->table_end = (uintptr_t)(header.p_vaddr + header.p_memsz);
        }
    }
    if (image->table != 0) {
        image->table += image->bias;
        image->table_end += image->bias;
    }
}

static bool image_is_same(const struct rti_image *left, const struct rti_image *right)
{
    return left->low == right->low && left->high == right->high && left->table == right->table &&
           strcmp(left->name, right->name) == 0;
}

const struct rti_image *rti_linux_image_find(uintptr_t address)
{
    /* Acquire pairs with the release in image_add. */
    for (uint32_t i = rti_u32_load_acquire(&images.count); i > 0; i--) {
        const struct rti_image *image = &images.table[i - 1];
        if (address >= image->low && address < image->high) {
            return image;
        }
    }
    return NULL;
}

static void image_add(const struct rti_image *image)
{
    uint32_t count = rti_u32_load_relaxed(&images.count);
    /* The same one further down does not count if another has been in its place since. */
    const struct rti_image *known = rti_linux_image_find(image->low);
    if (known != NULL && image_is_same(known, image)) {
        return;
    }
    if (count < RTI_IMAGES_MAX) {
        images.table[count] = *image;
        /* Release pairs with the acquire in rti_linux_image_find. */
        rti_u32_store_release(&images.count, count + 1);
    }
}

static void images_read(void)
{
    struct map_file file = {.fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC)};
    struct map_line line;
    uintptr_t begin = 0; /* of the file whose inode is */
    uint64_t inode = UINT64_MAX;
    if (file.fd < 0) {
        return;
    }
    while (map_take_line(&file, &line)) {
        if (line.offset == 0) {
            begin = line.low;
            inode = line.inode;
        }
        if (!line.is_code || line.name[0] == '\0') {
            continue;
        }
        struct rti_image image = {.low = line.low, .high = line.high};
        image.bias = line.low - (uintptr_t)line.offset;
        memcpy(image.name, line.name, sizeof(image.name));
        if (inode == line.inode) {
            image_read_headers(&image, begin);
        }
        image_add(&image);
    }
    close(file.fd);
}

const struct rti_image *rti_linux_image_search(uintptr_t address)
{
    const struct rti_image *image = rti_linux_image_find(address);
    uint32_t nobody = 0;
    /* Acquire and release hand the right to write from one reader of the list to the next. */
    if (image != NULL || !rti_u32_cas_acqrel(&images.is_being_read, &nobody, 1)) {
        return image;
    }
    images_read();
    rti_u32_store_release(&images.is_being_read, 0);
    return rti_linux_image_find(address);
}
