/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "list_test"
#include "base/list.h"
#include "support/test.h"

struct item {
    struct rti_link link;
    int value;
};

static struct item *item_of(struct rti_link *link)
{
    return RTI_CONTAINER_OF(link, struct item, link);
}

TEST(list_pops_in_the_order_of_pushing)
{
    struct rti_list list;
    struct item items[3] = {{.value = 0}, {.value = 1}, {.value = 2}};
    rti_list_init(&list);
    for (size_t i = 0; i < 3; i++) {
        rti_list_push_tail(&list, &items[i].link);
    }
    CHECK_EQ(rti_list_audit(&list), 3);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(item_of(rti_list_pop(&list))->value, i);
    }
    CHECK(rti_list_pop(&list) == NULL);
    CHECK(rti_list_is_empty(&list));
}

TEST(list_remove_from_the_middle_keeps_the_others)
{
    struct rti_list list;
    struct item items[3] = {{.value = 0}, {.value = 1}, {.value = 2}};
    rti_list_init(&list);
    for (size_t i = 0; i < 3; i++) {
        rti_list_push_tail(&list, &items[i].link);
    }
    rti_list_remove(&items[1].link);
    CHECK(!rti_link_is_linked(&items[1].link));
    CHECK_EQ(rti_list_audit(&list), 2);
    CHECK_EQ(item_of(rti_list_peek(&list))->value, 0);
    CHECK_EQ(item_of(rti_list_next(&list, &items[0].link))->value, 2);
    CHECK(rti_list_next(&list, &items[2].link) == NULL);
}

TEST(list_push_head_goes_before_all_others)
{
    struct rti_list list;
    struct item items[2] = {{.value = 0}, {.value = 1}};
    rti_list_init(&list);
    rti_list_push_tail(&list, &items[0].link);
    rti_list_push_head(&list, &items[1].link);
    CHECK_EQ(item_of(rti_list_pop(&list))->value, 1);
}

TEST(list_splice_moves_all_and_leaves_the_source_empty)
{
    struct rti_list to;
    struct rti_list from;
    struct item items[4] = {{.value = 0}, {.value = 1}, {.value = 2}, {.value = 3}};
    rti_list_init(&to);
    rti_list_init(&from);
    rti_list_push_tail(&to, &items[0].link);
    rti_list_splice_tail(&to, &from);
    CHECK_EQ(rti_list_audit(&to), 1);
    for (size_t i = 1; i < 4; i++) {
        rti_list_push_tail(&from, &items[i].link);
    }
    rti_list_splice_tail(&to, &from);
    CHECK(rti_list_is_empty(&from));
    CHECK_EQ(rti_list_audit(&to), 4);
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(item_of(rti_list_pop(&to))->value, i);
    }
}

#if RT_CHECKS
static void push_twice(void *arg)
{
    struct rti_list list;
    struct item item = {.value = 0};
    (void)arg;
    rti_list_init(&list);
    rti_list_push_tail(&list, &item.link);
    rti_list_push_tail(&list, &item.link);
}

static void remove_twice(void *arg)
{
    struct rti_list list;
    struct item item = {.value = 0};
    (void)arg;
    rti_list_init(&list);
    rti_list_push_tail(&list, &item.link);
    rti_list_remove(&item.link);
    rti_list_remove(&item.link);
}

/* Who panics: where flash is scarce the functions are not inline. */
#define LIST_MODULE (RTI_ONE_WORKER ? "list" : "list_test")

TEST(list_double_insertion_panics_in_a_checked_build)
{
    CHECK_PANICS(LIST_MODULE, push_twice, NULL);
}

TEST(list_double_removal_panics_in_a_checked_build)
{
    CHECK_PANICS(LIST_MODULE, remove_twice, NULL);
}
#endif
