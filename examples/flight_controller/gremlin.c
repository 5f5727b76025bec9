/* SPDX-License-Identifier: Apache-2.0 */
/* The gremlin: breaks things in flight. It follows a plan or, in long flights, draws what to break
 * and when from the run's own randomness, so that one seed is one sequence of accidents. */
#include <stddef.h>
#include <string.h>

#include "flight.h"

/* A victim is killed, unless it is one of these: then its device does what the driver cannot
 * stand. */
#define BROKEN_BAROMETER "the barometer's device"
#define CONFUSED_GPS     "the receiver of the GPS"

struct accident {
    float at; /* seconds after take-off */
    const char *victim;
};

static const struct accident planned[] = {
    {2.5F, BROKEN_BAROMETER}, {3.5F, "telemetry"}, {4.0F, CONFUSED_GPS},
    {4.7F, "estimator"},      {5.5F, "control"},
};

/* Whom it draws from. The receiver is left alone, because the runtime writes a line for each
 * overflow, and a long flight has many accidents. */
static const char *const victims[] = {BROKEN_BAROMETER, "imu",     "barometer", "gps",
                                      "estimator",      "control", "mission",   "logger"};

#define QUIET_SECONDS 2.0F /* at the beginning; and none during the descent */

static void sleep_until(const struct flight *flight, float at)
{
    float left = at - flight_time(flight);
    rt_message none;
    while (left > 0) {
        (void)rt_ipc_recv(&none, (int32_t)(left * 1000) + 1); /* nobody writes: this is a pause */
        left = at - flight_time(flight);
    }
}

static void strike(const struct flight *flight, const char *victim)
{
    bool is_broken = strcmp(victim, BROKEN_BAROMETER) == 0;
    if (is_broken || strcmp(victim, CONFUSED_GPS) == 0) {
        const struct world_request request = {.kind = is_broken ? WORLD_BREAK_BAROMETER
                                                                : WORLD_CONFUSE_GPS};
        (void)rt_ipc_send(flight->world_id, &request, sizeof(request), IPC_ASYNC);
    } else {
        (void)rt_actor_kill(rt_whereis(victim)); /* it may be dead already */
    }
}

void gremlin(void *arg)
{
    const struct flight *flight = arg;
    if (flight->has_random_faults) {
        size_t count = sizeof(victims) / sizeof(victims[0]);
        float at = QUIET_SECONDS;
        while (at < flight->seconds) {
            sleep_until(flight, at);
            strike(flight, victims[rt_random() % count]);
            at += 1.0F + (float)(rt_random() % 4000) / 1000;
        }
    } else {
        for (size_t i = 0; i < sizeof(planned) / sizeof(planned[0]); i++) {
            sleep_until(flight, planned[i].at);
            strike(flight, planned[i].victim);
        }
    }
    rt_exit();
}
