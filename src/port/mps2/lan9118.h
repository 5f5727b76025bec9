/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_LAN9118_H
#define RTI_LAN9118_H

/* The Ethernet controller LAN9118 of the MPS2 boards: whole frames in and out of its memory.
 *
 * The controller keeps the frames that came and a status word for each, both read word by word in
 * order; a frame to send is written the same way behind two words of command. It has its own 16 kB
 * of memory, so nothing here allocates and nothing is shared with an interrupt but `is_due`.
 *
 * The interrupt means: a frame has come. Its handler calls rti_lan9118_interrupt, which turns the
 * interrupt off in the controller; whoever then drains the frames turns it on again, having
 * forgotten the old news before the first look. So a frame that comes after the last look raises
 * the interrupt anew, and none is left lying.
 *
 * I1  Between rti_lan9118_interrupt and rti_lan9118_listen the controller is silent.
 * I2  A frame longer than the room given is taken out of the controller and dropped. */

#include <stdbool.h>

#include <orrery/rt/status.h>

#include "base/atomic.h"
#include "base/compiler.h"

#define RTI_LAN9118_FRAME_MAX                                                                      \
    1514u /* without the checksum, which the controller adds and takes                             \
           */

struct rti_lan9118 {
    uintptr_t base; /* where the registers lie: 0x40200000, on an AN500 0xA0000000 */
};

/* Resets the controller and starts it with this address. RT_OK; RT_ERR_NOT_FOUND if there is no
 * such controller; RT_ERR_TIMEOUT if it does not come out of its reset. */
rt_status rti_lan9118_start(struct rti_lan9118 *lan, uintptr_t base, const uint8_t mac[6]);
void rti_lan9118_stop(struct rti_lan9118 *lan);

/* Forgets the news so far; then the frames are looked at; then it listens. */
void rti_lan9118_forget(struct rti_lan9118 *lan);
void rti_lan9118_listen(struct rti_lan9118 *lan);

/* In the interrupt handler. */
void rti_lan9118_interrupt(struct rti_lan9118 *lan);

/* The next frame, its length without the checksum; 0: there is none. Frames that are damaged or too
 * long are left out. */
size_t rti_lan9118_receive(struct rti_lan9118 *lan, uint32_t *buffer, size_t room);

/* Sends a frame. False: the controller has no room for it now. */
bool rti_lan9118_send(struct rti_lan9118 *lan, const uint32_t *frame, size_t length);

#endif
