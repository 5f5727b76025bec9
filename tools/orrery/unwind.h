/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_TOOL_UNWIND_H
#define ORRERY_TOOL_UNWIND_H

/* Walks a parked stack, from a copy of its bytes, with the unwind tables (.eh_frame) of the files
 * that the process has mapped. Nothing is read from the process itself, so it does not stand still
 * for it.
 *
 * A frame knows how to find its caller: a rule says where the canonical frame address lies, and for
 * each saved register where it was put. The rules are a small program per function, run up to the
 * place where the frame stands. Rules that compute (expressions) end the walk; compilers do not
 * write them for C. */

#include "image.h"

/* As many registers as the rules of the two processors name. */
#define UNWIND_REGISTERS 34

struct unwind {
    uint64_t registers[UNWIND_REGISTERS]; /* by the numbers of the tables */
    bool is_known[UNWIND_REGISTERS];
    uint64_t pc;
    const unsigned char *stack; /* the copy */
    uint64_t stack_low;         /* its address in the process */
    size_t stack_size;
};

/* Starts at a parked context. */
void unwind_begin(struct unwind *unwind, uint64_t pc, uint64_t sp, uint64_t fp, uint64_t base);

/* Goes to the caller; false at the end of the stack, or where the tables do not tell. */
bool unwind_next(struct unwind *unwind, const struct images *images);

void cfi_free(struct cfi *cfi);

#endif
