/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_H
#define TEST_H

/* What a test file is written with. A case is a sentence:
 *
 *     TEST(pool_free_of_a_free_block_panics) { CHECK_PANICS("pool", rti_pool_free(&p, b)); }
 *
 * The binary runs one case per process: `--list` prints the names, `NAME` runs one. The runner
 * (test/runner/run) makes the processes, the time limits and the counting. A file that needs more
 * than the default 20 s per case says so once: TEST_TIMEOUT(60);
 *
 * A seeded case runs once per seed, and the runner chooses the seeds:
 *
 *     TEST_SEEDED(sim_keeps_the_order_of_equal_deadlines) { run_with(test_seed()); } */

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct test_case {
    const char *name;
    void (*run)(void);
    bool is_seeded;
    struct test_case *next;
};

void test_register(struct test_case *test);
void test_set_timeout(unsigned seconds);

/* The seed of this run of a seeded case; 1 if nobody chose. */
uint64_t test_seed(void);

_Noreturn void test_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Skips the case with a reason: only for what the lane cannot do (no second thread under an
 * emulator), never for what fails. The runner counts and prints skips. */
_Noreturn void test_skip(const char *reason);

/* Forks, runs `body` in the child and demands that it ends by abort with `module` in the panic
 * line. */
void test_expect_panic(const char *file, int line, const char *module, void (*body)(void *arg),
                       void *arg);

#define TEST(name)        TEST_DEFINE(name, false)
#define TEST_SEEDED(name) TEST_DEFINE(name, true)

#define TEST_DEFINE(name, seeded)                                                                  \
    static void name(void);                                                                        \
    __attribute__((constructor)) static void name##_register(void)                                 \
    {                                                                                              \
        static struct test_case test = {#name, name, seeded, NULL};                                \
        test_register(&test);                                                                      \
    }                                                                                              \
    static void name(void)

#define TEST_TIMEOUT(seconds)                                                                      \
    __attribute__((constructor)) static void test_timeout_register(void)                           \
    {                                                                                              \
        test_set_timeout(seconds);                                                                 \
    }                                                                                              \
    struct test_case

#define CHECK(c)                                                                                   \
    do {                                                                                           \
        if (!(c)) {                                                                                \
            test_fail(__FILE__, __LINE__, "%s", #c);                                               \
        }                                                                                          \
    } while (0)

/* For integers of any type: prints both. */
#define CHECK_EQ(actual, wanted)                                                                   \
    do {                                                                                           \
        intmax_t test_actual = (intmax_t)(actual);                                                 \
        intmax_t test_wanted = (intmax_t)(wanted);                                                 \
        if (test_actual != test_wanted) {                                                          \
            test_fail(__FILE__, __LINE__, "%s is %lld, wanted %lld", #actual,                      \
                      (long long)test_actual, (long long)test_wanted);                             \
        }                                                                                          \
    } while (0)

#define CHECK_STR(actual, wanted)                                                                  \
    do {                                                                                           \
        const char *test_actual = (actual);                                                        \
        const char *test_wanted = (wanted);                                                        \
        if (test_actual == NULL || strcmp(test_actual, test_wanted) != 0) {                        \
            test_fail(__FILE__, __LINE__, "%s is \"%s\", wanted \"%s\"", #actual,                  \
                      test_actual ? test_actual : "(null)", test_wanted);                          \
        }                                                                                          \
    } while (0)

/* For an rt_status: compares the code, prints the names. */
#define CHECK_STATUS(status, wanted)                                                               \
    do {                                                                                           \
        rt_status test_status = (status);                                                          \
        if (test_status.code != (wanted)) {                                                        \
            test_fail(__FILE__, __LINE__, "%s is %s, wanted %s", #status,                          \
                      rt_status_name(test_status.code), rt_status_name(wanted));                   \
        }                                                                                          \
    } while (0)

#define CHECK_OK(status) CHECK_STATUS(status, RT_OK)

#define CHECK_PANICS(module, body, arg) test_expect_panic(__FILE__, __LINE__, module, body, arg)

#endif
