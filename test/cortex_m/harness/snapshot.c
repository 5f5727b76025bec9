/* SPDX-License-Identifier: Apache-2.0 */
#include "cortex_m/harness/snapshot.h"

#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include "port/cortex_m/systick.h"

#define AREA_BYTES (4u * 1024u * 1024u)

struct level {
    jmp_buf jump;
    char *sp; /* of snapshot_run: what lies above is put back */
    char *heap_end;
    volatile int status;
};

struct area {
    struct snapshot_kept kept;
    struct level levels[SNAPSHOT_LEVELS];
    volatile int depth; /* levels in use */
    void (*body)(void *arg);
    void *arg;
};

/* From the linker and syscalls.c. */
extern struct area rti_test_snapshot;
extern char rti_ld_data_start[];
extern char rti_ld_bss_end[];
extern char rti_ld_main_stack_top[];
extern char rti_ld_heap_start[];
extern char *syscalls_heap_end;

/* Two words of each copy go per instruction; newlib's memcpy is no faster. */
static void copy(void *to, const void *from, size_t size)
{
    memcpy(to, from, size);
}

static char *copy_of(int level)
{
    return (char *)&rti_test_snapshot + 65536 + (size_t)level * AREA_BYTES;
}

/* Variables, stack, heap, one behind the other. */
static void move(struct level *level, char *at, bool is_save)
{
    struct {
        char *start;
        char *end;
    } const parts[] = {
        {rti_ld_data_start, rti_ld_bss_end},
        {level->sp, rti_ld_main_stack_top},
        {rti_ld_heap_start, level->heap_end},
    };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        size_t size = (size_t)(parts[i].end - parts[i].start);
        if (is_save) {
            copy(at, parts[i].start, size);
        } else {
            copy(parts[i].start, at, size);
        }
        at += size;
    }
}

struct snapshot_kept *snapshot_kept(void)
{
    return &rti_test_snapshot.kept;
}

void snapshot_start(void)
{
    memset(&rti_test_snapshot, 0, sizeof(rti_test_snapshot));
}

__attribute__((noinline)) int snapshot_run(void (*body)(void *arg), void *arg)
{
    struct area *area = &rti_test_snapshot;
    struct level *level = &area->levels[area->depth];
    if (area->depth == SNAPSHOT_LEVELS) {
        return 1;
    }
    __asm__ volatile("mov %0, sp" : "=r"(level->sp));
    level->heap_end = syscalls_heap_end;
    area->body = body;
    area->arg = arg;
    if (setjmp(level->jump) == 0) {
        move(level, copy_of(area->depth), true);
        area->depth++;
        area->body(area->arg);
        (void)snapshot_leave(SNAPSHOT_RETURNED);
    }
    return rti_test_snapshot.levels[rti_test_snapshot.depth].status;
}

/* On the stack of main, below all that is put back. */
static __attribute__((used, noreturn)) void put_back(struct level *level)
{
    move(level, copy_of(rti_test_snapshot.depth), false);
    __asm__ volatile("cpsie i" ::: "memory");
    longjmp(level->jump, 1);
}

__attribute__((naked, noreturn)) static void to_main_stack(RTI_UNUSED struct level *level,
                                                           RTI_UNUSED char *sp)
{
    __asm__ volatile(
#if defined(__ARM_ARCH_8M_MAIN__)
        "movs r2, #0\n\t"
        "msr psplim, r2\n\t"
#endif
        "mov sp, r1\n\t"
        "b put_back");
}

bool snapshot_leave(int status)
{
    struct area *area = &rti_test_snapshot;
    if (area->depth == 0) {
        return false;
    }
    __asm__ volatile("cpsid i" ::: "memory");
    rti_systick_stop();
    RTI_MPU_CTRL = 0;
    rti_core_barrier();
    struct level *level = &area->levels[--area->depth];
    level->status = status;
    to_main_stack(level, level->sp);
}
