/* SPDX-License-Identifier: Apache-2.0 */
/* The logger: writes events as they happen and one line of state per second into a file, at the
 * lowest priority. While the disk is busy this actor waits and the others fly. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <stdio.h>

#include "flight.h"

#define WRITE_MS 1000

/* Writes a line. Returns false if it cannot be written whole. */
static bool line_write(struct logger *self, rt_time time, const char *text)
{
    char line[128];
    int length = snprintf(line, sizeof(line), "%9.3f  %s\n", (double)time / 1e9, text);
    size_t written;
    rt_status status = rt_file_write(self->file, line, (size_t)length, &written, WRITE_MS);
    if (RT_FAILED(status) || written != (size_t)length) {
        return false;
    }
    self->lines++;
    return true;
}

static bool state_write(struct flight *flight, struct estimate *e)
{
    char text[88];
    (void)flight_read_newest(flight, e);
    snprintf(text, sizeof(text), "altitude %5.2f m, position %+5.2f %+5.2f m, %llu samples",
             (double)e->altitude, (double)e->x, (double)e->y, (unsigned long long)e->samples);
    return line_write(&flight->logger, rt_clock() - flight->start, text);
}

void logger(void *arg)
{
    struct flight *flight = arg;
    struct logger *self = &flight->logger;
    timer_id second;
    if (RT_FAILED(rt_bus_subscribe(flight->events_bus)) ||
        RT_FAILED(rt_bus_subscribe(flight->state_bus)) ||
        RT_FAILED(rt_timer_every(1000000, &second)) ||
        RT_FAILED(
            rt_file_open(flight->log_path, O_WRONLY | O_CREAT | O_APPEND, 0644, &self->file))) {
        return;
    }
    struct estimate e = {.altitude = 0};
    for (;;) {
        rt_message tick; /* first the mail, then the bus: see control.c */
        if (!RT_FAILED(rt_ipc_recv(&tick, 0)) && !state_write(flight, &e)) {
            return;
        }
        struct event event;
        size_t len;
        rt_status status = rt_bus_read_wait(flight->events_bus, &event, sizeof(event), &len, -1);
        if (status.code == RT_ERR_WOULDBLOCK) {
            continue;
        }
        if (RT_FAILED(status) || !line_write(self, event.time, event.text)) {
            return;
        }
    }
}

void logger_clean(struct flight *flight)
{
    if (flight->logger.file >= 0) {
        (void)rt_file_close(flight->logger.file);
        flight->logger.file = -1;
    }
}
