/* SPDX-License-Identifier: Apache-2.0 */
/* The behaviours as a part of the runtime, and what actors of both kinds share: blobs, private
 * heaps, groups. */
#include "actor/behaviour.h"
#include "actor/blob.h"
#include "actor/group.h"
#include "actor/private_heap.h"
#include "runtime/runtime.h"

#if RT_HAS_BEHAVIOURS
static struct rti_behaviours behaviours;
static struct rti_blobs blobs;
#endif
static struct rti_heaps heaps;
static struct rti_groups groups;

static void part_start(struct rt_runtime *runtime)
{
#if RT_HAS_BEHAVIOURS
    rti_behaviours_init(&behaviours, &runtime->actors);
    rti_blobs_init(&blobs, &runtime->actors);
#endif
    rti_heaps_init(&heaps, &runtime->actors);
    rti_groups_init(&groups, &runtime->actors);
}

static void part_halt(void)
{
#if RT_HAS_BEHAVIOURS
    rti_behaviours_kill_all(&behaviours);
#endif
}

static void part_stop(void)
{
    rti_groups_deinit(&groups);
    rti_heaps_deinit(&heaps);
#if RT_HAS_BEHAVIOURS
    rti_behaviours_deinit(&behaviours);
    rti_blobs_deinit(&blobs);
#endif
}

const struct rti_runtime_part rti_part_behaviour = {part_start, part_halt, part_stop};
