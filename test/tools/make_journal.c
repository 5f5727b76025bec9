/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a journal file whose every event is known, for the tests of `orrery journal` and `orrery
 * trace`: two tasks that exchange a message, and an op that is served by another op. */
#include "base/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <orrery/rt/journal.h>

#include "observe/journal_api.h"

static void write_all(struct rti_journal *journal)
{
    static const struct {
        uint64_t time_ns;
        struct rti_journal_event event;
    } script[] = {
        {1000, {.kind = RTI_JOURNAL_START, .task = 1, .value = 2}},
        {1000, {.kind = RTI_JOURNAL_DISPATCH, .task = 1, .value = 2}},
        {2000, {.kind = RTI_JOURNAL_START, .task = 2, .value = 2}},
        {3000, {.kind = RTI_JOURNAL_DISPATCH, .task = 2, .value = 2}},
        {4000, {.kind = RTI_JOURNAL_DISPATCH, .task = 1, .value = 2}},
        {5000, {.kind = RTI_JOURNAL_SEND, .task = 1, .value = 2}},
        {5000, {.kind = RTI_JOURNAL_WAKE, .task = 2}},
        {6000, {.kind = RTI_JOURNAL_DISPATCH, .task = 2, .value = 2}},
        {6000, {.kind = RTI_JOURNAL_RECV, .task = 2, .value = 1}},
        {7000, {.kind = RTI_JOURNAL_OP_SUBMIT, .task = 2, .channel = 16, .value = 0x101}},
        {7000, {.kind = RTI_JOURNAL_OP_TRACE, .task = 2, .timer = 0x101, .value = 0x101}},
        {7500, {.kind = RTI_JOURNAL_OP_TAKE, .task = 3, .timer = 0x101, .value = 0x101}},
        {8000,
         {.kind = RTI_JOURNAL_OP_SUBMIT, .task = 3, .channel = 17, .timer = 0x101, .value = 0x102}},
        {8000, {.kind = RTI_JOURNAL_OP_TRACE, .task = 3, .timer = 0x101, .value = 0x102}},
        {8200, {.kind = RTI_JOURNAL_OP_HOP, .task = 4, .timer = 0x101, .value = 0x102}},
        {8200, {.kind = RTI_JOURNAL_OP_TRACE, .task = 4, .timer = 0x101, .value = 0x102}},
        {8500, {.kind = RTI_JOURNAL_OP_TAKE, .task = 4, .timer = 0x101, .value = 0x102}},
        {8500,
         {.kind = RTI_JOURNAL_OP_SUBMIT, .task = 4, .channel = 18, .timer = 0x102, .value = 0x103}},
        {8600, {.kind = RTI_JOURNAL_OP_ANSWER, .task = 4, .timer = 0x101, .value = 0x102}},
        {8700,
         {.kind = RTI_JOURNAL_OP_HOP, .task = 3, .channel = 3, .timer = 0x101, .value = 0x102}},
        {9000,
         {.kind = RTI_JOURNAL_OP_DONE,
          .task = 3,
          .channel = 0x500,
          .timer = 0x101,
          .value = 0x102}},
        {9500,
         {.kind = RTI_JOURNAL_OP_ANSWER,
          .task = 3,
          .channel = 0x200 + RT_ERR_IO,
          .timer = 0x101,
          .value = 0x101}},
        {9500,
         {.kind = RTI_JOURNAL_OP_DONE,
          .task = 2,
          .channel = 0x100 + RT_ERR_IO,
          .timer = 0x101,
          .value = 0x101}},
        {10000, {.kind = RTI_JOURNAL_MARK, .task = 2, .value = 42}},
        {11000, {.kind = RTI_JOURNAL_END, .task = 2, .value = 1}},
        {12000, {.kind = RTI_JOURNAL_IDLE, .value = 20000}},
        {20000, {.kind = RTI_JOURNAL_TIMER, .task = 1}},
        {20000, {.kind = RTI_JOURNAL_WAKE, .task = 1}},
        {21000, {.kind = RTI_JOURNAL_DISPATCH, .task = 1, .value = 2}},
        {22000, {.kind = RTI_JOURNAL_END, .task = 1, .value = 0}},
    };
    for (size_t i = 0; i < sizeof(script) / sizeof(script[0]); i++) {
        rti_journal_write(journal, script[i].time_ns, &script[i].event);
    }
}

int main(int argc, char **argv)
{
    static rt_journal journal;
    static uint64_t ring[RT_JOURNAL_BYTES(64) / 8];
    if (argc != 2 || RT_FAILED(rt_journal_init(&journal, ring, sizeof(ring)))) {
        return 1;
    }
    write_all(rti_journal_of(&journal));
    int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
    rt_status status = rt_journal_save(&journal, fd);
    return RT_FAILED(status) || close(fd) != 0;
}
