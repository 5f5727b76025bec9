/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over a stack by the unwind tables of the images (.eh_frame_hdr and .eh_frame), which
 * compilers write for every function whether or not somebody wants to debug it. The seam is
 * port/backtrace.h.
 *
 * A table has an index, sorted by address, of entries. An entry belongs to one function; its
 * program, run up to the place where the frame stands, says where the canonical frame address (CFA,
 * the stack pointer of the caller) lies, and where the registers of the caller were put. Four
 * registers are followed: those that a compiler bases the CFA on, and the return address. A rule
 * that is computed (an expression: the jump tables of the linker have one, C has none) ends the
 * walk.
 *
 * Where no table tells of the place, as in a static program that was linked without an index, the
 * frame pointer is tried: if it points to a pair of a frame pointer further up and an address in
 * code, that is the caller's.
 *
 * Everything is read by a copy, a few dozen bytes at a time: a stack may change and a library be
 * closed meanwhile. Whatever is read, the walk ends: the stack pointer only grows, below `high`.
 *
 * Costs: about twenty system calls for a frame, some ten microseconds.
 *
 * Rejected: frame pointers alone (neither this library nor most programs keep them); a look through
 * the stack for words that follow a call instruction (finds what earlier calls have left); the
 * compiler's own unwinder (the loader's lock, and it trusts what it reads). */
#define _GNU_SOURCE
#define RTI_MODULE "backtrace"
#include "port/backtrace.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "port/linux/images.h"
#include "port/linux/watch.h"

#if defined(__aarch64__)
#include "port/linux/ucontext_aarch64.h"
enum { NUMBER_BASE = 19, NUMBER_FP = 29, NUMBER_LINK = 30, NUMBER_SP = 31 };
/* A signed return address carries its signature above the bits of an address. */
#define ADDRESS_MASK ((UINT64_C(1) << 48) - 1)
#else
#include "port/linux/ucontext_x86_64.h"
enum { NUMBER_BASE = 3, NUMBER_FP = 6, NUMBER_SP = 7, NUMBER_LINK = 16 };
#define ADDRESS_MASK UINT64_MAX
#endif

enum { REGISTER_BASE, REGISTER_FP, REGISTER_SP, REGISTER_LINK, REGISTERS };

enum rule { RULE_SAME, RULE_SAVED, RULE_LOST };

/* What a program says at one place. */
struct row {
    int32_t cfa_register; /* REGISTER_..., or -1: it is computed */
    int64_t cfa_offset;
    int64_t offsets[REGISTERS]; /* from the CFA, if the rule is SAVED */
    uint8_t rules[REGISTERS];
    bool is_signal; /* a handler returns to here */
};

#define REMEMBERED_MAX 4

/* How a frame's caller is found: the frame, and what is known of it. */
struct walk {
    uintptr_t values[REGISTERS];
    bool is_known[REGISTERS];
    uintptr_t pc;
    bool is_exact;
    bool has_searched; /* the list of images was read anew for it */
    uintptr_t high;
};

/* Bytes of a table, read in pieces; what is not there reads as 0 and is noted. */
struct cursor {
    uintptr_t at;
    uintptr_t end;
    uintptr_t held; /* where `bytes` is from */
    size_t held_size;
    bool is_broken;
    unsigned char bytes[64];
};

/* One function's part of the tables. */
struct entry {
    uintptr_t low;
    uintptr_t high;
    uintptr_t program;
    uintptr_t program_end;
    uintptr_t initial; /* the common part, run first */
    uintptr_t initial_end;
    uint64_t code_align;
    int64_t data_align;
    unsigned encoding; /* of addresses */
    bool has_length;   /* of what the letters say */
    bool is_signal;    /* nobody calls it: a handler returns to it */
};

static unsigned take_byte(struct cursor *cursor)
{
    if (cursor->at < cursor->held || cursor->at >= cursor->held + cursor->held_size) {
        size_t left = cursor->at < cursor->end ? (size_t)(cursor->end - cursor->at) : 0;
        size_t size = left < sizeof(cursor->bytes) ? left : sizeof(cursor->bytes);
        cursor->held = cursor->at;
        cursor->held_size = size;
        if (size == 0 || !rti_watch_peek(cursor->bytes, (const void *)cursor->at, size)) {
            cursor->is_broken = true;
            cursor->held_size = 0;
            return 0;
        }
    }
    return cursor->bytes[cursor->at++ - cursor->held];
}

static uint64_t take_bytes(struct cursor *cursor, size_t count)
{
    uint64_t value = 0;
    for (size_t i = 0; i < count; i++) {
        value |= (uint64_t)take_byte(cursor) << (8 * i);
    }
    return value;
}

/* A number of seven bits a byte; `is_signed` extends the last one's sign. */
static uint64_t take_leb(struct cursor *cursor, bool is_signed)
{
    uint64_t value = 0;
    unsigned shift = 0;
    unsigned byte;
    do {
        byte = take_byte(cursor);
        value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        shift += 7;
    } while ((byte & 0x80) != 0 && !cursor->is_broken);
    if (is_signed && shift < 64 && (byte & 0x40) != 0) {
        value |= ~UINT64_C(0) << shift;
    }
    return value;
}

/* An address as `encoding` says it is written: absolute, or relative to its own place. */
static uintptr_t take_address(struct cursor *cursor, unsigned encoding)
{
    uintptr_t place = cursor->at;
    uint64_t value = 0;
    switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c:
        value = take_bytes(cursor, 8);
        break;
    case 0x03:
        value = take_bytes(cursor, 4);
        break;
    case 0x0b:
        value = (uint64_t)(int64_t)(int32_t)take_bytes(cursor, 4);
        break;
    default:
        cursor->is_broken = true;
        break;
    }
    if ((encoding & 0x70) == 0x10) {
        value += place;
    } else if ((encoding & 0x70) != 0) {
        cursor->is_broken = true;
    }
    return (uintptr_t)value;
}

static bool cursor_begin(struct cursor *cursor, uintptr_t at, uintptr_t end)
{
    cursor->at = at;
    cursor->end = end;
    cursor->held = at;
    cursor->held_size = 0;
    cursor->is_broken = false;
    return at < end;
}

/* Opens the part of .eh_frame at `at`: the cursor stands behind the length and ends with it. */
static bool cursor_open(struct cursor *cursor, uintptr_t at)
{
    if (!cursor_begin(cursor, at, at + sizeof(uint32_t))) {
        return false;
    }
    uint64_t length = take_bytes(cursor, 4);
    if (cursor->is_broken || length == 0 || length == UINT32_MAX) {
        return false;
    }
    return cursor_begin(cursor, at + sizeof(uint32_t), at + sizeof(uint32_t) + (uintptr_t)length);
}

/* Letters of a common part that this file understands. */
#define LETTERS_MAX 8

/* Reads the common part that an entry refers to. */
static bool entry_read_common(struct entry *entry, uintptr_t at)
{
    struct cursor cursor;
    char letters[LETTERS_MAX + 1] = {0};
    if (!cursor_open(&cursor, at) || take_bytes(&cursor, 4) != 0) {
        return false;
    }
    uint64_t version = take_byte(&cursor);
    for (size_t i = 0; i <= LETTERS_MAX; i++) {
        letters[i] = (char)take_byte(&cursor);
        if (letters[i] == '\0') {
            break;
        }
    }
    entry->code_align = take_leb(&cursor, false);
    entry->data_align = (int64_t)take_leb(&cursor, true);
    (void)(version == 1 ? take_byte(&cursor) : take_leb(&cursor, false));
    entry->encoding = 0;
    entry->has_length = letters[0] == 'z';
    entry->initial = cursor.at;
    entry->initial_end = cursor.end;
    if (letters[LETTERS_MAX] != '\0') {
        return false;
    }
    if (entry->has_length) {
        entry->initial = (uintptr_t)take_leb(&cursor, false);
        entry->initial += cursor.at;
        for (size_t i = 1; letters[i] != '\0'; i++) {
            if (letters[i] == 'R') {
                entry->encoding = take_byte(&cursor);
            } else if (letters[i] == 'L') {
                (void)take_byte(&cursor);
            } else if (letters[i] == 'S') {
                entry->is_signal = true;
            } else if (letters[i] == 'P') {
                (void)take_address(&cursor, take_byte(&cursor) & 0x0f);
            }
        }
    }
    return !cursor.is_broken;
}

static bool entry_read(struct entry *entry, uintptr_t at)
{
    struct cursor cursor;
    if (!cursor_open(&cursor, at)) {
        return false;
    }
    uintptr_t place = cursor.at;
    uint64_t back = take_bytes(&cursor, 4);
    if (cursor.is_broken || back == 0 || !entry_read_common(entry, place - (uintptr_t)back)) {
        return false;
    }
    entry->low = take_address(&cursor, entry->encoding);
    entry->high = entry->low + take_address(&cursor, entry->encoding & 0x0f);
    uint64_t letters_size = entry->has_length ? take_leb(&cursor, false) : 0;
    entry->program = cursor.at + (uintptr_t)letters_size;
    entry->program_end = cursor.end;
    return !cursor.is_broken;
}

/* An index that is sorted, its numbers 32 bits each and relative to the table: the one kind that
 * linkers write. */
#define TABLE_VERSION   1
#define TABLE_IS_SORTED 0x3b

/* The address of the entry for `pc`, by the index; 0: there is none. */
static uintptr_t table_find(const struct rti_image *image, uintptr_t pc)
{
    struct cursor cursor;
    if (!cursor_begin(&cursor, image->table, image->table_end)) {
        return 0;
    }
    unsigned version = take_byte(&cursor);
    unsigned frames_encoding = take_byte(&cursor);
    unsigned count_encoding = take_byte(&cursor);
    unsigned index_encoding = take_byte(&cursor);
    (void)take_address(&cursor, frames_encoding);
    uint64_t count = take_address(&cursor, count_encoding);
    uintptr_t index = cursor.at;
    if (cursor.is_broken || version != TABLE_VERSION || index_encoding != TABLE_IS_SORTED ||
        count > (image->table_end - index) / 8) {
        return 0;
    }
    int32_t pair[2] = {0, 0};
    size_t low = 0;
    size_t high = (size_t)count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (!rti_watch_peek(pair, (const void *)(index + middle * sizeof(pair)), sizeof(pair))) {
            return 0;
        }
        if (image->table + (uintptr_t)(intptr_t)pair[0] <= pc) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0 ||
        !rti_watch_peek(pair, (const void *)(index + (low - 1) * sizeof(pair)), sizeof(pair))) {
        return 0;
    }
    return image->table + (uintptr_t)(intptr_t)pair[1];
}

/* What a run of a program keeps beside the row itself. */
struct machine {
    struct row row;
    struct row initial; /* after the common part: where restore goes back to */
    struct row remembered[REMEMBERED_MAX];
    size_t depth;
    uintptr_t place;
    uintptr_t pc;
    const struct entry *entry;
    struct cursor cursor;
};

/* REGISTERS if it is one that is not followed. */
static int32_t register_of(uint64_t number)
{
    switch (number) {
    case NUMBER_BASE:
        return REGISTER_BASE;
    case NUMBER_FP:
        return REGISTER_FP;
    case NUMBER_SP:
        return REGISTER_SP;
    case NUMBER_LINK:
        return REGISTER_LINK;
    default:
        return REGISTERS;
    }
}

static void row_set(struct row *row, uint64_t number, enum rule rule, int64_t offset)
{
    int32_t which = register_of(number);
    if (which < REGISTERS) {
        row->rules[which] = (uint8_t)rule;
        row->offsets[which] = offset;
    }
}

static void row_restore(struct machine *machine, uint64_t number)
{
    int32_t which = register_of(number);
    if (which < REGISTERS) {
        machine->row.rules[which] = machine->initial.rules[which];
        machine->row.offsets[which] = machine->initial.offsets[which];
    }
}

static void row_base_cfa(struct row *row, uint64_t number)
{
    int32_t which = register_of(number);
    row->cfa_register = which < REGISTERS ? which : -1;
}

/* An offset, written as a multiple. A table may say anything: it wraps. */
static int64_t take_offset(struct machine *machine, bool is_signed)
{
    uint64_t multiple = take_leb(&machine->cursor, is_signed);
    return (int64_t)(multiple * (uint64_t)machine->entry->data_align);
}

static void skip_block(struct cursor *cursor)
{
    uint64_t length = take_leb(cursor, false);
    if (length > cursor->end - cursor->at) {
        cursor->is_broken = true;
    } else {
        cursor->at += (uintptr_t)length;
    }
}

/* The instructions that say where the CFA is; false if it is none of them. */
static bool step_cfa(struct machine *machine, unsigned code)
{
    struct row *row = &machine->row;
    struct cursor *cursor = &machine->cursor;
    switch (code) {
    case 0x0c: /* def_cfa */
        row_base_cfa(row, take_leb(cursor, false));
        row->cfa_offset = (int64_t)take_leb(cursor, false);
        return true;
    case 0x12: /* def_cfa_sf */
        row_base_cfa(row, take_leb(cursor, false));
        row->cfa_offset = take_offset(machine, true);
        return true;
    case 0x0d: /* def_cfa_register */
        row_base_cfa(row, take_leb(cursor, false));
        return true;
    case 0x0e: /* def_cfa_offset */
        row->cfa_offset = (int64_t)take_leb(cursor, false);
        return true;
    case 0x13: /* def_cfa_offset_sf */
        row->cfa_offset = take_offset(machine, true);
        return true;
    case 0x0f: /* def_cfa_expression */
        skip_block(cursor);
        row->cfa_register = -1;
        return true;
    default:
        return false;
    }
}

/* The instructions about one register; false if it is none of them. */
static bool step_register(struct machine *machine, unsigned code)
{
    struct cursor *cursor = &machine->cursor;
    if (code < 0x05 || code == 0x0a || code == 0x0b || code > 0x16) {
        return false;
    }
    uint64_t number = take_leb(cursor, false);
    switch (code) {
    case 0x05: /* offset_extended */
        row_set(&machine->row, number, RULE_SAVED, take_offset(machine, false));
        break;
    case 0x11: /* offset_extended_sf */
        row_set(&machine->row, number, RULE_SAVED, take_offset(machine, true));
        break;
    case 0x06: /* restore_extended */
        row_restore(machine, number);
        break;
    case 0x08: /* same_value */
        row_set(&machine->row, number, RULE_SAME, 0);
        break;
    case 0x07: /* undefined */
        row_set(&machine->row, number, RULE_LOST, 0);
        break;
    case 0x09: /* register, and offsets of values */
    case 0x14:
    case 0x15:
        (void)take_leb(cursor, false);
        row_set(&machine->row, number, RULE_LOST, 0);
        break;
    default: /* expressions */
        skip_block(cursor);
        row_set(&machine->row, number, RULE_LOST, 0);
        break;
    }
    return true;
}

/* The instructions that go on in the code, or back to an earlier row. */
static bool step_other(struct machine *machine, unsigned code)
{
    struct cursor *cursor = &machine->cursor;
    uint64_t align = machine->entry->code_align;
    switch (code) {
    case 0x00: /* nop */
    case 0x2d: /* negate_ra_state: every return address is stripped */
        return true;
    case 0x02: /* advance_loc1, 2, 4 */
    case 0x03:
    case 0x04:
        machine->place += (uintptr_t)(take_bytes(cursor, (size_t)1 << (code - 2)) * align);
        return true;
    case 0x0a: /* remember_state */
        if (machine->depth == REMEMBERED_MAX) {
            return false;
        }
        machine->remembered[machine->depth++] = machine->row;
        return true;
    case 0x0b: /* restore_state */
        if (machine->depth == 0) {
            return false;
        }
        machine->row = machine->remembered[--machine->depth];
        return true;
    case 0x2e: /* GNU_args_size */
        (void)take_leb(cursor, false);
        return true;
    default:
        return false;
    }
}

/* One instruction; false if it is not known. */
static bool machine_step(struct machine *machine)
{
    unsigned code = take_byte(&machine->cursor);
    unsigned operand = code & 0x3f;
    switch (code & 0xc0) {
    case 0x40: /* advance_loc */
        machine->place += (uintptr_t)(operand * machine->entry->code_align);
        return true;
    case 0x80: /* offset */
        row_set(&machine->row, operand, RULE_SAVED, take_offset(machine, false));
        return true;
    case 0xc0: /* restore */
        row_restore(machine, operand);
        return true;
    default:
        if (code == 0x0c || code == 0x0d || code == 0x0e || code == 0x0f || code == 0x12 ||
            code == 0x13) {
            return step_cfa(machine, code);
        }
        return step_register(machine, code) || step_other(machine, code);
    }
}

/* Runs a program up to the place that is asked for. */
static bool machine_run(struct machine *machine, uintptr_t program, uintptr_t end)
{
    if (!cursor_begin(&machine->cursor, program, end)) {
        return program == end;
    }
    while (machine->cursor.at < machine->cursor.end) {
        struct row before = machine->row;
        if (!machine_step(machine) || machine->cursor.is_broken) {
            return false;
        }
        if (machine->place > machine->pc) {
            machine->row = before;
            return true;
        }
    }
    return true;
}

/* What the tables say at a place; false if nothing, or nothing that can be used. */
static bool row_find(struct row *row, const struct rti_image *image, uintptr_t pc)
{
    struct entry entry = {.is_signal = false};
    uintptr_t at = image == NULL || image->table == 0 ? 0 : table_find(image, pc);
    if (at == 0 || !entry_read(&entry, at) || pc < entry.low || pc >= entry.high) {
        return false;
    }
    struct machine machine = {.entry = &entry, .pc = pc, .place = entry.low};
    machine.row.cfa_register = -1;
    if (!machine_run(&machine, entry.initial, entry.initial_end)) {
        return false;
    }
    machine.initial = machine.row;
    if (!machine_run(&machine, entry.program, entry.program_end)) {
        return false;
    }
    *row = machine.row;
    row->is_signal = entry.is_signal;
    return row->is_signal || row->cfa_register >= 0;
}

/* Below the stack pointer lies what a function that calls nobody may use, and what the end of one
 * has just left. */
#define RED_ZONE 128

static bool walk_read(const struct walk *walk, uintptr_t at, uintptr_t *value)
{
    return at >= walk->values[REGISTER_SP] - RED_ZONE && at < walk->high &&
           walk->high - at >= sizeof(*value) && at % sizeof(*value) == 0 &&
           rti_watch_peek(value, (const void *)at, sizeof(*value));
}

/* Goes to the caller as a row says. */
static bool walk_by_row(struct walk *walk, const struct row *row)
{
    struct walk caller = *walk;
    if (!walk->is_known[row->cfa_register]) {
        return false;
    }
    uintptr_t cfa = walk->values[row->cfa_register] + (uintptr_t)row->cfa_offset;
    for (size_t i = 0; i < REGISTERS; i++) {
        if (row->rules[i] == RULE_LOST) {
            caller.is_known[i] = false;
        } else if (row->rules[i] == RULE_SAVED) {
            caller.is_known[i] =
                walk_read(walk, cfa + (uintptr_t)row->offsets[i], &caller.values[i]);
        }
    }
    /* A function that keeps its return address in a register needs no stack for it, once. */
    bool is_leaf = row->rules[REGISTER_LINK] == RULE_SAME;
    if (!caller.is_known[REGISTER_LINK] || cfa < walk->values[REGISTER_SP] ||
        (cfa == walk->values[REGISTER_SP] && !is_leaf)) {
        return false;
    }
    caller.values[REGISTER_SP] = cfa;
    caller.is_known[REGISTER_SP] = true;
    caller.pc = caller.values[REGISTER_LINK] & ADDRESS_MASK;
    caller.is_known[REGISTER_LINK] = false;
    *walk = caller;
    return true;
}

/* Is this the system call that ends a handler? */
static bool walk_is_at_sigreturn(uintptr_t pc)
{
    static const unsigned char code[] = UCONTEXT_SIGRETURN;
    unsigned char there[sizeof(code)];
    return rti_watch_peek(there, (const void *)pc, sizeof(there)) &&
           memcmp(there, code, sizeof(code)) == 0;
}

/* Goes to the caller by the pair that the frame pointer points to. */
static bool walk_by_pair(struct walk *walk)
{
    uintptr_t fp = walk->values[REGISTER_FP];
    uintptr_t next;
    uintptr_t link;
    if (!walk->is_known[REGISTER_FP] || !walk_read(walk, fp, &next) ||
        !walk_read(walk, fp + sizeof(next), &link) ||
        (rti_linux_image_find(link & ADDRESS_MASK) == NULL &&
         !walk_is_at_sigreturn(link & ADDRESS_MASK))) {
        return false;
    }
    walk->values[REGISTER_FP] = next;
    walk->values[REGISTER_SP] = fp + 2 * sizeof(next);
    walk->is_known[REGISTER_BASE] = false;
    walk->is_known[REGISTER_LINK] = false;
    walk->pc = link & ADDRESS_MASK;
    return true;
}

/* The image of a place; the list is read anew once for a whole walk. */
static const struct rti_image *walk_image(struct walk *walk, uintptr_t pc)
{
    const struct rti_image *image = rti_linux_image_find(pc);
    if (image == NULL && !walk->has_searched) {
        walk->has_searched = true;
        image = rti_linux_image_search(pc);
    }
    return image;
}

static void walk_begin(struct walk *walk, const struct rti_frame *frame)
{
    walk->pc = frame->pc;
    walk->is_exact = frame->is_exact;
    walk->values[REGISTER_BASE] = frame->base;
    walk->values[REGISTER_FP] = frame->fp;
    walk->values[REGISTER_SP] = frame->sp;
    walk->values[REGISTER_LINK] = frame->link;
    for (size_t i = 0; i < REGISTERS; i++) {
        walk->is_known[i] = i != REGISTER_LINK || frame->link != 0;
    }
}

/* Goes from a handler to what it has interrupted, by what the kernel has saved of that. */
static bool walk_by_signal(struct walk *walk)
{
    struct rti_frame frame;
    struct ucontext_registers saved;
    uintptr_t at = walk->values[REGISTER_SP] + UCONTEXT_REGISTERS;
    if (!walk->is_known[REGISTER_SP] || !rti_watch_peek(&saved, (const void *)at, sizeof(saved))) {
        return false;
    }
    ucontext_frame_of(&saved, &frame);
    walk_begin(walk, &frame);
    return true;
}

static bool walk_next(struct walk *walk)
{
    struct row row;
    /* A call may be the last instruction of its function: what comes back belongs to it still. */
    uintptr_t pc = walk->is_exact ? walk->pc : walk->pc - 1;
    walk->is_exact = false;
    /* The kernel's piece of code that ends a handler may have no table. */
    if (!row_find(&row, walk_image(walk, pc), pc)) {
        bool is_signal = walk_is_at_sigreturn(walk->pc);
        return (is_signal ? walk_by_signal(walk) : walk_by_pair(walk)) && walk->pc != 0;
    }
    return (row.is_signal ? walk_by_signal(walk) : walk_by_row(walk, &row)) && walk->pc != 0;
}

size_t rti_port_backtrace(const struct rti_frame *frame, uintptr_t high, uintptr_t *places,
                          size_t places_max)
{
    int saved_errno = errno;
    struct walk walk = {.high = high};
    RT_DCHECK(places_max > 0);
    walk_begin(&walk, frame);
    size_t count = 0;
    do {
        places[count++] = walk.pc;
    } while (count < places_max && walk_next(&walk));
    errno = saved_errno;
    return count;
}

bool rti_port_peek(void *to, const void *from, size_t size)
{
    int saved_errno = errno;
    bool is_there = rti_watch_peek(to, from, size);
    errno = saved_errno;
    return is_there;
}

void rti_port_remark_place(struct rti_remark *line, uintptr_t place)
{
    int saved_errno = errno;
    const struct rti_image *image = rti_linux_image_search(place);
    if (image != NULL) {
        rti_remark_add(line, image->name);
        rti_remark_add(line, "+");
        place -= image->bias;
    }
    rti_remark_add_address(line, place);
    errno = saved_errno;
}
