/* SPDX-License-Identifier: Apache-2.0 */
/* The gremlin: breaks things in flight. It follows a plan or, in long flights, draws what to break
 * and when from the run's own randomness, so that one seed is one sequence of accidents. */
#include <stddef.h>

#include "flight.h"

struct accident {
    float at;           /* seconds after take-off */
    const char *victim; /* who is killed; NULL: the barometer's device fails */
};

static const struct accident planned[] = {
    {2.5F, NULL},
    {3.5F, "telemetry"},
    {4.5F, "estimator"},
    {5.5F, "control"},
};

static const char *const victims[] = {NULL,        "imu",     "barometer", "gps",
                                      "estimator", "control", "mission",   "logger"};

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

static void strike(const struct flight *flight, const struct accident *accident)
{
    if (accident->victim == NULL) {
        const struct world_request broken = {.kind = WORLD_BREAK_BAROMETER};
        (void)rt_ipc_send(flight->world_id, &broken, sizeof(broken), IPC_ASYNC);
    } else {
        (void)rt_actor_kill(rt_whereis(accident->victim)); /* it may be dead already */
    }
}

void gremlin(void *arg)
{
    const struct flight *flight = arg;
    if (flight->has_random_faults) {
        size_t count = sizeof(victims) / sizeof(victims[0]);
        float at = QUIET_SECONDS;
        while (at < flight->seconds) {
            struct accident accident = {at, victims[rt_random() % count]};
            sleep_until(flight, at);
            strike(flight, &accident);
            at += 1.0F + (float)(rt_random() % 4000) / 1000;
        }
    } else {
        for (size_t i = 0; i < sizeof(planned) / sizeof(planned[0]); i++) {
            sleep_until(flight, planned[i].at);
            strike(flight, &planned[i]);
        }
    }
    rt_exit();
}
