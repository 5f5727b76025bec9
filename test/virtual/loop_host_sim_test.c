/* SPDX-License-Identifier: Apache-2.0 */
/* Hosted loops on virtual workers: three loops of one group ask each other, the platform and their
 * timers, one of them is made late, and tasks close them at a time that is drawn. No step is left
 * out and none runs beside another; every op is answered once.
 *
 * Seeds: 10 */
#define _GNU_SOURCE
#define RTI_MODULE "loop_host_sim_test"
#include <orrery/rt.h>

#include "base/atomic.h"
#include "support/test.h"
#include "virtual/world.h"

TEST_TIMEOUT(60);

#define LOOPS    3
#define ASKS_MAX 6

enum { ASK = RT_OP_USER };

struct app {
    rt_machine machine; /* first */
    uint64_t dice;
    bool has_begun;
    bool is_inside; /* plain: a race if two workers are in one loop */
    rt_op op;
    rt_timer_op timer;
    rt_io_op nop;
    unsigned submitted;
    unsigned answered;
    unsigned rounds; /* that are left */
};

static struct app apps[LOOPS];
static rt_loop loops[LOOPS];
static rt_loop *pointers[LOOPS];
static rt_loop_group group;
static rt_machine_slot slots[LOOPS][4];
static uint64_t world_seed;

static uint64_t draw(struct app *app, uint64_t n)
{
    app->dice = app->dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (app->dice >> 33) % n;
}

static void app_submit(struct app *app, rt_op *op, uint32_t code)
{
    rt_op_init(op, code);
    if (code == ASK) {
        op->destination = apps[draw(app, LOOPS)].machine.id;
    }
    CHECK_OK(rt_op_submit(&app->machine, op));
    app->submitted++;
}

static void app_begin(struct app *app, rt_time now)
{
    app->has_begun = true;
    if (rt_machine_is_closing(&app->machine)) {
        return;
    }
    app_submit(app, &app->op, ASK);
    app_submit(app, &app->nop.base, RT_OP_NOP);
    app->timer.deadline = now + draw(app, RT_NS_PER_MS);
    app_submit(app, &app->timer.base, RT_OP_TIMER);
}

static void app_hear(struct app *app, rt_op *op, rt_time now)
{
    app->answered++;
    if (op->status != RT_OK || app->rounds == 0 || rt_machine_is_closing(&app->machine)) {
        return;
    }
    app->rounds--;
    if (op == &app->timer.base) {
        WITNESS(now >= app->timer.deadline);
        app->timer.deadline = now + draw(app, RT_NS_PER_MS);
        app_submit(app, op, RT_OP_TIMER);
    } else {
        app_submit(app, op, op == &app->nop.base ? (uint32_t)RT_OP_NOP : (uint32_t)ASK);
    }
}

static void app_tick(rt_machine *machine, rt_time now)
{
    struct app *app = (struct app *)machine;
    rt_op *op;
    WITNESS(!app->is_inside);
    app->is_inside = true;
    rti_virtual_compute();
    if (!app->has_begun) {
        app_begin(app, now);
    }
    while ((op = rt_machine_next(machine, RT_QUEUE_SUBMISSIONS)) != NULL) {
        rt_op_complete(machine, op, RT_OK, 1);
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

static void *closer_main(void *arg)
{
    (void)rt_sleep((world_seed * 7919 + (uintptr_t)arg * 104729) % (3 * RT_NS_PER_MS));
    rt_loop_close(&loops[(uintptr_t)arg]);
    return NULL;
}

static void *main_task(void *arg)
{
    rt_task *closers[LOOPS];
    (void)arg;
    host(1);
    if (world_seed % 3 == 0) {
        CHECK_OK(rt_sleep(RT_NS_PER_US));
    }
    host(2);
    for (uintptr_t i = 0; i < LOOPS; i++) {
        closers[i] = rt_go(closer_main, (void *)i);
        WITNESS(closers[i] != NULL);
    }
    for (uintptr_t i = 0; i < LOOPS; i++) {
        CHECK_OK(rt_join(closers[i], NULL));
    }
    return NULL;
}

static void program(uint64_t seed)
{
    world_seed = seed;
    rt_config config = {.workers = (uint32_t)(2 + seed % 4)};
    CHECK_OK(rt_init_ex(&config));
    for (unsigned i = 0; i < LOOPS; i++) {
        pointers[i] = &loops[i];
        apps[i] = (struct app){.dice = seed * 31 + i, .rounds = (unsigned)(seed % ASKS_MAX) + i};
    }
    rt_loop_group_init(&group, pointers, LOOPS);
    host(0);
    rt_task *task = rt_go(main_task, NULL);
    WITNESS(task != NULL);
    rt_run();
    CHECK_OK(rt_join(task, NULL));
    for (unsigned i = 0; i < LOOPS; i++) {
        WITNESS(apps[i].answered == apps[i].submitted && !apps[i].is_inside);
        rt_loop_deinit(&loops[i]);
    }
}

TEST_SEEDED(loop_host_sim_answers_every_op_and_ends)
{
    worlds_play(program);
}
