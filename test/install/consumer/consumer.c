/* SPDX-License-Identifier: Apache-2.0 */
/* A user's program: all it knows of the library is what is installed. `all_headers.h` is made by
 * install_test.sh and includes every installed header. */
#include <stdio.h>
#include <string.h>

#include "all_headers.h"

static void say(void *arg)
{
    const char *word = arg;
    rt_yield();
    printf("consumer: %s\n", word);
    rt_exit();
}

int main(void)
{
    if (strcmp(rt_status_name(RT_ERR_NOMEM), "RT_ERR_NOMEM") != 0) {
        return 1;
    }
    if (RT_FAILED(rt_init())) {
        return 2;
    }
    static char word[] = "success";
    if (rt_spawn(say, word) == ACTOR_ID_INVALID) {
        return 3;
    }
    rt_run();
    rt_cleanup();
    return 0;
}
