/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_PORT_LINUX_H
#define RTI_PORT_LINUX_H

/* The Linux body of the seam (port/port.h). Everything lives in one struct that the caller owns;
 * nothing is allocated. The essay is in port_linux.c. */

#include "port/file.h"
#include "port/linux/blocking_pool.h"
#include "port/linux/fault.h"
#include "port/linux/poller.h"
#include "port/net.h"
#include "port/op.h"

/* Bytes of stack of every thread that thread_start makes. */
#ifndef RTI_PORT_STACK_SIZE
#define RTI_PORT_STACK_SIZE (512U * 1024U)
#endif

/* A huge page takes 0.1 to 0.2 ms where one is ready, 512 small ones from 0.1 to 0.9 ms, a huge
 * one that is not ready several ms. */
#define RTI_PORT_HUGE_MAX_NS (RTI_NS_PER_MS)

/* All zero, or no config at all, gives the defaults. */
struct rti_port_linux_config {
    uint32_t pool_threads;     /* of the file lane; 0: RTI_BLOCKING_THREADS */
    size_t stack_size;         /* of a thread; 0: RTI_PORT_STACK_SIZE */
    struct rti_fd *fds;        /* a larger table, zeroed, the caller's until deinit; NULL: own */
    size_t fds_count;          /* its entries: descriptors below this number can be used */
    rt_poller_kind poller;     /* who watches descriptors */
    bool is_shared;            /* several workers use it at the same time, one waits */
    bool is_pool_eager;        /* start the pool's threads in init: nothing is allocated later */
    bool is_coarse;            /* do as on a kernel before 5.11: timeouts in whole milliseconds */
    bool is_guard_by_mprotect; /* do as on a kernel before 6.13: guards cost a mapping each */
};

struct rti_port_linux {
    struct rti_port port;     /* first: the ops table finds us by it */
    struct rti_list answered; /* decided ops, in the order of their decision */
    size_t in_flight_count;   /* submitted, not yet done */
    struct rti_spin ledger;   /* over the two above, the pool and the state of ops in flight */
    bool is_shared;           /* several workers: the ledger is locked */
    bool is_waiting;          /* inside wait */
    bool is_closing;          /* inside deinit: what is submitted is answered RT_ERR_CLOSED */
    bool has_guard_install;   /* MADV_GUARD_INSTALL works here */
    bool is_guard_mixed;      /* it did not for some memory, which mprotect guards */
    size_t stack_size;
    size_t page_size;
    uint64_t huge_max_ns;     /* a huge page that takes so long is the last of its table */
    uint32_t fork_generation; /* of the process that made it */
    uint64_t signal_mask;     /* of the thread that made it: signals that are blocked */
    struct rti_poller poller;
    struct rti_blocking_pool pool;
};

/* Makes a port in the caller's memory; `config` may be NULL and is not kept.
 * RT_OK; RT_ERR_INVALID for a config out of range; RT_ERR_RESOURCE_EXHAUSTED, RT_ERR_NOMEM or
 * RT_ERR_IO if the system refuses; nothing is left behind then. */
RT_MUST_CHECK rt_status rti_port_linux_init(struct rti_port_linux *self,
                                            const struct rti_port_linux_config *config);

/* Makes a port that has memory, faults and the table of files and nothing else: no descriptor, no
 * thread, no wait, and no deinit. For the simulator, as its host. */
void rti_port_linux_init_bare(struct rti_port_linux *self);

/* Answers what is in flight with RT_ERR_CANCELLED, waits for work that runs, joins the threads and
 * closes what init opened; descriptors of ops stay open, they are their makers'. */
void rti_port_linux_deinit(struct rti_port_linux *self);

/* Panics if an invariant is broken. Scheduler thread, outside of done. */
void rti_port_linux_audit(const struct rti_port_linux *self);

/* The bodies that need no poller and no pool: thread.c, futex.c, memory.c, fault.c. */
rt_status rti_linux_thread_start(struct rti_port *port, struct rti_port_thread *thread,
                                 void (*main)(void *arg), void *arg);
void rti_linux_thread_adopt(struct rti_port *port);
uint64_t rti_linux_thread_mask(void);
void rti_linux_thread_join(struct rti_port *port, struct rti_port_thread *thread);
bool rti_linux_futex_wait(struct rti_port *port, rti_atomic_u32 *word, uint32_t expected,
                          uint64_t deadline_ns);
void rti_linux_futex_wake(struct rti_port *port, rti_atomic_u32 *word, uint32_t count);
/* Says that the process will ask for fences. With other threads about the system takes milliseconds
 * for that, so it is said before the port starts any; a no is heard when one is asked for. */
void rti_linux_fence_announce(void);
bool rti_linux_fence_all(struct rti_port *port);
void *rti_linux_memory_map(struct rti_port *port, size_t size);
void rti_linux_memory_unmap(struct rti_port *port, void *memory, size_t size);
void rti_linux_memory_expect_dense(struct rti_port *port, struct rti_dense *dense);
void rti_linux_memory_advance(struct rti_port *port, struct rti_dense *dense);
rt_status rti_linux_memory_guard(struct rti_port *port, void *memory, size_t size);
void rti_linux_memory_unguard(struct rti_port *port, void *memory, size_t size);
size_t rti_linux_memory_page_size(struct rti_port *port);

/* Does MADV_GUARD_INSTALL make a page fault here? Emulators say yes and do nothing. */
bool rti_linux_memory_guard_install_works(size_t page_size);

/* The tables of files and sockets: file_work.c, socket.c. */
extern const struct rti_port_file rti_linux_file;
extern const struct rti_port_net rti_linux_net;

/* What a plain thread does by itself (outside.c). */
extern const struct rti_port_ops rti_linux_outside_ops;

/* The clock of all of them: CLOCK_MONOTONIC. */
uint64_t rti_linux_clock_now(void);

static inline struct rti_port_linux *rti_port_linux_of(struct rti_port *port)
{
    return RTI_CONTAINER_OF(port, struct rti_port_linux, port);
}

#endif
