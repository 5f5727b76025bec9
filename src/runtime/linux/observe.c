/* SPDX-License-Identifier: Apache-2.0 */
/* A program that lets itself be looked at: the part of the runtime behind `orrery dump`, `stats`
 * and `trace`, and the files that ORRERY_JOURNAL and ORRERY_RECORD ask for.
 *
 * The program opts in: with ORRERY_OBSERVE=1 in its environment, with `observe` in its
 * configuration, or with RT_OBSERVE when the library is compiled. Without that there is no socket,
 * no thread and no cost.
 *
 * Who answers is the thread of port/linux/watch.h; what it tells belongs to the scheduler. So it
 * posts a call and waits:
 *
 *     IDLE --ask--> ASKED --the scheduler's turn--> WORKING --> DONE --taken--> IDLE
 *                     |                                ^
 *                     +--no turn for a while--> LEFT --+ (asked again) or IDLE (turn, nobody waits)
 *
 * A report is made in slices of so many places of the tables: each is one such errand, and between
 * two of them the scheduler has its turns, however many tasks there are. What a slice says is sent
 * before the next is asked for, so that a report takes the memory of one slice.
 *
 * A scheduler that gets no turn, because an actor computes for ever, and one with several workers,
 * which never all stand still, are looked at from the thread itself (report.h: peek). The post is
 * one object: while it is queued it is not queued again.
 *
 * I1  The post is queued iff the stage is ASKED or LEFT.                        (errand_post)
 * I2  `text` is the scheduler's while WORKING, the thread's otherwise.          (errand_run)
 *
 * Orders: every change of `stage` is a read-modify-write with acquire and release, or a release
 * store that the other side's acquire reads. */
#define RTI_MODULE "observe"
#include <string.h>

#include <orrery/rt_static_config.h>

#include "base/journal_file.h"
#include "observe/journal_api.h"
#include "observe/recording.h"
#include "observe/report.h"
#include "port/linux/watch.h"
#include "runtime/runtime.h"

/* How long the scheduler may take to come to the post. */
#define OBSERVE_PATIENCE_NS UINT64_C(100000000)

/* Places of the tables that one slice of a report looks at: with stacks of the largest size that is
 * a millisecond or two in which the scheduler has no turn. */
#define OBSERVE_SLICE_PLACES 256

/* Address space for one slice; only what is written becomes memory. A place takes at most two
 * digits for each byte of its stack, and a line for each event that would end its wait. */
#define OBSERVE_TEXT_BYTES (OBSERVE_SLICE_PLACES * (size_t)32768)

/* All stacks of a report together, so that the answer stays one that can be sent and read. */
#define OBSERVE_STACKS_BYTES    ((size_t)64 << 20)
#define OBSERVE_STACK_BYTES_MIN ((size_t)1024)
#define OBSERVE_STACK_BYTES_MAX ((size_t)8192)

/* Events that a journal keeps. */
#define OBSERVE_RECORDS    ((size_t)1 << 20)
#define OBSERVE_RING_BYTES (OBSERVE_RECORDS * sizeof(struct rti_journal_record))

/* How long a trace may take, how often the workers are ticked at meanwhile, and how many of them
 * keep what they do. */
#define OBSERVE_RECORD_MS_MAX 60000
#define OBSERVE_TICK_NS       UINT64_C(1000000)
#define OBSERVE_RECORDERS_MAX 128
#define OBSERVE_WORDS_BYTES   (RTI_RECORDER_WORDS * sizeof(uint64_t))

enum observe_stage { STAGE_IDLE, STAGE_ASKED, STAGE_WORKING, STAGE_DONE, STAGE_LEFT };

enum observe_errand { ERRAND_DUMP, ERRAND_STATS, ERRAND_RECORD };

static struct {
    bool is_open;
    struct rti_watch watch;
    struct rti_sched *sched;
    struct rti_post post;
    rti_atomic_u32 stage;  /* enum observe_stage */
    rti_atomic_u32 errand; /* enum observe_errand */
    struct rti_text text;
    struct rti_report_cursor cursor; /* where the report goes on */
    bool has_stacks;                 /* with the bytes of stacks */
    size_t stack_bytes;              /* of each stack */
    bool has_more;                   /* the report is not at its end */
    struct rti_journal journal;      /* what ORRERY_JOURNAL asks for */
    struct rti_journal_record *ring;
    int file; /* for ORRERY_JOURNAL; -1: none */
    struct rti_recording recording;
    uint64_t recording_ns;         /* the clock when it began */
    int record_file;               /* for ORRERY_RECORD; -1: none */
    rti_atomic_u32 is_ticking;     /* the thread below comes by at the workers */
    struct rti_port_thread ticker; /* while there is a file */
    bool has_ticker;
} observe;

static void report_begin(void)
{
    size_t live = (size_t)rti_sched_live(observe.sched) + 1;
    size_t bytes = OBSERVE_STACKS_BYTES / live;
    if (bytes > OBSERVE_STACK_BYTES_MAX) {
        bytes = OBSERVE_STACK_BYTES_MAX;
    } else if (bytes < OBSERVE_STACK_BYTES_MIN) {
        bytes = OBSERVE_STACK_BYTES_MIN;
    }
    observe.cursor = (struct rti_report_cursor){.index = 0};
    observe.stack_bytes = bytes;
    observe.has_more = true;
}

static void make_slice(bool is_moving)
{
    struct rti_report_options options = {.has_stacks = observe.has_stacks,
                                         .stack_bytes_max = observe.stack_bytes,
                                         .peek = is_moving ? rti_watch_peek : NULL,
                                         .places_max = OBSERVE_SLICE_PLACES};
    observe.has_more = rti_report_slice(&observe.text, observe.sched, &options, &observe.cursor);
}

/* How long everybody else had to wait for a slice. */
static void tell_span(uint64_t span_ns)
{
    rti_text_line(&observe.text, "slice");
    rti_text_number(&observe.text, span_ns);
    rti_text_end_line(&observe.text);
}

/* On the scheduler's stack. */
static void errand_run(enum observe_errand errand)
{
    uint64_t begin_ns = rti_linux_clock_now();
    switch (errand) {
    case ERRAND_DUMP:
        make_slice(false);
        tell_span(rti_linux_clock_now() - begin_ns);
        break;
    case ERRAND_STATS:
        rti_report_stats(&observe.text, observe.sched);
        tell_span(rti_linux_clock_now() - begin_ns);
        break;
    case ERRAND_RECORD:
        rti_worker_follow(&observe.sched->worker);
        break;
    }
}

static void errand_called(struct rti_post *post)
{
    (void)post;
    uint32_t stage = STAGE_ASKED;
    /* Acquire: the errand is what the thread wrote; release: I1 and I2. */
    if (!rti_u32_cas_acqrel(&observe.stage, &stage, STAGE_WORKING)) {
        RT_ASSERT(stage == STAGE_LEFT);
        if (!rti_u32_cas_acqrel(&observe.stage, &stage, STAGE_IDLE)) {
            /* Asked again between the two looks. */
            rti_u32_store_relaxed(&observe.stage, STAGE_WORKING);
        } else {
            return;
        }
    }
    errand_run((enum observe_errand)rti_u32_load_relaxed(&observe.errand));
    /* Release: what was written is the thread's, which awaits with acquire. */
    rti_u32_store_release(&observe.stage, STAGE_DONE);
    rti_linux_futex_wake(observe.watch.port, &observe.stage, 1);
}

/* Has the scheduler do something; false if it got no turn in time. */
static bool errand_ask(enum observe_errand errand)
{
    uint32_t stage = STAGE_LEFT;
    rti_u32_store_relaxed(&observe.errand, errand);
    /* Left behind by an earlier question, the post is still queued. */
    if (!rti_u32_cas_acqrel(&observe.stage, &stage, STAGE_ASKED)) {
        RT_ASSERT(stage == STAGE_IDLE);
        rti_u32_store_release(&observe.stage, STAGE_ASKED);
        rti_sched_post(observe.sched, &observe.post);
    }
    if (!rti_watch_await(&observe.watch, &observe.stage, STAGE_ASKED, OBSERVE_PATIENCE_NS)) {
        stage = STAGE_ASKED;
        if (rti_u32_cas_acqrel(&observe.stage, &stage, STAGE_LEFT)) {
            return false;
        }
    }
    while (rti_u32_load_acquire(&observe.stage) != STAGE_DONE) {
        (void)rti_linux_futex_wait(observe.watch.port, &observe.stage, STAGE_WORKING,
                                   rti_linux_clock_now() + OBSERVE_PATIENCE_NS);
    }
    rti_u32_store_release(&observe.stage, STAGE_IDLE);
    return true;
}

static void say(struct rti_watch *watch, const char *line)
{
    size_t length = 0;
    while (line[length] != '\0') {
        length++;
    }
    (void)rti_watch_write(watch, line, length);
}

static bool is_closing(const struct rti_watch *watch)
{
    return rti_u32_load_relaxed(&watch->is_closing) != 0;
}

/* Makes one slice of a report, on the scheduler's stack or, while everything runs, here. True: it
 * runs. */
static bool answer_slice(struct rti_watch *watch, bool is_moving)
{
    if (!is_moving && !errand_ask(ERRAND_DUMP)) {
        say(watch, "busy\n");
        is_moving = true;
    }
    if (is_moving) {
        make_slice(true);
        tell_span(0);
    }
    return is_moving;
}

/* Sends what a slice says; false if nobody takes it. */
static bool text_send(struct rti_watch *watch)
{
    if (observe.text.is_cut) {
        say(watch, "cut\n");
    }
    return rti_watch_write(watch, observe.text.bytes, observe.text.length);
}

static void answer_dump(struct rti_watch *watch, char *memory)
{
    /* With several workers no single thread could make the others stand still. */
    bool is_moving = observe.sched->crew != NULL;
    bool is_taken = true;
    report_begin();
    while (is_taken && observe.has_more && !is_closing(watch)) {
        rti_text_init(&observe.text, memory, OBSERVE_TEXT_BYTES);
        is_moving = answer_slice(watch, is_moving);
        is_taken = text_send(watch);
    }
    if (is_taken) {
        say(watch, observe.has_more ? "error\tthe runtime ends\n" : "end\n");
    }
}

static void answer_stats(struct rti_watch *watch, char *memory)
{
    rti_text_init(&observe.text, memory, OBSERVE_TEXT_BYTES);
    if (!errand_ask(ERRAND_STATS)) {
        say(watch, "busy\n");
        rti_report_stats(&observe.text, observe.sched);
    }
    if (text_send(watch)) {
        say(watch, "end\n");
    }
}

/* Gives an answer room for its text. */
static void answer_with(struct rti_watch *watch, void (*answer)(struct rti_watch *, char *memory))
{
    char *memory = rti_linux_memory_map(watch->port, OBSERVE_TEXT_BYTES);
    if (memory == NULL) {
        say(watch, "error\tno memory for the report\n");
        return;
    }
    answer(watch, memory);
    rti_linux_memory_unmap(watch->port, memory, OBSERVE_TEXT_BYTES);
}

static bool sink(void *arg, const void *bytes, size_t size)
{
    return rti_watch_write(arg, bytes, size);
}

/* Makes the rings, if there are none yet; they stay until the runtime ends. */
static bool recording_make(void)
{
    struct rti_recording *recording = &observe.recording;
    uint32_t count = rti_recording_workers(observe.sched);
    count = count < OBSERVE_RECORDERS_MAX ? count : OBSERVE_RECORDERS_MAX;
    if (recording->rings == NULL) {
        recording->rings = rti_linux_memory_map(observe.sched->port, count * OBSERVE_WORDS_BYTES);
        recording->rings_count = count;
        rti_u32_init(&recording->turn, 0);
    }
    return recording->rings != NULL;
}

static void recording_begin(void)
{
    observe.recording_ns = rti_linux_clock_now();
    rti_recording_begin(&observe.recording);
    /* Release pairs with rti_worker_follow. */
    rti_ptr_store_release(&observe.sched->recording, &observe.recording);
}

static bool recording_is_on(void)
{
    return rti_u32_load_relaxed(&observe.recording.turn) % 2 == 1;
}

static void recording_end(void)
{
    rti_recording_end(&observe.recording);
    rti_recording_call(observe.sched);
}

/* Writes what was recorded; false if there is no memory for a copy, or it was not taken. */
static bool recording_write(rti_recording_sink take, void *arg)
{
    struct rti_port *port = observe.sched->port;
    struct rti_recording_output output = {
        .sink = take,
        .arg = arg,
        .room = rti_linux_memory_map(port, OBSERVE_WORDS_BYTES),
        .begin_ns = observe.recording_ns,
    };
    if (output.room == NULL) {
        return false;
    }
    bool is_taken = rti_recording_write(observe.sched, &observe.recording, &output);
    rti_linux_memory_unmap(port, output.room, OBSERVE_WORDS_BYTES);
    return is_taken;
}

/* Lets the program go on for a while, until who asks goes away or the runtime ends. */
static void record(struct rti_watch *watch, uint64_t span_ms)
{
    rti_atomic_u32 never;
    rti_u32_init(&never, 0);
    uint64_t end_ns = rti_linux_clock_now() + span_ms * RTI_NS_PER_MS;
    while (rti_linux_clock_now() < end_ns && !rti_watch_is_abandoned(watch) && !is_closing(watch)) {
        (void)rti_watch_await(watch, &never, 0, OBSERVE_TICK_NS);
        rti_recording_tick(observe.sched);
    }
}

/* Has the workers record; false, and nothing is on, if the one of the fixed engine has no turn. */
static bool recording_start(void)
{
    recording_begin();
    if (observe.sched->crew != NULL) {
        rti_recording_call(observe.sched);
    } else if (!errand_ask(ERRAND_RECORD)) {
        rti_recording_end(&observe.recording);
        return false;
    }
    return true;
}

static void answer_trace(struct rti_watch *watch, uint64_t span_ms)
{
    bool is_ours = !recording_is_on();
    if (!recording_make()) {
        say(watch, "error\tno memory for the recording\n");
        return;
    }
    if (is_ours && !recording_start()) {
        say(watch, "error\tthe scheduler gets no turn: a task computes\n");
        return;
    }
    record(watch, span_ms);
    if (is_ours) {
        recording_end();
    }
    (void)recording_write(sink, watch); /* who asks sees that it is cut */
}

static bool is_same(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

/* The number behind `word ` in a request; 0 if it is another request. */
static uint64_t number_behind(const char *request, const char *word)
{
    while (*word != '\0') {
        if (*request++ != *word++) {
            return 0;
        }
    }
    uint64_t number = 0;
    while (*request >= '0' && *request <= '9' && number < OBSERVE_RECORD_MS_MAX) {
        number = number * 10 + (uint64_t)(*request++ - '0');
    }
    return *request == '\0' && number <= OBSERVE_RECORD_MS_MAX ? number : 0;
}

static void answer(struct rti_watch *watch, const char *request)
{
    uint64_t span_ms = number_behind(request, "trace ");
    bool is_bare = is_same(request, "dump bare");
    if (is_bare || is_same(request, "dump")) {
        observe.has_stacks = !is_bare;
        answer_with(watch, answer_dump);
    } else if (is_same(request, "stats")) {
        answer_with(watch, answer_stats);
    } else if (span_ms > 0) {
        answer_trace(watch, span_ms);
    } else {
        say(watch, "error\tthis program does not know that request\n");
    }
}

/* A journal of the whole run, for ORRERY_JOURNAL. */
static void open_journal(struct rti_sched *sched)
{
    observe.file = rti_watch_open_file("ORRERY_JOURNAL");
    if (observe.file < 0) {
        return;
    }
    observe.ring = rti_linux_memory_map(sched->port, OBSERVE_RING_BYTES);
    if (observe.ring == NULL) {
        rti_watch_close_file(observe.file);
        observe.file = -1;
        return;
    }
    rti_journal_init(&observe.journal, observe.ring, OBSERVE_RECORDS);
}

static void close_journal(void)
{
    if (observe.file < 0) {
        return;
    }
    struct rti_journal_storage storage = {.magic = RTI_JOURNAL_API_MAGIC,
                                          .journal = observe.journal};
    rt_journal shown;
    memcpy(&shown, &storage, sizeof(storage));
    if (RT_FAILED(rt_journal_save(&shown, observe.file))) {
        rti_port_log("the journal could not be written to the file of ORRERY_JOURNAL");
    }
    rti_watch_close_file(observe.file);
    rti_linux_memory_unmap(observe.sched->port, observe.ring, OBSERVE_RING_BYTES);
    observe.file = -1;
    observe.ring = NULL;
}

static void ticker_main(void *arg)
{
    struct rti_port *port = arg;
    while (rti_u32_load_acquire(&observe.is_ticking) != 0) {
        (void)rti_linux_futex_wait(port, &observe.is_ticking, 1,
                                   rti_linux_clock_now() + OBSERVE_TICK_NS);
        rti_recording_tick(observe.sched);
    }
}

/* A recording of the whole run, or of its end, for ORRERY_RECORD. */
static void open_recording(struct rti_sched *sched)
{
    observe.record_file = rti_watch_open_file("ORRERY_RECORD");
    observe.has_ticker = false;
    if (observe.record_file < 0 || !recording_make()) {
        return;
    }
    recording_begin();
    rti_worker_follow(&sched->worker);
    rti_u32_init(&observe.is_ticking, 1);
    observe.has_ticker =
        !RT_FAILED(rti_linux_thread_start(sched->port, &observe.ticker, ticker_main, sched->port));
}

static bool file_sink(void *arg, const void *bytes, size_t size)
{
    return !RT_FAILED(rti_port_descriptor_write(*(const int *)arg, bytes, size));
}

static void close_recording(void)
{
    struct rti_sched *sched = observe.sched;
    if (observe.has_ticker) {
        /* Release pairs with the acquire in ticker_main. */
        rti_u32_store_release(&observe.is_ticking, 0);
        rti_linux_futex_wake(sched->port, &observe.is_ticking, 1);
        rti_linux_thread_join(sched->port, &observe.ticker);
    }
    if (observe.record_file >= 0) {
        if (!recording_is_on() || !recording_write(file_sink, &observe.record_file)) {
            rti_port_log("the recording could not be written to the file of ORRERY_RECORD");
        }
        rti_watch_close_file(observe.record_file);
    }
    if (observe.recording.rings == NULL) {
        return;
    }
    if (recording_is_on()) {
        rti_recording_end(&observe.recording);
    }
    /* Nobody else runs any more. */
    rti_worker_follow(&sched->worker);
    rti_ptr_store_relaxed(&sched->recording, NULL);
    rti_linux_memory_unmap(sched->port, observe.recording.rings,
                           observe.recording.rings_count * OBSERVE_WORDS_BYTES);
    observe.recording.rings = NULL;
}

struct rti_journal *rti_host_journal(void)
{
    return observe.file >= 0 ? &observe.journal : NULL;
}

static void part_start(struct rt_runtime *runtime)
{
    uint64_t is_wanted = RT_OBSERVE || runtime->is_observed;
    bool is_world = is_same(runtime->sched.port->ops->name, "linux");
    observe.sched = &runtime->sched;
    open_journal(&runtime->sched);
    observe.record_file = -1;
    if (is_world) {
        open_recording(&runtime->sched);
    }
    if (is_world && observe.file >= 0) {
        rti_sched_observe(&runtime->sched, &observe.journal, NULL);
    }
    (void)rti_port_environment_number("ORRERY_OBSERVE", &is_wanted);
    observe.is_open = false;
    if (is_wanted == 0 || !is_world) {
        return;
    }
    rti_u32_init(&observe.stage, STAGE_IDLE);
    rti_u32_init(&observe.errand, ERRAND_DUMP);
    observe.post.call = errand_called;
    rt_status status = rti_watch_open(&observe.watch, runtime->sched.port, answer);
    observe.is_open = !RT_FAILED(status);
    if (!observe.is_open) {
        rti_port_log(status.msg);
    }
}

static void part_stop(void)
{
    if (observe.is_open) {
        rti_watch_close(&observe.watch);
        observe.is_open = false;
    }
    close_recording();
    close_journal();
}

const struct rti_runtime_part rti_part_observe = {.start = part_start, .stop = part_stop};
