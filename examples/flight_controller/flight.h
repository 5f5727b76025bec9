/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FLIGHT_H
#define FLIGHT_H

/* What the parts of the flight controller say to each other.
 *
 *                  sensors bus               state bus          message
 *     imu       ─┐             ┌───────────┐          ┌─────────┐ motors ┌───────┐
 *     barometer ─┼────────────▶│ estimator │─────┬───▶│ control │───────▶│ world │
 *     gps       ─┘             └───────────┘     │    └─────────┘        └───────┘
 *      ▲                                         │         ▲                 │
 *      └── call: what do you measure? ───────────┼─────────┼─────────────────┘
 *                                                ├───▶ mission, by message: be there
 *                                                ├───▶ telemetry ══ TCP ══▶ ground
 *                                                ├───▶ logger ──▶ file
 *                                                └───▶ display ──▶ terminal
 *
 * The supervisor starts all of them, monitors them, and starts those again that die. The gremlin
 * sees to it that some do.
 *
 * Every actor is given the one struct flight. Its first part is written by the supervisor before
 * the others start and only read afterwards. Of the rest an actor touches its own section alone. A
 * section outlives the actor: it is where a restarted actor finds what its predecessor knew, and
 * what its predecessor left open. Everything else goes by message, call or bus. */

#include <stdbool.h>
#include <stdint.h>

#include <orrery/rt.h>

#define MOTOR_COUNT 4
#define GRAVITY     9.81F /* metres per second squared */

/* ---- On the sensors bus ---- */

enum sensor {
    SENSOR_IMU,       /* 1 kHz: attitude, rates, vertical acceleration */
    SENSOR_BAROMETER, /* 50 Hz: altitude */
    SENSOR_GPS,       /* 10 Hz: position */
};

/* One measurement. Angles are in radians, lengths in metres, times in seconds. */
struct sample {
    enum sensor sensor;
    rt_time time;
    float roll, pitch, roll_rate, pitch_rate, climb_rate_change; /* of the IMU */
    float altitude;                                              /* of the barometer */
    float x, y;                                                  /* of the GPS */
    uint32_t wrappings;                                          /* of the GPS: 2, usually */
};

/* ---- On the state bus ---- */

/* Where the vehicle is believed to be. */
struct estimate {
    rt_time time;
    uint64_t samples; /* measurements that went into it since take-off */
    float roll, pitch, roll_rate, pitch_rate;
    float x, y, x_speed, y_speed;
    float altitude, climb_rate;
};

/* ---- On the events bus ---- */

/* What happened, for the log and the display. */
struct event {
    rt_time time;
    char text[88];
};

/* ---- By message ---- */

/* From mission to control: where to be. */
struct set_point {
    float x, y, altitude;
    bool has_landed; /* then the motors are off */
};

/* To the world: a call that asks for a measurement or the truth, or a command without an answer. */
enum world_request_kind {
    WORLD_MEASURE,
    WORLD_TRUTH,
    WORLD_MOTORS,
    WORLD_BREAK_BAROMETER, /* its next answer is empty */
    WORLD_CONFUSE_GPS,     /* its next answer is wrapped a million times */
};

struct world_request {
    enum world_request_kind kind;
    enum sensor sensor;       /* WORLD_MEASURE */
    float motor[MOTOR_COUNT]; /* WORLD_MOTORS, each 0 to 1 */
};

/* What really became of the vehicle. Only the world knows. */
struct truth {
    float x, y, altitude;
    float tilt_max;           /* the steepest roll or pitch so far */
    float touchdown_speed;    /* downwards, when it last met the ground */
    rt_time motors_pause_max; /* the longest time between two motor commands in the air */
    uint64_t motor_commands;
};

/* From display to supervisor, a call without data; this is the answer. */
#define ROLES_MAX 12

struct roster {
    uint32_t count;
    struct {
        actor_id id;
        uint32_t restarts;
    } row[ROLES_MAX]; /* in the order of the roles */
};

/* ---- The crew ---- */

struct flight;

/* A part that an actor plays, over all its restarts. */
struct role {
    const char *name; /* the actor is registered under it */
    actor_fn play;
    void (*clean)(struct flight *flight); /* closes what a dead actor left open, or NULL */
    rt_priority priority;
    size_t stack_size;
    bool needs_network, needs_screen, needs_file;
};

extern const struct role flight_roles[];
extern const uint32_t flight_role_count;

/* ---- The flight ---- */

#define DEATHS_KEPT 6

struct death {
    rt_time time; /* since take-off */
    const char *name;
    rt_exit_reason reason;
};

/* Sections: see the head of this file. */
struct estimator {
    struct estimate estimate; /* the last one that was published */
};

struct control {
    struct set_point set_point; /* the last one that came */
    bool has_set_point;
};

struct telemetry {
    int connection; /* -1: none */
    uint32_t sequence;
};

struct ground {
    int connection; /* -1: none */
    uint32_t connections;
    uint32_t frames, frames_damaged;
};

struct logger {
    int file; /* -1: none */
    uint32_t lines;
};

struct supervisor {
    uint32_t deaths, restarts;
    struct death death[DEATHS_KEPT]; /* the first ones */
    struct truth truth;
    rt_time duration;
    bool has_ended_well; /* the mission has come to its end and nobody was given up */
};

struct flight {
    /* Set by main. */
    float seconds;          /* how long to fly, until the descent begins */
    bool has_random_faults; /* the gremlin draws; else it follows its plan */
    bool has_network, has_screen;
    bool prints_telemetry; /* without a network: the frames as lines of text */
    const char *log_path;  /* NULL: no log */

    /* Set by the supervisor before the crew starts. */
    rt_time start;
    bus_id sensors_bus, state_bus, events_bus;
    actor_id supervisor_id, world_id;
    int listener;
    uint16_t port;

    /* The sections. */
    struct estimator estimator;
    struct control control;
    struct telemetry telemetry;
    struct ground ground;
    struct logger logger;
    struct supervisor supervisor;
};

/* ---- What they share ---- */

/* The first actor of a flight; `arg` is the struct flight. */
void flight_begin(void *arg);

/* The actors. Each is given the struct flight. */
void world(void *arg);
void imu(void *arg);
void barometer(void *arg);
void gps(void *arg);
void estimator(void *arg);
void control(void *arg);
void mission(void *arg);
void telemetry(void *arg);
void ground(void *arg);
void logger(void *arg);
void display(void *arg);
void gremlin(void *arg);
void supervisor(void *arg);

void telemetry_clean(struct flight *flight);
void ground_clean(struct flight *flight);
void logger_clean(struct flight *flight);

/* Seconds since take-off. */
float flight_time(const struct flight *flight);

/* Publishes what happened. Nothing depends on anybody hearing it. */
__attribute__((format(printf, 2, 3))) void flight_event(const struct flight *flight,
                                                        const char *format, ...);

/* Reads everything on the state bus and keeps the newest estimate. Returns false, and leaves `out`
 * as it is, if there is nothing new. The caller subscribes to the bus. */
bool flight_read_newest(const struct flight *flight, struct estimate *out);

/* Asks the world; `answer` receives exactly `size` bytes. Returns false if there is no such
 * answer: the device is broken. */
bool world_ask(const struct flight *flight, const struct world_request *request, void *answer,
               size_t size);

/* In words: what ended an actor. */
const char *flight_reason_text(rt_exit_reason reason);

#endif
