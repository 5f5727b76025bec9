/* SPDX-License-Identifier: Apache-2.0 */
/* The world: a quadcopter in gusty air, as an actor. It stands for the hardware, so it is no part
 * of the crew, is asked and commanded by messages only, and does not fail.
 *
 * It computes when it is spoken to: everything between the last message and this one, in steps of
 * one millisecond. Angles stay small, so sine and cosine are left out. */
#include <string.h>

#include "flight.h"

#define STEP_NS     RT_NS_PER_MS
#define STEP_S      0.001F
#define THRUST_MAX  21.8F /* of all motors, newtons; the vehicle weighs one kilogram */
#define MOTOR_LAG_S 0.03F /* a motor's thrust follows its command with this time constant */
#define TURN_PER_N  7.5F  /* angular acceleration per newton of difference */
#define AIR_DRAG    0.25F /* deceleration per speed */
#define GUST_LAG_S  1.0F  /* gusts come and go in about this time */
#define GUST_PUSH   0.05F /* how hard they push, and ... */
#define GUST_TURN   0.08F /* ... how hard they turn */

struct body {
    rt_time time;
    uint64_t noise; /* the state of the random numbers; never 0 */
    float command[MOTOR_COUNT], thrust[MOTOR_COUNT];
    float roll, pitch, roll_rate, pitch_rate;
    float x, y, altitude, x_speed, y_speed, climb_rate, climb_rate_change;
    float gust_x, gust_y, gust_up, gust_roll, gust_pitch;
    bool has_broken_barometer; /* its next answer is empty */
    bool has_confused_gps;     /* its next answer is wrapped a million times */
    rt_time commanded;         /* when the motors were last told something */
    struct truth truth;
};

/* Gives a number between -1 and 1 (a xorshift: the world must be the same for the same seed). */
static float noise(struct body *body)
{
    body->noise ^= body->noise << 13;
    body->noise ^= body->noise >> 7;
    body->noise ^= body->noise << 17;
    return (float)(int32_t)(body->noise >> 32) / 2147483648.0F;
}

static float larger(float a, float b)
{
    return a > b ? a : b;
}

static float size_of(float a)
{
    return a < 0 ? -a : a;
}

static void gust_step(struct body *body, float *gust, float strength)
{
    *gust += strength * noise(body) - *gust * STEP_S / GUST_LAG_S;
}

/* On the ground nothing moves or tilts, and what falls is stopped. */
static void ground_meet(struct body *body)
{
    if (body->climb_rate < -0.05F) {
        body->truth.touchdown_speed = -body->climb_rate;
    }
    body->altitude = 0;
    body->climb_rate = larger(body->climb_rate, 0);
    body->climb_rate_change = larger(body->climb_rate_change, 0);
    body->x_speed = body->y_speed = 0;
    body->roll = body->pitch = body->roll_rate = body->pitch_rate = 0;
}

/* Motors: 0 front right, 1 front left, 2 rear left, 3 rear right. Roll is positive to the right,
 * pitch is positive nose up, x points ahead and y to the right. */
static void body_step(struct body *body)
{
    float *thrust = body->thrust;
    for (int i = 0; i < MOTOR_COUNT; i++) {
        float wanted = body->command[i] * THRUST_MAX / MOTOR_COUNT;
        thrust[i] += (wanted - thrust[i]) * STEP_S / MOTOR_LAG_S;
    }
    gust_step(body, &body->gust_x, GUST_PUSH);
    gust_step(body, &body->gust_y, GUST_PUSH);
    gust_step(body, &body->gust_up, GUST_PUSH);
    gust_step(body, &body->gust_roll, GUST_TURN);
    gust_step(body, &body->gust_pitch, GUST_TURN);

    float left = thrust[1] + thrust[2], right = thrust[0] + thrust[3];
    float front = thrust[0] + thrust[1], rear = thrust[2] + thrust[3];
    body->roll_rate += (TURN_PER_N * (left - right) + body->gust_roll) * STEP_S;
    body->pitch_rate += (TURN_PER_N * (front - rear) + body->gust_pitch) * STEP_S;
    body->roll += body->roll_rate * STEP_S;
    body->pitch += body->pitch_rate * STEP_S;

    body->climb_rate_change = left + right - GRAVITY + body->gust_up - AIR_DRAG * body->climb_rate;
    body->climb_rate += body->climb_rate_change * STEP_S;
    body->x_speed += (-GRAVITY * body->pitch + body->gust_x - AIR_DRAG * body->x_speed) * STEP_S;
    body->y_speed += (GRAVITY * body->roll + body->gust_y - AIR_DRAG * body->y_speed) * STEP_S;
    body->altitude += body->climb_rate * STEP_S;
    body->x += body->x_speed * STEP_S;
    body->y += body->y_speed * STEP_S;
    if (body->altitude <= 0) {
        ground_meet(body);
    }
    float tilt = larger(size_of(body->roll), size_of(body->pitch));
    body->truth.tilt_max = larger(body->truth.tilt_max, tilt);
}

static void body_advance(struct body *body, rt_time now)
{
    for (; body->time + STEP_NS <= now; body->time += STEP_NS) {
        body_step(body);
    }
}

static struct sample body_measure(struct body *body, enum sensor sensor)
{
    struct sample s = {.sensor = sensor, .time = body->time};
    switch (sensor) {
    case SENSOR_IMU:
        s.roll = body->roll + 0.02F * noise(body);
        s.pitch = body->pitch + 0.02F * noise(body);
        s.roll_rate = body->roll_rate + 0.02F * noise(body);
        s.pitch_rate = body->pitch_rate + 0.02F * noise(body);
        s.climb_rate_change = body->climb_rate_change + 0.2F * noise(body);
        break;
    case SENSOR_BAROMETER:
        s.altitude = body->altitude + 0.15F * noise(body);
        break;
    case SENSOR_GPS:
        s.x = body->x + 0.2F * noise(body);
        s.y = body->y + 0.2F * noise(body);
        s.wrappings = body->has_confused_gps ? 1000000 : 2;
        body->has_confused_gps = false;
        break;
    }
    return s;
}

static void body_command(struct body *body, const float motor[MOTOR_COUNT])
{
    rt_time pause = body->time - body->commanded;
    if (body->altitude > 0 && pause > body->truth.motors_pause_max) {
        body->truth.motors_pause_max = pause;
    }
    body->commanded = body->time;
    body->truth.motor_commands++;
    for (int i = 0; i < MOTOR_COUNT; i++) {
        body->command[i] = motor[i];
    }
}

/* A broken barometer answers with nothing, once. */
static rt_status answer_measurement(struct body *body, const rt_message *msg, enum sensor sensor)
{
    if (sensor == SENSOR_BAROMETER && body->has_broken_barometer) {
        body->has_broken_barometer = false;
        return rt_reply(msg, NULL, 0);
    }
    if (sensor == SENSOR_GPS) {
        rt_sim_mark((uint64_t)(int64_t)(body->altitude * 1000)); /* where it flew is in the hash */
    }
    struct sample sample = body_measure(body, sensor);
    return rt_reply(msg, &sample, sizeof(sample));
}

static rt_status answer_truth(struct body *body, const rt_message *msg)
{
    body->truth.x = body->x;
    body->truth.y = body->y;
    body->truth.altitude = body->altitude;
    return rt_reply(msg, &body->truth, sizeof(body->truth));
}

void world(void *arg)
{
    (void)arg;
    struct body body = {.time = rt_clock(), .noise = rt_random() | 1};
    body.commanded = body.time;
    for (;;) {
        rt_message msg;
        if (RT_FAILED(rt_ipc_recv(&msg, -1)) || msg.len != sizeof(struct world_request)) {
            continue;
        }
        body_advance(&body, rt_clock());
        const struct world_request *request = msg.data;
        rt_status status = RT_SUCCESS;
        switch (request->kind) {
        case WORLD_MEASURE:
            status = answer_measurement(&body, &msg, request->sensor);
            break;
        case WORLD_TRUTH:
            status = answer_truth(&body, &msg);
            break;
        case WORLD_MOTORS:
            body_command(&body, request->motor);
            break;
        case WORLD_BREAK_BAROMETER:
            body.has_broken_barometer = true;
            break;
        case WORLD_CONFUSE_GPS:
            body.has_confused_gps = true;
            break;
        }
        (void)status; /* who asked may be dead by now: nobody is left to be told */
    }
}

bool world_ask(const struct flight *flight, const struct world_request *request, void *answer,
               size_t size)
{
    rt_message reply;
    rt_status status = rt_call(flight->world_id, request, sizeof(*request), &reply, -1);
    if (RT_FAILED(status) || reply.len != size) {
        return false;
    }
    memcpy(answer, reply.data, size); /* valid until the next call or receive only */
    return true;
}
