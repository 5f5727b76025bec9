/* SPDX-License-Identifier: Apache-2.0 */
/* The load of the echo servers: connections with one message of 64 bytes under way on each.
 *
 * The connections are two halves. While the server answers one, the load takes the answers of the
 * other and sends anew; it fetches the answer that was asked for last first, so that it sleeps once
 * per half and not once per message. That keeps it cheaper than any server, which is what is to be
 * measured. The first tenth warms up and does not count.
 *
 * Prints requests per second and the processor time of the server, all its threads, for each, in
 * microseconds. Usage: load BENCH PORT CONNECTIONS REQUESTS SERVER_PID */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "common.h"

#define CONNECTIONS_MAX 4096
#define MESSAGE_BYTES   64

static int fds[CONNECTIONS_MAX];

/* The processor time of a process, the sum over its threads, nanoseconds. */
static double server_cpu_ns(const char *pid)
{
    char path[512];
    double total = 0;
    snprintf(path, sizeof(path), "/proc/%s/task", pid);
    DIR *threads = opendir(path);
    common_expect(threads != NULL, "the server is gone");
    for (struct dirent *entry; (entry = readdir(threads)) != NULL;) {
        unsigned long long ns = 0;
        if (entry->d_name[0] == '.') {
            continue;
        }
        snprintf(path, sizeof(path), "/proc/%s/task/%s/schedstat", pid, entry->d_name);
        FILE *file = fopen(path, "r");
        if (file != NULL) {
            if (fscanf(file, "%llu", &ns) == 1) {
                total += (double)ns;
            }
            fclose(file);
        }
    }
    closedir(threads);
    return total;
}

static void connect_all(int count, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int i = 0; i < count; i++) {
        int on = 1;
        fds[i] = socket(AF_INET, SOCK_STREAM, 0);
        common_expect(connect(fds[i], (struct sockaddr *)&address, sizeof(address)) == 0,
                      "cannot connect");
        setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
}

static void ask(int first, int end)
{
    char message[MESSAGE_BYTES] = {0};
    for (int i = first; i < end; i++) {
        common_expect(send(fds[i], message, sizeof(message), MSG_NOSIGNAL) == sizeof(message),
                      "cannot send");
    }
}

static void fetch(int first, int end)
{
    char message[MESSAGE_BYTES];
    for (int i = end - 1; i >= first; i--) {
        common_expect(recv(fds[i], message, sizeof(message), MSG_WAITALL) == sizeof(message),
                      "cannot receive");
    }
}

/* Has `requests` answered, all connections together; both halves are under way before and after. */
static long play(int count, long requests)
{
    long done = 0;
    while (done < requests) {
        fetch(0, count / 2);
        ask(0, count / 2);
        fetch(count / 2, count);
        ask(count / 2, count);
        done += count;
    }
    return done;
}

int main(int argc, char **argv)
{
    int count = argc == 6 ? atoi(argv[3]) : 0;
    long requests = argc == 6 ? atol(argv[4]) : 0;
    if (count < 2 || count > CONNECTIONS_MAX || requests < 1) {
        fprintf(stderr, "usage: load BENCH PORT CONNECTIONS REQUESTS SERVER_PID\n");
        return 2;
    }
    connect_all(count, atoi(argv[2]));
    ask(0, count);
    play(count, requests / 10);
    double cpu = server_cpu_ns(argv[5]);
    double start = common_now_ns();
    long done = play(count, requests);
    double elapsed = common_now_ns() - start;
    cpu = server_cpu_ns(argv[5]) - cpu;
    common_report(argv[1], "rps", (double)done / elapsed * 1e9);
    common_report(argv[1], "cpu_us", cpu / (double)done / 1e3);
    return 0;
}
