/* SPDX-License-Identifier: Apache-2.0 */
/* The estimator: makes one picture of three sensors.
 *
 * The IMU is fast and drifts, the others are slow and do not: each IMU sample carries the estimate
 * on, each barometer and GPS sample pulls it back a little. The last estimate lies in the section
 * of the estimator, which outlives it: one that was restarted goes on where its predecessor died,
 * instead of believing that it stands on the ground. */
#include "flight.h"

/* How much a measurement is believed against what was known. */
#define TRUST_ATTITUDE      0.01F
#define TRUST_ALTITUDE      0.1F
#define TRUST_CLIMB_RATE    0.25F
#define TRUST_POSITION      0.4F
#define TRUST_SPEED         0.8F
#define SECONDS_BETWEEN_MAX 0.05F /* after a longer gap the rates say little about the angles */

static void take_imu(struct estimate *e, const struct sample *s)
{
    float dt = (float)(s->time - e->time) / (float)RT_NS_PER_S;
    if (dt > SECONDS_BETWEEN_MAX) {
        dt = SECONDS_BETWEEN_MAX;
    }
    e->time = s->time;
    e->roll_rate = s->roll_rate;
    e->pitch_rate = s->pitch_rate;
    e->roll += s->roll_rate * dt;
    e->pitch += s->pitch_rate * dt;
    e->roll += TRUST_ATTITUDE * (s->roll - e->roll);
    e->pitch += TRUST_ATTITUDE * (s->pitch - e->pitch);

    e->climb_rate += s->climb_rate_change * dt;
    e->x_speed -= GRAVITY * e->pitch * dt;
    e->y_speed += GRAVITY * e->roll * dt;
    e->altitude += e->climb_rate * dt;
    e->x += e->x_speed * dt;
    e->y += e->y_speed * dt;
}

static void take_barometer(struct estimate *e, const struct sample *s)
{
    float error = s->altitude - e->altitude;
    e->altitude += TRUST_ALTITUDE * error;
    e->climb_rate += TRUST_CLIMB_RATE * error;
}

static void take_gps(struct estimate *e, const struct sample *s)
{
    float x_error = s->x - e->x, y_error = s->y - e->y;
    e->x += TRUST_POSITION * x_error;
    e->y += TRUST_POSITION * y_error;
    e->x_speed += TRUST_SPEED * x_error;
    e->y_speed += TRUST_SPEED * y_error;
}

void estimator(void *arg)
{
    struct flight *flight = arg;
    struct estimate *e = &flight->estimator.estimate;
    if (e->time == 0) {
        e->time = rt_clock(); /* the first of its kind: on the ground, level and still */
    }
    if (RT_FAILED(rt_bus_subscribe(flight->sensors_bus))) {
        return;
    }
    for (;;) {
        struct sample s;
        size_t len;
        if (RT_FAILED(rt_bus_read_wait(flight->sensors_bus, &s, sizeof(s), &len, -1))) {
            return; /* nobody sends mail to an estimator, so nothing but data ends the wait */
        }
        e->samples++;
        switch (s.sensor) {
        case SENSOR_IMU:
            take_imu(e, &s);
            break;
        case SENSOR_BAROMETER:
            take_barometer(e, &s);
            break;
        case SENSOR_GPS:
            take_gps(e, &s);
            break;
        }
        if (s.sensor == SENSOR_IMU && RT_FAILED(rt_bus_publish(flight->state_bus, e, sizeof(*e)))) {
            return;
        }
    }
}
