/* SPDX-License-Identifier: Apache-2.0 */
/* The sensors: three actors that ask the hardware at their own pace and publish what it says.
 *
 * None of them handles an error. A driver whose device does not answer returns, which is a crash;
 * the supervisor starts it afresh, and that is the whole of its error handling. */
#include "flight.h"

/* Unwraps what a GPS receiver says, one layer inside the other. Whoever wrote this thought of two
 * layers, not of a million; a million do not fit on its stack. Returns how many there were. */
static uint32_t unwrap(uint32_t wrappings)
{
    volatile uint32_t layer[16] = {wrappings, 1}; /* what this layer holds: one layer, itself */
    if (layer[0] == 0) {
        return 0;
    }
    uint32_t inside = unwrap(layer[0] - 1);
    return inside + layer[1];
}

/* Measures and publishes at every tick, until something fails. */
static void sensor_run(const struct flight *flight, enum sensor sensor, uint32_t period_us)
{
    timer_id timer;
    if (RT_FAILED(rt_timer_every(period_us, &timer))) {
        return;
    }
    const struct world_request question = {.kind = WORLD_MEASURE, .sensor = sensor};
    for (;;) {
        rt_message tick;
        struct sample sample;
        if (RT_FAILED(rt_ipc_recv(&tick, -1)) ||
            !world_ask(flight, &question, &sample, sizeof(sample)) ||
            unwrap(sample.wrappings) != sample.wrappings ||
            RT_FAILED(rt_bus_publish(flight->sensors_bus, &sample, sizeof(sample)))) {
            return;
        }
    }
}

void imu(void *arg)
{
    sensor_run(arg, SENSOR_IMU, 1000);
}

void barometer(void *arg)
{
    sensor_run(arg, SENSOR_BAROMETER, 20000);
}

void gps(void *arg)
{
    sensor_run(arg, SENSOR_GPS, 100000);
}
