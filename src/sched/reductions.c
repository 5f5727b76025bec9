/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions: preemption of code that is compiled with -fsanitize-coverage=trace-pc.
 *
 * The compiler calls __sanitizer_cov_trace_pc at the start of every block. It counts down, and when
 * RTI_REDUCTIONS_MAX blocks have run since the count began, the fiber yields, on whatever engine;
 * the essay is in preempt.h. The count is the worker's and is not reset by a dispatch: in the
 * simulator, where the order of everything is fixed, so is the block at which it ends.
 *
 * The library itself is not compiled so. A static program that is not either does not contain this
 * file; code that is, and runs outside of the runtime, pays for one look at the thread's own word.
 */
#define RTI_MODULE "reductions"
#include "sched/preempt.h"

/* The compiler's name. */
RT_API void __sanitizer_cov_trace_pc(void);

static RTI_OUTSIDE void reductions_used_up(struct rti_worker *worker, const char *sp)
{
    worker->reductions = 0;
    /* These two functions lie outside of the table of the library's code, so what is looked for
     * below them is a call of the runtime that has called the program. This one's frame is not
     * looked at: a word of it that nobody writes may be left over from such a call, and would be
     * there each time. */
    const struct rti_frame here = {.sp = (uintptr_t)sp};
    if (rti_preempt_is_outside(worker->fiber, &here)) {
        rti_fiber_yield(worker);
    }
}

RTI_OUTSIDE void __sanitizer_cov_trace_pc(void)
{
    struct rti_worker *worker = rti_worker_here();
    if (worker == NULL || worker->fiber == NULL || ++worker->reductions < RTI_REDUCTIONS_MAX) {
        return;
    }
    reductions_used_up(worker, rti_arch_stack_pointer());
}
