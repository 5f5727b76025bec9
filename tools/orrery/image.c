/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "image.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unwind.h"

/* The `count` things of `size` bytes at an offset of the file; NULL if they are not all in it. */
static const void *image_at(const struct image *image, uint64_t offset, uint64_t count, size_t size)
{
    if (offset > image->size || count > (image->size - offset) / size) {
        return NULL;
    }
    return image->bytes + offset;
}

static const Elf64_Ehdr *image_header(const struct image *image)
{
    const Elf64_Ehdr *header = image_at(image, 0, 1, sizeof(*header));
    if (header == NULL || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_shentsize != sizeof(Elf64_Shdr) ||
        header->e_phentsize != sizeof(Elf64_Phdr)) {
        return NULL;
    }
    return header;
}

static const Elf64_Shdr *image_sections(const struct image *image, size_t *count)
{
    const Elf64_Ehdr *header = image_header(image);
    *count = header == NULL ? 0 : header->e_shnum;
    return *count == 0 ? NULL : image_at(image, header->e_shoff, *count, sizeof(Elf64_Shdr));
}

/* A string of the table at `section`; NULL if it does not end in it. */
static const char *section_string(const struct image *image, const Elf64_Shdr *section,
                                  uint32_t offset)
{
    const char *text = image_at(image, section->sh_offset, section->sh_size, 1);
    if (text == NULL || offset >= section->sh_size ||
        memchr(text + offset, 0, section->sh_size - offset) == NULL) {
        return NULL;
    }
    return text + offset;
}

const unsigned char *image_section(const struct image *image, const char *name, size_t *size,
                                   uint64_t *address)
{
    size_t count = 0;
    const Elf64_Shdr *sections = image_sections(image, &count);
    const Elf64_Ehdr *header = image_header(image);
    if (sections == NULL || header->e_shstrndx >= count) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        const char *found =
            section_string(image, &sections[header->e_shstrndx], sections[i].sh_name);
        if (found != NULL && strcmp(found, name) == 0 && sections[i].sh_type != SHT_NOBITS) {
            *size = sections[i].sh_size;
            *address = sections[i].sh_addr;
            return image_at(image, sections[i].sh_offset, sections[i].sh_size, 1);
        }
    }
    return NULL;
}

static int compare_symbols(const void *left, const void *right)
{
    const struct image_symbol *a = left;
    const struct image_symbol *b = right;
    return a->address < b->address ? -1 : a->address > b->address;
}

static void image_take_symbols(struct image *image, const Elf64_Shdr *section,
                               const Elf64_Shdr *strings)
{
    size_t count = section->sh_size / sizeof(Elf64_Sym);
    const Elf64_Sym *symbols = image_at(image, section->sh_offset, count, sizeof(Elf64_Sym));
    if (symbols == NULL) {
        return;
    }
    image->symbols =
        tool_realloc(image->symbols, image->symbol_count + count, sizeof(struct image_symbol));
    for (size_t i = 0; i < count; i++) {
        const char *name = section_string(image, strings, symbols[i].st_name);
        if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC && symbols[i].st_value != 0 &&
            name != NULL && *name != '\0') {
            image->symbols[image->symbol_count++] =
                (struct image_symbol){symbols[i].st_value, symbols[i].st_size, name};
        }
    }
}

static void image_read_symbols(struct image *image)
{
    size_t count = 0;
    const Elf64_Shdr *sections = image_sections(image, &count);
    for (size_t i = 0; sections != NULL && i < count; i++) {
        bool is_table = sections[i].sh_type == SHT_SYMTAB || sections[i].sh_type == SHT_DYNSYM;
        if (is_table && sections[i].sh_link < count) {
            image_take_symbols(image, &sections[i], &sections[sections[i].sh_link]);
        }
    }
    if (image->symbol_count > 0) {
        qsort(image->symbols, image->symbol_count, sizeof(struct image_symbol), compare_symbols);
    }
}

/* The file's own address of what was mapped from this offset; false if no segment is there. */
static bool image_find_bias(struct image *image, uint64_t start, uint64_t offset)
{
    const Elf64_Ehdr *header = image_header(image);
    if (header == NULL) {
        return false;
    }
    const Elf64_Phdr *segments =
        image_at(image, header->e_phoff, header->e_phnum, sizeof(Elf64_Phdr));
    for (size_t i = 0; segments != NULL && i < header->e_phnum; i++) {
        const Elf64_Phdr *segment = &segments[i];
        if (segment->p_type == PT_LOAD && offset + 4096 > segment->p_offset &&
            offset < segment->p_offset + segment->p_filesz) {
            image->bias = start - (segment->p_vaddr + (offset - segment->p_offset));
            return true;
        }
    }
    return false;
}

static bool image_map(struct image *image, uint64_t pid, const char *path)
{
    char whole[4200];
    /* The process may see another tree than we do. */
    snprintf(whole, sizeof(whole), "/proc/%" PRIu64 "/root%s", pid, path);
    int fd = open(whole, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    struct stat info;
    if (fd < 0) {
        return false;
    }
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
        image->size = (size_t)info.st_size;
        void *bytes = mmap(NULL, image->size, PROT_READ, MAP_PRIVATE, fd, 0);
        image->bytes = bytes == MAP_FAILED ? NULL : bytes;
    }
    close(fd);
    return image->bytes != NULL;
}

static void images_add(struct images *images, uint64_t pid, const char *line)
{
    uint64_t low = 0;
    uint64_t high = 0;
    uint64_t offset = 0;
    char modes[5] = "";
    int path_at = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &low, &high, modes,
               &offset, &path_at) < 4 ||
        modes[2] != 'x' || line[path_at] != '/') {
        return;
    }
    struct image image = {.path = tool_copy(line + path_at), .low = low, .high = high};
    image.path[strcspn(image.path, "\n")] = '\0';
    if (!image_map(&image, pid, image.path) || !image_find_bias(&image, low, offset)) {
        if (image.bytes != NULL) {
            munmap((void *)(uintptr_t)image.bytes, image.size);
        }
        free(image.path);
        return;
    }
    image_read_symbols(&image);
    images->items = tool_realloc(images->items, images->count + 1, sizeof(struct image));
    images->items[images->count++] = image;
}

void images_open(struct images *images, uint64_t pid)
{
    char path[64];
    char line[4352];
    *images = (struct images){.items = NULL};
    snprintf(path, sizeof(path), "/proc/%" PRIu64 "/maps", pid);
    FILE *maps = fopen(path, "r");
    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
        images_add(images, pid, line);
    }
    if (maps != NULL) {
        fclose(maps);
    }
}

void images_close(struct images *images)
{
    for (size_t i = 0; i < images->count; i++) {
        struct image *image = &images->items[i];
        munmap((void *)(uintptr_t)image->bytes, image->size);
        cfi_free(image->cfi);
        free(image->symbols);
        free(image->path);
    }
    free(images->items);
}

struct image *images_find(const struct images *images, uint64_t address)
{
    for (size_t i = 0; i < images->count; i++) {
        if (address >= images->items[i].low && address < images->items[i].high) {
            return &images->items[i];
        }
    }
    return NULL;
}

const char *images_function(const struct images *images, uint64_t address)
{
    const struct image *image = images_find(images, address);
    if (image == NULL) {
        return NULL;
    }
    uint64_t own = address - image->bias;
    const char *name = NULL;
    size_t low = 0;
    size_t high = image->symbol_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (image->symbols[middle].address <= own) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low > 0) {
        const struct image_symbol *symbol = &image->symbols[low - 1];
        /* Assembly may have no size: then it ends where the next begins. */
        name = symbol->size == 0 || own - symbol->address < symbol->size ? symbol->name : NULL;
    }
    return name;
}

bool images_is_library(const struct images *images, uint64_t address)
{
    const struct image *image = images_find(images, address);
    size_t size = 0;
    uint64_t table = 0;
    const unsigned char *rows =
        image == NULL ? NULL : image_section(image, "orrery_text", &size, &table);
    uint64_t own = image == NULL ? 0 : address - image->bias;
    for (size_t at = 0; rows != NULL && at + 8 <= size; at += 8) {
        int32_t begin = 0;
        int32_t end = 0;
        memcpy(&begin, rows + at, sizeof(begin));
        memcpy(&end, rows + at + 4, sizeof(end));
        /* Each number is relative to where it stands. */
        if (own >= table + at + (uint64_t)(int64_t)begin &&
            own < table + at + 4 + (uint64_t)(int64_t)end) {
            return true;
        }
    }
    return false;
}

const char *images_callee(const struct images *images, uint64_t return_address)
{
    uint64_t target = 0;
    const struct image *image = images_find(images, return_address - 1);
    size_t size = 0;
    uint64_t start = 0;
    const unsigned char *text = image == NULL ? NULL : image_section(image, ".text", &size, &start);
    uint64_t offset = image == NULL ? 0 : return_address - image->bias - start;
    if (text == NULL || offset > size || offset < 5) {
        return NULL;
    }
#if defined(__aarch64__)
    uint32_t word = 0;
    memcpy(&word, text + offset - 4, sizeof(word));
    if (word >> 26 != 0x25) {
        return NULL;
    }
    target = return_address - 4 + (uint64_t)((int64_t)(int32_t)(word << 6) >> 4);
#else
    int32_t distance = 0;
    memcpy(&distance, text + offset - 4, sizeof(distance));
    if (text[offset - 5] != 0xe8) {
        return NULL;
    }
    target = return_address + (uint64_t)(int64_t)distance;
#endif
    return images_function(images, target);
}

void place_free(struct place *place)
{
    while (place != NULL) {
        struct place *outer = place->outer;
        free(place->function);
        free(place->where);
        free(place);
        place = outer;
    }
}

/* Reads the answers of addr2line for one image: for each address a line that repeats it, then for
 * each function that was inlined there, and for the one around them, a name and a place. */
static void read_places(FILE *answers, const size_t *which, size_t count, struct place **places)
{
    char name[4352];
    char line[4352];
    size_t seen = 0;
    struct place **end = NULL;
    while (fgets(name, sizeof(name), answers) != NULL) {
        if (strncmp(name, "0x", 2) == 0) {
            end = seen < count ? &places[which[seen++]] : NULL;
            continue;
        }
        if (fgets(line, sizeof(line), answers) == NULL) {
            return;
        }
        char *where = strrchr(line, '/');
        where = where == NULL ? line : where + 1;
        where[strcspn(where, " \n")] = '\0';
        name[strcspn(name, "\n")] = '\0';
        if (end == NULL || where[0] == '?' || strstr(where, ":?") != NULL) {
            continue;
        }
        *end = tool_alloc(1, sizeof(struct place));
        (*end)->function = name[0] == '?' ? NULL : tool_copy(name);
        (*end)->where = tool_copy(where);
        end = &(*end)->outer;
    }
}

static void image_ask_places(const struct image *image, const uint64_t *addresses,
                             const size_t *which, size_t count, struct place **places)
{
    int ends[2];
    char **words = tool_alloc(count + 4, sizeof(char *));
    size_t at = 0;
    words[at++] = tool_copy("addr2line");
    words[at++] = tool_copy("-afie");
    words[at++] = tool_copy(image->path);
    for (size_t i = 0; i < count; i++) {
        char text[24];
        snprintf(text, sizeof(text), "%#" PRIx64, addresses[which[i]] - image->bias);
        words[at++] = tool_copy(text);
    }
    fflush(NULL);
    pid_t child = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;
    if (child == 0) {
        int nothing = open("/dev/null", O_RDWR);
        (void)dup2(nothing, STDERR_FILENO);
        (void)dup2(ends[1], STDOUT_FILENO);
        execvp(words[0], words);
        _exit(127);
    }
    if (child > 0) {
        close(ends[1]);
        FILE *answers = fdopen(ends[0], "r");
        if (answers != NULL) {
            read_places(answers, which, count, places);
            fclose(answers);
        }
        waitpid(child, NULL, 0);
    }
    while (at > 0) {
        free(words[--at]);
    }
    free(words);
}

struct place **images_places(const struct images *images, const uint64_t *addresses, size_t count)
{
    /* A command line has room for this many at a time. */
    enum { BATCH = 1000 };
    struct place **places = tool_alloc(count, sizeof(struct place *));
    size_t which[BATCH];
    for (size_t i = 0; i < images->count; i++) {
        const struct image *image = &images->items[i];
        size_t asked = 0;
        for (size_t j = 0; j < count; j++) {
            if (addresses[j] >= image->low && addresses[j] < image->high) {
                which[asked++] = j;
            }
            if (asked == BATCH || (j + 1 == count && asked > 0)) {
                image_ask_places(image, addresses, which, asked, places);
                asked = 0;
            }
        }
    }
    return places;
}
