/* SPDX-License-Identifier: Apache-2.0 */
/* orrery trace: what a program did as a trace that the Perfetto viewer shows
 * (https://ui.perfetto.dev).
 *
 * It comes from a journal, from a file that the flight recorder left, or from a running program
 * whose recorder is switched on for a while. A track for each worker shows whose turn it is; a
 * track for each task shows when it runs, is ready and waits. An arrow goes from who wakes to who
 * is woken, and from a message's send to its receive: the n-th receive of B from A belongs to the
 * n-th send from A to B. */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "journal_file.h"
#include "map.h"
#include "protobuf.h"
#include "recording.h"
#include "report.h"

/* The fields of the messages, by their numbers in Perfetto's definitions. */
enum {
    TRACE_PACKET = 1,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_TRACK_DESCRIPTOR = 60,
    DESCRIPTOR_UUID = 1,
    DESCRIPTOR_NAME = 2,
    DESCRIPTOR_PROCESS = 3,
    DESCRIPTOR_PARENT = 5,
    PROCESS_PID = 1,
    PROCESS_NAME = 6,
    EVENT_TYPE = 9,
    EVENT_TRACK = 11,
    EVENT_CATEGORY = 22,
    EVENT_NAME = 23,
    EVENT_FLOW = 47,
    EVENT_FLOW_END = 48,
};

enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3 };

#define UUID_PROCESS UINT64_C(1)
#define UUID_WORKER  UINT64_C(2)
#define UUID_TASKS   UINT64_C(1048576)
#define SEQUENCE     1

struct trace_options {
    const char *source; /* a number of a process, or a file */
    const char *output;
    uint64_t span_ms;
    bool is_json;
};

/* A track of a task: its number is its place here. */
struct track {
    uint32_t task;
    const char *slice;     /* what is open on it now; NULL: nothing */
    uint64_t pending_flow; /* an arrow that ends at its next slice; 0: none */
    uint64_t handed_flow;  /* that of a message which it has received when it runs next; 0: none */
};

/* Sends on their way from one task to another. */
struct lane {
    uint32_t from;
    uint32_t to;
    uint64_t sent;
    uint64_t received;
    uint64_t first_flow; /* the number of the arrow of the first send */
};

struct tracer {
    struct protobuf out;
    const struct report *report;       /* for names; NULL: none */
    const struct recording *recording; /* for names, too; NULL: it is a journal */
    struct track *tracks;
    size_t track_count;
    struct map by_task; /* numbers of tasks to tracks */
    struct lane *lanes;
    size_t lane_count;
    struct map by_ends; /* both ends of a lane to lanes */
    uint64_t flow_count;
    uint64_t slice_count;
    uint32_t *running; /* on each worker's track; 0: nothing */
    uint32_t worker_count;
};

static size_t begin_packet(struct tracer *tracer, uint64_t time_ns)
{
    size_t packet = protobuf_begin(&tracer->out, TRACE_PACKET);
    protobuf_number(&tracer->out, PACKET_TIMESTAMP, time_ns);
    protobuf_number(&tracer->out, PACKET_SEQUENCE, SEQUENCE);
    return packet;
}

static void describe_track(struct tracer *tracer, uint64_t uuid, const char *name)
{
    size_t packet = protobuf_begin(&tracer->out, TRACE_PACKET);
    protobuf_number(&tracer->out, PACKET_SEQUENCE, SEQUENCE);
    size_t descriptor = protobuf_begin(&tracer->out, PACKET_TRACK_DESCRIPTOR);
    protobuf_number(&tracer->out, DESCRIPTOR_UUID, uuid);
    if (uuid == UUID_PROCESS) {
        size_t process = protobuf_begin(&tracer->out, DESCRIPTOR_PROCESS);
        protobuf_number(&tracer->out, PROCESS_PID, 1);
        protobuf_text(&tracer->out, PROCESS_NAME, name);
        protobuf_end(&tracer->out, process);
    } else {
        protobuf_text(&tracer->out, DESCRIPTOR_NAME, name);
        protobuf_number(&tracer->out, DESCRIPTOR_PARENT, UUID_PROCESS);
    }
    protobuf_end(&tracer->out, descriptor);
    protobuf_end(&tracer->out, packet);
}

/* An event on a track; `flow` is an arrow that begins here, `flow_end` one that ends here. */
static void write_event(struct tracer *tracer, uint64_t time_ns, uint64_t uuid, uint64_t type,
                        const char *name, uint64_t flow, uint64_t flow_end)
{
    size_t packet = begin_packet(tracer, time_ns);
    size_t event = protobuf_begin(&tracer->out, PACKET_TRACK_EVENT);
    protobuf_number(&tracer->out, EVENT_TYPE, type);
    protobuf_number(&tracer->out, EVENT_TRACK, uuid);
    if (name != NULL) {
        protobuf_text(&tracer->out, EVENT_CATEGORY, "orrery");
        protobuf_text(&tracer->out, EVENT_NAME, name);
    }
    if (flow != 0) {
        protobuf_fixed64(&tracer->out, EVENT_FLOW, flow);
    }
    if (flow_end != 0) {
        protobuf_fixed64(&tracer->out, EVENT_FLOW_END, flow_end);
    }
    protobuf_end(&tracer->out, event);
    protobuf_end(&tracer->out, packet);
    tracer->slice_count += type == TYPE_BEGIN;
}

/* How a task is called. */
static const char *label_of(const struct tracer *tracer, uint32_t task, char text[static 64])
{
    const char *name =
        tracer->recording == NULL ? NULL : recording_name_of(tracer->recording, task);
    if (name == NULL || (tracer->report != NULL && report_find(tracer->report, task) != NULL)) {
        return report_label(tracer->report, task, text);
    }
    return report_label_of(&(struct report_task){.id = task, .kind = "", .name = name}, text);
}

static uint64_t uuid_of(const struct tracer *tracer, const struct track *track)
{
    return UUID_TASKS + (uint64_t)(track - tracer->tracks);
}

static struct track *track_of(struct tracer *tracer, uint32_t task)
{
    size_t known = map_find(&tracer->by_task, task);
    if (known != MAP_NONE) {
        return &tracer->tracks[known];
    }
    char label[64];
    tracer->tracks = tool_grow(tracer->tracks, tracer->track_count, sizeof(struct track));
    map_add(&tracer->by_task, task, tracer->track_count);
    struct track *track = &tracer->tracks[tracer->track_count++];
    *track = (struct track){.task = task};
    describe_track(tracer, uuid_of(tracer, track), label_of(tracer, task, label));
    return track;
}

/* Ends what a track shows, and shows `slice` from here on; NULL: nothing. */
static void change_slice(struct tracer *tracer, uint32_t task, uint64_t time_ns, const char *slice)
{
    struct track *track = track_of(tracer, task);
    uint64_t uuid = uuid_of(tracer, track);
    if (track->slice != NULL) {
        write_event(tracer, time_ns, uuid, TYPE_END, NULL, 0, 0);
    }
    track->slice = slice;
    if (slice != NULL) {
        write_event(tracer, time_ns, uuid, TYPE_BEGIN, slice, 0, track->pending_flow);
        track->pending_flow = 0;
    }
}

/* Whoever ran leaves the worker. */
static void leave_worker(struct tracer *tracer, uint32_t worker, uint64_t time_ns)
{
    uint32_t task = tracer->running[worker];
    if (task == 0) {
        return;
    }
    write_event(tracer, time_ns, UUID_WORKER + worker, TYPE_END, NULL, 0, 0);
    struct track *track = track_of(tracer, task);
    if (track->slice != NULL && strcmp(track->slice, "runs") == 0) {
        change_slice(tracer, task, time_ns, "waits");
    }
    tracer->running[worker] = 0;
}

static struct lane *lane_of(struct tracer *tracer, uint32_t from, uint32_t to)
{
    uint64_t ends = (uint64_t)from << 32 | to;
    size_t known = map_find(&tracer->by_ends, ends);
    if (known != MAP_NONE) {
        return &tracer->lanes[known];
    }
    tracer->lanes = tool_grow(tracer->lanes, tracer->lane_count, sizeof(struct lane));
    map_add(&tracer->by_ends, ends, tracer->lane_count);
    tracer->lanes[tracer->lane_count] = (struct lane){
        .from = from,
        .to = to,
        /* Arrows of a lane have numbers of their own, beyond those of wake-ups. */
        .first_flow = (uint64_t)(tracer->lane_count + 1) << 40,
    };
    return &tracer->lanes[tracer->lane_count++];
}

static void on_wake(struct tracer *tracer, const struct event *event)
{
    uint64_t time_ns = event->record.time_ns;
    if (event->runner != 0 && event->runner != event->record.task) {
        uint64_t flow = ++tracer->flow_count;
        struct track *waker = track_of(tracer, event->runner);
        write_event(tracer, time_ns, uuid_of(tracer, waker), TYPE_INSTANT, "wakes", flow, 0);
        track_of(tracer, event->record.task)->pending_flow = flow;
    }
    change_slice(tracer, event->record.task, time_ns, "ready");
}

static void write_message(struct tracer *tracer, uint32_t task, uint64_t time_ns, bool is_send,
                          uint64_t flow)
{
    struct track *track = track_of(tracer, task);
    write_event(tracer, time_ns, uuid_of(tracer, track), TYPE_INSTANT, is_send ? "send" : "recv",
                is_send ? flow : 0, is_send ? 0 : flow);
}

/* A message between actors is an arrow; one through a channel only a mark. */
static void on_message(struct tracer *tracer, const struct event *event)
{
    bool is_send = event->kind == EVENT_SEND;
    uint32_t other = (uint32_t)event->record.value;
    uint64_t flow = 0;
    if (event->record.channel == 0 && other != 0) {
        struct lane *lane = is_send ? lane_of(tracer, event->record.task, other)
                                    : lane_of(tracer, other, event->record.task);
        flow = lane->first_flow + (is_send ? ++lane->sent : ++lane->received);
    }
    write_message(tracer, event->record.task, event->record.time_ns, is_send, flow);
}

/* A message that went straight to one that waited for it: the receive is told when it runs. */
static void on_hand(struct tracer *tracer, const struct event *event)
{
    uint32_t receiver = (uint32_t)event->record.value;
    struct lane *lane = lane_of(tracer, event->record.task, receiver);
    uint64_t flow = lane->first_flow + ++lane->sent;
    lane->received++;
    write_message(tracer, event->record.task, event->record.time_ns, true, flow);
    struct event wake = *event;
    wake.record.task = receiver;
    on_wake(tracer, &wake);
    track_of(tracer, receiver)->handed_flow = flow;
}

static void on_dispatch(struct tracer *tracer, const struct event *event)
{
    uint64_t time_ns = event->record.time_ns;
    uint32_t task = event->record.task;
    char label[64];
    leave_worker(tracer, event->worker, time_ns);
    write_event(tracer, time_ns, UUID_WORKER + event->worker, TYPE_BEGIN,
                label_of(tracer, task, label), 0, 0);
    tracer->running[event->worker] = task;
    change_slice(tracer, task, time_ns, "runs");
    struct track *track = track_of(tracer, task);
    if (track->handed_flow != 0) {
        write_message(tracer, task, time_ns, false, track->handed_flow);
        track->handed_flow = 0;
    }
}

static void on_event(struct tracer *tracer, const struct event *event)
{
    uint64_t time_ns = event->record.time_ns;
    uint32_t task = event->record.task;
    uint32_t worker = event->worker;
    switch (event->kind) {
    case EVENT_START:
        change_slice(tracer, task, time_ns, "ready");
        break;
    case EVENT_DISPATCH:
        on_dispatch(tracer, event);
        break;
    case EVENT_WAKE:
        on_wake(tracer, event);
        break;
    case EVENT_END:
        change_slice(tracer, task, time_ns, NULL);
        if (tracer->running[worker] == task) {
            leave_worker(tracer, worker, time_ns);
        }
        break;
    case EVENT_IDLE:
    case EVENT_LEAVE:
        leave_worker(tracer, worker, time_ns);
        break;
    case EVENT_HAND:
        on_hand(tracer, event);
        break;
    case EVENT_SEND:
    case EVENT_RECV:
        on_message(tracer, event);
        break;
    case EVENT_TIMER:
    case EVENT_MARK:
        write_event(tracer, time_ns,
                    task == 0 ? UUID_WORKER + worker : uuid_of(tracer, track_of(tracer, task)),
                    TYPE_INSTANT, event->name, 0, 0);
        break;
    default:
        break;
    }
}

static void convert(struct tracer *tracer, const struct event *events, size_t count)
{
    uint64_t last_ns = 0;
    tracer->running = tool_alloc(tracer->worker_count, sizeof(uint32_t));
    describe_track(tracer, UUID_PROCESS, "orrery");
    for (uint32_t i = 0; i < tracer->worker_count; i++) {
        char label[64];
        snprintf(label, sizeof(label), "worker %" PRIu32, i);
        tracer->running[i] = 0;
        describe_track(tracer, UUID_WORKER + i, label);
    }
    for (size_t i = 0; i < count; i++) {
        on_event(tracer, &events[i]);
        last_ns = events[i].record.time_ns;
    }
    for (uint32_t i = 0; i < tracer->worker_count; i++) {
        leave_worker(tracer, i, last_ns);
    }
    for (size_t i = 0; i < tracer->track_count; i++) {
        change_slice(tracer, tracer->tracks[i].task, last_ns, NULL);
    }
    free(tracer->running);
}

/* Has a program record for a while, or reads a file. NULL after a complaint. */
static void *fetch(const struct trace_options *options, uint64_t *pid, bool *is_live, size_t *size)
{
    char request[64];
    *is_live = tool_number(options->source, pid);
    if (!*is_live) {
        return journal_file_read(options->source, size);
    }
    snprintf(request, sizeof(request), "trace %" PRIu64, options->span_ms);
    char *bytes = client_ask(*pid, request, options->span_ms, size);
    if (bytes != NULL && *size == 0) {
        tool_complain("process %" PRIu64 " ended before it could be traced", *pid);
        free(bytes);
        return NULL;
    }
    return bytes;
}

static int write_output(const struct tracer *tracer, const struct trace_options *options)
{
    FILE *out = fopen(options->output, "wb");
    bool is_written =
        out != NULL && fwrite(tracer->out.bytes, 1, tracer->out.length, out) == tracer->out.length;
    if (out == NULL || fclose(out) != 0 || !is_written) {
        tool_complain("%s: %s", options->output, strerror(errno));
        return TOOL_UNABLE;
    }
    return TOOL_FINE;
}

/* Writes what there is, and says how much it was. */
static int finish(struct tracer *tracer, const struct trace_options *options, size_t events,
                  uint64_t lost)
{
    int status = write_output(tracer, options);
    if (status == TOOL_FINE) {
        const char *form = options->is_json
                               ? "{\"events\": %zu, \"tracks\": %zu, \"slices\": %" PRIu64
                                 ", \"lost\": %" PRIu64 "}\n"
                               : "%zu events on %zu tracks, %" PRIu64 " slices; %" PRIu64
                                 " earlier events are lost\n";
        printf(form, events, tracer->track_count + tracer->worker_count, tracer->slice_count, lost);
    }
    protobuf_free(&tracer->out);
    free(tracer->tracks);
    free(tracer->lanes);
    map_free(&tracer->by_task);
    map_free(&tracer->by_ends);
    return status;
}

static int trace_journal(const struct trace_options *options, void *bytes, size_t size)
{
    struct journal_file file;
    if (!journal_file_parse(&file, bytes, size, options->source)) {
        return TOOL_UNABLE;
    }
    struct tracer tracer = {.worker_count = 1};
    convert(&tracer, file.events, file.count);
    int status =
        finish(&tracer, options, file.count, file.view.head.written - file.view.head.count);
    journal_file_close(&file);
    return status;
}

static int trace_recording(const struct trace_options *options, void *bytes, size_t size,
                           const struct report *report)
{
    struct recording recording;
    if (!recording_parse(&recording, bytes, size, options->source)) {
        return TOOL_UNABLE;
    }
    struct tracer tracer = {
        .report = report, .recording = &recording, .worker_count = recording.workers};
    convert(&tracer, recording.events, recording.count);
    int status = finish(&tracer, options, recording.count, recording.lost);
    recording_free(&recording);
    return status;
}

static int trace(const struct trace_options *options)
{
    struct report report;
    uint64_t pid = 0;
    bool is_live = false;
    size_t size = 0;
    void *bytes = fetch(options, &pid, &is_live, &size);
    if (bytes == NULL) {
        return TOOL_UNABLE;
    }
    if (!is_live && !recording_is_one(bytes, size)) {
        return trace_journal(options, bytes, size);
    }
    bool has_names = is_live && report_of(&report, pid, "dump bare");
    int status = trace_recording(options, bytes, size, has_names ? &report : NULL);
    if (has_names) {
        report_free(&report);
    }
    return status;
}

static int run(int argc, char **argv)
{
    static const struct option longs[] = {{"output", required_argument, NULL, 'o'},
                                          {"for", required_argument, NULL, 'f'},
                                          {"json", no_argument, NULL, 'j'},
                                          {NULL, 0, NULL, 0}};
    struct trace_options options = {.span_ms = 1000};
    int option = 0;
    while ((option = getopt_long(argc, argv, "o:", longs, NULL)) != -1) {
        switch (option) {
        case 'o':
            options.output = optarg;
            break;
        case 'f':
            if (!tool_number(optarg, &options.span_ms) || options.span_ms == 0 ||
                options.span_ms > 60000) {
                return tool_misused("trace", "%s is no number of milliseconds up to a minute",
                                    optarg);
            }
            break;
        case 'j':
            options.is_json = true;
            break;
        default:
            return tool_misused("trace", "that is no option of it");
        }
    }
    if (optind + 1 != argc || options.output == NULL) {
        return tool_misused("trace", "one process or file is needed, and -o FILE");
    }
    options.source = argv[optind];
    return trace(&options);
}

const struct command command_trace = {
    .name = "trace",
    .about = "makes a trace for the Perfetto viewer, of a running program or of a file",
    .help =
        "usage: orrery trace [--for MS] [--json] -o FILE.pftrace PID|FILE\n"
        "\n"
        "Has a program that was started with ORRERY_OBSERVE=1 record for MS milliseconds (1000),\n"
        "or takes a journal, or a recording that ORRERY_RECORD=FILE made of a whole run, and\n"
        "writes a trace for https://ui.perfetto.dev: a track for each worker and for each task,\n"
        "arrows for wake-ups and messages. Of each worker the latest half million of events are\n"
        "kept. A file whose name is a number is written ./NUMBER.\n"
        "\n"
        "    -o, --output FILE   where the trace goes\n"
        "    --for MS            how long a program records, at most 60000\n"
        "    --json              what was written, as a JSON document\n"
        "\n"
        "Exit status: 0 written; 2 wrong usage; 3 there is no such process or file, it does not\n"
        "let itself be looked at, or the trace cannot be written.\n",
    .run = run,
};
