/* SPDX-License-Identifier: Apache-2.0 */
/* The journal of a program's own; the manual is <orrery/rt/journal.h>. */
#define RTI_MODULE "journal_api"
#include "observe/journal_api.h"

#include <string.h>

#include "base/journal_file.h"
#include "sched/crew.h"
#include "sched/fiber.h"

static const rt_status journal_unknown = {RT_ERR_INVALID, "this is no journal"};
static const rt_status journal_no_runtime = {RT_ERR_THREAD, "this thread has no runtime"};

/* Has the caller's runtime several workers, which write this journal? */
static bool journal_is_shared(const struct rti_worker *worker, const struct rti_journal *journal)
{
    return worker != NULL && !rti_sched_is_local(worker->sched) &&
           rti_sched_journal(worker->sched) == journal;
}

/* Keeps other workers from writing while something of the journal is read. True: it has to be given
 * back. */
static bool journal_hold(struct rti_worker *worker, const struct rti_journal *journal)
{
    bool is_shared = journal_is_shared(worker, journal);
    if (is_shared) {
        rti_lock_acquire(&rti_sched_crew(worker->sched)->journal_lock, worker->sched);
    }
    return is_shared;
}

static void journal_let_go(struct rti_worker *worker, bool is_held)
{
    if (is_held) {
        rti_lock_release(&rti_sched_crew(worker->sched)->journal_lock);
    }
}

/* A file is made of a journal that stands still. */
static rt_status journal_check_still(const struct rti_worker *worker,
                                     const struct rti_journal *journal)
{
    bool is_moving = journal_is_shared(worker, journal) && worker->sched->is_running;
    return is_moving ? (rt_status){RT_ERR_STATE, "several workers write this journal: stop it"}
                     : RT_SUCCESS;
}

rt_status rt_journal_init(rt_journal *given, void *ring, size_t size)
{
    (void)rti_worker_enter();
    size_t capacity = size / sizeof(rt_journal_record);
    if (given == NULL || (ring == NULL) != (size == 0) ||
        (uintptr_t)ring % _Alignof(rt_journal_record) != 0) {
        return (rt_status){RT_ERR_INVALID, "there is no journal, or its ring is not aligned"};
    }
    if (ring != NULL && capacity == 0) {
        return (rt_status){RT_ERR_INVALID, "the ring is too small for one event"};
    }
    struct rti_journal_storage *storage = (struct rti_journal_storage *)(void *)given;
    storage->magic = RTI_JOURNAL_API_MAGIC;
    rti_journal_init(&storage->journal, ring, capacity);
    return RT_SUCCESS;
}

rt_status rt_journal_start(rt_journal *given)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_journal *journal = rti_journal_of(given);
    if (journal == NULL) {
        return journal_unknown;
    }
    if (worker == NULL) {
        return journal_no_runtime;
    }
    struct rti_sched *sched = worker->sched;
    bool is_started = rti_sched_is_local(sched)
                          ? rti_sched_journal(sched) == NULL
                          : rti_crew_observe(rti_sched_crew(sched), NULL, journal);
    if (!is_started) {
        return (rt_status){RT_ERR_STATE, "the runtime writes a journal already"};
    }
    if (rti_sched_is_local(sched)) {
        rti_sched_observe(sched, journal, sched->chooser);
    }
    return RT_SUCCESS;
}

rt_status rt_journal_stop(rt_journal *given)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_journal *journal = rti_journal_of(given);
    if (journal == NULL) {
        return journal_unknown;
    }
    if (worker == NULL) {
        return journal_no_runtime;
    }
    struct rti_sched *sched = worker->sched;
    bool is_stopped = rti_sched_is_local(sched)
                          ? rti_sched_journal(sched) == journal
                          : rti_crew_observe(rti_sched_crew(sched), journal, NULL);
    if (!is_stopped) {
        return (rt_status){RT_ERR_STATE, "the runtime does not write this journal"};
    }
    if (rti_sched_is_local(sched)) {
        rti_sched_observe(sched, NULL, sched->chooser);
    }
    return RT_SUCCESS;
}

uint64_t rt_journal_digest(const rt_journal *given)
{
    struct rti_worker *worker = rti_worker_enter();
    const struct rti_journal *journal = rti_journal_of(given);
    if (journal == NULL) {
        return 0;
    }
    bool is_held = journal_hold(worker, journal);
    uint64_t digest = rti_journal_digest(journal);
    journal_let_go(worker, is_held);
    return digest;
}

uint64_t rt_journal_written(const rt_journal *given)
{
    struct rti_worker *worker = rti_worker_enter();
    const struct rti_journal *journal = rti_journal_of(given);
    if (journal == NULL) {
        return 0;
    }
    bool is_held = journal_hold(worker, journal);
    uint64_t written = journal->written;
    journal_let_go(worker, is_held);
    return written;
}

rt_status rt_journal_export(const rt_journal *given, rt_journal_sink sink, void *arg)
{
    struct rti_worker *worker = rti_worker_enter();
    const struct rti_journal *journal = rti_journal_of(given);
    if (journal == NULL || sink == NULL) {
        return journal_unknown;
    }
    rt_status status = journal_check_still(worker, journal);
    return RT_FAILED(status) ? status : rti_journal_file_write(journal, sink, arg);
}

/* The sink of rt_journal_save. */
struct journal_descriptor {
    int fd;
    rt_status status; /* of the last write */
};

static bool journal_descriptor_write(void *arg, const void *bytes, size_t size)
{
    struct journal_descriptor *descriptor = arg;
    descriptor->status = rti_port_descriptor_write(descriptor->fd, bytes, size);
    return !RT_FAILED(descriptor->status);
}

rt_status rt_journal_save(const rt_journal *given, int fd)
{
    struct rti_worker *worker = rti_worker_enter();
    const struct rti_journal *journal = rti_journal_of(given);
    if (journal == NULL) {
        return journal_unknown;
    }
    rt_status status = journal_check_still(worker, journal);
    if (RT_FAILED(status)) {
        return status;
    }
    struct journal_descriptor descriptor = {.fd = fd, .status = RT_SUCCESS};
    status = rti_journal_file_write(journal, journal_descriptor_write, &descriptor);
    return RT_FAILED(descriptor.status) ? descriptor.status : status;
}

rt_status rt_journal_parse(const void *bytes, size_t size, rt_journal_view *out_view)
{
    (void)rti_worker_enter();
    if (bytes == NULL || out_view == NULL) {
        return (rt_status){RT_ERR_INVALID, "a pointer is NULL"};
    }
    return rti_journal_file_parse(bytes, size, out_view);
}

rt_status rt_journal_view_record(const rt_journal_view *view, uint64_t i,
                                 rt_journal_record *out_record)
{
    (void)rti_worker_enter();
    if (view == NULL || out_record == NULL || i >= view->head.count) {
        return (rt_status){RT_ERR_INVALID, "there is no such record"};
    }
    memcpy(out_record, (const unsigned char *)view->records + i * view->head.record_size,
           sizeof(*out_record));
    return RT_SUCCESS;
}

const char *rt_journal_view_kind(const rt_journal_view *view, uint32_t kind)
{
    (void)rti_worker_enter();
    if (view == NULL || kind >= view->head.kind_count) {
        return "unknown";
    }
    const char *name = view->names;
    for (uint32_t i = 0; i < kind; i++) {
        name += strlen(name) + 1;
    }
    return name;
}
