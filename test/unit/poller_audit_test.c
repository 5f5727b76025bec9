/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over the poller's table, and that it sees what is wrong. */
#define _GNU_SOURCE
#define RTI_MODULE "poller_audit_test"
#include "support/port_fixture.h"

static struct rti_fd *entry;

/* A socket that an op waits on to read. */
static void table_make(void)
{
    static struct probe probe;
    static char buffer[4];
    int fds[2];
    fixture_open(NULL);
    socket_pair(fds);
    probe_submit(&probe, RTI_OP_READ, fds[0], buffer, sizeof(buffer));
    entry = &fixture.poller.fds[fds[0]];
}

TEST(poller_audit_counts_the_ops_that_wait)
{
    table_make();
    CHECK_EQ(rti_poller_audit(&fixture.poller), 1);
    fixture_close();
}

TEST(poller_entries_are_a_line_each)
{
    table_make();
    CHECK_EQ((uintptr_t)entry % RTI_CACHE_LINE, 0);
    fixture_close();
}

static void audit_of_a_broken_table(void *arg)
{
    switch (*(int *)arg) {
    case 0: /* I1 */
        fixture.poller.waiting_count++;
        break;
    case 1: /* I2 */
        entry->armed = 0;
        entry->dry = 0;
        break;
    case 2: /* I3 */
        entry->kind = RTI_FD_UNKNOWN;
        break;
    case 3: /* I4 */
        entry->dry = (uint8_t)(1U << RTI_OUTWARD);
        break;
    default:
        rti_op_of_link(entry->queue[RTI_INWARD].head.next)->stage = RTI_STAGE_ANSWERED;
        break;
    }
    (void)rti_poller_audit(&fixture.poller);
}

TEST(poller_audit_sees_each_broken_invariant)
{
    table_make();
    for (int kind = 0; kind < 5; kind++) {
        CHECK_PANICS("poller_audit", audit_of_a_broken_table, &kind);
    }
    fixture_close();
}
