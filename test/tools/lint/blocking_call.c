/* SPDX-License-Identifier: Apache-2.0 */
/* What `orrery lint` must find, marked with the word hit, and what it must leave alone. */
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include <orrery/rt.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void helper(void)
{
    usleep(1); /* hit: blocking-call */
}

/* One of the program's own, whatever its name. */
int flock(int file, int how);

static void worker(void *arg)
{
    struct addrinfo *found;
    char byte;
    (void)arg;
    sleep(1);                                      /* hit: blocking-call */
    (void)read(0, &byte, 1);                       /* hit: blocking-call */
    (void)getaddrinfo("host", NULL, NULL, &found); /* hit: blocking-call */
    pthread_mutex_lock(&lock);                     /* hit: blocking-call */
    (void)fread(&byte, 1, 1, stdin);               /* hit: blocking-call */
    (void)flock(0, 0);
    helper();
    /* orrery-lint: allow blocking-call: shown on purpose */
    sleep(1);
    sleep(2); /* orrery-lint: allow blocking-call: shown on purpose */
    rt_exit();
}

static void *task(void *arg)
{
    (void)sleep(1); /* hit: blocking-call */
    return arg;
}

/* A thread of its own may block. */
static void *thread_main(void *arg)
{
    sleep(1);
    return arg;
}

int main(void)
{
    pthread_t thread;
    sleep(0);
    (void)pthread_create(&thread, NULL, thread_main, NULL);
    (void)rt_spawn(worker, NULL);
    (void)rt_detach(rt_go(task, NULL));
    return pthread_join(thread, NULL);
}
