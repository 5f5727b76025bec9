/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_SIM_DISK_H
#define RTI_SIM_DISK_H

/* The disk of a simulated world: the works of port/file.h over a medium (sim_medium.h), each done a
 * latency from the seed after it was asked for, with the faults that the program wants.
 *
 * A work happens at its end: until then nothing of it is on the medium, and a read sees what is
 * there then. Works of one file pass each other if the latencies say so; the layer above lets only
 * those run together that may (io/file_line.h). A work that finds no record to wait in is done at
 * once.
 *
 * The medium is the program's, and then it is there again in the next run; or one of the run's own,
 * lent by the host machine when the first file is opened.
 *
 * Numbers of open files lie behind those of sockets, so that one descriptor has one meaning.
 *
 * I1  An open file's medium is there.                                  (RT_ASSERT in slot_of)
 *
 * Works get no port (port/file.h), so there is one world at a time, `disk_world`. */

#include <orrery/rt/sim.h>
#include <orrery/rt_static_config.h>

#include "base/rng.h"
#include "port/file.h"
#include "port/sim/agenda.h"
#include "port/sim/port_sim.h"
#include "port/sim/sim_medium.h"
#include "port/sim/sim_net.h"

#define RTI_SIM_FILE_FIRST (RTI_SIM_SOCKET_FIRST + RT_SIM_SOCKETS)

/* Works under way at a time. */
#define RTI_SIM_WORKS RT_COMPLETION_QUEUE_SIZE

/* What an rt_sim_disk is. */
struct rti_sim_disk_handle {
    uint64_t magic;
    struct rti_sim_medium *medium;
};

#define RTI_SIM_DISK_MAGIC UINT64_C(0x6469736b206f7272)

struct rti_sim_open_file {
    bool is_open;
    int file; /* of the medium */
    int flags;
    uint64_t position;
};

struct rti_sim_work {
    struct rti_agenda_entry entry;
    struct rti_op *op; /* NULL: free */
};

struct rti_sim_disk {
    struct rti_port_sim *sim;
    rt_sim_storage config;
    struct rti_rng rng;
    struct rti_agenda agenda;
    struct rti_sim_medium *medium; /* NULL: no file was opened yet */
    bool is_lent;                  /* by the host */
    uint64_t digest;               /* over what was done when */
    struct rti_sim_open_file slots[RT_SIM_OPEN_FILES];
    struct rti_sim_work works[RTI_SIM_WORKS];
};

/* The medium of a program's disk; NULL: it was not prepared. */
struct rti_sim_medium *rti_sim_disk_medium(const rt_sim_disk *disk);

/* RT_OK, or RT_ERR_INVALID with a sentence. */
rt_status rti_sim_disk_check(const rt_sim_storage *config);

/* Gives a simulated port a disk: unless the program wants the machine's files, or there is neither
 * a disk of the program's nor a machine to lend one. */
void rti_sim_disk_attach(struct rti_sim_disk *disk, struct rti_port_sim *sim,
                         const rt_sim_storage *config, uint64_t seed);

/* Takes it away; no work is under way. */
void rti_sim_disk_detach(struct rti_sim_disk *disk);

/* How many files are open. */
size_t rti_sim_disk_open_count(const struct rti_sim_disk *disk);

/* Takes work that is the disk's. False: it is not. */
bool rti_sim_disk_submit(struct rti_sim_disk *disk, struct rti_op *op);

/* Is this the number of an open file? */
bool rti_sim_disk_has(const struct rti_sim_disk *disk, int fd);

#endif
