/* SPDX-License-Identifier: Apache-2.0 */

/* The memory of the simulated machine.
 *
 * Sequentially consistent: a store writes memory at once. TSO: a store enters its thread's buffer,
 * a FIFO; a load takes the youngest store to its word from the own buffer, else memory; moving the
 * oldest store to memory is a step of its own, which the search places anywhere. A
 * read-modify-write, a fence and a system call are enabled only when the own buffer is empty, as a
 * locked instruction of x86 waits for it, a failed compare-and-swap included.
 *
 * Each function describes its step to the search (who it depends on) and to the order (what it
 * entitles to know), then does it.
 *
 * I1  A word is used with one size only.                                       (memory_word)
 * I2  A read-modify-write finds the own buffer empty.                          (memory_drained)
 */

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "port/explore/machine.h"

enum { WORDS_MAX = 1024, NAMES_MAX = 128 };

static struct machine_word words[WORDS_MAX];
static unsigned word_count;
static struct {
    const void *address;
    const char *name;
} names[NAMES_MAX];
static unsigned name_count;

static const char *const order_names[] = {"relaxed", "acquire", "release", "acqrel"};
static const char *const rmw_names[] = {"exchange", "add", "sub", "or", "and"};

struct machine_word *memory_word(const void *address, unsigned size)
{
    unsigned slot = (unsigned)((uintptr_t)address * 0x9E3779B97F4A7C15u >> 54) % WORDS_MAX;
    while (words[slot].address != address) {
        if (words[slot].address == NULL) {
            if (word_count == WORDS_MAX / 2) {
                machine_fail(EXPLORE_MISUSE, "the model uses more than %u words", WORDS_MAX / 2);
            }
            words[slot].address = address;
            words[slot].size = size;
            words[slot].number = ++word_count;
            break;
        }
        slot = (slot + 1) % WORDS_MAX;
    }
    struct machine_word *word = &words[slot];
    if (word->execution != machine.execution) {
        word->execution = machine.execution;
        word->version = 0;
        word->search = (struct search_word){0};
        order_word_begin(&word->order);
    }
    if (word->size != size) {
        machine_fail(EXPLORE_MISUSE, "%s is used with two sizes", memory_name(word));
    }
    return word;
}

struct machine_word *memory_queue(const void *address)
{
    /* An odd address is no word's, so it can stand for the word's queue. */
    return memory_word((const unsigned char *)address + 1, sizeof(uint32_t));
}

void memory_execution_begin(void)
{
    machine.execution++;
    name_count = 0;
    order_execution_begin();
}

void explore_name(const void *address, const char *name)
{
    if (name_count < NAMES_MAX) {
        names[name_count].address = address;
        names[name_count].name = name;
        name_count++;
    }
}

const char *memory_name(const struct machine_word *word)
{
    static char texts[4][24];
    static unsigned turn;
    for (unsigned i = 0; i < name_count; i++) {
        if (names[i].address == word->address) {
            return names[i].name;
        }
    }
    turn = (turn + 1) % 4;
    snprintf(texts[turn], sizeof texts[turn], "word%u", word->number);
    return texts[turn];
}

uint64_t memory_get(const void *address, unsigned size)
{
    uint8_t byte;
    uint32_t narrow;
    uint64_t wide;
    if (size == sizeof byte) {
        memcpy(&byte, address, sizeof byte);
        return byte;
    }
    if (size == sizeof narrow) {
        memcpy(&narrow, address, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, address, sizeof wide);
    return wide;
}

void memory_put(const void *address, unsigned size, uint64_t value)
{
    /* It came through a pointer to const only because loads take one. */
    void *target = (void *)(uintptr_t)address;
    uint8_t byte = (uint8_t)value;
    uint32_t narrow = (uint32_t)value;
    if (size == sizeof byte) {
        memcpy(target, &byte, sizeof byte);
    } else if (size == sizeof narrow) {
        memcpy(target, &narrow, sizeof narrow);
    } else {
        memcpy(target, &value, sizeof value);
    }
}

/* What of a value fits a word of this size. */
static uint64_t memory_cut(uint64_t value, unsigned size)
{
    return size == sizeof(uint64_t) ? value : value & ((UINT64_C(1) << (8 * size)) - 1);
}

uint64_t memory_value(const struct machine_word *word)
{
    return memory_get(word->address, word->size);
}

uint64_t memory_rmw_value(enum explore_rmw kind, uint64_t old, uint64_t operand)
{
    switch (kind) {
    case EXPLORE_EXCHANGE:
        return operand;
    case EXPLORE_ADD:
        return old + operand;
    case EXPLORE_SUB:
        return old - operand;
    case EXPLORE_OR:
        return old | operand;
    case EXPLORE_AND:
        return old & operand;
    }
    return old;
}

struct machine_store *memory_buffered(struct machine_thread *thread,
                                      const struct machine_word *word)
{
    for (unsigned i = thread->store_count; i-- > 0;) {
        struct machine_store *store =
            &thread->stores[(thread->store_first + i) % MACHINE_STORES_MAX];
        if (store->word == word) {
            return store;
        }
    }
    return NULL;
}

_Noreturn static void memory_race(const struct order_race *race, const char *name)
{
    machine_fail(EXPLORE_RACE,
                 "%s by thread %u at %s and %s by thread %u at %s, of %s, are not ordered",
                 race->other_what, race->other_thread, race->other_site, race->what, race->thread,
                 race->site, name);
}

static void memory_use(unsigned self, struct machine_word *word, const char *site)
{
    struct order_race race;
    if (!order_use(&machine.threads[self].order, self, &word->order, site, &race)) {
        memory_race(&race, memory_name(word));
    }
}

/* Remembers what a round of a spin loop depends on; the oldest read goes first. */
static void memory_note_read(struct machine_thread *thread, struct machine_word *word, bool is_own)
{
    unsigned i = 0;
    while (i < thread->read_count && thread->reads[i].word != word) {
        i++;
    }
    if (i == MACHINE_READS_MAX) {
        memmove(&thread->reads[0], &thread->reads[1],
                (MACHINE_READS_MAX - 1) * sizeof thread->reads[0]);
        i--;
    } else if (i == thread->read_count) {
        thread->read_count++;
    }
    thread->reads[i] = (struct machine_read){word, word->version, is_own};
}

/* Writes memory for thread `self`, to which its own write is no news. */
static void memory_commit(unsigned self, struct machine_word *word, uint64_t value)
{
    struct machine_thread *thread = &machine.threads[self];
    uint32_t before = word->version;
    if (memory_value(word) != value) {
        memory_put(word->address, word->size, value);
        word->version++;
    }
    for (unsigned i = 0; i < thread->read_count; i++) {
        struct machine_read *read = &thread->reads[i];
        if (read->word == word && (read->is_own || read->version == before)) {
            read->version = word->version;
            read->is_own = read->is_own && memory_buffered(thread, word) != NULL;
        }
    }
}

/* Begins a step that had to wait for the own store buffer. */
static void memory_drained(unsigned self)
{
    assert(machine.threads[self].store_count == 0);
    search_event_begin(self);
    search_event_after(search_last(machine_buffer_of(self)));
}

void memory_load(unsigned self)
{
    struct machine_thread *thread = &machine.threads[self];
    const struct machine_op *op = &thread->op;
    struct machine_store *own = memory_buffered(thread, op->word);
    search_event_begin(self);
    if (own != NULL) {
        thread->result = own->value;
        own->read = search_event_end();
    } else {
        search_event_read(op->word);
        search_event_end();
        thread->result = memory_value(op->word);
        order_load(&thread->order, &op->word->order, op->order);
    }
    memory_note_read(thread, op->word, own != NULL);
    if (machine.is_tracing) {
        machine_trace(self, op->site, "load %s %s = %" PRIu64 "%s", order_names[op->order],
                      memory_name(op->word), thread->result, own != NULL ? " (own buffer)" : "");
    }
    memory_use(self, op->word, op->site);
}

static void memory_push(unsigned self, const struct order_clock *published)
{
    struct machine_thread *thread = &machine.threads[self];
    const struct machine_op *op = &thread->op;
    if (thread->store_count == MACHINE_STORES_MAX) {
        machine_fail(EXPLORE_MISUSE, "more than %u stores are buffered", MACHINE_STORES_MAX);
    }
    /* What the thread read of this word before, it now sees through its own store. */
    for (unsigned i = 0; i < thread->read_count; i++) {
        thread->reads[i].is_own |= thread->reads[i].word == op->word;
    }
    search_event_begin(self);
    unsigned slot = (thread->store_first + thread->store_count) % MACHINE_STORES_MAX;
    thread->stores[slot] = (struct machine_store){.word = op->word,
                                                  .value = op->value,
                                                  .published = *published,
                                                  .event = search_event_end(),
                                                  .site = op->site};
    thread->store_count++;
}

void memory_store(unsigned self)
{
    struct machine_thread *thread = &machine.threads[self];
    const struct machine_op *op = &thread->op;
    struct order_clock published;
    struct order_race race;
    if (machine.is_tracing) {
        machine_trace(self, op->site, "%s %s %s = %" PRIu64 "%s",
                      op->kind == MACHINE_INIT ? "init" : "store", order_names[op->order],
                      memory_name(op->word), op->value,
                      machine.memory == EXPLORE_TSO ? " (to buffer)" : "");
    }
    if (op->kind == MACHINE_STORE) {
        memory_use(self, op->word, op->site);
    } else if (!order_init(&thread->order, self, &op->word->order, op->site, &race)) {
        memory_race(&race, memory_name(op->word));
    }
    order_store(&thread->order, self, op->order, &published);
    if (machine.memory == EXPLORE_TSO) {
        memory_push(self, &published);
        return;
    }
    search_event_begin(self);
    search_event_write(op->word);
    search_event_end();
    op->word->order.published = published;
    memory_commit(self, op->word, op->value);
}

void memory_flush(unsigned self)
{
    struct machine_thread *thread = &machine.threads[self];
    assert(thread->store_count > 0);
    const struct machine_store *store = &thread->stores[thread->store_first];
    search_event_begin(machine_buffer_of(self));
    search_event_after(store->event);
    search_event_write(store->word);
    search_event_end();
    if (machine.is_tracing) {
        machine_trace(machine_buffer_of(self), store->site, "%s = %" PRIu64 " reaches memory",
                      memory_name(store->word), store->value);
    }
    /* Whoever overwrites the store in memory comes after the reads of it from the buffer. */
    store->word->search.reads[self] = store->read;
    store->word->order.published = store->published;
    thread->store_first = (thread->store_first + 1) % MACHINE_STORES_MAX;
    thread->store_count--;
    memory_commit(self, store->word, store->value);
}

void memory_rmw(unsigned self)
{
    struct machine_thread *thread = &machine.threads[self];
    const struct machine_op *op = &thread->op;
    memory_drained(self);
    search_event_write(op->word);
    search_event_end();
    thread->result = memory_value(op->word);
    uint64_t value = memory_rmw_value(op->rmw, thread->result, op->value);
    if (machine.is_tracing) {
        machine_trace(self, op->site, "%s %s %s: %" PRIu64 " -> %" PRIu64, rmw_names[op->rmw],
                      order_names[op->order], memory_name(op->word), thread->result, value);
    }
    memory_use(self, op->word, op->site);
    order_rmw(&thread->order, self, &op->word->order, op->order);
    memory_commit(self, op->word, memory_cut(value, op->word->size));
    memory_note_read(thread, op->word, false);
}

void memory_cas(unsigned self)
{
    struct machine_thread *thread = &machine.threads[self];
    const struct machine_op *op = &thread->op;
    thread->result = memory_value(op->word);
    bool won = thread->result == op->expected;
    memory_drained(self);
    if (won) {
        search_event_write(op->word);
    } else {
        search_event_read(op->word);
    }
    search_event_end();
    if (machine.is_tracing) {
        machine_trace(self, op->site, "cas %s %s: %" PRIu64 ", wanted %" PRIu64 "%s%" PRIu64,
                      order_names[op->order], memory_name(op->word), thread->result, op->expected,
                      won ? " -> " : ", not -> ", op->value);
    }
    memory_use(self, op->word, op->site);
    if (won) {
        order_rmw(&thread->order, self, &op->word->order, op->order);
        memory_commit(self, op->word, op->value);
    } else {
        order_load(&thread->order, &op->word->order, op->order);
    }
    memory_note_read(thread, op->word, false);
}

void memory_fence(unsigned self)
{
    memory_drained(self);
    search_event_end();
    machine_trace(self, machine.threads[self].op.site, "fence seq_cst");
    order_fence(&machine.threads[self].order, self);
}
