/* SPDX-License-Identifier: Apache-2.0 */
/* The main function of every test binary: list the cases, or run one in this process.
 *
 * Exit status: 0 passed, 1 failed, 77 skipped, 2 unknown case; anything else is a crash. */
#define _GNU_SOURCE
#include "support/test.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct test_case *first;
static struct test_case **last = &first;
static unsigned timeout_seconds = 20;

void test_register(struct test_case *test)
{
    *last = test;
    last = &test->next;
}

void test_set_timeout(unsigned seconds)
{
    timeout_seconds = seconds;
}

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

void test_expect_panic(const char *file, int line, const char *module, void (*body)(void *arg),
                       void *arg)
{
    int fds[2];
    if (pipe(fds) != 0) {
        test_fail(file, line, "no pipe");
    }
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        dup2(fds[1], STDERR_FILENO);
        body(arg);
        _exit(0);
    }
    close(fds[1]);
    char text[4096];
    size_t length = 0;
    ssize_t got;
    while (length < sizeof(text) - 1 &&
           (got = read(fds[0], text + length, sizeof(text) - 1 - length)) > 0) {
        length += (size_t)got;
    }
    text[length] = '\0';
    close(fds[0]);
    int status = 0;
    waitpid(child, &status, 0);
    char wanted[128];
    snprintf(wanted, sizeof(wanted), "orrery: panic: %s:", module);
    if (strstr(text, wanted) == NULL) {
        test_fail(file, line, "wanted a panic of %s, status %#x, said: %s", module,
                  (unsigned)status, text);
    }
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT) {
        test_fail(file, line, "the panic did not end the process, status %#x", (unsigned)status);
    }
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (struct test_case *test = first; test != NULL; test = test->next) {
            printf("%s %u\n", test->name, timeout_seconds);
        }
        return 0;
    }
    for (struct test_case *test = first; argc == 2 && test != NULL; test = test->next) {
        if (strcmp(argv[1], test->name) == 0) {
            test->run();
            fflush(NULL);
            return 0;
        }
    }
    fprintf(stderr, "usage: %s --list | CASE\n", argv[0]);
    return 2;
}
