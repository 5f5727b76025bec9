/* SPDX-License-Identifier: Apache-2.0 */
/* What `orrery lint` must find, marked with the word hit, and what it must leave alone. */
#include <orrery/rt.h>

static rt_task *kept;

static void *work(void *arg)
{
    return arg;
}

static int early(int failed)
{
    rt_task *task = rt_go(work, NULL);
    if (failed) {
        return -1; /* hit: handle-leaked */
    }
    return (int)rt_join(task, NULL).code;
}

static void dropped(void)
{
    rt_go(work, NULL); /* hit: handle-leaked */
}

static rt_status poll(void *state, rt_cx *cx)
{
    (void)state;
    return rt_async_pause(cx);
}

static int early_with_others(rt_region *region, int failed)
{
    rt_async_task *polled = rt_async(poll, NULL);
    if (failed) {
        return -1; /* hit: handle-leaked */
    }
    (void)rt_async_detach(polled);
    rt_task *task = rt_region_go(region, work, NULL);
    if (failed > 1) {
        return -1; /* hit: handle-leaked */
    }
    return (int)rt_join(task, NULL).code;
}

static void at_the_end(int wanted)
{ /* hit: handle-leaked */
    rt_task *task = rt_go(work, NULL);
    if (wanted) {
        (void)rt_join(task, NULL);
    }
}

static int both_ways(int wanted)
{
    rt_task *task = rt_go(work, NULL);
    if (task == NULL) {
        return -1;
    }
    if (wanted) {
        return (int)rt_join(task, NULL).code;
    }
    (void)rt_detach(task);
    return 0;
}

static rt_task *passed_on(void)
{
    rt_task *task = rt_go(work, NULL);
    return task;
}

static void stored(void)
{
    rt_task *task = rt_go(work, NULL);
    kept = task;
}

static rt_status permit_lost(rt_channel_sender *tx, int wanted)
{
    rt_send_permit permit;
    rt_status status = rt_channel_reserve(tx, NULL, &permit);
    if (RT_FAILED(status)) {
        return status;
    }
    if (!wanted) {
        return status; /* hit: handle-leaked */
    }
    return rt_send_permit_send(&permit, NULL);
}

static rt_status permit_resolved(rt_channel_sender *tx, int wanted)
{
    rt_send_permit permit;
    rt_status status = rt_channel_reserve(tx, NULL, &permit);
    if (RT_FAILED(status)) {
        return status;
    }
    if (!wanted) {
        rt_send_permit_abort(&permit);
        return status;
    }
    return rt_send_permit_send(&permit, NULL);
}

int main(void)
{
    dropped();
    (void)early_with_others(NULL, 0);
    at_the_end(1);
    stored();
    (void)rt_detach(passed_on());
    (void)permit_lost(NULL, 1);
    (void)permit_resolved(NULL, 1);
    return early(0) + both_ways(1);
}
