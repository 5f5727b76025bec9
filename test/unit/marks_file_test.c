/* SPDX-License-Identifier: Apache-2.0 */
/* The file of hit marks as many processes at once write it. */
#define _GNU_SOURCE
#define RTI_MODULE "marks_file_test"
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "port/port.h"
#include "support/test.h"

#define PROCESSES 4
#define APPENDS   50

static char path[] = "/tmp/orrery_marks_file_XXXXXX";

/* Makes an empty file and lets the environment name it. */
static void file_make(void)
{
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    setenv("ORRERY_MARKS_FILE", path, 1);
}

/* Removes the file again; the process writes its own marks nowhere. */
static void file_remove(void)
{
    unlink(path);
    unsetenv("ORRERY_MARKS_FILE");
}

TEST(marks_file_is_made_if_it_is_not_there)
{
    struct stat stat_now;
    file_make();
    unlink(path);
    rti_port_marks_append("a\n", 2);
    CHECK_EQ(stat(path, &stat_now), 0);
    CHECK_EQ(stat_now.st_size, 2);
    file_remove();
}

TEST(marks_file_is_not_written_if_nobody_names_one)
{
    struct stat stat_now;
    file_make();
    setenv("ORRERY_MARKS_FILE", "", 1);
    rti_port_marks_append("a\n", 2);
    unsetenv("ORRERY_MARKS_FILE");
    rti_port_marks_append("a\n", 2);
    CHECK_EQ(stat(path, &stat_now), 0);
    CHECK_EQ(stat_now.st_size, 0);
    file_remove();
}

TEST(marks_file_that_cannot_be_opened_is_reported_and_survived)
{
    char text[256] = "";
    int fds[2];
    int saved = dup(STDERR_FILENO);
    CHECK_EQ(pipe(fds), 0);
    setenv("ORRERY_MARKS_FILE", "/proc/no/such/folder", 1);
    dup2(fds[1], STDERR_FILENO);
    rti_port_marks_append("a\n", 2);
    dup2(saved, STDERR_FILENO);
    close(fds[1]);
    CHECK(read(fds[0], text, sizeof(text) - 1) > 0);
    CHECK_STR(text, "orrery: cannot open the file that ORRERY_MARKS_FILE names\n");
    unsetenv("ORRERY_MARKS_FILE");
}

/* Each process appends lines of its own letter. */
static void append_many(int process)
{
    char line[1001];
    memset(line, 'a' + process, sizeof(line) - 1);
    line[sizeof(line) - 1] = '\n';
    for (int i = 0; i < APPENDS; i++) {
        rti_port_marks_append(line, sizeof(line));
    }
}

TEST(marks_file_keeps_lines_whole_when_many_processes_append)
{
    static char line[2000];
    int counts[PROCESSES] = {0};
    file_make();
    for (int i = 0; i < PROCESSES; i++) {
        if (fork() == 0) {
            append_many(i);
            _exit(0);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = 1;
        CHECK(wait(&status) > 0);
        CHECK_EQ(status, 0);
    }
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    while (fgets(line, sizeof(line), file) != NULL) {
        int process = line[0] - 'a';
        CHECK_EQ(strlen(line), 1001);
        CHECK_EQ(strspn(line, (char[]){line[0], '\0'}), 1000);
        CHECK(process >= 0 && process < PROCESSES);
        counts[process]++;
    }
    fclose(file);
    for (int i = 0; i < PROCESSES; i++) {
        CHECK_EQ(counts[i], APPENDS);
    }
    file_remove();
}
