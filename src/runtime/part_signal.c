/* SPDX-License-Identifier: Apache-2.0 */
/* Signals as a part of the runtime: the way from a handler, which may run on any thread and at any
 * moment, to the module, which may be gone by then. */
#define RTI_MODULE "part_signal"
#include "runtime/runtime.h"
#include "sync/signals.h"

static struct rti_signals signals;

/* Signal handler. */
static void signal_caught(int number)
{
    if (rti_runtime_visit()) {
        rti_signals_count(&signals, number);
        rti_runtime_leave();
    }
}

static void part_start(struct rt_runtime *runtime)
{
    rti_signals_init(&signals, &runtime->sched, signal_caught);
}

static void part_stop(void)
{
    rti_signals_deinit(&signals);
}

const struct rti_runtime_part rti_part_signal = {part_start, NULL, part_stop};
