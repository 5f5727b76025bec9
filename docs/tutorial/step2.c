/* SPDX-License-Identifier: Apache-2.0 */
/* Step 2: messages, and how long their data lives.
 *
 * Tested: step2 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/rt.h>

static void must(rt_status status)
{
    if (RT_FAILED(status)) {
        fprintf(stderr, "%s\n", status.msg != NULL ? status.msg : rt_status_text(status.code));
        exit(EXIT_FAILURE);
    }
}

/* Receives words and remembers the longest. A message of no bytes says that there are no more. */
static void listener(void *arg)
{
    (void)arg;
    char longest[RT_MAX_MESSAGE_SIZE] = "";
    size_t longest_len = 0;
    rt_message msg;
    must(rt_ipc_recv(&msg, -1)); /* -1: wait for ever */
    while (msg.len > 0) {
        if (msg.len > longest_len) {
            memcpy(longest, msg.data, msg.len); /* a copy is ours, the pointer is not */
            longest_len = msg.len;
        }
        must(rt_ipc_recv(&msg, -1)); /* from here on the old msg.data is gone */
    }
    printf("the longest word was %.*s\n", (int)longest_len, longest);
    rt_exit();
}

static void speaker(void *arg)
{
    const actor_id *to = arg;
    const char *const words[] = {"sun", "mercury", "venus", "earth"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        must(rt_ipc_send(*to, words[i], strlen(words[i]), IPC_ASYNC));
        printf("said %s\n", words[i]);
    }
    must(rt_ipc_send(*to, NULL, 0, IPC_ASYNC));
    rt_exit();
}

int main(void)
{
    must(rt_init());
    actor_id id = rt_spawn(listener, NULL);
    if (id == ACTOR_ID_INVALID || rt_spawn(speaker, &id) == ACTOR_ID_INVALID) {
        return EXIT_FAILURE;
    }
    rt_run();
    rt_cleanup();
    return EXIT_SUCCESS;
}
