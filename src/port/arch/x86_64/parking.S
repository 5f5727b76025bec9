/* SPDX-License-Identifier: Apache-2.0 */
/* rt_status rti_arch_call_parking(a, b, c, body): calls body(a, b, c) and jumps back.
 *
 * A body that parks returns long after other fibers have made calls of their own, and a ret is
 * predicted to go where the latest call came from. Inside the library that guess is right,
 * because all fibers park in the same few places; the last ret, to the user's own code, is the
 * one that goes wrong. Here it is an indirect jump, which has a memory of its own. Both
 * registers of the result pass through.
 *
 * There are two such jumps, and a branch chooses between them by the lowest bit of r11, which
 * rti_parking_tell sets to something that differs from fiber to fiber. The memory that a processor
 * has for jumps with several targets is fickle: the same program has all of them right, or all of
 * them wrong, for milliseconds at a stretch. A branch it foretells much better, and behind the
 * branch each jump has half of the targets: one, where two fibers talk. Whatever r11 holds, the
 * jump goes where it should. */

#if defined(__CET__)
#define JUMP_BACK notrack jmpq *%rcx /* a return address carries no endbr64 */
#else
#define JUMP_BACK jmpq *%rcx
#endif

    .text
    .globl rti_arch_call_parking
    .hidden rti_arch_call_parking
    .type rti_arch_call_parking, @function
    .p2align 5
rti_arch_call_parking:
    .cfi_startproc
    endbr64
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    callq *%rcx
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %rcx
    .cfi_adjust_cfa_offset -8
    .cfi_register rip, rcx
    testb $1, %r11b
    jne 1f
    JUMP_BACK
    .p2align 4
1:
    JUMP_BACK
    .cfi_endproc
    .size rti_arch_call_parking, . - rti_arch_call_parking

/* Where a function that is marked RTI_JUMPS_BACK goes instead of returning (sched/parking.h). rax
 * and rdx hold the result. */
    .globl rti_arch_jump_back
    .hidden rti_arch_jump_back
    .type rti_arch_jump_back, @function
    .p2align 4
rti_arch_jump_back:
    .cfi_startproc
    popq %rcx
    .cfi_adjust_cfa_offset -8
    .cfi_register rip, rcx
    testb $1, %r11b
    jne 1f
    JUMP_BACK
    .p2align 4
1:
    JUMP_BACK
    .cfi_endproc
    .size rti_arch_jump_back, . - rti_arch_jump_back

    .section .note.gnu.property, "a"
    .p2align 3
    .long 4
    .long 16
    .long 5
    .asciz "GNU"
    .long 0xc0000002            /* these features: */
    .long 4
    .long 1                     /* indirect jumps land on endbr64 */
    .long 0

    .section .note.GNU-stack, "", @progbits
