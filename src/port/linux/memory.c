/* SPDX-License-Identifier: Apache-2.0 */
/* Memory outside the heap, for stacks and slabs: mapped whole, committed page by page on first use.
 *
 * Huge pages are refused: one touched byte of a stack would commit two megabytes. A table that is
 * filled from its beginning has them from its ninth megabyte on: until then it takes no byte more
 * than without, from there on at most one huge page, and 512 faults, of 1.8 microseconds each where
 * this was measured, become one. Where pages are not of 4 kB a huge one is too large for that. The
 * system may have to move memory to make one, or get it from the host of a virtual machine, and who
 * touches it first waits, many times as long as 512 small pages would take. So the first touch of
 * each is made here and looked at: after one that took longer than small pages do the rest of the
 * table has small ones. RT_HUGE_PAGES is for those who would rather not wait once.
 *
 * A guard is made by MADV_GUARD_INSTALL where it works, which costs no mapping, so that a million
 * stacks may have one; else by mprotect, which splits the mapping in two and ends at
 * vm.max_map_count.
 *
 * Whether it works is tried once, not asked by version: an emulator takes every advice and does
 * nothing. The try lets the kernel itself write to the page, which fails politely with EFAULT. */
#define _GNU_SOURCE
#define RTI_MODULE "memory"
#include <errno.h>
#include <sys/mman.h>
#include <sys/random.h>

#include <orrery/rt_static_config.h>

#include "port/linux/port_linux.h"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#define MADV_GUARD_REMOVE  103
#endif

#define MEMORY_PAGE       ((size_t)4096)
#define MEMORY_HUGE       ((size_t)2 << 20)
#define MEMORY_SMALL_ONLY ((size_t)8 << 20) /* the part of a dense table without huge pages */

void *rti_linux_memory_map(struct rti_port *port, size_t size)
{
    (void)port;
    if (size == 0) {
        return NULL;
    }
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return NULL;
    }
    /* A kernel without huge pages does not know the advice, and needs none. */
    (void)madvise(memory, size, MADV_NOHUGEPAGE);
    return memory;
}

/* The end of the huge pages of a table. */
static uintptr_t memory_huge_end(const struct rti_dense *dense)
{
    return dense->end - dense->end % MEMORY_HUGE;
}

void rti_linux_memory_expect_dense(struct rti_port *port, struct rti_dense *dense)
{
    uintptr_t low = dense->ready + MEMORY_SMALL_ONLY + MEMORY_HUGE - 1;
    uintptr_t high = memory_huge_end(dense);
    low -= low % MEMORY_HUGE;
    dense->ready = UINTPTR_MAX;
    if (!RT_HUGE_PAGES || rti_port_linux_of(port)->page_size != MEMORY_PAGE || low >= high) {
        return;
    }
    /* It is advice: a kernel that does not take it gives small pages. */
    if (madvise((void *)low, high - low, MADV_HUGEPAGE) == 0) {
        dense->ready = low;
    }
}

void rti_linux_memory_advance(struct rti_port *port, struct rti_dense *dense)
{
    volatile unsigned char *huge = (volatile unsigned char *)dense->ready;
    uintptr_t high = memory_huge_end(dense);
    RT_ASSERT(dense->ready < high && dense->ready % MEMORY_HUGE == 0);
    uint64_t before_ns = rti_linux_clock_now();
    *huge = 0; /* as it was */
    bool is_slow = rti_linux_clock_now() - before_ns >= rti_port_linux_of(port)->huge_max_ns;
    dense->ready += MEMORY_HUGE;
    if (is_slow && dense->ready < high) {
        (void)madvise((void *)dense->ready, high - dense->ready, MADV_NOHUGEPAGE);
    }
    if (is_slow || dense->ready == high) {
        dense->ready = UINTPTR_MAX;
    }
}

void rti_linux_memory_unmap(struct rti_port *port, void *memory, size_t size)
{
    (void)port;
    RT_ASSERT(memory != NULL && size > 0);
    int rc = munmap(memory, size);
    RT_ASSERT(rc == 0);
}

bool rti_linux_memory_guard_install_works(size_t page_size)
{
    void *page = mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return false;
    }
    bool works = madvise(page, page_size, MADV_GUARD_INSTALL) == 0 && getrandom(page, 1, 0) < 0 &&
                 errno == EFAULT;
    munmap(page, page_size);
    return works;
}

rt_status rti_linux_memory_guard(struct rti_port *port, void *memory, size_t size)
{
    struct rti_port_linux *self = rti_port_linux_of(port);
    size_t misfit = ((uintptr_t)memory | size) & (self->page_size - 1);
    if (memory == NULL || size == 0 || misfit != 0) {
        return (rt_status){RT_ERR_INVALID, "a guard is whole pages"};
    }
    if (self->has_guard_install && madvise(memory, size, MADV_GUARD_INSTALL) == 0) {
        return RT_SUCCESS;
    }
    if (mprotect(memory, size, PROT_NONE) == 0) {
        self->is_guard_mixed = self->has_guard_install;
        return RT_SUCCESS;
    }
    return errno == ENOMEM ? (rt_status){RT_ERR_NOMEM, "the system has no more mappings"}
                           : (rt_status){RT_ERR_INVALID, "not memory that can be guarded"};
}

void rti_linux_memory_unguard(struct rti_port *port, void *memory, size_t size)
{
    struct rti_port_linux *self = rti_port_linux_of(port);
    RT_ASSERT(memory != NULL && size > 0);
    RT_ASSERT((((uintptr_t)memory | size) & (self->page_size - 1)) == 0);
    /* Which of the two ways made the guard is not kept: both are undone, and undoing what was not
     * done changes nothing. */
    if (self->has_guard_install) {
        int rc = madvise(memory, size, MADV_GUARD_REMOVE);
        RT_ASSERT(rc == 0);
    }
    if (!self->has_guard_install || self->is_guard_mixed) {
        int rc = mprotect(memory, size, PROT_READ | PROT_WRITE);
        RT_ASSERT(rc == 0);
    }
}

size_t rti_linux_memory_page_size(struct rti_port *port)
{
    return rti_port_linux_of(port)->page_size;
}
