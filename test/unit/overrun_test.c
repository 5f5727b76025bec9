/* SPDX-License-Identifier: Apache-2.0 */
/* Turns that take too long on the parallel engine: who is told of, how, and who is not. What a case
 * waits for is a count, never a time. */
#define _GNU_SOURCE
#define RTI_MODULE "overrun_test"
#include <fcntl.h>
#include <orrery/rt.h>
#include <unistd.h>

#include "port/port.h"
#include "support/test.h"

#define LIMIT (30 * RT_NS_PER_MS)

static rti_atomic_u32 is_over;
static char text[4096];
static int pipes[2];
static int saved;

/* Computes until somebody ends it. */
static RTI_NOINLINE void compute(void)
{
    while (rti_u32_load_relaxed(&is_over) == 0) {
        rti_spin_hint();
    }
}

static void *task_that_computes(void *arg)
{
    compute();
    return arg;
}

static void actor_that_computes(void *arg)
{
    (void)arg;
    compute();
    rt_exit();
}

static uint64_t overruns(void)
{
    struct rt_stats stats;
    CHECK_OK(rt_stats(&stats));
    return stats.overruns;
}

/* Takes in what was said meanwhile. */
static void listen(void)
{
    size_t length = strlen(text);
    ssize_t got = read(pipes[0], text + length, sizeof(text) - 1 - length);
    text[length + (got > 0 ? (size_t)got : 0)] = '\0';
}

/* Ends the others when these words are said. On a machine that is busy with other things any turn
 * may be a long one: more may be told of than are meant. */
static void *ends_them_when_told(void *words)
{
    while (listen(), strstr(text, words) == NULL) {
        CHECK_OK(rt_sleep(RT_NS_PER_MS));
    }
    CHECK(overruns() > 0);
    rti_u32_store_relaxed(&is_over, 1);
    return NULL;
}

static void open_runtime(rt_time after)
{
    CHECK(pipe2(pipes, O_NONBLOCK) == 0);
    saved = dup(2);
    CHECK(saved >= 0 && dup2(pipes[1], 2) == 2);
    CHECK_OK(rt_init_ex(&(rt_config){.workers = 2, .overrun_after = after}));
}

/* Runs, and returns the first line that begins so, with what follows. */
static char *run_any(const char *words)
{
    rt_run();
    rt_cleanup();
    CHECK(dup2(saved, 2) == 2);
    listen();
    char *line = strstr(text, words);
    CHECK(line != NULL);
    return line;
}

/* The same; demands that it is the only one. */
static const char *run(const char *words)
{
    char *line = run_any(words);
    CHECK(strstr(line + 1, words) == NULL);
    line[strcspn(line, "\n")] = '\0';
    return line;
}

TEST(overrun_of_a_task_is_told_in_one_line_and_counted)
{
    open_runtime(LIMIT);
    CHECK_OK(rt_detach(rt_go(task_that_computes, NULL)));
    char words[] = "orrery: watchdog: task task_that_computes (1) keeps a worker since ";
    CHECK_OK(rt_detach(rt_go(ends_them_when_told, words)));
    const char *line = run(words);
    CHECK(strstr(line, " ms, spawned at ") != NULL);
    CHECK(strstr(line, "overrun_test.c:") != NULL);
    CHECK(strstr(line, ", at overrun_test+0x") != NULL);
    /* The function that computes, and who called it. */
    CHECK(strstr(line, " < overrun_test+0x") != NULL);
}

TEST(overrun_of_an_actor_is_told_with_its_name)
{
    open_runtime(LIMIT);
    CHECK(rt_spawn_ex(actor_that_computes, NULL,
                      &(actor_config){.name = "miller", .priority = 2}) != ACTOR_ID_INVALID);
    char words[] = "orrery: watchdog: actor miller (";
    CHECK_OK(rt_detach(rt_go(ends_them_when_told, words)));
    const char *line = run(words);
    CHECK(strstr(line, ", spawned at overrun_test+0x") != NULL);
    CHECK(strstr(line, ", at overrun_test+0x") != NULL);
}

static rt_status poll_that_computes(void *state, rt_cx *cx)
{
    (void)state;
    (void)cx;
    compute();
    return RT_SUCCESS;
}

TEST(overrun_of_who_has_no_stack_is_told)
{
    open_runtime(LIMIT);
    CHECK_OK(rt_async_detach(rt_async(poll_that_computes, NULL)));
    char words[] = "orrery: watchdog: something without a stack keeps a worker since ";
    CHECK_OK(rt_detach(rt_go(ends_them_when_told, words)));
    CHECK(strstr(run_any(words), ", at overrun_test+0x") != NULL);
}

static void *ends_them_later(void *arg)
{
    CHECK_OK(rt_sleep(4 * LIMIT));
    CHECK_EQ(overruns(), 0);
    rti_u32_store_relaxed(&is_over, 1);
    rti_port_log("nothing else");
    return arg;
}

TEST(overrun_is_not_told_where_nobody_wants_to_know)
{
    open_runtime(RT_TIME_NEVER);
    CHECK_OK(rt_detach(rt_go(task_that_computes, NULL)));
    CHECK_OK(rt_detach(rt_go(ends_them_later, NULL)));
    CHECK_STR(run("orrery: "), "orrery: nothing else");
}
