/* SPDX-License-Identifier: Apache-2.0 */
/* The assembly of a runtime and its life on the fixed engine; the manual is <orrery/rt/runtime.h>.
 */
#define RTI_MODULE "runtime"
#include "runtime/runtime.h"

#include <orrery/rt/runtime.h>
#include <orrery/rt/sim.h>

#include "actor/behaviour.h"
#include "sched/visit.h"
#include "sched/visitor.h"

struct rt_runtime rti_runtime;

/* The phase word: one visitor, and the bits below the visitors. */
#define PHASE_VISITOR 4U
#define PHASE_MASK    (PHASE_VISITOR - 1)

bool rti_runtime_claim(void)
{
    uint32_t none = RTI_RUNTIME_NONE;
    /* Acquire pairs with the release in rti_runtime_release: what the last owner left is seen. */
    return rti_u32_cas_acqrel(&rti_runtime.phase, &none, RTI_RUNTIME_CLAIMED);
}

/* The owner's move; visitors stay counted. What it did before is seen by who visits in the new
 * phase, or claims: pairs with runtime_visit and rti_runtime_claim. */
static void runtime_move(enum rti_runtime_phase from, enum rti_runtime_phase to)
{
    uint32_t old = rti_u32_add_acqrel(&rti_runtime.phase, (uint32_t)to - (uint32_t)from);
    RT_ASSERT((old & PHASE_MASK) == (uint32_t)from);
}

void rti_runtime_release(void)
{
    RT_ASSERT(rti_u32_load_relaxed(&rti_runtime.phase) == RTI_RUNTIME_CLAIMED);
    runtime_move(RTI_RUNTIME_CLAIMED, RTI_RUNTIME_NONE);
}

bool rti_runtime_forked(void)
{
    struct rti_worker *worker = rti_worker_current();
    rti_worker_set_current(NULL);
    if (rti_u32_load_relaxed(&rti_runtime.phase) == RTI_RUNTIME_NONE) {
        return false;
    }
    /* Claimed for ever, by nobody: visitors of the parent's other threads are not here. */
    rti_u32_store_relaxed(&rti_runtime.phase, RTI_RUNTIME_CLAIMED);
    rti_runtime.is_forked = true;
    if (worker != NULL) {
        worker->turns_until_look = 0;
        rti_u32_store_relaxed(worker->attention, 1);
        if (rti_turn_of(worker) != NULL) {
            /* What is left of its mail is handled in the parent. */
            rti_turn_cut(rti_turn_of(worker));
        }
    }
    return rti_runtime.sched.port != NULL;
}

bool rti_runtime_visit(void)
{
    uint32_t word = rti_u32_load_relaxed(&rti_runtime.phase);
    do {
        uint32_t phase = word & PHASE_MASK;
        if (phase != RTI_RUNTIME_READY && phase != RTI_RUNTIME_RUNNING) {
            return false;
        }
        /* Acquire pairs with the owner's move: the modules are complete. */
    } while (!rti_u32_cas_acqrel(&rti_runtime.phase, &word, word + PHASE_VISITOR));
    return true;
}

void rti_runtime_leave(void)
{
    /* Pairs with the acquire in runtime_await_visitors: all that the visitor did came before. */
    uint32_t old = rti_u32_sub_acqrel(&rti_runtime.phase, PHASE_VISITOR);
    RT_ASSERT(old >= PHASE_VISITOR);
}

struct rti_sched *rti_visitor_enter(void)
{
    if (!rti_runtime_visit()) {
        return NULL;
    }
    if (rti_sched_is_local(&rti_runtime.sched)) {
        rti_runtime_leave();
        return NULL;
    }
    return &rti_runtime.sched;
}

void rti_visitor_leave(void)
{
    rti_runtime_leave();
}

struct rti_port *rti_visitor_port(void)
{
    bool is_refused = false;
    if (rti_runtime_visit()) {
        is_refused = rti_sched_is_local(&rti_runtime.sched) && rti_worker_current() == NULL;
        rti_runtime_leave();
    }
    return is_refused ? NULL : rti_host_outside();
}

/* No visitor comes any more; those that are here need a few instructions, unless their thread was
 * preempted. Sleeps, so that a thread of lower priority gets to its end. */
static void runtime_await_visitors(void)
{
    uint32_t word;
    /* Pairs with the release in runtime_leave. */
    while ((word = rti_u32_load_acquire(&rti_runtime.phase)) >= PHASE_VISITOR) {
        rti_host_nap(&rti_runtime.phase, word);
    }
}

static void runtime_stop_called(struct rti_post *post)
{
    (void)post;
    /* Release pairs with the exchange in rt_shutdown: from here on the post may be queued again. */
    rti_u32_store_release(&rti_runtime.is_stop_posted, 0);
    rti_sched_stop(&rti_runtime.sched);
}

static void runtime_close_engine(struct rt_runtime *runtime)
{
    if (runtime->engine != NULL) {
        runtime->engine->close(runtime);
        runtime->engine = NULL;
    }
}

rt_status rti_runtime_start(struct rti_port *port, const struct rti_runtime_engine *engine,
                            const rt_config *config)
{
    struct rt_runtime *runtime = &rti_runtime;
    runtime->is_observed = config != NULL && config->observe;
    rti_clockwork_init(&runtime->clockwork, port->ops->clock_ns(port));
    struct rti_timer_source timers = rti_clockwork_source(&runtime->clockwork);
    rt_status status = rti_sched_init(&runtime->sched, port, &timers);
    if (RT_FAILED(status)) {
        return status;
    }
    if (engine != NULL) {
        status = engine->open(runtime, config);
        if (RT_FAILED(status)) {
            rti_sched_deinit(&runtime->sched);
            return status;
        }
    }
    runtime->engine = engine;
    status = rti_faults_open(&runtime->sched);
    if (RT_FAILED(status) && status.code != RT_ERR_UNSUPPORTED) {
        runtime_close_engine(runtime);
        rti_sched_deinit(&runtime->sched);
        return status;
    }
    rti_stacks_init(&runtime->stacks, &runtime->sched);
    status = rti_actors_init(&runtime->actors, &runtime->sched);
    RT_ASSERT(!RT_FAILED(status));
    rti_actor_timers_init(&runtime->timers, &runtime->actors);
    for (size_t i = 0; i < RTI_HOST_PARTS_MAX; i++) {
        if (rti_host_parts[i] != NULL) {
            rti_host_parts[i]->start(runtime);
        }
    }
    runtime->stop.call = runtime_stop_called;
    rti_u32_init(&runtime->is_stop_posted, 0);
    runtime_move(RTI_RUNTIME_CLAIMED, RTI_RUNTIME_READY);
    return RT_SUCCESS;
}

rt_status rti_runtime_turn(void)
{
    runtime_move(RTI_RUNTIME_READY, RTI_RUNTIME_RUNNING);
    rt_status status = rti_sched_run(&rti_runtime.sched);
    runtime_move(RTI_RUNTIME_RUNNING, RTI_RUNTIME_READY);
    return status;
}

/* Ends what lives; what was asked to end before is not asked again. */
static void runtime_halt(struct rt_runtime *runtime)
{
    rti_actors_kill_all(&runtime->actors);
    for (size_t i = RTI_HOST_PARTS_MAX; i > 0; i--) {
        const struct rti_runtime_part *part = rti_host_parts[i - 1];
        if (part != NULL && part->halt != NULL) {
            part->halt();
        }
    }
}

void rti_runtime_stop(void)
{
    struct rt_runtime *runtime = &rti_runtime;
    /* From here on rt_shutdown finds no runtime. */
    runtime_move(RTI_RUNTIME_READY, RTI_RUNTIME_CLAIMED);
    if (!rti_sched_is_local(&runtime->sched)) {
        rti_visits_evict(runtime->sched.modules[RTI_MODULE_VISIT]);
    }
    runtime_await_visitors();
#if RT_TRACE
    runtime->sched.steps_max = 0;
#endif
    for (;;) {
        /* Before each run: what the last duties of one have started since is asked, too. */
        runtime_halt(runtime);
        if (rti_sched_live(&runtime->sched) == 0) {
            break;
        }
        /* A stop posted before may end it early; what is doomed ends in the next one. */
        rt_status status = rti_sched_run(&runtime->sched);
        RT_ASSERT(!RT_FAILED(status));
    }
    for (size_t i = RTI_HOST_PARTS_MAX; i > 0; i--) {
        if (rti_host_parts[i - 1] != NULL) {
            rti_host_parts[i - 1]->stop();
        }
    }
    rti_actor_timers_deinit(&runtime->timers);
    rti_actors_deinit(&runtime->actors);
    rti_stacks_deinit(&runtime->stacks);
    rti_faults_close(&runtime->sched);
    runtime_close_engine(runtime);
    rti_sched_deinit(&runtime->sched);
}

/* May the caller run or clean up? Only the thread that started it, outside of actors. */
static bool runtime_is_mine(void)
{
    struct rti_worker *worker = rti_worker_current();
    if (worker == &rti_runtime.sched.worker && worker->fiber == NULL) {
        return true;
    }
    if (worker != NULL) {
        rti_port_log("rt_run and rt_cleanup are not for actors: ignored");
    } else if (rti_runtime.is_forked) {
        rti_port_log("the runtime stayed in the process that forked this one: ignored");
    } else if (rti_u32_load_acquire(&rti_runtime.phase) == RTI_RUNTIME_NONE) {
        /* The acquire pairs with the release in rti_runtime_release. */
        rti_port_log("rt_run and rt_cleanup need rt_init first: ignored");
    } else {
        rti_port_log("rt_run and rt_cleanup belong to the thread that called rt_init: ignored");
    }
    return false;
}

rt_status rti_runtime_refusal(void)
{
    return (rt_status){RT_ERR_STATE,
                       RTI_SENTENCE(rti_runtime.is_forked
                                        ? "this process was forked from one with a runtime: exec"
                                        : "the runtime is there already: rt_cleanup ends it")};
}

rt_status rti_runtime_init(const struct rti_runtime_engine *engine, const rt_config *config)
{
    if (rti_worker_current() != NULL || !rti_runtime_claim()) {
        return rti_runtime_refusal();
    }
    struct rti_port *port = NULL;
    rt_status status = rti_host_open(&port, engine != NULL ? config : NULL);
    if (RT_FAILED(status)) {
        rti_runtime_release();
        return status;
    }
    status = rti_runtime_start(port, engine, config);
    if (RT_FAILED(status)) {
        rti_host_close();
        rti_runtime_release();
        return status;
    }
    rti_host_watch_deadlocks(config == NULL ? 0 : config->deadlock_after);
    return status;
}

rt_status rt_init(void)
{
    return rti_runtime_init(NULL, NULL);
}

void rt_run(void)
{
    if (!runtime_is_mine()) {
        return;
    }
    rt_status status = rti_runtime_turn();
    if (RT_SENTENCES && RT_FAILED(status)) {
        rti_port_log(rt_status_message(status));
    }
}

void rt_shutdown(void)
{
    if (!rti_runtime_visit()) {
        return;
    }
    /* One post, queued at most once. Acquire pairs with the release in runtime_stop_called. */
    if (rti_u32_exchange_acqrel(&rti_runtime.is_stop_posted, 1) == 0) {
        rti_sched_post(&rti_runtime.sched, &rti_runtime.stop);
    }
    rti_runtime_leave();
}

void rt_cleanup(void)
{
    if (!runtime_is_mine()) {
        return;
    }
    rti_host_forget_deadlocks();
    rti_runtime_stop();
    rti_host_close();
    rti_runtime_release();
}

uint64_t rt_random(void)
{
    struct rti_sched *sched = rti_sched_current();
    return sched == NULL ? 0 : sched->port->ops->random(sched->port);
}

rt_time rt_clock(void)
{
    const struct rti_worker *worker = rti_worker_enter();
    if (RTI_LIKELY(worker != NULL)) {
        return rti_sched_clock(worker->sched);
    }
    rt_time now = 0;
    struct rti_sched *sched = RTI_ONE_WORKER ? NULL : rti_visitor_enter();
    if (sched != NULL) {
        now = rti_sched_clock(sched);
        rti_visitor_leave();
    }
    return now;
}
