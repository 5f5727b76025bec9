/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks with guard pages: an actor module in the simulated world, over the machine's memory. */
#define _GNU_SOURCE
#define RTI_MODULE "stacks_test"
#include "sched/stacks.h"

#include <orrery/rt/ipc.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "port/linux/port_linux.h"
#include "support/actors.h"
#include "support/test.h"

static struct rti_port_linux machine;
static struct rti_port_sim port;
static struct rti_clockwork clockwork;
static struct rti_sched sched;
static struct rti_stacks stacks;
static struct rti_actors actors;

static void start(bool by_mprotect)
{
    rti_port_linux_init_bare(&machine);
    if (by_mprotect) {
        machine.has_guard_install = false;
    }
    rti_port_sim_init(&port, 1, 0, &machine.port);
    rti_clockwork_init(&clockwork, 0);
    struct rti_timer_source timers = rti_clockwork_source(&clockwork);
    CHECK_OK(rti_sched_init(&sched, &port.port, &timers));
    rti_stacks_init(&stacks, &sched);
    CHECK_OK(rti_actors_init(&actors, &sched));
    CHECK(stacks.is_protecting);
}

static void finish(void)
{
    rti_actors_kill_all(&actors);
    CHECK_OK(rti_sched_run(&sched));
    rti_actors_audit(&actors);
    size_t kept = stacks.kept_count;
    CHECK_EQ(rti_arena_stats(&stacks.arena).used_count, kept);
    rti_actors_deinit(&actors);
    rti_stacks_deinit(&stacks);
    rti_sched_deinit(&sched);
}

/* Can the kernel read here on our behalf? */
static bool is_readable(const void *address)
{
    int fds[2];
    CHECK(pipe(fds) == 0);
    bool is_read = write(fds[1], address, 1) == 1;
    close(fds[0]);
    close(fds[1]);
    return is_read;
}

static void waits(void *arg)
{
    (void)arg;
    rt_message msg;
    (void)rt_ipc_recv(&msg, -1);
    rt_exit();
}

static void ends(void *arg)
{
    (void)arg;
    rt_exit();
}

static struct rti_actor *spawn(actor_fn fn, size_t size, bool is_heap)
{
    actor_config config = {.stack_size = size, .malloc_stack = is_heap};
    actor_id id = rt_spawn_ex(fn, NULL, &config);
    return id == ACTOR_ID_INVALID ? NULL : rti_actor_lookup(id);
}

static void check_guard(const struct rti_actor *actor, size_t size)
{
    const struct rti_stack *stack = &actor->fiber.stack;
    CHECK(actor->stack.is_guarded);
    CHECK(rti_stack_guard(stack) != NULL &&
          (uintptr_t)rti_stack_guard(stack) % RT_STACK_GUARD_SIZE == 0);
    CHECK_EQ(rti_stack_low(stack) - rti_stack_guard(stack), RT_STACK_GUARD_SIZE);
    CHECK(!is_readable(rti_stack_guard(stack)) && !is_readable(rti_stack_low(stack) - 1));
    CHECK(is_readable(rti_stack_low(stack)) && is_readable(stack->high_guard + 7));
    /* The actor has what it asked for, but for the guard words; the reserve comes on top. */
    CHECK(rti_stack_own_size(stack) <= size && rti_stack_own_size(stack) + 64 >= size);
    CHECK_EQ(stack->limit - (char *)rti_stack_usable(stack), RTI_STACK_RESERVE);
}

static void check_all_sizes(bool by_mprotect)
{
    static const size_t sizes[] = {4096, 4097, 5000, 16384, 65536, 100001};
    start(by_mprotect);
    for (size_t i = 0; i < RTI_COUNT_OF(sizes); i++) {
        for (int is_heap = 0; is_heap < 2; is_heap++) {
            check_guard(spawn(waits, sizes[i], is_heap != 0), sizes[i]);
        }
    }
    finish();
    /* Nothing is left guarded. */
    memset(stacks.memory, 1, sizeof(stacks.memory));
}

TEST(actor_stack_of_any_size_has_a_guard_below_it)
{
    check_all_sizes(false);
}

TEST(actor_stack_has_a_guard_by_mprotect_where_nothing_better_works)
{
    check_all_sizes(true);
}

TEST(actor_stack_is_kept_for_the_next_of_its_size)
{
    start(false);
    void *block = spawn(ends, 16384, false)->stack.block;
    CHECK_OK(rti_sched_run(&sched));
    CHECK_EQ(stacks.kept_count, 1);
    rti_actors_audit(&actors);
    CHECK(spawn(ends, 20000, false)->stack.block != block);
    CHECK_EQ(stacks.kept_count, 1);
    struct rti_actor *again = spawn(ends, 16384, false);
    CHECK(again->stack.block == block);
    check_guard(again, 16384);
    CHECK_EQ(stacks.kept_count, 0);
    finish();
}

TEST(actor_stack_that_was_used_last_is_used_next)
{
    start(false);
    struct rti_actor *a = spawn(ends, 16384, false);
    struct rti_actor *b = spawn(ends, 16384, false);
    void *first = a->stack.block;
    void *second = b->stack.block;
    CHECK_OK(rti_sched_run(&sched));
    CHECK(spawn(ends, 16384, false)->stack.block == second);
    CHECK(spawn(ends, 16384, false)->stack.block == first);
    finish();
}

TEST(actor_stack_of_the_heap_is_not_kept)
{
    start(false);
    CHECK(spawn(ends, 16384, true) != NULL);
    CHECK_OK(rti_sched_run(&sched));
    CHECK_EQ(stacks.kept_count, 0);
    CHECK_EQ(rti_arena_stats(&stacks.arena).used_count, 0);
    finish();
}

TEST(actor_stacks_with_guards_fill_the_arena_as_those_without)
{
    start(false);
    for (int round = 0; round < 3; round++) {
        size_t count = 0;
        while (spawn(waits, RT_DEFAULT_STACK_SIZE, false) != NULL) {
            count++;
        }
        CHECK_EQ(count, RT_STACK_ARENA_SIZE / RT_DEFAULT_STACK_SIZE);
        rti_actors_audit(&actors);
        rti_actors_kill_all(&actors);
        CHECK_OK(rti_sched_run(&sched));
        CHECK_EQ(stacks.free_bytes, RT_STACK_ARENA_SIZE);
        CHECK_EQ(stacks.kept_count, count);
    }
    finish();
}

TEST(actor_stacks_that_are_kept_make_room_when_it_is_needed)
{
    start(false);
    /* Many small ones, all kept, then one that needs nearly everything. */
    for (size_t i = 0; i < RT_MAX_ACTORS; i++) {
        CHECK(spawn(ends, 4096 + 64 * i, false) != NULL);
    }
    CHECK_OK(rti_sched_run(&sched));
    CHECK_EQ(stacks.kept_count, RT_MAX_ACTORS);
    struct rti_actor *large = spawn(waits, RT_STACK_ARENA_SIZE, false);
    CHECK(large != NULL);
    check_guard(large, RT_STACK_ARENA_SIZE);
    CHECK(spawn(waits, 4096, false) == NULL);
    rti_actors_audit(&actors);
    finish();
}

TEST(actor_stacks_kept_are_never_more_than_can_be_used)
{
    start(false);
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < RT_MAX_ACTORS; i++) {
            CHECK(spawn(ends, 4096 + 4096 * round, false) != NULL);
        }
        CHECK_OK(rti_sched_run(&sched));
        CHECK(stacks.kept_count <= RTI_STACKS_MAX);
        rti_actors_audit(&actors);
    }
    CHECK_EQ(stacks.kept_count, RTI_STACKS_MAX);
    finish();
}

TEST(actor_stack_that_cannot_be_had_changes_nothing)
{
    start(false);
    CHECK(spawn(ends, 16384, false) != NULL);
    CHECK_OK(rti_sched_run(&sched));
    CHECK(spawn(waits, RT_STACK_ARENA_SIZE + 64, false) == NULL);
    CHECK(spawn(waits, SIZE_MAX / 8, false) == NULL);
    CHECK(spawn(waits, SIZE_MAX, true) == NULL);
    CHECK_EQ(stacks.kept_count, 1);
    CHECK_EQ(stacks.free_bytes, RT_STACK_ARENA_SIZE);
    rti_actors_audit(&actors);
    finish();
}

static rt_status guard_refused(struct rti_port *self, void *memory, size_t size)
{
    (void)self;
    (void)memory;
    (void)size;
    return (rt_status){RT_ERR_NOMEM, "the system has no more mappings"};
}

TEST(actor_stack_without_a_guard_has_its_guard_words)
{
    start(false);
    struct rti_port_ops ops = *port.port.ops;
    ops.memory_guard = guard_refused;
    port.port.ops = &ops;
    for (int is_heap = 0; is_heap < 2; is_heap++) {
        struct rti_actor *actor = spawn(ends, 16384, is_heap != 0);
        CHECK(actor != NULL && !actor->stack.is_guarded);
        CHECK(rti_stack_guard(&actor->fiber.stack) == NULL && actor->fiber.stack.limit == NULL);
        CHECK(rti_stack_is_intact(&actor->fiber.stack));
    }
    CHECK_OK(rti_sched_run(&sched));
    CHECK_EQ(stacks.kept_count, 0);
    CHECK_EQ(rti_arena_stats(&stacks.arena).used_count, 0);
    finish();
}

TEST(actor_stacks_on_a_port_without_protection_have_none)
{
    struct actors_world *world = actors_start();
    CHECK(!world->stacks.is_protecting);
    struct rti_actor *actor = spawn(ends, 16384, false);
    CHECK(rti_stack_guard(&actor->fiber.stack) == NULL);
    actors_finish(world);
}

TEST(actor_stack_shows_how_deep_it_was)
{
    start(false);
    struct rti_actor *actor = spawn(waits, 16384, false);
    struct rt_actor_stats stats;
    CHECK_STATUS(rti_sched_run(&sched), RT_ERR_DEADLOCK);
    CHECK_OK(rt_actor_stats(actor->id, &stats));
    CHECK(stats.stack_size <= 16384);
    CHECK(!RT_CHECKS || (stats.stack_used_max > 64 && stats.stack_used_max < 16384));
    finish();
}
