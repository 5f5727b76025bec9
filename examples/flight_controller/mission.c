/* SPDX-License-Identifier: Apache-2.0 */
/* The mission: climbs, flies around a square, comes home and lands. It says where to be ten times a
 * second; what it says follows from the flight's time alone, so a restarted mission goes on where
 * its predecessor was. When the vehicle has landed it ends, and with it the flight. */
#include "flight.h"

#define CRUISE_ALTITUDE  6.0F
#define CORNER_SECONDS   1.6F
#define SQUARE_METRES    2.5F
#define CLIMB_SECONDS    2.5F /* before that it only climbs */
#define HOME_SECONDS     1.5F /* so long before the descent it flies home */
#define ON_GROUND        0.25F
#define TICKS_UNTIL_SURE 3  /* so long near the ground, then the motors stop ... */
#define TICKS_ON_GROUND  10 /* ... and so long, then the flight is over */

static struct set_point plan(const struct flight *flight, float now)
{
    static const float corner[][2] = {{1, 0}, {1, 1}, {0, 1}, {0, 0}};
    struct set_point to = {.altitude = CRUISE_ALTITUDE};
    if (now > flight->seconds) {
        to.altitude = CRUISE_ALTITUDE - 2.0F * (now - flight->seconds);
        to.altitude = to.altitude < -0.5F ? -0.5F : to.altitude; /* pushes on until it stands */
    } else if (now > CLIMB_SECONDS && now < flight->seconds - HOME_SECONDS) {
        unsigned leg = (unsigned)((now - CLIMB_SECONDS) / CORNER_SECONDS) % 4;
        to.x = SQUARE_METRES * corner[leg][0];
        to.y = SQUARE_METRES * corner[leg][1];
    }
    return to;
}

void mission(void *arg)
{
    const struct flight *flight = arg;
    timer_id timer;
    if (RT_FAILED(rt_timer_every(100000, &timer)) ||
        RT_FAILED(rt_bus_subscribe(flight->state_bus))) {
        return;
    }
    struct estimate e = {.altitude = CRUISE_ALTITUDE};
    int ticks_on_ground = 0;
    while (ticks_on_ground < TICKS_ON_GROUND) {
        rt_message tick;
        if (RT_FAILED(rt_ipc_recv(&tick, -1))) {
            return;
        }
        float now = flight_time(flight);
        struct set_point to = plan(flight, now);
        (void)flight_read_newest(flight, &e);
        bool is_down = now > flight->seconds && e.altitude < ON_GROUND;
        ticks_on_ground = is_down ? ticks_on_ground + 1 : 0;
        to.has_landed = ticks_on_ground >= TICKS_UNTIL_SURE;
        /* The control loop has another id after each restart; its name stays. If it is dead just
         * now the send fails, and the next one, in 100 ms, reaches its successor. */
        (void)rt_ipc_send(rt_whereis("control"), &to, sizeof(to), IPC_ASYNC);
    }
    flight_event(flight, "landed");
    rt_exit();
}
