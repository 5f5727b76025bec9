/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_STATIC_CONFIG_H
#define ORRERY_RT_STATIC_CONFIG_H

/* Every limit of the fixed engine. All memory is reserved from these numbers at compile time; a
 * limit is changed by defining it when the library is compiled (-DRT_MAX_ACTORS=256), and the
 * program that uses the library is compiled with the same definitions. What happens when a limit is
 * reached is said where the functions are documented: a status, never a crash. */

#ifndef RT_MAX_ACTORS
#define RT_MAX_ACTORS 64 /* maximum concurrent actors */
#endif

#ifndef RT_MAX_TASKS
#if defined(__arm__)
#define RT_MAX_TASKS                                                                               \
    8 /* maximum concurrent tasks, those included that ended and were not joined                   \
       */
#else
#define RT_MAX_TASKS 64
#endif
#endif

#ifndef RT_TASK_STACK_SIZE
#if defined(__arm__)
#define RT_TASK_STACK_SIZE 2048 /* stack of a task that names no size, bytes */
#else
#define RT_TASK_STACK_SIZE 16384
#endif
#endif

/* The largest stack that an actor or a task may ask for, bytes; not to be changed. */
#if defined(__SIZEOF_POINTER__) && __SIZEOF_POINTER__ == 4
#define RT_STACK_SIZE_MAX 0x10000000
#else
#define RT_STACK_SIZE_MAX 0x40000000
#endif

#ifndef RT_MAX_LOCALS
#define RT_MAX_LOCALS 8 /* keys of task-local values, at most 32 */
#endif

#ifndef RT_MAX_HOOKS
#define RT_MAX_HOOKS 8 /* ensure hooks of one task */
#endif

/* What the ensure hooks of one task may take together, before what they wait for fails;
 * nanoseconds. */
#ifndef RT_ENSURE_TIME_NS
#define RT_ENSURE_TIME_NS 5000000000
#endif

/* How often a runtime looks for deadlocks that was not told (rt_watch_deadlocks), milliseconds; 0:
 * never. */
#ifndef RT_DEADLOCK_AFTER_MS
#if defined(RT_CHECKS) && RT_CHECKS
#define RT_DEADLOCK_AFTER_MS 30000
#else
#define RT_DEADLOCK_AFTER_MS 0
#endif
#endif

/* After how many milliseconds in one turn a task of the parallel engine is told of (rt_config:
 * overrun_after); 0: never. */
#ifndef RT_OVERRUN_AFTER_MS
#define RT_OVERRUN_AFTER_MS 10000
#endif

#ifndef RT_MAX_POOLS
#define RT_MAX_POOLS 2 /* pools of threads that are open at a time */
#endif

#ifndef RT_MAX_POOL_THREADS
#define RT_MAX_POOL_THREADS 16 /* threads of one pool */
#endif

#ifndef RT_MAX_POOL_JOBS
#define RT_MAX_POOL_JOBS 64 /* jobs of one pool: queued, running, or done and not joined */
#endif

#ifndef RT_STACK_ARENA_SIZE
#define RT_STACK_ARENA_SIZE (1 * 1024 * 1024) /* stacks of actors and tasks, bytes */
#endif

#ifndef RT_MAX_BUSES
#define RT_MAX_BUSES 32 /* maximum concurrent buses */
#endif

#ifndef RT_MAX_BUS_ENTRIES
#define RT_MAX_BUS_ENTRIES 64 /* ring entries per bus */
#endif

/* Readers of an entry are a 32-bit mask: this one is not a tunable. */
#define RT_MAX_BUS_SUBSCRIBERS 32

#ifndef RT_MAILBOX_ENTRY_POOL_SIZE
#define RT_MAILBOX_ENTRY_POOL_SIZE 256 /* mailbox entries, all actors together */
#endif

#ifndef RT_MESSAGE_DATA_POOL_SIZE
#define RT_MESSAGE_DATA_POOL_SIZE 256 /* payloads of ASYNC messages and bus entries */
#endif

#ifndef RT_SYNC_BUFFER_POOL_SIZE
#define RT_SYNC_BUFFER_POOL_SIZE 64 /* payloads of SYNC messages */
#endif

#ifndef RT_MAX_MESSAGE_SIZE
#define RT_MAX_MESSAGE_SIZE 256 /* bytes of one payload */
#endif

#ifndef RT_LINK_ENTRY_POOL_SIZE
#define RT_LINK_ENTRY_POOL_SIZE 128 /* link ends: a link has two */
#endif

#ifndef RT_MONITOR_ENTRY_POOL_SIZE
#define RT_MONITOR_ENTRY_POOL_SIZE 128 /* monitors */
#endif

#ifndef RT_TIMER_ENTRY_POOL_SIZE
#define RT_TIMER_ENTRY_POOL_SIZE 64 /* timers */
#endif

#ifndef RT_MAX_CHANNELS
#define RT_MAX_CHANNELS 64 /* channels that exist at a time */
#endif

#ifndef RT_MAX_CHANNEL_HANDLES
#define RT_MAX_CHANNEL_HANDLES 256 /* open senders, and as many receivers, of all channels */
#endif

#ifndef RT_MAX_SEND_PERMITS
#define RT_MAX_SEND_PERMITS 64 /* permits not yet resolved, all channels together */
#endif

#ifndef RT_CHANNEL_MEMORY_SIZE
#define RT_CHANNEL_MEMORY_SIZE (64 * 1024) /* values of channels without memory of their own */
#endif

#ifndef RT_MAX_SIGNAL_CHANNELS
#define RT_MAX_SIGNAL_CHANNELS 16 /* channels of signals that are open at a time */
#endif

#ifndef RT_MAX_ASYNC
#define RT_MAX_ASYNC 64 /* poll tasks, unless rt_async_reserve makes room for more */
#endif

#ifndef RT_MAX_ASYNC_CONTEXTS
#define RT_MAX_ASYNC_CONTEXTS RT_MAX_ASYNC /* of those, that wait with their context */
#endif

#ifndef RT_COMPLETION_QUEUE_SIZE
#define RT_COMPLETION_QUEUE_SIZE 64 /* I/O requests in flight, per subsystem */
#endif

#ifndef RT_FILE_CHUNK_SIZE
#define RT_FILE_CHUNK_SIZE 4096 /* bytes a file request moves at once; each request has so many */
#endif

#ifndef RT_MAX_DESCRIPTORS
#define RT_MAX_DESCRIPTORS 1024 /* descriptor numbers that sockets may have: 0 to one less */
#endif

/* The world of the simulator (rt/sim.h); its memory is lent by the machine while a run uses it. */

#ifndef RT_SIM_SOCKETS
#define RT_SIM_SOCKETS 256 /* sockets open at a time, a connection has two */
#endif

#ifndef RT_SIM_SOCKET_BUFFER
#define RT_SIM_SOCKET_BUFFER 16384 /* bytes on the way to and not yet read from one connection */
#endif

#ifndef RT_SIM_OPEN_FILES
#define RT_SIM_OPEN_FILES 32 /* files open at a time */
#endif

#ifndef RT_SIM_DISK_SIZE
#define RT_SIM_DISK_SIZE (4 * 1024 * 1024) /* memory of a disk that the run has for itself */
#endif

#ifndef RT_DEFAULT_STACK_SIZE
#define RT_DEFAULT_STACK_SIZE 65536 /* stack of an actor that names no size, bytes */
#endif

/* The guard below each stack where memory can be protected: whole pages of the machine, a power of
 * two; 0 leaves it at guard words. It is not taken from the stacks and costs addresses, no memory.
 * It is what -fstack-clash-protection takes for granted on the processor: a larger frame touches
 * something every so many bytes. */
#ifndef RT_STACK_GUARD_SIZE
#if defined(__aarch64__)
#define RT_STACK_GUARD_SIZE 65536
#elif defined(__x86_64__)
#define RT_STACK_GUARD_SIZE 4096
#else
#define RT_STACK_GUARD_SIZE 0
#endif
#endif

/* How long a busy scheduler may go without looking at its clock, and how long without asking the
 * machine for completions; nanoseconds. A slow processor does less in the same time. With one
 * worker the machine is asked after four times as long while what it gave last still waits for its
 * turns and no timer is due. On a Cortex-M what completes raises a flag, and nothing need be asked
 * for. */
#ifndef RT_LOOK_NEAR_NS
#if defined(__arm__)
#define RT_LOOK_NEAR_NS 2000000
#else
#define RT_LOOK_NEAR_NS 20000
#endif
#endif

#ifndef RT_PORT_LOOK_NS
#if defined(__arm__)
#define RT_PORT_LOOK_NS 1000000000
#else
#define RT_PORT_LOOK_NS 50000
#endif
#endif

#ifndef RT_WHEEL_DIGIT_BITS
/* 2^n slots in each of the timer wheel's 5 levels; 4 to 8, or 0: no slots, a heap. */
#define RT_WHEEL_DIGIT_BITS 8
#endif

#ifndef RT_HUGE_PAGES
/* 1: tables of tasks, poll tasks and behaviours ask the system for huge pages from their ninth
 * megabyte on; 0: never, where a stall of the system that makes one is worse than the time that
 * they save (Linux only; docs/decisions/095). */
#define RT_HUGE_PAGES 1
#endif

#ifndef RT_STACK_PAINT
#define RT_STACK_PAINT                                                                             \
    0 /* 1: spawn fills stacks, so that rt_actor_stats knows how deep they went */
#endif

/* What a small program may be without: 1 has it, 0 leaves its code and memory out. */

#ifndef RT_SENTENCES
#define RT_SENTENCES 1 /* statuses and panics have a sentence, and what goes wrong is logged */
#endif

/* 0: an rt_status is its code alone, which fits a register; a program that reads `msg` does not
 * compile. On Cortex-M, without tasks. */
#ifndef RT_STATUS_MSG
#define RT_STATUS_MSG 1
#endif

#ifndef RT_TRACE
#define RT_TRACE 1 /* a run can be recorded and drawn from a seed: journal, chooser, simulator */
#endif

/* Workers that rt_init_ex may start. With 1 the parallel engine is not in the library at all. */
#ifndef RT_MAX_WORKERS
#if defined(__arm__)
#define RT_MAX_WORKERS 1
#else
#define RT_MAX_WORKERS 256
#endif
#endif

#ifndef RT_SWITCH_MARK
#define RT_SWITCH_MARK 1 /* on Cortex-M: a switch to a context that runs is noticed */
#endif

#ifndef RT_KEEP_ERRNO
#define RT_KEEP_ERRNO 1 /* each actor has an errno of its own */
#endif

/* Without one of these its functions do not exist: who calls them does not link. */
#ifndef RT_HAS_BUS
#define RT_HAS_BUS 1 /* rt_bus_create and its like */
#endif

#ifndef RT_HAS_CALLS
#define RT_HAS_CALLS 1 /* rt_call and rt_reply; supervisors need them */
#endif

/* Tasks and what they share with actors: channels, locks, regions, cancellation, sockets, files,
 * machines. Without it src/sync, task, io, machine and observe are left out of the library. */
#ifndef RT_HAS_TASKS
#define RT_HAS_TASKS 1
#endif

#ifndef RT_HAS_MONITORS
#define RT_HAS_MONITORS 1 /* rt_monitor and rt_demonitor; supervisors and behaviours need them */
#endif

#ifndef RT_HAS_NAMES
#define RT_HAS_NAMES 1 /* rt_register and rt_whereis */
#endif

#ifndef RT_POOL_COUNTS
#define RT_POOL_COUNTS 1 /* a pool counts what is in use; 0: who asks waits while it is counted */
#endif

/* 1: stacks are of one size, RT_DEFAULT_STACK_SIZE, and each actor has its own for good; there is
 * neither a larger one nor an arena, and RT_STACK_ARENA_SIZE is not looked at. On Cortex-M, without
 * tasks. */
#ifndef RT_STACK_SLOTS
#define RT_STACK_SLOTS 0
#endif

#ifndef RT_QUICK_IPC
#define RT_QUICK_IPC 1 /* small plain messages have a shorter way, which takes half a kilobyte */
#endif

/* Guard words at both ends of a stack, looked at in every switch. Where the processor guards the
 * stacks (MPU or PSPLIM on a Cortex-M) they add only what is written beyond the high end. */
#ifndef RT_GUARD_WORDS
#define RT_GUARD_WORDS 1
#endif

#ifndef RT_NAME_LENGTH_MAX
#define RT_NAME_LENGTH_MAX 31 /* bytes that an actor keeps of its name at spawn */
#endif

#ifndef RT_NAME_POOL_SIZE
#define RT_NAME_POOL_SIZE 64 /* registered names */
#endif

#ifndef RT_MAX_SUPERVISORS
#define RT_MAX_SUPERVISORS 16 /* supervisors that live at a time */
#endif

#ifndef RT_CHILD_POOL_SIZE
#define RT_CHILD_POOL_SIZE 64 /* children of supervisors without memory of their own */
#endif

#ifndef RT_INTENSITY_MAX
#define RT_INTENSITY_MAX 64 /* the largest intensity of a supervisor */
#endif

/* Whether there are behaviours, limits of mailboxes and what is built on them. Where memory is
 * scarce they are not, unless they are asked for. */
#ifndef RT_HAS_BEHAVIOURS
#if defined(__arm__)
#define RT_HAS_BEHAVIOURS 0
#else
#define RT_HAS_BEHAVIOURS 1
#endif
#endif

#ifndef RT_MAX_BEHAVIOURS
#define RT_MAX_BEHAVIOURS 256 /* behaviours without rt_behaviour_reserve */
#endif

#ifndef RT_BEHAVIOUR_MESSAGE_POOL_SIZE
#define RT_BEHAVIOUR_MESSAGE_POOL_SIZE                                                             \
    256 /* messages to behaviours without rt_behaviour_reserve                                     \
         */
#endif

#ifndef RT_MAX_BLOBS
#define RT_MAX_BLOBS 64 /* blobs that exist at a time */
#endif

#ifndef RT_MAX_BLOB_HOLDS
#define RT_MAX_BLOB_HOLDS 256 /* holds of actors on blobs */
#endif

#ifndef RT_BLOB_MEMORY_SIZE
#define RT_BLOB_MEMORY_SIZE (64 * 1024) /* bytes of all blobs */
#endif

#ifndef RT_HEAP_MEMORY_SIZE
#define RT_HEAP_MEMORY_SIZE (64 * 1024) /* bytes of all private heaps */
#endif

#ifndef RT_MAX_GROUPS
#define RT_MAX_GROUPS 16 /* groups that have members */
#endif

#ifndef RT_GROUP_MEMBER_POOL_SIZE
#define RT_GROUP_MEMBER_POOL_SIZE 128 /* memberships in groups */
#endif

#ifndef RT_BEHAVIOUR_BATCH
#define RT_BEHAVIOUR_BATCH 100 /* messages that a behaviour handles in one turn */
#endif

#ifndef RT_REDUCTIONS
#define RT_REDUCTIONS 4000 /* messages and runtime calls after which an actor's turn ends */
#endif

#ifndef RT_OBSERVE
#define RT_OBSERVE 0 /* 1: a program lets itself be looked at, unless ORRERY_OBSERVE=0 is set */
#endif

#endif
