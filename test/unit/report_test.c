/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/report.h"

#include <orrery/rt.h>

#include "support/test.h"

static char memory[1 << 16];
static struct rti_text text;

static bool has_line(const char *start)
{
    memory[text.length] = '\0';
    const char *at = strstr(memory, start);
    return at != NULL && (at == memory || at[-1] == '\n');
}

static void mail_waiter(void *arg)
{
    (void)arg;
    rt_message msg;
    (void)rt_ipc_recv(&msg, 60000);
    rt_exit();
}

static void *channel_waiter(void *arg)
{
    uint64_t value = 0;
    (void)RT_FAILED(rt_channel_recv(arg, NULL, &value));
    return NULL;
}

static void *joiner(void *arg)
{
    (void)rt_join(rt_go(channel_waiter, arg), NULL);
    return NULL;
}

static bool refuse(void *to, const void *from, size_t size)
{
    (void)to;
    (void)from;
    (void)size;
    return false;
}

static void make(bool (*peek)(void *to, const void *from, size_t size))
{
    struct rti_report_options options = {.has_stacks = true, .stack_bytes_max = 64, .peek = peek};
    rti_text_init(&text, memory, sizeof(memory) - 1);
    rti_report_tasks(&text, rti_sched_current(), &options);
    CHECK(!text.is_cut);
}

static void looker(void *arg)
{
    rt_yield();
    rt_yield();
    make(NULL);
    CHECK(has_line("process\tsim\t"));
    CHECK(has_line("worker\t0\t"));
    CHECK(strstr(memory, "\tactor\tmail\twaits\t") != NULL);
    CHECK(strstr(memory, "\tmail\n") != NULL);
    CHECK(strstr(memory, "\tdeadline\t") != NULL);
    CHECK(strstr(memory, "\tchannel-value\t1\t0\t4\t1\t1\n") != NULL);
    CHECK(strstr(memory, "\ttask-end\t") != NULL);
    CHECK(strstr(memory, "\trunning\t") != NULL);
    CHECK(has_line("stack\t"));
    CHECK(strstr(memory, "report_test.c\t") != NULL);
    make(refuse);
    CHECK(!has_line("stack\t"));
    CHECK(!has_line("wait\t"));
    CHECK(has_line("task\t"));
    rti_text_init(&text, memory, sizeof(memory) - 1);
    rti_report_stats(&text, rti_sched_current());
    CHECK(has_line("stat\tactors\t2\n"));
    CHECK(has_line("stat\ttasks\t2\n"));
    CHECK(has_line("stat\tactors_waiting\t1\n"));
    (void)rt_channel_close_sender(arg);
    rt_exit();
}

static void first(void *arg)
{
    (void)arg;
    rt_channel_config config = {.elem_size = sizeof(uint64_t), .capacity = 4};
    rt_channel_sender *tx;
    rt_channel_receiver *rx;
    CHECK_OK(rt_channel_create(&config, &tx, &rx));
    (void)rt_spawn_ex(mail_waiter, NULL,
                      &(actor_config){.priority = RT_PRIO_NORMAL, .name = "mail"});
    CHECK_OK(rt_detach(rt_go(joiner, rx)));
    (void)rt_spawn(looker, tx);
    rt_exit();
}

TEST(report_tells_each_task_what_it_waits_for_and_its_stack)
{
    CHECK_OK(rt_sim_run(&(rt_sim_config){.fixed_order = true}, first, NULL));
    CHECK(text.length > 0);
}
