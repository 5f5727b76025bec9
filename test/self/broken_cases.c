/* SPDX-License-Identifier: Apache-2.0 */
/* Cases that go wrong in every way the runner must see; runner_test.py starts them one by one in a
 * runner of its own. */
#define _GNU_SOURCE
#define RTI_MODULE "broken"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/assert.h"
#include "support/test.h"

TEST_TIMEOUT(1);

/* What the compiler must not think through. */
static volatile int zero;
static void *volatile kept;

TEST(good_case_passes)
{
    CHECK_EQ(zero, 0);
}

TEST(bad_case_fails)
{
    CHECK_EQ(zero, 1);
}

TEST(bad_case_hangs)
{
    for (;;) {
        pause();
    }
}

TEST(bad_case_hangs_and_ignores_signals)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    for (;;) {
        zero = 0;
    }
}

TEST(bad_case_crashes)
{
    raise(SIGSEGV);
}

TEST(bad_case_panics)
{
    RT_ASSERT(zero == 1);
}

TEST(bad_case_exits_early)
{
    exit(0);
}

TEST(bad_case_leaves_without_flushing)
{
    _exit(0);
}

TEST(bad_case_skips_without_a_reason)
{
    test_skip("");
}

TEST(good_case_skips)
{
    test_skip("there is no moon tonight");
}

TEST(bad_case_leaks)
{
    kept = malloc(100);
    kept = NULL;
}

TEST(bad_case_uses_freed_memory)
{
    char *memory = malloc(100);
    kept = memory;
    free(memory);
    zero = ((volatile char *)kept)[50] & 0;
}

TEST(bad_case_overflows_an_integer)
{
    volatile int large = INT32_MAX;
    large = large + 1;
}

static int raced;

static void *race(void *arg)
{
    (void)arg;
    raced++;
    return NULL;
}

TEST(bad_case_races)
{
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, race, NULL), 0);
    raced++;
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

/* The child keeps the output open and outlives its parent. */
TEST(good_case_leaves_a_child_behind)
{
    pid_t child = fork();
    if (child == 0) {
        sleep(600);
        _exit(0);
    }
    CHECK(child > 0);
    printf("child %d\n", (int)child);
}

TEST(bad_case_writes_without_end)
{
    for (;;) {
        puts("and on and on and on and on and on and on and on and on and on and on and on and on");
    }
}

TEST_SEEDED(good_case_takes_any_seed)
{
    CHECK(test_seed() >= 1);
}

TEST_SEEDED(bad_case_fails_with_seed_13)
{
    CHECK(test_seed() != 13);
}

TEST_SEEDED(bad_case_panics_with_seed_7)
{
    RT_ASSERT(test_seed() != 7);
}

TEST_SEEDED(bad_case_hangs_with_seed_3)
{
    while (test_seed() == 3) {
        pause();
    }
}
