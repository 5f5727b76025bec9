/* SPDX-License-Identifier: Apache-2.0 */
/* TCP on the real system: bytes, limits of time, bad input, running out, addresses. */
#define _GNU_SOURCE
#define RTI_MODULE "net_test"
#include <orrery/rt/net.h>
#include <orrery/rt/runtime.h>

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/io_world.h"
#include "support/test.h"

#define MEGABYTE (1024U * 1024U)

static int pair[2];

/* A byte that depends on its place, so that a lost, doubled or moved one shows. */
static unsigned char byte_at(size_t i)
{
    return (unsigned char)(i * 31 + (i >> 8) * 7 + (i >> 16));
}

/* Runs one fiber to its end, with everything given back. */
static void run_alone(void (*main)(void *arg))
{
    io_world_start(0);
    io_world_go(main, NULL);
    io_world_finish();
}

static unsigned char megabyte[MEGABYTE];

static void send_megabyte(void *arg)
{
    size_t total = 0;
    for (size_t i = 0; i < MEGABYTE; i++) {
        megabyte[i] = byte_at(i);
    }
    /* Odd pieces, some of them larger than the system takes at once. */
    for (size_t piece = 1; total < MEGABYTE; piece = piece * 3 + 1) {
        size_t len = piece < MEGABYTE - total ? piece : MEGABYTE - total;
        size_t sent = 0;
        CHECK_OK(rt_net_send(pair[0], megabyte + total, len, &sent, -1));
        CHECK_EQ(sent, len);
        total += sent;
    }
    CHECK_OK(rt_net_close(pair[0]));
    (void)arg;
}

static void recv_megabyte(void *arg)
{
    size_t total = 0;
    unsigned char buf[977];
    (void)arg;
    for (size_t turn = 0;; turn++) {
        size_t received = 12345;
        size_t len = 1 + turn % sizeof(buf);
        rt_status status = rt_net_recv(pair[1], buf, len, &received, -1);
        if (status.code == RT_ERR_CLOSED) {
            CHECK_EQ(received, 12345);
            break;
        }
        CHECK_OK(status);
        CHECK(received >= 1 && received <= len);
        for (size_t i = 0; i < received; i++) {
            CHECK_EQ(buf[i], byte_at(total + i));
        }
        total += received;
    }
    CHECK_EQ(total, MEGABYTE);
    CHECK_OK(rt_net_close(pair[1]));
}

static void move_megabyte(void *arg)
{
    (void)arg;
    io_world_tcp_pair(pair);
    io_world_shrink(pair[0]);
    io_world_go(send_megabyte, NULL);
    io_world_go(recv_megabyte, NULL);
}

TEST(net_moves_a_megabyte_exactly_in_uneven_parts)
{
    run_alone(move_megabyte);
}

static void send_without_waiting(void *arg)
{
    static char big[4 * MEGABYTE];
    size_t sent = 0;
    size_t total = 0;
    (void)arg;
    io_world_tcp_pair(pair);
    rt_status status;
    while (!RT_FAILED(status = rt_net_send(pair[0], big, sizeof(big), &sent, 0))) {
        CHECK(sent > 0 && sent <= sizeof(big));
        total += sent;
    }
    CHECK_STATUS(status, RT_ERR_WOULDBLOCK);
    CHECK(total > 0);
    sent = 77;
    CHECK_STATUS(rt_net_send(pair[0], big, 1, &sent, 0), RT_ERR_WOULDBLOCK);
    CHECK_EQ(sent, 77);
    /* All of it arrives. */
    size_t got = 0;
    while (got < total) {
        size_t received = 0;
        CHECK_OK(rt_net_recv(pair[1], big, sizeof(big), &received, -1));
        got += received;
    }
    CHECK_EQ(got, total);
    CHECK_OK(rt_net_close(pair[0]));
    CHECK_OK(rt_net_close(pair[1]));
}

TEST(net_send_without_waiting_reports_the_part_that_went)
{
    run_alone(send_without_waiting);
}

static void send_more_than_time_allows(void *arg)
{
    static char big[8 * MEGABYTE];
    size_t sent = 0;
    (void)arg;
    io_world_tcp_pair(pair);
    /* The system lets its buffers grow meanwhile, up to some limit: until then a part goes. */
    rt_status status;
    size_t kept;
    bool is_stopped = false;
    for (;;) {
        uint64_t before_ns = io_world_now_ns();
        kept = sent;
        status = rt_net_send(pair[0], big, sizeof(big), &sent, 5);
        if (RT_FAILED(status)) {
            break;
        }
        CHECK(sent > 0);
        is_stopped = is_stopped || sent < sizeof(big);
        CHECK(sent == sizeof(big) || io_world_now_ns() - before_ns >= 5 * RTI_NS_PER_MS);
    }
    CHECK(is_stopped);
    CHECK_STATUS(status, RT_ERR_TIMEOUT);
    CHECK_EQ(sent, kept);
    CHECK_OK(rt_net_close(pair[0]));
    CHECK_OK(rt_net_close(pair[1]));
}

TEST(net_send_that_runs_out_of_time_reports_what_went_and_then_the_timeout)
{
    run_alone(send_more_than_time_allows);
}

static void lengths_of_zero(void *arg)
{
    size_t count = 5;
    (void)arg;
    io_world_tcp_pair(pair);
    CHECK_OK(rt_net_recv(pair[0], NULL, 0, &count, -1));
    CHECK_EQ(count, 0);
    count = 5;
    CHECK_OK(rt_net_send(pair[0], NULL, 0, &count, -1));
    CHECK_EQ(count, 0);
    CHECK_OK(rt_net_close(pair[0]));
    CHECK_OK(rt_net_close(pair[1]));
}

TEST(net_length_zero_succeeds_at_once_and_moves_nothing)
{
    run_alone(lengths_of_zero);
}

/* ---- limits of time ---- */

static void time_limits(void *arg)
{
    char byte = 'x';
    size_t count = 99;
    uint16_t port;
    int fd = -7;
    (void)arg;
    io_world_tcp_pair(pair);
    int listener = io_world_listen(&port);
    CHECK_STATUS(rt_net_recv(pair[0], &byte, 1, &count, 0), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_net_accept(listener, &fd, 0), RT_ERR_WOULDBLOCK);
    for (int32_t ms = 1; ms <= 8; ms *= 2) {
        uint64_t before_ns = io_world_now_ns();
        CHECK_STATUS(rt_net_recv(pair[0], &byte, 1, &count, ms), RT_ERR_TIMEOUT);
        CHECK(io_world_now_ns() - before_ns >= (uint64_t)ms * RTI_NS_PER_MS);
        before_ns = io_world_now_ns();
        CHECK_STATUS(rt_net_accept(listener, &fd, ms), RT_ERR_TIMEOUT);
        CHECK(io_world_now_ns() - before_ns >= (uint64_t)ms * RTI_NS_PER_MS);
    }
    CHECK(byte == 'x' && count == 99 && fd == -7);
    CHECK_OK(rt_net_send(pair[1], "y", 1, &count, -1));
    CHECK_OK(rt_net_recv(pair[0], &byte, 1, &count, INT32_MAX));
    CHECK_EQ(byte, 'y');
    CHECK_OK(rt_net_close(pair[0]));
    CHECK_OK(rt_net_close(pair[1]));
    CHECK_OK(rt_net_close(listener));
}

TEST(net_limits_are_never_early_and_a_timeout_consumes_nothing)
{
    run_alone(time_limits);
}

/* A call that must not wait looks at this moment, also where the port knows that nothing was there
 * a moment ago. */
static void look_now(void *arg)
{
    char byte = 0;
    size_t count;
    (void)arg;
    io_world_tcp_pair(pair);
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(rt_net_recv(pair[0], &byte, 1, &count, 1), RT_ERR_TIMEOUT);
        CHECK_STATUS(rt_net_recv(pair[0], &byte, 1, &count, 0), RT_ERR_WOULDBLOCK);
        char sent = (char)('a' + i);
        CHECK_EQ(send(pair[1], &sent, 1, 0), 1);
        CHECK_OK(rt_net_recv(pair[0], &byte, 1, &count, 0));
        CHECK_EQ(byte, sent);
    }
    CHECK_OK(rt_net_close(pair[0]));
    CHECK_OK(rt_net_close(pair[1]));
}

TEST(net_call_that_must_not_wait_finds_what_came_a_moment_ago)
{
    run_alone(look_now);
}

/* A byte and a limit that come in one look, in either order: port and wheel are filled while the
 * reader is parked and before the scheduler looks again. */
#define RACE_MS 100

struct race {
    bool is_byte_first;
    bool is_late; /* the machine was busy and the limit was there before the byte: not the case */
    uint64_t limit_ns;
    rt_status_code code;
    size_t received;
};

static void race_reader(void *arg)
{
    struct race *race = arg;
    char byte = 0;
    race->limit_ns = io_world_now_ns() + RACE_MS * RTI_NS_PER_MS;
    race->code = rt_net_recv(pair[0], &byte, 1, &race->received, RACE_MS).code;
    if (race->code == RT_OK) {
        CHECK_EQ(byte, 'r');
    } else {
        /* Nothing was taken by the call that timed out. */
        CHECK_OK(rt_net_recv(pair[0], &byte, 1, &race->received, -1));
        CHECK_EQ(byte, 'r');
    }
}

static void spin_ms(uint64_t ms)
{
    uint64_t until_ns = io_world_now_ns() + ms * RTI_NS_PER_MS;
    while (io_world_now_ns() < until_ns) {
    }
}

static void race_writer(void *arg)
{
    struct race *race = arg;
    io_world_await_requests(1);
    if (race->is_byte_first) {
        CHECK_EQ(send(pair[1], "r", 1, 0), 1);
        race->is_late = io_world_now_ns() >= race->limit_ns;
        spin_ms(RACE_MS + 5);
        return;
    }
    io_world_sleep_ms(2 * RACE_MS);
    CHECK_EQ(send(pair[1], "r", 1, 0), 1);
}

static void race_run(struct race *race)
{
    io_world_start(0);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    io_world_go(race_reader, race);
    io_world_go(race_writer, race);
    io_world_run();
    CHECK_OK(rt_net_close(pair[0]));
    CHECK_OK(rt_net_close(pair[1]));
    io_world_finish();
}

TEST(net_completion_wins_when_byte_and_limit_come_in_one_look)
{
    struct race race = {.is_byte_first = true};
    do {
        race_run(&race);
    } while (race.is_late);
    CHECK_EQ(race.code, RT_OK);
    CHECK_EQ(race.received, 1);
}

TEST(net_byte_after_the_limit_is_kept_for_the_next_call)
{
    struct race race = {.is_byte_first = false};
    race_run(&race);
    CHECK_EQ(race.code, RT_ERR_TIMEOUT);
}

/* ---- refusals ---- */

static void refusals(void *arg)
{
    uint16_t port;
    int fd = -7;
    (void)arg;
    int listener = io_world_listen(&port);
    int second = -7;
    const rt_net_listen_config taken = {.address = "127.0.0.1", .port = port};
    rt_status status = rt_net_listen_ex(&taken, &second);
    CHECK_STATUS(status, RT_ERR_IO);
    CHECK_STR(status.msg, "the address is in use");
    CHECK_OK(rt_net_close(listener));
    status = rt_net_connect("127.0.0.1", port, &fd, -1);
    CHECK_STATUS(status, RT_ERR_IO);
    CHECK_STR(status.msg, "the connection was refused");
    CHECK(fd == -7 && second == -7);
}

TEST(net_refused_connect_and_a_taken_port_are_io_errors_with_a_sentence)
{
    run_alone(refusals);
}

static void bad_arguments(void *arg)
{
    char byte = 'k';
    size_t count = 99;
    int fd = -7;
    uint16_t port = 4242;
    char long_name[RT_NET_HOST_MAX + 2];
    (void)arg;
    memset(long_name, 'a', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = '\0';
    io_world_tcp_pair(pair);
    CHECK_STATUS(rt_net_listen(0, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_net_listen_ex(NULL, &fd), RT_ERR_INVALID);
    CHECK_STATUS(rt_net_listen_ex(&(rt_net_listen_config){.backlog = -1}, &fd), RT_ERR_INVALID);
    CHECK_STATUS(rt_net_listen_ex(&(rt_net_listen_config){.address = "localhost"}, &fd),
                 RT_ERR_INVALID);
    CHECK_STATUS(rt_net_accept(pair[0], NULL, 0), RT_ERR_INVALID);
    CHECK_STATUS(rt_net_accept(pair[0], &fd, 0), RT_ERR_INVALID);
    CHECK_STATUS(rt_net_accept(pair[0], &fd, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_net_connect(NULL, 80, &fd, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_net_connect("127.0.0.1", 80, NULL, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_net_connect("127.0.0.1", 0, &fd, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_net_connect("", 80, &fd, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_net_connect(long_name, 80, &fd, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_net_recv(pair[0], NULL, 1, &count, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_net_recv(pair[0], &byte, 1, NULL, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_net_send(pair[0], NULL, 1, &count, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_net_send(pair[0], &byte, 1, NULL, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_net_local_port(pair[0], NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_net_resolve(NULL, 1, &(rt_net_address){.port = 0}, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_net_resolve("localhost", 1, NULL, -1), RT_ERR_INVALID);
    CHECK_OK(rt_net_close(pair[0]));
    CHECK_OK(rt_net_close(pair[1]));
    CHECK(byte == 'k' && count == 99 && fd == -7 && port == 4242);
}

TEST(net_null_pointers_bad_ports_and_bad_names_are_invalid_and_change_nothing)
{
    run_alone(bad_arguments);
}

static void bad_descriptors(void *arg)
{
    char byte = 'k';
    size_t count = 99;
    int fd = -7;
    uint16_t port = 4242;
    (void)arg;
    io_world_tcp_pair(pair);
    int stale = pair[1];
    CHECK_OK(rt_net_close(pair[1]));
    const int bad[] = {-1, INT32_MIN, stale, IO_WORLD_FDS_MAX - 1};
    for (size_t i = 0; i < RTI_COUNT_OF(bad); i++) {
        CHECK_STATUS(rt_net_recv(bad[i], &byte, 1, &count, -1), RT_ERR_INVALID);
        CHECK_STATUS(rt_net_send(bad[i], &byte, 1, &count, -1), RT_ERR_INVALID);
        CHECK_STATUS(rt_net_accept(bad[i], &fd, -1), RT_ERR_INVALID);
        CHECK_STATUS(rt_net_close(bad[i]), RT_ERR_INVALID);
        CHECK_STATUS(rt_net_local_port(bad[i], &port), RT_ERR_INVALID);
    }
    /* Beyond what the runtime was made for. */
    CHECK_STATUS(rt_net_recv(INT32_MAX, &byte, 1, &count, -1), RT_ERR_RESOURCE_EXHAUSTED);
    /* A socket that does not listen; the runtime's own descriptors. */
    CHECK(RT_FAILED(rt_net_accept(pair[0], &fd, 0)));
    CHECK_STATUS(rt_net_close(io_world.port.poller.sentry.fd), RT_ERR_INVALID);
    CHECK_STATUS(rt_net_close(io_world.port.poller.sentry.bell_fd), RT_ERR_INVALID);
    CHECK_OK(rt_net_close(pair[0]));
    CHECK(byte == 'k' && count == 99 && fd == -7 && port == 4242);
}

TEST(net_bad_and_stale_descriptors_are_invalid_and_change_nothing)
{
    run_alone(bad_descriptors);
}

static void *call_from_thread(void *arg)
{
    char byte = 'k';
    size_t count = 99;
    int fd = -7;
    rt_net_address address;
    (void)arg;
    CHECK_STATUS(rt_net_listen(0, &fd), RT_ERR_THREAD);
    CHECK_STATUS(rt_net_accept(0, &fd, 0), RT_ERR_THREAD);
    CHECK_STATUS(rt_net_connect("127.0.0.1", 1, &fd, -1), RT_ERR_THREAD);
    CHECK_STATUS(rt_net_recv(0, &byte, 1, &count, 0), RT_ERR_THREAD);
    CHECK_STATUS(rt_net_send(0, &byte, 1, &count, 0), RT_ERR_THREAD);
    CHECK_STATUS(rt_net_close(0), RT_ERR_THREAD);
    CHECK_STATUS(rt_net_resolve("localhost", 1, &address, -1), RT_ERR_THREAD);
    CHECK_STATUS(rt_udp_open(NULL, 0, &fd), RT_ERR_THREAD);
    CHECK_STATUS(rt_unix_listen("@orrery", &fd), RT_ERR_THREAD);
    CHECK_STATUS(rt_unix_connect("@orrery", &fd, 0), RT_ERR_THREAD);
    CHECK(byte == 'k' && count == 99 && fd == -7);
    return NULL;
}

TEST(net_calls_from_a_foreign_thread_are_refused_by_an_engine_with_one_worker)
{
    CHECK_OK(rt_init());
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, call_from_thread, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    rt_cleanup();
}

static void ask_from_main(struct rti_post *post)
{
    (void)post;
    char byte = 'k';
    size_t count;
    int fd = -7;
    uint16_t port;
    int listener = io_world_listen(&port);
    CHECK_STATUS(rt_net_accept(listener, &fd, -1), RT_ERR_THREAD);
    CHECK_STATUS(rt_net_accept(listener, &fd, 1), RT_ERR_THREAD);
    CHECK_STATUS(rt_net_accept(listener, &fd, 0), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_net_recv(listener, &byte, 1, &count, -1), RT_ERR_THREAD);
    CHECK_STATUS(rt_net_connect("127.0.0.1", port, &fd, -1), RT_ERR_THREAD);
    CHECK_OK(rt_net_close(listener));
}

TEST(net_calls_from_a_callback_may_listen_and_close_but_not_wait)
{
    struct rti_post post = {.call = ask_from_main};
    io_world_start(0);
    rti_sched_post(&io_world.sched, &post);
    io_world_finish();
}

TEST(net_calls_from_main_outside_of_a_run_block_it)
{
    io_world_start(0);
    int fd = -7;
    int accepted;
    uint16_t port;
    int listener = io_world_listen(&port);
    CHECK_STATUS(rt_net_accept(listener, &fd, 1), RT_ERR_TIMEOUT);
    CHECK_EQ(fd, -7);
    CHECK_OK(rt_net_connect("127.0.0.1", port, &fd, -1));
    CHECK_OK(rt_net_accept(listener, &accepted, -1));
    CHECK_OK(rt_net_close(accepted));
    CHECK_OK(rt_net_close(fd));
    CHECK_OK(rt_net_close(listener));
    io_world_finish();
}

/* ---- running out ---- */

#define WAITERS RT_COMPLETION_QUEUE_SIZE

static size_t waiters_refused;

static void wait_for_a_byte(void *arg)
{
    char byte;
    size_t received;
    (void)arg;
    rt_status status = rt_net_recv(pair[0], &byte, 1, &received, -1);
    if (status.code == RT_ERR_NOMEM) {
        waiters_refused++;
    } else {
        CHECK_OK(status);
        CHECK_EQ(received, 1);
    }
}

static void start_waiters(void)
{
    io_world_tcp_pair(pair);
    for (size_t i = 0; i < WAITERS; i++) {
        io_world_go(wait_for_a_byte, NULL);
    }
    io_world_await_requests(WAITERS);
}

static void fill_the_pool(void *arg)
{
    size_t sent;
    (void)arg;
    start_waiters();
    io_world_go(wait_for_a_byte, NULL);
    io_world_yield();
    CHECK_EQ(waiters_refused, 1);
    CHECK_EQ(rti_io_in_use(&io_world.io), WAITERS);
    /* One byte for each: those who wait get them, in order, and there is room again. */
    char bytes[WAITERS] = {0};
    CHECK_EQ(send(pair[1], bytes, sizeof(bytes), 0), WAITERS);
    io_world_await_requests(0);
    CHECK_OK(rt_net_send(pair[0], "x", 1, &sent, -1));
    CHECK_OK(rt_net_close(pair[0]));
    CHECK_OK(rt_net_close(pair[1]));
}

TEST(net_full_pool_is_nomem_changes_nothing_and_recovers)
{
    run_alone(fill_the_pool);
    CHECK_EQ(waiters_refused, 1);
}

/* With every record in use, what can be done at once is done, and what cannot is refused. */
static void transfer_beside_a_full_pool(void *arg)
{
    size_t count = 0;
    char byte = 0;
    (void)arg;
    start_waiters();
    CHECK_OK(rt_net_send(pair[0], "x", 1, &count, -1));
    CHECK_EQ(count, 1);
    CHECK_OK(rt_net_recv(pair[1], &byte, 1, &count, -1));
    CHECK_EQ(byte, 'x');
    CHECK_STATUS(rt_net_recv(pair[1], &byte, 1, &count, 0), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_net_recv(pair[1], &byte, 1, &count, 5), RT_ERR_NOMEM);
    CHECK_EQ(rti_io_in_use(&io_world.io), WAITERS);
    char bytes[WAITERS] = {0};
    CHECK_OK(rt_net_send(pair[1], bytes, sizeof(bytes), &count, -1));
    CHECK_EQ(count, WAITERS);
    io_world_await_requests(0);
    CHECK_OK(rt_net_close(pair[0]));
    CHECK_OK(rt_net_close(pair[1]));
}

TEST(net_transfer_that_need_not_wait_takes_no_record)
{
    run_alone(transfer_beside_a_full_pool);
}

static int starved_fd = -1;

static void accept_starved(void *arg)
{
    int *listener = arg;
    CHECK_OK(rt_net_accept(*listener, &starved_fd, -1));
}

static void out_of_descriptors(void *arg)
{
    uint16_t port;
    struct rlimit limit;
    (void)arg;
    int listener = io_world_listen(&port);
    int client = -1;
    CHECK_OK(rt_net_connect("127.0.0.1", port, &client, -1));
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    struct rlimit tight = {.rlim_cur = (rlim_t)client + 1, .rlim_max = limit.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
    int fd = -7;
    CHECK_STATUS(rt_net_connect("127.0.0.1", port, &fd, -1), RT_ERR_RESOURCE_EXHAUSTED);
    CHECK_STATUS(rt_net_listen(0, &fd), RT_ERR_RESOURCE_EXHAUSTED);
    io_world_go(accept_starved, &listener);
    io_world_await_requests(1);
    uint64_t blocks = io_world.port.poller.blocks;
    io_world_sleep_ms(30);
    /* It waits, and does not spin meanwhile. */
    CHECK_EQ(starved_fd, -1);
    CHECK(io_world.port.poller.blocks - blocks <= 4);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    io_world_await_requests(0);
    CHECK(starved_fd >= 0);
    CHECK_OK(rt_net_close(starved_fd));
    CHECK_OK(rt_net_close(client));
    CHECK_OK(rt_net_close(listener));
}

TEST(net_accept_without_a_free_descriptor_waits_and_does_not_spin)
{
    run_alone(out_of_descriptors);
}

/* ---- many ---- */

#define MANY 1000

static int many_listener;
static uint16_t many_port;
static int many_server[MANY];
static int many_client[MANY];

static void accept_many(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < MANY; i++) {
        CHECK_OK(rt_net_accept(many_listener, &many_server[i], -1));
    }
}

static void connect_many(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < MANY; i++) {
        CHECK_OK(rt_net_connect("127.0.0.1", many_port, &many_client[i], -1));
    }
}

/* Each of 8 fibers echoes on every 8th connection, one round after another. */
static void echo_some(void *arg)
{
    size_t first = (size_t)(uintptr_t)arg;
    for (size_t i = first; i < MANY; i += 8) {
        uint32_t word;
        size_t count = 0;
        CHECK_OK(rt_net_recv(many_server[i], &word, sizeof(word), &count, -1));
        CHECK_EQ(count, sizeof(word));
        CHECK_OK(rt_net_send(many_server[i], &word, sizeof(word), &count, -1));
        CHECK_OK(rt_net_close(many_server[i]));
    }
}

static void talk_many(void *arg)
{
    size_t count;
    (void)arg;
    for (size_t i = 0; i < MANY; i++) {
        uint32_t word = (uint32_t)i * 2654435761U;
        CHECK_OK(rt_net_send(many_client[i], &word, sizeof(word), &count, -1));
    }
    for (size_t i = 0; i < MANY; i++) {
        uint32_t word = 0;
        CHECK_OK(rt_net_recv(many_client[i], &word, sizeof(word), &count, -1));
        CHECK_EQ(word, (uint32_t)i * 2654435761U);
        CHECK_OK(rt_net_close(many_client[i]));
    }
}

TEST(net_keeps_a_thousand_connections_apart)
{
    io_world_start(0);
    many_listener = io_world_listen(&many_port);
    io_world_go(accept_many, NULL);
    io_world_go(connect_many, NULL);
    io_world_run();
    for (uintptr_t i = 0; i < 8; i++) {
        io_world_go(echo_some, (void *)i);
    }
    io_world_go(talk_many, NULL);
    io_world_run();
    /* The server's word is the one its own client sent only if the pairs match; accept order and
     * connect order are the same on the loopback, and any mix-up shows in talk_many. */
    CHECK_OK(rt_net_close(many_listener));
    io_world_finish();
}

/* Closing gives the number out again at once: what waited on the old one never hears the new. */
static void reuse_numbers(void *arg)
{
    (void)arg;
    for (int i = 0; i < 50; i++) {
        int fds[2];
        char byte = 0;
        size_t count;
        io_world_tcp_pair(fds);
        CHECK_OK(rt_net_send(fds[1], "o", 1, &count, -1));
        CHECK_STATUS(rt_net_recv(fds[1], &byte, 1, &count, 0), RT_ERR_WOULDBLOCK);
        CHECK_OK(rt_net_close(fds[0]));
        CHECK_OK(rt_net_close(fds[1]));
        io_world_tcp_pair(fds);
        CHECK_STATUS(rt_net_recv(fds[0], &byte, 1, &count, 0), RT_ERR_WOULDBLOCK);
        CHECK_STATUS(rt_net_recv(fds[1], &byte, 1, &count, 0), RT_ERR_WOULDBLOCK);
        CHECK_OK(rt_net_close(fds[0]));
        CHECK_OK(rt_net_close(fds[1]));
    }
}

TEST(net_a_reused_number_hears_nothing_of_its_former_owner)
{
    run_alone(reuse_numbers);
}
