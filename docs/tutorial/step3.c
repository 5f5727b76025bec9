/* SPDX-License-Identifier: Apache-2.0 */
/* Step 3: timers.
 *
 * Tested: step3 */
#include <stdio.h>
#include <stdlib.h>

#include <orrery/rt.h>

static void must(rt_status status)
{
    if (RT_FAILED(status)) {
        fprintf(stderr, "%s\n", status.msg != NULL ? status.msg : rt_status_text(status.code));
        exit(EXIT_FAILURE);
    }
}

static void clockwork(void *arg)
{
    (void)arg;
    timer_id beat, alarm;
    must(rt_timer_every(10000, &beat));    /* microseconds: a tick every 10 ms */
    must(rt_timer_after(1000000, &alarm)); /* one tick, in a second */

    int beats = 0;
    while (beats < 5) {
        rt_message msg;
        must(rt_ipc_recv(&msg, -1));
        /* A tick is a message like any other. Its data is the id of its timer. */
        if (rt_timer_is_tick(&msg) && *(const timer_id *)msg.data == beat) {
            beats++;
            printf("beat %d\n", beats);
        }
    }
    must(rt_timer_cancel(beat));
    must(rt_timer_cancel(alarm)); /* it has not rung yet */

    rt_message msg;
    rt_status status = rt_ipc_recv(&msg, 30); /* milliseconds, as everywhere but in timers */
    printf("after that: %s\n", rt_status_name(status.code));
    rt_exit();
}

int main(void)
{
    must(rt_init());
    if (rt_spawn(clockwork, NULL) == ACTOR_ID_INVALID) {
        return EXIT_FAILURE;
    }
    rt_run();
    rt_cleanup();
    return EXIT_SUCCESS;
}
