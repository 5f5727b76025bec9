/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_OBSERVE_RECORDING_H
#define RTI_OBSERVE_RECORDING_H

/* What the workers have recorded (sched/recorder.h) as bytes for the command line tool, in a file
 * or through the socket: lines of text (observe/report_text.h), words behind some of them.
 *
 *     orrery-recording  1
 *     kinds   names of the kinds of words, in the order of their numbers
 *     clock   ticks and nanoseconds when it began, ticks and nanoseconds now
 *     worker  index  how many words came before these  count of words; the words follow, 8 bytes
 *             each as the processor has them
 *     end */

#include "observe/report_text.h"
#include "sched/scheduler.h"

/* Takes bytes; false: it takes no more. */
typedef bool (*rti_recording_sink)(void *arg, const void *bytes, size_t size);

struct rti_recording_output {
    rti_recording_sink sink;
    void *arg;
    uint64_t *room;    /* for RTI_RECORDER_WORDS words */
    uint64_t begin_ns; /* the clock when the recording began */
};

/* Writes what there is; false if the sink did not take it all. Any thread, while the workers go on.
 */
bool rti_recording_write(struct rti_sched *sched, const struct rti_recording *recording,
                         const struct rti_recording_output *output);

/* Comes by at every worker, so that long turns are told from many short ones. */
void rti_recording_tick(struct rti_sched *sched);

/* Asks every worker for a look soon: it follows the recording then. Any thread. */
void rti_recording_call(struct rti_sched *sched);

/* Whose rings there may be. */
uint32_t rti_recording_workers(const struct rti_sched *sched);

#endif
