/* SPDX-License-Identifier: Apache-2.0 */
/* One sensor, two readers: what a bus does for a reader that is too slow.
 *
 * The sensor publishes a hundred measurements on a bus that keeps eight. The fast reader sees every
 * one. The slow reader looks every 50 ms and finds the newest eight: the others were replaced, and
 * no read says so. That is what a bus is for, because a pilot wants to know where he is and not
 * where he was. Whoever must know what he missed has two ways, and this program shows that they
 * agree: a sequence number in each measurement, and rt_bus_dropped.
 *
 * The program runs in the simulator, so that it prints the same on every machine and its second of
 * time passes at once. With rt_init and rt_run instead of rt_sim_run it is the real thing.
 *
 * Tested: sensor_bus */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <orrery/rt.h>

#define MEASUREMENTS   100
#define PERIOD_US      2000 /* the sensor measures every 2 ms */
#define ENTRIES_KEPT   8
#define SLOW_PERIOD_MS 50

struct measurement {
    uint32_t sequence; /* 1, 2, 3 ...: a gap is what the reader missed */
    float pressure_hpa;
};

/* How a reader works, and what it found. main owns it; the reader writes the lower half. */
struct reader {
    const char *name;
    bus_id bus;
    int32_t pause_ms; /* how long it is busy with something else after emptying the bus */
    uint32_t read;
    uint32_t gaps;    /* measurements it missed, found by sequence numbers */
    uint64_t dropped; /* the same, told by the bus */
};

static void must(rt_status status, const char *what)
{
    if (RT_FAILED(status)) {
        fprintf(stderr, "sensor_bus: %s: %s\n", what,
                status.msg != NULL ? status.msg : rt_status_text(status.code));
        exit(EXIT_FAILURE);
    }
}

/* Publishes one measurement per tick. It neither knows nor cares who reads. */
static void sensor(void *arg)
{
    const bus_id *bus = arg;
    timer_id timer;
    must(rt_timer_every(PERIOD_US, &timer), "the sensor starts its timer");
    for (uint32_t sequence = 1; sequence <= MEASUREMENTS; sequence++) {
        rt_message tick;
        must(rt_ipc_recv(&tick, -1), "the sensor waits for its tick");
        struct measurement m = {.sequence = sequence,
                                .pressure_hpa = 1013.25F - 0.12F * (float)sequence};
        must(rt_bus_publish(*bus, &m, sizeof(m)), "the sensor publishes");
    }
    rt_exit();
}

/* Reads until the last measurement, with a pause after each time the bus was empty. */
static void reader(void *arg)
{
    struct reader *self = arg;
    uint32_t last = 0;
    must(rt_bus_subscribe(self->bus), "a reader subscribes");
    while (last < MEASUREMENTS) {
        struct measurement m;
        size_t len;
        rt_status status = rt_bus_read_wait(self->bus, &m, sizeof(m), &len, -1);
        for (; !RT_FAILED(status); status = rt_bus_read(self->bus, &m, sizeof(m), &len)) {
            self->read++;
            self->gaps += m.sequence - last - 1;
            last = m.sequence;
        }
        if (status.code != RT_ERR_WOULDBLOCK) { /* that one only says: nothing more to read */
            must(status, "a reader reads");
        }
        rt_message none; /* nobody writes to a reader, so a receive with a limit is a pause */
        (void)rt_ipc_recv(&none, self->pause_ms);
    }
    must(rt_bus_dropped(self->bus, &self->dropped), "a reader asks what it missed");
    rt_exit();
}

/* The first actor: makes the bus, starts the others and is done. */
static void start(void *arg)
{
    struct reader *readers = arg; /* two of them */
    const rt_bus_config config = {.max_subscribers = 2,
                                  .max_entries = ENTRIES_KEPT,
                                  .max_entry_size = sizeof(struct measurement)};
    static bus_id bus;
    must(rt_bus_create(&config, &bus), "the bus");
    readers[0].bus = bus;
    readers[1].bus = bus;

    const actor_config normal = {.stack_size = 16384, .priority = RT_PRIO_NORMAL};
    const actor_config high = {.stack_size = 16384, .priority = RT_PRIO_HIGH, .name = "sensor"};
    if (rt_spawn_ex(reader, &readers[0], &normal) == ACTOR_ID_INVALID ||
        rt_spawn_ex(reader, &readers[1], &normal) == ACTOR_ID_INVALID ||
        rt_spawn_ex(sensor, &bus, &high) == ACTOR_ID_INVALID) {
        fprintf(stderr, "sensor_bus: no room for an actor\n");
        exit(EXIT_FAILURE);
    }
    rt_exit();
}

int main(void)
{
    struct reader readers[2] = {{.name = "fast", .pause_ms = 0},
                                {.name = "slow", .pause_ms = SLOW_PERIOD_MS}};
    must(rt_sim_run(NULL, start, readers), "the run");

    bool agree = true;
    printf("the sensor published %d measurements on a bus that keeps %d\n", MEASUREMENTS,
           ENTRIES_KEPT);
    for (int i = 0; i < 2; i++) {
        const struct reader *r = &readers[i];
        printf("the %s reader read %3" PRIu32 ", missed %2" PRIu32 " by its sequence numbers and "
               "%2" PRIu64 " by rt_bus_dropped\n",
               r->name, r->read, r->gaps, r->dropped);
        agree = agree && r->gaps == r->dropped && r->read + r->gaps == MEASUREMENTS;
    }
    return agree && readers[0].gaps == 0 && readers[1].gaps > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
