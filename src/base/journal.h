/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_JOURNAL_H
#define RTI_JOURNAL_H

/* The journal: what happened, in one order, as fixed-size records in a ring, with a running digest.
 *
 * Every event carries a sequence number, the logical time and whom it concerns; the sequence number
 * is the order, whatever the times say. The digest covers every event ever written, also those the
 * ring has overwritten, so two runs took the same decisions iff their digests are equal. It is the
 * trace hash of the simulator: one mechanism.
 *
 * Nothing that differs between two runs of one seed may enter: no address, no real time, no thread
 * but the name of the worker, which is 0 where one seed gives one run. One writer at a time: with
 * several workers the crew's lock sees to that (rti_crew_write).
 * The records are those of <orrery/rt/journal.h>, which also tells the file (base/journal_file.h).
 *
 * I1  Sequence numbers are 1, 2, 3, ... without a gap.                         (rti_journal_audit)
 * I2  The ring holds the latest min(written, capacity) records, the one with sequence s at place
 *     (s - 1) modulo capacity.                                                 (rti_journal_audit)
 */

#include <stdbool.h>

#include <orrery/rt/journal.h>

#include "base/compiler.h"

/* Kind, name in listings. The numbers are in files: new ones go to the end.
 *
 * Those of ops (machine/loop.h) have the op's id as their value, unique in a group of loops. What
 * docs/internals/op-tree.md makes of them needs this: a trace and a parent of 0 are none; `thread`
 * is the thread_id of the loop that writes; of op-answer and op-done the channel is the status in
 * its lower 8 bits and the thread above. */
#define RTI_JOURNAL_KINDS(X)                                                                       \
    X(RTI_JOURNAL_START, "start")       /* a runnable was made ready for the first time */         \
    X(RTI_JOURNAL_DISPATCH, "dispatch") /* it was picked; value: its priority */                   \
    X(RTI_JOURNAL_WAKE, "wake")         /* its wait ended */                                       \
    X(RTI_JOURNAL_END, "end")           /* it ended; value: how */                                 \
    X(RTI_JOURNAL_IDLE, "idle")         /* nothing was ready; value: the next deadline */          \
    X(RTI_JOURNAL_TIMER, "timer")       /* a timer fired */                                        \
    X(RTI_JOURNAL_SEND, "send")         /* task sent to value; channel or 0 */                     \
    X(RTI_JOURNAL_RECV, "recv")         /* task received from value; channel or 0 */               \
    X(RTI_JOURNAL_MARK, "mark")         /* the program's own; value: its number */                 \
    X(RTI_JOURNAL_RESERVE, "reserve")   /* task got a permit on channel; value: its serial */      \
    X(RTI_JOURNAL_ABORT, "abort")       /* a permit on channel was aborted; value: its serial */   \
    X(RTI_JOURNAL_CLOSE, "close")       /* a handle of channel was closed; value: state after */   \
    X(RTI_JOURNAL_CANCEL, "cancel")     /* a context was cancelled; task: whose, or 0 */           \
    X(RTI_JOURNAL_OP_SUBMIT, "op") /* task submitted; channel: code; timer: parent; op-trace */    \
    X(RTI_JOURNAL_OP_TRACE, "op-trace") /* follows op and op-hop; channel: thread; timer: trace */ \
    X(RTI_JOURNAL_OP_HOP, "op-hop")     /* came to task's loop; channel: queue; timer: parent */   \
    X(RTI_JOURNAL_OP_TAKE, "op-take")   /* is with task; channel: thread; timer: trace */          \
    X(RTI_JOURNAL_OP_CANCEL, "op-cancel")   /* task asked to cancel; channel, timer: as op-take */ \
    X(RTI_JOURNAL_OP_RING, "op-ring")       /* task rang; channel, timer: as op-take */            \
    X(RTI_JOURNAL_OP_ANSWER, "op-answer")   /* task answered; channel: status; timer: trace */     \
    X(RTI_JOURNAL_OP_DONE, "op-done")       /* the answer is with task; as op-answer */            \
    X(RTI_JOURNAL_SELECT, "select")         /* a select of task chose; value: the arm */           \
    X(RTI_JOURNAL_OP_FORWARD, "op-forward") /* task sent it on; as op-take */

#define RTI_JOURNAL_ENUM_ENTRY(kind, name) kind,
enum rti_journal_kind { RTI_JOURNAL_KINDS(RTI_JOURNAL_ENUM_ENTRY) RTI_JOURNAL_KIND_COUNT };
#undef RTI_JOURNAL_ENUM_ENTRY

/* What the writer says; what does not apply is 0. */
struct rti_journal_event {
    enum rti_journal_kind kind;
    uint32_t task;
    uint32_t channel;
    uint64_t timer;
    uint64_t value;
    uint32_t worker; /* not digested */
};

struct rti_journal {
    uint64_t written; /* how many events so far; the sequence number of the latest */
    uint64_t digest;  /* running, of all of them */
    struct rti_journal_record *ring;
    size_t capacity; /* records in the ring; 0: only the digest is kept */
};

/* Starts an empty journal over the caller's ring (may be NULL with capacity 0). */
void rti_journal_init(struct rti_journal *journal, struct rti_journal_record *ring,
                      size_t capacity);

void rti_journal_write(struct rti_journal *journal, uint64_t time_ns,
                       const struct rti_journal_event *event);

/* The digest of everything written so far, ready to show. */
uint64_t rti_journal_digest(const struct rti_journal *journal);

/* How many records the ring holds, and the i-th of them, oldest first. */
size_t rti_journal_count(const struct rti_journal *journal);
const struct rti_journal_record *rti_journal_at(const struct rti_journal *journal, size_t i);

/* "dispatch"; "unknown" for a number that is no kind. */
const char *rti_journal_kind_name(uint32_t kind);

/* Checks I1 and I2. */
void rti_journal_audit(const struct rti_journal *journal);

#endif
