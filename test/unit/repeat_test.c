/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "port/port.h"
#include "support/test.h"

static uint64_t number_of(const char *text)
{
    uint64_t number = 12345;
    CHECK_EQ(setenv("ORRERY_REPEAT_TEST", text, 1), 0);
    bool is_number = rti_port_environment_number("ORRERY_REPEAT_TEST", &number);
    CHECK(is_number == (number != 12345));
    return number;
}

TEST(environment_number_is_decimal_or_hexadecimal_and_nothing_else)
{
    uint64_t number = 7;
    unsetenv("ORRERY_REPEAT_TEST");
    CHECK(!rti_port_environment_number("ORRERY_REPEAT_TEST", &number));
    CHECK_EQ(number, 7);
    CHECK_EQ(number_of("0"), 0);
    CHECK_EQ(number_of("42"), 42);
    CHECK_EQ(number_of("0x2A"), 42);
    CHECK(number_of("18446744073709551615") == UINT64_MAX);
    static const char *const bad[] = {"", "x", "-1", " 1", "1 ", "1x", "18446744073709551616"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CHECK_EQ(number_of(bad[i]), 12345);
    }
}

/* Runs `body` in a child whose standard error is read back. */
static void said_by(void (*body)(void), char *text, size_t room)
{
    int fds[2];
    CHECK_EQ(pipe(fds), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(fds[1], STDERR_FILENO);
        body();
        _exit(0);
    }
    close(fds[1]);
    size_t length = 0;
    ssize_t got;
    while ((got = read(fds[0], text + length, room - 1 - length)) > 0) {
        length += (size_t)got;
    }
    text[length] = '\0';
    close(fds[0]);
    waitpid(child, NULL, 0);
}

static void log_after_set(void)
{
    rti_port_repeat_set("ORRERY_SEED", 42);
    rti_port_repeat_log();
}

static void log_after_clear(void)
{
    rti_port_repeat_set("ORRERY_SEED", 42);
    rti_port_repeat_clear();
    rti_port_repeat_log();
}

static void panic_after_set(void)
{
    rti_port_repeat_set("ORRERY_SEED", 43);
    rti_panic("repeat_test", 1, "on purpose");
}

TEST(repeat_line_has_the_variable_and_the_command_of_the_process)
{
    char text[1024];
    said_by(log_after_set, text, sizeof(text));
    CHECK(strstr(text, "orrery: repeat with: ORRERY_SEED=42 ") != NULL);
    CHECK(strstr(text, "repeat_test repeat_line_has_the_variable_and_the_command") != NULL);
}

TEST(repeat_line_that_was_cleared_is_not_said)
{
    char text[1024];
    said_by(log_after_clear, text, sizeof(text));
    CHECK_STR(text, "");
}

TEST(panic_says_the_repeat_line_after_its_own)
{
    char text[1024];
    said_by(panic_after_set, text, sizeof(text));
    const char *panic = strstr(text, "orrery: panic: repeat_test:1: on purpose");
    CHECK(panic != NULL);
    CHECK(strstr(panic, "orrery: repeat with: ORRERY_SEED=43 ") != NULL);
}
