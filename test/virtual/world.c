/* SPDX-License-Identifier: Apache-2.0 */
#include "virtual/world.h"

#include <orrery/rt/runtime.h>

#include "support/test.h"

#define START_NS (UINT64_C(1000) * RTI_NS_PER_S)

static struct world_report play(uint64_t seed, void (*program)(uint64_t seed), bool is_prompt)
{
    struct rti_virtual_config config = {.seed = seed,
                                        .start_ns = START_NS,
                                        .is_prompt = is_prompt,
                                        .on_quiet = witness_quiet,
                                        .on_probe = witness_probe};
    struct rti_virtual_report report;
    struct world_report result;
    witness_begin();
    rti_port_repeat_set("ORRERY_SEED", seed);
    rti_virtual_open(&config);
    program(seed);
    witness_end(&result.counts);
    rt_cleanup();
    rti_virtual_close(&report);
    rti_port_repeat_clear();
    result.points = report.points;
    result.digest = report.digest;
    result.time_ns = report.time_ns;
    return result;
}

struct world_report world_play(uint64_t seed, void (*program)(uint64_t seed))
{
    return play(seed, program, false);
}

struct world_report world_play_prompt(uint64_t seed, void (*program)(uint64_t seed))
{
    return play(seed, program, true);
}

static void play_all(void (*program)(uint64_t seed), bool is_prompt)
{
    uint64_t only = 0;
    if (!rti_port_environment_number("ORRERY_SEED", &only)) {
        uint64_t count = is_prompt ? WORLDS_PROMPT : WORLDS;
        for (uint64_t i = 0; i < count; i++) {
            (void)play(test_seed() * WORLDS + i, program, is_prompt);
        }
        return;
    }
    struct world_report report = play(only, program, is_prompt);
    printf("world %" PRIu64 ": points %" PRIu64 ", starts %" PRIu64 ", steals %" PRIu64
           ", spills %" PRIu64 ", retakes %" PRIu64 ", preempts %" PRIu64 ", time %" PRIu64
           " ns, digest %016" PRIx64 "\n",
           only, report.points, report.counts.starts, report.counts.steals, report.counts.spills,
           report.counts.retakes, report.counts.preempts, report.time_ns, report.digest);
}

void worlds_play(void (*program)(uint64_t seed))
{
    play_all(program, false);
}

void worlds_play_prompt(void (*program)(uint64_t seed))
{
    play_all(program, true);
}
