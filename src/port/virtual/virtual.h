/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_VIRTUAL_H
#define RTI_VIRTUAL_H

/* Virtual threads: the engine of several workers, all of it, on one thread of the system.
 *
 * Built with RTI_VIRTUAL=1 the library is the same code, but each access to a shared word, each
 * fence and each call of the port is a point at which a chooser decides, from a seed, which
 * virtual thread goes on. A virtual thread is a stack; switching to it also brings its own idea of
 * which worker it is (the library's one thread-local) and its errno. Threads, futexes, the clock,
 * the poller, the blocking pool and interrupts are this port's. So a run of workers, warden, pool
 * and foreign threads is a function of its seed, and a failure repeats.
 *
 * Memory is sequentially consistent here: what a weaker machine does is the explorer's business.
 * What order the language promises is the thread sanitizer's: in a build with it each virtual
 * thread is a fiber of the sanitizer, a switch between them implies no order, and two accesses that
 * nothing but the chooser has ordered are reported although one thread made both.
 *
 * The chooser, drawn per seed: how many points pass between two choices, 1 to some hundred; who is
 * picked: anybody, the one of the highest rank with ranks that change now and then, or anybody but
 * one that is left standing for thousands of points. Whoever spins lets another one go on. Nobody
 * is kept from running for ever: ranks sink with use.
 *
 * Time passes a little with each choice, as much as the seed says, and jumps to the earliest
 * deadline, or a little beyond, when nobody can run. Before it jumps `on_quiet` is called: nobody
 * runs, so whatever is queued for somebody must be seen there. When nobody can run and there is no
 * deadline, a wake-up was lost: the run fails. Sleepers may wake without cause.
 *
 * An interrupt is delivered when its thread passes rti_virtual_compute, the point that a program
 * has in its own code: elsewhere the handler would find itself inside the runtime and do nothing.
 *
 * I1  One virtual thread runs; all others are saved.                    (rti_arch_switch)
 * I2  The clock never goes back.                                        (RT_ASSERT in time_pass)
 * I3  The same seed gives the same digest.                  (crew_sim_test, each seed twice)
 *
 * Nothing of this is instrumented by a sanitizer, nor a point itself. One world at a time. */

#include "port/port.h"

struct rti_virtual_config {
    uint64_t seed;
    uint64_t start_ns; /* what the clock says at first */
    bool is_prompt;    /* anybody may go on, time passes slowly, and no deadline is missed */
    /* Called when nobody can run; may only look. NULL: nobody is called. */
    void (*on_quiet)(void);
    /* Called at each probe of base/probe.h; may only look. NULL: nobody is called. */
    void (*on_probe)(const char *name, uint64_t a, uint64_t b);
    /* Called at each access to a shared word, with the number of the thread that makes it; may
     * only look. NULL: nobody is called. */
    void (*on_access)(uintptr_t thread, const void *address, bool is_write);
};

struct rti_virtual_report {
    uint64_t points;
    uint64_t switches;
    uint64_t jumps;
    uint64_t interrupts; /* delivered */
    uint64_t digest;     /* of who went on when, and of the probes */
    uint64_t time_ns;    /* that has passed */
};

/* Makes the calling thread the first of a new world. */
void rti_virtual_open(const struct rti_virtual_config *config);

/* Ends the world; all threads but the first have ended and were joined. */
void rti_virtual_close(struct rti_virtual_report *report);

/* A point in the program's own code; here an interrupt reaches the thread. */
void rti_virtual_compute(void);

/* Blocks the virtual thread for so long, as a system call would. */
void rti_virtual_sleep(uint64_t duration_ns);

/* Draws from the stream of the chooser: 0 to n - 1. */
uint64_t rti_virtual_draw(uint64_t n);

/* Points so far, of all threads. */
uint64_t rti_virtual_points(void);

/* Ends the process with a sentence and the line that repeats the run. */
_Noreturn void rti_virtual_fail(const char *sentence);

/* What the port is made of: see port.h. */
uint64_t rti_virtual_clock(void);
rt_status rti_virtual_thread_start(struct rti_port_thread *thread, void (*main)(void *arg),
                                   void *arg);
void rti_virtual_thread_join(struct rti_port_thread *thread);
/* Sleeps while nobody calls rti_virtual_signal with the same address: true; false: the time is
 * over. The caller has seen, with no point since, that it must. */
bool rti_virtual_await(const void *address, uint64_t deadline_ns);
void rti_virtual_signal(const void *address, uint32_t count);
/* The number of the running thread, for interrupts; and an interrupt for it. */
uintptr_t rti_virtual_self(void);
void rti_virtual_interrupt(uintptr_t thread);
void rti_virtual_set_handler(void (*handler)(const struct rti_frame *frame));

/* Orders what the calling thread did before the release of an address before what another one does
 * after its acquire, for the sanitizer. */
void rti_virtual_release(void *address);
void rti_virtual_acquire(void *address);

/* Makes the port of a virtual world, with its blocking pool; and ends it. */
struct rti_port *rti_virtual_port_open(uint64_t seed);
void rti_virtual_port_close(void);

#endif
