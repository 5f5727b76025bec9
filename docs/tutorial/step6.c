/* SPDX-License-Identifier: Apache-2.0 */
/* Step 6: question and answer, with a deadline.
 *
 * Tested: step6 */
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

/* Divides. It does not know what to say to a division by zero, and one by itself kills it. */
struct question {
    int dividend, divisor;
};

static void divider(void *arg)
{
    (void)arg;
    for (;;) {
        rt_message msg;
        must(rt_ipc_recv(&msg, -1));
        struct question q = *(const struct question *)msg.data;
        if (q.divisor == 0) {
            continue; /* no answer at all */
        }
        if (q.dividend == q.divisor) {
            return; /* a crash */
        }
        int quotient = q.dividend / q.divisor;
        must(rt_reply(&msg, &quotient, sizeof(quotient)));
    }
}

static void ask(int dividend, int divisor)
{
    const struct question q = {dividend, divisor};
    rt_message reply;
    rt_status status = rt_call(rt_whereis("divider"), &q, sizeof(q), &reply, 20);
    if (RT_FAILED(status)) {
        printf("%d / %d: %s\n", dividend, divisor, rt_status_name(status.code));
    } else {
        printf("%d / %d = %d\n", dividend, divisor, *(const int *)reply.data);
    }
}

static void pupil(void *arg)
{
    (void)arg;
    must(rt_register("divider", rt_spawn(divider, NULL)));
    ask(42, 6);
    ask(42, 0); /* nobody answers: after 20 ms the deadline does */
    ask(42, 5);
    ask(42, 42); /* the divider dies while we wait, and we are told at once */
    ask(42, 7);  /* and nobody has its name any more */
    rt_exit();
}

int main(void)
{
    must(rt_init());
    if (rt_spawn(pupil, NULL) == ACTOR_ID_INVALID) {
        return EXIT_FAILURE;
    }
    rt_run();
    rt_cleanup();
    return EXIT_SUCCESS;
}
