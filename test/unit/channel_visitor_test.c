/* SPDX-License-Identifier: Apache-2.0 */
/* Plain threads that use the channels of a runtime. */
#define _GNU_SOURCE
#include <orrery/rt.h>

#include <pthread.h>

#include "support/test.h"

#define VALUES 2000

static rt_channel_sender *tx[2];
static rt_channel_receiver *rx[2];

/* Opens a runtime of several workers and two channels. */
static void open_runtime(size_t capacity)
{
    rt_config config = {.workers = 2};
    rt_channel_config channel = {.elem_size = sizeof(uint64_t), .capacity = capacity};
    CHECK_OK(rt_init_ex(&config));
    for (int i = 0; i < 2; i++) {
        CHECK_OK(capacity == 0 ? rt_channel_create_rendezvous(&channel, &tx[i], &rx[i])
                               : rt_channel_create(&channel, &tx[i], &rx[i]));
    }
}

static void echo(void *arg)
{
    uint64_t value;
    (void)arg;
    while (!RT_FAILED(rt_channel_recv(rx[0], NULL, &value))) {
        CHECK_OK(rt_channel_send(tx[1], NULL, &value));
    }
    CHECK_OK(rt_channel_close_receiver(rx[0]));
    CHECK_OK(rt_channel_close_sender(tx[1]));
    rt_exit();
}

static void *send_all(void *arg)
{
    (void)arg;
    for (uint64_t i = 1; i <= VALUES; i++) {
        CHECK_OK(rt_channel_send(tx[0], NULL, &i));
    }
    CHECK_OK(rt_channel_close_sender(tx[0]));
    return NULL;
}

static void *recv_all(void *arg)
{
    uint64_t value = 0;
    uint64_t wanted = 1;
    rt_status status;
    (void)arg;
    while (!RT_FAILED(status = rt_channel_recv(rx[1], NULL, &value))) {
        CHECK_EQ(value, wanted);
        wanted++;
    }
    CHECK_EQ(status.code, RT_ERR_DISCONNECTED);
    CHECK_EQ(wanted, VALUES + 1);
    CHECK_OK(rt_channel_close_receiver(rx[1]));
    return NULL;
}

static void send_through_an_actor(size_t capacity)
{
    pthread_t threads[2];
    open_runtime(capacity);
    CHECK(rt_spawn(echo, NULL) != ACTOR_ID_INVALID);
    CHECK_EQ(pthread_create(&threads[0], NULL, send_all, NULL), 0);
    CHECK_EQ(pthread_create(&threads[1], NULL, recv_all, NULL), 0);
    rt_run();
    CHECK_EQ(pthread_join(threads[0], NULL), 0);
    CHECK_EQ(pthread_join(threads[1], NULL), 0);
    rt_cleanup();
}

TEST(channel_visitors_send_to_and_receive_from_an_actor)
{
    send_through_an_actor(4);
}

TEST(channel_visitors_meet_an_actor_at_a_rendezvous)
{
    send_through_an_actor(0);
}

static void *use_without_waiting(void *arg)
{
    uint64_t value = 7;
    (void)arg;
    CHECK_EQ(rt_channel_try_recv(rx[0], &value).code, RT_ERR_EMPTY);
    CHECK_OK(rt_channel_try_send(tx[0], &value));
    CHECK_EQ(rt_channel_try_send(tx[0], &value).code, RT_ERR_FULL);
    CHECK_EQ(rt_channel_send_timeout(tx[0], NULL, &value, 1000000).code, RT_ERR_TIMEOUT);
    CHECK_EQ(rt_channel_send(tx[0], NULL, NULL).code, RT_ERR_INVALID);
    value = 0;
    CHECK_OK(rt_channel_recv_timeout(rx[0], NULL, &value, 1000000));
    CHECK_EQ(value, 7);
    CHECK_EQ(rt_channel_recv_timeout(rx[0], NULL, &value, 1000000).code, RT_ERR_TIMEOUT);
    CHECK_EQ(rt_channel_recv_until(rx[0], NULL, &value, 0).code, RT_ERR_TIMEOUT);
    CHECK_OK(rt_channel_close_sender(tx[0]));
    CHECK_EQ(rt_channel_close_sender(tx[0]).code, RT_ERR_INVALID);
    CHECK_EQ(rt_channel_send(tx[0], NULL, &value).code, RT_ERR_INVALID);
    CHECK_EQ(rt_channel_recv(rx[0], NULL, &value).code, RT_ERR_DISCONNECTED);
    CHECK_OK(rt_channel_close_receiver(rx[0]));
    return NULL;
}

TEST(channel_visitor_gets_every_answer_that_a_task_would)
{
    pthread_t thread;
    open_runtime(1);
    CHECK_EQ(pthread_create(&thread, NULL, use_without_waiting, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    rt_cleanup();
}

static void *wait_for_the_end(void *arg)
{
    uint64_t value;
    rt_status *status = arg;
    *status = rt_channel_recv(rx[0], NULL, &value);
    return NULL;
}

TEST(channel_visitors_that_wait_are_evicted_when_the_runtime_ends)
{
    pthread_t threads[3];
    rt_status ends[3];
    open_runtime(1);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, wait_for_the_end, &ends[i]), 0);
    }
    /* Some wait by now, some come too late: each is refused. */
    rt_cleanup();
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
        CHECK(ends[i].code == RT_ERR_STATE || ends[i].code == RT_ERR_THREAD);
    }
}

static void *try_all(void *arg)
{
    uint64_t value = 1;
    (void)arg;
    CHECK_EQ(rt_channel_send(tx[0], NULL, &value).code, RT_ERR_THREAD);
    CHECK_EQ(rt_channel_recv(rx[0], NULL, &value).code, RT_ERR_THREAD);
    CHECK_EQ(rt_channel_try_send(tx[0], &value).code, RT_ERR_THREAD);
    CHECK_EQ(rt_channel_try_recv(rx[0], &value).code, RT_ERR_THREAD);
    CHECK_EQ(rt_channel_send_timeout(tx[0], NULL, &value, 1).code, RT_ERR_THREAD);
    CHECK_EQ(rt_channel_close_sender(tx[0]).code, RT_ERR_THREAD);
    return NULL;
}

TEST(channel_visitors_are_refused_by_an_engine_with_one_worker)
{
    pthread_t thread;
    rt_channel_config channel = {.elem_size = sizeof(uint64_t), .capacity = 1};
    CHECK_OK(rt_init());
    CHECK_OK(rt_channel_create(&channel, &tx[0], &rx[0]));
    CHECK_EQ(pthread_create(&thread, NULL, try_all, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    rt_cleanup();
}
