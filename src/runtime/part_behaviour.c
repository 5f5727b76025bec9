/* SPDX-License-Identifier: Apache-2.0 */
/* The behaviours as a part of the runtime, and what actors of both kinds share: blobs, private
 * heaps, groups. */
#include "actor/behaviour.h"
#include "actor/blob.h"
#include "actor/group.h"
#include "actor/private_heap.h"
#include "runtime/runtime.h"

static struct rti_behaviours behaviours;
static struct rti_blobs blobs;
static struct rti_heaps heaps;
static struct rti_groups groups;

static void part_start(struct rt_runtime *runtime)
{
    rti_behaviours_init(&behaviours, &runtime->actors);
    rti_blobs_init(&blobs, &runtime->actors);
    rti_heaps_init(&heaps, &runtime->actors);
    rti_groups_init(&groups, &runtime->actors);
}

static void part_halt(void)
{
    rti_behaviours_kill_all(&behaviours);
}

static void part_stop(void)
{
    rti_groups_deinit(&groups);
    rti_heaps_deinit(&heaps);
    rti_behaviours_deinit(&behaviours);
    rti_blobs_deinit(&blobs);
}

const struct rti_runtime_part rti_part_behaviour = {part_start, part_halt, part_stop};
