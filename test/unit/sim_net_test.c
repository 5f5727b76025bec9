/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated network, through the public headers: what it does when it is kind, and each of the
 * faults when it is asked for. */
#define _GNU_SOURCE
#include <orrery/rt.h>

#include "support/sim_nets.h"

#define PORT 4000

static int listener;
static int pair[2]; /* a connection: [0] is the server's end */

static void open_pair(void)
{
    CHECK_OK(rt_net_listen(PORT, &listener));
    CHECK_OK(rt_net_connect("127.0.0.1", PORT, &pair[1], -1));
    CHECK_OK(rt_net_accept(listener, &pair[0], -1));
    CHECK_OK(rt_net_close(listener));
}

static void close_pair(void)
{
    CHECK_OK(rt_net_close(pair[0]));
    CHECK_OK(rt_net_close(pair[1]));
}

static void sleep_ms(uint32_t ms)
{
    rt_message msg;
    CHECK_STATUS(rt_ipc_recv(&msg, (int32_t)ms), RT_ERR_TIMEOUT);
}

/* ---- connecting ---- */

static void refusals(void *arg)
{
    int fd = -7;
    uint16_t port = 0;
    (void)arg;
    rt_status status = rt_net_connect("127.0.0.1", PORT, &fd, -1);
    CHECK_STATUS(status, RT_ERR_IO);
    CHECK_STR(status.msg, "the connection was refused");
    CHECK_OK(rt_net_listen(PORT, &listener));
    status = rt_net_listen_ex(&(rt_net_listen_config){.address = "127.0.0.1", .port = PORT}, &fd);
    CHECK_STATUS(status, RT_ERR_IO);
    CHECK_STR(status.msg, "the address is in use");
    CHECK_EQ(fd, -7);
    /* Ports that nobody names are different ones. */
    int free_ones[2];
    uint16_t ports[2];
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rt_net_listen(0, &free_ones[i]));
        CHECK_OK(rt_net_local_port(free_ones[i], &ports[i]));
    }
    CHECK(ports[0] != 0 && ports[1] != 0 && ports[0] != ports[1]);
    CHECK_STATUS(rt_net_accept(9999, &fd, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_net_local_port(-1, &port), RT_ERR_INVALID);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rt_net_close(free_ones[i]));
    }
    CHECK_OK(rt_net_close(listener));
    CHECK_STATUS(rt_net_close(listener), RT_ERR_INVALID);
    rt_exit();
}

TEST(sim_net_refuses_where_nobody_listens_and_a_port_that_is_taken)
{
    run(refusals);
}

static void by_name(void *arg)
{
    int fd = -7;
    (void)arg;
    const rt_net_listen_config first = {.address = "10.0.0.1", .port = PORT};
    const rt_net_listen_config second = {.address = "fe00::2", .port = PORT};
    int fds[2];
    CHECK_OK(rt_net_listen_ex(&first, &fds[0]));
    CHECK_OK(rt_net_listen_ex(&second, &fds[1]));
    CHECK_OK(rt_net_connect("two.example", PORT, &pair[1], -1));
    CHECK_STATUS(rt_net_accept(fds[0], &pair[0], 10), RT_ERR_TIMEOUT);
    CHECK_OK(rt_net_accept(fds[1], &pair[0], 0));
    CHECK_STATUS(rt_net_connect("nobody.example", PORT, &fd, -1), RT_ERR_NOT_FOUND);
    CHECK_STATUS(rt_net_connect("localhost", PORT, &fd, -1), RT_ERR_IO);
    close_pair();
    CHECK_OK(rt_net_close(fds[0]));
    CHECK_OK(rt_net_close(fds[1]));
    rt_exit();
}

TEST(sim_net_has_the_addresses_and_names_that_it_is_given)
{
    const rt_sim_host hosts[] = {{"one.example", "10.0.0.1"}, {"two.example", "fe00::2"}};
    run_with(&(rt_sim_network){.hosts = hosts, .hosts_count = 2}, 1, by_name);
}

static unsigned connected;

static void connect_one(void *arg)
{
    int fd;
    (void)arg;
    CHECK_OK(rt_net_connect("127.0.0.1", PORT, &fd, -1));
    connected++;
    CHECK_OK(rt_net_close(fd));
    rt_exit();
}

static void fill_backlog(void *arg)
{
    int fd;
    (void)arg;
    connected = 0;
    CHECK_OK(rt_net_listen_ex(&(rt_net_listen_config){.port = PORT, .backlog = 2}, &listener));
    for (int i = 0; i < 5; i++) {
        CHECK(rt_spawn(connect_one, NULL) != ACTOR_ID_INVALID);
    }
    sleep_ms(100);
    CHECK_EQ(connected, 2);
    CHECK_STATUS(rt_net_connect("127.0.0.1", PORT, &fd, 10), RT_ERR_TIMEOUT);
    for (unsigned i = 0; i < 5; i++) {
        CHECK_OK(rt_net_accept(listener, &fd, 10));
        CHECK_OK(rt_net_close(fd));
        sleep_ms(10);
        CHECK_EQ(connected, i < 3 ? 3 + i : 5);
    }
    CHECK_STATUS(rt_net_accept(listener, &fd, 10), RT_ERR_TIMEOUT);
    CHECK_OK(rt_net_close(listener));
    rt_exit();
}

TEST(sim_net_connect_waits_for_room_in_a_full_backlog)
{
    run(fill_backlog);
}

static void close_with_backlog(void *arg)
{
    char byte;
    size_t count;
    int fd;
    (void)arg;
    CHECK_OK(rt_net_listen(PORT, &listener));
    CHECK_OK(rt_net_connect("127.0.0.1", PORT, &fd, -1));
    CHECK_OK(rt_net_close(listener));
    CHECK_STATUS(rt_net_recv(fd, &byte, 1, &count, -1), RT_ERR_CLOSED);
    CHECK_OK(rt_net_close(fd));
    rt_exit();
}

TEST(sim_net_listener_that_closes_resets_whom_nobody_accepted)
{
    run(close_with_backlog);
}

static void use_up_sockets(void *arg)
{
    static int fds[RT_SIM_SOCKETS];
    int fd = -7;
    (void)arg;
    for (int i = 0; i < RT_SIM_SOCKETS; i++) {
        CHECK_OK(rt_udp_open(NULL, 0, &fds[i]));
    }
    CHECK_STATUS(rt_net_listen(PORT, &fd), RT_ERR_RESOURCE_EXHAUSTED);
    CHECK_EQ(fd, -7);
    CHECK_OK(rt_net_close(fds[77]));
    CHECK_OK(rt_net_listen(PORT, &fd));
    CHECK_EQ(fd, fds[77]);
    for (int i = 0; i < RT_SIM_SOCKETS; i++) {
        CHECK_OK(rt_net_close(fds[i]));
    }
    rt_exit();
}

TEST(sim_net_out_of_sockets_is_told_and_ends_with_a_close)
{
    run(use_up_sockets);
}

/* ---- bytes ---- */

static void measure(void *arg)
{
    char byte = 0;
    size_t count;
    (void)arg;
    open_pair();
    for (int i = 0; i < 50; i++) {
        rt_time before = rt_clock();
        char sent = (char)i;
        CHECK_OK(rt_net_send(pair[0], &sent, 1, &count, -1));
        CHECK_EQ(rt_clock() - before, 0);
        CHECK_STATUS(rt_net_recv(pair[1], &byte, 1, &count, 0), RT_ERR_WOULDBLOCK);
        CHECK_OK(rt_net_recv(pair[1], &byte, 1, &count, -1));
        CHECK_EQ(byte, sent);
        rt_time took = rt_clock() - before;
        CHECK(took >= 2 * RT_NS_PER_MS && took <= 9 * RT_NS_PER_MS);
    }
    close_pair();
    rt_exit();
}

TEST(sim_net_bytes_take_their_latency)
{
    const rt_sim_network network = {.latency_min = 2 * RT_NS_PER_MS,
                                    .latency_max = 9 * RT_NS_PER_MS};
    run_with(&network, 3, measure);
}

#define MUCH 300000

static unsigned char byte_at(size_t i)
{
    return (unsigned char)(i * 31 + (i >> 8) * 7 + (i >> 16));
}

static void send_much(void *arg)
{
    static unsigned char bytes[MUCH];
    size_t sent = 0;
    (void)arg;
    for (size_t i = 0; i < MUCH; i++) {
        bytes[i] = byte_at(i);
    }
    CHECK_OK(rt_net_send(pair[0], bytes, MUCH, &sent, -1));
    CHECK_EQ(sent, MUCH);
    CHECK_OK(rt_net_close(pair[0]));
    rt_exit();
}

static void receive_much(void *arg)
{
    unsigned char bytes[777];
    size_t total = 0;
    size_t count = 0;
    (void)arg;
    open_pair();
    CHECK(rt_spawn(send_much, NULL) != ACTOR_ID_INVALID);
    rt_status status;
    while (!RT_FAILED(status = rt_net_recv(pair[1], bytes, 1 + total % 777, &count, -1))) {
        for (size_t i = 0; i < count; i++) {
            CHECK_EQ(bytes[i], byte_at(total + i));
        }
        total += count;
    }
    CHECK_STATUS(status, RT_ERR_CLOSED);
    CHECK_STR(status.msg, "the peer has closed the connection");
    CHECK_EQ(total, MUCH);
    CHECK_OK(rt_net_close(pair[1]));
    rt_exit();
}

TEST(sim_net_moves_much_through_little_room_exactly)
{
    run(receive_much);
    const rt_sim_network torn = {.latency_max = RT_NS_PER_MS, .split = 700};
    run_with(&torn, 4, receive_much);
}

static void send_into_full(void *arg)
{
    static char much[2 * RT_SIM_SOCKET_BUFFER];
    size_t count = 0;
    (void)arg;
    open_pair();
    CHECK_OK(rt_net_send(pair[0], much, sizeof(much), &count, 0));
    CHECK_EQ(count, RT_SIM_SOCKET_BUFFER);
    CHECK_STATUS(rt_net_send(pair[0], much, 1, &count, 0), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_net_send(pair[0], much, 1, &count, 20), RT_ERR_TIMEOUT);
    CHECK_OK(rt_net_recv(pair[1], much, 100, &count, 0));
    CHECK_EQ(count, 100);
    CHECK_OK(rt_net_send(pair[0], much, sizeof(much), &count, 0));
    CHECK_EQ(count, 100);
    close_pair();
    rt_exit();
}

TEST(sim_net_full_connection_takes_a_part_then_nothing_then_what_was_read)
{
    run(send_into_full);
}

/* ---- ends ---- */

static void send_to_gone(void *arg)
{
    char byte;
    size_t count = 0;
    (void)arg;
    open_pair();
    CHECK_OK(rt_net_send(pair[0], "bye", 3, &count, -1));
    CHECK_OK(rt_net_close(pair[0]));
    /* The end travels behind the bytes. */
    for (int i = 0; i < 3; i++) {
        CHECK_OK(rt_net_recv(pair[1], &byte, 1, &count, -1));
        CHECK_EQ(byte, "bye"[i]);
    }
    CHECK_STATUS(rt_net_recv(pair[1], &byte, 1, &count, -1), RT_ERR_CLOSED);
    /* The first bytes to a peer that is gone are taken, and lost. */
    CHECK_OK(rt_net_send(pair[1], "x", 1, &count, -1));
    sleep_ms(1);
    CHECK_STATUS(rt_net_send(pair[1], "x", 1, &count, -1), RT_ERR_CLOSED);
    rt_status status = rt_net_recv(pair[1], &byte, 1, &count, -1);
    CHECK_STATUS(status, RT_ERR_CLOSED);
    CHECK_STR(status.msg, "the peer reset the connection");
    CHECK_OK(rt_net_close(pair[1]));
    rt_exit();
}

TEST(sim_net_peer_that_is_gone_is_an_end_and_a_reset_to_who_goes_on_sending)
{
    run(send_to_gone);
}

static void leave_unread(void *arg)
{
    char byte;
    size_t count = 0;
    (void)arg;
    open_pair();
    CHECK_OK(rt_net_send(pair[1], "unread", 6, &count, -1));
    if (arg == NULL) {
        sleep_ms(1);
    }
    CHECK_OK(rt_net_close(pair[0]));
    sleep_ms(1);
    rt_status status = rt_net_recv(pair[1], &byte, 1, &count, -1);
    CHECK_STATUS(status, RT_ERR_CLOSED);
    CHECK_STR(status.msg, "the peer reset the connection");
    CHECK_OK(rt_net_close(pair[1]));
    rt_exit();
}

static void leave_travelling(void *arg)
{
    (void)arg;
    leave_unread(&listener);
}

TEST(sim_net_close_with_bytes_that_nobody_read_is_a_reset)
{
    run(leave_unread);
    run(leave_travelling);
}

static unsigned woken;

static void block_in_recv(void *arg)
{
    char byte;
    size_t count;
    rt_status status = rt_net_recv(*(int *)arg, &byte, 1, &count, -1);
    CHECK_STATUS(status, RT_ERR_CLOSED);
    woken++;
    rt_exit();
}

static void block_in_accept(void *arg)
{
    int fd;
    (void)arg;
    CHECK_STATUS(rt_net_accept(listener, &fd, -1), RT_ERR_CLOSED);
    woken++;
    rt_exit();
}

static void block_in_send(void *arg)
{
    static char much[4 * RT_SIM_SOCKET_BUFFER];
    size_t count = 0;
    CHECK_OK(rt_net_send(*(int *)arg, much, sizeof(much), &count, -1));
    CHECK(count >= RT_SIM_SOCKET_BUFFER && count < sizeof(much));
    woken++;
    rt_exit();
}

static void drain_then_wait(void *arg)
{
    char bytes[64];
    size_t count;
    while (!RT_FAILED(rt_net_recv(*(int *)arg, bytes, sizeof(bytes), &count, -1))) {
    }
    woken++;
    rt_exit();
}

static void close_under_all(void *arg)
{
    (void)arg;
    woken = 0;
    open_pair();
    CHECK_OK(rt_net_listen(PORT, &listener));
    CHECK(rt_spawn(block_in_recv, &pair[0]) != ACTOR_ID_INVALID);
    CHECK(rt_spawn(block_in_recv, &pair[0]) != ACTOR_ID_INVALID);
    CHECK(rt_spawn(drain_then_wait, &pair[1]) != ACTOR_ID_INVALID);
    CHECK(rt_spawn(block_in_accept, NULL) != ACTOR_ID_INVALID);
    sleep_ms(1);
    CHECK_OK(rt_net_close(listener));
    sleep_ms(1);
    CHECK_EQ(woken, 1);
    CHECK_OK(rt_net_close(pair[0]));
    sleep_ms(1);
    CHECK_EQ(woken, 4);
    CHECK_OK(rt_net_close(pair[1]));
    rt_exit();
}

static void close_under_sender(void *arg)
{
    (void)arg;
    woken = 0;
    open_pair();
    CHECK(rt_spawn(block_in_send, &pair[0]) != ACTOR_ID_INVALID);
    sleep_ms(1);
    CHECK_OK(rt_net_close(pair[0]));
    sleep_ms(1);
    CHECK_EQ(woken, 1);
    CHECK_OK(rt_net_close(pair[1]));
    rt_exit();
}

TEST(sim_net_close_wakes_whoever_waits_on_either_end)
{
    run(close_under_all);
    run(close_under_sender);
}

static void wait_for_nobody(void *arg)
{
    char byte;
    size_t count;
    (void)arg;
    open_pair();
    (void)rt_net_recv(pair[0], &byte, 1, &count, -1);
    rt_exit();
}

TEST(sim_net_wait_for_bytes_that_nobody_sends_is_a_deadlock)
{
    const rt_sim_config config = {.report = &report};
    CHECK_STATUS(rt_sim_run(&config, wait_for_nobody, NULL), RT_ERR_DEADLOCK);
    CHECK_EQ(report.actors_left, 1);
    CHECK_EQ(report.sockets_left, 2);
    CHECK(report.time > 0);
}

/* ---- faults ---- */

static void talk_until_reset(void *arg)
{
    char byte;
    size_t count;
    unsigned moved = 0;
    (void)arg;
    open_pair();
    while (!RT_FAILED(rt_net_send(pair[0], "x", 1, &count, -1)) &&
           !RT_FAILED(rt_net_recv(pair[1], &byte, 1, &count, -1))) {
        moved++;
        CHECK(moved < 10000);
    }
    sleep_ms(1);
    for (int i = 0; i < 2; i++) {
        rt_status status = rt_net_recv(pair[i], &byte, 1, &count, 0);
        CHECK_STATUS(status, RT_ERR_CLOSED);
        CHECK_STR(status.msg, "the peer reset the connection");
        CHECK_STATUS(rt_net_send(pair[i], "x", 1, &count, 0), RT_ERR_CLOSED);
    }
    close_pair();
    rt_exit();
}

TEST(sim_net_reset_loses_what_travels_and_tells_both_ends)
{
    run_with(&(rt_sim_network){.reset = 20}, 2, talk_until_reset);
}

static void live_with_partition(void *arg)
{
    char bytes[8];
    size_t count = 0;
    int fd;
    (void)arg;
    open_pair();
    CHECK_OK(rt_net_listen(PORT, &listener));
    CHECK_OK(rt_net_send(pair[0], "a", 1, &count, -1));
    CHECK_OK(rt_sim_net_partition(true));
    CHECK_OK(rt_sim_net_partition(true));
    CHECK_OK(rt_net_send(pair[0], "b", 1, &count, -1));
    CHECK_STATUS(rt_net_recv(pair[1], bytes, 8, &count, 1000), RT_ERR_TIMEOUT);
    CHECK_STATUS(rt_net_connect("127.0.0.1", PORT, &fd, 1000), RT_ERR_TIMEOUT);
    CHECK_OK(rt_sim_net_partition(false));
    CHECK_OK(rt_net_send(pair[0], "c", 1, &count, -1));
    CHECK_STATUS(rt_net_recv(pair[1], bytes, 8, &count, 0), RT_ERR_WOULDBLOCK);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(rt_net_recv(pair[1], bytes, 1, &count, 20));
        CHECK_EQ(bytes[0], 'a' + i);
    }
    CHECK_OK(rt_net_connect("127.0.0.1", PORT, &fd, 1000));
    CHECK_OK(rt_net_close(fd));
    CHECK_OK(rt_net_close(listener));
    close_pair();
    rt_exit();
}

TEST(sim_net_partition_holds_everything_back_until_it_is_healed)
{
    run(live_with_partition);
    run_with(&(rt_sim_network){.latency_max = 9 * RT_NS_PER_MS}, 5, live_with_partition);
}

static void cut_often(void *arg)
{
    char byte;
    size_t count = 0;
    (void)arg;
    open_pair();
    for (int i = 0; i < 12; i++) {
        CHECK_OK(rt_net_send(pair[0], &(char){(char)i}, 1, &count, -1));
        CHECK_OK(rt_sim_net_partition(i % 2 == 0));
    }
    CHECK_OK(rt_sim_net_partition(false));
    for (int i = 0; i < 12; i++) {
        CHECK_OK(rt_net_recv(pair[1], &byte, 1, &count, -1));
        CHECK_EQ(byte, i);
    }
    close_pair();
    rt_exit();
}

TEST(sim_net_order_of_a_connection_outlives_every_cut)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        run_with(&(rt_sim_network){.latency_max = 9 * RT_NS_PER_MS}, seed, cut_often);
    }
}

static void stay_cut(void *arg)
{
    char byte;
    size_t count = 0;
    (void)arg;
    open_pair();
    CHECK_OK(rt_sim_net_partition(true));
    CHECK_OK(rt_net_send(pair[0], "b", 1, &count, -1));
    (void)rt_net_recv(pair[1], &byte, 1, &count, -1);
    rt_exit();
}

TEST(sim_net_wait_across_a_cut_that_nobody_heals_is_a_deadlock)
{
    CHECK_STATUS(rt_sim_run(NULL, stay_cut, NULL), RT_ERR_DEADLOCK);
}

static void partition_elsewhere(void *arg)
{
    (void)arg;
    CHECK_STATUS(rt_sim_net_partition(true), RT_ERR_UNSUPPORTED);
    rt_exit();
}

TEST(sim_net_partition_outside_of_the_simulator_is_refused)
{
    CHECK_STATUS(rt_sim_net_partition(true), RT_ERR_THREAD);
    CHECK_OK(rt_init());
    CHECK(rt_spawn(partition_elsewhere, NULL) != ACTOR_ID_INVALID);
    rt_run();
    rt_cleanup();
}

static void nothing(void *arg)
{
    (void)arg;
    rt_exit();
}

TEST(sim_net_bad_configurations_are_refused)
{
    const rt_sim_host nameless = {NULL, "127.0.0.1"};
    const rt_sim_host lost = {"lost", NULL};
    const rt_sim_host wordy = {"wordy", "down the road"};
    const rt_sim_network bad[] = {
        {.latency_min = 2, .latency_max = 1},
        {.latency_max = RT_SIM_LATENCY_MAX + 1},
        {.split = 1001},
        {.reset = 1001},
        {.loss = 1001},
        {.duplicate = 1001},
        {.hosts = &nameless, .hosts_count = 1},
        {.hosts = &lost, .hosts_count = 1},
        {.hosts = &wordy, .hosts_count = 1},
        {.hosts = NULL, .hosts_count = 1},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CHECK_STATUS(rt_sim_run(&(rt_sim_config){.network = bad[i]}, nothing, NULL),
                     RT_ERR_INVALID);
    }
    CHECK_OK(rt_sim_run(NULL, nothing, NULL));
}

/* Beyond the last moment there is nothing, so what would arrive there arrives then. */
static void talk_at_the_end_of_time(void *arg)
{
    int ends[2];
    char byte = 'x';
    size_t count = 0;
    (void)arg;
    CHECK_OK(rt_sleep(UINT64_MAX - RT_SIM_LATENCY - rt_clock()));
    CHECK_OK(rt_net_listen(4000, &listener));
    CHECK_OK(rt_net_connect("127.0.0.1", 4000, &ends[0], -1));
    CHECK_OK(rt_net_accept(listener, &ends[1], -1));
    CHECK_OK(rt_net_send(ends[0], &byte, 1, &count, -1));
    CHECK_OK(rt_net_recv(ends[1], &byte, 1, &count, -1));
    CHECK_OK(rt_net_close(ends[0]));
    CHECK_OK(rt_net_close(ends[1]));
    CHECK_OK(rt_net_close(listener));
    CHECK(rt_clock() > UINT64_MAX - RT_SIM_LATENCY);
    rt_exit();
}

TEST(sim_net_goes_on_to_the_last_moment_of_the_clock)
{
    run(talk_at_the_end_of_time);
}

/* ---- local sockets, select ---- */

static void use_local(void *arg)
{
    char byte;
    size_t count;
    int fd;
    (void)arg;
    CHECK_STATUS(rt_unix_connect("@x", &fd, -1), RT_ERR_IO);
    CHECK_OK(rt_unix_listen("@x", &listener));
    CHECK_STATUS(rt_unix_listen("@x", &fd), RT_ERR_IO);
    CHECK_STATUS(rt_unix_connect("@xy", &fd, -1), RT_ERR_IO);
    CHECK_OK(rt_unix_connect("@x", &pair[1], -1));
    CHECK_OK(rt_net_accept(listener, &pair[0], -1));
    CHECK_OK(rt_net_send(pair[1], "l", 1, &count, -1));
    CHECK_OK(rt_net_recv(pair[0], &byte, 1, &count, -1));
    CHECK_EQ(byte, 'l');
    uint16_t port;
    CHECK_STATUS(rt_net_local_port(listener, &port), RT_ERR_INVALID);
    CHECK_OK(rt_net_close(listener));
    close_pair();
    rt_exit();
}

TEST(sim_net_has_local_names)
{
    run(use_local);
}

static void send_later(void *arg)
{
    size_t count;
    (void)arg;
    sleep_ms(5);
    CHECK_OK(rt_net_send(pair[1], "x", 1, &count, -1));
    rt_exit();
}

static void select_socket(void *arg)
{
    rt_select_arm arms[2];
    rt_selected chosen;
    int other[2];
    (void)arg;
    open_pair();
    memcpy(other, pair, sizeof(other));
    open_pair();
    rt_arm_readable(&arms[0], other[0]);
    rt_arm_readable(&arms[1], pair[0]);
    CHECK(rt_spawn(send_later, NULL) != ACTOR_ID_INVALID);
    CHECK_OK(rt_select(arms, 2, NULL, &chosen));
    CHECK_EQ(chosen.index, 1);
    rt_arm_writable(&arms[1], pair[0]);
    CHECK_OK(rt_select(arms, 2, NULL, &chosen));
    CHECK_EQ(chosen.index, 1);
    CHECK_OK(rt_net_close(other[1]));
    CHECK_OK(rt_select(arms, 1, NULL, &chosen));
    CHECK_EQ(chosen.index, 0);
    CHECK_OK(rt_net_close(other[0]));
    close_pair();
    rt_exit();
}

TEST(sim_net_select_waits_for_sockets)
{
    run(select_socket);
}

/* ---- one seed, one run ---- */

static uint64_t hash_of(const rt_sim_network *network, uint64_t seed)
{
    run_with(network, seed, receive_much);
    return report.trace_hash;
}

TEST(sim_net_one_seed_gives_one_trace)
{
    const rt_sim_network network = {.latency_max = RT_NS_PER_MS, .split = 500};
    uint64_t first = hash_of(&network, 1);
    CHECK(hash_of(&network, 1) == first);
    CHECK(hash_of(&network, 2) != first);
    CHECK(hash_of(NULL, 1) != first);
}
