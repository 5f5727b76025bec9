/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "recorder"
#include "sched/recorder.h"

#if RTI_RECORDS

#if defined(__x86_64__)
#include "port/arch/x86_64/ticks.h"
#elif defined(__aarch64__)
#include "port/arch/aarch64/ticks.h"
#endif

/* Words that come faster than one in so many ticks, a tenth of a microsecond or so, share a
 * reading.
 */
#define FAST_TICKS 256

#define TICKS_MASK (UINT64_MAX >> 8)

_Static_assert(RTI_RECORDER_WORDS > 2 * (RTI_RECORDER_STRETCH + RTI_RECORDER_SLACK),
               "a ring has room for two stretches");

uint64_t rti_recorder_ticks(void)
{
    return rti_arch_ticks();
}

/* Goes back to the beginning if a whole stretch does not fit any more. */
static rti_atomic_u64 *recorder_wrap(struct rti_recorder *recorder, rti_atomic_u64 *at)
{
    if (at + RTI_RECORDER_STRETCH + RTI_RECORDER_SLACK < recorder->ring + RTI_RECORDER_WORDS) {
        return at;
    }
    rti_atomic_u64 *end = recorder->ring + RTI_RECORDER_WORDS;
    while (at < end) {
        rti_u64_store_relaxed(at++, (uint64_t)RTI_NOTE_NONE << 56);
    }
    uint64_t laps = rti_u64_load_relaxed(&recorder->laps);
    rti_u64_store_relaxed(&recorder->laps, laps + 1);
    /* Release: who sees the new place sees that it is in motion. Pairs with recorder_written. */
    rti_ptr_store_release(&recorder->at, recorder->ring);
    rti_u64_store_release(&recorder->laps, laps + 2);
    return recorder->ring;
}

static rti_atomic_u64 *recorder_put(rti_atomic_u64 *at, uint64_t word)
{
    rti_u64_store_relaxed(at, word);
    return at + 1;
}

static uint64_t time_word(const struct rti_recorder *recorder, uint64_t ticks)
{
    return (uint64_t)RTI_NOTE_TIME << 56 | ((ticks - recorder->base_ticks) & TICKS_MASK);
}

/* How many words may follow a reading without another: twice as many as before if those came fast.
 */
static void recorder_space(struct rti_recorder *recorder, const rti_atomic_u64 *at, uint64_t now)
{
    size_t words = at > recorder->read ? (size_t)(at - recorder->read) : recorder->stretch;
    bool is_fast = now - recorder->read_ticks < words * FAST_TICKS;
    recorder->stretch = is_fast ? recorder->stretch * 2 : 1;
    if (recorder->stretch > RTI_RECORDER_STRETCH) {
        recorder->stretch = RTI_RECORDER_STRETCH;
    }
}

void rti_recorder_note_timed(struct rti_recorder *recorder, uint64_t word)
{
    rti_atomic_u64 *at = rti_ptr_load_relaxed(&recorder->at);
    uint64_t now = rti_arch_ticks();
    uint64_t tick = rti_u64_load_relaxed(&recorder->tick);
    recorder_space(recorder, at, now);
    if (tick != 0) {
        rti_u64_store_relaxed(&recorder->tick, 0);
        if (tick > recorder->read_ticks && tick < now) {
            at = recorder_put(at, time_word(recorder, tick));
        }
    }
    recorder->read = at;
    recorder->read_ticks = now;
    at = recorder_put(at, time_word(recorder, now));
    at = recorder_put(at, word);
    RT_ASSERT(at <= recorder->ring + RTI_RECORDER_WORDS);
    at = recorder_wrap(recorder, at);
    /* Release: as in rti_recorder_note. */
    rti_ptr_store_release(&recorder->at, at);
    rti_ptr_store_relaxed(&recorder->stop, at + (recorder->stretch - 1));
}

void rti_recorder_note_pause(struct rti_recorder *recorder, enum rti_note what)
{
    if (rti_ptr_load_relaxed(&recorder->at) != NULL) {
        rti_recorder_note_timed(recorder, (uint64_t)what << 56);
        rti_ptr_store_relaxed(&recorder->stop, NULL);
    }
}

void rti_recorder_note_name(struct rti_recorder *recorder, const char *name)
{
    while (name != NULL && *name != '\0') {
        uint64_t bytes = 0;
        for (unsigned i = 0; i < 7 && *name != '\0'; i++) {
            bytes |= (uint64_t)(unsigned char)*name++ << (8 * i);
        }
        rti_recorder_note(recorder, RTI_NOTE_NAME, (uint32_t)(bytes >> 32), (uint32_t)bytes);
    }
}

void rti_recorder_follow(struct rti_recorder *recorder, const struct rti_recording *recording,
                         uint32_t index)
{
    /* Acquire pairs with the release of who began or ended it. */
    uint32_t turn = rti_u32_load_acquire(&recording->turn);
    recorder->turn = turn;
    if (turn % 2 == 0 || index >= recording->rings_count) {
        void *at = rti_ptr_load_relaxed(&recorder->at);
        if (at != NULL) {
            rti_ptr_store_relaxed(&recorder->last, at);
        }
        rti_ptr_store_relaxed(&recorder->stop, NULL);
        /* Release: who finds no place any more finds the last one. */
        rti_ptr_store_release(&recorder->at, NULL);
        return;
    }
    /* The words of an earlier recording end here. */
    rti_u32_store_relaxed(&recorder->began, 0);
    recorder->ring = recording->rings + (size_t)index * RTI_RECORDER_WORDS;
    recorder->base_ticks = rti_u64_load_relaxed(&recording->base_ticks);
    recorder->read_ticks = recorder->base_ticks;
    recorder->read = recorder->ring;
    recorder->stretch = 1;
    rti_u64_store_relaxed(&recorder->tick, 0);
    rti_u64_store_relaxed(&recorder->laps, 0);
    rti_ptr_store_relaxed(&recorder->stop, NULL);
    rti_ptr_store_relaxed(&recorder->at, recorder->ring);
    /* Release: who finds that it has begun finds the ring. */
    rti_u32_store_release(&recorder->began, turn);
}

void rti_recording_begin(struct rti_recording *recording)
{
    uint32_t turn = rti_u32_load_relaxed(&recording->turn);
    rti_u64_store_relaxed(&recording->base_ticks, rti_arch_ticks());
    /* Release pairs with rti_recorder_follow. */
    rti_u32_store_release(&recording->turn, turn + 1 + turn % 2);
}

void rti_recording_end(struct rti_recording *recording)
{
    uint32_t turn = rti_u32_load_relaxed(&recording->turn);
    RT_ASSERT(turn % 2 == 1);
    rti_u32_store_release(&recording->turn, turn + 1);
}

void rti_recorder_tick(struct rti_recorder *recorder)
{
    if (rti_ptr_load_relaxed(&recorder->at) != NULL && rti_u64_load_relaxed(&recorder->tick) == 0) {
        rti_u64_store_relaxed(&recorder->tick, rti_arch_ticks());
        rti_ptr_store_relaxed(&recorder->stop, NULL);
    }
}

/* How many words there are so far. */
static uint64_t recorder_written(const struct rti_recorder *recorder)
{
    for (;;) {
        /* Acquire, three times: the place lies between two equal readings of the laps. */
        uint64_t laps = rti_u64_load_acquire(&recorder->laps);
        const rti_atomic_u64 *at = rti_ptr_load_acquire(&recorder->at);
        if (at == NULL) {
            at = rti_ptr_load_relaxed(&recorder->last);
        }
        if (laps % 2 == 0 && rti_u64_load_acquire(&recorder->laps) == laps) {
            return laps / 2 * RTI_RECORDER_WORDS + (uint64_t)(at - recorder->ring);
        }
        rti_spin_hint();
    }
}

size_t rti_recorder_copy(const struct rti_recorder *recorder, const struct rti_recording *recording,
                         uint64_t *words, uint64_t *lost)
{
    uint32_t turn = rti_u32_load_relaxed(&recording->turn);
    *lost = 0;
    /* Acquire pairs with rti_recorder_follow. The turn of an ended recording is the next one. */
    if (turn == 0 || rti_u32_load_acquire(&recorder->began) != (turn - 1) / 2 * 2 + 1) {
        return 0;
    }
    uint64_t end = recorder_written(recorder);
    uint64_t begin = end > RTI_RECORDER_WORDS ? end - RTI_RECORDER_WORDS : 0;
    for (uint64_t i = begin; i < end; i++) {
        words[i - begin] = rti_u64_load_relaxed(&recorder->ring[i % RTI_RECORDER_WORDS]);
    }
    /* Copied; fence; then how far the worker has come meanwhile. */
    rti_fence_seqcst();
    /* The words of a long way are not counted in yet. */
    uint64_t reach = recorder_written(recorder) + RTI_RECORDER_STRETCH + RTI_RECORDER_SLACK;
    uint64_t safe = reach > RTI_RECORDER_WORDS ? reach - RTI_RECORDER_WORDS : 0;
    safe = safe < begin ? begin : safe > end ? end : safe;
    for (uint64_t i = safe; i < end && safe > begin; i++) {
        words[i - safe] = words[i - begin];
    }
    *lost = safe;
    return (size_t)(end - safe);
}

#endif
