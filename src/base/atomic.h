/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_ATOMIC_H
#define RTI_ATOMIC_H

/* The only place where the language's atomics are named (rule R1).
 *
 * Each shared word is one of the types below and each access names its order, so that a reader can
 * list every synchronization of the library with one grep, and so that the explorer can run the
 * very same code: built with RTI_EXPLORED=1, each access becomes a scheduling point of a simulated
 * machine with store buffers (port/explore/). Built with RTI_VIRTUAL=1 each access is the real one,
 * and before it a point at which another virtual thread may go on (port/virtual/).
 *
 * Publish with release and acquire. The one fence is sequentially consistent and stands only where
 * a store must be seen before a later load (announce, then look again).
 *
 * RTI_PLAIN_READ and RTI_PLAIN_WRITE mark the ordinary memory that a lock-free structure hands from
 * one thread to another. They cost nothing in a real build; the explorer checks that every such
 * pair of accesses is ordered by release and acquire, which no test on x86 could see.
 *
 * For T in u32, u64, size, ptr (void *):
 *   rti_T_init(a, v)                     before the word is shared
 *   rti_T_load_relaxed / load_acquire
 *   rti_T_store_relaxed / store_release
 *   rti_T_exchange_acqrel
 *   rti_T_cas_acqrel(a, &expected, v)    strong; on failure expected is updated, order acquire
 *   rti_T_cas_relaxed(a, &expected, v)
 * For T in u32, u64, size also:
 *   rti_T_add_relaxed / add_acqrel / sub_acqrel / or_acqrel / and_acqrel    each returns the old
 * value
 * For u32 also:
 *   rti_u32_cas_seqcst(a, &expected, v)  as cas_acqrel, in one order with the fences, too
 */

#include <stdbool.h>

#include "base/compiler.h"

#ifndef RTI_EXPLORED
#define RTI_EXPLORED 0
#endif

#ifndef RTI_VIRTUAL
#define RTI_VIRTUAL 0
#endif

#if RTI_EXPLORED
#include "port/explore/atomic_explored.h"
#else

/* With virtual threads (port/virtual/) another one may go on before each access. */
#if RTI_VIRTUAL
#include "port/virtual/point.h"
#define RTI_POINT()        rti_virtual_point()
#define RTI_POINT_READ(a)  rti_virtual_read(a)
#define RTI_POINT_WRITE(a) rti_virtual_write(a)
#else
#define RTI_POINT()        ((void)0)
#define RTI_POINT_READ(a)  ((void)0)
#define RTI_POINT_WRITE(a) ((void)0)
#endif

#define RTI_ATOMIC_DEFINE(T, type)                                                                 \
    typedef struct {                                                                               \
        type word;                                                                                 \
    } rti_atomic_##T;                                                                              \
    static RTI_ALWAYSINLINE void rti_##T##_init(rti_atomic_##T *a, type v)                         \
    {                                                                                              \
        __atomic_store_n(&a->word, v, __ATOMIC_RELAXED);                                           \
    }                                                                                              \
    static RTI_ALWAYSINLINE type rti_##T##_load_relaxed(const rti_atomic_##T *a)                   \
    {                                                                                              \
        RTI_POINT_READ(a);                                                                         \
        return __atomic_load_n(&a->word, __ATOMIC_RELAXED);                                        \
    }                                                                                              \
    static RTI_ALWAYSINLINE type rti_##T##_load_acquire(const rti_atomic_##T *a)                   \
    {                                                                                              \
        RTI_POINT_READ(a);                                                                         \
        return __atomic_load_n(&a->word, __ATOMIC_ACQUIRE);                                        \
    }                                                                                              \
    static RTI_ALWAYSINLINE void rti_##T##_store_relaxed(rti_atomic_##T *a, type v)                \
    {                                                                                              \
        RTI_POINT_WRITE(a);                                                                        \
        __atomic_store_n(&a->word, v, __ATOMIC_RELAXED);                                           \
    }                                                                                              \
    static RTI_ALWAYSINLINE void rti_##T##_store_release(rti_atomic_##T *a, type v)                \
    {                                                                                              \
        RTI_POINT_WRITE(a);                                                                        \
        __atomic_store_n(&a->word, v, __ATOMIC_RELEASE);                                           \
    }                                                                                              \
    static RTI_ALWAYSINLINE type rti_##T##_exchange_acqrel(rti_atomic_##T *a, type v)              \
    {                                                                                              \
        RTI_POINT_WRITE(a);                                                                        \
        return __atomic_exchange_n(&a->word, v, __ATOMIC_ACQ_REL);                                 \
    }                                                                                              \
    static RTI_ALWAYSINLINE bool rti_##T##_cas_acqrel(rti_atomic_##T *a, type *expected, type v)   \
    {                                                                                              \
        RTI_POINT_WRITE(a);                                                                        \
        return __atomic_compare_exchange_n(&a->word, expected, v, false, __ATOMIC_ACQ_REL,         \
                                           __ATOMIC_ACQUIRE);                                      \
    }                                                                                              \
    static RTI_ALWAYSINLINE bool rti_##T##_cas_relaxed(rti_atomic_##T *a, type *expected, type v)  \
    {                                                                                              \
        RTI_POINT_WRITE(a);                                                                        \
        return __atomic_compare_exchange_n(&a->word, expected, v, false, __ATOMIC_RELAXED,         \
                                           __ATOMIC_RELAXED);                                      \
    }

#define RTI_ATOMIC_DEFINE_RMW(T, type, verb, builtin, suffix, order)                               \
    static RTI_ALWAYSINLINE type rti_##T##_##verb##_##suffix(rti_atomic_##T *a, type v)            \
    {                                                                                              \
        RTI_POINT_WRITE(a);                                                                        \
        return builtin(&a->word, v, order);                                                        \
    }

#define RTI_ATOMIC_DEFINE_ARITHMETIC(T, type)                                                      \
    RTI_ATOMIC_DEFINE_RMW(T, type, add, __atomic_fetch_add, relaxed, __ATOMIC_RELAXED)             \
    RTI_ATOMIC_DEFINE_RMW(T, type, add, __atomic_fetch_add, acqrel, __ATOMIC_ACQ_REL)              \
    RTI_ATOMIC_DEFINE_RMW(T, type, sub, __atomic_fetch_sub, acqrel, __ATOMIC_ACQ_REL)              \
    RTI_ATOMIC_DEFINE_RMW(T, type, or, __atomic_fetch_or, acqrel, __ATOMIC_ACQ_REL)                \
    RTI_ATOMIC_DEFINE_RMW(T, type, and, __atomic_fetch_and, acqrel, __ATOMIC_ACQ_REL)

RTI_ATOMIC_DEFINE(u8, uint8_t)
RTI_ATOMIC_DEFINE(u32, uint32_t)
#if RTI_ONE_WORKER
/* The processor has no such access and nobody to share it with but handlers, which use none. */
#define RTI_PLAIN_DEFINE_READ(name)                                                                \
    static RTI_ALWAYSINLINE uint64_t rti_u64_##name(const rti_atomic_u64 *a)                       \
    {                                                                                              \
        return a->word;                                                                            \
    }
#define RTI_PLAIN_DEFINE_WRITE(name)                                                               \
    static RTI_ALWAYSINLINE void rti_u64_##name(rti_atomic_u64 *a, uint64_t v)                     \
    {                                                                                              \
        a->word = v;                                                                               \
    }
#define RTI_PLAIN_DEFINE_CHANGE(name, value)                                                       \
    static RTI_ALWAYSINLINE uint64_t rti_u64_##name(rti_atomic_u64 *a, uint64_t v)                 \
    {                                                                                              \
        uint64_t old = a->word;                                                                    \
        a->word = (value);                                                                         \
        return old;                                                                                \
    }
#define RTI_PLAIN_DEFINE_CAS(name)                                                                 \
    static RTI_ALWAYSINLINE bool rti_u64_##name(rti_atomic_u64 *a, uint64_t *expected, uint64_t v) \
    {                                                                                              \
        uint64_t old = a->word;                                                                    \
        a->word = old == *expected ? v : old;                                                      \
        bool is_changed = old == *expected;                                                        \
        *expected = old;                                                                           \
        return is_changed;                                                                         \
    }
typedef struct {
    uint64_t word;
} rti_atomic_u64;
RTI_PLAIN_DEFINE_READ(load_relaxed)
RTI_PLAIN_DEFINE_READ(load_acquire)
RTI_PLAIN_DEFINE_WRITE(init)
RTI_PLAIN_DEFINE_WRITE(store_relaxed)
RTI_PLAIN_DEFINE_WRITE(store_release)
RTI_PLAIN_DEFINE_CHANGE(exchange_acqrel, v)
RTI_PLAIN_DEFINE_CHANGE(add_relaxed, old + v)
RTI_PLAIN_DEFINE_CHANGE(add_acqrel, old + v)
RTI_PLAIN_DEFINE_CHANGE(sub_acqrel, old - v)
RTI_PLAIN_DEFINE_CHANGE(or_acqrel, old | v)
RTI_PLAIN_DEFINE_CHANGE(and_acqrel, old &v)
RTI_PLAIN_DEFINE_CAS(cas_acqrel)
RTI_PLAIN_DEFINE_CAS(cas_relaxed)
#else
RTI_ATOMIC_DEFINE(u64, uint64_t)
RTI_ATOMIC_DEFINE_ARITHMETIC(u64, uint64_t)
#endif
RTI_ATOMIC_DEFINE(size, size_t)
RTI_ATOMIC_DEFINE(ptr, void *)
RTI_ATOMIC_DEFINE_ARITHMETIC(u32, uint32_t)
RTI_ATOMIC_DEFINE_ARITHMETIC(size, size_t)

/* The same instructions as rti_u32_cas_acqrel on the processors that there are. */
static RTI_ALWAYSINLINE bool rti_u32_cas_seqcst(rti_atomic_u32 *a, uint32_t *expected, uint32_t v)
{
    RTI_POINT_WRITE(a);
    return __atomic_compare_exchange_n(&a->word, expected, v, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_ACQUIRE);
}

/* Orders every earlier store of this thread before every later load. A locked read-modify-write of
 * a stack word would be quicker than mfence on some processors; the compiler knows which. */
static inline void rti_fence_seqcst(void)
{
    RTI_POINT();
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* The same, right after a read-modify-write of this thread: on x86 that was a fence already. */
static inline void rti_fence_after_rmw(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
#else
    rti_fence_seqcst();
#endif
}

/* The cheap half of a pair of fences: between an earlier store and a later load of this thread, if
 * the other side has the whole process pass a barrier (port.h: fence_all). Two cheap ones order
 * nothing between them. The explorer takes both halves for whole ones: what pairs is the same. */
static inline void rti_fence_light(void)
{
    RTI_POINT();
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Tells the processor that this is a spin loop. */
static inline void rti_spin_hint(void)
{
#if RTI_VIRTUAL
    rti_virtual_spin();
#elif defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

/* The same in a loop that gives up by itself after a few rounds, whatever the others do. */
static inline void rti_pause(void)
{
#if RTI_VIRTUAL
    RTI_POINT();
#else
    rti_spin_hint();
#endif
}

#define RTI_PLAIN_READ(address, size)  ((void)(address), (void)(size))
#define RTI_PLAIN_WRITE(address, size) ((void)(address), (void)(size))

#endif /* RTI_EXPLORED */

#endif
