/* SPDX-License-Identifier: Apache-2.0 */
/* The limit of time of a call that works in several parts. */
#define _GNU_SOURCE
#define RTI_MODULE "net_limit_test"
#include <orrery/rt/net.h>

#include <sys/socket.h>

#include "support/io_world.h"
#include "support/test.h"

#define MEGABYTE (1024U * 1024U)

static int pair[2];
static bool is_sender_done;

static void drains_slowly(void *arg)
{
    static char buf[65536];
    (void)arg;
    while (!is_sender_done) {
        size_t received = 0;
        rt_status status = rt_net_recv(pair[1], buf, sizeof(buf), &received, -1);
        CHECK(!RT_FAILED(status) || is_sender_done);
        io_world_sleep_ms(1);
    }
    CHECK_OK(rt_net_close(pair[1]));
}

/* Each part goes well within the limit, all of it does not. */
static void sends_to_who_drains_slowly(void *arg)
{
    static char big[16 * MEGABYTE];
    size_t sent = 0;
    (void)arg;
    /* Local: the parts of TCP wait for acknowledgements, some longer than this limit. */
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    io_world_go(drains_slowly, NULL);
    CHECK_OK(rt_net_send(pair[0], big, sizeof(big), &sent, 40));
    CHECK(sent > 0 && sent < sizeof(big));
    is_sender_done = true;
    CHECK_OK(rt_net_close(pair[0]));
}

TEST(net_limit_of_a_send_is_one_for_all_its_parts)
{
    io_world_start(0);
    io_world_go(sends_to_who_drains_slowly, NULL);
    io_world_finish();
}
