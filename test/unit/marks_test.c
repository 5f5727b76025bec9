/* SPDX-License-Identifier: Apache-2.0 */
/* Marks are hit for the life of a process, and each case has its own. */
#define _GNU_SOURCE
#define RTI_MODULE "marks_test"
#include "base/marks.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/test.h"

#define SITES  400
#define PASSES 400

/* Reads a whole small file; what is not there is empty. */
static void file_read(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "r");
    size_t length = file != NULL ? fread(text, 1, size - 1, file) : 0;
    text[length] = '\0';
    if (file != NULL) {
        fclose(file);
    }
}

TEST(mark_is_hit_once_and_only_if_it_was_passed)
{
    static struct rti_mark passed = {"test mark: passed", NULL, 0};
    CHECK(!rti_mark_was_hit("test mark: passed"));
    CHECK_EQ(rti_marks_audit(), 0);
    for (int i = 0; i < 3; i++) {
        rti_mark_hit(&passed);
    }
    CHECK(rti_mark_was_hit("test mark: passed"));
    CHECK(!rti_mark_was_hit("test mark"));
    CHECK_EQ(rti_marks_audit(), 1);
}

static struct rti_mark shared_marks[64];

static void *hit_all(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < RTI_COUNT_OF(shared_marks); i++) {
        rti_mark_hit(&shared_marks[i]);
    }
    return NULL;
}

TEST(mark_hit_by_many_threads_is_listed_once)
{
    pthread_t threads[4];
    for (size_t i = 0; i < RTI_COUNT_OF(shared_marks); i++) {
        shared_marks[i].name = "test mark: shared";
    }
    for (size_t i = 0; i < RTI_COUNT_OF(threads); i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, hit_all, NULL), 0);
    }
    for (size_t i = 0; i < RTI_COUNT_OF(threads); i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    }
    CHECK_EQ(rti_marks_audit(), RTI_COUNT_OF(shared_marks));
}

TEST(marks_are_appended_to_the_file_that_the_environment_names)
{
    char path[] = "/tmp/orrery_marks_XXXXXX";
    char text[256];
    static struct rti_mark one = {"test mark: one", NULL, 0};
    static struct rti_mark two = {"test mark: two", NULL, 0};
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    CHECK_EQ(write(fd, "before\n", 7), 7);
    close(fd);
    setenv("ORRERY_MARKS_FILE", path, 1);
    rti_mark_hit(&one);
    rti_mark_hit(&two);
    rti_marks_write();
    unsetenv("ORRERY_MARKS_FILE");
    file_read(path, text, sizeof(text));
    unlink(path);
    CHECK_STR(text, "before\ntest mark: two\ntest mark: one\n");
}

TEST(marks_beyond_one_write_are_all_written)
{
    static struct rti_mark many[100];
    static char names[100][60];
    static char text[10000];
    char path[] = "/tmp/orrery_marks_XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    for (size_t i = 0; i < RTI_COUNT_OF(many); i++) {
        snprintf(names[i], sizeof(names[i]), "test mark: one of many that fill a buffer %zu", i);
        many[i].name = names[i];
        rti_mark_hit(&many[i]);
    }
    setenv("ORRERY_MARKS_FILE", path, 1);
    rti_marks_write();
    unsetenv("ORRERY_MARKS_FILE");
    file_read(path, text, sizeof(text));
    unlink(path);
    char *at = text;
    for (size_t i = RTI_COUNT_OF(many); i-- > 0;) {
        char *end = strchr(at, '\n');
        CHECK(end != NULL);
        *end = '\0';
        CHECK_STR(at, names[i]);
        at = end + 1;
    }
    CHECK_EQ(*at, '\0');
}

/* Makes `count` sites with different names. */
static struct rti_buggify_site *sites_make(size_t count)
{
    static struct rti_buggify_site sites[SITES];
    static char names[SITES][32];
    for (size_t i = 0; i < count; i++) {
        snprintf(names[i], sizeof(names[i]), "test site %zu", i);
        sites[i] = (struct rti_buggify_site){.mark = {.name = names[i]}};
    }
    return sites;
}

/* So many of `passes` passes fire. */
static size_t site_fires(struct rti_buggify_site *site, size_t passes)
{
    size_t fired = 0;
    for (size_t i = 0; i < passes; i++) {
        fired += rti_buggify_fires(site) ? 1 : 0;
    }
    return fired;
}

TEST(buggify_never_fires_unless_it_is_enabled)
{
    struct rti_buggify_site *sites = sites_make(SITES);
    for (size_t i = 0; i < SITES; i++) {
        CHECK_EQ(site_fires(&sites[i], 20), 0);
    }
    rti_buggify_enable(7);
    rti_buggify_disable();
    for (size_t i = 0; i < SITES; i++) {
        CHECK_EQ(site_fires(&sites[i], 20), 0);
    }
    CHECK_EQ(rti_marks_audit(), 0);
}

TEST(buggify_makes_a_quarter_of_the_sites_live_and_these_fire_in_a_quarter_of_passes)
{
    struct rti_buggify_site *sites = sites_make(SITES);
    size_t live = 0;
    size_t fired = 0;
    rti_buggify_enable(1);
    for (size_t i = 0; i < SITES; i++) {
        size_t fires = site_fires(&sites[i], PASSES);
        live += fires > 0 ? 1 : 0;
        fired += fires;
    }
    /* The seed is fixed, so these are facts; the bounds say what a good seed must look like. */
    CHECK(live > SITES / 4 - 30 && live < SITES / 4 + 30);
    CHECK(fired > live * PASSES * 23 / 100 && fired < live * PASSES * 27 / 100);
    CHECK_EQ(rti_marks_audit(), live);
}

TEST(buggify_makes_every_site_live_under_some_seed)
{
    struct rti_buggify_site *sites = sites_make(20);
    size_t live[20] = {0};
    for (uint64_t seed = 0; seed < 100; seed++) {
        rti_buggify_enable(seed);
        for (size_t i = 0; i < 20; i++) {
            live[i] += site_fires(&sites[i], 40) > 0 ? 1 : 0;
        }
    }
    for (size_t i = 0; i < 20; i++) {
        CHECK(live[i] > 5 && live[i] < 55);
    }
}

TEST(buggify_repeats_exactly_for_a_seed_and_differs_for_another)
{
    enum { COUNT = 64 };
    static bool first[COUNT][PASSES];
    size_t differences = 0;
    struct rti_buggify_site *sites = sites_make(COUNT);
    rti_buggify_enable(42);
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t pass = 0; pass < PASSES; pass++) {
            first[i][pass] = rti_buggify_fires(&sites[i]);
        }
    }
    /* The same passes in another order among the sites. */
    rti_buggify_enable(42);
    for (size_t pass = 0; pass < PASSES; pass++) {
        for (size_t i = COUNT; i-- > 0;) {
            CHECK_EQ(rti_buggify_fires(&sites[i]), first[i][pass]);
        }
    }
    rti_buggify_enable(43);
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t pass = 0; pass < PASSES; pass++) {
            differences += rti_buggify_fires(&sites[i]) != first[i][pass] ? 1 : 0;
        }
    }
    CHECK(differences > PASSES);
}

TEST(buggify_site_that_fires_hits_its_mark)
{
    struct rti_buggify_site *sites = sites_make(SITES);
    rti_buggify_enable(5);
    for (size_t i = 0; i < SITES; i++) {
        size_t fired = site_fires(&sites[i], 50);
        CHECK_EQ(rti_mark_was_hit(sites[i].mark.name), fired > 0);
    }
}

TEST(marks_cost_nothing_without_checks_and_are_hit_with_them)
{
    int evaluated = 0;
    bool fired = false;
    RT_SOMETIMES(++evaluated == 1, "test mark: by macro");
    RT_SOMETIMES(evaluated == 2, "test mark: never true");
    rti_buggify_enable(1);
    for (int i = 0; i < 100; i++) {
        fired |= RT_BUGGIFY("test site live under seed 1");
    }
    CHECK_EQ(evaluated, RT_CHECKS);
    CHECK_EQ(rti_mark_was_hit("test mark: by macro"), RT_CHECKS);
    CHECK(!rti_mark_was_hit("test mark: never true"));
    CHECK_EQ(rti_mark_was_hit("test site live under seed 1"), fired);
}
