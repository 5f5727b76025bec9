/* SPDX-License-Identifier: Apache-2.0 */
/* The platform machine on the Linux port: every op it knows, cancels, ends, nothing leaked. */
#define _GNU_SOURCE
#define RTI_MODULE "machine_platform_test"
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/machines.h"
#include "support/port_fixture.h"

static rt_loop loop;
static struct puppet app;
static rt_machine_slot slots[8];

static void start(void)
{
    fixture_open(NULL);
    app = (struct puppet){.ticks = 0};
    const rt_loop_config config = {.port = port,
                                   .app = &app.machine,
                                   .app_config = puppet_config(),
                                   .slots = slots,
                                   .slots_count = 8};
    CHECK_OK(rt_loop_init(&loop, &config));
}

static void finish(void)
{
    rt_loop_close(&loop);
    CHECK_OK(rt_loop_run(&loop));
    CHECK(app.is_closed);
    rt_loop_deinit(&loop);
    fixture_close();
}

static void submit(rt_io_op *op, uint32_t code)
{
    rt_op_init(&op->base, code);
    CHECK_OK(rt_op_submit(&app.machine, &op->base));
}

static void await(const rt_io_op *op)
{
    while (rt_op_is_submitted(&op->base)) {
        CHECK(rt_loop_turn(&loop, RT_TIME_NEVER));
    }
    app.count[RT_QUEUE_COMPLETIONS] = 0;
}

static void turns(unsigned count)
{
    while (count-- > 0) {
        rt_loop_turn(&loop, 0);
    }
}

#define CHECK_DONE(op, wanted_status, wanted_result)                                               \
    do {                                                                                           \
        await(op);                                                                                 \
        CHECK_STR(rt_status_name((op)->base.status), #wanted_status);                              \
        CHECK_EQ((op)->base.result, wanted_result);                                                \
    } while (0)

static int await_fd(const rt_io_op *op)
{
    await(op);
    CHECK_STR(rt_status_name(op->base.status), "RT_OK");
    CHECK(op->base.result > 2);
    return (int)op->base.result;
}

static void close_fd(int fd)
{
    rt_io_op op = {.fd = fd};
    submit(&op, RT_OP_FD_CLOSE);
    CHECK_DONE(&op, RT_OK, 0);
}

static rt_net_address loopback_address(void)
{
    return (rt_net_address){.ip = {127, 0, 0, 1}};
}

static int listen_here(rt_net_address *address)
{
    rt_io_op op = {.address = loopback_address()};
    submit(&op, RT_OP_LISTEN);
    int fd = await_fd(&op);
    rt_io_op local = {.fd = fd};
    submit(&local, RT_OP_LOCAL_ADDRESS);
    CHECK_DONE(&local, RT_OK, 0);
    CHECK(local.address.port != 0);
    *address = local.address;
    return fd;
}

static void pair_here(int fds[2])
{
    rt_net_address address;
    int listener = listen_here(&address);
    rt_io_op accepting = {.fd = listener};
    rt_io_op connecting = {.address = address};
    submit(&accepting, RT_OP_ACCEPT);
    submit(&connecting, RT_OP_CONNECT);
    fds[0] = await_fd(&accepting);
    fds[1] = await_fd(&connecting);
    close_fd(listener);
}

TEST(platform_speaks_tcp)
{
    int fds[2];
    char text[16];
    start();
    size_t before = count_fds();
    pair_here(fds);
    rt_io_op receiving = {.fd = fds[0], .buffer = text, .length = sizeof(text)};
    submit(&receiving, RT_OP_RECV);
    turns(3);
    CHECK(rt_op_is_submitted(&receiving.base));
    rt_io_op sending = {.fd = fds[1], .buffer = "hello", .length = 5};
    submit(&sending, RT_OP_SEND);
    CHECK_DONE(&sending, RT_OK, 5);
    CHECK_DONE(&receiving, RT_OK, 5);
    CHECK_EQ(memcmp(text, "hello", 5), 0);
    sending.length = 0;
    submit(&sending, RT_OP_SEND);
    CHECK_DONE(&sending, RT_OK, 0);
    close_fd(fds[1]);
    submit(&receiving, RT_OP_RECV);
    CHECK_DONE(&receiving, RT_OK, 0);
    close_fd(fds[0]);
    CHECK_EQ(count_fds(), before);
    finish();
}

/* The router begins what it is told of at once, but not what is to be cancelled by then. */
TEST(platform_does_not_begin_what_is_cancelled_before_it_is_routed)
{
    int fds[2];
    char text[4];
    start();
    pair_here(fds);
    rt_io_op sending = {.fd = fds[1], .buffer = "hello", .length = 5};
    submit(&sending, RT_OP_SEND);
    CHECK(rt_op_cancel(&app.machine, &sending.base));
    CHECK_DONE(&sending, RT_ERR_CANCELLED, 0);
    CHECK_EQ(recv(fds[0], text, sizeof(text), MSG_DONTWAIT), -1);
    close_fd(fds[1]);
    close_fd(fds[0]);
    finish();
}

TEST(platform_sends_all_of_it_in_pieces)
{
    static unsigned char sent[1 << 20];
    static unsigned char got[1 << 20];
    int fds[2];
    size_t total = 0;
    start();
    pair_here(fds);
    for (size_t i = 0; i < sizeof(sent); i++) {
        sent[i] = (unsigned char)(i * 7 + i / 256);
    }
    int small = 4096;
    CHECK_EQ(setsockopt(fds[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
    rt_io_op sending = {.fd = fds[1], .buffer = sent, .length = sizeof(sent)};
    submit(&sending, RT_OP_SEND);
    while (total < sizeof(got)) {
        rt_io_op receiving = {.fd = fds[0], .buffer = got + total, .length = sizeof(got) - total};
        submit(&receiving, RT_OP_RECV);
        await(&receiving);
        CHECK(receiving.base.status == RT_OK && receiving.base.result > 0);
        total += (size_t)receiving.base.result;
    }
    CHECK_DONE(&sending, RT_OK, (int64_t)sizeof(sent));
    CHECK_EQ(memcmp(sent, got, sizeof(got)), 0);
    close_fd(fds[0]);
    close_fd(fds[1]);
    finish();
}

TEST(platform_cancel_gives_the_one_answer_of_the_port)
{
    int fds[2];
    char text[16];
    start();
    pair_here(fds);
    rt_io_op receiving = {.fd = fds[0], .buffer = text, .length = sizeof(text)};
    submit(&receiving, RT_OP_RECV);
    turns(2);
    CHECK(rt_op_cancel(&app.machine, &receiving.base));
    CHECK_DONE(&receiving, RT_ERR_CANCELLED, 0);
    /* Cancelled with its data already there: whichever came first, one answer. */
    submit(&receiving, RT_OP_RECV);
    turns(2);
    CHECK_EQ(write(fds[1], "x", 1), 1);
    CHECK(rt_op_cancel(&app.machine, &receiving.base));
    await(&receiving);
    CHECK(receiving.base.status == RT_ERR_CANCELLED ||
          (receiving.base.status == RT_OK && receiving.base.result == 1));
    /* A descriptor that is closed under an op. */
    if (receiving.base.status == RT_ERR_CANCELLED) {
        submit(&receiving, RT_OP_RECV);
        CHECK_DONE(&receiving, RT_OK, 1);
    }
    submit(&receiving, RT_OP_RECV);
    turns(2);
    close_fd(fds[0]);
    CHECK_DONE(&receiving, RT_ERR_CLOSED, 0);
    close_fd(fds[1]);
    finish();
}

/* Writes what does not fit and returns what the ring holds at the end. */
static size_t fill_ring(rt_recv_policy policy, rt_recv_ring *ring, unsigned char *out)
{
    static unsigned char memory[16];
    int fds[2];
    start();
    pair_here(fds);
    CHECK_OK(rt_recv_ring_init(ring, memory, sizeof(memory), policy));
    rt_io_op standing = {.fd = fds[0], .ring = ring};
    submit(&standing, RT_OP_RECV_RING);
    turns(2);
    for (unsigned i = 0; i < 5; i++) {
        unsigned rings = app.count[RT_QUEUE_NOTIFICATIONS];
        unsigned char part[6];
        memset(part, 'a' + (int)i, sizeof(part));
        CHECK_EQ(write(fds[1], part, sizeof(part)), sizeof(part));
        while (ring->stats.received_bytes < (i + 1) * 6 ||
               app.count[RT_QUEUE_NOTIFICATIONS] == rings) {
            rt_loop_turn(&loop, RT_TIME_NEVER);
        }
        CHECK(rt_op_is_submitted(&standing.base));
    }
    close_fd(fds[1]);
    CHECK_DONE(&standing, RT_ERR_CLOSED, 0);
    close_fd(fds[0]);
    finish();
    return rt_recv_ring_read(ring, out, 100);
}

TEST(platform_receives_into_a_ring_and_drops_the_newest)
{
    rt_recv_ring ring;
    unsigned char out[100];
    CHECK_EQ(fill_ring(RT_RECV_DROP_NEWEST, &ring, out), 16);
    CHECK_EQ(memcmp(out, "aaaaaabbbbbbcccc", 16), 0);
    CHECK_EQ(ring.stats.received_bytes, 30);
    CHECK_EQ(ring.stats.dropped_bytes, 14);
}

TEST(platform_receives_into_a_ring_and_overwrites_the_oldest)
{
    rt_recv_ring ring;
    unsigned char out[100];
    CHECK_EQ(fill_ring(RT_RECV_OVERWRITE_OLDEST, &ring, out), 16);
    CHECK_EQ(memcmp(out, "ccccddddddeeeeee", 16), 0);
    CHECK_EQ(ring.stats.overwritten_bytes, 14);
    CHECK_EQ(ring.stats.dropped_bytes, 0);
}

/* The port has a part of the ring all the time; who takes bytes out does not get in its way. */
TEST(platform_fills_a_ring_while_bytes_are_taken_out)
{
    static unsigned char memory[16];
    rt_recv_ring ring;
    int fds[2];
    unsigned char next_in = 0;
    unsigned char next_out = 0;
    start();
    pair_here(fds);
    CHECK_OK(rt_recv_ring_init(&ring, memory, sizeof(memory), RT_RECV_DROP_NEWEST));
    rt_io_op standing = {.fd = fds[0], .ring = &ring};
    submit(&standing, RT_OP_RECV_RING);
    turns(2);
    for (unsigned i = 0; i < 200; i++) {
        unsigned char out[16];
        unsigned char part[5];
        size_t size = 1 + i % 5;
        for (size_t k = 0; k < size; k++) {
            part[k] = next_in++;
        }
        CHECK_EQ(write(fds[1], part, size), size);
        uint64_t wanted = ring.stats.received_bytes + size;
        while (ring.stats.received_bytes < wanted) {
            rt_loop_turn(&loop, RT_TIME_NEVER);
        }
        turns(1);
        /* Some stay, so that the free part begins anywhere. */
        size_t taken = rt_recv_ring_read(&ring, out, ring.count > 8 ? 7 : i % 4);
        for (size_t k = 0; k < taken; k++) {
            CHECK_EQ(out[k], next_out++);
        }
        app.count[RT_QUEUE_NOTIFICATIONS] = 0;
    }
    CHECK_EQ(ring.stats.dropped_bytes, 0);
    close_fd(fds[1]);
    CHECK_DONE(&standing, RT_ERR_CLOSED, 0);
    close_fd(fds[0]);
    finish();
}

TEST(platform_lets_one_op_fill_a_ring)
{
    static unsigned char memory[16];
    rt_recv_ring ring;
    int fds[2];
    start();
    pair_here(fds);
    CHECK_OK(rt_recv_ring_init(&ring, memory, sizeof(memory), RT_RECV_DROP_NEWEST));
    rt_io_op first = {.fd = fds[0], .ring = &ring};
    rt_io_op second = {.fd = fds[1], .ring = &ring};
    submit(&first, RT_OP_RECV_RING);
    submit(&second, RT_OP_RECV_RING);
    CHECK_DONE(&second, RT_ERR_STATE, 0);
    CHECK(rt_op_cancel(&app.machine, &first.base));
    CHECK_DONE(&first, RT_ERR_CANCELLED, 0);
    submit(&second, RT_OP_RECV_RING); /* free again */
    close_fd(fds[0]);
    CHECK_DONE(&second, RT_ERR_CLOSED, 0);
    CHECK(ring.filler == NULL);
    close_fd(fds[1]);
    finish();
}

TEST(platform_ends_a_standing_receive_by_a_cancel)
{
    static unsigned char memory[16];
    rt_recv_ring ring;
    int fds[2];
    start();
    pair_here(fds);
    CHECK_OK(rt_recv_ring_init(&ring, memory, sizeof(memory), RT_RECV_DROP_NEWEST));
    rt_io_op standing = {.fd = fds[0], .ring = &ring};
    submit(&standing, RT_OP_RECV_RING);
    turns(2);
    CHECK(rt_op_cancel(&app.machine, &standing.base));
    CHECK_DONE(&standing, RT_ERR_CANCELLED, 0);
    /* Cancelled in the turn in which data comes. */
    submit(&standing, RT_OP_RECV_RING);
    turns(2);
    CHECK_EQ(write(fds[1], "data", 4), 4);
    CHECK(rt_op_cancel(&app.machine, &standing.base));
    CHECK_DONE(&standing, RT_ERR_CANCELLED, 0);
    standing.ring = NULL;
    submit(&standing, RT_OP_RECV_RING);
    CHECK_DONE(&standing, RT_ERR_INVALID, 0);
    close_fd(fds[0]);
    close_fd(fds[1]);
    finish();
}

TEST(platform_speaks_udp)
{
    static unsigned char memory[256];
    char text[16];
    start();
    rt_io_op opening = {.address = loopback_address()};
    submit(&opening, RT_OP_UDP_OPEN);
    int fd = await_fd(&opening);
    rt_io_op local = {.fd = fd};
    submit(&local, RT_OP_LOCAL_ADDRESS);
    CHECK_DONE(&local, RT_OK, 0);
    rt_io_op receiving = {.fd = fd, .buffer = text, .length = sizeof(text)};
    submit(&receiving, RT_OP_UDP_RECV);
    rt_io_op sending = {.fd = fd, .buffer = "datagram", .length = 8, .address = local.address};
    submit(&sending, RT_OP_UDP_SEND);
    CHECK_DONE(&sending, RT_OK, 8);
    CHECK_DONE(&receiving, RT_OK, 8);
    CHECK_EQ(memcmp(text, "datagram", 8), 0);
    CHECK_EQ(receiving.address.port, local.address.port);
    rt_recv_ring ring;
    size_t length;
    CHECK_OK(rt_recv_ring_init(&ring, memory, sizeof(memory), RT_RECV_DROP_NEWEST));
    rt_io_op standing = {.fd = fd, .ring = &ring};
    submit(&standing, RT_OP_UDP_RING);
    for (unsigned i = 0; i < 3; i++) {
        submit(&sending, RT_OP_UDP_SEND);
        await(&sending);
    }
    while (ring.stats.received_entries < 3) {
        rt_loop_turn(&loop, RT_TIME_NEVER);
    }
    for (unsigned i = 0; i < 3; i++) {
        rt_net_address from;
        CHECK(rt_recv_ring_next_from(&ring, text, sizeof(text), &length, &from));
        CHECK_EQ(length, 8);
        CHECK_EQ(from.port, local.address.port);
        CHECK_EQ(memcmp(from.ip, local.address.ip, sizeof(from.ip)), 0);
    }
    close_fd(fd);
    CHECK_DONE(&standing, RT_ERR_CLOSED, 0);
    finish();
}

TEST(platform_reads_writes_and_syncs_files)
{
    char path[] = "/tmp/orrery-machine-XXXXXX";
    char text[32];
    close(mkstemp(path));
    start();
    rt_io_op opening = {.buffer = path, .flags = O_RDWR, .mode = 0600};
    submit(&opening, RT_OP_FILE_OPEN);
    int fd = await_fd(&opening);
    rt_io_op writing = {.fd = fd, .buffer = "0123456789", .length = 10, .offset = 2};
    submit(&writing, RT_OP_FILE_WRITE);
    CHECK_DONE(&writing, RT_OK, 10);
    rt_io_op syncing = {.fd = fd};
    submit(&syncing, RT_OP_FILE_SYNC);
    CHECK_DONE(&syncing, RT_OK, 0);
    rt_io_op reading = {.fd = fd, .buffer = text, .length = 5, .offset = 4};
    submit(&reading, RT_OP_FILE_READ);
    CHECK_DONE(&reading, RT_OK, 5);
    CHECK_EQ(memcmp(text, "23456", 5), 0);
    reading.offset = RT_FILE_POSITION;
    reading.length = 4;
    for (unsigned i = 0; i < 3; i++) {
        reading.buffer = text + 4 * i;
        submit(&reading, RT_OP_FILE_READ);
        CHECK_DONE(&reading, RT_OK, 4);
    }
    CHECK_EQ(memcmp(text,
                    "\0\0"
                    "0123456789",
                    12),
             0);
    submit(&reading, RT_OP_FILE_READ);
    CHECK_DONE(&reading, RT_OK, 0);
    submit(&syncing, RT_OP_FILE_CLOSE);
    CHECK_DONE(&syncing, RT_OK, 0);
    submit(&syncing, RT_OP_FILE_SYNC);
    await(&syncing);
    CHECK(syncing.base.status != RT_OK);
    unlink(path);
    finish();
}

static int64_t square(void *arg)
{
    int64_t number = *(int64_t *)arg;
    return number * number;
}

TEST(platform_calls_work_on_the_pool)
{
    int64_t number = 12;
    start();
    rt_io_op working = {.work = square, .arg = &number};
    submit(&working, RT_OP_WORK);
    CHECK_DONE(&working, RT_OK, 144);
    working.work = NULL;
    submit(&working, RT_OP_WORK);
    CHECK_DONE(&working, RT_ERR_INVALID, 0);
    submit(&working, RT_OP_NOP);
    CHECK_DONE(&working, RT_OK, 0);
    finish();
}

TEST(platform_reports_what_fails)
{
    rt_net_address address;
    start();
    size_t before = count_fds();
    int fd = listen_here(&address);
    close_fd(fd);
    rt_io_op op = {.address = address};
    submit(&op, RT_OP_CONNECT);
    CHECK_DONE(&op, RT_ERR_IO, 0); /* refused */
    op.fd = 9999;
    op.buffer = &address;
    op.length = 1;
    submit(&op, RT_OP_RECV);
    await(&op);
    CHECK(op.base.status != RT_OK);
    submit(&op, RT_OP_SEND);
    await(&op);
    CHECK(op.base.status != RT_OK);
    submit(&op, RT_OP_FD_CLOSE);
    await(&op);
    CHECK(op.base.status != RT_OK);
    op.buffer = "/nowhere/at/all";
    submit(&op, RT_OP_FILE_OPEN);
    await(&op);
    CHECK(op.base.status != RT_OK);
    CHECK_EQ(count_fds(), before);
    finish();
}

TEST(platform_close_of_a_loop_answers_what_is_in_flight_and_leaks_no_descriptor)
{
    int fds[2];
    char text[8];
    rt_net_address address;
    static struct puppet child;
    size_t before;
    {
        int probe = open("/dev/null", O_RDONLY);
        close(probe);
    }
    start();
    before = count_fds();
    pair_here(fds);
    int listener = listen_here(&address);
    puppet_child(&app, &child);
    child.is_passive = true; /* takes no completion: what they carry is given back */
    rt_io_op accepting = {.fd = listener};
    rt_op_init(&accepting.base, RT_OP_ACCEPT);
    CHECK_OK(rt_op_submit(&child.machine, &accepting.base));
    int client = client_open(&(struct sockaddr_in){.sin_family = AF_INET,
                                                   .sin_port = htons(address.port),
                                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)});
    while (rti_travel_of(&accepting.base)->stage != RTI_TRAVEL_HOME) {
        rt_loop_turn(&loop, RT_TIME_NEVER);
    }
    rt_io_op receiving = {.fd = fds[0], .buffer = text, .length = sizeof(text)};
    submit(&receiving, RT_OP_RECV);
    turns(2);
    rt_loop_close(&loop);
    CHECK_OK(rt_loop_run(&loop));
    CHECK_EQ(receiving.base.status, RT_ERR_CANCELLED);
    CHECK(!rt_op_is_submitted(&accepting.base));
    rt_loop_deinit(&loop);
    close(client);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_OK(port->ops->close_fd(port, i < 2 ? fds[i] : listener));
    }
    CHECK_EQ(count_fds(), before);
    fixture_close();
}

/* Two loops of a group on one port, turned by hand. */
static rt_loop pair[2];
static struct puppet pair_apps[2];

static void pair_turns(unsigned count)
{
    while (count-- > 0) {
        (void)rt_loop_turn(&pair[0], 0);
        (void)rt_loop_turn(&pair[1], 0);
    }
}

TEST(platform_closes_after_its_last_answer_to_another_loop)
{
    rt_loop *loops[2] = {&pair[0], &pair[1]};
    rt_loop_group group;
    rt_machine_slot pair_slots[2][4];
    char text[8];
    int fds[2];
    fixture_open(NULL);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    rt_loop_group_init(&group, loops, 2);
    for (unsigned i = 0; i < 2; i++) {
        const rt_loop_config config = {.port = port,
                                       .group = &group,
                                       .thread_id = i,
                                       .app = &pair_apps[i].machine,
                                       .app_config = puppet_config(),
                                       .slots = pair_slots[i],
                                       .slots_count = 4};
        CHECK_OK(rt_loop_init(&pair[i], &config));
    }
    rt_io_op receiving = {.fd = fds[0], .buffer = text, .length = sizeof(text)};
    rt_op_init(&receiving.base, RT_OP_RECV);
    receiving.base.destination = rt_loop_platform(&pair[1]);
    CHECK_OK(rt_op_submit(&pair_apps[0].machine, &receiving.base));
    pair_turns(4);
    CHECK(rt_op_is_submitted(&receiving.base));
    /* All that the closing platform still has is an op of the other loop. */
    rt_loop_close(&pair[1]);
    pair_turns(10);
    CHECK_EQ(receiving.base.status, RT_ERR_CANCELLED);
    CHECK(!rt_op_is_submitted(&receiving.base));
    CHECK(rti_loop_of(&pair[1])->is_closed);
    rt_loop_close(&pair[0]);
    pair_turns(10);
    for (unsigned i = 0; i < 2; i++) {
        CHECK(pair_apps[i].is_closed);
        rt_loop_deinit(&pair[i]);
        CHECK_OK(port->ops->close_fd(port, fds[i]));
    }
    fixture_close();
}
