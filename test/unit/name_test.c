/* SPDX-License-Identifier: Apache-2.0 */
/* Names of hosts. The C library's look-up is stood in for by one that the test can hold and that
 * knows a few names of its own; "localhost" goes to the real one. */
#define _GNU_SOURCE
#define RTI_MODULE "name_test"
#include <orrery/rt/net.h>

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <orrery/rt/file.h>

#include "support/io_world.h"
#include "support/test.h"

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_shut;
    unsigned inside;
    unsigned asked;
} gate = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void gate_pass(void)
{
    pthread_mutex_lock(&gate.mutex);
    gate.inside++;
    gate.asked++;
    while (gate.is_shut) {
        pthread_cond_wait(&gate.changed, &gate.mutex);
    }
    gate.inside--;
    pthread_mutex_unlock(&gate.mutex);
}

static void gate_set(bool is_shut)
{
    pthread_mutex_lock(&gate.mutex);
    gate.is_shut = is_shut;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.mutex);
}

static unsigned gate_inside(void)
{
    pthread_mutex_lock(&gate.mutex);
    unsigned inside = gate.inside;
    pthread_mutex_unlock(&gate.mutex);
    return inside;
}

/* The answer of a name "a.b.c.d,e.f.g.h": those addresses, in that order. */
#define FAKES_MAX 16
static struct fake {
    struct addrinfo info;
    struct sockaddr_in address;
} fakes[FAKES_MAX];

static int fake_answer(const char *name, struct addrinfo **list)
{
    char text[256];
    size_t count = 0;
    char *rest = NULL;
    snprintf(text, sizeof(text), "%s", name);
    memset(fakes, 0, sizeof(fakes));
    for (char *part = strtok_r(text, ",", &rest); part != NULL; part = strtok_r(NULL, ",", &rest)) {
        CHECK(count < FAKES_MAX);
        struct fake *fake = &fakes[count];
        fake->address.sin_family = AF_INET;
        CHECK_EQ(inet_pton(AF_INET, part, &fake->address.sin_addr), 1);
        fake->info.ai_family = AF_INET;
        fake->info.ai_addr = (struct sockaddr *)&fake->address;
        fake->info.ai_addrlen = sizeof(fake->address);
        if (count > 0) {
            fakes[count - 1].info.ai_next = &fake->info;
        }
        count++;
    }
    *list = &fakes[0].info;
    return 0;
}

static int (*real_lookup)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
static void (*real_free)(struct addrinfo *);

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **list)
{
    gate_pass();
    if (strcmp(name, "unknown.test") == 0) {
        return EAI_NONAME;
    }
    if (strcmp(name, "servers-are-away.test") == 0) {
        return EAI_AGAIN;
    }
    if (strchr(name, ',') != NULL) {
        return fake_answer(name, list);
    }
    return real_lookup(name, service, hints, list);
}

void freeaddrinfo(struct addrinfo *list)
{
    if (list != &fakes[0].info) {
        real_free(list);
    }
}

static void run_alone(void (*main)(void *arg))
{
    *(void **)&real_lookup = dlsym(RTLD_NEXT, "getaddrinfo");
    *(void **)&real_free = dlsym(RTLD_NEXT, "freeaddrinfo");
    if (real_lookup == NULL || real_free == NULL) {
        test_skip("a statically linked program has no second getaddrinfo");
    }
    io_world_start(0);
    io_world_go(main, NULL);
    io_world_finish();
}

static void resolve_localhost(void *arg)
{
    rt_net_address address;
    char text[RT_NET_ADDRESS_TEXT_SIZE] = "";
    (void)arg;
    CHECK_OK(rt_net_resolve("localhost", 77, &address, -1));
    CHECK_EQ(address.port, 77);
    CHECK_OK(rt_net_address_format(&address, text, sizeof(text)));
    CHECK(strcmp(text, "127.0.0.1") == 0 || strcmp(text, "::1") == 0);
    CHECK_EQ(gate.asked, 1);
}

TEST(name_localhost_is_found)
{
    run_alone(resolve_localhost);
}

static void resolve_numbers(void *arg)
{
    rt_net_address address;
    char text[RT_NET_ADDRESS_TEXT_SIZE];
    (void)arg;
    const char *const numbers[] = {"127.0.0.1", "255.255.255.255", "::", "2001:db8::1",
                                   "fe80::1%1"};
    for (size_t i = 0; i < RTI_COUNT_OF(numbers); i++) {
        CHECK_OK(rt_net_resolve(numbers[i], 1, &address, 0));
        CHECK_OK(rt_net_address_format(&address, text, sizeof(text)));
        CHECK_STR(text, numbers[i]);
    }
    CHECK_STATUS(rt_net_address_format(&address, text, 4), RT_ERR_INVALID);
    CHECK_STATUS(rt_net_address_format(NULL, text, 4), RT_ERR_INVALID);
    CHECK_STATUS(rt_net_address_format(&address, NULL, 4), RT_ERR_INVALID);
    /* Nobody was asked: numbers never leave the scheduler's thread. */
    CHECK_EQ(gate.asked, 0);
}

TEST(name_numeric_addresses_are_not_looked_up)
{
    run_alone(resolve_numbers);
}

static void resolve_unknown(void *arg)
{
    rt_net_address address = {.port = 4242};
    int fd = -7;
    (void)arg;
    CHECK_STATUS(rt_net_resolve("unknown.test", 1, &address, -1), RT_ERR_NOT_FOUND);
    CHECK_STATUS(rt_net_connect("unknown.test", 1, &fd, -1), RT_ERR_NOT_FOUND);
    CHECK_STATUS(rt_net_connect("servers-are-away.test", 1, &fd, -1), RT_ERR_IO);
    CHECK_STATUS(rt_net_resolve("localhost", 1, &address, 0), RT_ERR_WOULDBLOCK);
    CHECK(address.port == 4242 && fd == -7);
}

TEST(name_without_address_is_not_found)
{
    run_alone(resolve_unknown);
}

static void connect_in_turn(void *arg)
{
    uint16_t port;
    int fd = -7;
    (void)arg;
    int listener = io_world_listen(&port);
    /* Nobody listens on the first two; the third is the listener. */
    CHECK_OK(rt_net_connect("127.0.0.3,127.0.0.2,127.0.0.1", port, &fd, -1));
    CHECK_OK(rt_net_close(fd));
    fd = -7;
    rt_status status = rt_net_connect("127.0.0.3,127.0.0.2", port, &fd, 3600000);
    CHECK_STATUS(status, RT_ERR_IO);
    CHECK_STR(status.msg, "the connection was refused");
    CHECK_EQ(fd, -7);
    CHECK_OK(rt_net_close(listener));
}

TEST(name_with_several_addresses_is_tried_one_after_another)
{
    run_alone(connect_in_turn);
}

static void first_address_is_deaf(void *arg)
{
    uint16_t port;
    int deaf = -1;
    int fills[8];
    size_t count = 0;
    int fd = -7;
    (void)arg;
    int listener = io_world_listen(&port);
    const rt_net_listen_config config = {.address = "127.0.0.2", .port = port, .backlog = 1};
    CHECK_OK(rt_net_listen_ex(&config, &deaf));
    while (count < 8 && !RT_FAILED(rt_net_connect("127.0.0.2", port, &fills[count], 20))) {
        count++;
    }
    CHECK(count < 8);
    /* It does not answer, and leaves half of the time to the next. A machine that has no time for
     * us meanwhile may need more. */
    int32_t limit_ms = 1000;
    bool is_late;
    do {
        uint64_t before_ns = io_world_now_ns();
        rt_status status = rt_net_connect("127.0.0.2,127.0.0.1", port, &fd, limit_ms);
        is_late = io_world_now_ns() - before_ns >= (uint64_t)limit_ms * RTI_NS_PER_MS;
        CHECK(!RT_FAILED(status) || is_late);
        if (!RT_FAILED(status) && is_late) {
            CHECK_OK(rt_net_close(fd));
        }
        limit_ms *= 2;
    } while (is_late && limit_ms < 10000);
    CHECK(!is_late);
    CHECK_OK(rt_net_close(fd));
    for (size_t i = 0; i < count; i++) {
        CHECK_OK(rt_net_close(fills[i]));
    }
    CHECK_OK(rt_net_close(deaf));
    CHECK_OK(rt_net_close(listener));
}

TEST(name_whose_first_address_does_not_answer_leaves_time_for_the_second)
{
    run_alone(first_address_is_deaf);
}

static unsigned turns;

static void take_turns(void *arg)
{
    int fd = -1;
    size_t actual;
    char byte;
    (void)arg;
    while (gate_inside() == 0) {
        io_world_yield();
    }
    for (turns = 0; turns < 100; turns++) {
        io_world_yield();
    }
    /* Files are not held up by names. */
    CHECK_OK(rt_file_open("/dev/zero", O_RDONLY, 0, &fd));
    CHECK_OK(rt_file_read(fd, &byte, 1, &actual, -1));
    CHECK_OK(rt_file_close(fd));
    CHECK_EQ(gate_inside(), 1);
    gate_set(false);
}

static void slow_lookup(void *arg)
{
    rt_net_address address;
    (void)arg;
    gate_set(true);
    io_world_go(take_turns, NULL);
    CHECK_OK(rt_net_resolve("127.0.0.5,127.0.0.6", 5, &address, -1));
    CHECK_EQ(address.ip[3], 5);
    CHECK_EQ(turns, 100);
}

TEST(name_lookup_blocks_neither_the_others_nor_files)
{
    run_alone(slow_lookup);
}

static void give_up(void *arg)
{
    rt_net_address address = {.port = 4242};
    (void)arg;
    gate_set(true);
    uint64_t before_ns = io_world_now_ns();
    CHECK_STATUS(rt_net_resolve("127.0.0.5,127.0.0.6", 5, &address, 5), RT_ERR_TIMEOUT);
    CHECK(io_world_now_ns() - before_ns >= 5 * RTI_NS_PER_MS);
    CHECK_EQ(address.port, 4242);
    CHECK_EQ(rti_io_in_use(&io_world.io), 1);
    gate_set(false);
    io_world_await_requests(0);
}

TEST(name_lookup_that_times_out_gives_its_record_back_when_it_ends)
{
    run_alone(give_up);
}

static void look_up(void *arg)
{
    rt_net_address address;
    int fd;
    if (arg == NULL) {
        (void)rt_net_resolve("127.0.0.5,127.0.0.6", 5, &address, -1);
    } else {
        (void)rt_net_connect("127.0.0.5,127.0.0.6", 5, &fd, -1);
    }
    CHECK(false);
}

static void kill_under_lookup(void *arg)
{
    struct rti_fiber *victims[2];
    (void)arg;
    gate_set(true);
    victims[0] = io_world_go(look_up, NULL);
    while (gate_inside() == 0) {
        io_world_yield();
    }
    victims[1] = io_world_go(look_up, victims);
    io_world_await_requests(2);
    io_world_kill(victims[0]);
    io_world_kill(victims[1]);
    /* The one that no thread had yet is taken back. */
    io_world_await_requests(1);
    gate_set(false);
    io_world_await_requests(0);
    CHECK(victims[0]->end == RTI_FIBER_KILLED && victims[1]->end == RTI_FIBER_KILLED);
}

TEST(name_kill_under_a_lookup_leaves_no_request)
{
    run_alone(kill_under_lookup);
}

static size_t refused;

static void look_up_or_be_refused(void *arg)
{
    rt_net_address address;
    (void)arg;
    rt_status status = rt_net_resolve("127.0.0.5,127.0.0.6", 5, &address, -1);
    if (status.code == RT_ERR_NOMEM) {
        refused++;
    } else {
        CHECK_OK(status);
    }
}

static void fill_the_pool(void *arg)
{
    (void)arg;
    gate_set(true);
    for (size_t i = 0; i < RT_COMPLETION_QUEUE_SIZE; i++) {
        io_world_go(look_up_or_be_refused, NULL);
    }
    io_world_await_requests(RT_COMPLETION_QUEUE_SIZE);
    io_world_go(look_up_or_be_refused, NULL);
    io_world_yield();
    CHECK_EQ(refused, 1);
    gate_set(false);
    io_world_await_requests(0);
    look_up_or_be_refused(NULL);
    CHECK_EQ(refused, 1);
}

TEST(name_full_pool_is_nomem_and_recovers)
{
    run_alone(fill_the_pool);
}
