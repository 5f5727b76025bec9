/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_H
#define ORRERY_RT_H

/* Everything. Each noun also has a header of its own. */

#include <orrery/rt/actor.h>
#include <orrery/rt/api.h>
#include <orrery/rt/arm.h>
#include <orrery/rt/async.h>
#include <orrery/rt/behaviour.h>
#include <orrery/rt/blob.h>
#include <orrery/rt/blocking.h>
#include <orrery/rt/budget.h>
#include <orrery/rt/bus.h>
#include <orrery/rt/call.h>
#include <orrery/rt/channel.h>
#include <orrery/rt/condition.h>
#include <orrery/rt/cx.h>
#include <orrery/rt/ensure.h>
#include <orrery/rt/fault.h>
#include <orrery/rt/file.h>
#include <orrery/rt/group.h>
#include <orrery/rt/heap.h>
#include <orrery/rt/interval.h>
#include <orrery/rt/ipc.h>
#include <orrery/rt/isr.h>
#include <orrery/rt/journal.h>
#include <orrery/rt/link.h>
#include <orrery/rt/local.h>
#include <orrery/rt/loop.h>
#include <orrery/rt/machine.h>
#include <orrery/rt/machine_op.h>
#include <orrery/rt/mailbox.h>
#include <orrery/rt/main.h>
#include <orrery/rt/mutex.h>
#include <orrery/rt/net.h>
#include <orrery/rt/once.h>
#include <orrery/rt/outcome.h>
#include <orrery/rt/pin.h>
#include <orrery/rt/pool.h>
#include <orrery/rt/region.h>
#include <orrery/rt/registry.h>
#include <orrery/rt/runtime.h>
#include <orrery/rt/select.h>
#include <orrery/rt/semaphore.h>
#include <orrery/rt/signal.h>
#include <orrery/rt/sim.h>
#include <orrery/rt/spsc.h>
#include <orrery/rt/stats.h>
#include <orrery/rt/status.h>
#include <orrery/rt/supervisor.h>
#include <orrery/rt/task.h>
#include <orrery/rt/time.h>
#include <orrery/rt/timer.h>
#include <orrery/rt/trace.h>
#include <orrery/rt/types.h>
#include <orrery/rt/wait_group.h>
#include <orrery/rt/waker.h>
#include <orrery/rt/wheel.h>
#include <orrery/rt_static_config.h>

#endif
