/* SPDX-License-Identifier: Apache-2.0 */
/* What `orrery lint` must find, marked with the word hit, and what it must leave alone. */
#include <stdint.h>

#include <orrery/rt.h>

static volatile uint64_t sum;

static void compute(uint64_t i)
{
    sum += i;
}

static void polite(void)
{
    rt_yield();
}

static void bytes_one_by_one(int file, const char *bytes, size_t size)
{
    size_t done;
    for (size_t i = 0; i < size; i++) {
        if (RT_FAILED(rt_file_write(file, &bytes[i], 1, &done, -1))) { /* hit: small-io-in-loop */
            return;
        }
    }
    while (size > 0) {
        if (RT_FAILED(rt_file_write(file, bytes, size, &done, -1))) {
            return;
        }
        size -= done;
    }
}

static void files_one_by_one(const char *const *names)
{
    int fd;
    for (int i = 0; i < 5000; i++) {
        if (!RT_FAILED(rt_file_open(names[i], 0, 0, &fd))) { /* hit: small-io-in-loop */
            (void)rt_file_close(fd);
        }
    }
    for (int i = 0; i < 10; i++) {
        if (!RT_FAILED(rt_file_open(names[i], 0, 0, &fd))) {
            (void)rt_file_close(fd);
        }
    }
}

static void worker(void *arg)
{
    (void)arg;
    for (int i = 0; i < 10000000; i++) { /* hit: long-loop */
        compute((uint64_t)i);
    }
    for (int i = 0; i < 10000000; i++) {
        compute((uint64_t)i);
        polite();
    }
    for (int i = 0; i < 100; i++) {
        compute((uint64_t)i);
    }
    for (int i = 0; i < 10000000; i++) { /* orrery-lint: allow long-loop: it is fast enough */
        compute((uint64_t)i);
    }
    bytes_one_by_one(0, "", 0);
    files_one_by_one(arg);
    for (;;) { /* hit: long-loop */
        compute(1);
    }
}

static void not_in_a_task(void)
{
    for (int i = 0; i < 10000000; i++) {
        compute((uint64_t)i);
    }
}

static void starter(void *arg)
{
    (void)arg;
    for (int i = 0; i < 10; i++) {
        (void)rt_spawn(worker, NULL);
    }
    while (rt_spawn(worker, NULL) != ACTOR_ID_INVALID) {
    }
    for (;;) {
        rt_message msg;
        if (RT_FAILED(rt_ipc_recv(&msg, -1))) {
            break;
        }
        (void)rt_spawn(worker, NULL);
    }
    while (sum < 10) {
        (void)rt_spawn(worker, NULL); /* hit: spawn-in-loop */
    }
    while (sum < 20) {
        (void)rt_detach(rt_region_go(NULL, NULL, NULL)); /* hit: spawn-in-loop */
    }
    rt_exit();
}

int main(void)
{
    not_in_a_task();
    (void)rt_spawn(starter, NULL);
    return 0;
}
