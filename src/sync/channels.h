/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_CHANNELS_H
#define RTI_CHANNELS_H

/* All the memory of channels: control blocks, handles, permits, values. One struct, sized by
 * rt_static_config.h; the runtime places it and hangs it at sched->modules[RTI_MODULE_CHANNEL].
 *
 * Handles. What the user holds as a pointer is a number: a handle names an end of a channel by its
 * place in a table and by a generation that no other use of the place ever has. Senders and
 * receivers have a table each.
 *
 *     generation ... | index, RTI_CHANNEL_INDEX_BITS | kind, 4 bits
 *
 * It is as wide as a pointer, so on 64-bit machines a place can be used 2^52 times. Where pointers
 * have 32 bits a place wears out after some million uses and is then retired; places are used in
 * turn, first freed first used, so that they wear evenly.
 *
 * A place that is closed keeps its last id with the kind taken out, which is no handle, and points
 * to `nothing`: a channel that is never ready for the straight path. So the straight path of a send
 * needs one comparison to know that a handle leads to memory that may be looked at, even if
 * somebody made it up; the long way looks closer.
 *
 * Several workers. A channel's lock does not lie in the channel but beside it, one per block of the
 * pool, so that who comes with a handle that is being closed may take the lock of a channel that is
 * gone. Under the lock it looks at the handle once more: an end is closed under the lock of its
 * channel, so an end that still has the id and names this channel stays so until the lock is given
 * back (rti_channels_enter). What is not a channel's own, the free places, records and blocks, is
 * guarded by `lock`, which may be taken while a channel is entered.
 *
 * I1  A place is open iff its channel is not `nothing`, iff its id has a kind.
 * I2  A channel's counts of senders and receivers are the open ends that point to it.
 * I3  Every armed permit is in the list of its channel.                 (all: rti_channels_audit)
 *
 * Costs: 20 bytes per handle, about 300 per channel, 80 per permit; resolving a handle is a mask
 * and a comparison. */

#include <orrery/rt_static_config.h>

#include "base/arena.h"
#include "base/pool.h"
#include "sched/lock.h"
#include "sync/channel.h"
#include "sync/ghost.h"
#include "sync/permit.h"
#include "sync/region_timer.h"

/* What a handle names. */
struct rti_channel_end {
    rti_atomic_size id;     /* the handle, if open */
    rti_atomic_ptr channel; /* changes under the lock of the channel that it names */
};

_Static_assert(sizeof(uintptr_t) == sizeof(size_t), "handles are numbers of this width");

static inline uintptr_t rti_channel_end_id(const struct rti_channel_end *end)
{
    return rti_size_load_relaxed(&end->id);
}

/* What the end names: with several workers, at this moment. */
static inline struct rti_channel *rti_channel_end_channel(const struct rti_channel_end *end)
{
    return rti_ptr_load_relaxed(&end->channel);
}

#if UINTPTR_MAX > UINT32_MAX
#define RTI_CHANNEL_LOCK_ALIGN RTI_CACHE_LINE
#else
#define RTI_CHANNEL_LOCK_ALIGN 4
#endif

/* The lock of a block of the pool, alone in its cache line where memory is not scarce, and which
 * channel it is the lock of: who was served there and comes back to a channel that it has no claim
 * to any more finds out here whether that is still the one. */
struct rti_channel_lock {
    _Alignas(RTI_CHANNEL_LOCK_ALIGN) struct rti_lock lock;
#if !RTI_ONE_WORKER
    struct rti_channel *channel; /* NULL: the block is free; under the lock */
    uint64_t serial;             /* channels that the block has been; under the lock */
#endif
};

/* The low bits of a handle. Four, so that index and kind are the offset into the table. */
#define RTI_CHANNEL_KIND_BITS 4
#define RTI_CHANNEL_KIND_MASK ((uintptr_t)15)
#define RTI_CHANNEL_SENDER    ((uintptr_t)1)
#define RTI_CHANNEL_RECEIVER  ((uintptr_t)2)

/* Bits that hold an index below RT_MAX_CHANNEL_HANDLES. */
#define RTI_CHANNEL_INDEX_BITS                                                                     \
    (RT_MAX_CHANNEL_HANDLES <= 2 ? 1 : 32 - __builtin_clz((unsigned)RT_MAX_CHANNEL_HANDLES - 1))
#define RTI_CHANNEL_TABLE_SIZE (1 << RTI_CHANNEL_INDEX_BITS)

struct rti_channel_ends {
    struct rti_channel_end table[RTI_CHANNEL_TABLE_SIZE]; /* every index that a handle can have */
    uint32_t next_free[RT_MAX_CHANNEL_HANDLES];
    uint32_t free_head; /* RT_MAX_CHANNEL_HANDLES if none */
    uint32_t free_tail;
    uint32_t open_count;
    uintptr_t kind;
};

struct rti_channels {
    struct rti_channel_ends senders;
    struct rti_channel_ends receivers;
    struct rti_channel nothing; /* what closed ends point to; never changes */
    struct rti_sched *sched;
    struct rti_lock lock;    /* everything below but what lies in a channel */
    struct rti_lock regions; /* contexts and regions of this runtime: sync/cx.h */
#if !RTI_ONE_WORKER
    struct rti_region_dues dues; /* its own lock's */
#endif
    rti_atomic_u32 was_visited; /* a thread outside has used a channel, and may again */
    uint32_t last_number;
    uint64_t sent_before;     /* on channels that are gone */
    uint64_t received_before; /* the same */
    struct rti_ghost ghost;
    struct rti_permits permits;
    struct rti_pool blocks;
    struct rti_arena arena;
    struct rti_channel_lock locks[RT_MAX_CHANNELS];
    RTI_POOL_STORAGE(block_memory, struct rti_channel, RT_MAX_CHANNELS);
    _Alignas(RTI_ARENA_GRANULE) unsigned char memory[RTI_ARENA_BYTES(RT_CHANNEL_MEMORY_SIZE)];
};

/* Makes an empty module and hangs it at the scheduler. RT_OK; RT_ERR_STATE if there is one. */
rt_status rti_channels_init(struct rti_channels *channels, struct rti_sched *sched);

/* Takes the module away. Channels that are still there are finalized; no context waits on one. */
void rti_channels_deinit(struct rti_channels *channels);

/* Checks the invariants of the module and of every channel; returns how many channels there are. */
size_t rti_channels_audit(const struct rti_channels *channels);

/* Values sent and received so far, on all channels that ever were. */
void rti_channels_traffic(struct rti_channels *channels, uint64_t *sent, uint64_t *received);

/* Enters the channel that `end` names, if the end still has the handle `id`: its lock is the
 * caller's then. NULL, and nothing is held, if it has not. */
static inline struct rti_channel *
rti_channels_enter(struct rti_channels *channels, const struct rti_channel_end *end, uintptr_t id);

/* The same with several workers. */
struct rti_channel *rti_channels_enter_shared(struct rti_channels *channels,
                                              const struct rti_channel_end *end, uintptr_t id);

#if !RTI_ONE_WORKER
/* What lies beside a channel of several workers; NULL for one that is no channel of the pool. */
static inline struct rti_channel_lock *rti_channels_lock_of(struct rti_channels *channels,
                                                            const struct rti_channel *channel)
{
    size_t index =
        ((uintptr_t)channel - (uintptr_t)channels->block_memory) / sizeof(struct rti_channel);
    return RTI_LIKELY(index < RT_MAX_CHANNELS) ? &channels->locks[index] : NULL;
}
#endif

#if !RTI_ONE_WORKER
/* sched->unfold: a fiber that waits alone at a channel joins the line there. */
void rti_channel_unfold_fiber(struct rti_sched *sched, struct rti_fiber *fiber);

/* The same, and claims its wait for the cancellation of its context: true, the caller wakes the
 * waiter that it is given. */
bool rti_channel_cancel_alone(struct rti_sched *sched, struct rti_fiber *fiber,
                              struct rti_waiter **out_waiter);
#endif

/* Leaves a channel that was entered after something ended there, a handle, a wait or a permit, and
 * gives its memory back if nothing refers to it any more. */
void rti_channels_reclaim(struct rti_channels *channels, struct rti_channel *channel);

/* Gives back the memory of a channel that nothing refers to. No lock is held. */
RTI_COLD void rti_channels_free(struct rti_channels *channels, struct rti_channel *channel);

/* rt_channel_close_sender and _receiver of a module that is known. */
rt_status rti_channels_close(struct rti_channels *channels, const void *handle, bool is_sender);

/* Has a thread outside of the runtime used a channel of it? */
static inline bool rti_channels_were_visited(const struct rti_channels *channels)
{
    return channels != NULL && rti_u32_load_relaxed(&channels->was_visited) != 0;
}

/* Ends a channel from outside: permits are revoked, handles closed, values destroyed. For the
 * region that owns it. */
void rti_channels_finalize(struct rti_channels *channels, struct rti_channel *channel);

/* What is refused and why: a handle that is closed, unknown or NULL. `ends` is the table that it
 * should be in. */
RTI_COLD rt_status rti_channels_refuse(struct rti_channels *channels,
                                       const struct rti_channel_ends *ends, uintptr_t id);

RTI_COLD rt_status rti_channels_refuse_thread(const struct rti_worker *worker);

static inline struct rti_channel *
rti_channels_enter(struct rti_channels *channels, const struct rti_channel_end *end, uintptr_t id)
{
    return RTI_LIKELY(rti_sched_is_local(channels->sched))
               ? rti_channel_end_channel(end)
               : rti_channels_enter_shared(channels, end, id);
}

/* The module of the calling thread's runtime; NULL if there is none. */
static inline struct rti_channels *rti_channels_of(const struct rti_worker *worker)
{
    return RTI_UNLIKELY(worker == NULL) ? NULL : worker->sched->modules[RTI_MODULE_CHANNEL];
}

/* The place that a handle names, if the handle is the latest of that place; else NULL. A number
 * that was made up may find a place that is closed. */
static inline struct rti_channel_end *rti_channel_ends_find(struct rti_channel_ends *ends,
                                                            const void *handle)
{
    uintptr_t id = (uintptr_t)handle;
    struct rti_channel_end *end =
        &ends->table[(id >> RTI_CHANNEL_KIND_BITS) & (RTI_CHANNEL_TABLE_SIZE - 1)];
    return RTI_LIKELY(rti_channel_end_id(end) == id) ? end : NULL;
}

/* The open end with this handle; NULL for every other number. */
static inline struct rti_channel_end *rti_channels_lookup(struct rti_channels *channels,
                                                          struct rti_channel_ends *ends,
                                                          const void *handle)
{
    struct rti_channel_end *end = rti_channel_ends_find(ends, handle);
    return end == NULL || rti_channel_end_channel(end) == &channels->nothing ? NULL : end;
}

static inline struct rti_channel_end *rti_channels_sender(struct rti_channels *channels,
                                                          const rt_channel_sender *tx)
{
    return rti_channels_lookup(channels, &channels->senders, tx);
}

static inline struct rti_channel_end *rti_channels_receiver(struct rti_channels *channels,
                                                            const rt_channel_receiver *rx)
{
    return rti_channels_lookup(channels, &channels->receivers, rx);
}

/* Writes an event of the channel with this number to the journal. */
RTI_COLD void rti_channels_write(struct rti_sched *sched, enum rti_journal_kind kind,
                                 uint32_t number, uint64_t value);

/* The same, if there is a journal. */
static inline void rti_channels_record(struct rti_channels *channels, enum rti_journal_kind kind,
                                       const struct rti_channel *channel, uint64_t value)
{
    struct rti_sched *sched = channels->sched;
    if (RTI_UNLIKELY(rti_sched_journal(sched) != NULL)) {
        rti_channels_write(sched, kind, channel->number, value);
    }
}

#endif
