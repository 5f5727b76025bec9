/* SPDX-License-Identifier: Apache-2.0 */
/* Step 8: tasks. A port scanner: eight tasks try ports, one after another, until none is left.
 *
 *     step8                       scans three servers of its own, among thirty ports
 *     step8 HOST FIRST LAST       scans these ports of a host
 *
 * Tested: step8 */
#include <stdio.h>
#include <stdlib.h>

#include <orrery/rt.h>

#define SCANNERS     8
#define PORT_TIME_MS 300
#define SERVERS      3
#define PORTS_AROUND 10

struct scan {
    const char *host;
    rt_channel_receiver *ports;
};

/* Takes ports from the channel until there are no more; its result is how many were open. */
static void *scanner(void *arg)
{
    const struct scan *scan = arg;
    uintptr_t open = 0;
    uint16_t port;
    while (!RT_FAILED(rt_channel_recv(scan->ports, NULL, &port))) {
        int fd;
        if (!RT_FAILED(rt_net_connect(scan->host, port, &fd, PORT_TIME_MS))) {
            open++;
            (void)rt_net_close(fd);
        }
    }
    return (void *)open;
}

/* Starts the scanners, feeds them with ports and adds up what they found. */
static long scan_ports(const char *host, const uint16_t *ports, size_t count)
{
    rt_channel_sender *tx;
    struct scan scan = {.host = host};
    rt_channel_config config = {.elem_size = sizeof(uint16_t), .capacity = SCANNERS};
    if (RT_FAILED(rt_channel_create(&config, &tx, &scan.ports))) {
        return -1;
    }
    rt_task *scanners[SCANNERS];
    for (size_t i = 0; i < SCANNERS; i++) {
        scanners[i] = rt_go(scanner, &scan);
    }
    rt_status status = RT_SUCCESS;
    for (size_t i = 0; i < count && !RT_FAILED(status); i++) {
        status = rt_channel_send(tx, NULL, &ports[i]); /* waits while all are busy */
    }
    (void)rt_channel_close_sender(tx); /* the scanners drain the channel, then end */
    long total = 0;
    for (size_t i = 0; i < SCANNERS; i++) {
        void *open = NULL;
        if (!RT_FAILED(rt_join(scanners[i], &open))) {
            total += (long)(uintptr_t)open;
        }
    }
    (void)rt_channel_close_receiver(scan.ports);
    return total;
}

/* Three servers that nobody serves, on ports that the system chooses, and ports around them. */
static void *scans_itself(void *arg)
{
    uint16_t ports[SERVERS * PORTS_AROUND];
    int listeners[SERVERS];
    size_t count = 0;
    (void)arg;
    for (size_t i = 0; i < SERVERS; i++) {
        uint16_t port;
        if (RT_FAILED(
                rt_net_listen_ex(&(rt_net_listen_config){.address = "127.0.0.1"}, &listeners[i])) ||
            RT_FAILED(rt_net_local_port(listeners[i], &port))) {
            return NULL;
        }
        ports[count++] = port;
        while (count % PORTS_AROUND != 0) {
            ports[count++] = 1; /* nobody is there */
        }
    }
    printf("%ld of %zu ports are open\n", scan_ports("127.0.0.1", ports, count), count);
    for (size_t i = 0; i < SERVERS; i++) {
        (void)rt_net_close(listeners[i]);
    }
    return NULL;
}

struct range {
    const char *host;
    int first;
    int last;
};

static void *scans_a_range(void *arg)
{
    static uint16_t ports[65536];
    const struct range *range = arg;
    size_t count = 0;
    for (int port = range->first; port <= range->last; port++) {
        ports[count++] = (uint16_t)port;
    }
    printf("%ld of %zu ports are open\n", scan_ports(range->host, ports, count), count);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc == 4) {
        struct range range = {argv[1], atoi(argv[2]), atoi(argv[3])};
        if (range.first < 1 || range.last > 65535) {
            return EXIT_FAILURE;
        }
        return RT_FAILED(rt_run_main(NULL, scans_a_range, &range));
    }
    return RT_FAILED(rt_run_main(NULL, scans_itself, NULL));
}
