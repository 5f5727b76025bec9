/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands, help, completion, and what every command needs. */
#define _GNU_SOURCE
#include "orrery.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "completion.h"

#ifndef ORRERY_VERSION
#define ORRERY_VERSION "unknown"
#endif

static const struct command *const commands[] = {
    &command_dump, &command_stats, &command_trace, &command_journal, &command_sim, &command_lint,
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

void tool_complain(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fputs("orrery: ", stderr);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
}

int tool_misused(const char *command, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fprintf(stderr, "orrery %s: ", command);
    vfprintf(stderr, format, list);
    fprintf(stderr, "; try: orrery %s --help\n", command);
    va_end(list);
    return TOOL_USAGE;
}

bool tool_number(const char *text, uint64_t *number)
{
    char *end = NULL;
    if (text[0] < '0' || text[0] > '9') {
        return false;
    }
    errno = 0;
    unsigned long long value = strtoull(text, &end, 0);
    if (errno != 0 || *end != '\0') {
        return false;
    }
    *number = value;
    return true;
}

void *tool_realloc(void *memory, size_t count, size_t size)
{
    void *grown = reallocarray(memory, count == 0 ? 1 : count, size);
    if (grown == NULL) {
        tool_complain("no memory for %zu things of %zu bytes", count, size);
        exit(TOOL_UNABLE);
    }
    return grown;
}

void *tool_grow(void *memory, size_t count, size_t size)
{
    /* Twice as much whenever the count comes to a power of two. */
    bool is_full = (count & (count - 1)) == 0;
    return is_full ? tool_realloc(memory, count == 0 ? 1 : 2 * count, size) : memory;
}

void *tool_alloc(size_t count, size_t size)
{
    void *memory = tool_realloc(NULL, count, size);
    memset(memory, 0, (count == 0 ? 1 : count) * size);
    return memory;
}

char *tool_copy(const char *text)
{
    size_t length = strlen(text);
    char *copy = tool_alloc(length + 1, 1);
    memcpy(copy, text, length);
    return copy;
}

const char *tool_duration(uint64_t ns, char text[static 24])
{
    if (ns < 1000) {
        snprintf(text, 24, "%" PRIu64 " ns", ns);
    } else if (ns < 1000000) {
        snprintf(text, 24, "%.1f us", (double)ns / 1e3);
    } else if (ns < 1000000000) {
        snprintf(text, 24, "%.1f ms", (double)ns / 1e6);
    } else {
        snprintf(text, 24, "%.1f s", (double)ns / 1e9);
    }
    return text;
}

static const struct command *command_named(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            return commands[i];
        }
    }
    return NULL;
}

static void print_overview(FILE *out)
{
    fputs("usage: orrery COMMAND [OPTIONS] ...\n\n"
          "Looks at programs that use the Orrery runtime.\n\n",
          out);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        fprintf(out, "    %-10s %s\n", commands[i]->name, commands[i]->about);
    }
    fputs(
        "    completion prints the completions of a shell: bash, zsh or fish\n"
        "    help       explains a command: orrery help dump\n\n"
        "A running program can be looked at if it was started with ORRERY_OBSERVE=1 in its\n"
        "environment, or if its rt_config says so; only its own user can. Every command that\n"
        "shows something takes --json.\n\n"
        "Exit status: 0 fine; 1 it found what it looks for: a failed run, a deadlock, a finding;\n"
        "2 wrong usage; 3 a file, a process or a program it needs is not there or is broken.\n",
        out);
}

static int run_help(int argc, char **argv)
{
    if (argc < 2) {
        print_overview(stdout);
        return TOOL_FINE;
    }
    const struct command *command = command_named(argv[1]);
    if (command == NULL) {
        tool_complain("there is no command %s; try: orrery --help", argv[1]);
        return TOOL_USAGE;
    }
    fputs(command->help, stdout);
    return TOOL_FINE;
}

static int run_completion(int argc, char **argv)
{
    const char *script = argc == 2 ? completion_for(argv[1]) : NULL;
    if (script == NULL) {
        tool_complain("usage: orrery completion bash|zsh|fish");
        return TOOL_USAGE;
    }
    fputs(script, stdout);
    return TOOL_FINE;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        print_overview(stderr);
        return TOOL_USAGE;
    }
    const char *word = argv[1];
    if (is_help(word)) {
        print_overview(stdout);
        return TOOL_FINE;
    }
    if (strcmp(word, "--version") == 0) {
        puts("orrery " ORRERY_VERSION);
        return TOOL_FINE;
    }
    if (strcmp(word, "help") == 0) {
        return run_help(argc - 1, argv + 1);
    }
    if (strcmp(word, "completion") == 0) {
        return run_completion(argc - 1, argv + 1);
    }
    const struct command *command = command_named(word);
    if (command == NULL) {
        tool_complain("there is no command %s; try: orrery --help", word);
        return TOOL_USAGE;
    }
    if (argc == 3 && is_help(argv[2])) {
        fputs(command->help, stdout);
        return TOOL_FINE;
    }
    return command->run(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    int status = run(argc, argv);
    /* A full disk or a closed pipe must not look like success. */
    if (fflush(stdout) != 0 || ferror(stdout) != 0) {
        return errno == EPIPE ? status : TOOL_UNABLE;
    }
    return status;
}
