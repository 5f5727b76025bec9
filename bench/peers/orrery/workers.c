/* SPDX-License-Identifier: Apache-2.0 */
/* Two workers against one, both of the parallel engine, on the same work: COUNT pieces of about a
 * microsecond.
 *
 *     workers_independent   16 tasks share the pieces and do not talk
 *     workers_pipelined     a piece goes through four tasks and the channels between them, 64
 * places each; each does a quarter workers_contended     16 tasks share the pieces, and each piece
 * is done with one mutex held */
#define _GNU_SOURCE
#include "peer.h"

#define TASKS  16
#define STAGES 4
#define PIECE_WORK                                                                                 \
    1000 /* turns of a generator that has nothing to wait for: about a microsecond                 \
          */

static volatile uint64_t sink;
static rt_mutex mutex;
static bool is_contended;
static rt_channel_sender *tx[STAGES];
static rt_channel_receiver *rx[STAGES];

/* As long for every piece, and in registers only. */
static uint64_t work(uint64_t seed, int turns)
{
    for (int i = 0; i < turns; i++) {
        seed = peer_random(&seed);
    }
    return seed;
}

static void *share_main(void *arg)
{
    uint64_t state = 1 + (uint64_t)(uintptr_t)arg;
    for (long i = 0; i < peer_count / TASKS; i++) {
        if (is_contended) {
            peer_must(rt_mutex_lock(&mutex, NULL));
        }
        state = work(state, PIECE_WORK);
        if (is_contended) {
            peer_must(rt_mutex_unlock(&mutex, NULL));
        }
        if (i % 16 == 15) {
            rt_yield();
        }
    }
    sink = state;
    return NULL;
}

static void start_runtime(void)
{
    peer_must(rt_init_ex(&(rt_config){.workers = peer_cores}));
}

static void share(void)
{
    for (uintptr_t i = 0; i < TASKS; i++) {
        peer_go(share_main, (void *)i);
    }
    peer_report_ns(peer_run(), (double)(peer_count / TASKS * TASKS));
}

void workers_independent(void)
{
    start_runtime();
    share();
}

void workers_contended(void)
{
    start_runtime();
    is_contended = true;
    peer_must(rt_mutex_init(&mutex));
    share();
}

/* Takes from the line before it, if there is one, and gives to the next. */
static void *stage_main(void *arg)
{
    uintptr_t stage = (uintptr_t)arg;
    uint64_t value = 1;
    for (long i = 0; i < peer_count; i++) {
        if (stage > 0) {
            peer_must(rt_channel_recv(rx[stage - 1], NULL, &value));
        }
        value = work(value, PIECE_WORK / STAGES);
        if (stage < STAGES - 1) {
            peer_must(rt_channel_send(tx[stage], NULL, &value));
        }
    }
    sink = value;
    return NULL;
}

void workers_pipelined(void)
{
    start_runtime();
    for (uintptr_t i = 0; i < STAGES; i++) {
        rt_channel_config config = {.elem_size = sizeof(uint64_t), .capacity = 64};
        if (i < STAGES - 1) {
            peer_must(rt_channel_create(&config, &tx[i], &rx[i]));
        }
        peer_go(stage_main, (void *)i);
    }
    peer_report_ns(peer_run(), (double)peer_count);
}
