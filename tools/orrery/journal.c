/* SPDX-License-Identifier: Apache-2.0 */
/* orrery journal: what is in a journal, event by event or as trees of causes. */
#define _GNU_SOURCE
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/rt/status.h>

#include "journal_file.h"
#include "journal_tree.h"
#include "json.h"

struct journal_options {
    bool is_json;
    bool is_tree;
    bool has_task;
    uint32_t task;
    const char *kind; /* NULL: all */
    char **paths;
    size_t path_count;
};

static bool is_wanted(const struct event *event, const struct journal_options *options)
{
    if (options->kind != NULL && strcmp(options->kind, event->name) != 0) {
        return false;
    }
    return !options->has_task || event->record.task == options->task ||
           ((event->kind == EVENT_SEND || event->kind == EVENT_RECV) &&
            event->record.value == options->task);
}

/* What an event means, in words. */
static void print_meaning(const struct event *event)
{
    const rt_journal_record *record = &event->record;
    switch (event->kind) {
    case EVENT_START:
    case EVENT_DISPATCH:
        printf("priority %" PRIu64, record->value);
        break;
    case EVENT_SEND:
    case EVENT_RECV:
        if (record->channel != 0) {
            printf("channel %" PRIu32, record->channel);
        } else {
            printf("%s %" PRIu64, event->kind == EVENT_SEND ? "to" : "from", record->value);
        }
        break;
    case EVENT_WAKE:
        if (event->runner != 0) {
            printf("by %" PRIu32, event->runner);
        }
        break;
    case EVENT_OP:
        printf("op %#" PRIx64 ", code %" PRIu32, record->value, record->channel);
        if (record->timer != 0) {
            printf(", for op %#" PRIx64, record->timer);
        }
        break;
    case EVENT_OP_HOP:
        printf("op %#" PRIx64 ", queue %" PRIu32, record->value, record->channel);
        if (record->timer != 0) {
            printf(", for op %#" PRIx64, record->timer);
        }
        break;
    case EVENT_OP_ANSWER:
    case EVENT_OP_DONE:
        printf("op %#" PRIx64 ", %s", record->value,
               rt_status_name((rt_status_code)(record->channel & 0xff)));
        break;
    case EVENT_OP_TRACE:
    case EVENT_OP_FORWARD:
    case EVENT_OP_TAKE:
    case EVENT_OP_CANCEL:
    case EVENT_OP_RING:
        printf("op %#" PRIx64 ", trace %#" PRIx64, record->value, record->timer);
        break;
    default:
        if (record->channel != 0) {
            printf("channel %" PRIu32 " ", record->channel);
        }
        if (record->timer != 0) {
            printf("timer %" PRIu64 " ", record->timer);
        }
        if (record->value != 0) {
            printf("value %" PRIu64, record->value);
        }
        break;
    }
}

static void print_list(const struct journal_file *file, const struct journal_options *options)
{
    const rt_journal_head *head = &file->view.head;
    uint64_t first_ns = file->count > 0 ? file->events[0].record.time_ns : 0;
    printf("%" PRIu64 " events, the last %zu of them are here; digest 0x%016" PRIx64 "\n",
           head->written, file->count, head->digest);
    printf("%10s %16s  %-10s %10s  %s\n", "event", "seconds", "kind", "task", "");
    for (size_t i = 0; i < file->count; i++) {
        const struct event *event = &file->events[i];
        if (!is_wanted(event, options)) {
            continue;
        }
        uint64_t time_ns = event->record.time_ns - first_ns;
        printf("%10" PRIu64 " %6" PRIu64 ".%09" PRIu64 "  %-10s %10" PRIu32 "  ", event->record.seq,
               time_ns / 1000000000, time_ns % 1000000000, event->name, event->record.task);
        print_meaning(event);
        putchar('\n');
    }
}

static void json_of_event(const struct event *event, struct json *json)
{
    json_object(json, NULL);
    json_number(json, "seq", event->record.seq);
    json_number(json, "time_ns", event->record.time_ns);
    json_text(json, "kind", event->name);
    json_number(json, "task", event->record.task);
    json_number(json, "channel", event->record.channel);
    json_number(json, "timer", event->record.timer);
    json_number(json, "value", event->record.value);
    json_number(json, "runner", event->runner);
    json_end_object(json);
}

static void json_of_events(const struct journal_file *file, const struct journal_options *options,
                           struct json *json)
{
    json_object(json, NULL);
    json_number(json, "written", file->view.head.written);
    json_number(json, "count", file->view.head.count);
    json_hex(json, "digest", file->view.head.digest);
    json_array(json, "events");
    for (size_t i = 0; i < file->count; i++) {
        if (is_wanted(&file->events[i], options)) {
            json_of_event(&file->events[i], json);
        }
    }
    json_end_array(json);
    json_end_object(json);
}

static void write_json(const struct journal_file *files, const struct journal_options *options)
{
    struct json json;
    json_init(&json, stdout);
    json_object(&json, NULL);
    if (options->is_tree) {
        journal_tree_json(files, options->path_count, &json);
    } else {
        json_array(&json, "files");
        for (size_t i = 0; i < options->path_count; i++) {
            json_of_events(&files[i], options, &json);
        }
        json_end_array(&json);
    }
    json_end_object(&json);
}

/* TOOL_FINE, or the status to end with. */
static int read_options(int argc, char **argv, struct journal_options *options)
{
    static const struct option longs[] = {{"tree", no_argument, NULL, 't'},
                                          {"kind", required_argument, NULL, 'k'},
                                          {"task", required_argument, NULL, 'i'},
                                          {"json", no_argument, NULL, 'j'},
                                          {NULL, 0, NULL, 0}};
    int option = 0;
    uint64_t number = 0;
    while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        switch (option) {
        case 't':
            options->is_tree = true;
            break;
        case 'k':
            options->kind = optarg;
            break;
        case 'i':
            if (!tool_number(optarg, &number) || number > UINT32_MAX) {
                return tool_misused("journal", "%s is no task", optarg);
            }
            options->has_task = true;
            options->task = (uint32_t)number;
            break;
        case 'j':
            options->is_json = true;
            break;
        default:
            return tool_misused("journal", "that is no option of it");
        }
    }
    if (optind == argc) {
        return tool_misused("journal", "a file is needed");
    }
    options->paths = argv + optind;
    options->path_count = (size_t)(argc - optind);
    return TOOL_FINE;
}

static int run(int argc, char **argv)
{
    struct journal_options options = {.kind = NULL};
    int status = read_options(argc, argv, &options);
    if (status != TOOL_FINE) {
        return status;
    }
    struct journal_file *files = tool_alloc(options.path_count, sizeof(*files));
    size_t opened = 0;
    while (opened < options.path_count &&
           journal_file_open(&files[opened], options.paths[opened])) {
        opened++;
    }
    if (opened < options.path_count) {
        status = TOOL_UNABLE;
    } else if (options.is_json) {
        write_json(files, &options);
    } else if (options.is_tree) {
        journal_tree_print(files, opened);
    } else {
        for (size_t i = 0; i < opened; i++) {
            print_list(&files[i], &options);
        }
    }
    while (opened > 0) {
        journal_file_close(&files[--opened]);
    }
    free(files);
    return status;
}

const struct command command_journal = {
    .name = "journal",
    .about = "lists the events of a journal file, or the trees of their causes",
    .help =
        "usage: orrery journal [--tree] [--kind NAME] [--task ID] [--json] FILE...\n"
        "\n"
        "Shows what a runtime or a loop recorded (rt_journal_save). FILE may be - for standard\n"
        "input. Of several files, one for each loop of a group, --tree makes one tree.\n"
        "A file that is cut, damaged or of an unknown version is refused.\n"
        "\n"
        "    --tree        who started which task, and which op was submitted for which\n"
        "    --kind NAME   only events of this kind: dispatch, wake, send, op-done, ...\n"
        "    --task ID     only events that concern this task\n"
        "    --json        one JSON document\n"
        "\n"
        "Exit status: 0 shown, 2 wrong usage, 3 the file cannot be read or is no journal.\n",
    .run = run,
};
