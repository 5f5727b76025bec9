/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "virtual/world.h"

#include <orrery/rt/runtime.h>

#include <sys/wait.h>
#include <unistd.h>

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

/* What a world comes to in a process of its own. */
static uint64_t digest_alone(uint64_t seed, void (*program)(uint64_t seed),
                             uint64_t (*digest)(const struct world_report *report))
{
    int fds[2];
    uint64_t value = 0;
    CHECK(pipe(fds) == 0);
    pid_t child = fork();
    if (child == 0) {
        struct world_report report = world_play(seed, program);
        value = digest(&report);
        CHECK(write(fds[1], &value, sizeof(value)) == (ssize_t)sizeof(value));
        _exit(0);
    }
    close(fds[1]); /* a child that ends early is the end of the pipe */
    CHECK(read(fds[0], &value, sizeof(value)) == (ssize_t)sizeof(value));
    CHECK(waitpid(child, NULL, 0) == child);
    close(fds[0]);
    return value;
}

void world_check_repeats(void (*program)(uint64_t seed),
                         uint64_t (*digest)(const struct world_report *report))
{
    uint64_t seed = test_seed() * WORLDS;
    uint64_t first = digest_alone(seed, program, digest);
    CHECK(first == digest_alone(seed, program, digest));
    CHECK(first != digest_alone(seed + 1, program, digest));
}
