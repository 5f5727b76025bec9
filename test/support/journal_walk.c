/* SPDX-License-Identifier: Apache-2.0 */
#include "support/journal_walk.h"

#include "base/journal.h"
#include "observe/journal_api.h"
#include "support/test.h"

enum stage { UNKNOWN, STARTED, RUN, ENDED };

struct walked_task {
    uint32_t id;
    enum stage stage;
};

static struct walked_task tasks[JOURNAL_WALK_TASKS];

static struct walked_task *task_of(uint32_t id)
{
    size_t i = 0;
    while (i < JOURNAL_WALK_TASKS && tasks[i].id != id && tasks[i].id != 0) {
        i++;
    }
    CHECK(i < JOURNAL_WALK_TASKS);
    tasks[i].id = id;
    return &tasks[i];
}

static void walk_life(const struct rti_journal_record *record, struct journal_walk *walk)
{
    struct walked_task *task = task_of(record->task);
    switch (record->kind) {
    case RTI_JOURNAL_START:
        CHECK(task->stage == UNKNOWN || task->stage == ENDED);
        task->stage = STARTED;
        walk->starts++;
        break;
    case RTI_JOURNAL_DISPATCH:
        CHECK(task->stage == STARTED || task->stage == RUN);
        task->stage = RUN;
        walk->dispatches++;
        break;
    default:
        CHECK(task->stage == RUN);
        task->stage = ENDED;
        walk->ends++;
        break;
    }
}

void journal_walk(const rt_journal *given, struct journal_walk *walk)
{
    const struct rti_journal *journal = rti_journal_of(given);
    uint64_t last_ns = 0;
    CHECK(journal != NULL && journal->written == rti_journal_count(journal));
    rti_journal_audit(journal);
    *walk = (struct journal_walk){.worker_min = UINT32_MAX};
    memset(tasks, 0, sizeof(tasks));
    for (size_t i = 0; i < rti_journal_count(journal); i++) {
        const struct rti_journal_record *record = rti_journal_at(journal, i);
        CHECK(record->seq == i + 1 && record->time_ns >= last_ns);
        last_ns = record->time_ns;
        walk->worker_max = record->worker > walk->worker_max ? record->worker : walk->worker_max;
        walk->worker_min = record->worker < walk->worker_min ? record->worker : walk->worker_min;
        walk->sends += record->kind == RTI_JOURNAL_SEND;
        walk->recvs += record->kind == RTI_JOURNAL_RECV;
        if (record->kind == RTI_JOURNAL_START || record->kind == RTI_JOURNAL_DISPATCH ||
            record->kind == RTI_JOURNAL_END) {
            walk_life(record, walk);
        }
    }
}
