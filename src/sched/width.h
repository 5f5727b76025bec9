/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_WIDTH_H
#define RTI_WIDTH_H

/* The width of a crew: how many of its stations are used, as far as that can be told from what they
 * get done.
 *
 * Behaviours and tasks that talk to each other in steps of some ten nanoseconds get less done on
 * two cores than on one: each message is a line or two that another core has just written, and
 * whoever has nothing left sleeps, and is woken for the next one. How far to spread them cannot be
 * seen in the program or in the lengths of its queues; it can be tried. While all turns are short
 * the warden tries half as many stations for a moment, or twice as many, and keeps what gets more
 * done:
 *
 *     watching      at a width, for at least a window. A trial is due: the best of the last
 *                   windows is what it has to beat, for a machine that stood still in one of them
 *                   says nothing of the width
 *     settling      another width was set; those who are too many leave, or others come
 *     trying        for a window. Fewer stations are kept if they get no less done, more if they
 *                   get a tenth more done. Fewer have some windows for that: what the others had in
 *                   their caches comes to them line by line. Else the width is what it was, and the
 *                   next trial is twice as far away, four times after one with more, up to
 *                   RTI_WIDTH_PAUSE_MAX_NS
 *
 * As soon as turns are not short the crew is as wide as it can be: to spread those costs nothing
 * that counts. It is the same when all is idle, and when a turn becomes long while others wait
 * (rti_width_open).
 *
 * What is done is counted by the stations: turns, the messages that behaviours take and send in
 * them, and calls at channels. Takes and sends, for a flood has windows in which nothing is done
 * but send; and calls, for who streams through a channel has few turns and long ones, in which it
 * meets the others at each value.
 *
 * I1  min <= now <= max.                                            (RT_ASSERT in rti_width_look)
 *
 * One thread, the warden's. Costs: nothing where turns are long; else a trial of 300 to
 * 700 microseconds every 2 to 128 milliseconds, in which the crew does less than it could.
 *
 * Rejected: a bound for the length of turns alone, below which one worker has it all (on many cores
 * short turns that do not talk to each other go as many times faster); to count messages that come
 * from elsewhere (a line that moves is cheap or dear, and only the sum tells). */

#include <stdbool.h>
#include <stdint.h>

/* A turn that is shorter than SHORT on average, what the engine does for it counted in, may be
 * cheaper where it is than elsewhere. Whoever has turns as long as LONG keeps its station: it does
 * not see for that long how many others there are, and they would wait for it. CARE is how far
 * apart the looks are while stations are held back: for so long a turn may have become long before
 * others come. The tests on virtual threads try all the time, in three worlds of four: in the
 * others nothing but the engine's own wake-ups heals one that was lost. */
#if RTI_VIRTUAL
extern uint64_t rti_virtual_short_ns; /* port/virtual/virtual.c */
#endif
#ifndef RTI_WIDTH_SHORT_NS
#define RTI_WIDTH_SHORT_NS     UINT64_C(1000)
#define RTI_WIDTH_LONG_NS      UINT64_C(8000)
#define RTI_WIDTH_WINDOW_NS    UINT64_C(200000)
#define RTI_WIDTH_SETTLE_NS    UINT64_C(100000)
#define RTI_WIDTH_PAUSE_MIN_NS UINT64_C(2000000)
#define RTI_WIDTH_PAUSE_MAX_NS UINT64_C(128000000)
#define RTI_WIDTH_CARE_NS      UINT64_C(1000000)
#endif

/* Windows whose best a trial has to beat, and in which fewer may show that they do. */
#define RTI_WIDTH_WINDOWS 3

enum rti_width_phase { RTI_WIDTH_WATCHING, RTI_WIDTH_SETTLING, RTI_WIDTH_TRYING };

struct rti_width {
    uint32_t max;     /* stations that there are */
    uint32_t min;     /* that are used at least, if there is work for them */
    uint32_t now;     /* that are used at most */
    uint32_t before;  /* settling or trying: what it was */
    uint32_t windows; /* trying: that were for nothing */
    enum rti_width_phase phase;
    uint64_t since_ns; /* this window, or the settling, began */
    uint64_t work;     /* done before it */
    uint64_t pause_ns; /* from one trial to the next */
    uint64_t again_ns; /* when that is */
    /* Work in a millisecond at this width, or at `before`, the last window first. */
    uint64_t rates[RTI_WIDTH_WINDOWS];
    bool is_eager;  /* watching: a trial may come of the window in which it is due */
    bool was_wider; /* what the last trial was */
};

/* What a look sees. */
struct rti_width_sight {
    uint64_t now_ns;
    uint64_t work;  /* done since the run began */
    uint32_t used;  /* stations that are held */
    uint32_t most;  /* that were held at a time in the window: some come and go between looks */
    bool is_uneven; /* somebody has a long turn, whatever the others do */
};

/* All stations of `max` are used, and never fewer than `min` of them, from 1 to `max`. */
void rti_width_init(struct rti_width *width, uint32_t max, uint32_t min);

/* The same again, because short turns are not what holds things up; `sight` as for a look. */
void rti_width_open(struct rti_width *width, const struct rti_width_sight *sight);

/* Looks; `now` is then how many are to be used from here on. */
void rti_width_look(struct rti_width *width, const struct rti_width_sight *sight);

/* Does a window end with this look? Then what the sight says of long turns is asked for. */
bool rti_width_is_due(const struct rti_width *width, uint64_t now_ns);

/* When the next look should be at the latest; UINT64_MAX: there is no hurry. */
uint64_t rti_width_next_ns(const struct rti_width *width);

#endif
