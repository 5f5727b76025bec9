/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets and addresses of Linux, without a runtime. */
#define _GNU_SOURCE
#define RTI_MODULE "socket_test"
#include "port/linux/socket.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/un.h>
#include <unistd.h>

#include "port/linux/port_linux.h"
#include "support/test.h"

static const struct rti_port_net *const net = &rti_linux_net;

TEST(socket_numeric_texts_are_read_and_written_back)
{
    const char *const texts[] = {"0.0.0.0",  "127.0.0.1", "255.255.255.255",
                                 "::",       "::1",       "2001:db8::ff00:42:8329",
                                 "fe80::1%1"};
    for (size_t i = 0; i < RTI_COUNT_OF(texts); i++) {
        rt_net_address address;
        char text[RT_NET_ADDRESS_TEXT_SIZE];
        CHECK(net->parse(texts[i], &address));
        CHECK_EQ(address.is_ipv6, strchr(texts[i], ':') != NULL);
        CHECK_EQ(address.port, 0);
        CHECK(net->format(&address, text, sizeof(text)));
        CHECK_STR(text, texts[i]);
        /* Exactly enough room, and one byte less. */
        CHECK(net->format(&address, text, strlen(texts[i]) + 1));
        text[0] = '!';
        CHECK(!net->format(&address, text, strlen(texts[i])));
        CHECK_EQ(text[0], '!');
    }
}

TEST(socket_texts_that_are_no_address_are_not_read)
{
    const char *const texts[] = {"",
                                 "localhost",
                                 "1.2.3",
                                 "1.2.3.4.5",
                                 "256.1.1.1",
                                 ":::",
                                 "12345::",
                                 "fe80::1%",
                                 "fe80::1%0",
                                 "fe80::1%no-such-interface",
                                 "fe80::1%99999999999999999999",
                                 "0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0"};
    for (size_t i = 0; i < RTI_COUNT_OF(texts); i++) {
        rt_net_address address = {.port = 4242};
        CHECK(!net->parse(texts[i], &address));
        CHECK_EQ(address.port, 4242);
    }
}

TEST(socket_addresses_survive_the_system_form)
{
    const char *const texts[] = {"127.0.0.1", "::1", "fe80::7%1"};
    for (size_t i = 0; i < RTI_COUNT_OF(texts); i++) {
        rt_net_address address;
        rt_net_address again;
        struct rti_sockaddr system;
        CHECK(net->parse(texts[i], &address));
        address.port = 65535;
        net->encode(&address, &system);
        CHECK(net->decode(&system, &again));
        CHECK_EQ(memcmp(&address, &again, sizeof(address)), 0);
    }
}

TEST(socket_mapped_address_is_the_ipv4_one)
{
    rt_net_address mapped;
    rt_net_address plain;
    rt_net_address decoded;
    struct rti_sockaddr system;
    CHECK(net->parse("::ffff:10.1.2.3", &mapped));
    CHECK(net->parse("10.1.2.3", &plain));
    net->encode(&mapped, &system);
    CHECK(net->decode(&system, &decoded));
    CHECK_EQ(memcmp(&plain, &decoded, sizeof(plain)), 0);
}

TEST(socket_local_names_have_their_limits)
{
    struct rti_sockaddr system;
    rt_net_address address;
    char name[110];
    memset(name, 'n', sizeof(name));
    name[107] = '\0';
    CHECK(net->encode_local(name, &system));
    CHECK_EQ(system.length, sizeof(struct sockaddr_un));
    CHECK(!net->decode(&system, &address));
    name[107] = 'n';
    name[108] = '\0';
    CHECK(!net->encode_local(name, &system));
    CHECK(!net->encode_local("", &system));
    CHECK(!net->encode_local("@", &system));
    CHECK(net->encode_local("@x", &system));
    CHECK_EQ(system.length, offsetof(struct sockaddr_un, sun_path) + 2);
    system.length = 0;
    CHECK(!net->decode(&system, &address));
}

static int option_of(int fd, int level, int name)
{
    int value = -1;
    socklen_t length = sizeof(value);
    CHECK_EQ(getsockopt(fd, level, name, &value, &length), 0);
    return value;
}

TEST(socket_is_made_as_asked)
{
    rt_net_address loopback;
    struct rti_sockaddr system;
    int fd = -1;
    CHECK(net->parse("127.0.0.1", &loopback));
    net->encode(&loopback, &system);
    struct rti_socket_config config = {.kind = RTI_SOCKET_LISTENER, .address = &system};
    CHECK_OK(net->open(&config, &fd));
    CHECK((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
    CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
    CHECK_EQ(option_of(fd, SOL_SOCKET, SO_ACCEPTCONN), 1);
    CHECK_EQ(option_of(fd, SOL_SOCKET, SO_REUSEADDR), 1);
    CHECK_EQ(option_of(fd, SOL_SOCKET, SO_REUSEPORT), 0);
    CHECK_EQ(option_of(fd, IPPROTO_TCP, TCP_NODELAY), 1);
    close(fd);
    config.is_port_shared = true;
    CHECK_OK(net->open(&config, &fd));
    CHECK_EQ(option_of(fd, SOL_SOCKET, SO_REUSEPORT), 1);
    close(fd);
    config = (struct rti_socket_config){.kind = RTI_SOCKET_DATAGRAM, .address = &system};
    CHECK_OK(net->open(&config, &fd));
    CHECK_EQ(option_of(fd, SOL_SOCKET, SO_TYPE), SOCK_DGRAM);
    CHECK_OK(net->local(fd, &system));
    CHECK(net->decode(&system, &loopback) && loopback.port != 0);
    close(fd);
}

TEST(socket_failures_leave_no_descriptor)
{
    rt_net_address far;
    struct rti_sockaddr system;
    int fd = -7;
    int before = dup(0);
    close(before);
    CHECK(net->parse("192.0.2.1", &far)); /* an address for documents: nobody has it */
    net->encode(&far, &system);
    struct rti_socket_config config = {.kind = RTI_SOCKET_LISTENER, .address = &system};
    rt_status status = net->open(&config, &fd);
    CHECK_STATUS(status, RT_ERR_IO);
    CHECK_STR(status.msg, "this machine does not have that address");
    CHECK_EQ(fd, -7);
    int after = dup(0);
    close(after);
    CHECK_EQ(before, after);
    CHECK_STATUS(net->local(-1, &system), RT_ERR_INVALID);
    CHECK_STATUS(net->local(0, &system), RT_ERR_INVALID);
}
