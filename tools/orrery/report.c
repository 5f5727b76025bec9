/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

/* The bits that the numbers of each kind have in traces; actors have none. */
#define TASK_BIT UINT64_C(0x80000000)
#define POLL_BIT UINT64_C(0x40000000)

static uint64_t number_of(const char *text)
{
    return text == NULL ? 0 : strtoull(text, NULL, 10);
}

/* Cuts a line at its tabs. Fields that are not there are NULL. */
static size_t split(char *line, char *fields[static REPORT_FIELDS_MAX])
{
    size_t count = 0;
    memset(fields, 0, REPORT_FIELDS_MAX * sizeof(fields[0]));
    while (line != NULL && count < REPORT_FIELDS_MAX) {
        fields[count++] = line;
        line = strchr(line, '\t');
        if (line != NULL) {
            *line++ = '\0';
        }
    }
    return count;
}

static const char *word_of(const char *field)
{
    return field == NULL ? "" : field;
}

static void read_task(struct report *report, char **fields, size_t count)
{
    report->tasks = tool_grow(report->tasks, report->task_count, sizeof(struct report_task));
    struct report_task *task = &report->tasks[report->task_count++];
    *task = (struct report_task){
        .id = number_of(fields[1]),
        .kind = word_of(fields[2]),
        .name = word_of(fields[3]),
        .state = word_of(fields[4]),
        .priority = number_of(fields[5]),
        .parked_ns = number_of(fields[6]),
        .parent = number_of(fields[7]),
        .mail = number_of(fields[8]),
        .sent = number_of(fields[9]),
        .received = number_of(fields[10]),
    };
    for (size_t i = 11; i < count && task->site_count < REPORT_SITES_MAX; i++) {
        task->sites[task->site_count++] = fields[i];
    }
}

/* Lines about a task follow its own. */
static struct report_task *latest(struct report *report, const char *id)
{
    if (report->task_count == 0) {
        return NULL;
    }
    struct report_task *task = &report->tasks[report->task_count - 1];
    return task->id == number_of(id) ? task : NULL;
}

static void read_wait(struct report *report, char **fields, size_t count)
{
    struct report_task *task = latest(report, fields[1]);
    if (task == NULL) {
        return;
    }
    task->waits = tool_realloc(task->waits, task->wait_count + 1, sizeof(struct report_wait));
    struct report_wait *wait = &task->waits[task->wait_count++];
    *wait = (struct report_wait){.what = word_of(fields[2])};
    for (size_t i = 3; i < count && i - 3 < 6; i++) {
        wait->numbers[i - 3] = number_of(fields[i]);
    }
}

static unsigned digit_of(char letter)
{
    return (unsigned)(letter <= '9' ? letter - '0' : letter - 'a' + 10) & 15;
}

static void read_stack(struct report *report, char **fields)
{
    struct report_task *task = latest(report, fields[1]);
    if (task == NULL || fields[6] == NULL) {
        return;
    }
    task->has_stack = true;
    task->pc = number_of(fields[2]);
    task->sp = number_of(fields[3]);
    task->fp = number_of(fields[4]);
    task->base = number_of(fields[5]);
    task->stack_size = strlen(fields[6]) / 2;
    /* In the place of its digits, which nobody needs any more. */
    unsigned char *bytes = (unsigned char *)fields[6];
    task->stack = bytes;
    for (size_t i = 0; i < task->stack_size; i++) {
        bytes[i] =
            (unsigned char)(digit_of(fields[6][2 * i]) << 4 | digit_of(fields[6][2 * i + 1]));
    }
}

static void read_code(struct report *report, char **fields)
{
    struct report_task *task = latest(report, fields[1]);
    if (task != NULL) {
        task->code = number_of(fields[2]);
    }
}

static void read_slice(struct report *report, char **fields)
{
    uint64_t span_ns = number_of(fields[1]);
    report->slices++;
    report->pause_ns = span_ns > report->pause_ns ? span_ns : report->pause_ns;
}

static void read_line(struct report *report, char *line)
{
    char *fields[REPORT_FIELDS_MAX];
    size_t count = split(line, fields);
    if (strcmp(fields[0], "process") == 0) {
        report->port = word_of(fields[1]);
        report->now_ns = number_of(fields[3]);
        report->live = number_of(fields[4]);
    } else if (strcmp(fields[0], "worker") == 0) {
        report->workers =
            tool_realloc(report->workers, report->worker_count + 1, sizeof(struct report_worker));
        report->workers[report->worker_count++] = (struct report_worker){
            number_of(fields[1]), number_of(fields[2]), number_of(fields[3])};
    } else if (strcmp(fields[0], "task") == 0) {
        read_task(report, fields, count);
    } else if (strcmp(fields[0], "wait") == 0) {
        read_wait(report, fields, count);
    } else if (strcmp(fields[0], "stack") == 0) {
        read_stack(report, fields);
    } else if (strcmp(fields[0], "stat") == 0) {
        report->stats =
            tool_realloc(report->stats, report->stat_count + 1, sizeof(struct report_stat));
        report->stats[report->stat_count++] =
            (struct report_stat){word_of(fields[1]), number_of(fields[2])};
    } else if (strcmp(fields[0], "code") == 0) {
        read_code(report, fields);
    } else if (strcmp(fields[0], "slice") == 0) {
        read_slice(report, fields);
    } else if (strcmp(fields[0], "busy") == 0) {
        report->is_busy = true;
    } else if (strcmp(fields[0], "cut") == 0) {
        report->is_cut = true;
    } else if (strcmp(fields[0], "open") == 0) {
        report->is_open = true;
    } else if (strcmp(fields[0], "end") == 0) {
        report->is_complete = true;
    }
}

/* Of several with one id the first is found. */
static void report_index(struct report *report)
{
    for (size_t i = 0; i < report->task_count; i++) {
        if (map_find(&report->by_id, report->tasks[i].id) == MAP_NONE) {
            map_add(&report->by_id, report->tasks[i].id, i);
        }
    }
}

bool report_read(struct report *report, char *text)
{
    *report = (struct report){.text = text, .port = ""};
    char *line = text;
    while (*line != '\0') {
        char *end = strchr(line, '\n');
        if (end == NULL) {
            break;
        }
        *end = '\0';
        if (strncmp(line, "error\t", 6) == 0) {
            tool_complain("the program did not tell all of it: %s", line + 6);
            report_free(report);
            return false;
        }
        read_line(report, line);
        line = end + 1;
    }
    if (!report->is_complete) {
        tool_complain("the answer of the program is cut short: has it ended?");
        report_free(report);
        return false;
    }
    report_index(report);
    return true;
}

void report_free(struct report *report)
{
    for (size_t i = 0; i < report->task_count; i++) {
        free(report->tasks[i].waits);
    }
    free(report->tasks);
    map_free(&report->by_id);
    free(report->workers);
    free(report->stats);
    free(report->text);
    report->task_count = 0;
    report->tasks = NULL;
}

bool report_of(struct report *report, uint64_t pid, const char *request)
{
    size_t size = 0;
    char *text = client_ask(pid, request, 0, &size);
    return text != NULL && report_read(report, text);
}

const struct report_task *report_find(const struct report *report, uint64_t id)
{
    size_t known = map_find(&report->by_id, id);
    return known == MAP_NONE ? NULL : &report->tasks[known];
}

static const char *label(uint64_t id, char letter, const char *name, char text[static 64])
{
    char start[2] = {letter, '\0'};
    snprintf(text, 64, "%s%" PRIu64 "%s%.40s", start, id, *name == '\0' ? "" : " ", name);
    return text;
}

const char *report_label_of(const struct report_task *task, char text[static 64])
{
    if (strcmp(task->kind, "behaviour") == 0) {
        return label(task->id & ~TASK_BIT, 'b', task->name, text);
    }
    if (strcmp(task->kind, "poll task") == 0) {
        return label(task->id & ~POLL_BIT, 'p', task->name, text);
    }
    bool is_task = (task->id & TASK_BIT) != 0;
    return label(task->id & ~TASK_BIT, is_task ? 't' : '\0', task->name, text);
}

const char *report_label(const struct report *report, uint64_t id, char text[static 64])
{
    const struct report_task *task = report == NULL ? NULL : report_find(report, id);
    const struct report_task unknown = {.id = id, .kind = "", .name = ""};
    return report_label_of(task == NULL ? &unknown : task, text);
}
