/* SPDX-License-Identifier: Apache-2.0 */
/* A journal for a loop of machines; the manual is <orrery/rt/loop.h>. It is here and not beside the
 * loop because it knows both: a loop writes into a struct rti_journal, a program has an rt_journal.
 */
#define RTI_MODULE "loop_journal"
#include "machine/loop.h"
#include "observe/journal_api.h"

rt_status rt_loop_journal(rt_loop *outside, rt_journal *given)
{
    struct rti_loop *loop = rti_loop_of(outside);
    struct rti_journal *journal = rti_journal_of(given);
    if (given != NULL && journal == NULL) {
        return (rt_status){RT_ERR_INVALID, "this is no journal"};
    }
    if (loop->is_hosted) {
        return (rt_status){RT_ERR_STATE, "a hosted loop writes its runtime's journal"};
    }
    RT_ASSERT(!loop->is_closed);
    loop->journal = journal;
    return RT_SUCCESS;
}
