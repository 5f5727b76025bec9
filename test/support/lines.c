/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "lines"
#include "support/lines.h"

struct lines lines;

static void count_destroyed(void *value, void *arg)
{
    (void)value;
    (void)arg;
    lines.destroyed++;
}

void lines_open(size_t capacity)
{
    memset(&lines, 0, sizeof(lines));
    kernel_start();
    for (size_t i = 0; i < LINES; i++) {
        rt_channel_config config = {
            .elem_size = sizeof(int), .capacity = capacity, .destroy = count_destroyed};
        CHECK_OK(capacity == 0 ? rt_channel_create_rendezvous(&config, &lines.tx[i], &lines.rx[i])
                               : rt_channel_create(&config, &lines.tx[i], &lines.rx[i]));
    }
}

void lines_close(void)
{
    for (size_t i = 0; i < LINES; i++) {
        if (rti_channels_sender(&kernel.channels, lines.tx[i]) != NULL) {
            CHECK_OK(rt_channel_close_sender(lines.tx[i]));
        }
        if (rti_channels_receiver(&kernel.channels, lines.rx[i]) != NULL) {
            CHECK_OK(rt_channel_close_receiver(lines.rx[i]));
        }
    }
    kernel_stop();
}

size_t lines_waiting(size_t line)
{
    rt_channel_info info;
    CHECK_OK(rt_channel_sender_info(lines.tx[line], &info));
    return info.waiting_senders + info.waiting_receivers;
}

void lines_check_nobody_waits(void)
{
    for (size_t i = 0; i < LINES; i++) {
        if (rti_channels_sender(&kernel.channels, lines.tx[i]) != NULL) {
            CHECK_EQ(lines_waiting(i), 0);
        }
    }
}

void lines_recv_arms(rt_select_arm *arms)
{
    for (size_t i = 0; i < LINES; i++) {
        rt_arm_recv(&arms[i], lines.rx[i], &lines.values[i]);
    }
}

void lines_send_arms(rt_select_arm *arms)
{
    for (size_t i = 0; i < LINES; i++) {
        lines.values[i] = (int)(100 + i);
        rt_arm_send(&arms[i], lines.tx[i], &lines.values[i]);
    }
}

void lines_put(size_t line, int value)
{
    CHECK_OK(rt_channel_send(lines.tx[line], NULL, &value));
}

int lines_take(size_t line)
{
    int value = -1;
    CHECK_OK(rt_channel_recv(lines.rx[line], NULL, &value));
    return value;
}

/* Waits for one of all lines; says which, or the reason. */
void lines_recv_any(void *arg)
{
    rt_select_arm arms[LINES];
    rt_selected chosen;
    (void)arg;
    lines_recv_arms(arms);
    CHECK_OK(rt_select(arms, LINES, NULL, &chosen));
    kernel_say((char)('0' + chosen.index));
    kernel_say(RT_FAILED(chosen.status) ? '!' : (char)('a' + lines.values[chosen.index]));
}

void lines_send_any(void *arg)
{
    rt_select_arm arms[LINES];
    rt_selected chosen;
    (void)arg;
    lines_send_arms(arms);
    CHECK_OK(rt_select(arms, LINES, NULL, &chosen));
    kernel_say((char)('0' + chosen.index));
    kernel_say(RT_FAILED(chosen.status) ? '!' : '+');
}
