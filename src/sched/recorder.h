/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_RECORDER_H
#define RTI_RECORDER_H

/* The flight recorder: what each worker did last, at a price that a program can always pay.
 *
 * Each worker has a ring of its own and writes one word for each thing that happens: what, and whom
 * it concerns. Who ran meanwhile, who sent and who woke is told by the order: it is the one that
 * the last RUN of the same ring names. The oldest words are overwritten. Nobody else writes,
 * nothing is locked, and no fiber goes another way because of it. It is not the journal
 * (base/journal.h): that keeps one order of all decisions, for runs that are to be repeated, and
 * sends every turn over the scheduler's stack.
 *
 * Time. Even the processor's own count costs more than a word may. So a reading stands between the
 * words now and then: before each of them while they come slowly, after up to RTI_RECORDER_STRETCH
 * when they come fast. Who reads the ring spreads the words evenly between two readings. So that a
 * turn of milliseconds behind a fast stretch is not spread over the words before it, another thread
 * ticks every millisecond or so: the next word of each worker is then preceded by the time of the
 * tick and by a reading.
 *
 * Starting and stopping. A recording is asked for by its `turn`, odd while it is on; a worker
 * follows at its next look (rti_worker_follow in scheduler.h). The rings stay until the runtime
 * ends, so that nobody has to wait for a worker that does not look.
 *
 *     at      where the next word goes; NULL: this worker does not record
 *     stop    a word that would go here or beyond goes the long way: a reading comes first
 *
 * I1  at <= stop while it records, and from `stop` on there is room for the words of the long way,
 *     unless the ticking thread has made `stop` NULL.                    (rti_recorder_note_timed)
 * I2  Everything is written by the worker's own thread, but that the ticking thread sets `tick` if
 *     it is 0, and `stop` to NULL.
 *
 * Pairs: `at` is stored with release and loaded with acquire by the reader, so the words before it
 * are complete. `laps` is odd while `at` goes back to the beginning (rti_recorder_copy). A word
 * that may have been overwritten while it was copied is told by a second look at both.
 *
 * Costs: a load and a branch while it is off. While it is on a word is two loads and two stores,
 * and its share of a reading; bench/observe_bench shows what that adds to a message.
 *
 * Rejected: a reading for each word (a fifth of a round trip); words of 16 bytes with their own
 * time (twice the memory, and the reading is what costs); one ring for all workers (they would
 * fight for its end). */

#include "base/assert.h"
#include "base/atomic.h"
#include "base/compiler.h"

/* Is there a recorder at all? */
#define RTI_RECORDS (RT_TRACE && !RTI_ONE_WORKER)

/* The words that a worker keeps. */
#ifndef RTI_RECORDER_WORDS
#define RTI_RECORDER_WORDS ((size_t)1 << 19)
#endif

/* Words between two readings at most. */
#define RTI_RECORDER_STRETCH 256

/* Words that the long way may add: two readings and the word itself. */
#define RTI_RECORDER_SLACK 3

/* What a word says: its upper 8 bits. Whom it concerns are its lower 32; `detail` is between. The
 * names are in files, by them a reader knows the numbers. */
#define RTI_RECORDER_KINDS(X)                                                                      \
    X(RTI_NOTE_RUN, "run")     /* id goes on, or begins; who ran before has left */                \
    X(RTI_NOTE_HAND, "hand")   /* as send, to one that waited: it is woken and has received */     \
    X(RTI_NOTE_TIME, "time")   /* the time; its lower 56 bits: ticks since the recording began */  \
    X(RTI_NOTE_LEAVE, "leave") /* who ran has left; the scheduler itself goes on */                \
    X(RTI_NOTE_IDLE, "idle")   /* nothing is ready: the worker sleeps */                           \
    X(RTI_NOTE_START, "start") /* id was made ready for the first time; detail: its priority */    \
    X(RTI_NOTE_NAME,                                                                               \
      "name")              /* 7 bytes of the name of the latest start; the first at the low end */ \
    X(RTI_NOTE_END, "end") /* id has ended; detail: how */                                         \
    X(RTI_NOTE_WAKE, "wake")   /* who runs has ended the wait of id */                             \
    X(RTI_NOTE_SEND, "send")   /* who runs has sent a message to id */                             \
    X(RTI_NOTE_RECV, "recv")   /* who runs has received a message from id */                       \
    X(RTI_NOTE_TIMER, "timer") /* a timer of id fires */                                           \
    X(RTI_NOTE_STEAL, "steal") /* id was taken from another worker; detail: from which station */  \
    X(RTI_NOTE_NONE, "none")   /* nothing: the rest of a lap */

#define RTI_RECORDER_ENUM_ENTRY(kind, name) kind,
enum rti_note { RTI_RECORDER_KINDS(RTI_RECORDER_ENUM_ENTRY) RTI_NOTE_COUNT };
#undef RTI_RECORDER_ENUM_ENTRY

/* One worker's. */
struct rti_recorder {
    rti_atomic_ptr at;
    rti_atomic_ptr stop;
    rti_atomic_ptr last; /* what `at` was when the recording ended */
    rti_atomic_u64 *ring;
    rti_atomic_u64 tick;  /* when the ticking thread came by first since the last reading; 0: not */
    rti_atomic_u64 laps;  /* twice the times `at` went back; odd: it is about to */
    uint64_t base_ticks;  /* when the recording began */
    uint64_t read_ticks;  /* the last reading */
    rti_atomic_u64 *read; /* where it lies */
    size_t stretch;       /* words until the next */
    uint32_t turn;        /* of the recording that it has followed */
    rti_atomic_u32 began; /* the turn that its words are of; 0: it has none */
};

/* What is asked of all workers of a runtime. */
struct rti_recording {
    rti_atomic_u32 turn; /* odd: on. Release, after the rest; pairs with the acquire of a look */
    uint32_t rings_count;
    rti_atomic_u64 *rings; /* RTI_RECORDER_WORDS each; the i-th is that of worker i */
    /* When the latest recording began. A worker may still follow the one before: what it reads then
     * is not used, because its turn is over. */
    rti_atomic_u64 base_ticks;
};

/* A word, with a reading before it. */
RTI_NOINLINE void rti_recorder_note_timed(struct rti_recorder *recorder, uint64_t word);

/* Adds a word, if this worker records. Its own thread. */
static RTI_ALWAYSINLINE void rti_recorder_note(struct rti_recorder *recorder, enum rti_note what,
                                               uint32_t detail, uint32_t id)
{
    rti_atomic_u64 *at = rti_ptr_load_relaxed(&recorder->at);
    if (RTI_UNLIKELY(at != NULL)) {
        uint64_t word = (uint64_t)what << 56 | (uint64_t)detail << 32 | id;
        if (RTI_LIKELY((uintptr_t)at < (uintptr_t)rti_ptr_load_relaxed(&recorder->stop))) {
            rti_u64_store_relaxed(at, word);
            /* Release: who reads as far as this finds the word. */
            rti_ptr_store_release(&recorder->at, at + 1);
        } else {
            rti_recorder_note_timed(recorder, word);
        }
    }
}

/* The same before a long pause: the word and the next one have times of their own. */
void rti_recorder_note_pause(struct rti_recorder *recorder, enum rti_note what);

/* The name of what the latest word started; NULL: it has none. */
void rti_recorder_note_name(struct rti_recorder *recorder, const char *name);

/* Begins or ends, as the recording wants it; `index` says which worker it is. Its own thread. */
RTI_COLD void rti_recorder_follow(struct rti_recorder *recorder,
                                  const struct rti_recording *recording, uint32_t index);

/* Begins a recording, anew if there was one, and ends it. One thread at a time. */
void rti_recording_begin(struct rti_recording *recording);
void rti_recording_end(struct rti_recording *recording);

/* The ticking thread comes by. */
void rti_recorder_tick(struct rti_recorder *recorder);

/* The processor's count, as the readings have it before the recording's beginning is taken off. */
uint64_t rti_recorder_ticks(void);

/* Copies the latest words of the recording, which may have ended, oldest first, into room for
 * RTI_RECORDER_WORDS of them, and says how many came before those. Returns how many it has copied.
 * Any thread, while the worker goes on. */
size_t rti_recorder_copy(const struct rti_recorder *recorder, const struct rti_recording *recording,
                         uint64_t *words, uint64_t *lost);

#endif
