/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#define RTI_MODULE "error_text_test"
#include <errno.h>
#include <string.h>

#include "port/port.h"
#include "support/test.h"

TEST(error_text_is_a_literal_for_every_number)
{
    CHECK(rti_port_error_text(0) == NULL);
    for (int error = 1; error < 200; error++) {
        const char *text = rti_port_error_text(error);
        CHECK(text != NULL && text[0] != '\0');
        CHECK(rti_port_error_text(error) == text);
    }
}

TEST(error_text_tells_the_common_ones_apart)
{
    CHECK_STR(rti_port_error_text(ECONNREFUSED), "the connection was refused");
    CHECK_STR(rti_port_error_text(ENOSPC), "the device is full");
    CHECK_STR(rti_port_error_text(EMFILE), "the process has no free descriptor");
    CHECK_STR(rti_port_error_text(12345), "the system reported an error");
}
