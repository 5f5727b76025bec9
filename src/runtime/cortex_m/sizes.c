/* SPDX-License-Identifier: Apache-2.0 */
/* The RAM of every pool as numbers in the symbol table of the image: `rti_ram_actors` is no address
 * but a size. The compiler computes them from rt_static_config.h, the linker takes them along
 * (-u rti_ram_total), tools/size prints them and holds them against a budget. They take no memory.
 *
 * What is named is the memory itself with its books; `total` is all of the runtime's state. */
#include "port/cortex_m/port_cortex_m.h"
#include "runtime/runtime.h"

#define SIZE_OF(type, member) sizeof(((type *)0)->member)

#define SIZE(name, bytes)                                                                          \
    __asm__(".globl rti_ram_" #name "\n\t.set rti_ram_" #name ", %c0" ::"i"(bytes))

#define SIZE_MESSAGES                                                                              \
    (SIZE_OF(struct rti_ipc_pools, entry_memory) + SIZE_OF(struct rti_ipc_pools, data_memory) +    \
     SIZE_OF(struct rti_ipc_pools, sync_memory))

/* Never called and never in the image; it is where the compiler can say numbers to the assembler.
 */
RTI_UNUSED static __attribute__((used)) void sizes(void)
{
    SIZE(stacks, SIZE_OF(struct rti_stacks, memory));
    SIZE(messages, SIZE_MESSAGES);
    SIZE(actors, SIZE_OF(struct rti_actors, table));
    SIZE(links, sizeof(struct rti_links));
#if RT_HAS_MONITORS
    SIZE(monitors, sizeof(struct rti_monitors));
#endif
#if RT_HAS_NAMES
    SIZE(names, sizeof(struct rti_registry));
#endif
    SIZE(timers, sizeof(struct rti_actor_timers));
    SIZE(wheel, sizeof(struct rti_wheel));
    SIZE(scheduler, sizeof(struct rti_sched));
    SIZE(port, sizeof(struct rti_port_cortex_m));
    SIZE(total, sizeof(struct rt_runtime) + sizeof(struct rti_port_cortex_m));
}
