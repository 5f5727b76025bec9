/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_JOURNAL_H
#define ORRERY_RT_JOURNAL_H

/* The journal: what a runtime did, event by event, in memory of the program's and in a file.
 *
 *     static rt_journal journal;
 *     static uint64_t ring[RT_JOURNAL_BYTES(4096) / 8];
 *     rt_journal_init(&journal, ring, sizeof(ring));
 *     rt_journal_start(&journal);                       or: rt_sim_config.journal = &journal
 *     ...
 *     rt_journal_stop(&journal);
 *     rt_journal_save(&journal, fd);                    read it with: orrery journal FILE
 *
 * The ring keeps the latest events, the digest covers all of them. In the simulator nothing but the
 * seed decides what is written, and the digest is the run's trace hash. On the real machine the
 * times differ from run to run, and with them the digest.
 *
 * Several workers write one journal, one after the other: each event has a number, a time and the
 * worker that wrote it, and what happened because of something else comes behind it. The order
 * among what has nothing to do with each other is that in which it was written, and differs from
 * run to run.
 *
 * A runtime that writes a journal decides each turn on the scheduler's own stack: it runs several
 * times slower than one that does not.
 *
 * The file. Everything is in the byte order of the machine that wrote it, which `byte_order` tells:
 *
 *     rt_journal_head
 *     names_size bytes: the names of the kinds, kind_count of them, each with a zero behind it,
 * then zeros up to a multiple of 8 count records of record_size bytes, oldest first
 *
 * A reader takes head_size and record_size from the file, not from its own header: later versions
 * may add fields at the end of both. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <orrery/rt/api.h>
#include <orrery/rt/status.h>

RT_EXTERN_C_BEGIN

/* One event. What does not apply is 0. */
typedef struct rti_journal_record {
    uint64_t seq;     /* 1, 2, 3, ...: the order of events, whatever the times say */
    uint64_t time_ns; /* of the runtime's clock */
    uint64_t timer;
    uint64_t value;   /* what the kind says */
    uint32_t task;    /* the actor, fiber or loop */
    uint32_t channel; /* the how-manieth channel of the runtime */
    uint32_t kind;    /* an index into the names */
    uint32_t worker;  /* with several workers: who wrote it, from 1 on; else 0 */
} rt_journal_record;

/* What a file begins with. */
typedef struct {
    char magic[8];       /* RT_JOURNAL_MAGIC, without its zero */
    uint32_t byte_order; /* RT_JOURNAL_BYTE_ORDER; read as 0x04030201 the bytes are swapped */
    uint32_t version;    /* RT_JOURNAL_VERSION */
    uint32_t head_size;  /* bytes of this head */
    uint32_t record_size;
    uint64_t written; /* events ever written; the sequence number of the latest */
    uint64_t count;   /* records in the file: the latest of them */
    uint64_t digest;  /* of all events ever written */
    uint32_t kind_count;
    uint32_t names_size;
    uint64_t sum; /* of all the rest: a damaged file is noticed */
} rt_journal_head;

#define RT_JOURNAL_MAGIC      "ORRJRNL\n"
#define RT_JOURNAL_BYTE_ORDER UINT32_C(0x01020304)
#define RT_JOURNAL_VERSION    1

/* A journal, in memory of the caller's. */
typedef struct {
    uint64_t opaque[6];
} rt_journal;

/* The bytes of a ring that keeps this many events. */
#define RT_JOURNAL_BYTES(events) ((size_t)(events) * sizeof(rt_journal_record))

/* Prepares an empty journal over a ring of `size` bytes, aligned for uint64_t. NULL and 0: only the
 * digest is kept.
 * Callable from any thread.
 * Never suspends.
 * Owns nothing: both stay the caller's, and are lent to the runtime from start to stop.
 * Returns RT_OK; RT_ERR_INVALID if there is no journal, the ring is not aligned, or it is too small
 * for one event.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_journal_init(rt_journal *journal, void *ring, size_t size);

/* Has the caller's runtime write each of its events from here on.
 * Callable on a thread of the runtime: by its actors and tasks, and in main between rt_init and
 * rt_cleanup. Never suspends. The journal and its ring are the runtime's until rt_journal_stop or
 * the runtime's end. Returns RT_OK; RT_ERR_INVALID if it is no journal; RT_ERR_THREAD outside of a
 * runtime; RT_ERR_STATE if the runtime writes one already, as it does in the simulator.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_journal_start(rt_journal *journal);

/* Ends the writing: no worker writes any more when it returns. The events stay; started again, it
 * goes on where it was.
 * Callable on a thread of the runtime.
 * Never suspends.
 * The journal and its ring are the caller's again.
 * Returns RT_OK; RT_ERR_INVALID if it is no journal; RT_ERR_THREAD outside of a runtime;
 * RT_ERR_STATE if the runtime does not write this one.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_journal_stop(rt_journal *journal);

/* Gives the digest of all events so far. Two runs of the simulator decided alike iff it is equal.
 * Callable from any thread while nobody writes, and on the threads of the runtime that writes.
 * Never suspends.
 * Owns nothing.
 * Returns the digest; 0 if it is no journal.
 * Nothing is lost on cancel. */
RT_API uint64_t rt_journal_digest(const rt_journal *journal);

/* Gives how many events were written so far, those that the ring has lost included.
 * Callable from any thread while nobody writes, and on the threads of the runtime that writes.
 * Never suspends.
 * Owns nothing.
 * Returns the count; 0 if it is no journal.
 * Nothing is lost on cancel. */
RT_API uint64_t rt_journal_written(const rt_journal *journal);

/* Takes a piece of a file; false: it could not. */
typedef bool (*rt_journal_sink)(void *arg, const void *bytes, size_t size);

/* Gives the journal as a file, piece by piece, to `sink`: for targets without descriptors.
 * Callable from any thread while nobody writes, and from the runtime's thread if it is the only
 * one; `sink` runs on it.
 * Never suspends, unless `sink` does: then no event may come meanwhile.
 * Owns nothing; the bytes are the sink's for the length of a call.
 * Returns RT_OK; RT_ERR_INVALID if it is no journal or there is no sink; RT_ERR_STATE if several
 * workers are writing it; RT_ERR_IO as soon as the sink says false.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_journal_export(const rt_journal *journal, rt_journal_sink sink,
                                                 void *arg);

/* Writes the journal to a descriptor, at its current place.
 * Callable from any thread while nobody writes, and from the runtime's thread if it is the only
 * one.
 * Never suspends: it blocks the thread until the system has taken the bytes. For the end of a run,
 * not for an actor that shares its thread with others that are in a hurry.
 * Owns nothing; the descriptor stays open.
 * Returns RT_OK; RT_ERR_INVALID if it is no journal; RT_ERR_STATE if several workers are writing
 * it; RT_ERR_IO if the system refuses, some bytes may be written then; RT_ERR_UNSUPPORTED where
 * there are no descriptors.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_journal_save(const rt_journal *journal, int fd);

/* What rt_journal_parse finds in a file. Pointers go into the caller's bytes. */
typedef struct {
    rt_journal_head head;
    const char *names;   /* kind_count strings, one behind the other */
    const void *records; /* head.count of them, head.record_size bytes each */
} rt_journal_view;

/* Checks the bytes of a file and finds its parts: magic, byte order, version, sizes, counts, sum,
 * that the names are names and that the sequence numbers have no gap.
 * Callable from any thread.
 * Never suspends.
 * Owns nothing; the bytes are the caller's, aligned for uint64_t, and must stay as long as the
 * view. Returns RT_OK; RT_ERR_INVALID, with a sentence that says what is wrong, if it is not a
 * whole file of a journal that this library can read, or a pointer is NULL. Nothing is lost on
 * cancel. */
RT_API RT_MUST_CHECK rt_status rt_journal_parse(const void *bytes, size_t size,
                                                rt_journal_view *out_view);

/* Copies the i-th record of a view.
 * Callable from any thread.
 * Never suspends.
 * Owns nothing.
 * Returns RT_OK; RT_ERR_INVALID if there is none, and *out_record stays as it is.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_journal_view_record(const rt_journal_view *view, uint64_t i,
                                                      rt_journal_record *out_record);

/* Gives the name of a kind of event, as the file has it.
 * Callable from any thread.
 * Never suspends.
 * Owns nothing; the name lies in the file's bytes.
 * Returns the name; "unknown" for a number that the file has no name for.
 * Nothing is lost on cancel. */
RT_API const char *rt_journal_view_kind(const rt_journal_view *view, uint32_t kind);

RT_EXTERN_C_END

#endif
