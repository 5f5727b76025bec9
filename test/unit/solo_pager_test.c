/* SPDX-License-Identifier: Apache-2.0 */
/* The program's memory may be brought by another thread when it is touched, and that one may call
 * the runtime before: who works alone touches none of it in a section. */
#define _GNU_SOURCE
#define RTI_MODULE "solo_pager_test"
#include <orrery/rt.h>

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sched/solo.h"
#include "support/test.h"

#define PATIENCE 1000000
#define TRIES    20

static struct {
    void *page;      /* not there until somebody touches it */
    rt_task *former; /* a handle that was consumed */
    rti_atomic_u32 is_wanted;
    rti_atomic_u32 is_over;
    rti_atomic_u32 brought;
} pager;

/* Calls the runtime from outside of all workers, then brings what is wanted. */
static void *bring(void *arg)
{
    while (rti_u32_load_acquire(&pager.is_over) == 0) {
        if (rti_u32_load_acquire(&pager.is_wanted) != 0) {
            CHECK_STATUS(rt_task_ask_cancel(pager.former), RT_ERR_INVALID);
            CHECK_EQ(mprotect(pager.page, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE),
                     0);
            rti_u32_store_release(&pager.is_wanted, 0);
            rti_u32_add_relaxed(&pager.brought, 1);
        }
        usleep(100);
    }
    return arg;
}

static void want(int number)
{
    (void)number;
    rti_u32_store_release(&pager.is_wanted, 1);
    while (rti_u32_load_acquire(&pager.is_wanted) != 0) {
        usleep(100);
    }
}

static void hide(void)
{
    CHECK_EQ(mprotect(pager.page, (size_t)sysconf(_SC_PAGESIZE), PROT_NONE), 0);
}

/* Waits until the caller's worker works alone; false if it never does. */
static bool is_alone(void)
{
    for (uint32_t i = 0; i < PATIENCE; i++) {
        if (rti_u32_load_relaxed(&rti_worker_current()->is_solo) != 0) {
            return true;
        }
        rt_yield();
    }
    return false;
}

static void *answer(void *arg)
{
    return arg;
}

static rt_status poll_answer(void *state, rt_cx *cx)
{
    (void)state;
    (void)cx;
    return (rt_status){RT_ERR_FULL, "as agreed"};
}

static bool join_tasks(void)
{
    rt_task *task = rt_go(answer, pager.page);
    CHECK(task != NULL);
    bool is_ready = is_alone();
    void **value = pager.page;
    hide();
    CHECK_OK(rt_join(task, value));
    CHECK(*value == pager.page);
    return is_ready;
}

static bool join_poll_tasks(void)
{
    rt_async_task *task = rt_async(poll_answer, NULL);
    CHECK(task != NULL);
    bool is_ready = is_alone();
    rt_status *out = pager.page;
    hide();
    CHECK_OK(rt_async_join(&task, NULL, out));
    CHECK_EQ(out->code, RT_ERR_FULL);
    return is_ready;
}

struct poll_join {
    rt_async_task *task;
    bool is_ready;
};

/* A poll task that joins another which has ended. */
static rt_status poll_join(void *state, rt_cx *cx)
{
    struct poll_join *self = state;
    rt_status *out = pager.page;
    self->is_ready = rti_u32_load_relaxed(&rti_worker_current()->is_solo) != 0;
    hide();
    rt_status status = rt_async_join(&self->task, cx, out);
    CHECK_OK(status);
    CHECK_EQ(out->code, RT_ERR_FULL);
    return status;
}

static bool join_by_poll_tasks(void)
{
    struct poll_join join = {.task = rt_async(poll_answer, NULL)};
    rt_status status;
    bool is_ready = is_alone();
    rt_async_task *joiner = rt_async(poll_join, &join);
    CHECK(join.task != NULL && joiner != NULL);
    CHECK_OK(rt_async_join(&joiner, NULL, &status));
    CHECK_OK(status);
    return is_ready && join.is_ready;
}

/* Until it has come to it that the one who joins works alone. */
static bool is_done(bool (*join)(void))
{
    bool was_alone = false;
    for (int i = 0; i < TRIES && !was_alone; i++) {
        was_alone = join();
    }
    return was_alone;
}

static void *join_all(void *arg)
{
    bool *was_alone = arg;
    pager.former = rt_go(answer, NULL);
    CHECK_OK(rt_join(pager.former, NULL));
    *was_alone = rti_sched_crew(rti_worker_current()->sched)->can_solo && is_done(join_tasks) &&
                 is_done(join_poll_tasks) && is_done(join_by_poll_tasks);
    rti_u32_store_release(&pager.is_over, 1);
    return NULL;
}

TEST(solo_pager_may_call_before_it_brings_what_a_join_writes)
{
    struct sigaction action = {.sa_handler = want, .sa_flags = SA_ONSTACK};
    struct sigaction before;
    pthread_t thread;
    bool was_alone = false;
    const rt_config config = {.workers = 2, .overrun_after = RT_TIME_NEVER};
    rt_status status = rt_init_ex(&config);
    if (status.code == RT_ERR_UNSUPPORTED) {
        test_skip("no parallel engine here");
    }
    CHECK_OK(status);
    CHECK_OK(rt_task_reserve(&(rt_task_room){.tasks = 1000}));
    pager.page =
        mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pager.page != MAP_FAILED);
    CHECK_EQ(sigaction(SIGSEGV, &action, &before), 0);
    CHECK_EQ(pthread_create(&thread, NULL, bring, NULL), 0);
    CHECK_OK(rt_detach(rt_go(join_all, &was_alone)));
    rt_run();
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK(!was_alone || rti_u32_load_relaxed(&pager.brought) >= 3);
    CHECK_EQ(sigaction(SIGSEGV, &before, NULL), 0);
    rt_cleanup();
    if (!was_alone) {
        test_skip("nobody works alone here");
    }
}
