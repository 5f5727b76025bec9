/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor: starts the crew, hears of every death, and starts again whoever did not end by
 * its own will. It runs at the most urgent priority, because a control loop that is dead flies
 * nothing, and it does so little that nobody is kept waiting.
 *
 * It monitors instead of linking: it must know of their deaths, they need not know of its.
 *
 * Sockets and files belong to the program and not to an actor, so they stay open when an actor
 * dies. The supervisor closes them: each role has a `clean` for what its actor may leave behind. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "flight.h"

#define STACK_SMALL  8192
#define STACK_PRINTS 24576 /* printf with floating-point numbers needs room */

/* Who dies more often than this within a second is beyond help. */
#define DEATHS_PER_SECOND_MAX 5

const struct role flight_roles[] = {
    {"estimator", estimator, NULL, RT_PRIO_HIGH, STACK_SMALL, false, false, false},
    {"control", control, NULL, RT_PRIO_CRITICAL, STACK_SMALL, false, false, false},
    {"imu", imu, NULL, RT_PRIO_CRITICAL, STACK_SMALL, false, false, false},
    {"barometer", barometer, NULL, RT_PRIO_HIGH, STACK_SMALL, false, false, false},
    {"gps", gps, NULL, RT_PRIO_HIGH, STACK_SMALL, false, false, false},
    {"mission", mission, NULL, RT_PRIO_NORMAL, STACK_PRINTS, false, false, false},
    {"telemetry", telemetry, telemetry_clean, RT_PRIO_NORMAL, STACK_PRINTS, true, false, false},
    {"ground", ground, ground_clean, RT_PRIO_NORMAL, STACK_PRINTS, true, false, false},
    {"gremlin", gremlin, NULL, RT_PRIO_NORMAL, STACK_SMALL, false, false, false},
    {"logger", logger, logger_clean, RT_PRIO_LOW, STACK_PRINTS, false, false, true},
    {"display", display, NULL, RT_PRIO_LOW, STACK_PRINTS, false, true, false},
};
const uint32_t flight_role_count = sizeof(flight_roles) / sizeof(flight_roles[0]);

/* The supervisor's own books, on its stack. */
struct crew {
    struct flight *flight;
    struct roster roster;
    struct {
        rt_time second_start;
        unsigned deaths; /* in this second */
    } patience[ROLES_MAX];
};

static void must(rt_status status, const char *what)
{
    if (RT_FAILED(status)) {
        fprintf(stderr, "flight_controller: %s: %s\n", what,
                status.msg != NULL ? status.msg : rt_status_text(status.code));
        exit(EXIT_FAILURE);
    }
}

static bool role_is_cast(const struct flight *flight, const struct role *role)
{
    bool prints = role->play == telemetry && flight->prints_telemetry;
    return (flight->has_network || !role->needs_network || prints) &&
           (flight->has_screen || !role->needs_screen) &&
           (flight->log_path != NULL || !role->needs_file);
}

/* Starts an actor, watches it, and gives it the name under which the others find it. */
static rt_status crew_start(struct crew *crew, uint32_t index)
{
    const struct role *role = &flight_roles[index];
    const actor_config config = {
        .stack_size = role->stack_size, .priority = role->priority, .name = role->name};
    actor_id id = rt_spawn_ex(role->play, crew->flight, &config);
    if (id == ACTOR_ID_INVALID) {
        return (rt_status){RT_ERR_NOMEM, "no room for an actor"};
    }
    crew->roster.row[index].id = id;
    uint32_t monitor; /* never ended by hand: it goes with either of the two */
    rt_status status = rt_monitor(id, &monitor);
    return RT_FAILED(status) ? status : rt_register(role->name, id);
}

static bool is_beyond_help(struct crew *crew, uint32_t index)
{
    rt_time now = rt_clock();
    if (now - crew->patience[index].second_start > RT_NS_PER_S) {
        crew->patience[index].second_start = now;
        crew->patience[index].deaths = 0;
    }
    return ++crew->patience[index].deaths > DEATHS_PER_SECOND_MAX;
}

/* Deals with a death. Returns false if the flight is over. */
static bool crew_hear(struct crew *crew, const rt_exit_msg *exit_msg)
{
    struct flight *flight = crew->flight;
    struct supervisor *self = &flight->supervisor;
    uint32_t index = 0;
    while (index < flight_role_count && crew->roster.row[index].id != exit_msg->actor) {
        index++;
    }
    if (index == flight_role_count) {
        return true; /* nobody we know */
    }
    const struct role *role = &flight_roles[index];
    if (role->clean != NULL) {
        role->clean(flight);
    }
    if (exit_msg->reason == RT_EXIT_NORMAL) { /* it has done what it had to do */
        crew->roster.row[index].id = ACTOR_ID_INVALID;
        self->has_ended_well = role->play == mission;
        return role->play != mission;
    }
    if (self->deaths < DEATHS_KEPT) {
        self->death[self->deaths] =
            (struct death){rt_clock() - flight->start, role->name, exit_msg->reason};
    }
    self->deaths++;
    if (is_beyond_help(crew, index) || RT_FAILED(crew_start(crew, index))) {
        flight_event(flight, "%s cannot be kept alive", role->name);
        return false;
    }
    self->restarts++;
    crew->roster.row[index].restarts++;
    flight_event(flight, "%s %s; restarted", role->name, flight_reason_text(exit_msg->reason));
    return true;
}

static void flight_prepare(struct flight *flight)
{
    const rt_bus_config sensors = {
        .max_subscribers = 2, .max_entries = 16, .max_entry_size = sizeof(struct sample)};
    const rt_bus_config state = {
        .max_subscribers = 8, .max_entries = 4, .max_entry_size = sizeof(struct estimate)};
    const rt_bus_config events = {
        .max_subscribers = 4, .max_entries = 16, .max_entry_size = sizeof(struct event)};
    flight->start = rt_clock();
    flight->supervisor_id = rt_self();
    flight->listener = flight->telemetry.connection = flight->ground.connection = -1;
    flight->logger.file = -1;
    must(rt_bus_create(&sensors, &flight->sensors_bus), "the sensors bus");
    must(rt_bus_create(&state, &flight->state_bus), "the state bus");
    must(rt_bus_create(&events, &flight->events_bus), "the events bus");
    if (flight->has_network) {
        const rt_net_listen_config loopback = {.address = "127.0.0.1"};
        must(rt_net_listen_ex(&loopback, &flight->listener), "the telemetry port");
        must(rt_net_local_port(flight->listener, &flight->port), "the telemetry port");
    }
    const actor_config config = {
        .stack_size = STACK_SMALL, .priority = RT_PRIO_CRITICAL, .name = "world"};
    flight->world_id = rt_spawn_ex(world, NULL, &config);
}

/* Ends everybody, closes everything, and asks the world what really happened. */
static void flight_end(struct crew *crew)
{
    struct flight *flight = crew->flight;
    for (uint32_t i = 0; i < flight_role_count; i++) {
        (void)rt_actor_kill(crew->roster.row[i].id); /* fails for those that have ended: fine */
        if (flight_roles[i].clean != NULL) {
            flight_roles[i].clean(flight);
        }
    }
    if (flight->listener >= 0) {
        (void)rt_net_close(flight->listener);
    }
    const struct world_request question = {.kind = WORLD_TRUTH};
    struct truth *truth = &flight->supervisor.truth;
    if (!world_ask(flight, &question, truth, sizeof(*truth))) {
        flight->supervisor.has_ended_well = false;
    }
    (void)rt_actor_kill(flight->world_id);
    flight->supervisor.duration = rt_clock() - flight->start;
}

void supervisor(void *arg)
{
    struct crew crew = {.flight = arg, .roster = {.count = flight_role_count}};
    flight_prepare(crew.flight);
    for (uint32_t i = 0; i < flight_role_count; i++) {
        if (role_is_cast(crew.flight, &flight_roles[i])) {
            must(crew_start(&crew, i), flight_roles[i].name);
        }
    }
    flight_event(crew.flight, "take-off");
    for (bool is_flying = true; is_flying;) {
        rt_message msg;
        must(rt_ipc_recv(&msg, -1), "the supervisor receives");
        rt_exit_msg exit_msg;
        if (!RT_FAILED(rt_decode_exit(&msg, &exit_msg))) {
            is_flying = crew_hear(&crew, &exit_msg);
        } else {
            /* The display asks for the roster. If it has died meanwhile the answer is not wanted.
             */
            rt_status status = rt_reply(&msg, &crew.roster, sizeof(crew.roster));
            (void)status;
        }
    }
    flight_end(&crew);
    rt_exit();
}

/* The first actor has normal priority, so it only starts the one that has the right one. */
void flight_begin(void *arg)
{
    const actor_config config = {
        .stack_size = STACK_PRINTS, .priority = RT_PRIO_CRITICAL, .name = "supervisor"};
    if (rt_spawn_ex(supervisor, arg, &config) == ACTOR_ID_INVALID) {
        must((rt_status){RT_ERR_NOMEM, NULL}, "the supervisor");
    }
    rt_exit();
}

float flight_time(const struct flight *flight)
{
    return (float)(rt_clock() - flight->start) / (float)RT_NS_PER_S;
}

void flight_event(const struct flight *flight, const char *format, ...)
{
    struct event event = {.time = rt_clock() - flight->start};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(event.text, sizeof(event.text), format, arguments);
    va_end(arguments);
    (void)rt_bus_publish(flight->events_bus, &event, sizeof(event));
}

bool flight_read_newest(const struct flight *flight, struct estimate *out)
{
    bool is_new = false;
    size_t len;
    while (!RT_FAILED(rt_bus_read(flight->state_bus, out, sizeof(*out), &len))) {
        is_new = true;
    }
    return is_new;
}

const char *flight_reason_text(rt_exit_reason reason)
{
    switch (reason) {
    case RT_EXIT_NORMAL:
        return "ended";
    case RT_EXIT_CRASH:
        return "crashed (it returned without rt_exit)";
    case RT_EXIT_CRASH_STACK:
        return "crashed (its stack overflowed)";
    case RT_EXIT_KILLED:
        return "was killed";
    }
    return "died";
}
