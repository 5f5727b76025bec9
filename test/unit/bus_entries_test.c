/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of a bus alone, at their limits and against a model that does what the specification
 * says in the slowest way: it searches every entry and every mask. */
#define RTI_MODULE "bus_entries_test"
#include "actor/bus_entries.h"

#include "base/rng.h"
#include "support/test.h"

static struct rti_ipc_pools pools;
static struct rti_bus_entries entries;

static void start(const rt_bus_config *config)
{
    rti_ipc_pools_init(&pools);
    rti_bus_entries_init(&entries, config, &pools);
}

static void finish(void)
{
    for (unsigned i = 0; i < RT_MAX_BUS_SUBSCRIBERS; i++) {
        if ((entries.cursors_mask >> i & 1) != 0) {
            rti_bus_cursor_close(&entries, i);
        }
    }
    rti_bus_entries_audit(&entries);
    rti_bus_entries_deinit(&entries);
    CHECK_EQ(rti_ipc_pools_data_in_use(&pools), 0);
    rti_ipc_pools_deinit(&pools);
}

static rt_bus_config config_of(size_t max_entries, uint8_t max_readers, uint32_t max_age_ms)
{
    return (rt_bus_config){.max_subscribers = 4,
                           .max_readers = max_readers,
                           .max_age_ms = max_age_ms,
                           .max_entries = max_entries,
                           .max_entry_size = sizeof(uint64_t)};
}

static void publish(uint64_t value, uint64_t now_ms)
{
    CHECK_OK(rti_bus_entries_publish(&entries, &value, sizeof(value), now_ms));
    rti_bus_entries_audit(&entries);
}

/* What the cursor reads; -1 if nothing. */
static int64_t take(unsigned number)
{
    const struct rti_bus_entry *entry = rti_bus_cursor_peek(&entries, number);
    if (entry == NULL) {
        return -1;
    }
    uint64_t value;
    CHECK_EQ(entry->len, sizeof(value));
    memcpy(&value, entry->block, sizeof(value));
    rti_bus_cursor_pass(&entries, number);
    rti_bus_entries_audit(&entries);
    return (int64_t)value;
}

TEST(bus_config_is_valid_exactly_within_the_limits)
{
    rt_bus_config config = {.max_subscribers = 1, .max_entries = 1, .max_entry_size = 1};
    CHECK(rti_bus_config_is_valid(&config));
    config.max_subscribers = 0;
    CHECK(!rti_bus_config_is_valid(&config));
    config.max_subscribers = 32;
    CHECK(rti_bus_config_is_valid(&config));
    config.max_subscribers = 33;
    CHECK(!rti_bus_config_is_valid(&config));
    config.max_subscribers = 3;
    config.max_readers = 3;
    CHECK(rti_bus_config_is_valid(&config));
    config.max_readers = 4;
    CHECK(!rti_bus_config_is_valid(&config));
    config.max_readers = 0;
    config.max_entries = 0;
    CHECK(!rti_bus_config_is_valid(&config));
    config.max_entries = RT_MAX_BUS_ENTRIES;
    CHECK(rti_bus_config_is_valid(&config));
    config.max_entries = RT_MAX_BUS_ENTRIES + 1;
    CHECK(!rti_bus_config_is_valid(&config));
    config.max_entries = 1;
    config.max_entry_size = 0;
    CHECK(!rti_bus_config_is_valid(&config));
    config.max_entry_size = RT_MAX_MESSAGE_SIZE;
    config.max_age_ms = UINT32_MAX;
    CHECK(rti_bus_config_is_valid(&config));
    config.max_entry_size = RT_MAX_MESSAGE_SIZE + 1;
    CHECK(!rti_bus_config_is_valid(&config));
}

TEST(bus_entries_with_one_place_keep_the_latest)
{
    rt_bus_config config = config_of(1, 0, 0);
    start(&config);
    unsigned reader = (unsigned)rti_bus_cursor_open(&entries);
    publish(1, 0);
    publish(2, 0);
    CHECK_EQ(entries.count, 1);
    CHECK_EQ(take(reader), 2);
    CHECK_EQ(take(reader), -1);
    CHECK_EQ(entries.count, 1);
    CHECK_EQ(entries.cursors[reader].dropped, 1);
    publish(3, 0);
    CHECK_EQ(take(reader), 3);
    CHECK_EQ(entries.cursors[reader].dropped, 1);
    finish();
}

TEST(bus_entries_used_up_in_the_middle_leave_no_hole_in_the_capacity)
{
    rt_bus_config config = config_of(3, 2, 0);
    start(&config);
    unsigned a = (unsigned)rti_bus_cursor_open(&entries);
    unsigned b = (unsigned)rti_bus_cursor_open(&entries);
    publish(1, 0);
    publish(2, 0);
    unsigned late = (unsigned)rti_bus_cursor_open(&entries);
    publish(3, 0);
    CHECK_EQ(take(late), 3);
    CHECK_EQ(take(a), 1);
    CHECK_EQ(take(a), 2);
    CHECK_EQ(take(a), 3); /* the second reader of 3, which goes; 1 and 2 stay */
    CHECK_EQ(entries.count, 2);
    publish(4, 0);
    CHECK_EQ(entries.count, 3); /* nothing had to go for it */
    CHECK_EQ(take(b), 1);
    CHECK_EQ(take(b), 2);
    CHECK_EQ(take(b), 4);
    CHECK_EQ(take(a), 4);
    CHECK_EQ(take(late), -1);
    CHECK_EQ(entries.count, 0);
    CHECK_EQ(entries.cursors[b].dropped, 0);
    finish();
}

TEST(bus_entries_publish_without_a_block_changes_nothing_unless_full)
{
    rt_bus_config config = config_of(2, 0, 0);
    start(&config);
    unsigned reader = (unsigned)rti_bus_cursor_open(&entries);
    publish(1, 0);
    static void *taken[RT_MESSAGE_DATA_POOL_SIZE];
    size_t count = 0;
    while ((taken[count] = rti_ipc_pools_data_alloc(&pools)) != NULL) {
        count++;
    }
    CHECK_EQ(count, RT_MESSAGE_DATA_POOL_SIZE - 1);
    CHECK_STATUS(rti_bus_entries_publish(&entries, NULL, 0, 0), RT_ERR_NOMEM);
    rti_bus_entries_audit(&entries);
    CHECK_EQ(entries.count, 1);
    CHECK_EQ(entries.published, 1);
    rti_pool_free(&pools.data, taken[--count]);
    publish(2, 0);
    publish(3, 0); /* full: the block of 1 carries it */
    CHECK_EQ(take(reader), 2);
    CHECK_EQ(take(reader), 3);
    while (count > 0) {
        rti_pool_free(&pools.data, taken[--count]);
    }
    finish();
}

TEST(bus_entries_expire_at_their_age_and_not_before)
{
    rt_bus_config config = config_of(4, 0, 10);
    start(&config);
    unsigned reader = (unsigned)rti_bus_cursor_open(&entries);
    publish(1, 100);
    publish(2, 105);
    rti_bus_entries_expire(&entries, 109);
    CHECK_EQ(entries.count, 2);
    rti_bus_entries_expire(&entries, 110);
    CHECK_EQ(entries.count, 1);
    CHECK_EQ(take(reader), 2);
    rti_bus_entries_expire(&entries, 115);
    CHECK_EQ(entries.count, 0);
    CHECK_EQ(entries.cursors[reader].dropped, 1);
    publish(3, UINT64_C(1) << 40);
    rti_bus_entries_expire(&entries, (UINT64_C(1) << 40) + 9);
    CHECK_EQ(take(reader), 3);
    finish();
}

TEST(bus_cursors_take_the_lowest_free_number_and_begin_behind_everything)
{
    rt_bus_config config = config_of(4, 0, 0);
    start(&config);
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(rti_bus_cursor_open(&entries), i);
    }
    CHECK_EQ(rti_bus_cursor_open(&entries), -1);
    publish(1, 0);
    publish(2, 0);
    CHECK_EQ(take(1), 1);
    rti_bus_cursor_close(&entries, 1);
    rti_bus_cursor_close(&entries, 2);
    CHECK_EQ(rti_bus_cursor_open(&entries), 1);
    CHECK_EQ(take(1), -1);
    publish(3, 0);
    CHECK_EQ(take(1), 3); /* not hidden by what the one before had read */
    CHECK_EQ(take(3), 1);
    finish();
}

static void pass_nothing(void *arg)
{
    rti_bus_cursor_pass(arg, 0);
}

TEST(bus_cursor_that_passes_nothing_panics)
{
    rt_bus_config config = config_of(1, 0, 0);
    start(&config);
    CHECK_EQ(rti_bus_cursor_open(&entries), 0);
    CHECK_PANICS("bus_entries", pass_nothing, &entries);
    finish();
}

/* The model: everything ever published, with what became of it. */
#define MODEL_MAX 600

struct model_entry {
    uint64_t published_ms;
    uint32_t readers_mask;
    uint32_t visible_mask; /* who subscribed when it was published, and does still */
    bool is_gone;
};

static struct model {
    struct model_entry all[MODEL_MAX];
    size_t published;
    uint32_t subscribed;
    uint64_t dropped[RT_MAX_BUS_SUBSCRIBERS];
} model;

static size_t model_count(void)
{
    size_t count = 0;
    for (size_t i = 0; i < model.published; i++) {
        count += !model.all[i].is_gone;
    }
    return count;
}

static void model_drop(struct model_entry *entry)
{
    entry->is_gone = true;
    for (unsigned i = 0; i < RT_MAX_BUS_SUBSCRIBERS; i++) {
        uint32_t missed = entry->visible_mask & ~entry->readers_mask;
        model.dropped[i] += missed >> i & 1;
    }
}

static void model_expire(const rt_bus_config *config, uint64_t now_ms)
{
    for (size_t i = 0; i < model.published && config->max_age_ms != 0; i++) {
        struct model_entry *entry = &model.all[i];
        if (!entry->is_gone && now_ms - entry->published_ms >= config->max_age_ms) {
            model_drop(entry);
        }
    }
}

static void model_publish(const rt_bus_config *config, uint64_t now_ms)
{
    CHECK(model.published < MODEL_MAX);
    if (model_count() >= config->max_entries) {
        size_t oldest = 0;
        while (model.all[oldest].is_gone) {
            oldest++;
        }
        model_drop(&model.all[oldest]);
    }
    model.all[model.published++] =
        (struct model_entry){.published_ms = now_ms, .visible_mask = model.subscribed};
}

static int64_t model_take(const rt_bus_config *config, unsigned number)
{
    for (size_t i = 0; i < model.published; i++) {
        struct model_entry *entry = &model.all[i];
        uint32_t bit = UINT32_C(1) << number;
        if (!entry->is_gone && (entry->visible_mask & bit) && !(entry->readers_mask & bit)) {
            entry->readers_mask |= bit;
            int readers = __builtin_popcount(entry->readers_mask);
            entry->is_gone = config->max_readers != 0 && readers >= config->max_readers;
            return (int64_t)i;
        }
    }
    return -1;
}

static void model_toggle(unsigned number)
{
    uint32_t bit = UINT32_C(1) << number;
    for (size_t i = 0; i < model.published; i++) {
        model.all[i].visible_mask &= ~bit;
    }
    model.subscribed ^= bit;
    model.dropped[number] = 0;
}

static void step(struct rti_rng *rng, const rt_bus_config *config, uint64_t now_ms)
{
    unsigned number = (unsigned)rti_rng_below(rng, config->max_subscribers);
    bool is_subscribed = model.subscribed >> number & 1;
    uint64_t draw = rti_rng_below(rng, 100);
    rti_bus_entries_expire(&entries, now_ms);
    model_expire(config, now_ms);
    if (draw < 40) {
        publish(model.published, now_ms);
        model_publish(config, now_ms);
    } else if (draw < 90) {
        if (is_subscribed) {
            CHECK_EQ(take(number), model_take(config, number));
            CHECK_EQ(entries.cursors[number].dropped, model.dropped[number]);
        }
    } else if (is_subscribed) {
        rti_bus_cursor_close(&entries, number);
        model_toggle(number);
    } else {
        int opened = rti_bus_cursor_open(&entries);
        CHECK(opened >= 0);
        model_toggle((unsigned)opened);
    }
    CHECK_EQ(entries.count, model_count());
    CHECK_EQ(entries.cursors_mask, model.subscribed);
}

TEST_SEEDED(bus_entries_equal_the_model_on_any_sequence)
{
    struct rti_rng rng;
    rti_rng_init(&rng, test_seed());
    for (int round = 0; round < 20; round++) {
        uint8_t subscribers = (uint8_t)(1 + rti_rng_below(&rng, 5));
        rt_bus_config config = {
            .max_subscribers = subscribers,
            .max_readers = (uint8_t)rti_rng_below(&rng, subscribers + 1u),
            .max_age_ms = (uint32_t)(rti_rng_below(&rng, 2) * (1 + rti_rng_below(&rng, 20))),
            .max_entries = 1 + rti_rng_below(&rng, 12),
            .max_entry_size = sizeof(uint64_t),
        };
        memset(&model, 0, sizeof(model));
        start(&config);
        uint64_t now_ms = rti_rng_below(&rng, 1000);
        for (int i = 0; i < 500; i++) {
            now_ms += rti_rng_below(&rng, 3);
            step(&rng, &config, now_ms);
        }
        finish();
    }
}
