/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_FORK_H
#define RTI_FORK_H

/* What becomes of a runtime, and of ports, in the child of a fork.
 *
 * A child has the memory of its parent and one of its threads, and shares its descriptors: the
 * workers are gone, locks may be held by nobody, and an event that the child takes is missing in
 * the parent. There is nothing to go on with. So the child is left in a state in which the library
 * answers as on a thread that has no runtime, fork and exec work, and what would go on
 * all the same, because it stands below the fork on the stack, is stopped with a sentence.
 *
 * No call asks for the process it is in. The system tells the child once (pthread_atfork), and
 * there: the generation of the process grows, which a port compares where it waits; and the hook of
 * the runtime forgets the worker of the thread and poisons the port, that is, gives it a table of
 * functions that all stop. vfork, posix_spawn, system and popen tell nobody, and need not.
 *
 * I1  A port of the parent is not waited at in the child.          (rti_linux_fork_check,
 * port_wait)
 *
 * Rejected: asking for the process in every call (a system call each); making the runtime anew in
 * the child (what its fibers hold cannot be known to be whole). */

#include "port/port.h"

/* From here on `hook` is called in the child of every fork, unless NULL. One hook, never taken
 * back. RT_OK; RT_ERR_NOMEM if the system has no room for it. Any thread. */
rt_status rti_linux_fork_watch(void (*hook)(void));

/* How many forks lie between this process and the one that was started. */
uint32_t rti_linux_fork_generation(void);

/* Panics if this process is not of that generation. */
void rti_linux_fork_check(uint32_t generation);

/* In a hook: makes every function of the port stop the process with a sentence that a scheduler
 * might call to go on. One port of the process at a time. */
void rti_linux_fork_poison(struct rti_port *port);

#endif
