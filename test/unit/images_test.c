/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#define RTI_MODULE "images_test"
#include "port/linux/images.h"

#include <stdio.h>

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
