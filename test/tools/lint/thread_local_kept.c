/* SPDX-License-Identifier: Apache-2.0 */
/* What `orrery lint` must find, marked with the word hit, and what it must leave alone. */
#include <errno.h>

#include <orrery/rt.h>

static _Thread_local int mine;

static int across(rt_channel_receiver *rx)
{
    int value = 0;
    errno = 0;
    mine = 1;
    if (RT_FAILED(rt_channel_recv(rx, NULL, &value))) {
        return errno; /* hit: thread-local-kept */
    }
    return mine; /* hit: thread-local-kept */
}

static int on_one_side(rt_channel_receiver *rx)
{
    int value = 0;
    if (RT_FAILED(rt_channel_recv(rx, NULL, &value))) {
        return -1;
    }
    errno = 0;
    mine = value;
    return errno + mine;
}

static int without_waiting(void)
{
    errno = 0;
    mine = 2;
    (void)rt_self();
    return errno + mine;
}

int main(void)
{
    return across(NULL) + on_one_side(NULL) + without_waiting();
}
