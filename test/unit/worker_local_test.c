/* SPDX-License-Identifier: Apache-2.0 */
/* A fiber moves from one thread to another in the middle of a function and must see its own errno
 * and its new thread's worker. test/port/moved_fiber_lto.sh runs this file again, linked as one
 * unit with the library, where the optimizer could look into everything. */
#define _GNU_SOURCE
#define RTI_MODULE "worker_local_test"
#include "sched/worker_local.h"

#include <errno.h>
#include <pthread.h>

#include "sched/context.h"
#include "support/test.h"

/* What is private to the scheduler; here only its address counts. */
struct rti_worker {
    struct rti_context home;
    int number;
};

struct fiber {
    struct rti_context context;
    int errno_value;
    bool has_ended;
};

static struct rti_worker workers[2] = {{.number = 0}, {.number = 1}};
static struct fiber fiber;
static _Alignas(64) char stack[262144];

/* Suspends as the scheduler does: errno is put away before the switch and put back after it,
 * through the address of the thread that this then is. Inline, so that the compiler could keep
 * addresses across it if it were allowed to. */
static RTI_ALWAYSINLINE void fiber_park(void)
{
    fiber.errno_value = *rti_errno_address();
    rti_context_switch(&fiber.context, &rti_worker_current()->home, NULL);
    *rti_errno_address() = fiber.errno_value;
}

/* Runs the fiber until it parks, on the calling thread as worker `number`. */
static void worker_run_fiber(int number)
{
    struct rti_worker *worker = &workers[number];
    rti_worker_set_current(worker);
    rti_context_adopt(&worker->home);
    errno = 1000 + number;
    rti_context_switch(&worker->home, &fiber.context, NULL);
    errno = 1000 + number;
    CHECK(rti_worker_current() == worker);
    CHECK(rti_worker_here() == worker);
    rti_worker_set_current(NULL);
    CHECK(rti_worker_here() == NULL);
}

static void *thread_main(void *arg)
{
    worker_run_fiber((int)(intptr_t)arg);
    return NULL;
}

static void run_on_a_new_thread(int number)
{
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, thread_main, (void *)(intptr_t)number), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

static void moving_entry(void *transfer)
{
    (void)transfer;
    for (int i = 0; i < 20; i++) {
        struct rti_worker *before = rti_worker_here();
        CHECK(rti_worker_current() == before);
        CHECK_EQ(before->number, i % 2);
        *rti_errno_address() = i;
        fiber_park();
        struct rti_worker *after = rti_worker_here();
        CHECK(rti_worker_current() == after);
        CHECK(after != before);
        CHECK_EQ(after->number, (i + 1) % 2);
        CHECK_EQ(*rti_errno_address(), i);
    }
    fiber.has_ended = true;
    rti_context_leave(&fiber.context, &rti_worker_current()->home, NULL);
}

TEST(moved_fiber_sees_its_own_errno_and_the_new_worker)
{
    rti_context_init(&fiber.context, stack, sizeof(stack), moving_entry);
    for (int i = 0; !fiber.has_ended; i++) {
        run_on_a_new_thread(i % 2);
    }
    rti_context_deinit(&fiber.context);
}

static pthread_mutex_t turn_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
static int turn;

/* Two threads that stay alive take turns, so that the address a compiler might have kept is a valid
 * one and nothing but the value would be wrong. */
static void *alternating_main(void *arg)
{
    int number = (int)(intptr_t)arg;
    pthread_mutex_lock(&turn_lock);
    while (!fiber.has_ended) {
        if (turn == number) {
            worker_run_fiber(number);
            turn = 1 - number;
            pthread_cond_broadcast(&turn_changed);
        } else {
            pthread_cond_wait(&turn_changed, &turn_lock);
        }
    }
    pthread_mutex_unlock(&turn_lock);
    return NULL;
}

TEST(fiber_moved_to_and_fro_between_two_threads_sees_the_one_it_is_on)
{
    pthread_t threads[2];
    rti_context_init(&fiber.context, stack, sizeof(stack), moving_entry);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, alternating_main, (void *)(intptr_t)i), 0);
    }
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    }
    rti_context_deinit(&fiber.context);
}

TEST(thread_that_is_no_worker_has_none)
{
    CHECK(rti_worker_current() == NULL);
    rti_worker_set_current(&workers[1]);
    CHECK(rti_worker_current() == &workers[1]);
    rti_worker_set_current(NULL);
    CHECK(rti_worker_current() == NULL);
    CHECK(rti_errno_address() == &errno);
}
