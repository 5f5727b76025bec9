/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_PORT_CORTEX_M_H
#define RTI_PORT_CORTEX_M_H

/* The body of the seam on a bare Cortex-M: one thread, interrupts, no operating system.
 *
 * The scheduler runs in thread mode. It sleeps in `wait` by WFI; an interrupt handler that has news
 * for it calls `wake`. The look at `is_woken` and the WFI lie in one stretch with interrupts
 * masked: a handler that comes between them stays pending, and a pending interrupt ends a WFI,
 * masked or not. So no wake is lost, and none is looked for twice.
 *
 * Ops: NOP completes at the next wait. Ops on descriptors are the device's (port/device.h), a
 * network, if the board has one: it works inside `wait`, which then also ends when the device wants
 * to be called again. There is no blocking pool, so every other code is answered
 * RT_ERR_UNSUPPORTED; threads and mappings are refused.
 *
 * I1  A wake before or during `wait` ends it.                    (sleep sweep, with its mutant)
 * I2  `wait` returns RTI_WAIT_DEADLINE only when the clock has come to the deadline. */

#include "base/list.h"
#include "port/cortex_m/systick.h"
#include "port/device.h"
#include "port/port.h"

struct rti_port_cortex_m {
    struct rti_port port;
    struct rti_systick systick;
    uint64_t random;           /* where the program's randomness stands */
    struct rti_list answered;  /* ops whose `done` is due at the next wait */
    struct rti_device *device; /* what has descriptors; NULL: nothing */
    rti_atomic_u32 is_woken;   /* any handler: a wake that no wait has consumed */
};

/* The functions of a port without a device. */
extern const struct rti_port_ops rti_port_cortex_m_ops;

/* Starts the clock. `seed` is what the program's randomness grows from. */
void rti_port_cortex_m_init(struct rti_port_cortex_m *cortex_m, uint64_t seed);

/* From here on the device takes the ops on descriptors. Before the first op. In a file of its own
 * (port_device.c), so that a program without a device has none of it. */
void rti_port_cortex_m_attach(struct rti_port_cortex_m *cortex_m, struct rti_device *device);

void rti_port_cortex_m_deinit(struct rti_port_cortex_m *cortex_m);

#endif
