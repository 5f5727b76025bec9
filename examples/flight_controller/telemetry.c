/* SPDX-License-Identifier: Apache-2.0 */
/* Telemetry: ten frames a second over TCP, and the ground station that receives and checks them.
 * Both are actors of the same program here; they share nothing but the connection.
 *
 * A frame is 28 bytes, each number least significant byte first: a mark, a sequence number, the
 * flight's time in milliseconds, altitude, position in millimetres, and a sum over all before it.
 *
 * Where there is no network, on a board that has none or in the simulator, a frame can be printed
 * instead, as a line of text. */
#include <stdio.h>

#include "flight.h"

#define FRAME_BYTES 28
#define FRAME_MARK  UINT32_C(0x59525230)
#define SEND_MS     500

static void put(unsigned char *bytes, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        bytes[i] = (unsigned char)(value >> (8 * i));
    }
}

static uint32_t get(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

static uint32_t frame_sum(const unsigned char frame[FRAME_BYTES])
{
    uint32_t sum = 1;
    for (int i = 0; i < FRAME_BYTES - 4; i++) {
        sum = sum * 31 + frame[i];
    }
    return sum;
}

static void frame_write(unsigned char frame[FRAME_BYTES], uint32_t sequence, uint32_t time_ms,
                        const struct estimate *e)
{
    put(frame, FRAME_MARK);
    put(frame + 4, sequence);
    put(frame + 8, time_ms);
    put(frame + 12, (uint32_t)(int32_t)(e->altitude * 1000));
    put(frame + 16, (uint32_t)(int32_t)(e->x * 1000));
    put(frame + 20, (uint32_t)(int32_t)(e->y * 1000));
    put(frame + 24, frame_sum(frame));
}

static void frame_print(const unsigned char frame[FRAME_BYTES])
{
    printf("frame %3u  %5u ms  altitude %5d  position %+6d %+6d mm\n", (unsigned)get(frame + 4),
           (unsigned)get(frame + 8), (int)(int32_t)get(frame + 12), (int)(int32_t)get(frame + 16),
           (int)(int32_t)get(frame + 20));
}

/* Returns false if the line is cut. */
static bool frame_send(const struct flight *flight, const unsigned char frame[FRAME_BYTES])
{
    if (!flight->has_network) {
        frame_print(frame);
        return true;
    }
    size_t sent;
    rt_status status =
        rt_net_send(flight->telemetry.connection, frame, FRAME_BYTES, &sent, SEND_MS);
    return !RT_FAILED(status) && sent == FRAME_BYTES;
}

/* Waits for the ground station and serves it. If the connection breaks, so does the actor: its
 * successor waits for the next one. */
void telemetry(void *arg)
{
    struct flight *flight = arg;
    struct telemetry *self = &flight->telemetry;
    timer_id timer;
    if ((flight->has_network &&
         RT_FAILED(rt_net_accept(flight->listener, &self->connection, -1))) ||
        RT_FAILED(rt_bus_subscribe(flight->state_bus)) ||
        RT_FAILED(rt_timer_every(100000, &timer))) {
        return;
    }
    struct estimate e = {.altitude = 0};
    for (;;) {
        rt_message tick;
        if (RT_FAILED(rt_ipc_recv(&tick, -1))) {
            return;
        }
        (void)flight_read_newest(flight, &e);
        unsigned char frame[FRAME_BYTES];
        uint32_t time_ms = (uint32_t)((rt_clock() - flight->start) / RT_NS_PER_MS);
        frame_write(frame, ++self->sequence, time_ms, &e);
        if (!frame_send(flight, frame)) {
            return;
        }
    }
}

void telemetry_clean(struct flight *flight)
{
    if (flight->telemetry.connection >= 0) {
        (void)rt_net_close(flight->telemetry.connection);
        flight->telemetry.connection = -1;
    }
}

/* Receives a whole frame: TCP delivers bytes, in pieces of its own choice. */
static bool frame_receive(int connection, unsigned char frame[FRAME_BYTES])
{
    size_t have = 0;
    while (have < FRAME_BYTES) {
        size_t received;
        if (RT_FAILED(rt_net_recv(connection, frame + have, FRAME_BYTES - have, &received, -1))) {
            return false;
        }
        have += received;
    }
    return true;
}

/* The ground station: connects, checks what comes, connects again when the line is cut. */
void ground(void *arg)
{
    struct flight *flight = arg;
    struct ground *self = &flight->ground;
    uint32_t sequence = 0;
    for (;;) {
        if (RT_FAILED(rt_net_connect("127.0.0.1", flight->port, &self->connection, -1))) {
            return;
        }
        self->connections++;
        unsigned char frame[FRAME_BYTES];
        while (frame_receive(self->connection, frame)) {
            bool is_whole = get(frame) == FRAME_MARK && get(frame + 24) == frame_sum(frame) &&
                            get(frame + 4) > sequence;
            sequence = get(frame + 4);
            self->frames++;
            self->frames_damaged += is_whole ? 0 : 1;
        }
        flight_event(flight, "ground: the line was cut after frame %u", (unsigned)sequence);
        ground_clean(flight);
    }
}

void ground_clean(struct flight *flight)
{
    if (flight->ground.connection >= 0) {
        (void)rt_net_close(flight->ground.connection);
        flight->ground.connection = -1;
    }
}
