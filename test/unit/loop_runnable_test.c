/* SPDX-License-Identifier: Apache-2.0 */
/* Loops as runnables of the fixed engine, in the simulated world and in the real one, where another
 * loop in a thread of its own talks to them. */
#define _GNU_SOURCE
#define RTI_MODULE "loop_runnable_test"
#include "machine/loop_runnable.h"

#include <orrery/rt.h>

#include <pthread.h>

#include "port/linux/port_linux.h"
#include "port/sim/port_sim.h"
#include "sched/fiber.h"
#include "support/test.h"
#include "time/deadline.h"

#define LOOPS 2
#define ASKS  200

enum { ASK = RT_OP_USER };

struct app {
    rt_machine machine; /* first */
    unsigned index;
    rt_op op;
    rt_timer_op timer;
    unsigned asked;
    unsigned answered;
    unsigned served;
    unsigned fired;
};

static struct app apps[LOOPS];
static rt_loop loops[LOOPS];
static rt_loop *pointers[LOOPS];
static rt_loop_group group;
static rt_machine_slot slots[LOOPS][4];
static struct rti_clockwork clockwork;
static struct rti_sched sched;
static struct rti_loop_runnable hosts[LOOPS];
static rti_atomic_u32 done_count;

static void app_ask(struct app *app)
{
    rt_op_init(&app->op, ASK);
    app->op.destination = apps[1 - app->index].machine.id;
    CHECK_OK(rt_op_submit(&app->machine, &app->op));
    app->asked++;
}

static void app_begin(struct app *app, rt_time now)
{
    app_ask(app);
    rt_op_init(&app->timer.base, RT_OP_TIMER);
    app->timer.deadline = now + RT_NS_PER_MS;
    CHECK_OK(rt_op_submit(&app->machine, &app->timer.base));
}

static void app_tick(rt_machine *machine, rt_time now)
{
    struct app *app = (struct app *)machine;
    rt_op *op;
    if (app->asked == 0) {
        app_begin(app, now);
    }
    while ((op = rt_machine_next(machine, RT_QUEUE_SUBMISSIONS)) != NULL) {
        app->served++;
        rt_op_complete(machine, op, RT_OK, app->served);
    }
    while ((op = rt_machine_next(machine, RT_QUEUE_COMPLETIONS)) != NULL) {
        if (op == &app->timer.base) {
            CHECK(now >= app->timer.deadline);
            app->fired += op->status == RT_OK;
        } else {
            app->answered++;
            if (app->asked < ASKS) {
                app_ask(app);
                continue;
            }
        }
        if (app->answered == ASKS && app->fired == 1 &&
            rti_u32_add_acqrel(&done_count, 1) + 1 == LOOPS) {
            rt_loop_close(&loops[0]);
            rt_loop_close(&loops[1]);
        }
    }
}

static void start(struct rti_port *first, struct rti_port *second)
{
    rti_u32_init(&done_count, 0);
    for (unsigned i = 0; i < LOOPS; i++) {
        pointers[i] = &loops[i];
    }
    rt_loop_group_init(&group, pointers, LOOPS);
    for (unsigned i = 0; i < LOOPS; i++) {
        apps[i] = (struct app){.index = i};
        const rt_loop_config config = {.port = i == 0 ? first : second,
                                       .group = &group,
                                       .thread_id = i,
                                       .app = &apps[i].machine,
                                       .app_config = {.tick = app_tick},
                                       .slots = slots[i],
                                       .slots_count = 4};
        CHECK_OK(rt_loop_init(&loops[i], &config));
    }
}

static void start_engine(struct rti_port *port)
{
    rti_clockwork_init(&clockwork, port->ops->clock_ns(port));
    const struct rti_timer_source timers = rti_clockwork_source(&clockwork);
    CHECK_OK(rti_sched_init(&sched, port, &timers));
}

static void finish(void)
{
    for (unsigned i = 0; i < LOOPS; i++) {
        CHECK_EQ(apps[i].answered, ASKS);
        CHECK_EQ(apps[i].served, ASKS);
        CHECK_EQ(apps[i].fired, 1);
        rt_loop_deinit(&loops[i]);
    }
    CHECK_EQ(rti_wheel_count(&clockwork.wheel), 0);
    rti_sched_deinit(&sched);
}

static uint64_t run_simulated(void)
{
    static struct rti_port_sim sim;
    struct rti_journal journal;
    rti_journal_init(&journal, NULL, 0);
    rti_port_sim_init(&sim, 1, 1000, NULL);
    start_engine(&sim.port);
    rti_sched_observe(&sched, &journal, NULL);
    start(&sim.port, &sim.port);
    for (unsigned i = 0; i < LOOPS; i++) {
        rti_loop_host(&hosts[i], &loops[i], &sched, 100 + i, 1);
    }
    CHECK_OK(rti_sched_run(&sched));
    CHECK_EQ(sim.now_ns, 1000 + RT_NS_PER_MS); /* it waited for the timers and for nothing else */
    finish();
    return rti_journal_digest(&journal);
}

TEST(loop_runnable_exchanges_ops_and_waits_for_timers_in_the_simulator)
{
    uint64_t digest = run_simulated();
    CHECK(run_simulated() == digest); /* and every decision is in the journal */
}

TEST(loop_runnable_that_can_never_go_on_is_a_deadlock)
{
    static struct rti_port_sim sim;
    rti_port_sim_init(&sim, 1, 1000, NULL);
    start_engine(&sim.port);
    start(&sim.port, &sim.port);
    apps[0].asked = 1; /* asks nothing, and so never has enough answers */
    rti_loop_host(&hosts[0], &loops[0], &sched, 100, 1);
    rti_loop_host(&hosts[1], &loops[1], &sched, 101, 1);
    CHECK_STATUS(rti_sched_run(&sched), RT_ERR_DEADLOCK);
    CHECK(hosts[0].is_parked && hosts[1].is_parked);
    rt_loop_close(&loops[0]);
    rt_loop_close(&loops[1]);
    CHECK_OK(rti_sched_run(&sched));
    rt_loop_deinit(&loops[0]);
    rt_loop_deinit(&loops[1]);
    rti_sched_deinit(&sched);
}

static void *thread_main(void *arg)
{
    CHECK_OK(rt_loop_run(arg));
    return NULL;
}

TEST(loop_runnable_talks_to_a_loop_in_another_thread)
{
    static struct rti_port_linux ports[LOOPS];
    pthread_t thread;
    if (RT_FAILED(rti_port_linux_init(&ports[0], NULL))) {
        test_skip("there is one thread here");
    }
    CHECK_OK(rti_port_linux_init(&ports[1], NULL));
    start_engine(&ports[0].port);
    start(&ports[0].port, &ports[1].port);
    rti_loop_host(&hosts[0], &loops[0], &sched, 100, 1);
    CHECK_EQ(pthread_create(&thread, NULL, thread_main, &loops[1]), 0);
    CHECK_OK(rti_sched_run(&sched));
    CHECK_EQ(pthread_join(thread, NULL), 0);
    finish();
    rti_port_linux_deinit(&ports[0]);
    rti_port_linux_deinit(&ports[1]);
}

/* ---- as a program sees it ---- */

static struct {
    unsigned actors_done;
} seen;

static rt_loop_config host_config(unsigned i)
{
    return (rt_loop_config){.group = &group,
                            .thread_id = i,
                            .app = &apps[i].machine,
                            .app_config = {.tick = app_tick},
                            .slots = slots[i],
                            .slots_count = 4};
}

static void host_all(void)
{
    rti_u32_init(&done_count, 0);
    for (unsigned i = 0; i < LOOPS; i++) {
        pointers[i] = &loops[i];
        apps[i] = (struct app){.index = i};
    }
    rt_loop_group_init(&group, pointers, LOOPS);
    for (unsigned i = 0; i < LOOPS; i++) {
        const rt_loop_config config = host_config(i);
        CHECK_OK(rt_loop_host(&loops[i], &config, RT_PRIO_NORMAL));
    }
}

/* An actor beside the machines: it has its turns too. */
static void actor_main(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < 5; i++) {
        rt_yield();
    }
    seen.actors_done++;
    rt_exit();
}

static void sim_main(void *arg)
{
    CHECK(rt_spawn(actor_main, arg) != ACTOR_ID_INVALID);
    host_all();
    actor_main(arg);
}

static void check_apps(void)
{
    for (unsigned i = 0; i < LOOPS; i++) {
        CHECK_EQ(apps[i].answered, ASKS);
        CHECK_EQ(apps[i].fired, 1);
        rt_loop_deinit(&loops[i]);
    }
}

TEST(loop_hosted_by_a_runtime_runs_beside_actors)
{
    CHECK_OK(rt_init());
    CHECK(rt_spawn(actor_main, NULL) != ACTOR_ID_INVALID);
    host_all();
    rt_run();
    CHECK_EQ(seen.actors_done, 1);
    check_apps();
    rt_cleanup();
}

TEST(loop_hosted_in_the_simulator_gives_one_trace_per_seed)
{
    uint64_t hashes[2];
    for (unsigned i = 0; i < 2; i++) {
        rt_sim_report report;
        const rt_sim_config config = {.seed = 5, .report = &report};
        CHECK_OK(rt_sim_run(&config, sim_main, NULL));
        CHECK(report.time >= RT_NS_PER_MS); /* virtual: the timers were waited for */
        check_apps();
        hashes[i] = report.trace_hash;
    }
    CHECK_EQ(seen.actors_done, 4);
    CHECK(hashes[0] == hashes[1]);
}

TEST(loop_host_refuses_what_it_cannot_host)
{
    static struct rti_port_sim sim;
    rt_loop_config config = host_config(0);
    config.group = NULL;
    CHECK_STATUS(rt_loop_host(&loops[0], &config, RT_PRIO_NORMAL), RT_ERR_THREAD);
    CHECK_OK(rt_init());
    CHECK_STATUS(rt_loop_host(&loops[0], NULL, RT_PRIO_NORMAL), RT_ERR_INVALID);
    CHECK_STATUS(rt_loop_host(&loops[0], &config, (rt_priority)4), RT_ERR_INVALID);
    rti_port_sim_init(&sim, 1, 1, NULL);
    config.port = &sim.port;
    CHECK_STATUS(rt_loop_host(&loops[0], &config, RT_PRIO_NORMAL), RT_ERR_INVALID);
    config.port = NULL;
    config.slots_count = 1;
    CHECK_STATUS(rt_loop_host(&loops[0], &config, RT_PRIO_NORMAL), RT_ERR_INVALID);
    rt_run(); /* nothing is left behind */
    rt_cleanup();
}
