/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#define RTI_MODULE "parker_test"
#include "sched/parker.h"

#include <pthread.h>

#include "port/linux/port_linux.h"
#include "support/test.h"

#define ROUNDS 20000

static struct rti_port_linux world;
static struct rti_port *port = &world.port;
static struct rti_parker parkers[2];
static int handed; /* ordinary memory: ordered by the parkers alone */

static void start(void)
{
    CHECK_OK(rti_port_linux_init(&world, NULL));
    rti_parker_init(&parkers[0]);
    rti_parker_init(&parkers[1]);
}

TEST(unpark_before_park_is_not_lost_and_counts_once)
{
    start();
    rti_parker_unpark(&parkers[0], port);
    rti_parker_unpark(&parkers[0], port);
    CHECK(rti_parker_park(&parkers[0], port, RTI_TIME_NEVER));
    CHECK(!rti_parker_park(&parkers[0], port, port->ops->clock_ns(port) + RTI_NS_PER_MS));
    rti_port_linux_deinit(&world);
}

TEST(park_ends_at_its_deadline_and_never_before)
{
    start();
    uint64_t deadline_ns = port->ops->clock_ns(port) + 3 * RTI_NS_PER_MS;
    CHECK(!rti_parker_park(&parkers[0], port, deadline_ns));
    CHECK(port->ops->clock_ns(port) >= deadline_ns);
    CHECK(!rti_parker_park(&parkers[0], port, 0));
    rti_parker_unpark(&parkers[0], port);
    CHECK(rti_parker_park(&parkers[0], port, 0));
    rti_port_linux_deinit(&world);
}

static void *answer(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(rti_parker_park(&parkers[1], port, RTI_TIME_NEVER));
        CHECK_EQ(handed, 2 * i + 1);
        handed++;
        rti_parker_unpark(&parkers[0], port);
    }
    return NULL;
}

TEST(two_threads_hand_a_value_back_and_forth_and_no_wake_is_lost)
{
    pthread_t thread;
    start();
    handed = 0;
    CHECK_EQ(pthread_create(&thread, NULL, answer, NULL), 0);
    for (int i = 0; i < ROUNDS; i++) {
        handed++;
        rti_parker_unpark(&parkers[1], port);
        CHECK(rti_parker_park(&parkers[0], port, RTI_TIME_NEVER));
        CHECK_EQ(handed, 2 * i + 2);
    }
    CHECK_EQ(pthread_join(thread, NULL), 0);
    rti_port_linux_deinit(&world);
}
