/* SPDX-License-Identifier: Apache-2.0 */
/* Floating-point controls belong to a context.
 *
 * The helpers write the controls as <fenv.h> does, in both units of x86-64; the library of
 * mathematics is not linked. */
#define RTI_MODULE "context_fp_test"
#include "sched/context.h"
#include "support/test.h"

#define STACK_SIZE 65536
#define FIBERS     4

static struct rti_context home;
static struct rti_context fibers[FIBERS];
static _Alignas(64) char stacks[FIBERS][STACK_SIZE];

enum rounding { NEAREST, DOWNWARD, UPWARD, TOWARD_ZERO };

#if defined(__x86_64__)
static uint32_t mxcsr_read(void)
{
    uint32_t mxcsr;
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
    return mxcsr;
}

static void mxcsr_write(uint32_t mxcsr)
{
    __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
}

static void rounding_set(enum rounding rounding)
{
    uint16_t x87;
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    x87 = (uint16_t)((x87 & ~0x0c00u) | (unsigned)rounding << 10);
    __asm__ volatile("fldcw %0" : : "m"(x87));
    mxcsr_write((mxcsr_read() & ~0x6000u) | (uint32_t)rounding << 13);
}
#elif defined(__aarch64__)
static void rounding_set(enum rounding rounding)
{
    static const uint64_t bits[] = {0, 2, 1, 3};
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    fpcr = (fpcr & ~(UINT64_C(3) << 22)) | bits[rounding] << 22;
    __asm__ volatile("msr fpcr, %0" : : "r"(fpcr));
}
#endif

/* The rounding in force, told from results alone. */
static RTI_NOINLINE enum rounding rounding_seen_by_double(void)
{
    volatile double one = 1, tiny = 0x1p-60, most_of_a_bit = 0x1.8p-53;
    double above = one + tiny;
    double below = -one - tiny;
    if (above > 1) {
        return UPWARD;
    }
    if (below < -1) {
        return DOWNWARD;
    }
    return one + most_of_a_bit > 1 ? NEAREST : TOWARD_ZERO;
}

static RTI_NOINLINE enum rounding rounding_seen_by_long_double(void)
{
#if defined(__x86_64__)
    volatile long double one = 1, tiny = 0x1p-100L, most_of_a_bit = 0x1.8p-64L;
    long double above = one + tiny;
    long double below = -one - tiny;
    if (above > 1) {
        return UPWARD;
    }
    if (below < -1) {
        return DOWNWARD;
    }
    return one + most_of_a_bit > 1 ? NEAREST : TOWARD_ZERO;
#else
    return rounding_seen_by_double(); /* made in software, from the same register */
#endif
}

static void check_rounding(enum rounding wanted)
{
    CHECK_EQ(rounding_seen_by_double(), wanted);
    CHECK_EQ(rounding_seen_by_long_double(), wanted);
}

TEST(rounding_is_told_from_results)
{
    static const enum rounding all[] = {UPWARD, NEAREST, TOWARD_ZERO, DOWNWARD, NEAREST};
    for (size_t i = 0; i < RTI_COUNT_OF(all); i++) {
        rounding_set(all[i]);
        check_rounding(all[i]);
    }
}

static uint64_t state = 1;

static unsigned draw(unsigned bound)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % bound;
}

static struct rti_context *context_of(unsigned number)
{
    return number < FIBERS ? &fibers[number] : &home;
}

/* Now and then takes another rounding, goes to any other context and, back, must find its own. With
 * four roundings among five contexts, neighbours often agree and often do not. */
static enum rounding wander(unsigned self, enum rounding mine, bool is_tail)
{
    if (draw(2) == 0) {
        mine = (enum rounding)draw(4);
        rounding_set(mine);
    }
    unsigned to = (self + 1 + draw(FIBERS)) % (FIBERS + 1);
    void *transfer = (void *)(uintptr_t)to;
    if (is_tail) {
        rti_context_switch_tail(context_of(self), context_of(to), transfer);
    } else {
        rti_context_switch(context_of(self), context_of(to), transfer);
    }
    check_rounding(mine);
    return mine;
}

static void wander_entry(void *transfer)
{
    enum rounding mine = NEAREST; /* that of home when it made this context */
    check_rounding(mine);
    for (;;) {
        mine = wander((unsigned)(uintptr_t)transfer, mine, draw(2) == 0);
    }
}

TEST(rounding_belongs_to_a_context)
{
    rti_context_adopt(&home);
    for (unsigned i = 0; i < FIBERS; i++) {
        rti_context_init(&fibers[i], stacks[i], STACK_SIZE, wander_entry);
    }
    enum rounding mine = NEAREST;
    for (int i = 0; i < 5000; i++) {
        mine = wander(FIBERS, mine, false);
    }
    rounding_set(NEAREST);
    for (unsigned i = 0; i < FIBERS; i++) {
        rti_context_deinit(&fibers[i]);
    }
}

static void leave_entry(void *transfer)
{
    enum rounding seen = rounding_seen_by_double();
    CHECK_EQ(rounding_seen_by_long_double(), seen);
    rounding_set(DOWNWARD);
    rti_context_leave(&fibers[0], &home, (void *)((uintptr_t)transfer + seen));
}

TEST(new_context_inherits_the_rounding_of_its_maker)
{
    rti_context_adopt(&home);
    for (int i = 0; i < 4; i++) {
        rounding_set((enum rounding)i);
        rti_context_init(&fibers[0], stacks[0], STACK_SIZE, leave_entry);
        rounding_set(NEAREST);
        CHECK_EQ((uintptr_t)rti_context_switch(&home, &fibers[0], NULL), i);
        check_rounding(NEAREST);
        rti_context_deinit(&fibers[0]);
    }
}

/* The maker has changed it since it arrived, or not. */
TEST(context_that_is_made_in_two_steps_inherits_the_rounding_of_its_maker)
{
    rti_context_adopt(&home);
    for (int i = 0; i < 4; i++) {
        rounding_set((enum rounding)i);
        rti_context_inherit(&fibers[0], &home);
        rounding_set(NEAREST);
        rti_context_place(&fibers[0], stacks[0], STACK_SIZE, leave_entry);
        CHECK_EQ((uintptr_t)rti_context_switch(&home, &fibers[0], NULL), i);
        check_rounding(NEAREST);
        rti_context_deinit(&fibers[0]);
    }
}

#if defined(__x86_64__)
#define MXCSR_FLUSH_TO_ZERO 0x8000u

static void flush_entry(void *transfer)
{
    rti_context_keep_fp_control(&fibers[0]);
    mxcsr_write(mxcsr_read() | MXCSR_FLUSH_TO_ZERO);
    for (;;) {
        transfer = rti_context_switch(&fibers[0], &home, transfer);
        CHECK((mxcsr_read() & MXCSR_FLUSH_TO_ZERO) != 0);
    }
}

TEST(kept_mxcsr_belongs_to_a_context_even_if_changed_alone)
{
    rti_context_adopt(&home);
    rti_context_init(&fibers[0], stacks[0], STACK_SIZE, flush_entry);
    for (int i = 0; i < 100; i++) {
        rti_context_switch(&home, &fibers[0], NULL);
        CHECK((mxcsr_read() & MXCSR_FLUSH_TO_ZERO) == 0);
    }
    rti_context_deinit(&fibers[0]);
}

static void flag_entry(void *transfer)
{
    rounding_set(UPWARD);
    transfer = rti_context_switch(&fibers[0], &home, transfer);
    mxcsr_write(mxcsr_read() | 1u);
    rti_context_leave(&fibers[0], &home, transfer);
}

TEST(sticky_exception_flags_stay_with_the_thread)
{
    rti_context_adopt(&home);
    rti_context_init(&fibers[0], stacks[0], STACK_SIZE, flag_entry);
    rti_context_switch(&home, &fibers[0], NULL);
    mxcsr_write(mxcsr_read() & ~0x3fu);
    rti_context_switch(&home, &fibers[0], NULL);
    CHECK_EQ(mxcsr_read() & 0x3fu, 1);
    check_rounding(NEAREST);
    rti_context_deinit(&fibers[0]);
}

#if RT_CHECKS
static void careless_entry(void *transfer)
{
    mxcsr_write(mxcsr_read() | MXCSR_FLUSH_TO_ZERO);
    rti_context_leave(&fibers[0], &home, transfer);
}

static void change_mxcsr_alone(void *arg)
{
    (void)arg;
    rti_context_adopt(&home);
    rti_context_init(&fibers[0], stacks[0], STACK_SIZE, careless_entry);
    rti_context_switch(&home, &fibers[0], NULL);
}

TEST(mxcsr_changed_alone_and_not_kept_panics_in_a_checked_build)
{
    CHECK_PANICS("fp_control", change_mxcsr_alone, NULL);
}
#endif
#endif
