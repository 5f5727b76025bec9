/* SPDX-License-Identifier: Apache-2.0 */
/* How a case ends early. Apart from the main function in test.c, so that a program with a main of
 * its own can use what is written with CHECK. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <unistd.h>

#include "support/test.h"

_Noreturn void test_fail(const char *file, int line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s:%d: ", file, line);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    fflush(NULL);
    _exit(1);
}

_Noreturn void test_skip(const char *reason)
{
    printf("skipped: %s\n", reason);
    fflush(NULL);
    _exit(77);
}
