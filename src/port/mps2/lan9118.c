/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "lan9118"
#include "port/mps2/lan9118.h"

#include "base/assert.h"
#include "port/cortex_m/core.h"

/* Offsets of the registers. */
enum {
    RX_DATA = 0x00,
    TX_DATA = 0x20,
    RX_STATUS = 0x40,
    TX_STATUS = 0x48,
    ID_REV = 0x50,
    IRQ_CFG = 0x54,
    INT_STS = 0x58,
    INT_EN = 0x5C,
    FIFO_INT = 0x68,
    RX_CFG = 0x6C,
    TX_CFG = 0x70,
    HW_CFG = 0x74,
    RX_DP_CTRL = 0x78,
    RX_FIFO_INF = 0x7C,
    TX_FIFO_INF = 0x80,
    MAC_CMD = 0xA4,
    MAC_DATA = 0xA8,
    AFC_CFG = 0xAC,
};

#define CHIP_ID       0x0118u     /* the high half of ID_REV */
#define HW_CFG_SRST   0x00000001u /* resets; cleared when that is over */
#define HW_CFG_SF     0x00100000u /* a frame is sent when it is there as a whole */
#define HW_CFG_TX_5K  0x00050000u
#define IRQ_CFG_ON    0x22000111u /* on, push and pull, active high, 220 us between two */
#define INT_RX_STATUS 0x00000008u /* more statuses than FIFO_INT says, that is: than none */
#define TX_CFG_ON     0x00000002u
#define AFC_CFG_USUAL 0x006E3740u

#define MAC_CMD_BUSY 0x80000000u
#define MAC_CMD_READ 0x40000000u
#define MAC_CR       1u
#define MAC_ADDRH    2u
#define MAC_ADDRL    3u
#define MAC_CR_RX    0x00000004u
#define MAC_CR_TX    0x00000008u
#define MAC_CR_FULL  0x00100000u /* both ways at the same time */

#define RX_STATUS_ERROR 0x00008000u
#define RX_DISCARD      0x80000000u
#define TX_WHOLE        0x00003000u /* first and last piece of its frame */
#define TX_COMMANDS     8u

#define CHECKSUM_SIZE 4u
#define RESET_LOOKS   1000000u

static volatile uint32_t *lan_register(const struct rti_lan9118 *lan, uint32_t offset)
{
    return (volatile uint32_t *)(lan->base + offset);
}

static uint32_t lan_read(const struct rti_lan9118 *lan, uint32_t offset)
{
    return *lan_register(lan, offset);
}

static void lan_write(const struct rti_lan9118 *lan, uint32_t offset, uint32_t value)
{
    *lan_register(lan, offset) = value;
}

/* Looks until the bits are clear; false if that does not happen. */
static bool lan_await_clear(const struct rti_lan9118 *lan, uint32_t offset, uint32_t bits)
{
    for (uint32_t i = 0; i < RESET_LOOKS; i++) {
        if ((lan_read(lan, offset) & bits) == 0) {
            return true;
        }
    }
    return false;
}

static bool mac_write(const struct rti_lan9118 *lan, uint32_t number, uint32_t value)
{
    lan_write(lan, MAC_DATA, value);
    lan_write(lan, MAC_CMD, MAC_CMD_BUSY | number);
    return lan_await_clear(lan, MAC_CMD, MAC_CMD_BUSY);
}

rt_status rti_lan9118_start(struct rti_lan9118 *lan, uintptr_t base, const uint8_t mac[6])
{
    lan->base = base;
    if (lan_read(lan, ID_REV) >> 16 != CHIP_ID) {
        return (rt_status){RT_ERR_NOT_FOUND, RTI_SENTENCE("there is no LAN9118 at this address")};
    }
    lan_write(lan, HW_CFG, HW_CFG_SRST);
    bool is_up = lan_await_clear(lan, HW_CFG, HW_CFG_SRST);
    lan_write(lan, HW_CFG, HW_CFG_SF | HW_CFG_TX_5K);
    lan_write(lan, AFC_CFG, AFC_CFG_USUAL);
    lan_write(lan, INT_EN, 0);
    lan_write(lan, INT_STS, UINT32_MAX);
    lan_write(lan, FIFO_INT, 0);
    lan_write(lan, RX_CFG, 0);
    lan_write(lan, TX_CFG, TX_CFG_ON);
    lan_write(lan, IRQ_CFG, IRQ_CFG_ON);
    uint32_t high = (uint32_t)mac[4] | (uint32_t)mac[5] << 8;
    uint32_t low =
        (uint32_t)mac[0] | (uint32_t)mac[1] << 8 | (uint32_t)mac[2] << 16 | (uint32_t)mac[3] << 24;
    is_up = is_up && mac_write(lan, MAC_ADDRH, high) && mac_write(lan, MAC_ADDRL, low) &&
            mac_write(lan, MAC_CR, MAC_CR_RX | MAC_CR_TX | MAC_CR_FULL);
    if (!is_up) {
        return (rt_status){RT_ERR_TIMEOUT, RTI_SENTENCE("the LAN9118 does not answer")};
    }
    return RT_SUCCESS;
}

void rti_lan9118_stop(struct rti_lan9118 *lan)
{
    lan_write(lan, INT_EN, 0);
    (void)mac_write(lan, MAC_CR, 0);
}

void rti_lan9118_forget(struct rti_lan9118 *lan)
{
    lan_write(lan, INT_STS, INT_RX_STATUS);
}

void rti_lan9118_listen(struct rti_lan9118 *lan)
{
    lan_write(lan, INT_EN, INT_RX_STATUS);
}

void rti_lan9118_interrupt(struct rti_lan9118 *lan)
{
    lan_write(lan, INT_EN, 0);
}

/* Takes a frame out of the controller, `words` of it, and forgets it. */
static void lan_drop(struct rti_lan9118 *lan, size_t words)
{
    /* The controller can do it itself, but not with less than four words. */
    if (words >= 4) {
        lan_write(lan, RX_DP_CTRL, RX_DISCARD);
        (void)lan_await_clear(lan, RX_DP_CTRL, RX_DISCARD);
        return;
    }
    while (words-- > 0) {
        (void)lan_read(lan, RX_DATA);
    }
}

size_t rti_lan9118_receive(struct rti_lan9118 *lan, uint32_t *buffer, size_t room)
{
    while ((lan_read(lan, RX_FIFO_INF) & 0x00FF0000u) != 0) {
        uint32_t status = lan_read(lan, RX_STATUS);
        size_t length = (status >> 16) & 0x3FFFu;
        size_t words = (length + 3) / 4;
        if ((status & RX_STATUS_ERROR) != 0 || length <= CHECKSUM_SIZE || words * 4 > room) {
            lan_drop(lan, words);
            continue;
        }
        for (size_t i = 0; i < words; i++) {
            buffer[i] = lan_read(lan, RX_DATA);
        }
        return length - CHECKSUM_SIZE;
    }
    return 0;
}

bool rti_lan9118_send(struct rti_lan9118 *lan, const uint32_t *frame, size_t length)
{
    RT_ASSERT(length > 0 && length <= RTI_LAN9118_FRAME_MAX);
    /* What was sent has left a status behind, and the room for those is small. */
    for (uint32_t left = (lan_read(lan, TX_FIFO_INF) >> 16) & 0xFFu; left > 0; left--) {
        (void)lan_read(lan, TX_STATUS);
    }
    if ((lan_read(lan, TX_FIFO_INF) & 0xFFFFu) < length + TX_COMMANDS + 4) {
        return false;
    }
    lan_write(lan, TX_DATA, TX_WHOLE | (uint32_t)length);
    lan_write(lan, TX_DATA, (uint32_t)length);
    for (size_t i = 0; i < (length + 3) / 4; i++) {
        lan_write(lan, TX_DATA, frame[i]);
    }
    return true;
}
