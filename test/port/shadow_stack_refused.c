/* SPDX-License-Identifier: Apache-2.0 */
/* A processor whose shadow stack is on, played by the linker: see shadow_stack_refused.sh. The
 * runtime says what to do about it, and leaves nothing behind. */
#include <orrery/rt.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_on = true;

/* Stands in for the library's own function. */
bool __wrap_rti_context_shadow_stack_is_on(void);
bool __wrap_rti_context_shadow_stack_is_on(void)
{
    return is_on;
}

static void nothing(void *arg)
{
    (void)arg;
    rt_exit();
}

static bool is_refused(const char *call, rt_status status)
{
    bool is_right = status.code == RT_ERR_UNSUPPORTED && status.msg != NULL &&
                    strstr(status.msg, "shadow stack") != NULL;
    if (!is_right) {
        printf("%s gives %s\n", call, rt_status_name(status.code));
    }
    return is_right;
}

int main(void)
{
    bool is_right = true;
    for (int i = 0; i < 3; i++) {
        is_right = is_refused("rt_init", rt_init()) && is_right;
        is_right = is_refused("rt_sim_run", rt_sim_run(NULL, nothing, NULL)) && is_right;
    }
    is_on = false;
    rt_status status = rt_init();
    if (status.code != RT_OK) {
        printf("rt_init gives %s after a refusal\n", rt_status_name(status.code));
        return 1;
    }
    rt_cleanup();
    return is_right ? 0 : 1;
}
