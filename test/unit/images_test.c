/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#define RTI_MODULE "images_test"
#include "port/linux/images.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/test.h"

TEST(images_hold_the_program_and_the_c_library_with_their_tables)
{
    const struct rti_image *program = rti_linux_image_search((uintptr_t)rti_linux_image_search);
    CHECK(program != NULL);
    CHECK_STR(program->name, "images_test");
    const struct rti_image *library = rti_linux_image_search((uintptr_t)&snprintf);
    CHECK(library != NULL);
    CHECK(program->table >= program->bias && program->table < program->table_end);
    CHECK(library->low < library->high);
    /* Found again without a look at the list. */
    CHECK(rti_linux_image_find((uintptr_t)rti_linux_image_search) == program);
}

TEST(images_do_not_hold_what_is_no_code)
{
    int variable = 0;
    CHECK(rti_linux_image_search((uintptr_t)&variable) == NULL);
    CHECK(rti_linux_image_search(0) == NULL);
    CHECK(rti_linux_image_search(UINTPTR_MAX) == NULL);
}

TEST(images_that_are_read_twice_are_kept_once)
{
    const struct rti_image *program = rti_linux_image_search((uintptr_t)rti_linux_image_search);
    for (int i = 0; i < 2 * RTI_IMAGES_MAX; i++) {
        CHECK(rti_linux_image_search(1) == NULL);
    }
    CHECK(rti_linux_image_find((uintptr_t)rti_linux_image_search) == program);
}

/* Maps a file of this name as code, at `at` unless that is NULL, and has the list read anew. */
static void *map_code(const char *name, void *at)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    CHECK(fd >= 0 && ftruncate(fd, 4096) == 0);
    void *code =
        mmap(at, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | (at != NULL ? MAP_FIXED : 0), fd, 0);
    CHECK(code != MAP_FAILED);
    CHECK(close(fd) == 0);
    CHECK(rti_linux_image_search(1) == NULL);
    return code;
}

static void check_name(const void *code, const char *name)
{
    const struct rti_image *image = rti_linux_image_find((uintptr_t)code);
    CHECK(image != NULL && strstr(image->name, name) != NULL);
}

TEST(images_that_come_back_to_their_place_are_found_again)
{
    void *code = map_code("one", NULL);
    check_name(code, "one");
    (void)map_code("other", code);
    check_name(code, "other");
    (void)map_code("one", code);
    check_name(code, "one");
}
