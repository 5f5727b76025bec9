/* SPDX-License-Identifier: Apache-2.0 */
/* orrery dump: every task of a running program, what it waits for, and its stack.
 *
 * The program copies its tables and the tops of its parked stacks, a few hundred tasks at a time
 * between its own turns; stacks are unwound and names looked up here. */
#define _GNU_SOURCE
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "picture.h"

/* The waits that have nothing more to tell. */
static const char *plain_wait(const char *what)
{
    static const char *const words[][2] = {
        {"line", "its turn in a line"},
        {"lock", "a lock, semaphore or the like"},
        {"io", "I/O"},
        {"time", "its time"},
        {"bus", "a publication on a bus"},
        {"region", "the last member of its region"},
        {"select", "the first of several"},
        {"end", "the end of another"},
        {"job", "a job of a pool of threads"},
        {"task-end", "the end of a task"},
        {"poll-end", "the end of a poll task"},
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(words[i][0], what) == 0) {
            return words[i][1];
        }
    }
    return what;
}

static void describe_wait(const struct picture *picture, const struct report_wait *wait,
                          char text[static 160])
{
    char span[24];
    char label[64];
    const char *what = wait->what;
    if (strcmp(what, "deadline") == 0) {
        uint64_t now_ns = picture->report.now_ns;
        uint64_t left = wait->numbers[0] > now_ns ? wait->numbers[0] - now_ns : 0;
        snprintf(text, 160, "until in %s", tool_duration(left, span));
    } else if (strncmp(what, "channel-", 8) == 0) {
        snprintf(text, 160,
                 "%s of channel %" PRIu64 " (%" PRIu64 " of %" PRIu64 " queued, %" PRIu64
                 " sender(s), %" PRIu64 " receiver(s))",
                 strcmp(what, "channel-room") == 0 ? "room" : "a value", wait->numbers[0],
                 wait->numbers[1], wait->numbers[2], wait->numbers[3], wait->numbers[4]);
    } else if (strcmp(what, "actor-answer") == 0) {
        snprintf(text, 160, "the answer of actor %s",
                 report_label(&picture->report, wait->numbers[0], label));
    } else if (strcmp(what, "actor-release") == 0) {
        snprintf(text, 160, "actor %s to release its message",
                 report_label(&picture->report, wait->numbers[0], label));
    } else if (strcmp(what, "actor-room") == 0) {
        snprintf(text, 160, "room in the mailbox of actor %s",
                 report_label(&picture->report, wait->numbers[0], label));
    } else if (strcmp(what, "poll-end") == 0 && wait->numbers[0] != 0) {
        snprintf(text, 160, "the end of poll task %s",
                 report_label(&picture->report, wait->numbers[0], label));
    } else if (strcmp(what, "task-end") == 0 && wait->numbers[0] != 0) {
        snprintf(text, 160, "the end of task %s",
                 report_label(&picture->report, wait->numbers[0], label));
    } else if (strcmp(what, "cancel") == 0) {
        snprintf(text, 160, "a cancel");
    } else {
        snprintf(text, 160, "%s", plain_wait(what));
    }
}

static bool is_minor(const struct report_wait *wait)
{
    return strcmp(wait->what, "cancel") == 0;
}

static void print_waits(const struct picture *picture, const struct report_task *task)
{
    bool is_first = true;
    for (size_t i = task->wait_count; i > 0; i--) {
        const struct report_wait *wait = &task->waits[i - 1];
        if (!is_minor(wait) || task->wait_count == 1) {
            char text[160];
            describe_wait(picture, wait, text);
            bool is_until = strcmp(wait->what, "deadline") == 0;
            printf("%s%s", is_first && is_until ? " " : is_first ? " for " : ", or ", text);
            is_first = false;
        }
    }
}

static void print_frame(const struct picture *picture, const struct spot *spot)
{
    for (const struct place *place = picture_place(picture, spot); place != NULL;
         place = place->outer) {
        bool is_inlined = place->outer != NULL && place->function != NULL;
        const char *function = is_inlined ? place->function : spot->function;
        printf("    %s at %s\n", function != NULL ? function : "?", place->where);
    }
    if (spot->place == NULL && spot->function != NULL) {
        printf("    %s\n", spot->function);
    } else if (spot->place == NULL) {
        printf("    ? at %#" PRIx64 "\n", spot->pc);
    }
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* The place of the outermost function there: the one that an address of code belongs to. */
static const char *outer_place(const struct spot *spot)
{
    const struct place *place = spot->place;
    while (place != NULL && place->outer != NULL) {
        place = place->outer;
    }
    return place == NULL ? NULL : place->where;
}

/* Where it was spawned, `in` whom, and where those were. */
static void print_sites(const struct picture *picture, size_t i)
{
    const struct report_task *task = &picture->report.tasks[i];
    const struct frames *sites = &picture->sites[i];
    bool is_actor = strcmp(task->kind, "actor") == 0;
    size_t count = is_actor ? sites->count : task->site_count / 2;
    char label[64];
    for (size_t j = 0; j < count; j++) {
        fputs("    spawned", stdout);
        if (!is_actor) {
            printf(" at %s:%s", base_name(task->sites[2 * j]), task->sites[2 * j + 1]);
        } else {
            const struct spot *site = sites->items[j];
            const char *where = outer_place(site);
            printf(" by %s%s%s", site->function != NULL ? site->function : "?",
                   where != NULL ? " at " : "", where != NULL ? where : "");
        }
        if (j == 0 && task->parent != 0) {
            printf(", in %s", report_label(&picture->report, task->parent, label));
        }
        putchar('\n');
    }
}

static void print_task(const struct picture *picture, size_t i)
{
    const struct report_task *task = &picture->report.tasks[i];
    char label[64];
    char span[24];
    printf("\n%s %s: %s", task->kind, report_label_of(task, label), task->state);
    if (strcmp(task->state, "waits") == 0) {
        print_waits(picture, task);
    }
    if (strcmp(task->state, "waits") == 0 && task->parked_ns != 0) {
        uint64_t now_ns = picture->report.now_ns;
        printf(", since %s",
               tool_duration(now_ns > task->parked_ns ? now_ns - task->parked_ns : 0, span));
    }
    if (strcmp(task->kind, "actor") == 0) {
        printf("; %" PRIu64 " in the mailbox", task->mail);
    }
    putchar('\n');
    const struct frames *frames = &picture->frames[i];
    for (size_t j = 0; j < frames->count; j++) {
        print_frame(picture, frames->items[j]);
    }
    print_sites(picture, i);
}

static void print_head(const struct picture *picture)
{
    const struct report *report = &picture->report;
    char span[24];
    printf("process %" PRIu64 ": %zu tasks and actors", picture->pid, report->task_count);
    if (report->pause_ns > 0 && report->slices > 1) {
        printf("; it stood still %" PRIu64 " times, at most for %s", report->slices,
               tool_duration(report->pause_ns, span));
    } else if (report->pause_ns > 0) {
        printf("; it stood still for %s", tool_duration(report->pause_ns, span));
    }
    putchar('\n');
}

static void print_text(const struct picture *picture)
{
    const struct report *report = &picture->report;
    char label[64];
    print_head(picture);
    for (size_t i = 0; i < report->worker_count; i++) {
        const struct report_worker *worker = &report->workers[i];
        printf("worker %" PRIu64 ": %s%s\n", worker->index, worker->task == 0 ? "idle" : "runs ",
               worker->task == 0 ? "" : report_label(report, worker->task, label));
    }
    if (report->is_busy) {
        puts("BUSY: what runs has not let the scheduler have its turn for 100 ms");
    }
    for (size_t i = 0; i < report->task_count; i++) {
        print_task(picture, i);
    }
    if (report->is_cut) {
        puts("\nnot all of them fit into the report");
    }
    if (picture->is_deadlock) {
        puts("\nDEADLOCK: everything waits for another of them, nothing waits for time or I/O");
    }
}

static void json_of_frame(struct json *json, const char *function, const char *place, uint64_t pc)
{
    json_object(json, NULL);
    json_text(json, "function", function);
    json_text(json, "place", place);
    json_hex(json, "pc", pc);
    json_end_object(json);
}

static void json_of_spot(const struct picture *picture, const struct spot *spot, struct json *json)
{
    for (const struct place *place = picture_place(picture, spot); place != NULL;
         place = place->outer) {
        bool is_inlined = place->outer != NULL && place->function != NULL;
        json_of_frame(json, is_inlined ? place->function : spot->function, place->where, spot->pc);
    }
    if (spot->place == NULL) {
        json_of_frame(json, spot->function, NULL, spot->pc);
    }
}

/* Where it was spawned, and its ancestors. */
static void json_of_sites(const struct picture *picture, size_t i, struct json *json)
{
    const struct report_task *task = &picture->report.tasks[i];
    const struct frames *sites = &picture->sites[i];
    json_array(json, "spawned");
    for (size_t j = 0; j < sites->count; j++) {
        json_of_frame(json, sites->items[j]->function, outer_place(sites->items[j]),
                      sites->items[j]->pc);
    }
    for (size_t j = 0; sites->count == 0 && j + 1 < task->site_count; j += 2) {
        char text[512];
        snprintf(text, sizeof(text), "%s:%s", base_name(task->sites[j]), task->sites[j + 1]);
        json_of_frame(json, NULL, text, 0);
    }
    json_end_array(json);
}

static void json_of_task(const struct picture *picture, size_t i, struct json *json)
{
    const struct report_task *task = &picture->report.tasks[i];
    uint64_t now_ns = picture->report.now_ns;
    json_object(json, NULL);
    json_number(json, "id", task->id);
    json_text(json, "kind", task->kind);
    json_text(json, "name", task->name);
    json_text(json, "state", task->state);
    json_number(json, "priority", task->priority);
    json_number(json, "parent", task->parent);
    json_number(json, "mail", task->mail);
    bool is_waiting =
        strcmp(task->state, "waits") == 0 && task->parked_ns != 0 && now_ns > task->parked_ns;
    json_number(json, "waited_ns", is_waiting ? now_ns - task->parked_ns : 0);
    json_array(json, "waits");
    for (size_t j = 0; j < task->wait_count; j++) {
        char text[160];
        describe_wait(picture, &task->waits[j], text);
        json_object(json, NULL);
        json_text(json, "what", task->waits[j].what);
        json_text(json, "text", text);
        json_number(json, "number", task->waits[j].numbers[0]);
        json_end_object(json);
    }
    json_end_array(json);
    json_array(json, "frames");
    for (size_t j = 0; j < picture->frames[i].count; j++) {
        json_of_spot(picture, picture->frames[i].items[j], json);
    }
    json_end_array(json);
    json_of_sites(picture, i, json);
    json_end_object(json);
}

static void write_json(const struct picture *picture)
{
    const struct report *report = &picture->report;
    struct json json;
    json_init(&json, stdout);
    json_object(&json, NULL);
    json_number(&json, "pid", picture->pid);
    json_bool(&json, "busy", report->is_busy);
    json_bool(&json, "cut", report->is_cut);
    json_bool(&json, "deadlock", picture->is_deadlock);
    json_number(&json, "live", report->live);
    json_number(&json, "slices", report->slices);
    json_number(&json, "pause_ns", report->pause_ns);
    json_array(&json, "workers");
    for (size_t i = 0; i < report->worker_count; i++) {
        json_object(&json, NULL);
        json_number(&json, "index", report->workers[i].index);
        json_number(&json, "turns", report->workers[i].turns);
        json_number(&json, "task", report->workers[i].task);
        json_end_object(&json);
    }
    json_end_array(&json);
    json_array(&json, "tasks");
    for (size_t i = 0; i < report->task_count; i++) {
        json_of_task(picture, i, &json);
    }
    json_end_array(&json);
    json_end_object(&json);
}

static int run(int argc, char **argv)
{
    static const struct option longs[] = {{"json", no_argument, NULL, 'j'},
                                          {"no-backtraces", no_argument, NULL, 'n'},
                                          {"verbose", no_argument, NULL, 'v'},
                                          {NULL, 0, NULL, 0}};
    struct picture picture = {.has_backtraces = true};
    bool is_json = false;
    int option = 0;
    while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        switch (option) {
        case 'j':
            is_json = true;
            break;
        case 'n':
            picture.has_backtraces = false;
            break;
        case 'v':
            picture.is_verbose = true;
            break;
        default:
            return tool_misused("dump", "that is no option of it");
        }
    }
    if (optind + 1 != argc || !tool_number(argv[optind], &picture.pid)) {
        return tool_misused("dump", "the number of one process is needed");
    }
    if (!picture_take(&picture)) {
        return TOOL_UNABLE;
    }
    if (is_json) {
        write_json(&picture);
    } else {
        print_text(&picture);
    }
    bool is_deadlock = picture.is_deadlock;
    picture_free(&picture);
    return is_deadlock ? TOOL_FOUND : TOOL_FINE;
}

const struct command command_dump = {
    .name = "dump",
    .about = "shows every task of a running program: what it waits for, and its stack",
    .help =
        "usage: orrery dump [--no-backtraces] [--verbose] [--json] PID\n"
        "\n"
        "Shows all actors and tasks of a program that was started with ORRERY_OBSERVE=1: state,\n"
        "what each waits for and since when, its backtrace and where it was spawned. The program\n"
        "goes on meanwhile: on one worker it stops for a millisecond or two at a time, however\n"
        "many tasks it has, and on several not at all. Lines need addr2line.\n"
        "\n"
        "    --no-backtraces   leave the stacks out\n"
        "    --verbose         show the frames of the runtime too\n"
        "    --json            one JSON document\n"
        "\n"
        "Exit status: 0 shown; 1 shown, and it is a deadlock; 2 wrong usage; 3 there is no such\n"
        "process or it does not let itself be looked at.\n",
    .run = run,
};
