/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over stacks whose return addresses are known: every function of a chain writes down where
 * it returns to. */
#define _GNU_SOURCE
#define RTI_MODULE "backtrace_test"
#include "sched/backtrace.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/fibers.h"
#include "support/test.h"

#define DEPTH 3

static uintptr_t returns[DEPTH]; /* of the chain, youngest first */
static void (*act)(void);
static struct rti_backtrace trace;
static volatile int sink;

static RTI_NOINLINE void innermost(void)
{
    returns[0] = (uintptr_t)__builtin_return_address(0);
    act();
    sink++;
}

/* A frame whose size is known only when it runs. */
static RTI_NOINLINE void middle(size_t size)
{
    char room[size];
    room[size - 1] = (char)sink;
    returns[1] = (uintptr_t)__builtin_return_address(0);
    innermost();
    sink += room[size - 1];
}

static RTI_NOINLINE void outermost(size_t size)
{
    returns[2] = (uintptr_t)__builtin_return_address(0);
    middle(size);
    sink++;
}

/* Are the returns of the chain in the trace, one after the other? */
static bool trace_has_the_chain(void)
{
    for (size_t i = 0; i + DEPTH <= trace.count; i++) {
        size_t same = 0;
        while (same < DEPTH && trace.places[i + same] == returns[same]) {
            same++;
        }
        if (same == DEPTH) {
            return true;
        }
    }
    return false;
}

static void look(void)
{
    rti_backtrace_take_here(&trace);
}

TEST(backtrace_of_the_caller_has_every_return_address)
{
    act = look;
    outermost(40);
    CHECK(trace_has_the_chain());
}

TEST(backtrace_leaves_errno_alone)
{
    errno = 77;
    rti_backtrace_take_here(&trace);
    CHECK(errno == 77 && trace.count > 1);
}

static void on_signal(int number)
{
    (void)number;
    rti_backtrace_take_here(&trace);
}

static void raise_it(void)
{
    raise(SIGUSR1);
}

TEST(backtrace_of_a_handler_goes_on_in_what_it_interrupts)
{
    signal(SIGUSR1, on_signal);
    act = raise_it;
    outermost(40);
    CHECK(trace_has_the_chain());
}

static struct fibers fibers;
static struct rti_fiber *first;

static void yield(void)
{
    rti_fiber_yield(rti_worker_current());
}

static void yields(void *arg)
{
    (void)arg;
    act = yield;
    outermost(40);
    sink++;
}

static void look_at_the_first(void *arg)
{
    (void)arg;
    rti_backtrace_take(&trace, first);
}

/* One that has begun and does not run, seen by another. */
static void look_from_outside(void)
{
    first = fibers_go(&fibers, 2, yields, NULL);
    fibers_go(&fibers, 2, look_at_the_first, NULL);
    CHECK_OK(fibers_run(&fibers));
    CHECK(trace_has_the_chain());
    fibers_deinit(&fibers);
}

TEST(backtrace_of_a_suspended_fiber_has_every_return_address)
{
    fibers_init(&fibers);
    look_from_outside();
}

TEST(backtrace_of_a_fiber_that_switched_to_another_has_every_return_address)
{
    fibers_init(&fibers);
    fibers_unobserved(&fibers);
    look_from_outside();
}

TEST(backtrace_ends_where_the_fiber_begins)
{
    fibers_init(&fibers);
    look_from_outside();
    CHECK(trace.is_whole && trace.count < RTI_BACKTRACE_MAX);
    CHECK(trace.places[trace.count - 1] == returns[2]);
}

TEST(backtrace_of_a_fiber_that_has_not_begun_is_empty)
{
    fibers_init(&fibers);
    first = fibers_go(&fibers, 2, yields, NULL);
    trace.count = 5;
    rti_backtrace_take(&trace, first);
    CHECK_EQ(trace.count, 0);
    fibers_go(&fibers, 2, yields, NULL);
    CHECK_OK(fibers_run(&fibers));
    fibers_deinit(&fibers);
}

static uint64_t dice = 88172645463325252u;

static uintptr_t throw(void)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return (uintptr_t)dice;
}

/* Frames as nobody has ever had them: any instruction of the program, any words on the stack. */
TEST(backtrace_of_nonsense_ends_and_touches_nothing_that_is_not_there)
{
    uintptr_t words[64];
    for (size_t round = 0; round < 2000; round++) {
        for (size_t i = 0; i < RTI_COUNT_OF(words); i++) {
            words[i] = throw() % 2 == 0 ? throw() : (uintptr_t)outermost + throw() % 65536;
        }
        words[throw() % 32] = (uintptr_t)&words[throw() % 64];
        struct rti_frame frame = {.pc = (uintptr_t)outermost + throw() % 65536,
                                  .sp = (uintptr_t)&words[throw() % 32],
                                  .fp = throw() % 2 == 0 ? throw() : (uintptr_t)&words[2],
                                  .base = (uintptr_t)&words[throw() % 64],
                                  .is_exact = throw() % 2 == 0};
        size_t count = rti_port_backtrace(&frame, (uintptr_t)(words + RTI_COUNT_OF(words)),
                                          trace.places, RTI_BACKTRACE_MAX);
        CHECK(count >= 1 && count <= RTI_BACKTRACE_MAX);
    }
}

/* An image that no linker has made, in memory that may be written to: headers, the index of one
 * function, its common part, its own part, and the code of that. */
enum { FAKE_SIZE = 8192, FAKE_TABLE = 512, FAKE_COMMON = 640, FAKE_OWN = 704, FAKE_END = 768 };
enum { FAKE_CODE = 4096 };

#if defined(__aarch64__)
#define FAKE_SP   31
#define FAKE_LINK 30
#else
#define FAKE_SP   7
#define FAKE_LINK 16
#endif

static void fake_put(unsigned char *at, const void *bytes, size_t size)
{
    memcpy(at, bytes, size);
}

/* The function keeps nothing, and its return address lies behind one word of its own. */
static void fake_write(unsigned char *image)
{
    const Elf64_Ehdr file = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3},
                             .e_phoff = sizeof(Elf64_Ehdr),
                             .e_phentsize = sizeof(Elf64_Phdr),
                             .e_phnum = 2};
    const Elf64_Phdr parts[] = {
        {.p_type = PT_LOAD, .p_memsz = FAKE_SIZE},
        {.p_type = PT_GNU_EH_FRAME, .p_vaddr = FAKE_TABLE, .p_memsz = FAKE_COMMON - FAKE_TABLE}};
    const int32_t index[] = {0, 1, FAKE_CODE - FAKE_TABLE, FAKE_OWN - FAKE_TABLE};
    const unsigned char head[] = {1, 0x1b, 0x03, 0x3b};
    const int32_t common[] = {FAKE_OWN - FAKE_COMMON - 4, 0};
    const unsigned char rules[] = {
        1, 'z', 'R', 0, 1, 0x78, FAKE_LINK, 1, 0x1b, 0xc, FAKE_SP, 0x10, 0x80 | FAKE_LINK, 1};
    const int32_t own[] = {FAKE_END - FAKE_OWN - 4, FAKE_OWN - FAKE_COMMON + 4,
                           FAKE_CODE - FAKE_OWN - 8, FAKE_SIZE - FAKE_CODE};
    memset(image, 0, FAKE_END);
    fake_put(image, &file, sizeof(file));
    fake_put(image + sizeof(file), parts, sizeof(parts));
    fake_put(image + FAKE_TABLE, head, sizeof(head));
    fake_put(image + FAKE_TABLE + sizeof(head), index, sizeof(index));
    fake_put(image + FAKE_COMMON, common, sizeof(common));
    fake_put(image + FAKE_COMMON + sizeof(common), rules, sizeof(rules));
    fake_put(image + FAKE_OWN, own, sizeof(own));
}

static unsigned char *fake_map(void)
{
    int fd = memfd_create("fake", MFD_CLOEXEC);
    CHECK(fd >= 0 && ftruncate(fd, FAKE_SIZE) == 0);
    unsigned char *image =
        mmap(NULL, FAKE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE, fd, 0);
    CHECK(image != MAP_FAILED);
    CHECK(close(fd) == 0);
    fake_write(image);
    return image;
}

static size_t fake_walk(const unsigned char *image)
{
    uintptr_t words[16];
    for (size_t i = 0; i < RTI_COUNT_OF(words); i++) {
        words[i] = i % 2 == 0 || i == 15 ? 0 : (uintptr_t)image + FAKE_CODE + i;
    }
    struct rti_frame frame = {.pc = (uintptr_t)image + FAKE_CODE, .sp = (uintptr_t)words};
    frame.is_exact = true;
    return rti_port_backtrace(&frame, (uintptr_t)(words + RTI_COUNT_OF(words)), trace.places,
                              RTI_BACKTRACE_MAX);
}

/* Tables as nobody has ever had them, too: a sanitizer sees what is read beyond them. */
TEST(backtrace_by_damaged_tables_ends_and_touches_nothing_that_is_not_there)
{
    unsigned char *image = fake_map();
    CHECK_EQ(fake_walk(image), 8);
    /* More letters than anybody knows. */
    memset(image + FAKE_COMMON + 10, 'R', FAKE_OWN - FAKE_COMMON - 10);
    CHECK_EQ(fake_walk(image), 1);
    for (size_t round = 0; round < 4000; round++) {
        fake_write(image);
        for (size_t hits = 1 + throw() % 3; hits > 0; hits--) {
            image[FAKE_TABLE + throw() % (FAKE_END - FAKE_TABLE)] = (unsigned char) throw();
        }
        size_t count = fake_walk(image);
        CHECK(count >= 1 && count <= RTI_BACKTRACE_MAX);
    }
    CHECK(munmap(image, FAKE_SIZE) == 0);
}

TEST(backtrace_in_words_has_whole_places_and_none_of_the_library)
{
    struct rti_remark line;
    act = look;
    outermost(40);
    rti_remark_init(&line);
    rti_remark_add(&line, "at");
    rti_backtrace_remark(&line, &trace);
    CHECK(strncmp(line.text, "at backtrace_test+0x", 20) == 0);
    CHECK(strstr(line.text, " < backtrace_test+0x") != NULL);
    /* The line is full long before the trace is told. */
    for (size_t i = 0; i < RTI_BACKTRACE_MAX; i++) {
        trace.places[i] = returns[0];
    }
    trace.count = RTI_BACKTRACE_MAX;
    rti_remark_init(&line);
    rti_backtrace_remark(&line, &trace);
    CHECK(line.length <= RTI_REMARK_MAX && strstr(line.text, "...") == NULL);
    /* Only the library: better than nothing. */
    trace.places[0] = (uintptr_t)rti_backtrace_take + 1;
    trace.count = 1;
    rti_remark_init(&line);
    rti_backtrace_remark(&line, &trace);
    CHECK(line.length > 0);
}
