/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_TOOL_H
#define ORRERY_TOOL_H

/* The command line tool: one program, a command for each way to look at a program.
 *
 * A command is a file with one row of the table in main.c. It reads its own options, writes its
 * result to standard output and what went wrong to standard error, and ends with one of four
 * statuses. With --json the result is one JSON document and nothing else. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What the tool ends with. */
enum {
    TOOL_FINE = 0,
    TOOL_FOUND = 1, /* it did its work and found what it looks for: a failure, a deadlock */
    TOOL_USAGE = 2, /* the command line makes no sense */
    TOOL_UNABLE = 3 /* a file, a process or a program that it needs is not there, or is broken */
};

struct command {
    const char *name;
    const char *about; /* one line of the overview */
    const char *help;  /* what `orrery help NAME` prints */
    int (*run)(int argc, char **argv);
};

extern const struct command command_dump;
extern const struct command command_journal;
extern const struct command command_lint;
extern const struct command command_sim;
extern const struct command command_stats;
extern const struct command command_trace;

/* Says on standard error, as `orrery: ...`, what is wrong. */
void tool_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Complains about the command line and gives TOOL_USAGE. */
int tool_misused(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Reads a whole unsigned number, decimal or 0x hexadecimal; false if it is none. */
bool tool_number(const char *text, uint64_t *number);

/* Memory that is there, or the end of the tool. */
void *tool_alloc(size_t count, size_t size);
void *tool_realloc(void *memory, size_t count, size_t size);
char *tool_copy(const char *text);

/* Room for one more than `count`, of an array that grew by nothing else. */
void *tool_grow(void *memory, size_t count, size_t size);

/* Reads everything from a stream. */
void *tool_read_all(FILE *stream, size_t *size);

/* Writes a time span for people: "120 ns", "3.4 ms", "2.0 s". */
const char *tool_duration(uint64_t ns, char text[static 24]);

#endif
