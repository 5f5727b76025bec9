/* SPDX-License-Identifier: Apache-2.0 */
/* Step 4: links, monitors, and a supervisor in thirty lines.
 *
 * Tested: step4 */
#include <stdio.h>
#include <stdlib.h>

#include <orrery/rt.h>

#define RESTARTS_MAX 2

static void must(rt_status status)
{
    if (RT_FAILED(status)) {
        fprintf(stderr, "%s\n", status.msg != NULL ? status.msg : rt_status_text(status.code));
        exit(EXIT_FAILURE);
    }
}

/* Works for a while, then meets something it was not written for. */
static void worker(void *arg)
{
    (void)arg;
    for (int job = 1; job <= 2; job++) {
        printf("  worker: job %d done\n", job);
        rt_yield();
    }
    printf("  worker: job 3 cannot be done\n");
    return; /* without rt_exit: this is a crash, and a fine way to give up */
}

static void supervisor(void *arg)
{
    (void)arg;
    for (int restarts = 0;; restarts++) {
        actor_id id = rt_spawn(worker, NULL);
        uint32_t ref;
        must(rt_monitor(id, &ref)); /* fails for an actor that could not be spawned */

        rt_message msg;
        rt_exit_msg death;
        must(rt_ipc_recv(&msg, -1));
        must(rt_decode_exit(&msg, &death)); /* nobody else writes to us */
        if (death.reason == RT_EXIT_NORMAL) {
            printf("supervisor: the worker is done\n");
            rt_exit();
        }
        if (restarts == RESTARTS_MAX) {
            printf("supervisor: this is hopeless\n");
            rt_exit();
        }
        printf("supervisor: the worker died with reason %d, here is another\n", death.reason);
    }
}

int main(void)
{
    must(rt_init());
    if (rt_spawn(supervisor, NULL) == ACTOR_ID_INVALID) {
        return EXIT_FAILURE;
    }
    rt_run();
    rt_cleanup();
    return EXIT_SUCCESS;
}
