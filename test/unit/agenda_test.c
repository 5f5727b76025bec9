/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "agenda_test"
#include "port/sim/agenda.h"

#include "support/test.h"

#define ENTRIES 6

static struct rti_agenda agenda;
static struct rti_agenda_entry entries[ENTRIES];
static char said[32];
static size_t said_count;

static void say(struct rti_agenda_entry *entry)
{
    CHECK(!rti_agenda_entry_is_planned(entry));
    said[said_count++] = (char)('a' + (entry - entries));
}

static void start(void)
{
    rti_agenda_init(&agenda);
    memset(said, 0, sizeof(said));
    said_count = 0;
    for (size_t i = 0; i < ENTRIES; i++) {
        rti_agenda_entry_init(&entries[i], say);
    }
}

TEST(agenda_happens_by_time_and_among_equals_as_planned)
{
    start();
    const uint64_t times[ENTRIES] = {30, 10, 20, 10, 30, 10};
    CHECK(rti_agenda_next(&agenda) == RTI_TIME_NEVER);
    for (size_t i = 0; i < ENTRIES; i++) {
        rti_agenda_add(&agenda, &entries[i], times[i]);
        rti_agenda_audit(&agenda);
    }
    CHECK_EQ(rti_agenda_next(&agenda), 10);
    rti_agenda_run(&agenda, 9);
    CHECK_STR(said, "");
    rti_agenda_run(&agenda, 20);
    CHECK_STR(said, "bdfc");
    rti_agenda_run(&agenda, 1000);
    CHECK_STR(said, "bdfcae");
    CHECK(rti_agenda_next(&agenda) == RTI_TIME_NEVER);
}

TEST(agenda_forgets_what_is_removed_and_keeps_the_order_of_what_is_put_off)
{
    start();
    for (size_t i = 0; i < ENTRIES; i++) {
        rti_agenda_add(&agenda, &entries[i], 10 * i);
    }
    rti_agenda_remove(&entries[1]);
    rti_agenda_remove(&entries[1]);
    rti_agenda_postpone(&agenda, 35);
    CHECK_EQ(rti_agenda_next(&agenda), 35);
    rti_agenda_add(&agenda, &entries[1], 35);
    rti_agenda_audit(&agenda);
    rti_agenda_run(&agenda, 34);
    CHECK_STR(said, "");
    rti_agenda_run(&agenda, 35);
    CHECK_STR(said, "acdb");
    rti_agenda_run(&agenda, 50);
    CHECK_STR(said, "acdbef");
}

static void say_and_plan(struct rti_agenda_entry *entry)
{
    say(entry);
    if (said_count < 3) {
        rti_agenda_add(&agenda, entry, entry->due_ns);
    }
}

TEST(agenda_lets_happen_what_is_planned_for_the_same_time_meanwhile)
{
    start();
    rti_agenda_entry_init(&entries[0], say_and_plan);
    rti_agenda_add(&agenda, &entries[0], 5);
    rti_agenda_add(&agenda, &entries[1], 5);
    rti_agenda_run(&agenda, 5);
    CHECK_STR(said, "aba");
}

TEST(agenda_has_a_last_moment)
{
    CHECK_EQ(rti_agenda_after(3, 4), 7);
    CHECK_EQ(rti_agenda_after(0, RTI_TIME_NEVER), RTI_TIME_NEVER - 1);
    CHECK_EQ(rti_agenda_after(RTI_TIME_NEVER - 3, 1), RTI_TIME_NEVER - 2);
    CHECK_EQ(rti_agenda_after(RTI_TIME_NEVER - 3, 2), RTI_TIME_NEVER - 1);
    CHECK_EQ(rti_agenda_after(RTI_TIME_NEVER - 3, 3), RTI_TIME_NEVER - 1);
    CHECK_EQ(rti_agenda_after(RTI_TIME_NEVER - 1, 3), RTI_TIME_NEVER - 1);
}
