/* SPDX-License-Identifier: Apache-2.0 */
/* Two actors and one ball: `ping` serves, `pong` returns, and after N round trips the game is over.
 *
 *     ping_pong [N]        a million round trips unless N says otherwise
 *
 * It shows the whole life of a program (init, spawn, run, cleanup), messages with an answer, and
 * how an actor that only serves another one ends: it is linked to it and is told of its death.
 *
 * Tested: ping_pong 10000 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <orrery/rt.h>

#define ROUND_TRIPS_DEFAULT UINT64_C(1000000)

/* What flies between the two. */
struct ball {
    uint64_t number;
};

/* main owns it and reads it after the run; ping writes it. */
struct game {
    uint64_t round_trips_wanted;
    uint64_t round_trips;
    rt_time duration;
};

/* Tells what went wrong and gives up. An example has nobody to complain to; an actor of a larger
 * program would return instead, which is a crash, and leave the rest to its supervisor. */
static void must(rt_status status, const char *what)
{
    if (RT_FAILED(status)) {
        fprintf(stderr, "ping_pong: %s: %s\n", what,
                status.msg != NULL ? status.msg : rt_status_text(status.code));
        exit(EXIT_FAILURE);
    }
}

/* Sends every ball back to where it came from, until ping is gone. */
static void pong(void *arg)
{
    (void)arg;
    for (;;) {
        rt_message msg;
        must(rt_ipc_recv(&msg, -1), "pong receives");
        if (rt_is_exit_msg(&msg)) {
            rt_exit(); /* ping has ended, so there is nobody left to play with */
        }
        /* The data belongs to the runtime and is valid until the next receive: sending copies it.
         */
        must(rt_ipc_send(msg.sender, msg.data, msg.len, IPC_ASYNC), "pong sends");
    }
}

static void ping(void *arg)
{
    struct game *game = arg;
    actor_id partner = rt_spawn(pong, NULL);
    must(rt_link(partner), "ping links itself to pong"); /* fails too if there is no pong */

    rt_time start = rt_clock();
    for (uint64_t number = 1; number <= game->round_trips_wanted; number++) {
        struct ball ball = {.number = number};
        must(rt_ipc_send(partner, &ball, sizeof(ball), IPC_ASYNC), "ping sends");

        rt_message msg;
        must(rt_ipc_recv(&msg, -1), "ping receives");
        if (msg.sender != partner || msg.len != sizeof(ball) ||
            ((const struct ball *)msg.data)->number != number) {
            fprintf(stderr, "ping_pong: this is not the ball that was served\n");
            exit(EXIT_FAILURE);
        }
        game->round_trips++;
    }
    game->duration = rt_clock() - start;
    rt_exit(); /* returning would be a crash: an actor says when it is done */
}

int main(int argc, char **argv)
{
    struct game game = {.round_trips_wanted = ROUND_TRIPS_DEFAULT};
    if (argc > 1) {
        game.round_trips_wanted = strtoull(argv[1], NULL, 10);
    }

    must(rt_init(), "rt_init");
    if (rt_spawn(ping, &game) == ACTOR_ID_INVALID) {
        fprintf(stderr, "ping_pong: no room for the first actor\n");
        return EXIT_FAILURE;
    }
    rt_run(); /* until both have ended */
    rt_cleanup();

    printf("%" PRIu64 " round trips", game.round_trips);
    if (game.duration > 0) {
        double seconds = (double)game.duration / (double)RT_NS_PER_S;
        printf(", %.1f million messages per second", 2e-6 * (double)game.round_trips / seconds);
    }
    printf("\n");
    return game.round_trips == game.round_trips_wanted ? EXIT_SUCCESS : EXIT_FAILURE;
}
