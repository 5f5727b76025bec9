/* SPDX-License-Identifier: Apache-2.0 */
/* A run in the simulator: the same modules over the simulated port, observed by journal and
 * chooser. The manual is <orrery/rt/sim.h>. */
#define RTI_MODULE "sim"
#include <orrery/rt/sim.h>

#include "base/marks.h"
#include "observe/dump.h"
#include "observe/journal_api.h"
#include "port/sim/sim_disk.h"
#include "port/sim/sim_net.h"
#include "runtime/runtime.h"
#include "runtime/runtime_deadlock.h"
#include "sched/chooser.h"

/* Where simulated time begins: not at 0, so that a program that takes a time of 0 for none fails.
 */
#define SIM_START_NS (UINT64_C(1000) * RTI_NS_PER_S)

/* The chooser draws from a stream of its own, away from what the program draws. */
#define SIM_CHOOSER_SALT UINT64_C(0x63686f6f73657231)

/* What a crash leaves is drawn from a stream of its own. */
#define SIM_CRASH_SALT UINT64_C(0x6372617368656431)

_Static_assert(sizeof(struct rti_sim_disk_handle) <= sizeof(rt_sim_disk), "a disk fits its handle");

/* The simulated world. Whoever has claimed the runtime owns it. */
static struct {
    struct rti_port_sim port;
    struct rti_sim_net net;
    struct rti_sim_disk disk;
    struct rti_journal own_journal; /* for a run that brings none: the digest alone */
    struct rti_journal *journal;
    struct rti_seeded_chooser chooser;
} sim;

static void sim_observe(const rt_sim_config *config, uint64_t seed)
{
    struct rt_runtime *runtime = &rti_runtime;
    rti_journal_init(&sim.own_journal, NULL, 0);
    sim.journal = rti_host_journal() != NULL ? rti_host_journal() : &sim.own_journal;
    if (config->journal != NULL) {
        sim.journal = rti_journal_of(config->journal);
        rti_journal_init(sim.journal, sim.journal->ring, sim.journal->capacity);
    }
    rti_seeded_chooser_init(&sim.chooser, seed ^ SIM_CHOOSER_SALT);
    rti_sched_observe(&runtime->sched, sim.journal,
                      config->fixed_order ? NULL : &sim.chooser.chooser);
    runtime->sched.steps_max = config->steps_max != 0 ? config->steps_max : RT_SIM_STEPS_MAX;
}

/* What network and disk decided is part of the trace, if there was anything. */
static void sim_seal(void)
{
    const bool is_used[] = {sim.net.hall != NULL, sim.disk.medium != NULL};
    const uint64_t digests[] = {sim.net.digest, sim.disk.digest};
    for (size_t i = 0; i < RTI_COUNT_OF(digests); i++) {
        if (is_used[i]) {
            const struct rti_journal_event event = {.kind = RTI_JOURNAL_MARK, .value = digests[i]};
            rti_sched_record(&rti_runtime.sched, &event);
        }
    }
}

static void sim_detach(void)
{
    rti_sim_disk_detach(&sim.disk);
    rti_sim_net_detach(&sim.net);
}

static void sim_report(rt_sim_report *report, uint64_t seed)
{
    const struct rt_runtime *runtime = &rti_runtime;
    *report = (rt_sim_report){
        .seed = seed,
        .trace_hash = rti_journal_digest(sim.journal),
        .steps = runtime->sched.worker.turns,
        .time = sim.port.now_ns - SIM_START_NS,
        .actors_left = rti_actors_count(&runtime->actors),
        .sockets_left = rti_sim_net_open_count(&sim.net),
        .files_left = rti_sim_disk_open_count(&sim.disk),
    };
}

static rt_status sim_check(const rt_sim_config *config, const struct rti_port *machine)
{
    if (config->journal != NULL && rti_journal_of(config->journal) == NULL) {
        return (rt_status){RT_ERR_INVALID, "the journal is not prepared: rt_journal_init does it"};
    }
    rt_status status = rti_sim_net_check(&config->network, machine);
    return RT_FAILED(status) ? status : rti_sim_disk_check(&config->storage);
}

rt_status rti_sim_run(const rt_sim_config *config, const struct rti_program *program)
{
    static const rt_sim_config defaults = {.seed = 0};
    if (config == NULL) {
        config = &defaults;
    }
    if (rti_worker_current() != NULL || !rti_runtime_claim()) {
        return rti_runtime_refusal();
    }
    struct rti_port *machine = rti_host_machine();
    rt_status status = sim_check(config, machine);
    if (RT_FAILED(status)) {
        rti_runtime_release();
        return status;
    }
    uint64_t seed = config->seed;
    (void)rti_port_environment_number("ORRERY_SEED", &seed);
    rti_port_sim_init(&sim.port, seed, SIM_START_NS, machine);
    rti_sim_net_attach(&sim.net, &sim.port, &config->network, seed);
    rti_sim_disk_attach(&sim.disk, &sim.port, &config->storage, seed);
    status = rti_runtime_start(&sim.port.port, NULL, NULL);
    if (RT_FAILED(status)) {
        sim_detach();
        rti_runtime_release();
        return status;
    }
    rti_port_repeat_set("ORRERY_SEED", seed);
    rti_buggify_enable(seed);
    sim_observe(config, seed);
    program->begin(program->context);
    if (RT_SENTENCES && !RTI_ONE_WORKER) {
        rti_runtime_tell_deadlocks_at_idle();
    }
    status = rti_runtime_turn();
    if (RT_SENTENCES && status.code == RT_ERR_DEADLOCK) {
        rti_dump_stuck(&rti_runtime.sched);
    }
    program->end(program->context);
    sim_seal();
    if (config->report != NULL) {
        sim_report(config->report, seed);
    }
    rti_buggify_disable();
    rti_runtime.sched.on_idle = NULL;
    rti_sched_observe(&rti_runtime.sched, NULL, NULL);
    rti_runtime_stop();
    sim_detach();
    if (RT_FAILED(status)) {
        rti_port_log(status.msg);
        rti_port_repeat_log();
    }
    rti_port_repeat_clear();
    rti_runtime_release();
    return status;
}

/* A program whose first one is an actor. */
struct sim_call {
    actor_fn main_fn;
    void *arg;
};

static void sim_begin(void *context)
{
    const struct sim_call *call = context;
    actor_id first = rt_spawn(call->main_fn, call->arg);
    RT_ASSERT(first != ACTOR_ID_INVALID);
}

static void sim_end(void *context)
{
    (void)context;
}

rt_status rt_sim_run(const rt_sim_config *config, actor_fn main_fn, void *arg)
{
    struct sim_call call = {main_fn, arg};
    const struct rti_program program = {sim_begin, sim_end, &call};
    if (main_fn == NULL) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("the program is NULL")};
    }
    return rti_sim_run(config, &program);
}

void rt_sim_mark(uint64_t value)
{
    struct rti_worker *worker = rti_worker_enter();
    if (worker != NULL && worker->fiber != NULL) {
        rti_sched_record(worker->sched, &(struct rti_journal_event){.kind = RTI_JOURNAL_MARK,
                                                                    .task = worker->fiber->run.id,
                                                                    .value = value});
    }
}

rt_status rt_sim_net_partition(bool is_cut)
{
    const struct rti_worker *worker = rti_worker_enter();
    if (worker == NULL) {
        return (rt_status){RT_ERR_THREAD, RTI_SENTENCE("this thread has no runtime")};
    }
    if (sim.port.net == NULL || worker->sched->port != &sim.port.port) {
        return (rt_status){RT_ERR_UNSUPPORTED, RTI_SENTENCE("there is no simulated network here")};
    }
    rti_sim_net_cut(&sim.net, is_cut);
    return RT_SUCCESS;
}

rt_status rt_sim_disk_init(rt_sim_disk *disk, void *memory, size_t size)
{
    (void)rti_worker_enter();
    if (disk == NULL || memory == NULL || (uintptr_t)memory % _Alignof(uint64_t) != 0) {
        return (rt_status){RT_ERR_INVALID,
                           RTI_SENTENCE("there is no disk, or its memory is not aligned")};
    }
    struct rti_sim_medium *medium = rti_sim_medium_format(memory, size);
    if (medium == NULL) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("the memory is too small for a disk")};
    }
    struct rti_sim_disk_handle *handle = (struct rti_sim_disk_handle *)(void *)disk;
    *handle = (struct rti_sim_disk_handle){.magic = RTI_SIM_DISK_MAGIC, .medium = medium};
    return RT_SUCCESS;
}

rt_status rt_sim_disk_crash(rt_sim_disk *disk, uint64_t seed)
{
    (void)rti_worker_enter();
    struct rti_sim_medium *medium = disk == NULL ? NULL : rti_sim_disk_medium(disk);
    if (medium == NULL) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("this is no disk")};
    }
    struct rti_rng rng;
    rti_rng_init(&rng, seed ^ SIM_CRASH_SALT);
    rti_sim_medium_crash(medium, &rng);
    return RT_SUCCESS;
}
