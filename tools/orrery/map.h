/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_TOOL_MAP_H
#define ORRERY_TOOL_MAP_H

/* Numbers to places in an array: a hash with open places, at most half full. All zero is an empty
 * one. A program may have a million tasks, so nothing of them is searched for one by one. */

#include "orrery.h"

struct map {
    struct map_entry {
        uint64_t key;
        size_t value; /* counted from 1; 0: free */
    } * entries;
    size_t room; /* a power of two, or 0 */
    size_t count;
};

#define MAP_NONE SIZE_MAX

/* What belongs to a key; MAP_NONE if nothing does. */
size_t map_find(const struct map *map, uint64_t key);

/* Makes `value` what belongs to a key that nothing belongs to yet. */
void map_add(struct map *map, uint64_t key, size_t value);

void map_free(struct map *map);

#endif
