/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HEAP_WATCH_H
#define HEAP_WATCH_H

/* A malloc of the test program's own, which counts and passes on. It sees every call of the
 * process: the library's, those inside the C library, and those of other threads.
 *
 *     heap_watch();             skips the case where the heap cannot be watched
 *     ... what must not allocate ...
 *     CHECK_EQ(heap_calls(), 0);
 *
 * Included by one file of a program, for it defines malloc. A sanitizer brings a malloc of its own,
 * an instrumenting tool exchanges it at run time, and a program that is linked statically cannot
 * have two: there the cases are skipped. */

#include <errno.h>
#include <stdlib.h>

#include "base/atomic.h"
#include "support/test.h"

static rti_atomic_u32 heap_call_count;

#if defined(__GLIBC__) && defined(__x86_64__) && !RTI_ASAN && !RTI_TSAN
#define HEAP_IS_WATCHED 1
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *memory);

void *malloc(size_t size)
{
    rti_u32_add_relaxed(&heap_call_count, 1);
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    rti_u32_add_relaxed(&heap_call_count, 1);
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    rti_u32_add_relaxed(&heap_call_count, 1);
    return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size)
{
    rti_u32_add_relaxed(&heap_call_count, 1);
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    *out = memalign(alignment, size);
    return *out == NULL ? ENOMEM : 0;
}

void free(void *memory)
{
    rti_u32_add_relaxed(&heap_call_count, 1);
    __libc_free(memory);
}
#else
#define HEAP_IS_WATCHED 0
#endif

/* Calls since heap_watch. */
static inline size_t heap_calls(void)
{
    return rti_u32_load_relaxed(&heap_call_count);
}

/* Begins to count at 0. */
static inline void heap_watch(void)
{
    size_t before = heap_calls();
    void *volatile probe = malloc(1);
    free(probe);
    if (!HEAP_IS_WATCHED || heap_calls() != before + 2) {
        test_skip("the heap cannot be watched here");
    }
    rti_u32_store_relaxed(&heap_call_count, 0);
}

#endif
