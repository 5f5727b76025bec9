/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SWEEP_H
#define SWEEP_H

/* An interrupt at every instruction of a stretch of code, one after the other.
 *
 *     for (uint32_t at = 0; at < SWEEP_SPAN; at++) {
 *         prepare();
 *         sweep_arm(at, handler);
 *         stretch();
 *         sweep_disarm();
 *         check();
 *     }
 *
 * The emulator counts instructions as time (-icount), and a timer of the board counts that time: so
 * the n-th step of the sweep interrupts the stretch one instruction, or less, after the step before
 * it, and each run of the program interrupts at the same places. */

#include <stdbool.h>
#include <stdint.h>

/* Counts that the timer goes on after the last instruction of sweep_arm; an instruction is 1.3 to
 * 1.6 of them. */
void sweep_arm(uint32_t counts, void (*handler)(void));
void sweep_disarm(void);

/* Did the interrupt come, and where was the program then? */
bool sweep_has_come(void);
uint32_t sweep_pc(void);

/* Notes where the interrupt came; and how many different places were noted since the start. */
void sweep_note(void);
uint32_t sweep_places(void);

#endif
