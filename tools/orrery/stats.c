/* SPDX-License-Identifier: Apache-2.0 */
/* orrery stats: the counters of a running program, once or again and again. */
#define _GNU_SOURCE
#include <getopt.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "json.h"
#include "report.h"

struct stats_options {
    bool is_json;
    bool is_watching;
    uint64_t interval_ms;
    uint64_t count; /* how often; 0: for ever */
    uint64_t pid;
};

static const struct report_stat *stat_named(const struct report *report, const char *name)
{
    for (size_t i = 0; i < report->stat_count; i++) {
        if (strcmp(report->stats[i].name, name) == 0) {
            return &report->stats[i];
        }
    }
    return NULL;
}

/* `before` is an earlier report, for the changes, or NULL. */
static void print_text(const struct report *report, const struct report *before)
{
    for (size_t i = 0; i < report->stat_count; i++) {
        const struct report_stat *stat = &report->stats[i];
        const struct report_stat *old = before == NULL ? NULL : stat_named(before, stat->name);
        printf("%-28s %12" PRIu64, stat->name, stat->value);
        if (old != NULL && old->value != stat->value) {
            printf("  %+" PRId64, (int64_t)(stat->value - old->value));
        }
        putchar('\n');
    }
}

static void write_json(const struct report *report)
{
    struct json json;
    json_init(&json, stdout);
    json_object(&json, NULL);
    json_number(&json, "now_ns", report->now_ns);
    json_bool(&json, "busy", report->is_busy);
    json_object(&json, "stats");
    for (size_t i = 0; i < report->stat_count; i++) {
        json_number(&json, report->stats[i].name, report->stats[i].value);
    }
    json_end_object(&json);
    json_end_object(&json);
}

static int show(const struct stats_options *options)
{
    struct report before;
    bool has_before = false;
    for (uint64_t i = 0; options->count == 0 || i < options->count; i++) {
        struct report report;
        if (!report_of(&report, options->pid, "stats")) {
            /* A program that ends while it is watched is no failure. */
            return has_before ? TOOL_FINE : TOOL_UNABLE;
        }
        if (options->is_json) {
            write_json(&report);
        } else {
            if (i > 0) {
                putchar('\n');
            }
            print_text(&report, has_before ? &before : NULL);
        }
        fflush(stdout);
        if (has_before) {
            report_free(&before);
        }
        before = report;
        has_before = true;
        if (options->count == 0 || i + 1 < options->count) {
            struct timespec span = {.tv_sec = (time_t)(options->interval_ms / 1000),
                                    .tv_nsec = (long)(options->interval_ms % 1000) * 1000000};
            nanosleep(&span, NULL);
        }
    }
    report_free(&before);
    return TOOL_FINE;
}

static int run(int argc, char **argv)
{
    static const struct option longs[] = {{"json", no_argument, NULL, 'j'},
                                          {"watch", optional_argument, NULL, 'w'},
                                          {"count", required_argument, NULL, 'c'},
                                          {NULL, 0, NULL, 0}};
    struct stats_options options = {.interval_ms = 1000, .count = 1};
    int option = 0;
    while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        switch (option) {
        case 'j':
            options.is_json = true;
            break;
        case 'w':
            options.count = options.is_watching ? options.count : 0;
            options.is_watching = true;
            if (optarg != NULL && (!tool_number(optarg, &options.interval_ms) ||
                                   options.interval_ms == 0 || options.interval_ms > 86400000)) {
                return tool_misused("stats", "%s is no number of milliseconds", optarg);
            }
            break;
        case 'c':
            options.is_watching = true;
            if (!tool_number(optarg, &options.count) || options.count == 0) {
                return tool_misused("stats", "%s is no number of times", optarg);
            }
            break;
        default:
            return tool_misused("stats", "that is no option of it");
        }
    }
    if (optind + 1 != argc || !tool_number(argv[optind], &options.pid)) {
        return tool_misused("stats", "the number of one process is needed");
    }
    return show(&options);
}

const struct command command_stats = {
    .name = "stats",
    .about = "shows the counters of a running program, also again and again",
    .help = "usage: orrery stats [--watch[=MS]] [--count N] [--json] PID\n"
            "\n"
            "Shows the counters of a program that was started with ORRERY_OBSERVE=1.\n"
            "\n"
            "    --watch[=MS]   again every MS milliseconds (1000), with what has changed\n"
            "    --count N      so many times\n"
            "    --json         a JSON document each time\n"
            "\n"
            "Exit status: 0 shown; 2 wrong usage; 3 there is no such process or it does not let\n"
            "itself be looked at.\n",
    .run = run,
};
