/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_COMPILER_H
#define RTI_COMPILER_H

/* What the code needs of gcc and clang beyond C11, each under one name. */

#include <stddef.h>
#include <stdint.h>

#define RTI_NOINLINE     __attribute__((noinline))
#define RTI_ALWAYSINLINE __attribute__((always_inline)) inline
#define RTI_COLD         __attribute__((cold, noinline))
#define RTI_UNUSED       __attribute__((unused))
#define RTI_ALIGNED(n)   __attribute__((aligned(n)))
#define RTI_LIKELY(c)    __builtin_expect(!!(c), 1)
#define RTI_UNLIKELY(c)  __builtin_expect(!!(c), 0)

/* The optimizer may not look into the function nor assume anything of it, link-time optimization
 * included: for accessors whose result changes when a fiber moves to another thread. */
#if defined(__clang__)
#define RTI_OPAQUE __attribute__((noinline, optnone))
#else
#define RTI_OPAQUE __attribute__((noipa))
#endif

#define RTI_CONTAINER_OF(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))
#define RTI_COUNT_OF(array)                 (sizeof(array) / sizeof((array)[0]))

/* Two threads that write within one line slow each other down; adjacent-line prefetch makes it two.
 */
#define RTI_CACHE_LINE 64

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
