/* SPDX-License-Identifier: Apache-2.0 */
/* Code that counts its blocks is preempted. The loops here call what the compiler would call; the
 * script test/preempt/ has the compiler do it. */
#define RTI_MODULE "reductions_test"
#include "sched/preempt.h"

#include "support/fibers.h"
#include "support/test.h"

void __sanitizer_cov_trace_pc(void);

static struct fibers fibers;
static volatile bool is_over;
static uint64_t turns[2];

static void count_for_ever(void *arg)
{
    uint64_t *mine = arg;
    while (!is_over) {
        __sanitizer_cov_trace_pc();
        (*mine)++;
    }
}

static void end_them(void *arg)
{
    (void)arg;
    for (int i = 0; i < 10; i++) {
        rti_fiber_yield(rti_worker_current());
    }
    is_over = true;
}

TEST(reductions_make_endless_loops_share_the_one_worker)
{
    fibers_init(&fibers);
    fibers_go(&fibers, 2, count_for_ever, &turns[0]);
    fibers_go(&fibers, 2, count_for_ever, &turns[1]);
    fibers_go(&fibers, 2, end_them, NULL);
    CHECK_OK(fibers_run(&fibers));
    fibers_deinit(&fibers);
    /* One whole count of blocks in each of the rounds that the third one takes to end it. */
    CHECK_EQ(turns[0], 11 * (uint64_t)RTI_REDUCTIONS_MAX);
    CHECK_EQ(turns[1], 11 * (uint64_t)RTI_REDUCTIONS_MAX);
}

/* Leaves addresses of the library below the frame of its caller. */
static RTI_NOINLINE void litter(void)
{
    volatile uintptr_t words[64];
    for (size_t i = 0; i < RTI_COUNT_OF(words); i++) {
        words[i] = (uintptr_t)rti_fiber_yield + 1;
    }
}

static void count_above_litter(void *arg)
{
    uint64_t *mine = arg;
    litter();
    while (!is_over) {
        __sanitizer_cov_trace_pc();
        (*mine)++;
    }
}

TEST(reductions_preempt_above_what_earlier_calls_have_left)
{
    fibers_init(&fibers);
    fibers_go(&fibers, 2, count_above_litter, &turns[0]);
    fibers_go(&fibers, 2, end_them, NULL);
    CHECK_OK(fibers_run(&fibers));
    fibers_deinit(&fibers);
    CHECK_EQ(turns[0], 11 * (uint64_t)RTI_REDUCTIONS_MAX);
}

TEST(reductions_outside_of_fibers_count_nothing)
{
    for (int i = 0; i < 3 * RTI_REDUCTIONS_MAX; i++) {
        __sanitizer_cov_trace_pc();
    }
    fibers_init(&fibers);
    for (int i = 0; i < 3 * RTI_REDUCTIONS_MAX; i++) {
        __sanitizer_cov_trace_pc();
    }
    CHECK_EQ(fibers.sched.worker.reductions, 0);
    fibers_deinit(&fibers);
}

static void order_of_preemption(uint64_t digests[2], size_t which)
{
    is_over = false;
    fibers_init(&fibers);
    fibers_shuffle(&fibers, 7);
    fibers_go(&fibers, 2, count_for_ever, &turns[0]);
    fibers_go(&fibers, 2, count_for_ever, &turns[1]);
    fibers_go(&fibers, 2, end_them, NULL);
    CHECK_OK(fibers_run(&fibers));
    digests[which] = rti_journal_digest(&fibers.journal);
    fibers_deinit(&fibers);
}

TEST(reductions_preempt_at_the_same_block_in_every_run_of_a_seed)
{
    uint64_t digests[2];
    order_of_preemption(digests, 0);
    order_of_preemption(digests, 1);
    CHECK_EQ(digests[0], digests[1]);
}
