/* SPDX-License-Identifier: Apache-2.0 */
/* The display: ten pictures a second on a terminal, a line per second elsewhere.
 *
 * It knows nothing of its own. Attitude and altitude come from the state bus, what happened from
 * the events bus, who lives from the supervisor, and what everybody does from rt_actor_stats. A
 * picture is written with rt_file_write: printf could stop the whole program if the terminal is
 * slow, this only makes the display wait. */
#define _POSIX_C_SOURCE 200809L
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "flight.h"

#define PICTURE_ROWS  13
#define HORIZON_ROWS  7
#define HORIZON_WIDTH 23
#define LEFT_WIDTH    36
#define GAUGE_METRES  7
#define EVENTS_SHOWN  6
#define DEGREES       57.29578F

struct screen {
    const struct flight *flight;
    bool is_terminal;
    struct estimate estimate;
    struct roster roster;
    struct event events[EVENTS_SHOWN]; /* the oldest first */
    unsigned event_count;
    char text[4096]; /* the picture that is being made */
    size_t length;
};

__attribute__((format(printf, 2, 3))) static void print(struct screen *s, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(s->text + s->length, sizeof(s->text) - s->length, format, arguments);
    va_end(arguments);
    if (length > 0 && (size_t)length < sizeof(s->text) - s->length) {
        s->length += (size_t)length;
    }
}

/* Ends a line; what an older picture left to the right of it goes. */
static void print_end(struct screen *s)
{
    print(s, "%s\n", s->is_terminal ? "\033[K" : "");
}

static void flush(struct screen *s)
{
    size_t written;
    (void)rt_file_write(STDOUT_FILENO, s->text, s->length, &written, 1000);
    s->length = 0;
}

/* One row of the artificial horizon: sky above the line, ground below it. */
static void print_horizon(struct screen *s, int row)
{
    print(s, "  |");
    for (int column = 0; column < HORIZON_WIDTH; column++) {
        float across = (float)(column - HORIZON_WIDTH / 2);
        float up = (float)(HORIZON_ROWS / 2 - row);
        /* Rolling to the right lets the horizon rise on the right; nose up lets it sink. */
        float line = across * s->estimate.roll - 8.0F * s->estimate.pitch;
        float above = up - line;
        char ink = above > 0.5F ? ' ' : above > -0.5F ? '-' : ':';
        if (row == HORIZON_ROWS / 2 && (column >= 9 && column <= 13)) {
            ink = "<-o->"[column - 9];
        }
        print(s, "%c", ink);
    }
    int metres = GAUGE_METRES - row;
    bool is_there = (int)(s->estimate.altitude + 0.5F) == metres;
    print(s, "| %d m %s", metres, is_there ? "<=" : "");
}

/* The left half of a row: the horizon, the altitude, the numbers. */
static void print_left(struct screen *s, int row)
{
    const struct estimate *e = &s->estimate;
    size_t start = s->length;
    if (row == 0 || row == HORIZON_ROWS + 1) {
        print(s, "  +-----------------------+%s", row != 0 ? " 0 m" : "");
    } else if (row <= HORIZON_ROWS) {
        print_horizon(s, row - 1);
    } else if (row == HORIZON_ROWS + 2) {
        print(s, "  roll %+5.1f   pitch %+5.1f deg", (double)(e->roll * DEGREES),
              (double)(e->pitch * DEGREES));
    } else if (row == HORIZON_ROWS + 3) {
        print(s, "  altitude %5.2f m   %+5.2f m/s", (double)e->altitude, (double)e->climb_rate);
    } else if (row == HORIZON_ROWS + 4) {
        print(s, "  position %+5.2f %+5.2f m", (double)e->x, (double)e->y);
    }
    size_t width = s->length - start;
    print(s, "%*s", width < LEFT_WIDTH ? (int)(LEFT_WIDTH - width) : 0, "");
}

/* One row of the crew: who it is, what it does just now, what it did. */
static void print_actor(struct screen *s, uint32_t index)
{
    static const char *const priority[] = {"critical", "high", "normal", "low"};
    static const char *const state[] = {"ready", "running", "waits"};
    struct rt_actor_stats stats;
    const struct role *role = &flight_roles[index];
    actor_id id = s->roster.row[index].id;
    print(s, " %-10s %-9s", role->name, priority[role->priority]);
    if (RT_FAILED(rt_actor_stats(id, &stats))) {
        print(s, " %-8s %8s", "ended", "");
    } else {
        uint64_t messages = stats.messages_sent + stats.messages_received;
        if (role->play == estimator) {
            messages = s->estimate.samples; /* what comes by a bus is no message */
        }
        print(s, " %-8s %8llu", state[stats.state], (unsigned long long)messages);
    }
    if (s->roster.row[index].restarts > 0) {
        print(s, "  restarted %u", (unsigned)s->roster.row[index].restarts);
    }
}

static void print_picture(struct screen *s)
{
    print(s, "\033[H");
    print(s, "  Orrery: a supervised flight controller, %4.1f s after take-off",
          (double)flight_time(s->flight));
    print_end(s);
    print_end(s);
    for (int row = 0; row < PICTURE_ROWS; row++) {
        print_left(s, row);
        if (row == 0) {
            print(s, " %-10s %-9s %-8s %8s", "actor", "priority", "state", "messages");
        } else if ((uint32_t)row <= flight_role_count) {
            print_actor(s, (uint32_t)row - 1);
        }
        print_end(s);
    }
    for (unsigned i = 0; i < EVENTS_SHOWN; i++) {
        if (i < s->event_count) {
            print(s, "  %5.1f s  %s", (double)s->events[i].time / 1e9, s->events[i].text);
        }
        print_end(s);
    }
    flush(s);
}

static void print_line(struct screen *s)
{
    const struct estimate *e = &s->estimate;
    unsigned restarts = 0;
    for (uint32_t i = 0; i < s->roster.count; i++) {
        restarts += s->roster.row[i].restarts;
    }
    print(s, "%5.1f s  altitude %5.2f m, roll %+5.1f, pitch %+5.1f deg, %u restarts\n",
          (double)flight_time(s->flight), (double)e->altitude, (double)(e->roll * DEGREES),
          (double)(e->pitch * DEGREES), restarts);
    flush(s);
}

/* Takes the events that have come; a terminal shows the last ones, elsewhere each is a line. */
static void events_take(struct screen *s)
{
    struct event event;
    size_t len;
    while (!RT_FAILED(rt_bus_read(s->flight->events_bus, &event, sizeof(event), &len))) {
        if (s->event_count == EVENTS_SHOWN) {
            memmove(s->events, s->events + 1, sizeof(event) * (EVENTS_SHOWN - 1));
            s->event_count--;
        }
        s->events[s->event_count++] = event;
        if (!s->is_terminal) {
            print(s, "%5.1f s  %s\n", (double)event.time / 1e9, event.text);
            flush(s);
        }
    }
}

/* Asks the supervisor who lives. Without an answer the old list stays. */
static void roster_ask(struct screen *s)
{
    rt_message reply;
    rt_status status = rt_call(s->flight->supervisor_id, NULL, 0, &reply, 100);
    if (!RT_FAILED(status) && reply.len == sizeof(s->roster)) {
        memcpy(&s->roster, reply.data, sizeof(s->roster));
    }
}

void display(void *arg)
{
    struct screen screen = {.flight = arg, .is_terminal = isatty(STDOUT_FILENO) == 1};
    const struct flight *flight = screen.flight;
    timer_id timer;
    if (RT_FAILED(rt_bus_subscribe(flight->state_bus)) ||
        RT_FAILED(rt_bus_subscribe(flight->events_bus)) ||
        RT_FAILED(rt_timer_every(screen.is_terminal ? 100000 : 1000000, &timer))) {
        return;
    }
    if (screen.is_terminal) {
        print(&screen, "\033[2J");
    }
    for (;;) {
        rt_message tick;
        if (RT_FAILED(rt_ipc_recv(&tick, -1))) {
            return;
        }
        (void)flight_read_newest(flight, &screen.estimate);
        roster_ask(&screen);
        events_take(&screen);
        if (screen.is_terminal) {
            print_picture(&screen);
        } else {
            print_line(&screen);
        }
    }
}
