/* SPDX-License-Identifier: Apache-2.0 */
/* The essay is in unwind.h; the tables are those of the DWARF standard (call frame information), as
 * the Linux Standard Base has them in .eh_frame. */
#include "unwind.h"

#include <stdlib.h>
#include <string.h>

#if defined(__aarch64__)
#define REGISTER_FP   29
#define REGISTER_SP   31
#define REGISTER_BASE 19
#else
#define REGISTER_FP   6
#define REGISTER_SP   7
#define REGISTER_BASE 3
#endif

#define REMEMBERED_MAX 8

enum rule_kind { RULE_SAME, RULE_UNDEFINED, RULE_OFFSET, RULE_REGISTER, RULE_UNSUPPORTED };

struct rule {
    enum rule_kind kind;
    int64_t value; /* OFFSET: from the CFA; REGISTER: which */
};

/* What the rules say at one place of a function. */
struct row {
    uint64_t cfa_register;
    int64_t cfa_offset;
    bool is_cfa_unsupported;
    struct rule rules[UNWIND_REGISTERS];
};

/* One function's part of the tables. */
struct fde {
    uint64_t low; /* in the file's own addresses */
    uint64_t high;
    const unsigned char *program;
    const unsigned char *program_end;
    const unsigned char *initial; /* the common part, run first */
    const unsigned char *initial_end;
    uint64_t code_align;
    int64_t data_align;
    uint64_t return_register;
    bool is_signal;
};

struct cfi {
    struct fde *fdes;
    size_t count;
};

/* A place in the tables; what would lie behind the end reads as 0 and is noted. */
struct cursor {
    const unsigned char *at;
    const unsigned char *end;
    const unsigned char *section; /* for addresses relative to where they stand */
    uint64_t section_address;
    bool is_broken;
};

static uint64_t take_bytes(struct cursor *cursor, size_t count)
{
    uint64_t value = 0;
    if ((size_t)(cursor->end - cursor->at) < count) {
        cursor->is_broken = true;
        cursor->at = cursor->end;
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        value |= (uint64_t)cursor->at[i] << (8 * i);
    }
    cursor->at += count;
    return value;
}

static uint64_t take_uleb(struct cursor *cursor)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint64_t byte = 0;
    do {
        byte = take_bytes(cursor, 1);
        value |= shift < 64 ? (byte & 0x7f) << shift : 0;
        shift += 7;
    } while ((byte & 0x80) != 0 && !cursor->is_broken);
    return value;
}

static int64_t take_sleb(struct cursor *cursor)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint64_t byte = 0;
    do {
        byte = take_bytes(cursor, 1);
        value |= shift < 64 ? (byte & 0x7f) << shift : 0;
        shift += 7;
    } while ((byte & 0x80) != 0 && !cursor->is_broken);
    if (shift < 64 && (byte & 0x40) != 0) {
        value |= ~UINT64_C(0) << shift;
    }
    return (int64_t)value;
}

/* An address as the letter R of the augmentation says it is written. */
static uint64_t take_encoded(struct cursor *cursor, unsigned encoding)
{
    uint64_t place = cursor->section_address + (uint64_t)(cursor->at - cursor->section);
    uint64_t value = 0;
    switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c:
        value = take_bytes(cursor, 8);
        break;
    case 0x02:
        value = take_bytes(cursor, 2);
        break;
    case 0x03:
        value = take_bytes(cursor, 4);
        break;
    case 0x0a:
        value = (uint64_t)(int64_t)(int16_t)take_bytes(cursor, 2);
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
    return value;
}

/* Reads the common part that an entry refers to. `encoding` gets how its addresses are written. */
static bool read_common(struct cursor cursor, const unsigned char *at, struct fde *fde,
                        unsigned *encoding)
{
    cursor.at = at;
    uint64_t length = take_bytes(&cursor, 4);
    if (cursor.is_broken || length == 0xffffffff || length > (size_t)(cursor.end - cursor.at)) {
        return false;
    }
    cursor.end = cursor.at + length;
    if (take_bytes(&cursor, 4) != 0) {
        return false;
    }
    uint64_t version = take_bytes(&cursor, 1);
    const char *letters = (const char *)cursor.at;
    while (take_bytes(&cursor, 1) != 0 && !cursor.is_broken) {
    }
    fde->code_align = take_uleb(&cursor);
    fde->data_align = take_sleb(&cursor);
    fde->return_register = version == 1 ? take_bytes(&cursor, 1) : take_uleb(&cursor);
    *encoding = 0;
    if (!cursor.is_broken && letters[0] == 'z') {
        uint64_t augmentation = take_uleb(&cursor);
        if (augmentation > (size_t)(cursor.end - cursor.at)) {
            return false;
        }
        const unsigned char *program = cursor.at + augmentation;
        for (const char *letter = letters + 1; *letter != '\0' && !cursor.is_broken; letter++) {
            if (*letter == 'R') {
                *encoding = (unsigned)take_bytes(&cursor, 1);
            } else if (*letter == 'P') {
                (void)take_encoded(&cursor, (unsigned)take_bytes(&cursor, 1) & 0x0f);
            } else if (*letter == 'L') {
                (void)take_bytes(&cursor, 1);
            } else if (*letter == 'S') {
                fde->is_signal = true;
            }
        }
        cursor.at = program;
    }
    fde->initial = cursor.at;
    fde->initial_end = cursor.end;
    return !cursor.is_broken;
}

/* Reads the entry at the cursor, which is moved behind it. False at the end of the table. */
static bool read_entry(struct cursor *cursor, struct fde *fde, bool *is_function)
{
    *is_function = false;
    *fde = (struct fde){.low = 0};
    uint64_t length = take_bytes(cursor, 4);
    if (cursor->is_broken || length == 0 || length == 0xffffffff ||
        length > (size_t)(cursor->end - cursor->at)) {
        return false;
    }
    struct cursor entry = *cursor;
    entry.end = cursor->at + length;
    cursor->at = entry.end;
    const unsigned char *id_at = entry.at;
    uint64_t id = take_bytes(&entry, 4);
    if (id == 0 || id > (uint64_t)(id_at - entry.section)) {
        return true; /* a common part */
    }
    unsigned encoding = 0;
    if (!read_common(*cursor, id_at - id, fde, &encoding)) {
        return true;
    }
    fde->low = take_encoded(&entry, encoding);
    fde->high = fde->low + take_encoded(&entry, encoding & 0x0f);
    uint64_t augmentation = take_uleb(&entry);
    if (entry.is_broken || augmentation > (size_t)(entry.end - entry.at)) {
        return true;
    }
    fde->program = entry.at + augmentation;
    fde->program_end = entry.end;
    *is_function = true;
    return true;
}

static int compare_fdes(const void *left, const void *right)
{
    const struct fde *a = left;
    const struct fde *b = right;
    return a->low < b->low ? -1 : a->low > b->low;
}

static struct cfi *cfi_make(const struct image *image)
{
    struct cfi *cfi = tool_alloc(1, sizeof(*cfi));
    size_t size = 0;
    uint64_t address = 0;
    const unsigned char *section = image_section(image, ".eh_frame", &size, &address);
    if (section == NULL) {
        return cfi;
    }
    struct cursor cursor = {
        .at = section, .end = section + size, .section = section, .section_address = address};
    size_t room = 0;
    struct fde fde;
    bool is_function = false;
    while (read_entry(&cursor, &fde, &is_function)) {
        if (!is_function) {
            continue;
        }
        if (cfi->count == room) {
            room = room == 0 ? 256 : room * 2;
            cfi->fdes = tool_realloc(cfi->fdes, room, sizeof(struct fde));
        }
        cfi->fdes[cfi->count++] = fde;
    }
    if (cfi->count > 0) {
        qsort(cfi->fdes, cfi->count, sizeof(struct fde), compare_fdes);
    }
    return cfi;
}

void cfi_free(struct cfi *cfi)
{
    if (cfi != NULL) {
        free(cfi->fdes);
        free(cfi);
    }
}

static const struct fde *cfi_find(const struct cfi *cfi, uint64_t pc)
{
    size_t low = 0;
    size_t high = cfi->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (cfi->fdes[middle].low <= pc) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 && pc < cfi->fdes[low - 1].high ? &cfi->fdes[low - 1] : NULL;
}

static void set_rule(struct row *row, uint64_t which, enum rule_kind kind, int64_t value)
{
    if (which < UNWIND_REGISTERS) {
        row->rules[which] = (struct rule){kind, value};
    }
}

/* What a run of the rules keeps beside the row itself. */
struct machine {
    struct row row;
    struct row initial; /* after the common part: where restore goes back to */
    struct row remembered[REMEMBERED_MAX];
    size_t depth;
    uint64_t place;
};

static void skip_block(struct cursor *cursor)
{
    uint64_t length = take_uleb(cursor);
    if (length > (size_t)(cursor->end - cursor->at)) {
        cursor->is_broken = true;
        return;
    }
    cursor->at += length;
}

/* The instructions that define the CFA. */
static void step_cfa(struct machine *machine, struct cursor *cursor, const struct fde *fde,
                     uint64_t code)
{
    struct row *row = &machine->row;
    switch (code) {
    case 0x0c: /* def_cfa */
        row->cfa_register = take_uleb(cursor);
        row->cfa_offset = (int64_t)take_uleb(cursor);
        row->is_cfa_unsupported = false;
        break;
    case 0x12: /* def_cfa_sf */
        row->cfa_register = take_uleb(cursor);
        row->cfa_offset = take_sleb(cursor) * fde->data_align;
        row->is_cfa_unsupported = false;
        break;
    case 0x0d: /* def_cfa_register */
        row->cfa_register = take_uleb(cursor);
        break;
    case 0x0e: /* def_cfa_offset */
        row->cfa_offset = (int64_t)take_uleb(cursor);
        break;
    case 0x13: /* def_cfa_offset_sf */
        row->cfa_offset = take_sleb(cursor) * fde->data_align;
        break;
    default: /* 0x0f: def_cfa_expression */
        skip_block(cursor);
        row->is_cfa_unsupported = true;
        break;
    }
}

/* The instructions about one register. */
static void step_register(struct machine *machine, struct cursor *cursor, const struct fde *fde,
                          uint64_t code)
{
    uint64_t which = take_uleb(cursor);
    switch (code) {
    case 0x05: /* offset_extended */
        set_rule(&machine->row, which, RULE_OFFSET, (int64_t)take_uleb(cursor) * fde->data_align);
        break;
    case 0x11: /* offset_extended_sf */
        set_rule(&machine->row, which, RULE_OFFSET, take_sleb(cursor) * fde->data_align);
        break;
    case 0x06: /* restore_extended */
        if (which < UNWIND_REGISTERS) {
            machine->row.rules[which] = machine->initial.rules[which];
        }
        break;
    case 0x07:
        set_rule(&machine->row, which, RULE_UNDEFINED, 0);
        break;
    case 0x08:
        set_rule(&machine->row, which, RULE_SAME, 0);
        break;
    case 0x09:
        set_rule(&machine->row, which, RULE_REGISTER, (int64_t)take_uleb(cursor));
        break;
    default: /* expressions, and offsets of values */
        if (code == 0x14 || code == 0x15) {
            (void)take_uleb(cursor);
        } else {
            skip_block(cursor);
        }
        set_rule(&machine->row, which, RULE_UNSUPPORTED, 0);
        break;
    }
}

/* The instructions that need no operand of their own kind. False: not known. */
static bool step_other(struct machine *machine, struct cursor *cursor, const struct fde *fde,
                       uint64_t code)
{
    switch (code) {
    case 0x00: /* nop */
    case 0x2d: /* negate_ra_state of aarch64: return addresses are not signed here */
        return true;
    case 0x01: /* set_loc */
        machine->place = take_bytes(cursor, 8);
        return true;
    case 0x02: /* advance_loc1, 2, 4 */
        machine->place += take_bytes(cursor, 1) * fde->code_align;
        return true;
    case 0x03:
        machine->place += take_bytes(cursor, 2) * fde->code_align;
        return true;
    case 0x04:
        machine->place += take_bytes(cursor, 4) * fde->code_align;
        return true;
    case 0x0a: /* remember_state */
        if (machine->depth < REMEMBERED_MAX) {
            machine->remembered[machine->depth++] = machine->row;
            return true;
        }
        return false;
    case 0x0b: /* restore_state */
        if (machine->depth > 0) {
            machine->row = machine->remembered[--machine->depth];
            return true;
        }
        return false;
    case 0x2e: /* GNU_args_size */
        (void)take_uleb(cursor);
        return true;
    default:
        return false;
    }
}

/* Runs rules up to the place that is asked for. */
static bool run_rules(struct machine *machine, const struct fde *fde, const unsigned char *at,
                      const unsigned char *end, uint64_t pc)
{
    struct cursor cursor = {.at = at, .end = end, .section = at};
    while (cursor.at < cursor.end && machine->place <= pc && !cursor.is_broken) {
        uint64_t byte = take_bytes(&cursor, 1);
        uint64_t low = byte & 0x3f;
        bool is_known = true;
        if (byte >> 6 == 1) { /* advance_loc */
            machine->place += low * fde->code_align;
        } else if (byte >> 6 == 2) { /* offset */
            set_rule(&machine->row, low, RULE_OFFSET,
                     (int64_t)take_uleb(&cursor) * fde->data_align);
        } else if (byte >> 6 == 3) { /* restore */
            if (low < UNWIND_REGISTERS) {
                machine->row.rules[low] = machine->initial.rules[low];
            }
        } else if ((byte >= 0x0c && byte <= 0x0f) || byte == 0x12 || byte == 0x13) {
            step_cfa(machine, &cursor, fde, byte);
        } else if ((byte >= 0x05 && byte <= 0x09) || byte == 0x10 || byte == 0x11 ||
                   (byte >= 0x14 && byte <= 0x16)) {
            step_register(machine, &cursor, fde, byte);
        } else {
            is_known = step_other(machine, &cursor, fde, byte);
        }
        if (!is_known) {
            return false;
        }
    }
    return !cursor.is_broken;
}

static bool read_stack(const struct unwind *unwind, uint64_t address, uint64_t *value)
{
    uint64_t offset = address - unwind->stack_low;
    if (address < unwind->stack_low || unwind->stack_size < 8 || offset > unwind->stack_size - 8) {
        return false;
    }
    memcpy(value, unwind->stack + offset, sizeof(*value));
    return true;
}

void unwind_begin(struct unwind *unwind, uint64_t pc, uint64_t sp, uint64_t fp, uint64_t base)
{
    memset(unwind->registers, 0, sizeof(unwind->registers));
    memset(unwind->is_known, 0, sizeof(unwind->is_known));
    unwind->pc = pc;
    unwind->registers[REGISTER_SP] = sp;
    unwind->registers[REGISTER_FP] = fp;
    unwind->registers[REGISTER_BASE] = base;
    unwind->is_known[REGISTER_SP] = true;
    unwind->is_known[REGISTER_FP] = true;
    unwind->is_known[REGISTER_BASE] = true;
}

/* Puts the caller's registers in the place of the callee's. */
static bool apply_row(struct unwind *unwind, const struct row *row, uint64_t return_register)
{
    uint64_t cfa_register = row->cfa_register;
    if (row->is_cfa_unsupported || cfa_register >= UNWIND_REGISTERS ||
        !unwind->is_known[cfa_register] || return_register >= UNWIND_REGISTERS) {
        return false;
    }
    uint64_t cfa = unwind->registers[cfa_register] + (uint64_t)row->cfa_offset;
    struct unwind caller = *unwind;
    for (size_t i = 0; i < UNWIND_REGISTERS; i++) {
        const struct rule *rule = &row->rules[i];
        if (rule->kind == RULE_OFFSET) {
            caller.is_known[i] =
                read_stack(unwind, cfa + (uint64_t)rule->value, &caller.registers[i]);
        } else if (rule->kind == RULE_REGISTER && (uint64_t)rule->value < UNWIND_REGISTERS) {
            caller.registers[i] = unwind->registers[rule->value];
            caller.is_known[i] = unwind->is_known[rule->value];
        } else if (rule->kind != RULE_SAME) {
            caller.is_known[i] = false;
        }
    }
    if (!caller.is_known[return_register] || caller.registers[return_register] == 0) {
        return false;
    }
    caller.registers[REGISTER_SP] = cfa;
    caller.is_known[REGISTER_SP] = true;
    caller.pc = caller.registers[return_register];
    /* The stack goes one way: a table that leads back would lead for ever. */
    bool is_outwards = cfa > unwind->registers[REGISTER_SP] ||
                       (cfa == unwind->registers[REGISTER_SP] && caller.pc != unwind->pc);
    *unwind = caller;
    return is_outwards;
}

bool unwind_next(struct unwind *unwind, const struct images *images)
{
    /* A return address lies behind its call, which may be the last instruction of a function. */
    struct image *image = images_find(images, unwind->pc - 1);
    if (image == NULL) {
        return false;
    }
    if (image->cfi == NULL) {
        image->cfi = cfi_make(image);
    }
    uint64_t pc = unwind->pc - 1 - image->bias;
    const struct fde *fde = cfi_find(image->cfi, pc);
    if (fde == NULL) {
        return false;
    }
    struct machine machine = {.place = fde->low};
    if (!run_rules(&machine, fde, fde->initial, fde->initial_end, UINT64_MAX)) {
        return false;
    }
    machine.initial = machine.row;
    machine.place = fde->low;
    if (!run_rules(&machine, fde, fde->program, fde->program_end, pc)) {
        return false;
    }
    return apply_row(unwind, &machine.row, fde->return_register);
}
