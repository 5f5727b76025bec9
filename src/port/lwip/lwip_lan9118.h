/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_LWIP_LAN9118_H
#define RTI_LWIP_LAN9118_H

/* lwIP's interface over the Ethernet controller of the MPS2 boards (mps2/lan9118.h). A frame is
 * copied once each way, between the controller's memory and lwIP's. */

#include "port/lwip/lwip_device.h"

struct rti_lwip_lan9118_config {
    uintptr_t base;     /* the controller's registers */
    uint32_t interrupt; /* its number among the interrupts of the board */
    uint8_t mac[6];
    uint8_t address[4]; /* of IPv4 */
    uint8_t mask[4];
    uint8_t gateway[4];
};

/* The application's. */
extern const struct rti_lwip_lan9118_config rti_board_ethernet;

extern const struct rti_lwip_link rti_lwip_lan9118;

/* In the handler of the controller's interrupt. */
void rti_lwip_lan9118_interrupt(void);

#endif
