/* SPDX-License-Identifier: Apache-2.0 */
/* Step 1: an actor that says hello.
 *
 * Tested: step1 */
#include <stdio.h>
#include <stdlib.h>

#include <orrery/rt.h>

static void hello(void *arg)
{
    printf("hello from %s\n", (const char *)arg);
    rt_exit(); /* an actor that returns instead has crashed */
}

int main(void)
{
    if (RT_FAILED(rt_init())) {
        return EXIT_FAILURE;
    }
    if (rt_spawn(hello, "the first actor") == ACTOR_ID_INVALID ||
        rt_spawn(hello, "the second actor") == ACTOR_ID_INVALID) {
        return EXIT_FAILURE;
    }
    printf("nobody has run yet\n");
    rt_run(); /* returns when no actor is left */
    rt_cleanup();
    printf("all have ended\n");
    return EXIT_SUCCESS;
}
