/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "chooser_test"
#include "sched/chooser.h"

#include "support/test.h"

#define COUNT  5
#define ROUNDS 5000

TEST(seeded_chooser_reaches_every_place_and_no_other)
{
    struct rti_seeded_chooser seeded;
    struct rti_runnable one = {.next = NULL};
    struct rti_runqueue level = {.head = &one, .tail = &one};
    size_t seen[COUNT] = {0};
    rti_seeded_chooser_init(&seeded, 3);
    for (int i = 0; i < ROUNDS; i++) {
        size_t place = seeded.chooser.choose(&seeded.chooser, &level, COUNT);
        CHECK(place < COUNT);
        seen[place]++;
    }
    for (size_t i = 0; i < COUNT; i++) {
        CHECK(seen[i] > ROUNDS / COUNT / 2);
    }
}

TEST(seeded_chooser_repeats_with_its_seed)
{
    struct rti_seeded_chooser a;
    struct rti_seeded_chooser b;
    struct rti_seeded_chooser c;
    struct rti_runnable one = {.next = NULL};
    struct rti_runqueue level = {.head = &one, .tail = &one};
    size_t different = 0;
    rti_seeded_chooser_init(&a, 3);
    rti_seeded_chooser_init(&b, 3);
    rti_seeded_chooser_init(&c, 4);
    for (int i = 0; i < 100; i++) {
        size_t place = a.chooser.choose(&a.chooser, &level, 1000);
        CHECK_EQ(b.chooser.choose(&b.chooser, &level, 1000), place);
        different += c.chooser.choose(&c.chooser, &level, 1000) != place;
    }
    CHECK(different > 90);
}
