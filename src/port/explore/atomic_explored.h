/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_ATOMIC_EXPLORED_H
#define RTI_ATOMIC_EXPLORED_H

/* The explored body of base/atomic.h: the same types and names, each access a step of the
 * simulated machine. The names are macros so that a step knows the line it stands on.
 *
 * rti_T_init is a store like any other, and besides claims that nobody else can reach the word:
 * the explorer reports it if another thread's access is not ordered against it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "port/explore/explore.h"

enum explore_order {
    EXPLORE_RELAXED = 0,
    EXPLORE_ACQUIRE = 1,
    EXPLORE_RELEASE = 2,
    EXPLORE_ACQREL = 3,
};

enum explore_rmw { EXPLORE_EXCHANGE, EXPLORE_ADD, EXPLORE_SUB, EXPLORE_OR, EXPLORE_AND };

/* An access to a shared word: which, how wide, how strong, and where it is written. */
struct explore_access {
    const void *address;
    unsigned size;
    enum explore_order order;
    const char *site;
};

uint64_t explore_load(const struct explore_access *access);
void explore_store(const struct explore_access *access, uint64_t value);
void explore_init(const struct explore_access *access, uint64_t value);
uint64_t explore_rmw(const struct explore_access *access, enum explore_rmw kind, uint64_t operand);
bool explore_cas(const struct explore_access *access, uint64_t *expected, uint64_t desired);
void explore_fence(const char *site);
void explore_spin(const char *site);
void explore_plain_read(const void *address, size_t size, const char *site);
void explore_plain_write(const void *address, size_t size, const char *site);

#define EXPLORE_ACCESS(a, order, site)                                                             \
    (&(const struct explore_access){&(a)->word, (unsigned)sizeof(a)->word, (order), (site)})

#define EXPLORE_DEFINE(T, type)                                                                    \
    typedef struct {                                                                               \
        type word;                                                                                 \
    } rti_atomic_##T;                                                                              \
    static inline type explore_##T##_load(const rti_atomic_##T *a, enum explore_order order,       \
                                          const char *site)                                        \
    {                                                                                              \
        return (type)(uintptr_t)explore_load(EXPLORE_ACCESS(a, order, site));                      \
    }                                                                                              \
    static inline void explore_##T##_store(rti_atomic_##T *a, type v, enum explore_order order,    \
                                           const char *site)                                       \
    {                                                                                              \
        explore_store(EXPLORE_ACCESS(a, order, site), (uint64_t)(uintptr_t)v);                     \
    }                                                                                              \
    static inline void explore_##T##_init(rti_atomic_##T *a, type v, const char *site)             \
    {                                                                                              \
        explore_init(EXPLORE_ACCESS(a, EXPLORE_RELAXED, site), (uint64_t)(uintptr_t)v);            \
    }                                                                                              \
    static inline type explore_##T##_rmw(rti_atomic_##T *a, enum explore_rmw kind, type v,         \
                                         enum explore_order order, const char *site)               \
    {                                                                                              \
        return (type)(uintptr_t)explore_rmw(EXPLORE_ACCESS(a, order, site), kind,                  \
                                            (uint64_t)(uintptr_t)v);                               \
    }                                                                                              \
    static inline bool explore_##T##_cas(rti_atomic_##T *a, type *expected, type v,                \
                                         enum explore_order order, const char *site)               \
    {                                                                                              \
        uint64_t seen = (uint64_t)(uintptr_t)*expected;                                            \
        bool won = explore_cas(EXPLORE_ACCESS(a, order, site), &seen, (uint64_t)(uintptr_t)v);     \
        *expected = (type)(uintptr_t)seen;                                                         \
        return won;                                                                                \
    }

EXPLORE_DEFINE(u8, uint8_t)
EXPLORE_DEFINE(u32, uint32_t)
EXPLORE_DEFINE(u64, uint64_t)
EXPLORE_DEFINE(size, size_t)
EXPLORE_DEFINE(ptr, void *)

#define rti_fence_seqcst() explore_fence(EXPLORE_SITE)
/* One of its pair is a whole fence on every thread, so this one is taken for one, too. */
#define rti_fence_light() explore_fence(EXPLORE_SITE)
/* A read-modify-write empties the store buffer: nothing is left to do. */
#define rti_fence_after_rmw() ((void)0)
/* Nobody waits for anything there. */
#define rti_pause()     ((void)0)
#define rti_spin_hint() explore_spin(EXPLORE_SITE)

#define RTI_PLAIN_READ(address, size)  explore_plain_read((address), (size), EXPLORE_SITE)
#define RTI_PLAIN_WRITE(address, size) explore_plain_write((address), (size), EXPLORE_SITE)

#define rti_u8_init(a, v)          explore_u8_init((a), (v), EXPLORE_SITE)
#define rti_u8_load_relaxed(a)     explore_u8_load((a), EXPLORE_RELAXED, EXPLORE_SITE)
#define rti_u8_load_acquire(a)     explore_u8_load((a), EXPLORE_ACQUIRE, EXPLORE_SITE)
#define rti_u8_store_relaxed(a, v) explore_u8_store((a), (v), EXPLORE_RELAXED, EXPLORE_SITE)
#define rti_u8_store_release(a, v) explore_u8_store((a), (v), EXPLORE_RELEASE, EXPLORE_SITE)
#define rti_u8_cas_acqrel(a, expected, v)                                                          \
    explore_u8_cas((a), (expected), (v), EXPLORE_ACQREL, EXPLORE_SITE)
#define rti_u8_cas_relaxed(a, expected, v)                                                         \
    explore_u8_cas((a), (expected), (v), EXPLORE_RELAXED, EXPLORE_SITE)
#define rti_u8_exchange_acqrel(a, v)                                                               \
    explore_u8_rmw((a), EXPLORE_EXCHANGE, (v), EXPLORE_ACQREL, EXPLORE_SITE)

#define rti_u32_init(a, v)          explore_u32_init((a), (v), EXPLORE_SITE)
#define rti_u32_load_relaxed(a)     explore_u32_load((a), EXPLORE_RELAXED, EXPLORE_SITE)
#define rti_u32_load_acquire(a)     explore_u32_load((a), EXPLORE_ACQUIRE, EXPLORE_SITE)
#define rti_u32_store_relaxed(a, v) explore_u32_store((a), (v), EXPLORE_RELAXED, EXPLORE_SITE)
#define rti_u32_store_release(a, v) explore_u32_store((a), (v), EXPLORE_RELEASE, EXPLORE_SITE)
#define rti_u32_cas_acqrel(a, expected, v)                                                         \
    explore_u32_cas((a), (expected), (v), EXPLORE_ACQREL, EXPLORE_SITE)
/* Every read-modify-write of the simulated machine is in one order with the fences. */
#define rti_u32_cas_seqcst(a, expected, v) rti_u32_cas_acqrel((a), (expected), (v))
#define rti_u32_cas_relaxed(a, expected, v)                                                        \
    explore_u32_cas((a), (expected), (v), EXPLORE_RELAXED, EXPLORE_SITE)
#define rti_u32_exchange_acqrel(a, v)                                                              \
    explore_u32_rmw((a), EXPLORE_EXCHANGE, (v), EXPLORE_ACQREL, EXPLORE_SITE)
#define rti_u32_add_relaxed(a, v)                                                                  \
    explore_u32_rmw((a), EXPLORE_ADD, (v), EXPLORE_RELAXED, EXPLORE_SITE)
#define rti_u32_add_acqrel(a, v)                                                                   \
    explore_u32_rmw((a), EXPLORE_ADD, (v), EXPLORE_ACQREL, EXPLORE_SITE)
#define rti_u32_sub_acqrel(a, v)                                                                   \
    explore_u32_rmw((a), EXPLORE_SUB, (v), EXPLORE_ACQREL, EXPLORE_SITE)
#define rti_u32_or_acqrel(a, v) explore_u32_rmw((a), EXPLORE_OR, (v), EXPLORE_ACQREL, EXPLORE_SITE)
#define rti_u32_and_acqrel(a, v)                                                                   \
    explore_u32_rmw((a), EXPLORE_AND, (v), EXPLORE_ACQREL, EXPLORE_SITE)

#define rti_u64_init(a, v)          explore_u64_init((a), (v), EXPLORE_SITE)
#define rti_u64_load_relaxed(a)     explore_u64_load((a), EXPLORE_RELAXED, EXPLORE_SITE)
#define rti_u64_load_acquire(a)     explore_u64_load((a), EXPLORE_ACQUIRE, EXPLORE_SITE)
#define rti_u64_store_relaxed(a, v) explore_u64_store((a), (v), EXPLORE_RELAXED, EXPLORE_SITE)
#define rti_u64_store_release(a, v) explore_u64_store((a), (v), EXPLORE_RELEASE, EXPLORE_SITE)
#define rti_u64_cas_acqrel(a, expected, v)                                                         \
    explore_u64_cas((a), (expected), (v), EXPLORE_ACQREL, EXPLORE_SITE)
#define rti_u64_cas_relaxed(a, expected, v)                                                        \
    explore_u64_cas((a), (expected), (v), EXPLORE_RELAXED, EXPLORE_SITE)
#define rti_u64_exchange_acqrel(a, v)                                                              \
    explore_u64_rmw((a), EXPLORE_EXCHANGE, (v), EXPLORE_ACQREL, EXPLORE_SITE)
#define rti_u64_add_relaxed(a, v)                                                                  \
    explore_u64_rmw((a), EXPLORE_ADD, (v), EXPLORE_RELAXED, EXPLORE_SITE)
#define rti_u64_add_acqrel(a, v)                                                                   \
    explore_u64_rmw((a), EXPLORE_ADD, (v), EXPLORE_ACQREL, EXPLORE_SITE)
#define rti_u64_sub_acqrel(a, v)                                                                   \
    explore_u64_rmw((a), EXPLORE_SUB, (v), EXPLORE_ACQREL, EXPLORE_SITE)
#define rti_u64_or_acqrel(a, v) explore_u64_rmw((a), EXPLORE_OR, (v), EXPLORE_ACQREL, EXPLORE_SITE)
#define rti_u64_and_acqrel(a, v)                                                                   \
    explore_u64_rmw((a), EXPLORE_AND, (v), EXPLORE_ACQREL, EXPLORE_SITE)

#define rti_size_init(a, v)          explore_size_init((a), (v), EXPLORE_SITE)
#define rti_size_load_relaxed(a)     explore_size_load((a), EXPLORE_RELAXED, EXPLORE_SITE)
#define rti_size_load_acquire(a)     explore_size_load((a), EXPLORE_ACQUIRE, EXPLORE_SITE)
#define rti_size_store_relaxed(a, v) explore_size_store((a), (v), EXPLORE_RELAXED, EXPLORE_SITE)
#define rti_size_store_release(a, v) explore_size_store((a), (v), EXPLORE_RELEASE, EXPLORE_SITE)
#define rti_size_cas_acqrel(a, expected, v)                                                        \
    explore_size_cas((a), (expected), (v), EXPLORE_ACQREL, EXPLORE_SITE)
#define rti_size_cas_relaxed(a, expected, v)                                                       \
    explore_size_cas((a), (expected), (v), EXPLORE_RELAXED, EXPLORE_SITE)
#define rti_size_exchange_acqrel(a, v)                                                             \
    explore_size_rmw((a), EXPLORE_EXCHANGE, (v), EXPLORE_ACQREL, EXPLORE_SITE)
#define rti_size_add_relaxed(a, v)                                                                 \
    explore_size_rmw((a), EXPLORE_ADD, (v), EXPLORE_RELAXED, EXPLORE_SITE)
#define rti_size_add_acqrel(a, v)                                                                  \
    explore_size_rmw((a), EXPLORE_ADD, (v), EXPLORE_ACQREL, EXPLORE_SITE)
#define rti_size_sub_acqrel(a, v)                                                                  \
    explore_size_rmw((a), EXPLORE_SUB, (v), EXPLORE_ACQREL, EXPLORE_SITE)
#define rti_size_or_acqrel(a, v)                                                                   \
    explore_size_rmw((a), EXPLORE_OR, (v), EXPLORE_ACQREL, EXPLORE_SITE)
#define rti_size_and_acqrel(a, v)                                                                  \
    explore_size_rmw((a), EXPLORE_AND, (v), EXPLORE_ACQREL, EXPLORE_SITE)

#define rti_ptr_init(a, v)          explore_ptr_init((a), (v), EXPLORE_SITE)
#define rti_ptr_load_relaxed(a)     explore_ptr_load((a), EXPLORE_RELAXED, EXPLORE_SITE)
#define rti_ptr_load_acquire(a)     explore_ptr_load((a), EXPLORE_ACQUIRE, EXPLORE_SITE)
#define rti_ptr_store_relaxed(a, v) explore_ptr_store((a), (v), EXPLORE_RELAXED, EXPLORE_SITE)
#define rti_ptr_store_release(a, v) explore_ptr_store((a), (v), EXPLORE_RELEASE, EXPLORE_SITE)
#define rti_ptr_cas_acqrel(a, expected, v)                                                         \
    explore_ptr_cas((a), (expected), (v), EXPLORE_ACQREL, EXPLORE_SITE)
#define rti_ptr_cas_relaxed(a, expected, v)                                                        \
    explore_ptr_cas((a), (expected), (v), EXPLORE_RELAXED, EXPLORE_SITE)
#define rti_ptr_exchange_acqrel(a, v)                                                              \
    explore_ptr_rmw((a), EXPLORE_EXCHANGE, (v), EXPLORE_ACQREL, EXPLORE_SITE)

#endif
