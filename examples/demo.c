/* SPDX-License-Identifier: Apache-2.0 */
/* A sensor that crashes now and then, and a supervisor that starts it again: what `make demo`
 * shows. The program runs for two seconds of the real clock and ends by itself.
 *
 * Tested: demo */
#include <stdio.h>
#include <stdlib.h>

#include <orrery/rt.h>

#define RUN_US     2000000
#define PERIOD_US  100000
#define CRASHES_AT 7 /* ticks after which a sensor returns, which is a crash */

static int ticks_total;
static int restarts;

static void must(rt_status status, const char *what)
{
    if (RT_FAILED(status)) {
        fprintf(stderr, "demo: %s: %s\n", what,
                status.msg != NULL ? status.msg : rt_status_text(status.code));
        exit(EXIT_FAILURE);
    }
}

static void sensor(void *arg)
{
    (void)arg;
    timer_id timer;
    must(rt_timer_every(PERIOD_US, &timer), "the sensor starts its timer");
    for (int tick = 1; tick <= CRASHES_AT; tick++) {
        rt_message msg;
        must(rt_ipc_recv(&msg, -1), "the sensor waits for its tick");
        ticks_total++;
        printf("  sensor: measurement %d\n", tick);
    }
    printf("  sensor: returns without rt_exit, which is a crash\n");
}

static actor_id sensor_start(void)
{
    const actor_config config = {.stack_size = 16384, .priority = RT_PRIO_HIGH, .name = "sensor"};
    actor_id id = rt_spawn_ex(sensor, NULL, &config);
    must(rt_link(id), "the supervisor links itself to the sensor");
    return id;
}

static void supervisor(void *arg)
{
    (void)arg;
    timer_id end;
    must(rt_timer_after(RUN_US, &end), "the supervisor starts its timer");
    actor_id id = sensor_start();
    for (;;) {
        rt_message msg;
        must(rt_ipc_recv(&msg, -1), "the supervisor waits");
        if (rt_timer_is_tick(&msg)) {
            must(rt_unlink(id), "the supervisor leaves the sensor");
            must(rt_actor_kill(id), "the supervisor ends the sensor");
            rt_exit();
        }
        rt_exit_msg death;
        must(rt_decode_exit(&msg, &death), "the supervisor reads an exit message");
        restarts++;
        printf("supervisor: the sensor is dead (%s), here is a new one\n",
               death.reason == RT_EXIT_CRASH ? "it crashed" : "it ended");
        id = sensor_start();
    }
}

int main(void)
{
    must(rt_init(), "rt_init");
    if (rt_spawn(supervisor, NULL) == ACTOR_ID_INVALID) {
        fprintf(stderr, "demo: no room for the first actor\n");
        return EXIT_FAILURE;
    }
    rt_run();
    rt_cleanup();
    printf("%d measurements by one sensor that crashed %d times\n", ticks_total, restarts);
    return restarts > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
