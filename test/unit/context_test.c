/* SPDX-License-Identifier: Apache-2.0 */
/* The switch keeps values, stacks and order; misuse is caught. Floating-point controls and the move
 * to another thread have files of their own. */
#define _GNU_SOURCE
#define RTI_MODULE "context_test"
#include "sched/context.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"

/* Where pointers are small, so is the machine. */
#define STACK_SIZE (sizeof(void *) == 4 ? 16384 : 65536)
#define MANY       64

static struct rti_context home;
static struct rti_context fibers[MANY];
static _Alignas(64) char stacks[MANY][STACK_SIZE];

static void *word(uintptr_t value)
{
    return (void *)value;
}

/* Small, so that a case may ask for many; the sequence is the same everywhere. */
static uint64_t step(uint64_t state)
{
    return state * 6364136223846793005u + 1442695040888963407u;
}

/* ---- transfer ---- */

static void echo(void *transfer)
{
    for (;;) {
        transfer = rti_context_switch(&fibers[0], &home, word((uintptr_t)transfer + 1));
    }
}

TEST(context_transfer_crosses_each_way)
{
    rti_context_adopt(&home);
    rti_context_init(&fibers[0], stacks[0], STACK_SIZE, echo);
    for (uintptr_t i = 0; i < 10000; i++) {
        CHECK_EQ((uintptr_t)rti_context_switch(&home, &fibers[0], word(i * 2)), i * 2 + 1);
    }
    CHECK((uintptr_t)rti_context_switch(&home, &fibers[0], word(UINTPTR_MAX)) == 0);
    rti_context_deinit(&fibers[0]);
}

/* ---- values survive ---- */

static uint64_t switches;

static RTI_NOINLINE void *hop_tail(unsigned self, unsigned to)
{
    return rti_context_switch_tail(&fibers[self], &fibers[to], word(to));
}

/* Continues another fiber, chosen by `salt`, by either kind of switch, or none if `self` is MANY;
 * the other finds its own number in the transfer. */
static RTI_ALWAYSINLINE void hop(unsigned self, uint64_t salt)
{
    if (self < MANY) {
        unsigned to = (self + 1 + (unsigned)(salt >> 40) % (MANY - 1)) % MANY;
        switches++;
        void *transfer = (salt >> 33) & 1
                             ? hop_tail(self, to)
                             : rti_context_switch(&fibers[self], &fibers[to], word(to));
        CHECK_EQ((uintptr_t)transfer, self);
    }
}

/* Twelve integers, twelve doubles and a long double, all alive across each hop: more than the
 * registers hold, so that every one of them is in use. Without hops it is the reference. */
static RTI_NOINLINE uint64_t churn(unsigned self, uint64_t seed, int rounds)
{
    uint64_t a = seed, b = a + 1, c = a + 2, d = a + 3, e = a + 4, f = a + 5, g = a + 6, h = a + 7;
    uint64_t i = a + 8, j = a + 9, k = a + 10, l = a + 11;
    double s = (double)(seed % 1000), t = s + 1, u = s + 2, v = s + 3, w = s + 4, x = s + 5;
    double y = s + 6, z = s + 7, p = s + 8, q = s + 9, r = s + 10, o = s + 11;
    long double wide = (long double)s;
    for (int round = 0; round < rounds; round++) {
        a = step(a ^ l);
        b = step(b ^ a);
        c = step(c ^ b);
        d = step(d ^ c);
        e = step(e ^ d);
        f = step(f ^ e);
        hop(self, f);
        g = step(g ^ f);
        h = step(h ^ g);
        i = step(i ^ h);
        j = step(j ^ i);
        k = step(k ^ j);
        l = step(l ^ k);
        s = t * 0.5 + o;
        t = u * 0.5 + s * 0.25;
        u = v * 0.5 + 1;
        v = w * 0.5 + 2;
        w = x * 0.5 + 3;
        x = y * 0.5 + 4;
        hop(self, l);
        y = z * 0.5 + 5;
        z = p * 0.5 + 6;
        p = q * 0.5 + 7;
        q = r * 0.5 + 8;
        r = o * 0.5 + 9;
        o = s * 0.25 + 10;
        wide = wide * 0.5L + (long double)s;
    }
    double sum = s + t + u + v + w + x + y + z + p + q + r + o + (double)wide;
    uint64_t bits;
    memcpy(&bits, &sum, sizeof(bits));
    return bits ^ a ^ b ^ c ^ d ^ e ^ f ^ g ^ h ^ i ^ j ^ k ^ l;
}

#define CHURN_ROUNDS 200

/* Ends by going to any fiber that has not ended, the last one home. */
static unsigned alive;
static bool has_ended[MANY];

static void churn_entry(void *transfer)
{
    unsigned self = (unsigned)(uintptr_t)transfer;
    CHECK_EQ(churn(self, self + 1, CHURN_ROUNDS), churn(MANY, self + 1, CHURN_ROUNDS));
    has_ended[self] = true;
    alive--;
    for (;;) {
        /* Others still choose this one at random: pass on to the next that lives. */
        unsigned to = self;
        do {
            to = (to + 1) % MANY;
        } while (has_ended[to] && to != self);
        if (alive == 0) {
            rti_context_leave(&fibers[self], &home, NULL);
        }
        rti_context_switch(&fibers[self], &fibers[to], word(to));
    }
}

TEST(values_survive_thousands_of_switches_among_many_contexts)
{
    rti_context_adopt(&home);
    alive = MANY;
    for (unsigned i = 0; i < MANY; i++) {
        rti_context_init(&fibers[i], stacks[i], STACK_SIZE, churn_entry);
    }
    rti_context_switch(&home, &fibers[0], word(0));
    CHECK_EQ(alive, 0);
    CHECK_EQ(switches, MANY * CHURN_ROUNDS * 2);
    for (unsigned i = 0; i < MANY; i++) {
        rti_context_deinit(&fibers[i]);
    }
}

static RTI_NOINLINE void *park_inline(void)
{
    return rti_context_switch(&fibers[0], &home, NULL);
}

static RTI_NOINLINE void *park_tail(void)
{
    return rti_context_switch_tail(&fibers[0], &home, NULL);
}

/* Puts other values into all registers that a call preserves. */
static RTI_ALWAYSINLINE void scramble(void)
{
#if defined(__x86_64__)
    __asm__ volatile("movq $-1, %%rbx\n\t"
                     "movq $-1, %%r12\n\t"
                     "movq $-1, %%r13\n\t"
                     "movq $-1, %%r14\n\t"
                     "movq $-1, %%r15"
                     :
                     :
                     : "rbx", "r12", "r13", "r14", "r15");
#elif defined(__aarch64__)
    __asm__ volatile("mov x19, #-1\n\tmov x20, #-1\n\t"
                     "mov x21, #-1\n\tmov x22, #-1\n\t"
                     "mov x23, #-1\n\tmov x24, #-1\n\t"
                     "mov x25, #-1\n\tmov x26, #-1\n\t"
                     "mov x27, #-1\n\tmov x28, #-1\n\t"
                     "fmov d8, x19\n\tfmov d9, x19\n\t"
                     "fmov d10, x19\n\tfmov d11, x19\n\t"
                     "fmov d12, x19\n\tfmov d13, x19\n\t"
                     "fmov d14, x19\n\tfmov d15, x19"
                     :
                     :
                     : "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "d8",
                       "d9", "d10", "d11", "d12", "d13", "d14", "d15");
#endif
}

/* Volatile: the compiler knows nothing of the values and must keep each of them where it has it. */
static volatile uint64_t integers[64];
static volatile double doubles[64];

/* Each level keeps values of its own across a call that switches somewhere below: more than there
 * are registers that a call preserves, so that each of those is in use. */
static RTI_NOINLINE void nest(int depth, void *(*park)(void))
{
    volatile uint64_t *n = &integers[depth];
    volatile double *m = &doubles[depth];
    uint64_t a = n[0], b = n[1], c = n[2], d = n[3], e = n[4], f = n[5], g = n[6], h = n[7];
    uint64_t i = n[8], j = n[9], k = n[10], l = n[11];
    double p = m[0], q = m[1], r = m[2], s = m[3], t = m[4], u = m[5], v = m[6], w = m[7];
    double x = m[8];
    if (depth > 0) {
        nest(depth - 1, park);
    } else {
        park();
    }
    CHECK(a == n[0] && b == n[1] && c == n[2] && d == n[3] && e == n[4] && f == n[5]);
    CHECK(g == n[6] && h == n[7] && i == n[8] && j == n[9] && k == n[10] && l == n[11]);
    CHECK(p == m[0] && q == m[1] && r == m[2] && s == m[3] && t == m[4] && u == m[5]);
    CHECK(v == m[6] && w == m[7] && x == m[8]);
}

#define NEST_DEPTHS 40

static void nest_entry(void *transfer)
{
    (void)transfer;
    for (int depth = 0; depth < NEST_DEPTHS; depth++) {
        nest(depth, park_inline);
        nest(depth, park_tail);
    }
    rti_context_leave(&fibers[0], &home, word(1));
}

TEST(values_survive_a_switch_at_any_depth_of_calls)
{
    rti_context_adopt(&home);
    for (uint64_t i = 0; i < RTI_COUNT_OF(integers); i++) {
        integers[i] = step(i);
        doubles[i] = (double)step(i);
    }
    rti_context_init(&fibers[0], stacks[0], STACK_SIZE, nest_entry);
    int switches_seen = 0;
    while (rti_context_switch(&home, &fibers[0], NULL) == NULL) {
        scramble();
        switches_seen++;
    }
    CHECK_EQ(switches_seen, NEST_DEPTHS * 2);
    rti_context_deinit(&fibers[0]);
}

static RTI_NOINLINE void check_bytes(const volatile char *bytes, size_t count, char wanted)
{
    for (size_t i = 0; i < count; i++) {
        CHECK_EQ(bytes[i], wanted);
    }
}

/* The frame of this function has no constant size and no constant distance to its caller's. */
static RTI_NOINLINE void straddle(size_t count)
{
    _Alignas(128) volatile char aligned[128];
    volatile char variable[count];
    memset((void *)(uintptr_t)aligned, 'a', sizeof(aligned));
    memset((void *)(uintptr_t)variable, 'v', count);
    rti_context_switch(&fibers[0], &home, NULL);
    CHECK_EQ((uintptr_t)aligned % 128, 0);
    check_bytes(aligned, sizeof(aligned), 'a');
    check_bytes(variable, count, 'v');
}

static void straddle_entry(void *transfer)
{
    (void)transfer;
    for (size_t count = 1; count < 100; count++) {
        straddle(count);
    }
    rti_context_leave(&fibers[0], &home, word(1));
}

TEST(values_survive_beside_a_variable_array_and_an_aligned_local)
{
    rti_context_adopt(&home);
    rti_context_init(&fibers[0], stacks[0], STACK_SIZE, straddle_entry);
    int parks = 0;
    while (rti_context_switch(&home, &fibers[0], NULL) == NULL) {
        scramble();
        parks++;
    }
    CHECK_EQ(parks, 99);
    rti_context_deinit(&fibers[0]);
}

/* ---- stacks ---- */

static void alignment_entry(void *transfer)
{
    char text[64];
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    /* Variadic functions save vector registers with instructions that fault if misaligned. */
    snprintf(text, sizeof(text), "%.3f %d", 2.5, 7);
    CHECK_STR(text, "2.500 7");
    CHECK_EQ(frame % 16, 0);
    CHECK_EQ((uintptr_t)transfer, 77);
    rti_context_leave(&fibers[0], &home, word(frame));
}

/* It calls nothing but the switch itself, which is no call: a compiler may then leave its variables
 * below the stack pointer, where the switch writes. Volatile, so that they lie on the stack. */
static RTI_NOINLINE uint64_t keep_without_calls(struct rti_context *from, struct rti_context *to)
{
    volatile uint64_t values[14];
    for (unsigned i = 0; i < RTI_COUNT_OF(values); i++) {
        values[i] = UINT64_C(0x0101010101010101) * i;
    }
#if RTI_CONTEXT_ANNOTATED || RTI_ONE_WORKER
    (void)rti_context_switch(from, to, NULL);
#else
    (void)rti_arch_switch(&from->saved, &to->saved, NULL);
#endif
    uint64_t wrong = 0;
    for (unsigned i = 0; i < RTI_COUNT_OF(values); i++) {
        wrong += values[i] == UINT64_C(0x0101010101010101) * i ? 0 : 1;
    }
    return wrong;
}

static uint64_t wrong_inside;

static void keeps_without_calls(void *transfer)
{
    (void)transfer;
    for (;;) {
        wrong_inside += keep_without_calls(&fibers[0], &home);
    }
}

TEST(values_survive_in_a_function_with_no_calls)
{
    rti_context_adopt(&home);
    rti_context_init(&fibers[0], stacks[0], STACK_SIZE, keeps_without_calls);
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(keep_without_calls(&home, &fibers[0]), 0);
        CHECK_EQ(wrong_inside, 0);
    }
    rti_context_deinit(&fibers[0]);
}

TEST(entry_is_aligned_on_a_stack_with_any_bounds)
{
    rti_context_adopt(&home);
    for (size_t low = 0; low < 20; low++) {
        for (size_t cut = 0; cut < 20; cut++) {
            size_t size = STACK_SIZE - low - cut;
            rti_context_init(&fibers[0], stacks[0] + low, size, alignment_entry);
            uintptr_t frame = (uintptr_t)rti_context_switch(&home, &fibers[0], word(77));
            if (!RTI_ASAN) { /* which puts frames elsewhere */
                CHECK(frame < (uintptr_t)stacks[0] + low + size);
                CHECK(frame > (uintptr_t)stacks[0] + low + size - 1024);
            }
            rti_context_deinit(&fibers[0]);
        }
    }
}

static RTI_NOINLINE unsigned dig(unsigned depth)
{
    volatile unsigned char room[200];
    memset((void *)(uintptr_t)room, (int)(depth & 0xff), sizeof(room));
    unsigned below = depth == 0 ? 0 : dig(depth - 1);
    if (depth % 100 == 0) {
        rti_context_switch(&fibers[1], &home, NULL);
    }
    for (size_t i = 0; i < sizeof(room); i++) {
        CHECK_EQ(room[i], depth & 0xff);
    }
    return below + 1;
}

static void dig_entry(void *transfer)
{
    (void)transfer;
    CHECK_EQ(dig(500), 501);
    rti_context_leave(&fibers[1], &home, word(1));
}

TEST(deep_recursion_stays_within_the_stack)
{
    static _Alignas(16) char region[3][512 * 1024];
    memset(region[0], 0x5a, sizeof(region[0]));
    memset(region[2], 0x5a, sizeof(region[2]));
    rti_context_adopt(&home);
    rti_context_init(&fibers[1], region[1], sizeof(region[1]), dig_entry);
    int parks = 0;
    while (rti_context_switch(&home, &fibers[1], NULL) == NULL) {
        rti_context_audit(&fibers[1]);
        parks++;
    }
    CHECK_EQ(parks, 6);
    rti_context_deinit(&fibers[1]);
    for (size_t i = 0; i < sizeof(region[0]); i++) {
        CHECK(region[0][i] == 0x5a && region[2][i] == 0x5a);
    }
}

static void smallest_entry(void *transfer)
{
    rti_context_leave(&fibers[0], &home, transfer);
}

TEST(smallest_stack_is_enough_for_a_switch)
{
    if (RTI_CONTEXT_ANNOTATED) {
        test_skip("sanitizers need more stack than that");
    }
    char *low = stacks[1];
    memset(stacks[0], 0x5a, STACK_SIZE);
    rti_context_adopt(&home);
    rti_context_init(&fibers[0], low, RTI_CONTEXT_STACK_MIN, smallest_entry);
    CHECK_EQ((uintptr_t)rti_context_switch(&home, &fibers[0], word(5)), 5);
    rti_context_deinit(&fibers[0]);
    for (int i = 1; i <= 128; i++) {
        CHECK_EQ(low[-i], 0x5a);
    }
}

static void short_life_entry(void *transfer)
{
    char text[256];
    snprintf(text, sizeof(text), "%0200u", (unsigned)(uintptr_t)transfer);
    rti_context_leave(&fibers[0], &home, word((uintptr_t)strtoul(text, NULL, 10)));
}

TEST(stack_serves_a_thousand_contexts_one_after_the_other)
{
    rti_context_adopt(&home);
    for (uintptr_t i = 0; i < 1000; i++) {
        rti_context_init(&fibers[0], stacks[0], STACK_SIZE, short_life_entry);
        CHECK_EQ((uintptr_t)rti_context_switch(&home, &fibers[0], word(i)), i);
        rti_context_deinit(&fibers[0]);
        memset(stacks[0], (int)(i & 0xff), STACK_SIZE);
    }
}

TEST(context_that_never_ran_can_be_dropped)
{
    for (int i = 0; i < 100; i++) {
        rti_context_init(&fibers[0], stacks[0], STACK_SIZE, echo);
        rti_context_audit(&fibers[0]);
        rti_context_deinit(&fibers[0]);
    }
}

/* ---- misuse ---- */

static void switch_to_oneself(void *arg)
{
    (void)arg;
    rti_context_adopt(&home);
    rti_context_switch(&home, &home, NULL);
}

static void resume_home_entry(void *transfer)
{
    (void)transfer;
    rti_context_switch(&fibers[0], &fibers[1], NULL);
}

/* Fiber 0 has parked in favour of fiber 1, which runs; a third switch goes to fiber 1 again. */
static void switch_to_a_running_context(void *arg)
{
    (void)arg;
    rti_context_switch(&fibers[1], &fibers[1], NULL);
}

static void switch_to_oneself_after_a_tail_switch_entry(void *transfer)
{
    (void)transfer;
    rti_context_switch(&fibers[0], &fibers[0], NULL);
}

static void switch_to_oneself_after_a_tail_switch(void *arg)
{
    (void)arg;
    rti_context_adopt(&home);
    rti_context_init(&fibers[0], stacks[0], STACK_SIZE,
                     switch_to_oneself_after_a_tail_switch_entry);
    rti_context_switch_tail(&home, &fibers[0], NULL);
}

static void switch_to_a_context_that_has_ended(void *arg)
{
    (void)arg;
    rti_context_adopt(&home);
    rti_context_init(&fibers[0], stacks[0], STACK_SIZE, smallest_entry);
    rti_context_switch(&home, &fibers[0], NULL);
    rti_context_switch(&home, &fibers[0], NULL);
}

TEST(switch_to_a_context_that_is_not_parked_panics)
{
    CHECK_PANICS("context_test", switch_to_oneself, NULL);
    CHECK_PANICS("context_test", switch_to_oneself_after_a_tail_switch, NULL);
    CHECK_PANICS("context_test", switch_to_a_context_that_has_ended, NULL);
    rti_context_adopt(&home);
    rti_context_adopt(&fibers[1]); /* this thread by another name: running */
    rti_context_init(&fibers[0], stacks[0], STACK_SIZE, resume_home_entry);
    rti_context_switch(&fibers[1], &fibers[0], NULL);
    CHECK_PANICS("context_test", switch_to_a_running_context, NULL);
    rti_context_deinit(&fibers[0]);
}

static void init_without_entry(void *arg)
{
    (void)arg;
    rti_context_init(&fibers[0], stacks[0], STACK_SIZE, NULL);
}

static void init_with_too_small_a_stack(void *arg)
{
    (void)arg;
    rti_context_init(&fibers[0], stacks[0], RTI_CONTEXT_STACK_MIN - 1, echo);
}

static void init_with_a_stack_past_the_end_of_memory(void *arg)
{
    (void)arg;
    rti_context_init(&fibers[0], stacks[0], SIZE_MAX, echo);
}

TEST(init_with_an_impossible_stack_or_no_entry_panics)
{
    CHECK_PANICS("context", init_without_entry, NULL);
    CHECK_PANICS("context", init_with_too_small_a_stack, NULL);
    CHECK_PANICS("context", init_with_a_stack_past_the_end_of_memory, NULL);
}

static void audit_with_sp_outside(void *arg)
{
    (void)arg;
    rti_context_init(&fibers[0], stacks[0], STACK_SIZE, echo);
    fibers[0].saved.sp = stacks[1];
    rti_context_audit(&fibers[0]);
}

TEST(audit_of_a_context_whose_stack_pointer_strayed_panics)
{
    if (!RTI_CONTEXT_BOUNDED) {
        test_skip("only a build with checks says in a context where its stack lies");
    }
    CHECK_PANICS("context", audit_with_sp_outside, NULL);
}

TEST(shadow_stack_is_off_where_switches_work)
{
    /* That this process got here says that nothing punishes a switch. */
    CHECK(!rti_context_shadow_stack_is_on());
}

/* ---- the thread sanitizer's view ---- */

#if RTI_TSAN
static volatile int shared;

static void write_entry(void *transfer)
{
    shared = 1;
    rti_context_leave(&fibers[0], &home, transfer);
}

/* Writes on both sides of a switch; returns how the process ended. */
static int status_of_two_writes(bool is_unordered)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        close(STDERR_FILENO);
        rti_context_adopt(&home);
        rti_context_init(&fibers[0], stacks[0], STACK_SIZE, write_entry);
        rti_context_set_unordered(&home, is_unordered);
        rti_context_set_unordered(&fibers[0], is_unordered);
        rti_context_switch(&home, &fibers[0], NULL);
        shared = 2;
        exit(0);
    }
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    return status;
}

TEST(unordered_switch_lets_the_thread_sanitizer_see_a_race)
{
    CHECK(WIFEXITED(status_of_two_writes(false)) && status_of_two_writes(false) == 0);
    CHECK(status_of_two_writes(true) != 0);
}
#endif
