/* SPDX-License-Identifier: Apache-2.0 */
/* Step 5: a bus, where one speaks and many listen.
 *
 * Tested: step5 */
#include <stdio.h>
#include <stdlib.h>

#include <orrery/rt.h>

#define HOURS 4

static bus_id weather;

static void must(rt_status status)
{
    if (RT_FAILED(status)) {
        fprintf(stderr, "%s\n", status.msg != NULL ? status.msg : rt_status_text(status.code));
        exit(EXIT_FAILURE);
    }
}

/* Reads until the last hour. `arg` is its name. */
static void reader(void *arg)
{
    int hour = 0;
    must(rt_bus_subscribe(weather)); /* from now on; what was published before stays unseen */
    while (hour < HOURS) {
        size_t len;
        must(rt_bus_read_wait(weather, &hour, sizeof(hour), &len, -1));
        printf("%s reads hour %d\n", (const char *)arg, hour);
    }
    rt_exit();
}

static void station(void *arg)
{
    (void)arg;
    if (rt_spawn(reader, "the early reader") == ACTOR_ID_INVALID) {
        exit(EXIT_FAILURE);
    }
    for (int hour = 1; hour <= HOURS; hour++) {
        if (hour == 3 && rt_spawn(reader, "the late reader") == ACTOR_ID_INVALID) {
            exit(EXIT_FAILURE);
        }
        rt_yield(); /* the readers have a turn: to subscribe, to read */
        must(rt_bus_publish(weather, &hour, sizeof(hour)));
    }
    rt_exit();
}

int main(void)
{
    const rt_bus_config config = {
        .max_subscribers = 2, .max_entries = 8, .max_entry_size = sizeof(int)};
    must(rt_init());
    must(rt_bus_create(&config, &weather));
    if (rt_spawn(station, NULL) == ACTOR_ID_INVALID) {
        return EXIT_FAILURE;
    }
    rt_run();
    rt_cleanup();
    return EXIT_SUCCESS;
}
