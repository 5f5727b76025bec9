/* SPDX-License-Identifier: Apache-2.0 */
/* A pipeline over two channels: a source, three workers that share one receiver, and a sink.
 *
 * Each worker reserves its place in the result channel before it takes a job: then it cannot be
 * left with a result that nobody has room for. Closing does the rest: the source closes its sender,
 * the workers see the end of the jobs after the last one, and the sink sees the end of the results
 * when the last worker has gone.
 *
 * Tested: pipeline */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <orrery/rt.h>

#define JOBS    12
#define WORKERS 3

struct job {
    uint32_t number;
};

struct result {
    uint32_t number;
    uint64_t sum; /* of 1 to number */
};

static rt_channel_sender *job_tx;
static rt_channel_receiver *job_rx;
static rt_channel_sender *result_tx;
static rt_channel_receiver *result_rx;
static rt_channel_sender *worker_tx[WORKERS];

static void must(rt_status status)
{
    if (RT_FAILED(status)) {
        fprintf(stderr, "pipeline: %s: %s\n", rt_status_name(status.code), status.msg);
        exit(1);
    }
}

static void source(void *arg)
{
    (void)arg;
    for (uint32_t i = 1; i <= JOBS; i++) {
        struct job job = {.number = i * 1000};
        must(rt_channel_send(job_tx, NULL, &job)); /* waits while two jobs are queued */
    }
    must(rt_channel_close_sender(job_tx));
    rt_exit();
}

static void worker(void *arg)
{
    rt_channel_sender *own_tx = *(rt_channel_sender **)arg;
    struct job job;
    rt_send_permit permit;
    for (;;) {
        must(rt_channel_reserve(own_tx, NULL, &permit));
        if (RT_FAILED(rt_channel_recv(job_rx, NULL, &job))) {
            must(rt_send_permit_abort(&permit)); /* no more jobs */
            break;
        }
        struct result *result = rt_send_permit_slot(&permit); /* written where it is queued */
        result->number = job.number;
        result->sum = (uint64_t)job.number * (job.number + 1) / 2;
        must(rt_send_permit_send(&permit, NULL));
    }
    must(rt_channel_close_sender(own_tx));
    rt_exit();
}

static void sink(void *arg)
{
    struct result result;
    uint32_t count = 0;
    uint64_t total = 0;
    (void)arg;
    while (!RT_FAILED(rt_channel_recv(result_rx, NULL, &result))) {
        count++;
        total += result.sum;
    }
    printf("%" PRIu32 " results, total %" PRIu64 "\n", count, total);
    must(rt_channel_close_receiver(result_rx));
    rt_exit();
}

int main(void)
{
    rt_channel_config jobs = {.elem_size = sizeof(struct job), .capacity = 2};
    rt_channel_config results = {.elem_size = sizeof(struct result), .capacity = WORKERS};
    must(rt_init());
    must(rt_channel_create(&jobs, &job_tx, &job_rx));
    must(rt_channel_create(&results, &result_tx, &result_rx));
    for (int i = 0; i < WORKERS; i++) {
        must(rt_channel_clone_sender(result_tx, &worker_tx[i]));
        rt_spawn(worker, &worker_tx[i]);
    }
    must(rt_channel_close_sender(result_tx)); /* the workers have their own */
    rt_spawn(source, NULL);
    rt_spawn(sink, NULL);
    rt_run();
    must(rt_channel_close_receiver(job_rx));
    rt_cleanup();
    return 0;
}
