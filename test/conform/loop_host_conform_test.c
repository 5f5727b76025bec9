/* SPDX-License-Identifier: Apache-2.0 */
/* What is promised of hosted loops, on every engine: machines in two loops of one group exchange
 * ops with each other, with timers and with the platform, beside tasks. */
#define RTI_MODULE "loop_host_conform_test"
#include <string.h>

#include "base/atomic.h"
#include "support/engines.h"
#include "support/test.h"

#define LOOPS 2
#define ASKS  100
#define NOPS  50

enum { ASK = RT_OP_USER };

struct app {
    rt_machine machine; /* first */
    unsigned index;
    bool has_begun;
    bool is_inside; /* plain: two workers in one loop are a race */
    rt_op op;
    rt_timer_op timer;
    rt_io_op nop;
    unsigned asked;
    unsigned answered;
    unsigned served;
    unsigned fired;
    unsigned nops;
};

static struct app apps[LOOPS];
static rt_loop loops[LOOPS];
static rt_loop *pointers[LOOPS];
static rt_loop_group group;
static rt_machine_slot slots[LOOPS][4];
static rti_atomic_u32 done_count;
static unsigned tasks_done;

static void app_ask(struct app *app)
{
    rt_op_init(&app->op, ASK);
    app->op.destination = apps[1 - app->index].machine.id;
    CHECK_OK(rt_op_submit(&app->machine, &app->op));
    app->asked++;
}

static void app_nop(struct app *app)
{
    rt_op_init(&app->nop.base, RT_OP_NOP);
    CHECK_OK(rt_op_submit(&app->machine, &app->nop.base));
}

static void app_begin(struct app *app, rt_time now)
{
    app->has_begun = true;
    if (rt_machine_is_closing(&app->machine)) {
        return;
    }
    app_ask(app);
    app_nop(app);
    rt_op_init(&app->timer.base, RT_OP_TIMER);
    app->timer.deadline = now + RT_NS_PER_MS;
    CHECK_OK(rt_op_submit(&app->machine, &app->timer.base));
}

static void app_hear(struct app *app, rt_op *op, rt_time now)
{
    if (op->status != RT_OK || rt_machine_is_closing(&app->machine)) {
        return; /* the loop closes */
    }
    if (op == &app->timer.base) {
        CHECK(now >= app->timer.deadline);
        app->fired++;
    } else if (op == &app->nop.base) {
        if (++app->nops < NOPS) {
            app_nop(app);
        }
    } else if (++app->answered < ASKS) {
        app_ask(app);
    }
    if (app->answered == ASKS && app->fired == 1 && app->nops == NOPS &&
        rti_u32_add_acqrel(&done_count, 1) + 1 == LOOPS) {
        rt_loop_close(&loops[0]);
        rt_loop_close(&loops[1]);
    }
}

static void app_tick(rt_machine *machine, rt_time now)
{
    struct app *app = (struct app *)machine;
    rt_op *op;
    CHECK(!app->is_inside);
    app->is_inside = true;
    if (!app->has_begun) {
        app_begin(app, now);
    }
    while ((op = rt_machine_next(machine, RT_QUEUE_SUBMISSIONS)) != NULL) {
        app->served++;
        rt_op_complete(machine, op, RT_OK, app->served);
    }
    while ((op = rt_machine_next(machine, RT_QUEUE_COMPLETIONS)) != NULL) {
        app_hear(app, op, now);
    }
    app->is_inside = false;
}

static void host(unsigned i)
{
    const rt_loop_config config = {.group = &group,
                                   .thread_id = i,
                                   .app = &apps[i].machine,
                                   .app_config = {.tick = app_tick},
                                   .slots = slots[i],
                                   .slots_count = 4};
    CHECK_OK(rt_loop_host(&loops[i], &config, RT_PRIO_NORMAL));
}

static void prepare(void)
{
    rti_u32_init(&done_count, 0);
    tasks_done = 0;
    for (unsigned i = 0; i < LOOPS; i++) {
        pointers[i] = &loops[i];
        apps[i] = (struct app){.index = i};
    }
    rt_loop_group_init(&group, pointers, LOOPS);
}

static void host_all(void)
{
    prepare();
    host(0);
    host(1);
}

static void check_all(void)
{
    for (unsigned i = 0; i < LOOPS; i++) {
        CHECK_EQ(apps[i].answered, ASKS);
        CHECK_EQ(apps[i].served, ASKS);
        CHECK_EQ(apps[i].fired, 1);
        CHECK_EQ(apps[i].nops, NOPS);
        rt_loop_deinit(&loops[i]);
    }
    CHECK_EQ(tasks_done, 1);
}

static void *task_main(void *arg)
{
    (void)arg;
    for (int i = 0; i < 20; i++) {
        rt_yield();
    }
    tasks_done++;
    return NULL;
}

TEST(loop_host_runs_machines_beside_tasks_on_every_engine)
{
    const struct engines_program program = {
        .main = task_main, .before = host_all, .after = check_all};
    engines_run_program(&program);
}

/* A task makes one loop, waits, and makes the other: the first must not send to what is not there.
 */
static void *late_main(void *arg)
{
    prepare();
    host(0);
    CHECK_OK(rt_sleep(2 * RT_NS_PER_MS));
    CHECK_EQ(apps[0].asked, 0);
    host(1);
    return task_main(arg);
}

TEST(loop_host_on_several_workers_begins_when_its_group_is_made)
{
    const struct engines_program program = {.main = late_main, .after = check_all};
    engines_run_on(ENGINE_PARALLEL, &program);
}

static void *close_main(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < LOOPS; i++) {
        rt_loop_close(&loops[i]);
        rt_yield();
    }
    tasks_done++;
    return NULL;
}

static void check_closed(void)
{
    for (unsigned i = 0; i < LOOPS; i++) {
        rt_loop_deinit(&loops[i]);
    }
    CHECK_EQ(tasks_done, 1);
}

TEST(loop_host_is_closed_by_a_task_while_ops_are_under_way_on_every_engine)
{
    const struct engines_program program = {
        .main = close_main, .before = host_all, .after = check_closed};
    for (int i = 0; i < 20; i++) {
        engines_run_program(&program);
    }
}

/* A machine that wants its timer again and leaves the deadline as it was. */
#define REPEATS 3

static struct {
    rt_machine machine; /* first */
    rt_timer_op timer;
    unsigned started;
    unsigned fired;
} repeater;

static void repeater_start(void)
{
    rt_op_init(&repeater.timer.base, RT_OP_TIMER);
    CHECK_OK(rt_op_submit(&repeater.machine, &repeater.timer.base));
    repeater.started++;
}

static void repeater_tick(rt_machine *machine, rt_time now)
{
    if (repeater.started == 0) {
        repeater.timer.deadline = now + RT_NS_PER_MS;
        repeater_start();
    }
    while (rt_machine_next(machine, RT_QUEUE_COMPLETIONS) != NULL) {
        CHECK(now >= repeater.timer.deadline);
        repeater.fired++;
        if (repeater.fired < REPEATS) {
            repeater_start();
        } else {
            rt_loop_close(&loops[0]);
        }
    }
}

static void host_repeater(void)
{
    const rt_loop_config config = {.app = &repeater.machine,
                                   .app_config = {.tick = repeater_tick},
                                   .slots = slots[0],
                                   .slots_count = 4};
    memset(&repeater, 0, sizeof(repeater));
    tasks_done = 0;
    CHECK_OK(rt_loop_host(&loops[0], &config, RT_PRIO_NORMAL));
}

static void check_repeater(void)
{
    CHECK_EQ(repeater.fired, REPEATS);
    rt_loop_deinit(&loops[0]);
}

TEST(loop_host_fires_a_timer_whose_deadline_was_another_s_on_every_engine)
{
    const struct engines_program program = {
        .main = task_main, .before = host_repeater, .after = check_repeater};
    engines_run_program(&program);
}
