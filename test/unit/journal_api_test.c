/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <orrery/rt.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/test.h"

#define EVENTS 64

static rt_journal journal;
static uint64_t ring[RT_JOURNAL_BYTES(EVENTS) / sizeof(uint64_t)];
static uint64_t file[4096 / sizeof(uint64_t)];

static void marker(void *arg)
{
    for (uint64_t i = 0; i < (uint64_t)(uintptr_t)arg; i++) {
        rt_sim_mark(1000 + i);
        rt_yield();
    }
    rt_exit();
}

/* Runs in the simulator with the journal; returns the report. */
static rt_sim_report simulate(uint64_t seed, uint64_t marks)
{
    rt_sim_report report;
    rt_sim_config config = {.seed = seed, .report = &report, .journal = &journal};
    CHECK_OK(rt_sim_run(&config, marker, (void *)(uintptr_t)marks));
    return report;
}

static rt_journal_view saved(void)
{
    char path[] = "/tmp/orrery_journal_XXXXXX";
    rt_journal_view view;
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    unlink(path);
    CHECK_OK(rt_journal_save(&journal, fd));
    ssize_t size = pread(fd, file, sizeof(file), 0);
    CHECK(size > 0);
    close(fd);
    CHECK_OK(rt_journal_parse(file, (size_t)size, &view));
    return view;
}

TEST(journal_of_a_simulated_run_has_its_trace_hash_as_digest)
{
    CHECK_OK(rt_journal_init(&journal, ring, sizeof(ring)));
    for (uint64_t seed = 1; seed < 5; seed++) {
        rt_sim_report report = simulate(seed, 3);
        CHECK(rt_journal_digest(&journal) == report.trace_hash);
        CHECK(saved().head.digest == report.trace_hash);
    }
    uint64_t digest = rt_journal_digest(&journal);
    (void)simulate(4, 3);
    CHECK(rt_journal_digest(&journal) == digest);
    (void)simulate(4, 4);
    CHECK(rt_journal_digest(&journal) != digest);
}

TEST(journal_that_is_saved_is_read_back_event_by_event)
{
    rt_journal_record record = {.seq = 0};
    uint64_t marks = 0;
    CHECK_OK(rt_journal_init(&journal, ring, sizeof(ring)));
    (void)simulate(1, 3);
    rt_journal_view view = saved();
    CHECK_EQ(view.head.written, rt_journal_written(&journal));
    CHECK_EQ(view.head.count, view.head.written);
    for (uint64_t i = 0; i < view.head.count; i++) {
        CHECK_OK(rt_journal_view_record(&view, i, &record));
        CHECK_EQ(record.seq, i + 1);
        if (strcmp(rt_journal_view_kind(&view, record.kind), "mark") == 0) {
            CHECK_EQ(record.value, 1000 + marks);
            marks++;
        }
    }
    CHECK_EQ(marks, 3);
    CHECK_EQ(rt_journal_view_record(&view, view.head.count, &record).code, RT_ERR_INVALID);
    CHECK_EQ(record.seq, view.head.count);
    CHECK_STR(rt_journal_view_kind(&view, view.head.kind_count), "unknown");
}

TEST(journal_keeps_the_latest_events_and_counts_the_lost)
{
    CHECK_OK(rt_journal_init(&journal, ring, RT_JOURNAL_BYTES(4)));
    (void)simulate(1, 50);
    rt_journal_view view = saved();
    CHECK_EQ(view.head.count, 4);
    CHECK(view.head.written > 100);
    CHECK_EQ(view.head.written, rt_journal_written(&journal));
}

static void starter(void *arg)
{
    (void)arg;
    CHECK_OK(rt_journal_start(&journal));
    CHECK_EQ(rt_journal_start(&journal).code, RT_ERR_STATE);
    rt_yield();
    CHECK_OK(rt_journal_stop(&journal));
    CHECK_EQ(rt_journal_stop(&journal).code, RT_ERR_STATE);
    rt_exit();
}

TEST(journal_of_a_real_run_has_what_came_between_start_and_stop)
{
    CHECK_OK(rt_journal_init(&journal, ring, sizeof(ring)));
    CHECK_OK(rt_init());
    CHECK(rt_spawn(starter, NULL) != ACTOR_ID_INVALID);
    rt_run();
    uint64_t written = rt_journal_written(&journal);
    CHECK(written > 0);
    CHECK(rt_spawn(marker, (void *)3) != ACTOR_ID_INVALID);
    rt_run();
    CHECK_EQ(rt_journal_written(&journal), written);
    rt_cleanup();
    CHECK_EQ(saved().head.written, written);
}

TEST(journal_of_a_runtime_that_ended_stays_readable)
{
    CHECK_OK(rt_journal_init(&journal, ring, sizeof(ring)));
    CHECK_OK(rt_init());
    CHECK_OK(rt_journal_start(&journal));
    CHECK(rt_spawn(marker, (void *)2) != ACTOR_ID_INVALID);
    rt_run();
    rt_cleanup();
    CHECK(saved().head.written > 4);
}

TEST(journal_refuses_what_is_none_and_rings_that_cannot_hold_an_event)
{
    rt_journal other = {.opaque = {0}};
    rt_sim_config config = {.journal = &other};
    CHECK_EQ(rt_journal_init(NULL, ring, sizeof(ring)).code, RT_ERR_INVALID);
    CHECK_EQ(rt_journal_init(&other, ring, RT_JOURNAL_BYTES(1) - 1).code, RT_ERR_INVALID);
    CHECK_EQ(rt_journal_init(&other, NULL, RT_JOURNAL_BYTES(1)).code, RT_ERR_INVALID);
    CHECK_EQ(rt_journal_init(&other, ring, 0).code, RT_ERR_INVALID);
    CHECK_EQ(rt_journal_init(&other, (char *)ring + 1, RT_JOURNAL_BYTES(1)).code, RT_ERR_INVALID);
    CHECK_EQ(rt_journal_start(&other).code, RT_ERR_INVALID);
    CHECK_EQ(rt_journal_stop(&other).code, RT_ERR_INVALID);
    CHECK_EQ(rt_journal_save(&other, 1).code, RT_ERR_INVALID);
    CHECK_EQ(rt_journal_export(&other, NULL, NULL).code, RT_ERR_INVALID);
    CHECK_EQ(rt_sim_run(&config, marker, NULL).code, RT_ERR_INVALID);
    CHECK(rt_journal_digest(&other) == 0);
    CHECK(rt_journal_written(NULL) == 0);
    CHECK_OK(rt_journal_init(&other, NULL, 0));
    CHECK_EQ(rt_journal_start(&other).code, RT_ERR_THREAD);
    CHECK_EQ(rt_journal_stop(&other).code, RT_ERR_THREAD);
    CHECK_EQ(rt_journal_parse(NULL, 0, NULL).code, RT_ERR_INVALID);
}

TEST(journal_save_reports_what_the_system_says_and_leaves_errno)
{
    CHECK_OK(rt_journal_init(&journal, ring, sizeof(ring)));
    (void)simulate(1, 3);
    errno = 17;
    rt_status status = rt_journal_save(&journal, -1);
    CHECK_EQ(status.code, RT_ERR_IO);
    CHECK(status.msg != NULL);
    CHECK_EQ(errno, 17);
    int full = open("/dev/full", O_WRONLY);
    if (full >= 0) {
        CHECK_EQ(rt_journal_save(&journal, full).code, RT_ERR_IO);
        close(full);
    }
}
