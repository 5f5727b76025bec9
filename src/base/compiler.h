/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_COMPILER_H
#define RTI_COMPILER_H

/* What the code needs of gcc and clang beyond C11, each under one name. */

#include <stddef.h>
#include <stdint.h>

#include <orrery/rt_static_config.h>

#define RTI_NOINLINE     __attribute__((noinline))
#define RTI_ALWAYSINLINE __attribute__((always_inline)) inline
#define RTI_COLD         __attribute__((cold, noinline))
#define RTI_UNUSED       __attribute__((unused))
#define RTI_ALIGNED(n)   __attribute__((aligned(n)))
#define RTI_LIKELY(c)    __builtin_expect(!!(c), 1)
#define RTI_UNLIKELY(c)  __builtin_expect(!!(c), 0)
/* More often than not, and the other way is hot too: it is laid out close by. */
#define RTI_OFTEN(c) __builtin_expect_with_probability(!!(c), 1, 0.6)

/* A hot function of a library that is otherwise compiled for size: what it calls becomes part of
 * it, but for what must not. Where the library is compiled for speed the compiler knows better. */
#if defined(__arm__)
#define RTI_FLAT __attribute__((flatten))
#else
#define RTI_FLAT
#endif

/* A hot function that begins a cache line: what is fetched and guessed with its first instructions
 * does not depend on what the linker puts before it. Not where memory is scarce. */
#if defined(__arm__)
#define RTI_FRONT
#else
#define RTI_FRONT RTI_ALIGNED(64)
#endif

/* The optimizer may not look into the function nor assume anything of it, link-time optimization
 * included: for accessors whose result changes when a fiber moves to another thread. */
#if defined(__clang__)
#define RTI_OPAQUE __attribute__((noinline, optnone))
#else
#define RTI_OPAQUE __attribute__((noipa))
#endif

/* Assembly names it: link-time optimization may neither take it away nor give it another name. */
#if defined(__clang__)
#define RTI_ASM_NAMED __attribute__((used))
#else
#define RTI_ASM_NAMED __attribute__((used, externally_visible))
#endif

/* The sanitizers leave the function as it is: for code that changes stacks under their feet. */
#if defined(__clang__)
#define RTI_UNSANITIZED __attribute__((noinline, no_sanitize("address", "thread")))
#else
#define RTI_UNSANITIZED __attribute__((noinline, no_sanitize_address, no_sanitize_thread))
#endif

/* Tells the compiler what it cannot know. */
#define RTI_ASSUME(c)                                                                              \
    do {                                                                                           \
        if (!(c)) {                                                                                \
            __builtin_unreachable();                                                               \
        }                                                                                          \
    } while (0)

/* Keeps a computed address in a register; a compiler that saves space may compute it anew each time
 * it is used. */
#define RTI_KEEP(pointer) __asm__("" : "+r"(pointer))

#define RTI_CONTAINER_OF(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))
#define RTI_COUNT_OF(array)                 (sizeof(array) / sizeof((array)[0]))

/* What is counted for people: a machine of 32 bits counts modulo 2^32, at half the price. */
typedef uintptr_t rti_count;

/* A sentence for people, where there is flash for it. */
#if RT_SENTENCES
#define RTI_TEXT(text) (text)
#else
#define RTI_TEXT(text) NULL
#endif

/* That of a status, the last of its initializer. Where a status has no place for one the comma
 * before it is the last. */
#if RT_STATUS_MSG
#define RTI_SENTENCE(text) RTI_TEXT(text)
#else
#define RTI_SENTENCE(text)
#endif

/* A processor with one core and no threads: what only a second worker could need is left out when
 * the library is compiled, instead of being passed by when it runs. */
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
#define RTI_ONE_WORKER 1
#else
#define RTI_ONE_WORKER 0
#endif

/* A helper that public functions begin with, in which rti_worker_enter is: in line, for a check of
 * the stack knows by the return address that the program has called (sched/preempt.h). Where nobody
 * is summoned the compiler decides. */
#if RTI_ONE_WORKER
#define RTI_ENTERING inline
#else
#define RTI_ENTERING RTI_ALWAYSINLINE
#endif

/* Definitions that do not go together, where the compiler would find no words for it. */
#if !RTI_ONE_WORKER && !(RT_TRACE && RT_HAS_TASKS && RT_HAS_MONITORS && RT_STATUS_MSG)
#error "RT_TRACE=0, RT_HAS_TASKS=0, RT_HAS_MONITORS=0 and RT_STATUS_MSG=0 are for Cortex-M"
#endif
#if !RT_STATUS_MSG && RT_HAS_TASKS
#error "RT_STATUS_MSG=0 is for actors alone: it needs RT_HAS_TASKS=0"
#endif
#if !RT_HAS_MONITORS && RT_HAS_BEHAVIOURS
#error "behaviours need monitors: RT_HAS_MONITORS=0 needs RT_HAS_BEHAVIOURS=0"
#endif

/* What tools ask of a program that runs: who started a fiber, since when it waits. It takes memory
 * in every fiber, so a small machine that keeps no traces is without. */
#define RTI_HAS_TOOLS (RT_TRACE || !RTI_ONE_WORKER)

/* Asks for the line of an address that is about to be written; any value is allowed. A processor
 * without a cache has nothing to ask. */
#if RTI_ONE_WORKER
#define RTI_PREFETCH(address) ((void)(address))
#else
#define RTI_PREFETCH(address) __builtin_prefetch((address), 1)
#endif

/* The same for the two lines that an object of up to 64 bytes, or the first 65 of a longer one, may
 * lie in. */
#define RTI_PREFETCH_PAIR(address)                                                                 \
    do {                                                                                           \
        RTI_PREFETCH(address);                                                                     \
        RTI_PREFETCH((const void *)((uintptr_t)(address) + RTI_CACHE_LINE));                       \
    } while (0)

/* Two threads that write within one line slow each other down; adjacent-line prefetch makes it two.
 */
#define RTI_CACHE_LINE 64

/* Where the library's code lies. Each source file of the library enters the bounds of its text
 * sections into a table, so that a fault inside the runtime can be told from one in the program
 * (base/text.h). A label in the last subsection stands behind everything the compiler puts into a
 * section. */
#if defined(__clang__)
#define RTI_TEXT_COLD ".text.unlikely."
#else
#define RTI_TEXT_COLD ".text.unlikely"
#endif
/* A function that does little but call one of the program's. It lies outside of the table, so that
 * a fault in the program's function is one of the program, also if that has no frame of its own. */
#define RTI_OUTSIDE __attribute__((noinline, section(".text.orrery_outside")))

#if defined(RTI_LIBRARY)
__asm__(".pushsection .text, 8191\n"
        ".Lrti_text_end:\n"
        ".popsection\n"
        ".pushsection " RTI_TEXT_COLD ", 8191, \"ax\", %progbits\n"
        ".Lrti_text_cold_end:\n"
        ".popsection\n"
        ".pushsection orrery_text, \"a\", %progbits\n"
        ".p2align 2\n"
        ".long .text - ., .Lrti_text_end - .\n"
        ".long " RTI_TEXT_COLD " - ., .Lrti_text_cold_end - .\n"
        ".popsection\n");
#endif

#if defined(__SANITIZE_ADDRESS__)
#define RTI_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RTI_ASAN 1
#endif
#endif
#ifndef RTI_ASAN
#define RTI_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__)
#define RTI_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RTI_TSAN 1
#endif
#endif
#ifndef RTI_TSAN
#define RTI_TSAN 0
#endif

#endif
