/* SPDX-License-Identifier: Apache-2.0 */
/* Question: what does one switch between two contexts cost, and how far is that from the least that
 * a switch can be?
 *
 * Method: the floor is a hand-written switch that pushes the callee-saved integer registers,
 * exchanges the stack pointer and leaves by a jump; it keeps no floating-point controls and checks
 * nothing. Both play ping-pong between a loop and a fiber, in alternating rounds of one process;
 * a figure is the median over the rounds, the ratio is the median of the ratios of neighbours.
 * `switch_fp_differs` is the dearest case: the two sides have different rounding modes.
 * `switch_called` has the switch in a function that each side calls from a place of its own: after
 * the switch a ret goes where the processor does not expect it. `switch_tail` is the same with the
 * switch that is made for it and comes back by a jump.
 *
 * Not measured: the scheduler, cold caches, more fibers than the caches hold.
 *
 * Usage: switch_bench [switches per round]. One line per result: name, tab, value. */
#define _GNU_SOURCE
#define RTI_MODULE "switch_bench"
#include "sched/context.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/bench.h"
#include "support/minimal_switch.h"

#define ROUNDS     15
#define STACK_SIZE 65536

/* What fesetround(FE_UPWARD) does, without the library of mathematics. */
static void round_upward(void)
{
#if defined(__x86_64__)
    uint32_t mxcsr;
    uint16_t x87_control;
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(x87_control));
    mxcsr |= 0x4000;
    x87_control |= 0x0800;
    __asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(mxcsr), "m"(x87_control));
#elif defined(__aarch64__)
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    __asm__ volatile("msr fpcr, %0" : : "r"(fpcr | 0x400000));
#endif
}

static struct rti_context home;
static struct rti_context fiber;
static struct rti_context rounding_fiber;
static struct rti_context calling_fiber;
static struct rti_context tail_fiber;
static _Alignas(64) char stacks[5][STACK_SIZE];

static void raw_entry(void *transfer)
{
    for (;;) {
        transfer = rti_context_switch(&fiber, &home, transfer);
    }
}

static void rounding_entry(void *transfer)
{
    round_upward();
    for (;;) {
        transfer = rti_context_switch(&rounding_fiber, &home, transfer);
    }
}

static RTI_NOINLINE void call_home(void)
{
    rti_context_switch(&calling_fiber, &home, NULL);
}

static RTI_NOINLINE void call_there(void)
{
    rti_context_switch(&home, &calling_fiber, NULL);
}

static void calling_entry(void *transfer)
{
    (void)transfer;
    for (;;) {
        call_home();
    }
}

static RTI_NOINLINE void *tail_home(void)
{
    return rti_context_switch_tail(&tail_fiber, &home, NULL);
}

static RTI_NOINLINE void *tail_there(void)
{
    return rti_context_switch_tail(&home, &tail_fiber, NULL);
}

static void tail_entry(void *transfer)
{
    (void)transfer;
    for (;;) {
        tail_home();
    }
}

static RTI_NOINLINE double raw_round(long switches, struct rti_context *to)
{
    double start = bench_now_ns();
    for (long i = 0; i < switches; i += 2) {
        rti_context_switch(&home, to, NULL);
    }
    return (bench_now_ns() - start) / (double)switches;
}

static RTI_NOINLINE double called_round(long switches)
{
    double start = bench_now_ns();
    for (long i = 0; i < switches; i += 2) {
        call_there();
    }
    return (bench_now_ns() - start) / (double)switches;
}

static RTI_NOINLINE double tail_round(long switches)
{
    double start = bench_now_ns();
    for (long i = 0; i < switches; i += 2) {
        tail_there();
    }
    return (bench_now_ns() - start) / (double)switches;
}

int main(int argc, char **argv)
{
    long switches = argc > 1 ? atol(argv[1]) : 2000000;
    if (switches < 2 || switches > 1000000000) {
        fprintf(stderr, "usage: %s [switches per round, 2 to 1000000000]\n", argv[0]);
        return 2;
    }
    minimal_prepare(stacks[0], STACK_SIZE);
    rti_context_adopt(&home);
    rti_context_init(&fiber, stacks[1], STACK_SIZE, raw_entry);
    rti_context_init(&rounding_fiber, stacks[2], STACK_SIZE, rounding_entry);
    rti_context_init(&calling_fiber, stacks[3], STACK_SIZE, calling_entry);
    rti_context_init(&tail_fiber, stacks[4], STACK_SIZE, tail_entry);

    double minimal_ns[ROUNDS];
    double raw_ns[ROUNDS];
    double rounding_ns[ROUNDS];
    double called_ns[ROUNDS];
    double tail_ns[ROUNDS];
    double ratio[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        minimal_ns[i] = minimal_round(switches);
        raw_ns[i] = raw_round(switches, &fiber);
        rounding_ns[i] = raw_round(switches, &rounding_fiber);
        called_ns[i] = called_round(switches);
        tail_ns[i] = tail_round(switches);
        ratio[i] = raw_ns[i] / minimal_ns[i];
    }
    printf("switch_minimal\t%.2f\n", bench_median(minimal_ns, ROUNDS));
    printf("switch_raw\t%.2f\n", bench_median(raw_ns, ROUNDS));
    printf("switch_fp_differs\t%.2f\n", bench_median(rounding_ns, ROUNDS));
    printf("switch_called\t%.2f\n", bench_median(called_ns, ROUNDS));
    printf("switch_tail\t%.2f\n", bench_median(tail_ns, ROUNDS));
    printf("switch_raw_ratio\t%.2f\n", bench_median(ratio, ROUNDS));
    rti_context_deinit(&tail_fiber);
    rti_context_deinit(&calling_fiber);
    rti_context_deinit(&rounding_fiber);
    rti_context_deinit(&fiber);
    return 0;
}
