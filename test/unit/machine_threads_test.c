/* SPDX-License-Identifier: Apache-2.0 */
/* Three loops in three threads of the real world: a hundred thousand ops between them, one-shot,
 * cancelled, and channels that ring; each answered once, in order, and the threads end by
 * themselves. Run under the thread sanitizer this is the proof that machines share nothing. */
#define _GNU_SOURCE
#define RTI_MODULE "machine_threads_test"
#include <pthread.h>

#include "machine/loop.h"
#include "port/linux/port_linux.h"
#include "support/test.h"

TEST_TIMEOUT(120);

#define LOOPS    3
#define WINDOW   16
#define CAPACITY 64

enum { ASK = RT_OP_USER };

struct asking {
    rt_op op; /* first */
    uint64_t number;
    unsigned from;
};

struct app {
    rt_machine machine; /* first */
    unsigned index;
    struct asking askings[WINDOW];
    uint64_t sent[LOOPS];
    uint64_t heard[LOOPS];
    uint64_t asked;
    uint64_t answered;
    uint64_t cancelled;
    rt_channel_op channel; /* from the next loop to this one */
    rt_spsc_queue queue;
    uint64_t entries[CAPACITY];
    uint64_t popped;
    rt_op *feeding; /* the channel op that the loop before this one submitted here */
    uint64_t pushed;
    uint64_t channel_total;
    uint64_t asks_total;
    bool is_reported;
    bool has_begun;
};

static struct rti_port_linux ports[LOOPS];
static rt_loop loops[LOOPS];
static rt_loop *pointers[LOOPS];
static rt_loop_group group;
static rt_machine_slot slots[LOOPS][4];
static struct app apps[LOOPS];
static rti_atomic_u32 done_count;

static void app_ask(struct app *app, struct asking *asking)
{
    unsigned to = (app->index + 1 + (unsigned)(app->asked % (LOOPS - 1))) % LOOPS;
    rt_op_init(&asking->op, ASK);
    asking->op.destination = apps[to].machine.id;
    asking->from = app->index;
    asking->number = ++app->sent[to];
    app->asked++;
    CHECK_OK(rt_op_submit(&app->machine, &asking->op));
    if (app->asked % 5 == 0) {
        (void)rt_op_cancel(&app->machine, &asking->op);
    }
}

static void app_feed(struct app *app)
{
    while (app->feeding != NULL && app->pushed < app->channel_total) {
        uint64_t entry = app->pushed + 1;
        if (!rt_channel_op_push(&app->machine, (rt_channel_op *)app->feeding, &entry)) {
            return;
        }
        app->pushed++;
    }
    if (app->feeding != NULL) {
        rt_op_complete(&app->machine, app->feeding, RT_OK, (int64_t)app->pushed);
        app->feeding = NULL;
    }
}

static void app_drain(struct app *app)
{
    uint64_t entry;
    while (rt_spsc_pop(&app->queue, &entry)) {
        CHECK_EQ(entry, app->popped + 1);
        app->popped++;
    }
}

static void app_serve(struct app *app)
{
    rt_op *op;
    while ((op = rt_machine_next(&app->machine, RT_QUEUE_SUBMISSIONS)) != NULL) {
        if (op->code == RT_OP_CHANNEL) {
            app->feeding = op;
            continue;
        }
        struct asking *asking = (struct asking *)op;
        CHECK(asking->number > app->heard[asking->from]);
        app->heard[asking->from] = asking->number;
        if (asking->number % 3 != 0) {
            rt_op_complete(&app->machine, op, RT_OK, (int64_t)asking->number);
        }
    }
    while ((op = rt_machine_next(&app->machine, RT_QUEUE_CANCELLATIONS)) != NULL) {
        rt_op_complete(&app->machine, op, RT_ERR_CANCELLED, 0);
    }
    /* Those that were kept for a cancel are answered after all. */
    for (op = rt_machine_held(&app->machine, NULL); op != NULL;) {
        rt_op *next = rt_machine_held(&app->machine, op);
        if (op != app->feeding) {
            rt_op_complete(&app->machine, op, RT_OK, (int64_t)((struct asking *)op)->number);
        }
        op = next;
    }
}

static void app_collect(struct app *app)
{
    rt_op *op;
    while (rt_machine_next(&app->machine, RT_QUEUE_NOTIFICATIONS) != NULL) {
        app_drain(app);
    }
    while ((op = rt_machine_next(&app->machine, RT_QUEUE_COMPLETIONS)) != NULL) {
        if (op == &app->channel.base) {
            app_drain(app);
            CHECK_EQ(app->popped, app->channel_total);
            continue;
        }
        struct asking *asking = (struct asking *)op;
        CHECK(op->status == RT_ERR_CANCELLED || op->result == (int64_t)asking->number);
        app->cancelled += op->status == RT_ERR_CANCELLED;
        app->answered++;
        if (app->asked < app->asks_total) {
            app_ask(app, asking);
        }
    }
}

static void app_begin(struct app *app)
{
    app->has_begun = true;
    for (unsigned i = 0; i < WINDOW; i++) {
        app_ask(app, &app->askings[i]);
    }
    rt_op_init(&app->channel.base, RT_OP_CHANNEL);
    app->channel.queue = &app->queue;
    app->channel.base.destination = apps[(app->index + 1) % LOOPS].machine.id;
    CHECK_OK(rt_op_submit(&app->machine, &app->channel.base));
}

static void app_tick(rt_machine *machine, rt_time now)
{
    struct app *app = (struct app *)machine;
    (void)now;
    if (!app->has_begun) {
        app_begin(app);
    }
    app_serve(app);
    app_collect(app);
    app_feed(app);
    if (app->feeding != NULL) {
        rt_machine_wake(machine); /* the queue was full */
    }
    if (app->answered == app->asks_total && app->popped == app->channel_total &&
        !rt_op_is_submitted(&app->channel.base) && !app->is_reported) {
        app->is_reported = true;
        if (rti_u32_add_acqrel(&done_count, 1) + 1 == LOOPS) {
            for (unsigned i = 0; i < LOOPS; i++) {
                rt_loop_close(&loops[i]);
            }
        }
    }
}

static void *thread_main(void *arg)
{
    CHECK_OK(rt_loop_run(arg));
    return NULL;
}

static void exchange(uint64_t asks, uint64_t entries)
{
    pthread_t threads[LOOPS];
    const struct rti_port_linux_config port_config = {.pool_threads = 1};
    for (unsigned i = 0; i < LOOPS; i++) {
        pointers[i] = &loops[i];
    }
    rt_loop_group_init(&group, pointers, LOOPS);
    for (unsigned i = 0; i < LOOPS; i++) {
        apps[i] = (struct app){.index = i, .asks_total = asks, .channel_total = entries};
        CHECK_OK(rt_spsc_init(&apps[i].queue, apps[i].entries, sizeof(uint64_t), CAPACITY));
        CHECK_OK(rti_port_linux_init(&ports[i], &port_config));
        const rt_loop_config config = {.port = &ports[i].port,
                                       .group = &group,
                                       .thread_id = i,
                                       .app = &apps[i].machine,
                                       .app_config = {.tick = app_tick},
                                       .slots = slots[i],
                                       .slots_count = 4};
        apps[i].machine = (rt_machine){.state = NULL};
        CHECK_OK(rt_loop_init(&loops[i], &config));
    }
    for (unsigned i = 0; i < LOOPS; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, thread_main, &loops[i]), 0);
    }
    for (unsigned i = 0; i < LOOPS; i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    }
    for (unsigned i = 0; i < LOOPS; i++) {
        rt_loop_stats stats;
        rt_loop_get_stats(&loops[i], &stats);
        CHECK_EQ(stats.submitted, asks + 1);
        CHECK_EQ(stats.completed, asks + 1);
        CHECK_EQ(apps[i].answered, asks);
        printf("loop %u: %" PRIu64 " turns, %" PRIu64 " cancelled, %" PRIu64 " rings\n", i,
               stats.turns, apps[i].cancelled, stats.rings);
        rt_loop_deinit(&loops[i]);
        rti_port_linux_deinit(&ports[i]);
    }
}

TEST(machine_loops_in_three_threads_exchange_a_hundred_thousand_ops)
{
    exchange(34000, 20000);
}

TEST(machine_loops_in_three_threads_end_together_again_and_again)
{
    for (unsigned i = 0; i < 20; i++) {
        rti_u32_store_relaxed(&done_count, 0);
        exchange(WINDOW + i, 1 + i);
    }
}
