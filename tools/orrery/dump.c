/* SPDX-License-Identifier: Apache-2.0 */
/* orrery dump: every task of a running program, what it waits for, and its stack.
 *
 * The program copies its tables and the tops of its parked stacks, which takes microseconds, and
 * goes on; stacks are unwound and names looked up here. */
#define _GNU_SOURCE
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "image.h"
#include "json.h"
#include "report.h"
#include "unwind.h"

#define FRAMES_MAX 64

struct dump_options {
    bool is_json;
    bool has_backtraces;
    bool is_verbose;
    uint64_t pid;
};

struct frame {
    uint64_t pc; /* inside of the call; 0: a call that has left no frame */
    const char *function;
    struct place *place; /* NULL: not known */
};

struct frames {
    struct frame items[FRAMES_MAX];
    size_t count;
};

/* A site of a start: either an address or, of a task, a file and a line. */
struct site {
    const char *function;
    struct place *place;
};

struct picture {
    const struct dump_options *options;
    struct report report;
    struct images images;
    struct frames *frames; /* one for each task */
    struct site *sites;    /* the youngest of each task */
    bool is_deadlock;
};

/* Is it a frame of the runtime? Its assembly, and what stands around the program's own function, is
 * not in the library's table of code. */
static bool is_internal(const struct picture *picture, const struct frame *frame)
{
    static const char *const around[] = {"rti_fiber_entry", "task_main"};
    for (size_t i = 0; frame->function != NULL && i < sizeof(around) / sizeof(around[0]); i++) {
        if (strcmp(frame->function, around[i]) == 0) {
            return true;
        }
    }
    return images_is_library(&picture->images, frame->pc) ||
           (frame->function != NULL && strncmp(frame->function, "rti_", 4) == 0);
}

/* What the compiler inlined into a frame is shown if it is the program's. */
static const struct place *first_place(const struct picture *picture, const struct frame *frame)
{
    const struct place *place = frame->place;
    while (place != NULL && place->outer != NULL && !picture->options->is_verbose &&
           is_internal(picture, frame)) {
        place = place->outer;
    }
    return place;
}

/* The runtime's own frames say nothing to a reader: those inside of the call that waits, and those
 * around the program's function. If the public function has left no frame, because it went on by a
 * jump, the call in the program tells its name. */
static void drop_internal(const struct picture *picture, struct frames *frames)
{
    size_t first = 0;
    while (first < frames->count && is_internal(picture, &frames->items[first])) {
        first++;
    }
    if (first > 0 && first < frames->count) {
        const char *callee = images_callee(&picture->images, frames->items[first].pc + 1);
        const char *above = frames->items[first - 1].function;
        if (above == NULL || callee == NULL || strcmp(above, callee) != 0) {
            frames->items[first - 1] = (struct frame){.function = callee};
        }
        first -= frames->items[first - 1].function != NULL;
    }
    size_t last = frames->count;
    while (last > first && is_internal(picture, &frames->items[last - 1])) {
        last--;
    }
    if (first < last) {
        memmove(frames->items, frames->items + first, (last - first) * sizeof(struct frame));
        frames->count = last - first;
    }
}

static void walk(struct picture *picture, const struct report_task *task, struct frames *frames)
{
    struct unwind unwind = {
        .stack = task->stack, .stack_low = task->sp, .stack_size = task->stack_size};
    unwind_begin(&unwind, task->pc, task->sp, task->fp, task->base);
    bool is_first = true;
    do {
        uint64_t pc = is_first ? unwind.pc : unwind.pc - 1;
        frames->items[frames->count++] =
            (struct frame){.pc = pc, .function = images_function(&picture->images, pc)};
        is_first = false;
    } while (frames->count < FRAMES_MAX && unwind_next(&unwind, &picture->images));
    if (!picture->options->is_verbose) {
        drop_internal(picture, frames);
    }
}

/* Asks once for the places of all frames and sites. */
static void find_places(struct picture *picture)
{
    const struct report *report = &picture->report;
    size_t room = report->task_count * (FRAMES_MAX + 1);
    uint64_t *addresses = tool_alloc(room, sizeof(uint64_t));
    struct place ***slots = tool_alloc(room, sizeof(struct place **));
    size_t count = 0;
    for (size_t i = 0; i < report->task_count; i++) {
        for (size_t j = 0; j < picture->frames[i].count; j++) {
            addresses[count] = picture->frames[i].items[j].pc;
            slots[count++] = &picture->frames[i].items[j].place;
        }
        const struct report_task *task = &report->tasks[i];
        if (task->site_count > 0 && strcmp(task->kind, "actor") == 0) {
            uint64_t address = strtoull(task->sites[0], NULL, 10) - 1;
            picture->sites[i].function = images_function(&picture->images, address);
            addresses[count] = address;
            slots[count++] = &picture->sites[i].place;
        } else if (task->site_count > 1) {
            char text[512];
            const char *file = strrchr(task->sites[0], '/');
            snprintf(text, sizeof(text), "%s:%s", file == NULL ? task->sites[0] : file + 1,
                     task->sites[1]);
            picture->sites[i].place = tool_alloc(1, sizeof(struct place));
            picture->sites[i].place->where = tool_copy(text);
        }
    }
    struct place **places = images_places(&picture->images, addresses, count);
    for (size_t i = 0; i < count; i++) {
        *slots[i] = places[i];
    }
    free(places);
    free(slots);
    free(addresses);
}

/* Can anything ever happen again? Not if every task waits for others of the program alone. */
static bool is_deadlocked(const struct report *report)
{
    if (report->is_busy || report->is_cut || report->task_count == 0 ||
        report->task_count != report->live) {
        return false;
    }
    for (size_t i = 0; i < report->task_count; i++) {
        const struct report_task *task = &report->tasks[i];
        if (strcmp(task->state, "waits") != 0 || task->wait_count == 0) {
            return false;
        }
        for (size_t j = 0; j < task->wait_count; j++) {
            const char *what = task->waits[j].what;
            if (strcmp(what, "deadline") == 0 || strcmp(what, "io") == 0 ||
                strcmp(what, "time") == 0) {
                return false;
            }
        }
    }
    return true;
}

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
    } else if (strcmp(what, "task-end") == 0) {
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
    const char *glue = " for ";
    for (size_t i = task->wait_count; i > 0; i--) {
        const struct report_wait *wait = &task->waits[i - 1];
        if (!is_minor(wait) || task->wait_count == 1) {
            char text[160];
            describe_wait(picture, wait, text);
            printf("%s%s", glue, text);
            glue = ", or ";
        }
    }
}

static void print_task(const struct picture *picture, size_t i)
{
    const struct report_task *task = &picture->report.tasks[i];
    char label[64];
    char span[24];
    printf("\n%s %s: %s", task->kind, report_label(&picture->report, task->id, label), task->state);
    if (strcmp(task->state, "waits") == 0) {
        print_waits(picture, task);
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
        const struct frame *frame = &frames->items[j];
        for (const struct place *place = first_place(picture, frame); place != NULL;
             place = place->outer) {
            bool is_inlined = place->outer != NULL && place->function != NULL;
            const char *function = is_inlined ? place->function : frame->function;
            printf("    %s at %s\n", function != NULL ? function : "?", place->where);
        }
        if (frame->place == NULL && frame->function != NULL) {
            printf("    %s\n", frame->function);
        } else if (frame->place == NULL) {
            printf("    ? at %#" PRIx64 "\n", frame->pc);
        }
    }
    const struct site *site = &picture->sites[i];
    if (site->function != NULL || site->place != NULL) {
        printf("    spawned%s%s%s%s", site->function != NULL ? " by " : "",
               site->function != NULL ? site->function : "", site->place != NULL ? " at " : "",
               site->place != NULL ? site->place->where : "");
        if (task->parent != 0) {
            printf(", in %s", report_label(&picture->report, task->parent, label));
        }
        putchar('\n');
    }
}

static void print_text(const struct picture *picture)
{
    const struct report *report = &picture->report;
    char label[64];
    char span[24];
    printf("process %" PRIu64 ": %zu tasks and actors", picture->options->pid, report->task_count);
    if (report->live > report->task_count) {
        printf(", %" PRIu64 " without a stack of their own (behaviours, loops)",
               report->live - report->task_count);
    }
    if (report->pause_ns > 0) {
        printf("; it stood still for %s", tool_duration(report->pause_ns, span));
    }
    putchar('\n');
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
    bool is_waiting = strcmp(task->state, "waits") == 0 && now_ns > task->parked_ns;
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
        const struct frame *frame = &picture->frames[i].items[j];
        for (const struct place *place = first_place(picture, frame); place != NULL;
             place = place->outer) {
            bool is_inlined = place->outer != NULL && place->function != NULL;
            json_of_frame(json, is_inlined ? place->function : frame->function, place->where,
                          frame->pc);
        }
        if (frame->place == NULL) {
            json_of_frame(json, frame->function, NULL, frame->pc);
        }
    }
    json_end_array(json);
    json_text(json, "spawned_in", picture->sites[i].function);
    const struct place *spawned = picture->sites[i].place;
    json_text(json, "spawned_at", spawned == NULL ? NULL : spawned->where);
    json_end_object(json);
}

static void write_json(const struct picture *picture)
{
    const struct report *report = &picture->report;
    struct json json;
    json_init(&json, stdout);
    json_object(&json, NULL);
    json_number(&json, "pid", picture->options->pid);
    json_bool(&json, "busy", report->is_busy);
    json_bool(&json, "cut", report->is_cut);
    json_bool(&json, "deadlock", picture->is_deadlock);
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

/* Have all of them stood still between the two reports? */
static bool is_unmoved(const struct report *before, const struct report *after)
{
    if (before->task_count != after->task_count) {
        return false;
    }
    for (size_t i = 0; i < before->task_count; i++) {
        const struct report_task *old = &before->tasks[i];
        const struct report_task *now = &after->tasks[i];
        if (old->id != now->id || old->parked_ns != now->parked_ns || old->mail != now->mail) {
            return false;
        }
    }
    return true;
}

/* A report that was made while everything ran shows no single moment: what looks like a deadlock is
 * one if it looks the same a little later. */
static bool confirm_deadlock(const struct picture *picture)
{
    struct report again;
    struct timespec while_ns = {.tv_nsec = 100000000};
    if (picture->report.pause_ns > 0) {
        return true;
    }
    nanosleep(&while_ns, NULL);
    if (!report_of(&again, picture->options->pid, "dump")) {
        return false;
    }
    bool is_same = is_deadlocked(&again) && is_unmoved(&picture->report, &again);
    report_free(&again);
    return is_same;
}

static int dump(const struct dump_options *options)
{
    struct picture picture = {.options = options};
    if (!report_of(&picture.report, options->pid, "dump")) {
        return TOOL_UNABLE;
    }
    size_t count = picture.report.task_count;
    picture.frames = tool_alloc(count, sizeof(struct frames));
    picture.sites = tool_alloc(count, sizeof(struct site));
    images_open(&picture.images, options->pid);
    for (size_t i = 0; i < count; i++) {
        if (picture.report.tasks[i].has_stack && options->has_backtraces) {
            walk(&picture, &picture.report.tasks[i], &picture.frames[i]);
        }
    }
    find_places(&picture);
    picture.is_deadlock = is_deadlocked(&picture.report) && confirm_deadlock(&picture);
    if (options->is_json) {
        write_json(&picture);
    } else {
        print_text(&picture);
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < picture.frames[i].count; j++) {
            place_free(picture.frames[i].items[j].place);
        }
        place_free(picture.sites[i].place);
    }
    free(picture.frames);
    free(picture.sites);
    images_close(&picture.images);
    report_free(&picture.report);
    return picture.is_deadlock ? TOOL_FOUND : TOOL_FINE;
}

static int run(int argc, char **argv)
{
    static const struct option longs[] = {{"json", no_argument, NULL, 'j'},
                                          {"no-backtraces", no_argument, NULL, 'n'},
                                          {"verbose", no_argument, NULL, 'v'},
                                          {NULL, 0, NULL, 0}};
    struct dump_options options = {.has_backtraces = true};
    int option = 0;
    while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        switch (option) {
        case 'j':
            options.is_json = true;
            break;
        case 'n':
            options.has_backtraces = false;
            break;
        case 'v':
            options.is_verbose = true;
            break;
        default:
            return tool_misused("dump", "that is no option of it");
        }
    }
    if (optind + 1 != argc || !tool_number(argv[optind], &options.pid)) {
        return tool_misused("dump", "the number of one process is needed");
    }
    return dump(&options);
}

const struct command command_dump = {
    .name = "dump",
    .about = "shows every task of a running program: what it waits for, and its stack",
    .help =
        "usage: orrery dump [--no-backtraces] [--verbose] [--json] PID\n"
        "\n"
        "Shows all actors and tasks of a program that was started with ORRERY_OBSERVE=1: state,\n"
        "what each waits for and since when, its backtrace and where it was spawned. The program\n"
        "goes on meanwhile; it stops for less than a millisecond. Lines need addr2line.\n"
        "\n"
        "    --no-backtraces   leave the stacks out\n"
        "    --verbose         show the frames of the runtime too\n"
        "    --json            one JSON document\n"
        "\n"
        "Exit status: 0 shown; 1 shown, and it is a deadlock; 2 wrong usage; 3 there is no such\n"
        "process or it does not let itself be looked at.\n",
    .run = run,
};
