/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_PORT_FREERTOS_H
#define RTI_PORT_FREERTOS_H

/* The body of the seam on FreeRTOS: the runtime is one task, the one that calls rt_init, and what
 * blocks is done for it by three others (servant.h), each over SPSC queues.
 *
 *     runtime's task                        file     works, one after the other: they may block
 *     --------------                        net      owns the network (port/device.h), if there is
 *     asks each over a queue of its own              one: its interrupts, timers and sockets
 *     wait: takes the one binary            timer    sleeps until the next deadline
 *     semaphore `news`; then empties
 *     the queues of answers: file, net, timer
 *
 * The scheduler blocks in one place, on one semaphore, which servants, `wake` and interrupts give.
 * A semaphore that was given before it is taken is not lost, and one given twice is taken once:
 * that is the contract of `wake`. Whoever has news puts it into its queue first.
 *
 * Time. The clock counts the kernel's ticks, so it is as coarse as they are, and a deadline is met
 * at the tick that follows it: never early. The timer is told a deadline only when it changes; what
 * it answers is that some deadline has come, and the clock says whether it is the one that counts.
 *
 * The network is entered by its servant, and by the runtime's task for what cannot wait: opening,
 * closing, a cancel, an attempt that must not block. A mutex keeps the two apart (freertos_net.c).
 * Ops that wait go over the queue.
 *
 * What actors are to the kernel: nothing. They run inside the one task, on stacks of their own; a
 * preempted actor is a preempted task, whose stack pointer happens to lie elsewhere. Hence
 * configCHECK_FOR_STACK_OVERFLOW must be 0 or 2, not 1, which looks at the stack pointer.
 *
 * Memory: all of it lies in the struct, no object is made of the kernel's heap.
 *
 * I1  An op is with its initiator, in `waiting`, with a servant, inside the device, or in
 *     `answered_here`.
 * I2  The timer has been told of `aimed`, or `is_aimed` is false.          (freertos_aim) */

#include <FreeRTOS.h>
#include <semphr.h>
#include <task.h>

#include "base/list.h"
#include "port/device.h"
#include "port/freertos/servant.h"
#include "port/port.h"

#ifndef RT_FREERTOS_HELPER_STACK
#define RT_FREERTOS_HELPER_STACK 512 /* words of the stacks of file and net */
#endif

#ifndef RT_FREERTOS_HELPER_PRIORITY
#define RT_FREERTOS_HELPER_PRIORITY 1 /* of the servants, below the runtime's */
#endif

#define RTI_FREERTOS_TIMER_STACK 128

struct rti_op;

struct rti_freertos_clock {
    uint64_t high;   /* what the kernel's count has lost by wrapping */
    TickType_t last; /* as it was at the last look */
};

/* The network's side; freertos_net.c. */
struct rti_freertos_net {
    struct rti_port port;            /* what the device takes for its port: its clock, its wake */
    struct rti_device *device;       /* under the lock */
    struct rti_freertos_clock clock; /* under the lock */
    struct rti_servant servant;
    struct rti_list waiting; /* runtime's task: ops that the servant has no room for */
    SemaphoreHandle_t lock;
    StaticSemaphore_t lock_memory;
    StackType_t stack[RT_FREERTOS_HELPER_STACK];
};

struct rti_port_freertos {
    struct rti_port port;
    struct rti_freertos_clock clock; /* runtime's task */
    uint64_t random;                 /* where the program's randomness stands */
    struct rti_list waiting;         /* runtime's task: work that `file` has no room for */
    struct rti_list answered_here;   /* ops that the port itself has answered */
    SemaphoreHandle_t news;          /* the single wake-up of the runtime's task */
    StaticSemaphore_t news_memory;
    struct rti_servant file;
    struct rti_servant timer;
    TickType_t aimed; /* runtime's task: what the timer was told */
    bool is_aimed;
    struct rti_freertos_net *net; /* NULL: there is no network */
    StackType_t file_stack[RT_FREERTOS_HELPER_STACK];
    StackType_t timer_stack[RTI_FREERTOS_TIMER_STACK];
};

/* Makes the semaphore and the servants. By the runtime's task, after the kernel has started or
 * before. */
void rti_port_freertos_init(struct rti_port_freertos *freertos, uint64_t seed);

/* Gives the port a network: `open` starts it with the port that it is to wake. RT_OK, or what
 * `open` says. Before the first op. configUSE_MUTEXES is needed. */
rt_status rti_port_freertos_attach(struct rti_port_freertos *freertos, struct rti_freertos_net *net,
                                   rt_status (*open)(struct rti_port *port,
                                                     struct rti_device **device));
/* Takes it away again; `close` ends the device. No op is in it. */
void rti_port_freertos_detach(struct rti_port_freertos *freertos, void (*close)(void));

/* Ends the servants. No work is in flight. */
void rti_port_freertos_deinit(struct rti_port_freertos *freertos);

/* The kernel's ticks as 64 bits; one caller for each clock, at least once in their period. */
uint64_t rti_freertos_clock_ns(struct rti_freertos_clock *clock);
/* Ticks until a time, rounded up, at most a quarter of the kernel's period. */
TickType_t rti_freertos_ticks_until(uint64_t now_ns, uint64_t time_ns);

/* The network of the port, for port_freertos.c. */
bool rti_freertos_net_attempt(struct rti_freertos_net *net, struct rti_op *op);
void rti_freertos_net_submit(struct rti_freertos_net *net, struct rti_op *op);
void rti_freertos_net_cancel(struct rti_freertos_net *net, struct rti_op *op);
rt_status rti_freertos_net_close(struct rti_freertos_net *net, int fd);
/* An op that is answered; NULL: there is none. */
struct rti_op *rti_freertos_net_take(struct rti_freertos_net *net);

#endif
