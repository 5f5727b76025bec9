/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "recording.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The kinds of words that are known here, by their names. */
enum word_kind {
    WORD_NONE,
    WORD_RUN,
    WORD_HAND,
    WORD_TIME,
    WORD_LEAVE,
    WORD_IDLE,
    WORD_START,
    WORD_NAME,
    WORD_END,
    WORD_WAKE,
    WORD_SEND,
    WORD_RECV,
    WORD_TIMER,
    WORD_STEAL,
    WORD_KIND_COUNT,
};

static const struct {
    const char *name;
    enum event_kind event;
} known[WORD_KIND_COUNT] = {
    [WORD_NONE] = {"none", EVENT_OTHER},   [WORD_RUN] = {"run", EVENT_DISPATCH},
    [WORD_HAND] = {"hand", EVENT_HAND},    [WORD_TIME] = {"time", EVENT_OTHER},
    [WORD_LEAVE] = {"leave", EVENT_LEAVE}, [WORD_IDLE] = {"idle", EVENT_IDLE},
    [WORD_START] = {"start", EVENT_START}, [WORD_NAME] = {"name", EVENT_OTHER},
    [WORD_END] = {"end", EVENT_END},       [WORD_WAKE] = {"wake", EVENT_WAKE},
    [WORD_SEND] = {"send", EVENT_SEND},    [WORD_RECV] = {"recv", EVENT_RECV},
    [WORD_TIMER] = {"timer", EVENT_TIMER}, [WORD_STEAL] = {"steal", EVENT_MARK},
};

/* The bytes that are being read, and what their head said. */
struct reader {
    const char *at;
    const char *end;
    enum word_kind kinds[256];
    double begin_ns;    /* the clock at tick 0 */
    double ns_per_tick; /* of the words' times */
    uint64_t first_ns;  /* what is before is left out */
    struct recording *recording;
};

static const char magic[] = "orrery-recording\t1\n";

bool recording_is_one(const void *bytes, size_t size)
{
    return size >= strlen(magic) && memcmp(bytes, magic, strlen(magic)) == 0;
}

/* Takes the next line, without its end; false if there is none. */
static bool take_line(struct reader *reader, char line[static 512])
{
    const char *end = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
    size_t length = end == NULL ? 512 : (size_t)(end - reader->at);
    if (length >= 512) {
        return false;
    }
    memcpy(line, reader->at, length);
    line[length] = '\0';
    reader->at = end + 1;
    return true;
}

static bool take_kinds(struct reader *reader)
{
    char line[512];
    if (!take_line(reader, line) || strncmp(line, "kinds\t", 6) != 0) {
        return false;
    }
    char *rest = NULL;
    size_t number = 0;
    for (char *name = strtok_r(line + 6, "\t", &rest); name != NULL && number < 256;
         name = strtok_r(NULL, "\t", &rest)) {
        for (int kind = 0; kind < WORD_KIND_COUNT; kind++) {
            if (strcmp(known[kind].name, name) == 0) {
                reader->kinds[number] = (enum word_kind)kind;
            }
        }
        number++;
    }
    return true;
}

static bool take_clock(struct reader *reader)
{
    char line[512];
    uint64_t ticks[2];
    uint64_t ns[2];
    if (!take_line(reader, line) ||
        sscanf(line, "clock\t%" SCNu64 "\t%" SCNu64 "\t%" SCNu64 "\t%" SCNu64, &ticks[0], &ns[0],
               &ticks[1], &ns[1]) != 4 ||
        ticks[1] <= ticks[0] || ns[1] < ns[0]) {
        return false;
    }
    reader->begin_ns = (double)ns[0];
    reader->ns_per_tick = (double)(ns[1] - ns[0]) / (double)(ticks[1] - ticks[0]);
    return true;
}

static uint64_t word_at(const char *words, size_t i)
{
    uint64_t word;
    memcpy(&word, words + i * sizeof(word), sizeof(word));
    return word;
}

static enum word_kind kind_of(const struct reader *reader, uint64_t word)
{
    return reader->kinds[word >> 56];
}

/* The time of each word: that of the reading before it, and a share of what is to the next. */
static void find_times(const struct reader *reader, const char *words, size_t count, double *times)
{
    size_t from = 0;
    double before = 0;
    bool is_known = false;
    for (size_t i = 0; i <= count; i++) {
        bool is_time = i < count && kind_of(reader, word_at(words, i)) == WORD_TIME;
        if (i < count && !is_time) {
            continue;
        }
        double now = before;
        if (is_time) {
            double ticks = (double)(word_at(words, i) & (UINT64_MAX >> 8));
            now = reader->begin_ns + ticks * reader->ns_per_tick;
        }
        double step = is_known && i > from ? (now - before) / (double)(i - from) : 0;
        for (size_t k = from; k < i; k++) {
            times[k] = is_known ? before + step * (double)(k - from) : now;
        }
        if (is_time) {
            times[i] = now;
            from = i + 1;
            before = now;
            is_known = true;
        }
    }
}

static void add_name(struct recording *recording, uint32_t task, uint64_t word)
{
    struct recording_name *last =
        recording->name_count == 0 ? NULL : &recording->names[recording->name_count - 1];
    if (last == NULL || last->task != task) {
        recording->names =
            tool_grow(recording->names, recording->name_count, sizeof(*recording->names));
        if (map_find(&recording->by_task, task) == MAP_NONE) {
            map_add(&recording->by_task, task, recording->name_count);
        }
        last = &recording->names[recording->name_count++];
        *last = (struct recording_name){.task = task};
    }
    size_t length = strlen(last->text);
    for (int i = 0; i < 7 && length + 1 < sizeof(last->text); i++) {
        char byte = (char)(word >> (8 * i) & 0xff);
        if (byte != '\0') {
            last->text[length++] = (unsigned char)byte < ' ' ? '?' : byte;
        }
    }
}

/* Makes an event of a word; `runner` is who runs on the worker. */
static void add_event(struct recording *recording, const struct event *event)
{
    recording->events = tool_grow(recording->events, recording->count, sizeof(struct event));
    struct event *added = &recording->events[recording->count];
    *added = *event;
    added->record.seq = ++recording->count;
}

static void add_words(struct reader *reader, uint32_t worker, const char *words, size_t count)
{
    double *times = tool_alloc(count, sizeof(double));
    uint32_t runner = 0;
    uint32_t started = 0;
    find_times(reader, words, count, times);
    for (size_t i = 0; i < count; i++) {
        uint64_t word = word_at(words, i);
        enum word_kind kind = kind_of(reader, word);
        uint32_t id = (uint32_t)word;
        bool is_message = kind == WORD_SEND || kind == WORD_RECV || kind == WORD_HAND;
        if (kind == WORD_NAME && started != 0) {
            add_name(reader->recording, started, word);
        }
        if (kind == WORD_RUN || kind == WORD_LEAVE || kind == WORD_IDLE) {
            runner = kind == WORD_RUN ? id : 0;
        }
        started = kind == WORD_START ? id : started;
        if (known[kind].event == EVENT_OTHER || (is_message && runner == 0)) {
            continue;
        }
        struct event event = {
            .record = {.time_ns = (uint64_t)times[i],
                       .task = is_message ? runner : id,
                       .value = is_message ? id : 0},
            .kind = known[kind].event,
            .name = known[kind].name,
            .runner = runner,
            .worker = worker,
        };
        add_event(reader->recording, &event);
    }
    free(times);
}

static bool take_worker(struct reader *reader, const char *line)
{
    uint64_t index;
    uint64_t lost;
    uint64_t count;
    uint64_t room = (uint64_t)(reader->end - reader->at) / sizeof(uint64_t);
    if (sscanf(line, "worker\t%" SCNu64 "\t%" SCNu64 "\t%" SCNu64, &index, &lost, &count) != 3 ||
        count > room || index > 65535) {
        return false;
    }
    struct recording *recording = reader->recording;
    size_t before = recording->count;
    add_words(reader, (uint32_t)index, reader->at, (size_t)count);
    reader->at += count * sizeof(uint64_t);
    recording->lost += lost;
    recording->workers = index < recording->workers ? recording->workers : (uint32_t)index + 1;
    if (lost > 0 && recording->count > before &&
        recording->events[before].record.time_ns > reader->first_ns) {
        reader->first_ns = recording->events[before].record.time_ns;
    }
    return true;
}

static int compare_events(const void *left, const void *right)
{
    const rt_journal_record *a = &((const struct event *)left)->record;
    const rt_journal_record *b = &((const struct event *)right)->record;
    if (a->time_ns != b->time_ns) {
        return a->time_ns < b->time_ns ? -1 : 1;
    }
    return a->seq < b->seq ? -1 : 1;
}

/* Brings the workers' events into one order and drops what not all of them tell. */
static void merge(const struct reader *reader)
{
    struct recording *recording = reader->recording;
    size_t kept = 0;
    for (size_t i = 0; i < recording->count; i++) {
        if (recording->events[i].record.time_ns >= reader->first_ns) {
            recording->events[kept++] = recording->events[i];
        }
    }
    recording->lost += recording->count - kept;
    recording->count = kept;
    if (kept > 0) {
        qsort(recording->events, kept, sizeof(struct event), compare_events);
    }
}

bool recording_parse(struct recording *recording, void *bytes, size_t size, const char *path)
{
    char line[512];
    struct reader reader = {.at = bytes, .end = (const char *)bytes + size, .recording = recording};
    *recording = (struct recording){.count = 0};
    bool is_whole = false;
    bool is_right = recording_is_one(bytes, size) && take_line(&reader, line) &&
                    take_kinds(&reader) && take_clock(&reader);
    while (is_right && !is_whole && take_line(&reader, line)) {
        is_whole = strcmp(line, "end") == 0;
        is_right = is_whole || take_worker(&reader, line);
    }
    if (!is_whole) {
        tool_complain("%s: it is no whole recording", path);
        recording_free(recording);
    } else {
        merge(&reader);
    }
    free(bytes);
    return is_whole;
}

void recording_free(struct recording *recording)
{
    free(recording->events);
    free(recording->names);
    map_free(&recording->by_task);
    *recording = (struct recording){.count = 0};
}

const char *recording_name_of(const struct recording *recording, uint32_t task)
{
    size_t found = map_find(&recording->by_task, task);
    return found == MAP_NONE ? NULL : recording->names[found].text;
}
