/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "lwip_lan9118"
#include "port/lwip/lwip_lan9118.h"

#include <string.h>

#include <lwip/etharp.h>
#include <lwip/netif.h>
#include <netif/ethernet.h>

#include "base/assert.h"
#include "port/cortex_m/board.h"
#include "port/cortex_m/core.h"
#include "port/mps2/lan9118.h"

#define FRAME_WORDS 384u /* the longest frame with its checksum, in whole words, and some air */

static struct {
    struct rti_lan9118 lan;
    struct netif netif;
    struct rti_port *port;
    rti_atomic_u32 is_due; /* handler: frames have come */
    uint32_t frame[FRAME_WORDS];
} ethernet;

_Static_assert(RTI_LAN9118_FRAME_MAX + 4 <= FRAME_WORDS * 4, "any frame fits");

static err_t lan_output(struct netif *netif, struct pbuf *bytes)
{
    (void)netif;
    if (bytes->tot_len > RTI_LAN9118_FRAME_MAX) {
        return ERR_BUF;
    }
    (void)pbuf_copy_partial(bytes, ethernet.frame, bytes->tot_len, 0);
    /* A frame without room is lost, as on any wire: TCP sends it again. */
    return rti_lan9118_send(&ethernet.lan, ethernet.frame, bytes->tot_len) ? ERR_OK : ERR_MEM;
}

static err_t lan_init(struct netif *netif)
{
    netif->name[0] = 'e';
    netif->name[1] = 'n';
    netif->output = etharp_output;
    netif->linkoutput = lan_output;
    netif->mtu = 1500;
    netif->hwaddr_len = sizeof(rti_board_ethernet.mac);
    memcpy(netif->hwaddr, rti_board_ethernet.mac, sizeof(rti_board_ethernet.mac));
    netif->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_LINK_UP;
    return ERR_OK;
}

static ip4_addr_t ip_of(const uint8_t bytes[4])
{
    ip4_addr_t ip;
    IP4_ADDR(&ip, bytes[0], bytes[1], bytes[2], bytes[3]);
    return ip;
}

static bool lan_start(struct rti_port *port)
{
    const struct rti_lwip_lan9118_config *config = &rti_board_ethernet;
    if (RT_FAILED(rti_lan9118_start(&ethernet.lan, config->base, config->mac))) {
        return false;
    }
    ethernet.port = port;
    rti_u32_store_relaxed(&ethernet.is_due, 1);
    ip4_addr_t address = ip_of(config->address);
    ip4_addr_t mask = ip_of(config->mask);
    ip4_addr_t gateway = ip_of(config->gateway);
    if (netif_add(&ethernet.netif, &address, &mask, &gateway, NULL, lan_init, ethernet_input) ==
        NULL) {
        return false;
    }
    netif_set_default(&ethernet.netif);
    netif_set_up(&ethernet.netif);
    RTI_NVIC_ISER(config->interrupt) = RTI_NVIC_BIT(config->interrupt);
    return true;
}

static void lan_take(size_t length)
{
    struct pbuf *bytes = pbuf_alloc(PBUF_RAW, (u16_t)length, PBUF_POOL);
    if (bytes == NULL) {
        /* Lost, as on any wire. */
        return;
    }
    (void)pbuf_take(bytes, ethernet.frame, (u16_t)length);
    if (ethernet.netif.input(bytes, &ethernet.netif) != ERR_OK) {
        (void)pbuf_free(bytes);
    }
}

static void lan_poll(void)
{
    /* Lowered before the look: a frame that comes after it raises it again. Acquire pairs with the
     * release in the handler. */
    if (rti_u32_exchange_acqrel(&ethernet.is_due, 0) == 0) {
        return;
    }
    size_t length;
    rti_lan9118_forget(&ethernet.lan);
    while ((length = rti_lan9118_receive(&ethernet.lan, ethernet.frame, sizeof(ethernet.frame))) !=
           0) {
        lan_take(length);
    }
    rti_lan9118_listen(&ethernet.lan);
}

static void lan_stop(void)
{
    netif_remove(&ethernet.netif);
    rti_lan9118_stop(&ethernet.lan);
}

void rti_lwip_lan9118_interrupt(void)
{
    rti_lan9118_interrupt(&ethernet.lan);
    /* Release pairs with the exchange in lan_poll. */
    rti_u32_store_release(&ethernet.is_due, 1);
    ethernet.port->ops->wake(ethernet.port);
}

const struct rti_lwip_link rti_lwip_lan9118 = {lan_start, lan_poll, lan_stop};

rt_status rti_board_network_open(struct rti_port *port, struct rti_device **device)
{
    return rti_lwip_open(port, &rti_lwip_lan9118, device);
}

void rti_board_network_close(void)
{
    rti_lwip_close();
}
