/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime on the parallel engine; the manual is <orrery/rt/runtime.h>.
 *
 * What the crew needs is mapped in one piece when the runtime starts: how many workers there are is
 * known only then, and a program on the fixed engine pays nothing for it. */
#define RTI_MODULE "parallel"
#include <orrery/rt/runtime.h>

#include "observe/dump.h"
#include "port/linux/cpus.h"
#include "runtime/runtime.h"
#include "sched/crew.h"
#include "sched/visit.h"

/* Threads beyond the workers that a program gets if it does not say: for blocking calls. */
#define THREADS_SPARE 64

struct parallel_memory {
    struct rti_crew crew;
    struct rti_crew_config config;
    struct rti_visits visits;
    size_t size; /* of the whole mapping */
};

static struct parallel_memory *parallel;

static size_t aligned(size_t size)
{
    return (size + RTI_CACHE_LINE - 1) / RTI_CACHE_LINE * RTI_CACHE_LINE;
}

/* Cuts the next piece off the mapping. */
static void *cut(char **at, size_t size)
{
    void *piece = *at;
    *at += aligned(size);
    return piece;
}

static rt_status parallel_open(struct rt_runtime *runtime, const rt_config *config)
{
    struct rti_port *port = runtime->sched.port;
    uint32_t workers = config->workers;
    uint32_t threads = config->threads_max != 0 ? config->threads_max : workers + THREADS_SPARE;
    size_t size = aligned(sizeof(*parallel)) + aligned(workers * sizeof(struct rti_station)) +
                  aligned(threads * sizeof(struct rti_member)) +
                  aligned(workers * sizeof(struct rti_timer_source)) +
                  aligned(workers * sizeof(struct rti_warden_view)) +
                  aligned(workers * sizeof(struct rti_clockwork));
    char *at = port->ops->memory_map(port, size);
    if (at == NULL) {
        return (rt_status){RT_ERR_NOMEM, "no memory for the workers"};
    }
    parallel = cut(&at, sizeof(*parallel));
    parallel->size = size;
    struct rti_station *stations = cut(&at, workers * sizeof(struct rti_station));
    struct rti_member *members = cut(&at, threads * sizeof(struct rti_member));
    struct rti_timer_source *timers = cut(&at, workers * sizeof(struct rti_timer_source));
    struct rti_warden_view *views = cut(&at, workers * sizeof(struct rti_warden_view));
    struct rti_clockwork *clockworks = cut(&at, workers * sizeof(struct rti_clockwork));
    for (uint32_t i = 0; i < workers; i++) {
        rti_clockwork_init(&clockworks[i], port->ops->clock_ns(port));
        rti_clockwork_share(&clockworks[i], &runtime->sched);
        timers[i] = rti_clockwork_source(&clockworks[i]);
    }
    runtime->sched.timers = timers[0];
    runtime->sched.on_overrun = rti_dump_overrun;
    rt_time overrun_after = config->overrun_after;
    if (overrun_after == 0) {
        overrun_after = RT_OVERRUN_AFTER_MS * RT_NS_PER_MS;
    }
    uint32_t min = config->workers_min < workers ? config->workers_min : workers;
    parallel->config = (struct rti_crew_config){.workers = workers,
                                                .workers_min = min,
                                                .members_max = threads,
                                                .seed = port->ops->random(port),
                                                .stations = stations,
                                                .members = members,
                                                .timers = timers,
                                                .views = views,
                                                .overrun_ns = overrun_after};
    rti_crew_init(&parallel->crew, &runtime->sched, &parallel->config);
    rti_visits_init(&parallel->visits, &runtime->sched);
    return RT_SUCCESS;
}

static void parallel_close(struct rt_runtime *runtime)
{
    struct rti_port *port = runtime->sched.port;
    port->ops->memory_unmap(port, parallel, parallel->size);
    parallel = NULL;
}

static const struct rti_runtime_engine parallel_engine = {parallel_open, parallel_close};

rt_status rt_init_ex(const rt_config *config)
{
    if (config == NULL) {
        return (rt_status){RT_ERR_INVALID, "the configuration must be given"};
    }
    if (RT_MAX_WORKERS == 1) {
        /* What a station has for its holder is left out. */
        return (rt_status){RT_ERR_UNSUPPORTED, "this library is built for one worker"};
    }
    rt_config complete = *config;
    if (complete.workers == 0) {
        uint32_t cpus = rti_linux_cpus();
        complete.workers = cpus < RT_MAX_WORKERS ? cpus : RT_MAX_WORKERS;
    }
    if (complete.workers > RT_MAX_WORKERS) {
        return (rt_status){RT_ERR_INVALID, "more workers than RT_MAX_WORKERS"};
    }
    if (complete.threads_max != 0 && complete.threads_max <= complete.workers) {
        return (rt_status){RT_ERR_INVALID, "threads_max must be more than the workers"};
    }
    if (complete.threads_max > RTI_CREW_MEMBERS_MAX) {
        return (rt_status){RT_ERR_INVALID, "threads_max is above 65535"};
    }
    return rti_runtime_init(&parallel_engine, &complete);
}
