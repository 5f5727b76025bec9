/* SPDX-License-Identifier: Apache-2.0 */

/* Happens-before by vector clocks.
 *
 * A machine with store buffers still shows every store in order, so it cannot tell a release store
 * from a relaxed one. C11 can, and so can a compiler or an aarch64. This file keeps, beside the
 * values, who is entitled to know what: a release store leaves the storing thread's clock in the
 * word, a relaxed store leaves only what the last fence released, a read-modify-write adds to what
 * is there (it continues the release sequence), an acquire load takes it. Ordinary memory that is
 * written and used without such a chain is a race, in whatever order this execution ran it.
 *
 * Ordinary memory is shadowed in granules of 8 bytes. A granule is watched in cells as wide as the
 * accesses to it have allowed so far (8, 4 or 1 bytes), so that neighbours never disturb each other
 * and the usual whole-word access costs one cell.
 *
 * I1  A thread's own clock in `now` is at least 1, so that 0 means never.    (order_thread_begin)
 * I2  A cell's last write happens before each later access that passed.      (cell_read,
 * cell_write)
 */

#include "port/explore/order.h"

#include <assert.h>
#include <string.h>

enum { GRANULE_SIZE = 8, GRANULES_MAX = 1024 };

struct order_cell {
    uint32_t write; /* when it was last written, 0 for never */
    unsigned write_thread;
    const char *write_site;
    uint32_t reads[EXPLORE_THREADS_MAX];
    const char *read_sites[EXPLORE_THREADS_MAX];
};

struct order_granule {
    uintptr_t key;      /* address / GRANULE_SIZE, 0 if unused */
    uint32_t execution; /* for which the cells are valid */
    unsigned width;     /* bytes per cell: 8, 4 or 1; only ever shrinks */
    struct order_cell cells[GRANULE_SIZE];
};

static struct order_granule granules[GRANULES_MAX];
static uint32_t execution;

static void clock_join(struct order_clock *clock, const struct order_clock *other)
{
    for (unsigned i = 0; i < EXPLORE_THREADS_MAX; i++) {
        clock->at[i] = clock->at[i] < other->at[i] ? other->at[i] : clock->at[i];
    }
}

void order_thread_begin(struct order_thread *thread, unsigned self)
{
    memset(thread, 0, sizeof *thread);
    thread->now.at[self] = 1;
}

void order_word_begin(struct order_word *word)
{
    memset(word, 0, sizeof *word);
}

void order_execution_begin(void)
{
    execution++;
}

void order_load(struct order_thread *thread, const struct order_word *word,
                enum explore_order order)
{
    bool is_acquire = (order & EXPLORE_ACQUIRE) != 0;
    clock_join(is_acquire ? &thread->now : &thread->seen, &word->published);
}

void order_store(struct order_thread *thread, unsigned self, enum explore_order order,
                 struct order_clock *published)
{
    if ((order & EXPLORE_RELEASE) == 0) {
        *published = thread->released;
        return;
    }
    *published = thread->now;
    thread->now.at[self]++;
}

void order_rmw(struct order_thread *thread, unsigned self, struct order_word *word,
               enum explore_order order)
{
    struct order_clock published;
    order_load(thread, word, order);
    order_store(thread, self, order, &published);
    clock_join(&word->published, &published);
}

void order_fence(struct order_thread *thread, unsigned self)
{
    clock_join(&thread->now, &thread->seen);
    thread->released = thread->now;
    thread->now.at[self]++;
}

bool order_use(const struct order_thread *thread, unsigned self, struct order_word *word,
               const char *site, struct order_race *race)
{
    word->accesses[self] = thread->now.at[self];
    word->access_sites[self] = site;
    if (word->init <= thread->now.at[word->init_thread]) {
        return true;
    }
    *race = (struct order_race){.what = "use",
                                .site = site,
                                .thread = self,
                                .other_what = "init",
                                .other_site = word->init_site,
                                .other_thread = word->init_thread};
    return false;
}

bool order_init(const struct order_thread *thread, unsigned self, struct order_word *word,
                const char *site, struct order_race *race)
{
    word->init = thread->now.at[self];
    word->init_thread = self;
    word->init_site = site;
    for (unsigned i = 0; i < EXPLORE_THREADS_MAX; i++) {
        if (i != self && word->accesses[i] > thread->now.at[i]) {
            *race = (struct order_race){.what = "init",
                                        .site = site,
                                        .thread = self,
                                        .other_what = "use",
                                        .other_site = word->access_sites[i],
                                        .other_thread = i};
            return false;
        }
    }
    return true;
}

/* Makes cells narrow enough for an access; what a wide cell knows holds for each part of it. */
static void granule_narrow(struct order_granule *granule, unsigned width)
{
    unsigned parts = granule->width / width;
    for (unsigned i = GRANULE_SIZE / width; i-- > 0;) {
        granule->cells[i] = granule->cells[i / parts];
    }
    granule->width = width;
}

static struct order_granule *granule_find(uintptr_t key)
{
    unsigned slot = (unsigned)(key * 0x9E3779B97F4A7C15u >> 54) % GRANULES_MAX;
    for (unsigned tries = 0; tries < GRANULES_MAX; tries++) {
        struct order_granule *granule = &granules[slot];
        if (granule->key == 0) {
            granule->key = key;
            granule->width = GRANULE_SIZE;
        }
        if (granule->key == key) {
            if (granule->execution != execution) {
                size_t cells = GRANULE_SIZE / granule->width;
                memset(granule->cells, 0, cells * sizeof granule->cells[0]);
                granule->execution = execution;
            }
            return granule;
        }
        slot = (slot + 1) % GRANULES_MAX;
    }
    return NULL;
}

static bool cell_read(struct order_cell *cell, const struct order_thread *thread, unsigned self,
                      struct order_race *race)
{
    cell->reads[self] = thread->now.at[self];
    cell->read_sites[self] = race->site;
    if (cell->write <= thread->now.at[cell->write_thread]) {
        return true;
    }
    race->what = "read";
    race->other_what = "write";
    race->other_site = cell->write_site;
    race->other_thread = cell->write_thread;
    return false;
}

static bool cell_write(struct order_cell *cell, const struct order_thread *thread, unsigned self,
                       struct order_race *race)
{
    race->what = "write";
    if (cell->write > thread->now.at[cell->write_thread]) {
        race->other_what = "write";
        race->other_site = cell->write_site;
        race->other_thread = cell->write_thread;
        return false;
    }
    for (unsigned i = 0; i < EXPLORE_THREADS_MAX; i++) {
        if (cell->reads[i] > thread->now.at[i]) {
            race->other_what = "read";
            race->other_site = cell->read_sites[i];
            race->other_thread = i;
            return false;
        }
    }
    cell->write = thread->now.at[self];
    cell->write_thread = self;
    cell->write_site = race->site;
    return true;
}

typedef bool cell_access(struct order_cell *cell, const struct order_thread *thread, unsigned self,
                         struct order_race *race);

static bool order_plain(cell_access *access, const struct order_thread *thread, unsigned self,
                        struct order_race *race, size_t size)
{
    uintptr_t address = (uintptr_t)race->address;
    uintptr_t end = address + size;
    race->thread = self;
    while (address < end) {
        struct order_granule *granule = granule_find(address / GRANULE_SIZE);
        assert(granule != NULL); /* else the model has more memory than can be watched */
        unsigned from = (unsigned)(address % GRANULE_SIZE);
        unsigned to = end - address < GRANULE_SIZE - from ? from + (unsigned)(end - address)
                                                          : (unsigned)GRANULE_SIZE;
        while (from % granule->width != 0 || to % granule->width != 0) {
            granule_narrow(granule, granule->width == GRANULE_SIZE ? 4 : 1);
        }
        for (unsigned i = from / granule->width; i < to / granule->width; i++) {
            if (!access(&granule->cells[i], thread, self, race)) {
                return false;
            }
        }
        address += to - from;
    }
    return true;
}

bool order_plain_read(const struct order_thread *thread, unsigned self, const void *address,
                      size_t size, struct order_race *race)
{
    race->address = address;
    return order_plain(cell_read, thread, self, race, size);
}

bool order_plain_write(const struct order_thread *thread, unsigned self, const void *address,
                       size_t size, struct order_race *race)
{
    race->address = address;
    return order_plain(cell_write, thread, self, race, size);
}
