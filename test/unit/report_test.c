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

/* A peek that reads what is there. */
static bool copy(void *to, const void *from, size_t size)
{
    return rti_peek_copy(NULL, to, from, size);
}

static void make(rti_peek peek)
{
    struct rti_report_options options = {
        .has_stacks = true, .stack_bytes_max = 64, .peek = peek, .places_max = 100000};
    struct rti_report_cursor cursor = {.index = 0};
    rti_text_init(&text, memory, sizeof(memory) - 1);
    CHECK(!rti_report_slice(&text, rti_sched_current(), &options, &cursor));
    CHECK(!text.is_cut);
    memory[text.length] = '\0';
}

static size_t count_of(const char *word)
{
    size_t count = 0;
    for (const char *at = memory; (at = strstr(at, word)) != NULL; at++) {
        count++;
    }
    return count;
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

static void slices(void *arg)
{
    enum { PLACES = 16 };
    struct rti_report_options options = {.places_max = PLACES};
    struct rti_report_cursor cursor = {.index = 0};
    size_t told = 0;
    size_t count = 0;
    bool has_more = true;
    rt_yield();
    while (has_more) {
        rti_text_init(&text, memory, sizeof(memory) - 1);
        has_more = rti_report_slice(&text, rti_sched_current(), &options, &cursor);
        memory[text.length] = '\0';
        CHECK(count_of("\ntask\t") + (strncmp(memory, "task\t", 5) == 0) <= PLACES);
        CHECK_EQ(has_line("process\t"), count == 0);
        told += count_of("\ttask\t");
        count++;
        rt_yield();
    }
    CHECK_EQ(told, 200);
    CHECK(count >= 200 / PLACES);
    (void)rt_channel_close_sender(arg);
    rt_exit();
}

static void first_of_many(void *arg)
{
    (void)arg;
    rt_channel_config config = {.elem_size = sizeof(uint64_t), .capacity = 4};
    rt_channel_sender *tx;
    rt_channel_receiver *rx;
    CHECK_OK(rt_task_reserve(&(rt_task_room){.tasks = 300}));
    CHECK_OK(rt_channel_create(&config, &tx, &rx));
    for (int i = 0; i < 200; i++) {
        CHECK_OK(rt_detach(rt_go(channel_waiter, rx)));
    }
    (void)rt_spawn(slices, tx);
    rt_exit();
}

TEST(report_of_many_is_made_in_slices_that_look_at_so_many_places_each)
{
    CHECK_OK(rt_sim_run(&(rt_sim_config){.fixed_order = true}, first_of_many, NULL));
    CHECK(text.length > 0);
}

static void ignore(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
}

static const rt_behaviour_type quiet = {.name = "quiet", .otherwise = ignore};

static rt_status poll_channel(void *state, rt_cx *cx)
{
    uint64_t value = 0;
    return rt_channel_recv(state, cx, &value);
}

static rt_status poll_nap(void *state, rt_cx *cx)
{
    return rt_async_sleep(state, cx, 60 * RT_NS_PER_S);
}

static rt_status poll_end(void *state, rt_cx *cx)
{
    (void)state;
    (void)cx;
    return RT_SUCCESS;
}

static void looks_at_stackless(void *arg)
{
    static rt_nap nap;
    rt_channel_config config = {.elem_size = sizeof(uint64_t), .capacity = 4};
    rt_channel_sender *tx;
    rt_channel_receiver *rx;
    (void)arg;
    CHECK_OK(rt_channel_create(&config, &tx, &rx));
    actor_id behaviour = rt_behaviour_spawn(&quiet, NULL);
    rt_async_task *on_channel = rt_async(poll_channel, rx);
    rt_async_task *on_nap = rt_async(poll_nap, &nap);
    rt_yield();
    rt_yield();
    const rti_peek peeks[] = {NULL, copy};
    for (size_t i = 0; i < 2; i++) {
        make(peeks[i]);
        CHECK(strstr(memory, "\tbehaviour\tquiet\twaits\t") != NULL);
        CHECK_EQ(count_of("\tpoll task\t\twaits\t"), 2);
        CHECK_EQ(count_of("code\t"), 2);
        CHECK(strstr(memory, "\tmail\t0\n") != NULL);
        CHECK(strstr(memory, "\tchannel-value\t1\t0\t4\t1\t1\n") != NULL);
        CHECK_EQ(count_of("\tdeadline\t"), 1);
    }
    /* In a slot that was another's, too, one that was just started is ready. */
    for (int i = 0; i < 2; i++) {
        rt_async_task *ready = rt_async(poll_end, NULL);
        make(NULL);
        CHECK_EQ(count_of("\tpoll task\t\tready\t"), 1);
        CHECK_EQ(count_of("\tpoll task\t\trunning\t"), 0);
        CHECK_OK(rt_async_join(&ready, NULL, NULL));
    }
    make(refuse);
    CHECK(strstr(memory, "\tbehaviour\t\twaits\t") != NULL);
    CHECK_EQ(count_of("\tdeadline\t"), 0);
    CHECK_OK(rt_async_cancel(on_channel));
    CHECK_OK(rt_async_cancel(on_nap));
    CHECK_OK(rt_async_detach(on_channel));
    CHECK_OK(rt_async_detach(on_nap));
    CHECK_OK(rt_actor_kill(behaviour));
    (void)rt_channel_close_sender(tx);
    rt_exit();
}

TEST(report_tells_of_those_without_a_stack_what_they_wait_for)
{
    CHECK_OK(rt_sim_run(&(rt_sim_config){.fixed_order = true}, looks_at_stackless, NULL));
    CHECK(text.length > 0);
}
