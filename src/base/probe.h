/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_PROBE_H
#define RTI_PROBE_H

/* Probes: named places in the library's code that a tracer can stop at (bpftrace, perf, systemtap,
 * gdb), as "user-level statically defined tracing" has them.
 *
 * A probe is one nop in the code and a note in a section that is not loaded: the name, and where
 * each argument lies at that moment. Unused it costs the nop; a tracer puts a trap in its place.
 * Where the header of the notes is not installed, or RTI_PROBES is 0, a probe is nothing.
 *
 *     orrery:spawn    id, priority          it was made ready for the first time
 *     orrery:start    id                    it goes on, or begins
 *     orrery:park     id, why               it waits; why: enum rti_wait_reason
 *     orrery:ready    id                    its wait has ended
 *     orrery:steal    id, from which station
 *     orrery:exit     id, how               enum rti_fiber_end
 *     orrery:send     from, to              a message was put into a mailbox
 *     orrery:receive  id, from              a message was taken
 *     orrery:timer    deadline_ns           a timer fires
 *     orrery:contend  rank                  a lock was taken by another; enum rti_lock_rank
 *
 * Ids are those of traces: fiber and runnable ids (sched/runnable.h). docs/tools.md shows how to
 * use them. */

#include "base/compiler.h"

#ifndef RTI_PROBES
#if RTI_VIRTUAL
#define RTI_PROBES 0
#elif defined(__linux__) && defined(__has_include)
#if __has_include(<sys/sdt.h>)
#define RTI_PROBES 1
#endif
#endif
#endif

#if RTI_VIRTUAL
/* A world of virtual threads looks at them itself. */
#include "port/virtual/point.h"
#define RTI_PROBE1(name, a) rti_virtual_probe(#name, (unsigned long long)(a), 0)
#define RTI_PROBE2(name, a, b)                                                                     \
    rti_virtual_probe(#name, (unsigned long long)(a), (unsigned long long)(b))
#elif defined(RTI_PROBES) && RTI_PROBES
#include <sys/sdt.h>
#define RTI_PROBE1(name, a)    DTRACE_PROBE1(orrery, name, a)
#define RTI_PROBE2(name, a, b) DTRACE_PROBE2(orrery, name, a, b)
#else
#define RTI_PROBE1(name, a)    ((void)0)
#define RTI_PROBE2(name, a, b) ((void)0)
#endif

#endif
