/* SPDX-License-Identifier: Apache-2.0 */
/* The control loop: from where the vehicle is and where it should be to four motor commands, once
 * per estimate, a thousand times a second.
 *
 * It waits for two things at once: estimates on a bus and set points by mail. If estimates stop
 * coming the motors keep what they were told last, and the loop waits for the estimator's
 * successor. The last set point lies in the section of the control loop, so that its own successor
 * need not wait for the next one. */
#include <string.h>

#include "flight.h"

#define SPEED_MAX     2.0F   /* sideways, m/s */
#define CLIMB_MAX     2.5F   /* m/s */
#define SINK_MAX      1.8F   /* m/s */
#define TILT_PUSH_MAX 3.0F   /* acceleration that is asked of tilting, m/s2 */
#define THRUST_MAX    21.8F  /* of all motors together, in newtons and in m/s2: it weighs 1 kg */
#define TURN_FULL     163.0F /* angular acceleration with all motors against each other */

static float clamp(float value, float low, float high)
{
    return value < low ? low : value > high ? high : value;
}

/* Which acceleration brings a coordinate to where it should be, without haste. */
static float steer(float error, float speed)
{
    float wanted = clamp(0.9F * error, -SPEED_MAX, SPEED_MAX);
    return clamp(2.0F * (wanted - speed), -TILT_PUSH_MAX, TILT_PUSH_MAX);
}

/* How much of the motors' difference turns an angle to where it should be. */
static float turn(float error, float rate)
{
    return clamp((60.0F * error - 12.0F * rate) / TURN_FULL, -0.2F, 0.2F);
}

static void motors_compute(const struct estimate *e, const struct set_point *to,
                           float motor[MOTOR_COUNT])
{
    float climb = clamp(1.2F * (to->altitude - e->altitude), -SINK_MAX, CLIMB_MAX);
    float thrust = (GRAVITY + 3.5F * (climb - e->climb_rate)) / THRUST_MAX;
    thrust = to->has_landed ? 0 : clamp(thrust, 0.05F, 0.85F);

    float pitch_wanted = -steer(to->x - e->x, e->x_speed) / GRAVITY;
    float roll_wanted = steer(to->y - e->y, e->y_speed) / GRAVITY;
    float pitch = turn(pitch_wanted - e->pitch, e->pitch_rate);
    float roll = turn(roll_wanted - e->roll, e->roll_rate);
    const float mixed[MOTOR_COUNT] = {thrust - roll + pitch, thrust + roll + pitch,
                                      thrust + roll - pitch, thrust - roll - pitch};
    for (int i = 0; i < MOTOR_COUNT; i++) {
        motor[i] = to->has_landed ? 0 : clamp(mixed[i], 0, 1);
    }
}

/* Takes the mail that has come; the last set point counts. */
static void mail_take(struct control *self)
{
    rt_message msg;
    while (!RT_FAILED(rt_ipc_recv(&msg, 0))) {
        if (msg.len == sizeof(self->set_point)) {
            memcpy(&self->set_point, msg.data, msg.len);
            self->has_set_point = true;
        }
    }
}

void control(void *arg)
{
    struct flight *flight = arg;
    struct control *self = &flight->control;
    if (RT_FAILED(rt_bus_subscribe(flight->state_bus))) {
        return;
    }
    for (;;) {
        /* Mail ends the wait for an estimate, but only mail that comes during it. So: first the
         * mail, then the wait. */
        mail_take(self);
        struct estimate e;
        size_t len;
        rt_status status = rt_bus_read_wait(flight->state_bus, &e, sizeof(e), &len, -1);
        if (status.code == RT_ERR_WOULDBLOCK) {
            continue; /* mail came */
        }
        if (RT_FAILED(status)) {
            return;
        }
        if (!self->has_set_point) {
            continue; /* the mission has not spoken yet: the motors stay as they are, off */
        }
        struct world_request command = {.kind = WORLD_MOTORS};
        motors_compute(&e, &self->set_point, command.motor);
        if (RT_FAILED(rt_ipc_send(flight->world_id, &command, sizeof(command), IPC_ASYNC))) {
            return;
        }
    }
}
