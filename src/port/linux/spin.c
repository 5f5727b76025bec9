/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "spin"
#include "port/linux/spin.h"

#include "port/linux/port_linux.h"

/* Looks at a taken lock before the thread naps, and how long it naps. */
#define SPINS_MAX 200
#define NAP_NS    50000

void rti_spin_contend(struct rti_spin *spin)
{
    for (uint32_t spins = 0;; spins++) {
        if (rti_u32_load_relaxed(&spin->is_taken) == 0 &&
            rti_u32_exchange_acqrel(&spin->is_taken, 1) == 0) {
            return;
        }
        if (spins < SPINS_MAX) {
            rti_spin_hint();
        } else {
            (void)rti_linux_futex_wait(NULL, &spin->is_taken, 1, rti_linux_clock_now() + NAP_NS);
        }
    }
}
