/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the trace hash of a busy simulated program for each seed of a range.
 *
 * Fibers of all priorities sleep for random times, hand values to each other over wait lists with
 * deadlines, start more fibers and kill some. Everything random is drawn from the seed, so the hash
 * may depend on the seed and on nothing else: same_hash_test.sh compares compilers, optimization
 * levels and address layouts.
 *
 * Usage: trace_hash FIRST COUNT */
#define RTI_MODULE "trace_hash"
#include <stdio.h>
#include <stdlib.h>

#include "support/fibers.h"

#define LINES 3

static struct fibers fibers;
static struct rti_waitlist lines[LINES];

static uint64_t draw(uint64_t n)
{
    return rti_rng_below(&fibers.port.rng, n);
}

static void wait_a_while(struct rti_worker *worker)
{
    struct rti_wait wait;
    struct rti_waiter waiter;
    struct rti_deadline deadline;
    uint64_t value = 0;
    rti_fiber_wait_begin(worker, &wait);
    rti_wait_add(&wait, &waiter, RTI_EVENT_SOURCE, rti_waitlist_unlink);
    waiter.slot = &value;
    rti_waitlist_add(&lines[draw(LINES)], &waiter);
    rti_deadline_add(&deadline, worker->sched, &wait,
                     rti_deadline_after(worker->sched, draw(50 * RTI_NS_PER_MS)));
    uint32_t event = rti_fiber_park(worker, &wait);
    rti_sched_record(worker->sched, &(struct rti_journal_event){
                                        .kind = RTI_JOURNAL_MARK, .task = event, .value = value});
}

static void hand_over(void)
{
    struct rti_waiter *waiter = rti_waitlist_claim(&lines[draw(LINES)]);
    if (waiter != NULL) {
        *(uint64_t *)waiter->slot = draw(1000);
        rti_waiter_wake(waiter);
    }
}

static void live(void *arg)
{
    (void)arg;
    for (int i = 0; i < 40; i++) {
        struct rti_worker *worker = rti_worker_current();
        switch (draw(6)) {
        case 0:
            rti_fiber_sleep_until(worker,
                                  rti_deadline_after(worker->sched, draw(3 * RTI_NS_PER_S)));
            break;
        case 1:
            wait_a_while(worker);
            break;
        case 2:
            if (fibers.count < FIBERS_MAX) {
                fibers_go(&fibers, (uint8_t)draw(RTI_PRIORITY_LEVELS), live, NULL);
            }
            break;
        case 3:
            if (draw(20) == 0) {
                rti_fiber_kill(worker->sched, &fibers.fibers[draw(fibers.count)]);
            }
            break;
        case 4:
            hand_over();
            break;
        default:
            rti_fiber_yield(worker);
            break;
        }
    }
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: trace_hash FIRST COUNT\n");
        return 2;
    }
    uint64_t first = strtoull(argv[1], NULL, 10);
    uint64_t count = strtoull(argv[2], NULL, 10);
    for (uint64_t seed = first; seed < first + count; seed++) {
        fibers_init(&fibers);
        rti_rng_init(&fibers.port.rng, seed);
        fibers_shuffle(&fibers, seed);
        for (size_t i = 0; i < LINES; i++) {
            rti_waitlist_init(&lines[i]);
        }
        for (uint8_t i = 0; i < RTI_PRIORITY_LEVELS; i++) {
            fibers_go(&fibers, i, live, NULL);
        }
        rt_status status = fibers_run(&fibers);
        printf("%llu\t%016llx\t%s\n", (unsigned long long)seed,
               (unsigned long long)rti_journal_digest(&fibers.journal),
               rt_status_name(status.code));
        fibers_deinit(&fibers);
    }
    return 0;
}
