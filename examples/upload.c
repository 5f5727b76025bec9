/* SPDX-License-Identifier: Apache-2.0 */
/* An upload over a network that sometimes breaks, in the simulator: a seed finds the bug.
 *
 * A client sends some kilobytes and closes; the server stores what it gets when the connection
 * ends. On a loopback this works for ever. But a connection that breaks ends, too: rt_net_recv says
 * RT_ERR_CLOSED for both, and the server stores half an upload as a whole one.
 *
 * Repaired, the client says first how much will come, and waits until the server says that it has
 * stored it: then one of the two knows of every upload that is not whole.
 *
 *     upload                1000 seeds, until one fails
 *     upload SEED           that one, and what happens in it
 *     upload --repaired     1000 seeds of the repaired protocol
 *
 * Tested: upload
 * Tested: upload --repaired */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/rt.h>

#define PORT  80
#define SIZE  20000
#define SEEDS 1000

struct upload {
    bool is_repaired;
    bool is_told; /* says what happens */
    size_t stored;
    bool is_stored;    /* the server holds it for whole */
    bool is_confirmed; /* the client does */
};

static void must(rt_status status, const char *what)
{
    if (RT_FAILED(status)) {
        fprintf(stderr, "upload: %s: %s\n", what, status.msg);
        exit(1);
    }
}

static void tell(const struct upload *upload, const char *who, rt_status status, size_t bytes)
{
    if (upload->is_told) {
        printf("%s: %zu bytes, then: %s\n", who, bytes, RT_FAILED(status) ? status.msg : "done");
    }
}

/* Receives until `length` bytes are there or the connection ends; gives how many came. */
static size_t receive(int fd, void *to, size_t length, rt_status *status)
{
    static unsigned char scrap[4096];
    size_t total = 0;
    *status = (rt_status){RT_OK, NULL};
    while (total < length && !RT_FAILED(*status)) {
        size_t left = length - total;
        size_t most = to != NULL || left < sizeof(scrap) ? left : sizeof(scrap);
        size_t count = 0;
        *status =
            rt_net_recv(fd, to != NULL ? (char *)to + total : (void *)scrap, most, &count, -1);
        total += count;
    }
    return total;
}

static void serve(struct upload *upload, int fd)
{
    rt_status status;
    uint32_t length = 0;
    size_t sent = 0;
    if (!upload->is_repaired) {
        upload->stored = receive(fd, NULL, SIZE_MAX, &status);
        upload->is_stored = status.code == RT_ERR_CLOSED; /* the bug: it may have been broken off */
    } else if (receive(fd, &length, sizeof(length), &status) == sizeof(length)) {
        upload->stored = receive(fd, NULL, length, &status);
        upload->is_stored = upload->stored == length;
        if (upload->is_stored) {
            (void)rt_net_send(fd, "!", 1, &sent, -1);
        }
    }
    tell(upload, "server", status, upload->stored);
}

static void server(void *arg)
{
    struct upload *upload = arg;
    int listener;
    int fd;
    must(rt_net_listen(PORT, &listener), "listen");
    /* The client may give up before it is connected. */
    if (!RT_FAILED(rt_net_accept(listener, &fd, 10000))) {
        serve(upload, fd);
        must(rt_net_close(fd), "close");
    }
    must(rt_net_close(listener), "close");
    rt_exit();
}

static void client(void *arg)
{
    static unsigned char bytes[SIZE];
    struct upload *upload = arg;
    uint32_t length = SIZE;
    size_t sent = 0;
    char answer;
    int fd;
    rt_status status = rt_net_connect("localhost", PORT, &fd, -1);
    if (RT_FAILED(status)) {
        tell(upload, "client", status, 0);
        rt_exit();
    }
    if (upload->is_repaired) {
        status = rt_net_send(fd, &length, sizeof(length), &sent, -1);
    }
    sent = 0;
    if (!RT_FAILED(status)) {
        status = rt_net_send(fd, bytes, sizeof(bytes), &sent, -1);
    }
    upload->is_confirmed = upload->is_repaired && receive(fd, &answer, 1, &status) == 1;
    tell(upload, "client", status, sent);
    must(rt_net_close(fd), "close");
    rt_exit();
}

static void begin(void *arg)
{
    if (rt_spawn(server, arg) == ACTOR_ID_INVALID || rt_spawn(client, arg) == ACTOR_ID_INVALID) {
        exit(1);
    }
    rt_exit();
}

/* False: somebody holds for whole what is not. */
static bool try_seed(uint64_t seed, struct upload *upload)
{
    const rt_sim_config config = {.seed = seed,
                                  .network = {.latency_min = 100 * RT_NS_PER_US,
                                              .latency_max = 5 * RT_NS_PER_MS,
                                              .split = 300,
                                              .reset = 5}};
    must(rt_sim_run(&config, begin, upload), "the run");
    bool is_whole = upload->stored == SIZE;
    return is_whole || !(upload->is_stored || upload->is_confirmed);
}

static int try_many(bool is_repaired)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct upload upload = {.is_repaired = is_repaired};
        if (!try_seed(seed, &upload)) {
            printf("seed %" PRIu64 ": %zu of %d bytes are stored as a whole upload\n", seed,
                   upload.stored, SIZE);
            printf("repeat: upload %" PRIu64 "\n", seed);
            return is_repaired ? 1 : 0;
        }
    }
    printf("%d seeds: every upload is whole, or known not to be\n", SEEDS);
    return is_repaired ? 0 : 1;
}

int main(int argc, char **argv)
{
    bool is_repaired = argc > 1 && strcmp(argv[1], "--repaired") == 0;
    if (argc > 1 && !is_repaired) {
        struct upload upload = {.is_told = true};
        bool is_well = try_seed(strtoull(argv[1], NULL, 10), &upload);
        printf("the upload is %s\n", is_well ? "well" : "stored, and not whole");
        return 0;
    }
    return try_many(is_repaired);
}
