/* SPDX-License-Identifier: Apache-2.0 */
/* The main function of every test binary: list the cases, or run one in this process.
 *
 *     binary --list                         one line per case: NAME TIMEOUT_SECONDS [seeded]
 *     binary NAME                           runs a case
 *     binary NAME --seed FIRST --seeds N    runs a seeded case with seeds FIRST to FIRST + N - 1
 *
 * Exit status: 0 passed, 1 failed, 77 skipped, 2 unknown case; anything else is a crash. A case
 * that comes to its end also says `passed: NAME`, so that one that leaves by exit is no pass.
 *
 * With more than one seed each seed has a process of its own: the parent knows which seed crashed
 * or hung, and no seed sees what another left behind. */
#define _GNU_SOURCE
#include "support/test.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
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

/* The seeds to run with, and the process that runs the current one. */
struct seed_loop {
    uint64_t first;
    uint64_t count;
    unsigned timeout_seconds;
};

static uint64_t seed = 1;
static volatile sig_atomic_t seed_child;
static volatile sig_atomic_t seed_is_late;

uint64_t test_seed(void)
{
    return seed;
}

static void seed_end_child(int signal_number)
{
    (void)signal_number;
    seed_is_late = 1;
    kill((pid_t)seed_child, SIGKILL);
}

/* Runs one seed in a child; false if it failed, with the reason said. */
static bool seed_run(const struct test_case *test, const struct seed_loop *loop)
{
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        test_fail(__FILE__, __LINE__, "no process for seed %" PRIu64, seed);
    }
    if (child == 0) {
        test->run();
        exit(0);
    }
    seed_child = child;
    alarm(loop->timeout_seconds);
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
    }
    alarm(0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        _exit(77);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        return true;
    }
    if (seed_is_late) {
        fprintf(stderr, "seed %" PRIu64 " runs for ever\n", seed);
    } else if (WIFSIGNALED(status)) {
        fprintf(stderr, "seed %" PRIu64 " is killed by signal %d\n", seed, WTERMSIG(status));
    } else {
        fprintf(stderr, "seed %" PRIu64 " ends with status %d\n", seed, WEXITSTATUS(status));
    }
    return false;
}

static int run_seeds(const struct test_case *test, const struct seed_loop *loop)
{
    struct sigaction action = {.sa_handler = seed_end_child};
    sigaction(SIGALRM, &action, NULL);
    for (uint64_t i = 0; i < loop->count; i++) {
        seed = loop->first + i;
        if (!seed_run(test, loop)) {
            fprintf(stderr, "failing seed: %" PRIu64 "\n", seed);
            return 1;
        }
    }
    return 0;
}

static int run_case(const struct test_case *test, const struct seed_loop *loop)
{
    seed = loop->first;
    if (loop->count == 1) {
        test->run();
    } else if (run_seeds(test, loop) != 0) {
        return 1;
    }
    fflush(NULL);
    printf("passed: %s\n", test->name);
    fflush(NULL);
    return 0;
}

static void list_cases(void)
{
    for (struct test_case *test = first; test != NULL; test = test->next) {
        printf("%s %u%s\n", test->name, timeout_seconds, test->is_seeded ? " seeded" : "");
    }
}

static int usage(const char *binary)
{
    fprintf(stderr, "usage: %s --list | CASE [--seed FIRST] [--seeds COUNT]\n", binary);
    return 2;
}

/* Reads the options behind the case's name; false if there is something else. */
static bool read_options(struct seed_loop *loop, int argc, char **argv)
{
    const char *limit = getenv("ORRERY_SEED_TIMEOUT");
    *loop = (struct seed_loop){.first = 1, .count = 1, .timeout_seconds = timeout_seconds};
    if (limit != NULL) {
        loop->timeout_seconds = (unsigned)strtoul(limit, NULL, 10);
    }
    for (int i = 2; i < argc; i += 2) {
        char *end = NULL;
        uint64_t number = i + 1 < argc ? strtoull(argv[i + 1], &end, 0) : 0;
        if (end == NULL || *end != '\0') {
            return false;
        }
        if (strcmp(argv[i], "--seed") == 0) {
            loop->first = number;
        } else if (strcmp(argv[i], "--seeds") == 0 && number > 0) {
            loop->count = number;
        } else {
            return false;
        }
    }
    return true;
}

/* A lane may ask for io_uring, which not every system allows. */
static void skip_without_uring(void)
{
    const char *poller = getenv("ORRERY_POLLER");
    if (poller != NULL && strcmp(poller, "io_uring") == 0 &&
        syscall(SYS_io_uring_setup, 0, NULL) < 0 && (errno == ENOSYS || errno == EPERM)) {
        test_skip("the system has or allows no io_uring");
    }
}

int main(int argc, char **argv)
{
    struct seed_loop loop;
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        list_cases();
        return 0;
    }
    if (argc < 2 || !read_options(&loop, argc, argv)) {
        return usage(argv[0]);
    }
    for (struct test_case *test = first; test != NULL; test = test->next) {
        if (strcmp(argv[1], test->name) == 0) {
            skip_without_uring();
            return run_case(test, &loop);
        }
    }
    return usage(argv[0]);
}
