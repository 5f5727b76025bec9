/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_VIRTUAL_POINT_H
#define RTI_VIRTUAL_POINT_H

/* What base/atomic.h calls in a build with virtual threads; the essay is in virtual.h. */

/* Before each access to a shared word: another virtual thread may go on instead. */
void rti_virtual_point(void);

/* The same for the word at an address, which is then read, or written or both. */
void rti_virtual_read(const void *address);
void rti_virtual_write(const void *address);

/* The caller can do nothing until another thread has: one goes on. */
void rti_virtual_spin(void);

/* A probe of base/probe.h was passed; `name` is a literal. */
void rti_virtual_probe(const char *name, unsigned long long a, unsigned long long b);

#endif
