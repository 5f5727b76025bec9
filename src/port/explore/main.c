/* SPDX-License-Identifier: Apache-2.0 */

/* The command line of a model program, and what it prints: one line per model and memory, and for
 * a failure what failed, its schedule, the steps one by one, and the command that repeats it. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "port/explore/explore.h"

static const char *const memory_names[] = {"sc", "tso"};
static const char *const reduction_names[] = {"dpor", "sleep", "none"};

struct options {
    const char *program;
    const char *model;      /* NULL: all */
    int memory;             /* -1: both */
    int bound;              /* -1: as the model says; else EXPLORE_BOUND(n), 0 for none */
    int64_t executions_max; /* -1: as the model says */
    enum explore_reduction reduction;
    const char *replay;
};

static struct explore_entry *entries;

void explore_register(struct explore_entry *entry)
{
    struct explore_entry **end = &entries;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = entry;
}

/* `pass NAME_MEMORY`, the size of the search, and how it ended. */
static void print_line(const struct explore_entry *entry, const struct explore_config *config,
                       const struct explore_result *result, const char *verdict)
{
    char name[96];
    char bound[16] = "none";
    bool is_good = result->failure == entry->model->must_fail[config->memory];
    if (config->bound != 0) {
        snprintf(bound, sizeof bound, "%u", config->bound - 1);
    }
    snprintf(name, sizeof name, "%s_%s", entry->name, memory_names[config->memory]);
    printf("%s %-56s bound %-4s %9" PRIu64 " executions %9" PRIu64 " pruned  %-16s %6.2f s\n",
           is_good ? "pass" : "fail", name, bound, result->executions, result->pruned, verdict,
           result->seconds);
}

static void print_failure(const struct options *options, const struct explore_entry *entry,
                          const struct explore_config *config, const struct explore_result *result)
{
    printf("%s (%s): %s: %s\n", entry->name, memory_names[config->memory],
           explore_failure_name(result->failure), result->message);
    if (result->schedule[0] == '\0') {
        return;
    }
    static struct explore_result again;
    struct explore_config replay = *config;
    replay.replay = result->schedule;
    printf("schedule %s\n", result->schedule);
    explore_run(entry->model, &replay, &again);
    printf("repeat it: %s --model %s --memory %s --replay %s\n", options->program, entry->name,
           memory_names[config->memory], result->schedule);
}

/* Returns whether all is as it must be. */
static bool run_one(const struct options *options, const struct explore_entry *entry,
                    enum explore_memory memory)
{
    static struct explore_result result;
    const struct explore_model *model = entry->model;
    struct explore_config config = {
        .memory = memory,
        .reduction = options->reduction,
        .bound = options->bound >= 0 ? (unsigned)options->bound : model->bound[memory],
        .executions_max = options->executions_max >= 0 ? (uint64_t)options->executions_max
                                                       : model->executions_max,
        .replay = options->replay,
    };
    enum explore_failure wanted = model->must_fail[memory];
    explore_run(model, &config, &result);
    bool is_good = result.failure == wanted;
    if (options->replay != NULL) {
        printf("%s (%s): %s%s%s\n", entry->name, memory_names[memory],
               explore_failure_name(result.failure), result.message[0] != '\0' ? ": " : "",
               result.message);
    } else if (!is_good && result.failure == EXPLORE_PASSES) {
        print_line(entry, &config, &result, "failed");
        printf("%s (%s): must fail with %s, and passes\n", entry->name, memory_names[memory],
               explore_failure_name(wanted));
    } else if (!is_good) {
        print_line(entry, &config, &result, "failed");
        print_failure(options, entry, &config, &result);
    } else {
        print_line(entry, &config, &result,
                   wanted != EXPLORE_PASSES ? "fails as it must"
                                            : (result.is_capped ? "capped" : "exhaustive"));
    }
    fflush(stdout);
    return is_good;
}

static int index_of(const char *text, const char *const *names, int count)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(text, names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

_Noreturn static void usage(const struct options *options)
{
    fprintf(stderr,
            "usage: %s [--list] [--model NAME] [--memory sc|tso] [--bound N|none]\n"
            "       [--max-executions N] [--reduction dpor|sleep|none] [--replay SCHEDULE]\n",
            options->program);
    exit(2);
}

static void list_models(void)
{
    for (const struct explore_entry *entry = entries; entry != NULL; entry = entry->next) {
        printf("%s\t%s\n", entry->name, entry->model->about != NULL ? entry->model->about : "");
    }
}

static void parse_option(struct options *options, const char *name, const char *value)
{
    if (strcmp(name, "--model") == 0) {
        options->model = value;
    } else if (strcmp(name, "--memory") == 0) {
        options->memory = index_of(value, memory_names, 2);
        if (options->memory < 0) {
            usage(options);
        }
    } else if (strcmp(name, "--bound") == 0) {
        options->bound = strcmp(value, "none") == 0 ? 0 : (int)EXPLORE_BOUND((unsigned)atoi(value));
    } else if (strcmp(name, "--max-executions") == 0) {
        options->executions_max = atoll(value);
    } else if (strcmp(name, "--reduction") == 0) {
        int reduction = index_of(value, reduction_names, 3);
        if (reduction < 0) {
            usage(options);
        }
        options->reduction = (enum explore_reduction)reduction;
    } else if (strcmp(name, "--replay") == 0) {
        options->replay = value;
    } else {
        usage(options);
    }
}

int main(int argc, char **argv)
{
    struct options options = {.program = argv[0], .memory = -1, .bound = -1, .executions_max = -1};
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        list_models();
        return 0;
    }
    if (argc % 2 == 0) {
        usage(&options);
    }
    for (int i = 1; i < argc; i += 2) {
        parse_option(&options, argv[i], argv[i + 1]);
    }
    unsigned ran = 0;
    unsigned failed = 0;
    for (const struct explore_entry *entry = entries; entry != NULL; entry = entry->next) {
        if (options.model != NULL && strcmp(options.model, entry->name) != 0) {
            continue;
        }
        for (int memory = 0; memory < EXPLORE_MEMORIES; memory++) {
            if (options.memory < 0 || options.memory == memory) {
                ran++;
                failed += !run_one(&options, entry, (enum explore_memory)memory);
            }
        }
    }
    if (ran == 0) {
        fprintf(stderr, "%s: no such model\n", options.program);
        return 2;
    }
    return failed == 0 ? 0 : 1;
}
