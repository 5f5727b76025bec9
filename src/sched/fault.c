/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "fault"
#include "sched/fault.h"

#include <orrery/rt/fault.h>

#include "base/text.h"

#define FAULT_LINE_MAX 120

/* As much as the first thread has: the kernel's frame, and a handler that was there before. */
#define FAULT_STACK_SIZE 65536

const char *rti_fault_name(enum rti_fault_kind kind)
{
    static const char *const names[RTI_FAULT_KINDS] = {"SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL"};
    RT_ASSERT(kind < RTI_FAULT_KINDS);
    return names[kind];
}

static size_t line_add(char *line, size_t length, const char *words)
{
    while (*words != '\0' && length < FAULT_LINE_MAX - 1) {
        line[length++] = *words++;
    }
    line[length] = '\0';
    return length;
}

/* Writes "Actor 7: SIGSEGV" and `words` behind it. */
static void fault_describe(char line[FAULT_LINE_MAX], const struct rti_fiber *fiber,
                           const struct rti_fault *fault, const char *words)
{
    char digits[11];
    size_t at = sizeof(digits) - 1;
    uint32_t number = fiber->run.id;
    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    size_t length = line_add(line, 0, "Actor ");
    length = line_add(line, length, digits + at);
    length = line_add(line, length, ": ");
    length = line_add(line, length, rti_fault_name(fault->kind));
    (void)line_add(line, length, words);
}

/* The fiber whose fault this is; NULL if it is no fiber's. */
static struct rti_fiber *fault_owner(const struct rti_fault *fault)
{
    struct rti_worker *worker = rti_worker_current();
    struct rti_fiber *fiber = worker == NULL ? NULL : worker->fiber;
    return fiber != NULL && rti_stack_holds(&fiber->stack, fault->sp) ? fiber : NULL;
}

static bool fault_is_inside(const struct rti_fiber *fiber, const struct rti_fault *fault)
{
    if (rti_text_holds(fault->pc) || rti_text_holds(fault->link)) {
        return true;
    }
    /* A stack pointer in the guard page points to nothing that can be read. */
    bool is_readable =
        fault->sp >= (uintptr_t)rti_stack_low(&fiber->stack) && fault->sp % sizeof(void *) == 0;
    return fault->is_return_at_sp && is_readable && rti_text_holds(*(const uintptr_t *)fault->sp);
}

static bool fault_judge(struct rti_fault *fault)
{
    struct rti_fiber *fiber = fault_owner(fault);
    if (fiber == NULL) {
        return false;
    }
    struct rti_worker *worker = rti_worker_current();
    bool is_overflow = rti_stack_guards(&fiber->stack, fault->address) &&
                       (fault->kind == RTI_FAULT_ACCESS || fault->kind == RTI_FAULT_BUS);
    if (!is_overflow && !worker->sched->contains_faults) {
        return false;
    }
    if (!is_overflow && fault_is_inside(fiber, fault)) {
        char line[FAULT_LINE_MAX];
        fault_describe(line, fiber, fault, " inside the runtime, which cannot be contained");
        rti_panic(RTI_MODULE, __LINE__, line);
    }
    fiber->end = is_overflow ? RTI_FIBER_OVERFLOWED : RTI_FIBER_FAULTED;
    fiber->fault = (uint8_t)fault->kind;
    fault->land = rti_fiber_abandon;
    fault->land_arg = worker;
    fault->land_stack = rti_context_room_below(&worker->context);
    return true;
}

static void fault_mourn(const struct rti_fault *fault)
{
    const struct rti_fiber *fiber = fault_owner(fault);
    if (fiber != NULL) {
        char line[FAULT_LINE_MAX];
        fault_describe(line, fiber, fault,
                       ": faults are not contained (rt_contain_faults), the process ends");
        rti_port_log(line);
    }
}

static const struct rti_fault_policy fault_policy = {.judge = fault_judge, .mourn = fault_mourn};

rt_status rti_faults_open(struct rti_sched *sched)
{
    RT_ASSERT(!sched->catches_faults && !sched->contains_faults);
    const struct rti_port_ops *ops = sched->port->ops;
    if (RTI_ONE_WORKER || ops->faults_open == NULL) {
        return (rt_status){RT_ERR_UNSUPPORTED, RTI_SENTENCE("this port catches no faults")};
    }
    rt_status status = ops->faults_open(sched->port, &fault_policy);
    sched->catches_faults = !RT_FAILED(status);
    return status;
}

void rti_faults_close(struct rti_sched *sched)
{
    if (sched->catches_faults) {
        sched->catches_faults = false;
        sched->contains_faults = false;
        sched->port->ops->faults_close(sched->port);
    }
}

void *rti_faults_attend(struct rti_sched *sched)
{
    const struct rti_port_ops *ops = sched->port->ops;
    if (!sched->catches_faults || ops->faults_attend == NULL) {
        return NULL;
    }
    void *stack = ops->memory_map(sched->port, FAULT_STACK_SIZE);
    if (stack != NULL) {
        ops->faults_attend(sched->port, stack, FAULT_STACK_SIZE);
    }
    return stack;
}

void rti_faults_unattend(struct rti_sched *sched, void *stack)
{
    if (stack != NULL) {
        sched->port->ops->faults_attend(sched->port, NULL, 0);
        sched->port->ops->memory_unmap(sched->port, stack, FAULT_STACK_SIZE);
    }
}

rt_status rt_contain_faults(bool is_contained)
{
    struct rti_worker *worker = rti_worker_enter();
    if (worker == NULL) {
        return (rt_status){RT_ERR_THREAD, RTI_SENTENCE("this thread has no runtime")};
    }
    if (is_contained && !worker->sched->catches_faults) {
        return (rt_status){RT_ERR_UNSUPPORTED, RTI_SENTENCE("this runtime does not catch faults")};
    }
    if (is_contained && !rti_text_is_known()) {
        return (rt_status){
            RT_ERR_UNSUPPORTED,
            RTI_SENTENCE("the library was built so that its code cannot be told from yours")};
    }
    worker->sched->contains_faults = is_contained;
    return RT_SUCCESS;
}
