/* SPDX-License-Identifier: Apache-2.0 */
/* The Bus API of actor-runtime.md, rule by rule, against the public functions in the simulated
 * world.
 *
 * A case is one actor, the master, and puppets: actors that do what the master calls them to do and
 * answer with what came of it. So every case is a list of steps in one place. */
#include <orrery/rt.h>

#include "support/test.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

enum { NOTHING = -1 }; /* what a read gives when there is nothing */

enum verb { SUBSCRIBE, UNSUBSCRIBE, READ, WAIT, END };

struct command {
    enum verb verb;
    bus_id bus;
    int32_t timeout_ms;
};

struct answer {
    rt_status_code code;
    int value;
    rt_time at;
};

static const rt_bus_config plain = {
    .max_subscribers = 32, .max_entries = 8, .max_entry_size = sizeof(int)};

static void in_sim(actor_fn fn)
{
    rt_sim_config config = {.fixed_order = true};
    CHECK_OK(rt_sim_run(&config, fn, NULL));
}

static rt_status obey(const struct command *command, int *value)
{
    size_t len = 0;
    rt_status status = RT_SUCCESS;
    switch (command->verb) {
    case SUBSCRIBE:
        return rt_bus_subscribe(command->bus);
    case UNSUBSCRIBE:
        return rt_bus_unsubscribe(command->bus);
    case READ:
        status = rt_bus_read(command->bus, value, sizeof(*value), &len);
        break;
    case WAIT:
        status = rt_bus_read_wait(command->bus, value, sizeof(*value), &len, command->timeout_ms);
        break;
    case END:
        return RT_SUCCESS;
    }
    CHECK(RT_FAILED(status) || len == sizeof(*value));
    return status;
}

static void puppet(void *arg)
{
    (void)arg;
    struct command command = {.verb = READ};
    while (command.verb != END) {
        rt_message msg;
        CHECK_OK(rt_ipc_recv(&msg, -1));
        CHECK_EQ(msg.len, sizeof(command));
        memcpy(&command, msg.data, sizeof(command));
        rt_call_id call = rt_call_ref(&msg);
        struct answer answer = {.value = NOTHING};
        answer.code = obey(&command, &answer.value).code;
        answer.at = rt_clock();
        if (call != 0) {
            CHECK_OK(rt_reply_to(call, &answer, sizeof(answer)));
        }
    }
    rt_exit();
}

static actor_id make_puppet(void)
{
    actor_config config = {.stack_size = 16384, .priority = RT_PRIO_NORMAL};
    actor_id id = rt_spawn_ex(puppet, NULL, &config);
    CHECK(id != ACTOR_ID_INVALID);
    return id;
}

static struct answer tell(actor_id who, struct command command)
{
    rt_message reply;
    struct answer answer;
    CHECK_OK(rt_call(who, &command, sizeof(command), &reply, -1));
    CHECK_EQ(reply.len, sizeof(answer));
    memcpy(&answer, reply.data, sizeof(answer));
    return answer;
}

static rt_status_code subscribe(actor_id who, bus_id bus)
{
    return tell(who, (struct command){.verb = SUBSCRIBE, .bus = bus}).code;
}

static rt_status_code unsubscribe(actor_id who, bus_id bus)
{
    return tell(who, (struct command){.verb = UNSUBSCRIBE, .bus = bus}).code;
}

static int read_by(actor_id who, bus_id bus)
{
    struct answer answer = tell(who, (struct command){.verb = READ, .bus = bus});
    CHECK(answer.code == RT_OK || answer.code == RT_ERR_WOULDBLOCK);
    CHECK_EQ(answer.code == RT_ERR_WOULDBLOCK, answer.value == NOTHING);
    return answer.value;
}

static void end(actor_id who)
{
    CHECK_EQ(tell(who, (struct command){.verb = END}).code, RT_OK);
}

static actor_id subscriber(bus_id bus)
{
    actor_id id = make_puppet();
    CHECK_EQ(subscribe(id, bus), RT_OK);
    return id;
}

static bus_id make_bus(const rt_bus_config *config)
{
    bus_id bus = BUS_ID_INVALID;
    CHECK_OK(rt_bus_create(config, &bus));
    CHECK(bus != BUS_ID_INVALID);
    return bus;
}

static bus_id make_bus_with(size_t max_entries, uint8_t max_readers, uint32_t max_age_ms)
{
    rt_bus_config config = plain;
    config.max_entries = max_entries;
    config.max_readers = max_readers;
    config.max_age_ms = max_age_ms;
    return make_bus(&config);
}

static void publish(bus_id bus, int value)
{
    CHECK_OK(rt_bus_publish(bus, &value, sizeof(value)));
}

/* Lets simulated time pass; nobody sends the master anything. */
static void nap(int32_t ms)
{
    rt_message msg;
    CHECK_STATUS(rt_ipc_recv(&msg, ms), RT_ERR_TIMEOUT);
}

/* Ends the run whatever the puppets wait for. */
static _Noreturn void done(void)
{
    rt_shutdown();
    rt_exit();
}

/* Configuration. */

static void config_fields(void *arg)
{
    (void)arg;
    rt_bus_config config = {.max_subscribers = 255,
                            .max_readers = 255,
                            .max_age_ms = UINT32_MAX,
                            .max_entries = SIZE_MAX,
                            .max_entry_size = SIZE_MAX};
    CHECK_EQ(sizeof(config.max_subscribers), sizeof(uint8_t));
    CHECK_EQ(sizeof(config.max_readers), sizeof(uint8_t));
    CHECK_EQ(sizeof(config.max_age_ms), sizeof(uint32_t));
    CHECK_EQ(sizeof(config.max_entries), sizeof(size_t));
    CHECK_EQ(sizeof(config.max_entry_size), sizeof(size_t));
    bus_id bus = 7;
    CHECK_STATUS(rt_bus_create(&config, &bus), RT_ERR_INVALID);
    CHECK_EQ(bus, 7);
    done();
}

TEST(bus_config_has_the_five_fields_and_refuses_what_is_too_large)
{
    in_sim(config_fields);
}

static void subscriber_limits(void *arg)
{
    (void)arg;
    CHECK_EQ(RT_MAX_BUS_SUBSCRIBERS, 32);
    for (int n = 0; n <= UINT8_MAX; n++) {
        rt_bus_config config = plain;
        config.max_subscribers = (uint8_t)n;
        bus_id bus;
        rt_status status = rt_bus_create(&config, &bus);
        CHECK_EQ(status.code, n >= 1 && n <= 32 ? RT_OK : RT_ERR_INVALID);
        CHECK(RT_FAILED(status) || rt_bus_destroy(bus).code == RT_OK);
    }
    done();
}

TEST(bus_max_subscribers_is_one_to_thirty_two)
{
    in_sim(subscriber_limits);
}

static void reader_limits(void *arg)
{
    (void)arg;
    for (uint8_t subscribers = 1; subscribers <= 32; subscribers++) {
        for (uint8_t readers = 0; readers <= 40; readers++) {
            rt_bus_config config = plain;
            config.max_subscribers = subscribers;
            config.max_readers = readers;
            bus_id bus;
            rt_status status = rt_bus_create(&config, &bus);
            CHECK_EQ(status.code, readers <= subscribers ? RT_OK : RT_ERR_INVALID);
            CHECK(RT_FAILED(status) || rt_bus_destroy(bus).code == RT_OK);
        }
    }
    done();
}

TEST(bus_max_readers_is_zero_to_max_subscribers)
{
    in_sim(reader_limits);
}

static void stable_index(void *arg)
{
    (void)arg;
    bus_id bus = make_bus_with(8, 3, 0);
    actor_id first = subscriber(bus);
    actor_id second = subscriber(bus);
    actor_id third = subscriber(bus);
    publish(bus, 1);
    CHECK_EQ(read_by(second, bus), 1);
    CHECK_EQ(unsubscribe(first, bus), RT_OK);
    CHECK_EQ(read_by(second, bus), NOTHING); /* what it has read stays read */
    CHECK_EQ(read_by(third, bus), 1);
    actor_id heir = subscriber(bus); /* gets the place of the first */
    publish(bus, 2);
    CHECK_EQ(read_by(heir, bus), 2);
    CHECK_EQ(read_by(third, bus), 2);
    CHECK_EQ(rt_bus_entry_count(bus), 2);
    CHECK_EQ(read_by(second, bus), 2);
    CHECK_EQ(rt_bus_entry_count(bus), 1);
    done();
}

TEST(bus_subscriber_keeps_its_place_while_others_come_and_go)
{
    in_sim(stable_index);
}

/* Functions. */

static void destroy_rules(void *arg)
{
    (void)arg;
    bus_id bus = make_bus(&plain);
    actor_id a = subscriber(bus);
    actor_id b = subscriber(bus);
    publish(bus, 1);
    CHECK_STATUS(rt_bus_destroy(bus), RT_ERR_INVALID);
    CHECK_EQ(unsubscribe(a, bus), RT_OK);
    CHECK_STATUS(rt_bus_destroy(bus), RT_ERR_INVALID);
    CHECK_EQ(read_by(b, bus), 1); /* the failed calls changed nothing */
    end(b);
    CHECK_OK(rt_bus_destroy(bus));
    CHECK_STATUS(rt_bus_publish(bus, NULL, 0), RT_ERR_INVALID);
    CHECK_EQ(subscribe(a, bus), RT_ERR_INVALID);
    done();
}

TEST(bus_destroy_fails_while_subscribers_exist)
{
    in_sim(destroy_rules);
}

static void only_subscribers(void *arg)
{
    (void)arg;
    bus_id bus = make_bus(&plain);
    bus_id other = make_bus(&plain);
    actor_id a = subscriber(bus);
    actor_id b = subscriber(other);
    publish(bus, 1);
    CHECK_EQ(tell(b, (struct command){.verb = READ, .bus = bus}).code, RT_ERR_INVALID);
    CHECK_EQ(read_by(a, bus), 1);
    CHECK_EQ(read_by(b, other), NOTHING);
    CHECK_EQ(unsubscribe(a, bus), RT_OK);
    publish(bus, 2);
    CHECK_EQ(tell(a, (struct command){.verb = READ, .bus = bus}).code, RT_ERR_INVALID);
    CHECK_EQ(unsubscribe(a, bus), RT_ERR_INVALID);
    done();
}

TEST(bus_subscription_is_the_calling_actors_own)
{
    in_sim(only_subscribers);
}

static void own_entries(void *arg)
{
    (void)arg;
    bus_id bus = make_bus(&plain);
    int value = 0;
    size_t len = 0;
    CHECK_OK(rt_bus_subscribe(bus));
    CHECK_STATUS(rt_bus_read(bus, &value, sizeof(value), &len), RT_ERR_WOULDBLOCK);
    publish(bus, 41);
    CHECK_OK(rt_bus_read(bus, &value, sizeof(value), &len));
    CHECK_EQ(value, 41);
    CHECK_EQ(len, sizeof(value));
    CHECK_STATUS(rt_bus_read(bus, &value, sizeof(value), &len), RT_ERR_WOULDBLOCK);
    done();
}

TEST(bus_read_never_blocks_and_says_wouldblock_without_data)
{
    in_sim(own_entries);
}

static void small_buffer(void *arg)
{
    (void)arg;
    rt_bus_config config = plain;
    config.max_entry_size = 8;
    bus_id bus = make_bus(&config);
    char buf[8] = "........";
    size_t len = 0;
    CHECK_OK(rt_bus_subscribe(bus));
    CHECK_STATUS(rt_bus_publish(bus, "123456789", 9), RT_ERR_INVALID);
    CHECK_OK(rt_bus_publish(bus, "12345678", 8));
    CHECK_OK(rt_bus_publish(bus, "ab", 2));
    CHECK_OK(rt_bus_read(bus, buf, 3, &len));
    CHECK_EQ(len, 3);
    CHECK(memcmp(buf, "123.....", 8) == 0);
    CHECK_OK(rt_bus_read(bus, buf, sizeof(buf), &len));
    CHECK_EQ(len, 2);
    CHECK(memcmp(buf, "ab3.....", 8) == 0);
    done();
}

TEST(bus_read_copies_what_fits_and_reports_that_length)
{
    in_sim(small_buffer);
}

static void waiting(void *arg)
{
    (void)arg;
    bus_id bus = make_bus(&plain);
    int value = 0;
    size_t len = 0;
    CHECK_OK(rt_bus_subscribe(bus));
    rt_time start = rt_clock();
    CHECK_STATUS(rt_bus_read_wait(bus, &value, sizeof(value), &len, 0), RT_ERR_WOULDBLOCK);
    CHECK_EQ(rt_clock(), start);
    CHECK_STATUS(rt_bus_read_wait(bus, &value, sizeof(value), &len, 7), RT_ERR_TIMEOUT);
    CHECK_EQ(rt_clock() - start, 7 * RT_NS_PER_MS);
    publish(bus, 5);
    CHECK_OK(rt_bus_read_wait(bus, &value, sizeof(value), &len, -1));
    CHECK_EQ(value, 5);
    CHECK_EQ(rt_clock() - start, 7 * RT_NS_PER_MS);
    done();
}

TEST(bus_read_wait_takes_the_three_kinds_of_timeout)
{
    in_sim(waiting);
}

static rt_time published_at;

static void publishes_after_a_while(void *arg)
{
    rt_message msg;
    CHECK_STATUS(rt_ipc_recv(&msg, 50), RT_ERR_TIMEOUT);
    published_at = rt_clock();
    publish(*(bus_id *)arg, 9);
    rt_exit();
}

static void blocked(void *arg)
{
    (void)arg;
    bus_id bus = make_bus(&plain);
    actor_id a = subscriber(bus);
    rt_spawn(publishes_after_a_while, &bus);
    struct command wait = {.verb = WAIT, .bus = bus, .timeout_ms = -1};
    CHECK_OK(rt_ipc_send(a, &wait, sizeof(wait), IPC_ASYNC));
    rt_yield();
    struct rt_actor_stats stats;
    CHECK_OK(rt_actor_stats(a, &stats));
    CHECK_EQ(stats.state, ACTOR_STATE_BLOCKED);
    nap(60);
    CHECK_EQ(read_by(a, bus), NOTHING); /* it has read 9 when it came */
    wait.timeout_ms = 100;
    rt_spawn(publishes_after_a_while, &bus);
    struct answer answer = tell(a, wait);
    CHECK_EQ(answer.code, RT_OK);
    CHECK_EQ(answer.value, 9);
    CHECK_EQ(answer.at, published_at);
    done();
}

TEST(bus_read_wait_blocks_the_actor_until_data_is_available)
{
    in_sim(blocked);
}

static void mail_unblocks(void *arg)
{
    (void)arg;
    bus_id bus = make_bus(&plain);
    actor_id a = subscriber(bus);
    struct command wait = {.verb = WAIT, .bus = bus, .timeout_ms = -1};
    CHECK_OK(rt_ipc_send(a, &wait, sizeof(wait), IPC_ASYNC));
    nap(5);
    struct rt_actor_stats stats;
    CHECK_OK(rt_actor_stats(a, &stats));
    CHECK_EQ(stats.state, ACTOR_STATE_BLOCKED);
    /* The command is mail. It ends the wait, then it is received and answered. */
    publish(bus, 1);
    CHECK_EQ(read_by(a, bus), NOTHING); /* the entry came first and was read */
    CHECK_OK(rt_ipc_send(a, &wait, sizeof(wait), IPC_ASYNC));
    nap(5);
    struct answer answer = tell(a, (struct command){.verb = WAIT, .bus = bus, .timeout_ms = 3});
    CHECK_EQ(answer.code, RT_ERR_TIMEOUT); /* a new wait: the old one was left */
    publish(bus, 2);
    CHECK_EQ(read_by(a, bus), 2); /* and it had consumed nothing */
    done();
}

TEST(bus_read_wait_is_unblocked_by_mail_which_stays_in_the_mailbox)
{
    in_sim(mail_unblocks);
}

static void counting(void *arg)
{
    (void)arg;
    bus_id bus = make_bus_with(3, 0, 0);
    CHECK_EQ(rt_bus_entry_count(bus), 0);
    for (int i = 1; i <= 5; i++) {
        publish(bus, i);
        CHECK_EQ(rt_bus_entry_count(bus), i < 3 ? i : 3);
    }
    CHECK_EQ(rt_bus_entry_count(BUS_ID_INVALID), 0);
    done();
}

TEST(bus_entry_count_tells_what_is_kept)
{
    in_sim(counting);
}

/* Rule 1. */

static void start_position(void *arg)
{
    (void)arg;
    bus_id bus = make_bus(&plain);
    publish(bus, 1);
    publish(bus, 2);
    publish(bus, 3);
    actor_id late = subscriber(bus);
    CHECK_EQ(rt_bus_entry_count(bus), 3);
    CHECK_EQ(read_by(late, bus), NOTHING);
    publish(bus, 4);
    CHECK_EQ(read_by(late, bus), 4);
    CHECK_EQ(read_by(late, bus), NOTHING);
    done();
}

TEST(bus_rule_1_a_subscriber_sees_only_what_is_published_after_it_subscribed)
{
    in_sim(start_position);
}

static void subscribed_before(void *arg)
{
    (void)arg;
    bus_id bus = make_bus(&plain);
    actor_id early = subscriber(bus);
    for (int i = 1; i <= 8; i++) {
        publish(bus, i);
    }
    for (int i = 1; i <= 8; i++) {
        CHECK_EQ(read_by(early, bus), i);
    }
    done();
}

TEST(bus_rule_1_who_subscribes_before_reads_everything_retained)
{
    in_sim(subscribed_before);
}

static void subscribes_again(void *arg)
{
    (void)arg;
    bus_id bus = make_bus(&plain);
    actor_id a = subscriber(bus);
    publish(bus, 1);
    CHECK_EQ(unsubscribe(a, bus), RT_OK);
    CHECK_EQ(subscribe(a, bus), RT_OK);
    CHECK_EQ(read_by(a, bus), NOTHING);
    publish(bus, 2);
    CHECK_EQ(read_by(a, bus), 2);
    actor_id heir = make_puppet();
    CHECK_EQ(unsubscribe(a, bus), RT_OK);
    CHECK_EQ(subscribe(heir, bus), RT_OK); /* with the number that a had */
    CHECK_EQ(read_by(heir, bus), NOTHING);
    publish(bus, 3);
    CHECK_EQ(read_by(heir, bus), 3); /* and without what a had read */
    done();
}

TEST(bus_rule_1_holds_for_a_second_subscription_and_for_a_number_taken_over)
{
    in_sim(subscribes_again);
}

/* Rule 2. */

static void own_pace(void *arg)
{
    (void)arg;
    bus_id bus = make_bus(&plain);
    actor_id fast = subscriber(bus);
    actor_id slow = subscriber(bus);
    for (int i = 1; i <= 8; i++) {
        publish(bus, i);
        CHECK_EQ(read_by(fast, bus), i);
    }
    CHECK_EQ(read_by(fast, bus), NOTHING);
    for (int i = 1; i <= 8; i++) {
        CHECK_EQ(read_by(slow, bus), i);
    }
    CHECK_EQ(read_by(slow, bus), NOTHING);
    done();
}

TEST(bus_rule_2_each_subscriber_reads_at_its_own_pace)
{
    in_sim(own_pace);
}

static void thirty_two(void *arg)
{
    (void)arg;
    bus_id bus = make_bus_with(4, 32, 0);
    actor_id ids[33];
    for (size_t i = 0; i < 32; i++) {
        ids[i] = subscriber(bus);
    }
    ids[32] = make_puppet();
    CHECK_EQ(subscribe(ids[32], bus), RT_ERR_NOMEM);
    publish(bus, 7);
    for (size_t i = 0; i < 32; i++) {
        CHECK_EQ(rt_bus_entry_count(bus), 1);
        CHECK_EQ(read_by(ids[i], bus), 7);
    }
    CHECK_EQ(rt_bus_entry_count(bus), 0);
    CHECK_EQ(unsubscribe(ids[13], bus), RT_OK);
    CHECK_EQ(subscribe(ids[32], bus), RT_OK);
    done();
}

TEST(bus_rule_2_thirty_two_subscribers_are_the_most_and_all_count)
{
    in_sim(thirty_two);
}

static void eviction(void *arg)
{
    (void)arg;
    bus_id bus = make_bus_with(3, 0, 0);
    actor_id fast = subscriber(bus);
    actor_id slow = subscriber(bus);
    for (int i = 1; i <= 3; i++) {
        publish(bus, i);
        CHECK_EQ(read_by(fast, bus), i);
    }
    publish(bus, 4); /* evicts 1, which the slow one has not read */
    CHECK_EQ(rt_bus_entry_count(bus), 3);
    CHECK_EQ(read_by(slow, bus), 2); /* RT_OK, as if nothing had been lost */
    CHECK_EQ(read_by(slow, bus), 3);
    CHECK_EQ(read_by(slow, bus), 4);
    CHECK_EQ(read_by(slow, bus), NOTHING);
    CHECK_EQ(read_by(fast, bus), 4);
    CHECK_EQ(read_by(fast, bus), NOTHING);
    done();
}

TEST(bus_rule_2_a_slow_subscriber_skips_silently_to_the_oldest_entry_left)
{
    in_sim(eviction);
}

static void evicted_though_unread(void *arg)
{
    (void)arg;
    bus_id bus = make_bus_with(1, 2, 0);
    actor_id a = subscriber(bus);
    for (int i = 1; i <= 100; i++) {
        publish(bus, i);
    }
    CHECK_EQ(rt_bus_entry_count(bus), 1);
    CHECK_EQ(read_by(a, bus), 100);
    CHECK_EQ(read_by(a, bus), NOTHING);
    done();
}

TEST(bus_rule_2_eviction_does_not_ask_who_has_read)
{
    in_sim(evicted_though_unread);
}

static void never_loses(void *arg)
{
    (void)arg;
    bus_id bus = make_bus_with(2, 0, 0);
    actor_id fast = subscriber(bus);
    for (int i = 1; i <= 500; i++) {
        publish(bus, i);
        CHECK_EQ(read_by(fast, bus), i);
    }
    done();
}

TEST(bus_rule_2_a_fast_subscriber_loses_nothing_over_many_wraps)
{
    in_sim(never_loses);
}

static void told_by_nobody(void *arg)
{
    (void)arg;
    bus_id bus = make_bus_with(1, 0, 0);
    int value;
    size_t len;
    CHECK_OK(rt_bus_subscribe(bus));
    publish(bus, 1);
    publish(bus, 2);
    CHECK(!rt_ipc_pending()); /* no message says so */
    CHECK_OK(rt_bus_read(bus, &value, sizeof(value), &len));
    CHECK_EQ(value, 2);
    uint64_t dropped = 0;
    CHECK_OK(rt_bus_dropped(bus, &dropped)); /* who wants to know asks */
    CHECK_EQ(dropped, 1);
    done();
}

TEST(bus_rule_2_data_loss_is_not_signalled)
{
    in_sim(told_by_nobody);
}

/* Rule 3. */

static void unique_readers(void *arg)
{
    (void)arg;
    bus_id bus = make_bus_with(8, 2, 0);
    actor_id a = subscriber(bus);
    actor_id b = subscriber(bus);
    actor_id c = subscriber(bus);
    publish(bus, 1);
    CHECK_EQ(read_by(a, bus), 1);
    CHECK_EQ(read_by(a, bus), NOTHING);
    CHECK_EQ(rt_bus_entry_count(bus), 1);
    CHECK_EQ(read_by(b, bus), 1);
    CHECK_EQ(rt_bus_entry_count(bus), 0);
    CHECK_EQ(read_by(c, bus), NOTHING);
    done();
}

TEST(bus_rule_3_max_readers_counts_different_subscribers)
{
    in_sim(unique_readers);
}

static void resubscribed_reader(void *arg)
{
    (void)arg;
    bus_id bus = make_bus_with(8, 2, 0);
    actor_id a = subscriber(bus);
    actor_id b = subscriber(bus);
    publish(bus, 1);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(read_by(a, bus), i == 0 ? 1 : NOTHING);
        CHECK_EQ(unsubscribe(a, bus), RT_OK);
        CHECK_EQ(subscribe(a, bus), RT_OK);
    }
    CHECK_EQ(rt_bus_entry_count(bus), 1);
    end(a); /* its read counts also after its end */
    CHECK_EQ(read_by(b, bus), 1);
    CHECK_EQ(rt_bus_entry_count(bus), 0);
    done();
}

TEST(bus_rule_3_who_subscribes_again_is_still_one_reader)
{
    in_sim(resubscribed_reader);
}

static void unlimited_readers(void *arg)
{
    (void)arg;
    bus_id bus = make_bus_with(8, 0, 0);
    publish(bus, 0);
    for (int i = 1; i <= 5; i++) {
        actor_id reader = subscriber(bus);
        publish(bus, i);
        CHECK_EQ(read_by(reader, bus), i);
        CHECK_EQ(rt_bus_entry_count(bus), i + 1);
        end(reader);
    }
    nap(1000000);
    publish(bus, 6);
    CHECK_EQ(rt_bus_entry_count(bus), 7);
    done();
}

TEST(bus_rule_3_zero_readers_and_zero_age_keep_an_entry_until_the_bus_is_full)
{
    in_sim(unlimited_readers);
}

/* Retention. */

static void age_on_read(void *arg)
{
    (void)arg;
    bus_id bus = make_bus_with(8, 0, 100);
    actor_id a = subscriber(bus);
    publish(bus, 1);
    nap(50);
    publish(bus, 2);
    nap(49);
    CHECK_EQ(read_by(a, bus), 1); /* 99 ms old */
    publish(bus, 3);
    nap(1);
    CHECK_EQ(rt_bus_entry_count(bus), 3);
    CHECK_EQ(read_by(a, bus), 2); /* 51 ms old; the look removed 1, now 100 ms old */
    CHECK_EQ(rt_bus_entry_count(bus), 2);
    nap(100);
    CHECK_EQ(read_by(a, bus), NOTHING);
    CHECK_EQ(rt_bus_entry_count(bus), 0);
    done();
}

TEST(bus_entry_goes_when_a_read_finds_it_max_age_old)
{
    in_sim(age_on_read);
}

static void age_on_publish(void *arg)
{
    (void)arg;
    bus_id bus = make_bus_with(8, 0, 10);
    publish(bus, 1);
    nap(5);
    publish(bus, 2);
    CHECK_EQ(rt_bus_entry_count(bus), 2);
    nap(5);
    publish(bus, 3);
    CHECK_EQ(rt_bus_entry_count(bus), 2);
    nap(20);
    publish(bus, 4);
    CHECK_EQ(rt_bus_entry_count(bus), 1);
    done();
}

TEST(bus_entry_goes_when_a_publication_finds_it_max_age_old)
{
    in_sim(age_on_publish);
}

static void aged_while_waiting(void *arg)
{
    (void)arg;
    bus_id bus = make_bus_with(8, 0, 10);
    actor_id a = subscriber(bus);
    publish(bus, 1);
    nap(10);
    struct answer answer = tell(a, (struct command){.verb = WAIT, .bus = bus, .timeout_ms = 5});
    CHECK_EQ(answer.code, RT_ERR_TIMEOUT);
    CHECK_EQ(rt_bus_entry_count(bus), 0);
    done();
}

TEST(bus_read_wait_does_not_give_what_is_too_old)
{
    in_sim(aged_while_waiting);
}

static void first_condition(void *arg)
{
    (void)arg;
    bus_id bus = make_bus_with(2, 2, 1000);
    actor_id a = subscriber(bus);
    actor_id b = subscriber(bus);
    publish(bus, 1);
    CHECK_EQ(read_by(a, bus), 1);
    CHECK_EQ(read_by(b, bus), 1);
    CHECK_EQ(rt_bus_entry_count(bus), 0); /* its readers, before its age */
    publish(bus, 2);
    CHECK_EQ(read_by(a, bus), 2);
    nap(1000);
    CHECK_EQ(read_by(b, bus), NOTHING); /* its age, before its second reader */
    CHECK_EQ(rt_bus_entry_count(bus), 0);
    publish(bus, 3);
    publish(bus, 4);
    publish(bus, 5);
    CHECK_EQ(rt_bus_entry_count(bus), 2); /* no room, before readers and age */
    CHECK_EQ(read_by(a, bus), 4);
    done();
}

TEST(bus_entry_goes_by_whichever_of_the_three_conditions_is_met_first)
{
    in_sim(first_condition);
}

/* The pool that buses and messages share. */

static size_t fill_with_mail(void)
{
    size_t sent = 0;
    while (!RT_FAILED(rt_ipc_send(rt_self(), NULL, 0, IPC_ASYNC))) {
        sent++;
    }
    return sent;
}

static void drain_mail(size_t count)
{
    rt_message msg;
    while (count-- > 0) {
        CHECK_OK(rt_ipc_recv(&msg, 0));
    }
    CHECK_STATUS(rt_ipc_recv(&msg, 0), RT_ERR_WOULDBLOCK);
}

static void buses_starve_mail(void *arg)
{
    (void)arg;
    bus_id buses[RT_MESSAGE_DATA_POOL_SIZE / RT_MAX_BUS_ENTRIES + 1];
    for (size_t i = 0; i < COUNT_OF(buses); i++) {
        buses[i] = make_bus_with(RT_MAX_BUS_ENTRIES, 0, 0);
    }
    for (size_t i = 0; i < RT_MESSAGE_DATA_POOL_SIZE; i++) {
        publish(buses[i / RT_MAX_BUS_ENTRIES], (int)i);
    }
    bus_id last = buses[COUNT_OF(buses) - 1];
    CHECK_STATUS(rt_ipc_send(rt_self(), NULL, 0, IPC_ASYNC), RT_ERR_NOMEM);
    CHECK_STATUS(rt_bus_publish(last, NULL, 0), RT_ERR_NOMEM);
    CHECK_EQ(rt_bus_entry_count(last), 0);
    /* A full bus makes its own room. */
    publish(buses[0], 1);
    CHECK_EQ(rt_bus_entry_count(buses[0]), RT_MAX_BUS_ENTRIES);
    CHECK_STATUS(rt_ipc_send(rt_self(), NULL, 0, IPC_ASYNC), RT_ERR_NOMEM);
    CHECK_OK(rt_bus_destroy(buses[0]));
    CHECK_EQ(fill_with_mail(), RT_MAX_BUS_ENTRIES);
    drain_mail(RT_MAX_BUS_ENTRIES);
    done();
}

TEST(bus_entries_can_use_up_the_pool_of_messages)
{
    in_sim(buses_starve_mail);
}

static void mail_starves_buses(void *arg)
{
    (void)arg;
    bus_id bus = make_bus_with(3, 0, 0);
    CHECK_OK(rt_bus_subscribe(bus));
    publish(bus, 1);
    publish(bus, 2);
    size_t sent = fill_with_mail();
    CHECK_EQ(sent, RT_MESSAGE_DATA_POOL_SIZE - 2);
    rt_time before = rt_clock();
    CHECK_STATUS(rt_bus_publish(bus, NULL, 0), RT_ERR_NOMEM);
    CHECK_EQ(rt_clock(), before);
    CHECK_EQ(rt_bus_entry_count(bus), 2); /* nothing was dropped for it */
    CHECK_EQ(rt_ipc_count(), sent);       /* and no message ever is */
    drain_mail(sent);
    publish(bus, 3);
    CHECK_EQ(rt_bus_entry_count(bus), 3);
    int value;
    size_t len;
    for (int i = 1; i <= 3; i++) {
        CHECK_OK(rt_bus_read(bus, &value, sizeof(value), &len));
        CHECK_EQ(value, i);
    }
    done();
}

TEST(bus_publish_reports_nomem_at_once_and_drops_nothing_when_the_pool_is_used_up)
{
    in_sim(mail_starves_buses);
}

static void full_table(void *arg)
{
    (void)arg;
    rt_bus_config config = plain;
    config.max_subscribers = 2;
    bus_id bus = make_bus(&config);
    actor_id a = subscriber(bus);
    (void)subscriber(bus);
    actor_id c = make_puppet();
    CHECK_EQ(subscribe(c, bus), RT_ERR_NOMEM);
    end(a);
    CHECK_EQ(subscribe(c, bus), RT_OK);
    done();
}

TEST(bus_subscribe_reports_nomem_when_the_table_is_full)
{
    in_sim(full_table);
}

static void all_buses(void *arg)
{
    (void)arg;
    bus_id bus = BUS_ID_INVALID;
    for (int i = 0; i < RT_MAX_BUSES; i++) {
        bus = make_bus(&plain);
    }
    bus_id more;
    CHECK_STATUS(rt_bus_create(&plain, &more), RT_ERR_NOMEM);
    CHECK_OK(rt_bus_destroy(bus));
    CHECK_OK(rt_bus_create(&plain, &more));
    CHECK(more != bus);
    done();
}

TEST(bus_create_reports_nomem_when_all_buses_exist)
{
    in_sim(all_buses);
}

/* Death. */

static void dies_subscribed(void *arg)
{
    (void)arg;
    bus_id bus = make_bus(&plain);
    bus_id other = make_bus(&plain);
    actor_id a = subscriber(bus);
    CHECK_EQ(subscribe(a, other), RT_OK);
    CHECK_STATUS(rt_bus_destroy(bus), RT_ERR_INVALID);
    CHECK_OK(rt_actor_kill(a));
    rt_yield();
    CHECK(!rt_actor_alive(a));
    CHECK_OK(rt_bus_destroy(bus));
    CHECK_OK(rt_bus_destroy(other));
    done();
}

TEST(bus_subscriptions_end_with_their_actor)
{
    in_sim(dies_subscribed);
}
