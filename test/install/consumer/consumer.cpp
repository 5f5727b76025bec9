// SPDX-License-Identifier: Apache-2.0
// The same user in C++: the headers give C linkage, so this links.
#include "all_headers.h"
#include <cstdio>
#include <cstring>

static void say(void *arg)
{
    const char *word = static_cast<const char *>(arg);
    rt_yield();
    std::printf("consumer: %s\n", word);
    rt_exit();
}

int main()
{
    if (std::strcmp(rt_status_name(RT_ERR_NOMEM), "RT_ERR_NOMEM") != 0) {
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
