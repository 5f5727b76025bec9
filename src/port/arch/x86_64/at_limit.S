/* SPDX-License-Identifier: Apache-2.0 */
/* Calls rti_preempt_at_limit(frame_end, link) for a public function that found its fiber summoned,
 * and comes back with every register as it was. On the stack are the return address, frame_end,
 * link, and 128 bytes that are the caller's.
 *
 * The return address of this frame is undefined: the compiler does not know of the call, and a
 * backtrace ends here. */

    .text
    .globl rti_arch_at_limit_called
    .hidden rti_arch_at_limit_called
    .type rti_arch_at_limit_called, @function
    .p2align 4
rti_arch_at_limit_called:
    .cfi_startproc
    .cfi_undefined rip
    pushq %rbp
    movq %rsp, %rbp
    pushq %rax
    pushq %rcx
    pushq %rdx
    pushq %rsi
    pushq %rdi
    pushq %r8
    pushq %r9
    pushq %r10
    pushq %r11
    subq $256, %rsp
    andq $-16, %rsp
    movaps %xmm0, 0(%rsp)
    movaps %xmm1, 16(%rsp)
    movaps %xmm2, 32(%rsp)
    movaps %xmm3, 48(%rsp)
    movaps %xmm4, 64(%rsp)
    movaps %xmm5, 80(%rsp)
    movaps %xmm6, 96(%rsp)
    movaps %xmm7, 112(%rsp)
    movaps %xmm8, 128(%rsp)
    movaps %xmm9, 144(%rsp)
    movaps %xmm10, 160(%rsp)
    movaps %xmm11, 176(%rsp)
    movaps %xmm12, 192(%rsp)
    movaps %xmm13, 208(%rsp)
    movaps %xmm14, 224(%rsp)
    movaps %xmm15, 240(%rsp)
    movq 16(%rbp), %rdi
    movq 24(%rbp), %rsi
    callq rti_preempt_at_limit
    movaps 0(%rsp), %xmm0
    movaps 16(%rsp), %xmm1
    movaps 32(%rsp), %xmm2
    movaps 48(%rsp), %xmm3
    movaps 64(%rsp), %xmm4
    movaps 80(%rsp), %xmm5
    movaps 96(%rsp), %xmm6
    movaps 112(%rsp), %xmm7
    movaps 128(%rsp), %xmm8
    movaps 144(%rsp), %xmm9
    movaps 160(%rsp), %xmm10
    movaps 176(%rsp), %xmm11
    movaps 192(%rsp), %xmm12
    movaps 208(%rsp), %xmm13
    movaps 224(%rsp), %xmm14
    movaps 240(%rsp), %xmm15
    leaq -72(%rbp), %rsp
    popq %r11
    popq %r10
    popq %r9
    popq %r8
    popq %rdi
    popq %rsi
    popq %rdx
    popq %rcx
    popq %rax
    popq %rbp
    ret
    .cfi_endproc
    .size rti_arch_at_limit_called, . - rti_arch_at_limit_called

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
