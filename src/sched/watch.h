/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_WATCH_H
#define RTI_WATCH_H

/* A watch: what a member that spins has seen of those who have work, since it last found nothing at
 * its own station, and whether it goes on looking (crew.h, decision 106). No clock is read: a look
 * follows the last one after some pauses. For src/sched only. */

#include <stdbool.h>
#include <stdint.h>

/* How often it looks at those who are quick before it takes their work all the same, how often
 * when they have none, and pauses between two looks: some 200, 40 and 4 microseconds. The tests on
 * virtual threads have few. */
#ifndef RTI_WATCH_LOOKS_MAX
#define RTI_WATCH_LOOKS_MAX 48
#define RTI_WATCH_CALM_MAX  10
#define RTI_WATCH_PAUSES    256
#endif

struct rti_watch {
    uint32_t looks; /* at which somebody was quick */
    uint32_t calm;  /* since the last of those */
    bool is_quick;  /* at this look */
};

/* May it leave work to those who have it and are quick? Not for ever. */
static inline bool rti_watch_is_patient(const struct rti_watch *watch)
{
    return watch->looks < RTI_WATCH_LOOKS_MAX;
}

/* Ends a look that has found nothing. */
static inline void rti_watch_end_look(struct rti_watch *watch, bool was_patient)
{
    watch->looks += watch->is_quick || !was_patient;
    watch->calm = watch->is_quick ? 0 : watch->calm + 1;
    watch->is_quick = false;
}

/* Was something left to somebody who was quick, not too long ago? Then it stays a while to see how
 * that goes on. */
static inline bool rti_watch_goes_on(const struct rti_watch *watch)
{
    return watch->looks > 0 && watch->looks <= RTI_WATCH_LOOKS_MAX &&
           watch->calm <= RTI_WATCH_CALM_MAX;
}

#endif
