/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#define RTI_MODULE "memory_test"
#include "support/port_fixture.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

TEST(memory_map_gives_zeroed_pages_that_can_be_written)
{
    fixture_open(NULL);
    size_t size = 16 * fixture.page_size;
    unsigned char *memory = port->ops->memory_map(port, size);
    CHECK(memory != NULL);
    CHECK_EQ((uintptr_t)memory % fixture.page_size, 0);
    for (size_t i = 0; i < size; i++) {
        CHECK_EQ(memory[i], 0);
    }
    memset(memory, 0xFF, size);
    port->ops->memory_unmap(port, memory, size);
    fixture_close();
}

TEST(memory_map_of_nothing_or_of_too_much_is_null)
{
    fixture_open(NULL);
    CHECK(port->ops->memory_map(port, 0) == NULL);
    CHECK(port->ops->memory_map(port, SIZE_MAX / 2) == NULL);
    fixture_close();
}

TEST(memory_map_commits_only_the_pages_that_are_touched)
{
    fixture_open(NULL);
    size_t size = (size_t)1 << 33;
    char *memory = port->ops->memory_map(port, size);
    CHECK(memory != NULL);
    memory[2 * fixture.page_size] = 1;
    unsigned char resident[8];
    CHECK_EQ(mincore(memory, 8 * fixture.page_size, resident), 0);
    for (size_t i = 0; i < 8; i++) {
        CHECK_EQ(resident[i] & 1, i == 2);
    }
    port->ops->memory_unmap(port, memory, size);
    fixture_close();
}

/* How many pages of the memory from `from` to `to` are committed. */
static size_t committed(char *memory, size_t from, size_t to)
{
    static unsigned char resident[1 << 14];
    size_t pages = (to - from) / fixture.page_size;
    CHECK(pages <= sizeof(resident));
    CHECK_EQ(mincore(memory + from, to - from, resident), 0);
    size_t count = 0;
    for (size_t i = 0; i < pages; i++) {
        count += resident[i] & 1;
    }
    return count;
}

#define HUGE_SIZE ((size_t)2 << 20)

/* Memory that is expected dense, where a huge page that takes `late_ns` is too late. */
static char *map_dense(size_t size, uint64_t late_ns, struct rti_dense *dense)
{
    char *memory = port->ops->memory_map(port, size);
    CHECK(memory != NULL);
    fixture.huge_max_ns = late_ns;
    rti_port_expect_dense(port, dense, memory, size);
    return memory;
}

TEST(memory_expected_dense_commits_at_most_a_huge_page_too_many_and_at_first_nothing)
{
    fixture_open(NULL);
    size_t size = 16 * HUGE_SIZE + fixture.page_size;
    struct rti_dense dense;
    char *memory = map_dense(size, UINT64_MAX, &dense);
    rti_port_use_dense(port, &dense, memory + 1);
    memory[0] = 1;
    CHECK_EQ(committed(memory, fixture.page_size, size), 0);
    memory[4 * HUGE_SIZE - 1] = 1;
    CHECK_EQ(committed(memory, fixture.page_size, 4 * HUGE_SIZE - fixture.page_size), 0);
    CHECK_EQ(committed(memory, 4 * HUGE_SIZE, size), 0);
    for (size_t at = 4 * HUGE_SIZE; at < 6 * HUGE_SIZE; at += fixture.page_size) {
        rti_port_use_dense(port, &dense, memory + at + fixture.page_size);
        CHECK_EQ(memory[at], 0);
        memory[at] = 1;
    }
    CHECK_EQ(committed(memory, 4 * HUGE_SIZE, 6 * HUGE_SIZE), 2 * HUGE_SIZE / fixture.page_size);
    CHECK_EQ(committed(memory, 7 * HUGE_SIZE, size), 0);
    port->ops->memory_unmap(port, memory, size);
    fixture_close();
}

TEST(memory_whose_first_huge_page_came_late_has_no_second)
{
    fixture_open(NULL);
    size_t size = 16 * HUGE_SIZE;
    struct rti_dense dense;
    char *memory = map_dense(size, 0, &dense);
    for (size_t at = 0; at < 14 * HUGE_SIZE; at += HUGE_SIZE) {
        rti_port_use_dense(port, &dense, memory + at + 1);
        CHECK_EQ(memory[at], 0);
        memory[at] = 1;
    }
    /* The first lies at the fifth or sixth boundary; the last touched is none. */
    CHECK_EQ(committed(memory, 6 * HUGE_SIZE, size), 8);
    CHECK(dense.ready > (uintptr_t)memory + size);
    port->ops->memory_unmap(port, memory, size);
    fixture_close();
}

TEST(memory_whose_huge_pages_come_in_time_is_asked_for_one_at_a_time)
{
    fixture_open(NULL);
    size_t size = 16 * HUGE_SIZE;
    struct rti_dense dense;
    char *memory = map_dense(size, UINT64_MAX, &dense);
    size_t asked = 0;
    for (size_t at = 0; at < size; at += fixture.page_size) {
        uintptr_t before = dense.ready;
        rti_port_use_dense(port, &dense, memory + at + fixture.page_size);
        asked += dense.ready != before;
        CHECK(dense.ready >= (uintptr_t)memory + at + fixture.page_size);
        CHECK_EQ(memory[at], 0);
        memory[at] = 1;
    }
    /* Eleven or twelve of them begin behind the part without; none where the system has none. */
    CHECK(asked == 0 || asked == 11 || asked == 12);
    port->ops->memory_unmap(port, memory, size);
    fixture_close();
}

TEST(memory_expected_dense_may_be_too_small_for_it)
{
    fixture_open(NULL);
    size_t sizes[] = {fixture.page_size, (size_t)8 << 20, ((size_t)10 << 20) - 1};
    for (size_t i = 0; i < RTI_COUNT_OF(sizes); i++) {
        char *memory = port->ops->memory_map(port, sizes[i]);
        CHECK(memory != NULL);
        struct rti_dense dense;
        rti_port_expect_dense(port, &dense, memory, sizes[i]);
        rti_port_use_dense(port, &dense, memory + sizes[i]);
        memory[sizes[i] - 1] = 1;
        CHECK_EQ(memory[0], 0);
        port->ops->memory_unmap(port, memory, sizes[i]);
    }
    fixture_close();
}

/* Does a touch of the byte end the process by a fault? */
static bool touch_faults(volatile char *byte)
{
    pid_t child = fork();
    if (child == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGSEGV, SIG_DFL);
        signal(SIGBUS, SIG_DFL);
        *byte = 1;
        _exit(0);
    }
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

static void guard_the_middle_page(const struct rti_port_linux_config *config)
{
    fixture_open(config);
    size_t page = fixture.page_size;
    char *memory = port->ops->memory_map(port, 3 * page);
    CHECK(memory != NULL);
    memory[page] = 1;
    CHECK_OK(port->ops->memory_guard(port, memory + page, page));
    CHECK(touch_faults(memory + page));
    CHECK(touch_faults(memory + 2 * page - 1));
    CHECK(!touch_faults(memory + page - 1));
    CHECK(!touch_faults(memory + 2 * page));
    port->ops->memory_unmap(port, memory, 3 * page);
    fixture_close();
}

TEST(memory_guard_faults_at_any_touch_and_spares_its_neighbours)
{
    guard_the_middle_page(NULL);
}

TEST(memory_guard_on_an_older_kernel_faults_too)
{
    guard_the_middle_page(&(struct rti_port_linux_config){.is_guard_by_mprotect = true});
}

TEST(memory_guard_takes_whole_mapped_pages_only)
{
    fixture_open(NULL);
    size_t page = fixture.page_size;
    char *memory = port->ops->memory_map(port, 2 * page);
    CHECK_STATUS(port->ops->memory_guard(port, memory + 1, page), RT_ERR_INVALID);
    CHECK_STATUS(port->ops->memory_guard(port, memory, page - 1), RT_ERR_INVALID);
    CHECK_STATUS(port->ops->memory_guard(port, memory, 0), RT_ERR_INVALID);
    CHECK_STATUS(port->ops->memory_guard(port, NULL, page), RT_ERR_INVALID);
    port->ops->memory_unmap(port, memory, 2 * page);
    CHECK(port->ops->memory_guard(port, memory, 2 * page).code != RT_OK);
    fixture_close();
}

TEST(memory_guards_by_the_hundred_thousand_need_no_mapping_each)
{
    fixture_open(NULL);
    if (!fixture.has_guard_install) {
        test_skip("this kernel has no MADV_GUARD_INSTALL");
    }
    size_t page = fixture.page_size;
    char *memory = port->ops->memory_map(port, 200000 * page);
    CHECK(memory != NULL);
    for (size_t i = 0; i < 100000; i++) {
        CHECK_OK(port->ops->memory_guard(port, memory + 2 * i * page, page));
    }
    CHECK(touch_faults(memory + 199998 * page));
    port->ops->memory_unmap(port, memory, 200000 * page);
    fixture_close();
}
