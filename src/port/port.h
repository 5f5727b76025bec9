/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_PORT_H
#define RTI_PORT_H

/* The seam (rule R1): everything the runtime asks of the world outside goes through here.
 *
 * A port is a table of functions and the state behind it. There is one body for Linux (port/linux/)
 * and one for the simulator (port/sim/); a runtime is given its port when it is made, so that both
 * kinds live in one process and one program runs on either, unchanged. Atomics are the other half
 * of the seam: base/atomic.h.
 *
 * The scheduler blocks in exactly one function, `wait`; any thread ends that wait with `wake`. What
 * the program asks of the outside is an op (port/op.h): submitted, and answered exactly once.
 *
 * Time is nanoseconds of a monotonic clock (base/time.h). */

#include <stdbool.h>

#include <orrery/rt/status.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/time.h"

struct rti_fault_policy; /* port/fault.h */
struct rti_frame;        /* port/backtrace.h */
struct rti_op;
struct rti_port;
struct rti_port_file; /* port/file.h */
struct rti_port_net;  /* port/net.h */

/* Why `wait` came back. */
enum rti_wait_end {
    RTI_WAIT_WOKEN,    /* somebody called wake, or ops completed; spurious returns are legal */
    RTI_WAIT_DEADLINE, /* the deadline has come */
    RTI_WAIT_STUCK,    /* simulator only: no deadline, nothing in flight, nobody left to wake us */
};

/* A thread of the operating system, in storage the caller owns until the thread is joined. */
struct rti_port_thread {
    uintptr_t opaque[4];
};

/* Memory that is used from its beginning on, and how far (memory_expect_dense). */
struct rti_dense {
    uintptr_t ready; /* the end of what may be used without a word to the port */
    uintptr_t end;
};

struct rti_port_ops {
    const char *name;

    /* The monotonic clock now. Any thread. */
    uint64_t (*clock_ns)(struct rti_port *port);

    /* 64 unpredictable bits on a real port; the next of the seed's stream in the simulator. */
    uint64_t (*random)(struct rti_port *port);

    /* Blocks until `wake`, a completion or `deadline_ns`. With a deadline that has passed it only
     * collects completions, without blocking. The op's `done` runs on this thread, inside wait:
     * first those of the blocking pool, then those of descriptors, each in the order they came.
     * `done` may call everything here but wait; what it makes complete is told by the next wait,
     * so that one wait always ends. Scheduler thread only. */
    enum rti_wait_end (*wait)(struct rti_port *port, uint64_t deadline_ns);

    /* Ends the current or the next `wait`. Wakes coalesce; none is lost. Any thread, signal
     * handler. */
    void (*wake)(struct rti_port *port);

    /* Takes an op; its `done` is called exactly once, from wait. Scheduler thread only. */
    void (*submit)(struct rti_port *port, struct rti_op *op);

    /* Asks for an op in flight to end early. It is still answered exactly once, from wait: with
     * RT_ERR_CANCELLED, or with its own result if that came first. After `done` the port never
     * touches the op nor its buffer; an op that waits on an fd is taken back at once, its buffer is
     * untouched from the return of cancel on. Work that runs on the blocking pool runs to its end
     * and gives its own result. Asking twice, or for an op that is the initiator's, does nothing.
     * Scheduler thread. */
    void (*cancel)(struct rti_port *port, struct rti_op *op);

    /* Does the op now if that needs no waiting: true, and the op holds its answer as after `done`,
     * which is not called. False: it would wait, behind earlier ops of its fd or for the world, and
     * is the initiator's still, to submit or to drop. Work and NOP always would. The answer is
     * about this moment, unless the op is patient: then the port may go by what it knows from the
     * last look, and the submit that follows hears of everything since. Scheduler thread. */
    bool (*attempt)(struct rti_port *port, struct rti_op *op);

    /* Is it known since the last look that a READ of this descriptor would wait? Then who would
     * submit it anyway need not attempt it. NULL: nothing is known of any. Scheduler thread. */
    bool (*is_dry)(struct rti_port *port, int fd);

    /* Closes a descriptor that ops were submitted for. Each op that waits on it is answered with
     * RT_ERR_CLOSED: decided before the number can be used again, told by the next wait. RT_OK;
     * RT_ERR_INVALID if it is not open; RT_ERR_IO if the system reports an error, closed all the
     * same. Scheduler thread. */
    rt_status (*close_fd)(struct rti_port *port, int fd);

    /* Only of the port of plain threads (sched/visitor.h), NULL elsewhere. Does the op on the
     * calling thread, which has nothing else to do, and blocks it until the answer or the deadline.
     * True: the op holds its answer as after `done`, which is not called. False: nothing was moved;
     * a connect that was begun may go on until its descriptor is closed. Work is done at once and
     * takes as long as it takes. Any thread. */
    bool (*perform)(struct rti_port *port, struct rti_op *op, uint64_t deadline_ns);

    /* Starts a thread; RT_ERR_NOMEM if the system has no more. */
    rt_status (*thread_start)(struct rti_port *port, struct rti_port_thread *thread,
                              void (*main)(void *arg), void *arg);
    /* NULL where threads have no signals. Says that the calling thread, of thread_start, runs the
     * program's code from here on: signals are open or blocked as in the thread that made the port.
     */
    void (*thread_adopt)(struct rti_port *port);
    /* Waits for its end. */
    void (*thread_join)(struct rti_port *port, struct rti_port_thread *thread);

    /* Blocks while *word == expected, until a futex_wake or the deadline; spurious returns are
     * legal. Returns false if the deadline passed. */
    bool (*futex_wait)(struct rti_port *port, rti_atomic_u32 *word, uint32_t expected,
                       uint64_t deadline_ns);
    /* Wakes up to `count` threads that wait on `word`. */
    void (*futex_wake)(struct rti_port *port, rti_atomic_u32 *word, uint32_t count);

    /* NULL where there is no such call. Has every thread of the process pass a full barrier,
     * wherever it stands, between the call and its return: the other half of rti_fence_light. Some
     * microseconds, and an interrupt of those that run. False if the system has none. Any thread.
     */
    bool (*fence_all)(struct rti_port *port);

    /* Page-aligned zeroed memory outside the heap, and its return. NULL if there is none. */
    void *(*memory_map)(struct rti_port *port, size_t size);
    void (*memory_unmap)(struct rti_port *port, void *memory, size_t size);
    /* Says of mapped memory that it will be used from its beginning on, without gaps: the system
     * may give it in larger pieces where little is lost by that. `dense->ready` is where it
     * begins, and is moved on; who uses what lies behind it says so first. NULL: it makes no
     * difference. */
    void (*memory_expect_dense)(struct rti_port *port, struct rti_dense *dense);
    /* Moves `dense->ready` on, by at least 64 kB if there is more. */
    void (*memory_advance)(struct rti_port *port, struct rti_dense *dense);
    /* Makes whole pages of memory that is not shared, mapped or the program's own, fault at any
     * access, until they are unguarded or unmapped. Their content is lost. RT_OK;
     * RT_ERR_INVALID if not whole pages; RT_ERR_NOMEM if the system has no more mappings;
     * RT_ERR_UNSUPPORTED where there is no such protection. */
    rt_status (*memory_guard)(struct rti_port *port, void *memory, size_t size);
    /* Makes guarded pages accessible again, with undefined content. */
    void (*memory_unguard)(struct rti_port *port, void *memory, size_t size);
    /* The bytes that memory_guard counts in; 0 or NULL where there is no such protection. */
    size_t (*memory_page_size)(struct rti_port *port);

    /* NULL where faults cannot be caught. From here on a fault of any thread is shown to the policy
     * first, on a stack of its own if the thread is this one. One owner at a time. RT_OK;
     * RT_ERR_STATE if there is one already; RT_ERR_UNSUPPORTED where faults cannot be caught;
     * RT_ERR_IO if the system refuses. */
    rt_status (*faults_open)(struct rti_port *port, const struct rti_fault_policy *policy);
    /* NULL as above. Gives the calling thread, which is not that of faults_open, a stack to be
     * shown its faults on; NULL takes it away again, before the thread ends. */
    void (*faults_attend)(struct rti_port *port, void *stack, size_t size);
    /* Puts everything back as it was; the thread of faults_open only. */
    void (*faults_close)(struct rti_port *port);

    /* NULL where threads cannot be interrupted. From here on `handler` is called on a thread that
     * `interrupt` names, wherever that stands: in a signal handler, on the stack of faults_attend,
     * with the frame that was interrupted. One owner at a time. */
    rt_status (*interrupts_open)(struct rti_port *port,
                                 void (*handler)(const struct rti_frame *frame));
    void (*interrupts_close)(struct rti_port *port);
    /* Lets the calling thread be interrupted, and gives the name for it. */
    uintptr_t (*interrupts_attend)(struct rti_port *port);
    /* Any thread; `thread` has not been joined. */
    void (*interrupt)(struct rti_port *port, uintptr_t thread);

    /* NULL where there are no signals, as are the next two. From here on `caught` is called for
     * each signal of this number, in a signal handler of any thread, also for a moment after the
     * release. RT_OK; RT_ERR_INVALID if it is none or cannot be caught; RT_ERR_IO if the system
     * refuses. One owner of a number at a time. Any thread. */
    rt_status (*signal_catch)(struct rti_port *port, int number, void (*caught)(int number));
    /* The signal does again what it did before. */
    void (*signal_release)(struct rti_port *port, int number);
    /* Sends a signal to this process. RT_OK; RT_ERR_INVALID if there is no such signal. */
    rt_status (*signal_raise)(struct rti_port *port, int number);
};

/* What a port has done so far; written by who waits, read by anybody. */
struct rti_port_counts {
    rti_atomic_u64 polls;    /* waits */
    rti_atomic_u64 events;   /* ops answered */
    rti_atomic_u64 timeouts; /* waits that ended by their deadline, those included that only look */
};

/* Adds to a count: one writer at a time. */
static inline void rti_port_count(rti_atomic_u64 *count)
{
    rti_u64_store_relaxed(count, rti_u64_load_relaxed(count) + 1);
}

struct rti_port {
    const struct rti_port_ops *ops;
    const struct rti_port_net *net;   /* NULL: no network here */
    const struct rti_port_file *file; /* NULL: no files here */
    /* Not 0: something waits to be collected by `wait`. `wake`, and the port itself when an op is
     * decided, raise it before they make `wait` return; the scheduler looks at it in every turn and
     * lowers it before it collects. It lies here and not in the scheduler because a thread of the
     * port may still raise it when the scheduler is gone. */
    rti_atomic_u32 attention;
    struct rti_port_counts counts;
};

/* Makes mapped memory, or other memory if `size` is 0, a table that is filled from its beginning.
 */
static inline void rti_port_expect_dense(struct rti_port *port, struct rti_dense *dense,
                                         void *memory, size_t size)
{
    *dense = (struct rti_dense){.ready = UINTPTR_MAX, .end = (uintptr_t)memory + size};
    if (size > 0 && port->ops->memory_expect_dense != NULL) {
        dense->ready = (uintptr_t)memory;
        port->ops->memory_expect_dense(port, dense);
    }
}

/* Before the first use of what ends at `end`, which is not much after what was used before. One at
 * a time. */
static inline void rti_port_use_dense(struct rti_port *port, struct rti_dense *dense,
                                      const void *end)
{
    if (!RTI_ONE_WORKER && RTI_UNLIKELY((uintptr_t)end > dense->ready)) {
        port->ops->memory_advance(port, dense);
    }
}

/* Process-wide services that a dying runtime needs before any port exists: one per target, chosen
 * at link time. */

/* Writes the one line of a panic. Async-signal-safe; `sentence` may be NULL. */
void rti_port_panic_write(const char *module, int id, const char *sentence);

/* Ends the process abnormally. */
_Noreturn void rti_port_abort(void);

/* Writes one line of diagnosis, without a payload. Async-signal-safe. */
void rti_port_log(const char *line);
#if !RT_SENTENCES
#define rti_port_log(line) ((void)(line))
#endif

/* Writes all of the bytes to a descriptor and blocks until the system has taken them. RT_OK;
 * RT_ERR_IO with the system's sentence, some may be written then; RT_ERR_UNSUPPORTED where there
 * are no descriptors. Any thread; errno stays. */
rt_status rti_port_descriptor_write(int fd, const void *bytes, size_t size);

/* Blocks the calling thread, which has no runtime, for so many nanoseconds. */
void rti_port_sleep(uint64_t duration_ns);

/* A sentence for an error number of the system, always a literal; NULL for 0. Any thread. */
const char *rti_port_error_text(int error);

/* Memory of the heap, aligned for any object, and its return; NULL if there is none. Only for the
 * stacks of actors that ask for it. */
void *rti_port_heap_alloc(size_t size);
void rti_port_heap_free(void *memory);

/* Appends whole lines to the file of hit marks (base/marks.h), if the environment names one; does
 * nothing elsewhere. Checked builds only. */
void rti_port_marks_append(const char *text, size_t length);

/* Reads an unsigned number from the environment. True and *number is written if the variable is
 * there and is one, decimal or 0x hexadecimal; else *number stays. */
bool rti_port_environment_number(const char *name, uint64_t *number);

/* Keeps the line that repeats what this process does now: `name=number` before its own command
 * line. A panic says it, and so does rti_port_repeat_log. One at a time. */
void rti_port_repeat_set(const char *name, uint64_t number);
void rti_port_repeat_clear(void);
void rti_port_repeat_log(void);

#endif
