/* SPDX-License-Identifier: Apache-2.0 */

/* What base/atomic.h and a model call: each access becomes the announced step of the calling
 * thread. In setup and check no thread runs, and accesses go straight to memory. */

#include "port/explore/machine.h"

/* Whether the caller is a thread of the model, not its setup or check. */
static bool machine_is_thread(void)
{
    return machine.self != SEARCH_NOBODY;
}

uint64_t explore_load(const struct explore_access *access)
{
    if (!machine_is_thread()) {
        return memory_get(access->address, access->size);
    }
    return machine_point(&(struct machine_op){.kind = MACHINE_LOAD,
                                              .order = access->order,
                                              .word = memory_word(access->address, access->size),
                                              .site = access->site});
}

static void machine_store(const struct explore_access *access, enum machine_op_kind kind,
                          uint64_t value)
{
    if (!machine_is_thread()) {
        memory_put(access->address, access->size, value);
        return;
    }
    machine_point(&(struct machine_op){.kind = kind,
                                       .order = access->order,
                                       .word = memory_word(access->address, access->size),
                                       .value = value,
                                       .site = access->site});
}

void explore_store(const struct explore_access *access, uint64_t value)
{
    machine_store(access, MACHINE_STORE, value);
}

void explore_init(const struct explore_access *access, uint64_t value)
{
    machine_store(access, MACHINE_INIT, value);
}

uint64_t explore_rmw(const struct explore_access *access, enum explore_rmw kind, uint64_t operand)
{
    if (!machine_is_thread()) {
        uint64_t old = memory_get(access->address, access->size);
        memory_put(access->address, access->size, memory_rmw_value(kind, old, operand));
        return old;
    }
    return machine_point(&(struct machine_op){.kind = MACHINE_RMW,
                                              .order = access->order,
                                              .rmw = kind,
                                              .word = memory_word(access->address, access->size),
                                              .value = operand,
                                              .site = access->site});
}

bool explore_cas(const struct explore_access *access, uint64_t *expected, uint64_t desired)
{
    uint64_t old;
    if (machine_is_thread()) {
        old = machine_point(&(struct machine_op){.kind = MACHINE_CAS,
                                                 .order = access->order,
                                                 .word = memory_word(access->address, access->size),
                                                 .value = desired,
                                                 .expected = *expected,
                                                 .site = access->site});
    } else {
        old = memory_get(access->address, access->size);
        memory_put(access->address, access->size, old == *expected ? desired : old);
    }
    bool won = old == *expected;
    *expected = old;
    return won;
}

void explore_fence(const char *site)
{
    if (machine_is_thread()) {
        machine_point(&(struct machine_op){.kind = MACHINE_FENCE, .site = site});
    }
}

void explore_spin(const char *site)
{
    if (!machine_is_thread()) {
        machine_fail(EXPLORE_DEADLOCK, "spins at %s with no other thread", site);
    }
    machine_point(&(struct machine_op){.kind = MACHINE_SPIN, .site = site});
}

bool explore_futex_wait(void *word, uint32_t expected, bool may_time_out, const char *site)
{
    if (!machine_is_thread()) {
        machine_fail(EXPLORE_DEADLOCK, "sleeps at %s with no other thread", site);
    }
    return machine_point(&(struct machine_op){.kind = MACHINE_WAIT,
                                              .word = memory_word(word, sizeof(uint32_t)),
                                              .queue = memory_queue(word),
                                              .expected = expected,
                                              .may_time_out = may_time_out,
                                              .site = site}) != 0;
}

void explore_futex_wake(void *word, uint32_t count, const char *site)
{
    if (machine_is_thread()) {
        machine_point(&(struct machine_op){.kind = MACHINE_WAKE,
                                           .word = memory_word(word, sizeof(uint32_t)),
                                           .queue = memory_queue(word),
                                           .value = count,
                                           .site = site});
    }
}

static void machine_plain(const void *address, size_t size, const char *site, bool is_write)
{
    if (!machine_is_thread()) {
        return;
    }
    const struct order_thread *order = &machine.threads[machine.self].order;
    struct order_race race = {.site = site};
    machine_trace(machine.self, site, "  %s %zu bytes", is_write ? "writes" : "reads", size);
    if (is_write ? !order_plain_write(order, machine.self, address, size, &race)
                 : !order_plain_read(order, machine.self, address, size, &race)) {
        machine_fail(
            EXPLORE_RACE, "%s by thread %u at %s and %s by thread %u at %s are not ordered",
            race.other_what, race.other_thread, race.other_site, race.what, race.thread, race.site);
    }
}

void explore_plain_read(const void *address, size_t size, const char *site)
{
    machine_plain(address, size, site, false);
}

void explore_plain_write(const void *address, size_t size, const char *site)
{
    machine_plain(address, size, site, true);
}

_Noreturn void explore_assert_failed(const char *condition, const char *site)
{
    machine_fail(EXPLORE_ASSERTION, "%s at %s", condition, site);
}

unsigned explore_self(void)
{
    return machine.self;
}

unsigned explore_choose(unsigned count)
{
    if (!machine.is_running || count == 0 || count > 26) {
        machine_fail(EXPLORE_MISUSE, "explore_choose: before the first step, or more than 26");
    }
    return count > 1 ? search_choose(count) : 0;
}
