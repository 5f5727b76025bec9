/* SPDX-License-Identifier: Apache-2.0 */
/* A supervised flight controller: the flagship of the examples, and what `make demo` runs.
 *
 *     flight_controller            flies for about ten seconds of real time, with a live picture if
 *                                  standard output is a terminal, then ten minutes in the
 *                                  simulator, twice, with one seed
 *     flight_controller --hop      the real flight only, without a picture
 *     flight_controller --test     simulated flights only, with several seeds
 *     flight_controller --telemetry    one simulated flight, its telemetry as text: the same on
 *                                  every machine, a bare board included
 *     flight_controller --alone    one flight on the clock of the machine, which needs neither
 *                                  network nor files
 *
 * Eleven actors fly a quadcopter: sensors, estimator, control loop, mission, telemetry over TCP, a
 * ground station, a log, a display, a supervisor. One of them, the gremlin, breaks the others in
 * flight. flight.h draws how they hang together; it is the place to begin reading.
 *
 * The program is the same in all modes: `flight_begin` is its first actor, started by rt_run
 * on the real clock or by rt_sim_run in a world made from a seed. Default limits suffice.
 *
 * Tested: flight_controller --test
 * Tested: flight_controller --hop
 * Tested: flight_controller --telemetry
 * Tested: flight_controller --alone */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "flight.h"

#define FLIGHT_SECONDS      6.5F
#define LONG_FLIGHT_SECONDS 600.0F
#define TEST_FLIGHT_SECONDS 30.0F
#define TEST_SEEDS          12

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* A vehicle that stands on the ground, not far from where it began, and came down gently. */
static bool has_landed_well(const struct flight *flight)
{
    const struct truth *truth = &flight->supervisor.truth;
    return flight->supervisor.has_ended_well && truth->altitude < 0.1F &&
           truth->touchdown_speed < 2.5F && truth->tilt_max < 1.0F && truth->x > -3 &&
           truth->x < 3 && truth->y > -3 && truth->y < 3;
}

/* Whether the parts did their work, whatever the machine's load did to the flight. */
static bool has_worked(const struct flight *flight)
{
    const struct supervisor *s = &flight->supervisor;
    const struct ground *g = &flight->ground;
    return s->has_ended_well && s->deaths > 0 && s->restarts == s->deaths && g->frames > 0 &&
           g->frames_damaged == 0 && g->connections > 1 && flight->logger.lines > 0;
}

static void print_summary(const struct flight *flight)
{
    const struct supervisor *s = &flight->supervisor;
    const struct truth *truth = &s->truth;
    printf("\nThe flight took %.1f s and %s.\n", (double)s->duration / 1e9,
           has_landed_well(flight) ? "ended with a soft landing" : "did not end well");
    printf("  Sensors    %" PRIu64 " samples became %" PRIu64 " motor commands; the longest pause "
           "between two was %.1f ms.\n",
           flight->estimator.estimate.samples, truth->motor_commands,
           (double)truth->motors_pause_max / 1e6);
    printf("  Accidents  %u actors died in flight, %u were restarted:\n", (unsigned)s->deaths,
           (unsigned)s->restarts);
    for (unsigned i = 0; i < s->deaths && i < DEATHS_KEPT; i++) {
        printf("             %4.1f s  %-10s %s\n", (double)s->death[i].time / 1e9, s->death[i].name,
               flight_reason_text(s->death[i].reason));
    }
    if (!flight->has_network) {
        return;
    }
    printf("  Telemetry  %u frames over TCP, %u damaged, %u connections.\n",
           (unsigned)flight->ground.frames, (unsigned)flight->ground.frames_damaged,
           (unsigned)flight->ground.connections);
    printf("  Log        %u lines in %s\n", (unsigned)flight->logger.lines, flight->log_path);
}

/* Flies in real time. */
static bool fly(struct flight *flight)
{
    rt_status status = rt_init();
    if (RT_FAILED(status) || rt_spawn(flight_begin, flight) == ACTOR_ID_INVALID) {
        fprintf(stderr, "flight_controller: %s\n", rt_status_text(status.code));
        return false;
    }
    rt_run();
    rt_cleanup();
    print_summary(flight);
    return flight->supervisor.has_ended_well;
}

static bool fly_with_all(bool has_screen, const char *log_path)
{
    struct flight flight = {.seconds = FLIGHT_SECONDS,
                            .has_network = true,
                            .has_screen = has_screen,
                            .log_path = log_path};
    return fly(&flight) && has_worked(&flight);
}

/* Flies in the simulator, without a ground station. Seed 0 follows the plan of accidents, with the
 * others the gremlin draws. */
static bool simulate(uint64_t seed, float seconds, struct flight *flight, rt_sim_report *report)
{
    *flight = (struct flight){
        .seconds = seconds, .has_random_faults = seed != 0, .log_path = "flight.log"};
    const rt_sim_config config = {.seed = seed, .report = report};
    rt_status status = rt_sim_run(&config, flight_begin, flight);
    if (RT_FAILED(status)) {
        fprintf(stderr, "flight_controller: seed %" PRIu64 ": %s\n", seed,
                status.msg != NULL ? status.msg : rt_status_text(status.code));
    }
    return !RT_FAILED(status) && has_landed_well(flight);
}

/* The same ten minutes, twice. */
static bool simulate_twice(uint64_t seed)
{
    uint64_t hash[2];
    bool is_well = true;
    printf("\nThe same program in the simulator, ten minutes of flight with seed %" PRIu64
           ", twice:\n",
           seed);
    for (int i = 0; i < 2; i++) {
        struct flight flight;
        rt_sim_report report = {.seed = seed};
        double start = seconds_now();
        is_well = simulate(seed, LONG_FLIGHT_SECONDS, &flight, &report) && is_well;
        printf("  %.1f s of flight in %.0f ms, %" PRIu64
               " turns of actors, %u accidents, %s; trace "
               "hash %016" PRIx64 "\n",
               (double)report.time / 1e9, (seconds_now() - start) * 1000, report.steps,
               (unsigned)flight.supervisor.deaths,
               has_landed_well(&flight) ? "landed" : "not landed", report.trace_hash);
        hash[i] = report.trace_hash;
    }
    printf("  %s\n", hash[0] == hash[1]
                         ? "Equal hashes: both runs made the same decisions, to the last one."
                         : "The hashes differ, which must not be.");
    return is_well && hash[0] == hash[1];
}

/* A short flight with the plan of accidents, in the simulator or alone on the machine's clock. */
static bool fly_and_print(bool is_simulated)
{
    struct flight flight = {.seconds = FLIGHT_SECONDS, .prints_telemetry = true};
    if (!is_simulated) {
        return fly(&flight) && flight.supervisor.deaths == flight.supervisor.restarts;
    }
    rt_sim_report report = {.seed = 0};
    const rt_sim_config config = {.report = &report};
    bool has_run = !RT_FAILED(rt_sim_run(&config, flight_begin, &flight));
    print_summary(&flight);
    printf("  Trace      %016" PRIx64 "\n", report.trace_hash);
    return has_run && has_landed_well(&flight);
}

static bool test(void)
{
    bool is_well = true;
    for (uint64_t seed = 0; seed < TEST_SEEDS; seed++) {
        struct flight flight;
        rt_sim_report first = {.seed = seed}, second = {.seed = seed};
        bool has_landed = simulate(seed, TEST_FLIGHT_SECONDS, &flight, &first);
        const struct supervisor *s = &flight.supervisor;
        printf("seed %2" PRIu64 ": %2u accidents, %s, touchdown %.2f m/s, tilt %.2f, at %+.2f %+.2f"
               " m, hash %016" PRIx64 "\n",
               first.seed, (unsigned)s->deaths, has_landed ? "landed" : "NOT LANDED",
               (double)s->truth.touchdown_speed, (double)s->truth.tilt_max, (double)s->truth.x,
               (double)s->truth.y, first.trace_hash);
        is_well = is_well && has_landed && s->deaths > 0 && s->deaths == s->restarts;
        if (seed == 1) {
            (void)simulate(seed, TEST_FLIGHT_SECONDS, &flight, &second);
            is_well = is_well && first.trace_hash == second.trace_hash;
        }
    }
    return is_well;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "--test") == 0) {
        return test() ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    if (strcmp(mode, "--telemetry") == 0 || strcmp(mode, "--alone") == 0) {
        return fly_and_print(strcmp(mode, "--telemetry") == 0) ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    if (strcmp(mode, "") != 0 && strcmp(mode, "--hop") != 0) {
        fprintf(stderr, "usage: flight_controller [--hop | --test | --telemetry | --alone]\n");
        return EXIT_FAILURE;
    }
    const char *folder = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
    char log_path[256];
    snprintf(log_path, sizeof(log_path), "%s/orrery_flight_%ld.log", folder, (long)getpid());
    if (strcmp(mode, "--hop") == 0) {
        bool has_worked_well = fly_with_all(false, log_path);
        unlink(log_path);
        return has_worked_well ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    bool is_well = fly_with_all(true, log_path);
    return simulate_twice(42) && is_well ? EXIT_SUCCESS : EXIT_FAILURE;
}
