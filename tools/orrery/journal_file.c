/* SPDX-License-Identifier: Apache-2.0 */
#include "journal_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const known_names[EVENT_KIND_COUNT] = {
    [EVENT_OTHER] = "",
    [EVENT_START] = "start",
    [EVENT_DISPATCH] = "dispatch",
    [EVENT_WAKE] = "wake",
    [EVENT_END] = "end",
    [EVENT_IDLE] = "idle",
    [EVENT_TIMER] = "timer",
    [EVENT_SEND] = "send",
    [EVENT_RECV] = "recv",
    [EVENT_MARK] = "mark",
    [EVENT_OP] = "op",
    [EVENT_OP_TRACE] = "op-trace",
    [EVENT_OP_HOP] = "op-hop",
    [EVENT_OP_TAKE] = "op-take",
    [EVENT_OP_CANCEL] = "op-cancel",
    [EVENT_OP_RING] = "op-ring",
    [EVENT_OP_ANSWER] = "op-answer",
    [EVENT_OP_DONE] = "op-done",
    [EVENT_OP_FORWARD] = "op-forward",
    [EVENT_LEAVE] = "leave",
    [EVENT_HAND] = "hand",
};

static enum event_kind kind_named(const char *name)
{
    for (int kind = EVENT_OTHER + 1; kind < EVENT_KIND_COUNT; kind++) {
        if (strcmp(known_names[kind], name) == 0) {
            return (enum event_kind)kind;
        }
    }
    return EVENT_OTHER;
}

void *tool_read_all(FILE *stream, size_t *size)
{
    size_t room = 1 << 16;
    char *bytes = tool_realloc(NULL, room, 1);
    size_t length = 0;
    size_t got = 0;
    while ((got = fread(bytes + length, 1, room - length, stream)) > 0) {
        length += got;
        if (length == room) {
            room *= 2;
            bytes = tool_realloc(bytes, room, 1);
        }
    }
    *size = length;
    return bytes;
}

/* Says for each event which task ran: the one dispatched last, until it is known to have left. */
static void find_runners(struct journal_file *file)
{
    uint32_t runner = 0;
    for (size_t i = 0; i < file->count; i++) {
        struct event *event = &file->events[i];
        if (event->kind == EVENT_DISPATCH) {
            runner = event->record.task;
        } else if (event->kind == EVENT_IDLE || event->kind == EVENT_TIMER) {
            runner = 0; /* what a timer does, it does on the scheduler's stack */
        }
        event->runner = runner;
        if (event->kind == EVENT_END && event->record.task == runner) {
            runner = 0;
        }
    }
}

bool journal_file_parse(struct journal_file *file, void *bytes, size_t size, const char *path)
{
    *file = (struct journal_file){.bytes = bytes};
    rt_status status = rt_journal_parse(bytes, size, &file->view);
    if (RT_FAILED(status)) {
        tool_complain("%s: %s", path, status.msg != NULL ? status.msg : "not a journal");
        journal_file_close(file);
        return false;
    }
    file->count = (size_t)file->view.head.count;
    file->events = tool_alloc(file->count, sizeof(struct event));
    for (size_t i = 0; i < file->count; i++) {
        struct event *event = &file->events[i];
        status = rt_journal_view_record(&file->view, i, &event->record);
        if (RT_FAILED(status)) {
            tool_complain("%s: record %zu is not there", path, i);
            journal_file_close(file);
            return false;
        }
        event->name = rt_journal_view_kind(&file->view, event->record.kind);
        event->kind = kind_named(event->name);
    }
    find_runners(file);
    return true;
}

void *journal_file_read(const char *path, size_t *size)
{
    FILE *stream = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (stream == NULL) {
        tool_complain("%s: %s", path, strerror(errno));
        return NULL;
    }
    void *bytes = tool_read_all(stream, size);
    bool is_broken = ferror(stream) != 0;
    if (stream != stdin) {
        fclose(stream);
    }
    if (is_broken) {
        tool_complain("%s: it cannot be read", path);
        free(bytes);
        return NULL;
    }
    return bytes;
}

bool journal_file_open(struct journal_file *file, const char *path)
{
    size_t size = 0;
    void *bytes = journal_file_read(path, &size);
    return bytes != NULL && journal_file_parse(file, bytes, size, path);
}

void journal_file_close(struct journal_file *file)
{
    free(file->events);
    free(file->bytes);
    *file = (struct journal_file){.bytes = NULL};
}
