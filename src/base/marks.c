/* SPDX-License-Identifier: Apache-2.0 */
/* A mark that is hit is pushed onto a list that only grows, so the list needs one compare-and-swap
 * and no lock, and may be walked at any time. */
#define RTI_MODULE "marks"

/* A mark is no step of the program under exploration: real atomics in every build. */
#undef RTI_EXPLORED
#define RTI_EXPLORED 0

#include "base/marks.h"

#include <string.h>

#include "base/atomic.h"
#include "base/rng.h"
#include "port/port.h"

/* One write of this many bytes: small enough to be appended in one piece. */
#define WRITE_BYTES_MAX 2048

static rti_atomic_ptr hits;

/* The run in progress, 0 if there is none; the number and the seed of the last run begun. */
static rti_atomic_u32 run_current;
static rti_atomic_u32 run_last;
static rti_atomic_u32 run_seed[2]; /* low and high half: not every processor has more */

/* The integers of marks.h as the atomics they are. */
static rti_atomic_u32 *word_of(uint32_t *integer)
{
    _Static_assert(sizeof(rti_atomic_u32) == sizeof(uint32_t), "an atomic word is its integer");
    return (rti_atomic_u32 *)integer;
}

static struct rti_mark *hits_first(void)
{
    /* Pairs with the release in rti_mark_hit: a mark in the list has its `next`. */
    return rti_ptr_load_acquire(&hits);
}

void rti_mark_hit(struct rti_mark *mark)
{
    rti_atomic_u32 *is_hit = word_of(&mark->is_hit);
    uint32_t expected = 0;
    RT_ASSERT(mark->name != NULL);
    if (rti_u32_load_relaxed(is_hit) != 0 || !rti_u32_cas_relaxed(is_hit, &expected, 1)) {
        return;
    }
    void *first = rti_ptr_load_relaxed(&hits);
    do {
        mark->next = first;
        /* The release pairs with the acquire in hits_first. */
    } while (!rti_ptr_cas_acqrel(&hits, &first, mark));
}

bool rti_mark_was_hit(const char *name)
{
    RT_ASSERT(name != NULL);
    for (const struct rti_mark *mark = hits_first(); mark != NULL; mark = mark->next) {
        if (strcmp(mark->name, name) == 0) {
            return true;
        }
    }
    return false;
}

size_t rti_marks_audit(void)
{
    size_t count = 0;
    for (struct rti_mark *mark = hits_first(); mark != NULL; mark = mark->next) {
        RT_ASSERT(rti_u32_load_relaxed(word_of(&mark->is_hit)) == 1);
        for (const struct rti_mark *later = mark->next; later != NULL; later = later->next) {
            RT_ASSERT(later != mark);
        }
        count++;
    }
    return count;
}

void rti_marks_write(void)
{
    char text[WRITE_BYTES_MAX];
    size_t length = 0;
    for (const struct rti_mark *mark = hits_first(); mark != NULL; mark = mark->next) {
        size_t name_length = strlen(mark->name);
        RT_ASSERT(name_length + 1 <= sizeof(text));
        if (length + name_length + 1 > sizeof(text)) {
            rti_port_marks_append(text, length);
            length = 0;
        }
        memcpy(text + length, mark->name, name_length);
        length += name_length;
        text[length++] = '\n';
    }
    if (length > 0) {
        rti_port_marks_append(text, length);
    }
}

#if RT_CHECKS
__attribute__((destructor)) static void marks_at_exit(void)
{
    rti_marks_write();
}
#endif

void rti_buggify_enable(uint64_t seed)
{
    uint32_t run = rti_u32_add_relaxed(&run_last, 1) + 1;
    if (run == 0) {
        run = rti_u32_add_relaxed(&run_last, 1) + 1;
    }
    rti_u32_store_relaxed(&run_seed[0], (uint32_t)seed);
    rti_u32_store_relaxed(&run_seed[1], (uint32_t)(seed >> 32));
    /* Pairs with the acquire in rti_buggify_fires: who sees the run sees its seed. */
    rti_u32_store_release(&run_current, run);
}

void rti_buggify_disable(void)
{
    rti_u32_store_relaxed(&run_current, 0);
}

/* FNV-1a over the name: 64 bits that are the same in every build. */
static uint64_t name_hash(const char *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *name != '\0'; name++) {
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/* Counts the pass in its run and returns how many came before it. */
static uint32_t site_pass(struct rti_buggify_site *site, uint32_t run)
{
    if (rti_u32_load_relaxed(word_of(&site->run)) != run) {
        rti_u32_store_relaxed(word_of(&site->run), run);
        rti_u32_store_relaxed(word_of(&site->passes), 0);
    }
    return rti_u32_add_relaxed(word_of(&site->passes), 1);
}

bool rti_buggify_fires(struct rti_buggify_site *site)
{
    /* Pairs with the release in rti_buggify_enable. */
    uint32_t run = rti_u32_load_acquire(&run_current);
    RT_ASSERT(site->mark.name != NULL);
    if (RTI_LIKELY(run == 0)) {
        return false;
    }
    uint32_t pass = site_pass(site, run);
    struct rti_rng rng;
    uint64_t seed =
        rti_u32_load_relaxed(&run_seed[0]) | (uint64_t)rti_u32_load_relaxed(&run_seed[1]) << 32;
    rti_rng_init(&rng, seed ^ name_hash(site->mark.name));
    bool is_live = rti_rng_chance(&rng, 1, 4);
    uint64_t stream = rti_rng_next(&rng);
    if (!is_live) {
        return false;
    }
    rti_rng_init(&rng, stream + pass);
    if (!rti_rng_chance(&rng, 1, 4)) {
        return false;
    }
    rti_mark_hit(&site->mark);
    return true;
}
