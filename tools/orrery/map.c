/* SPDX-License-Identifier: Apache-2.0 */
#include "map.h"

#include <stdlib.h>

static struct map_entry *map_place(const struct map *map, uint64_t key)
{
    size_t at = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 24);
    while (true) {
        struct map_entry *entry = &map->entries[at++ & (map->room - 1)];
        if (entry->value == 0 || entry->key == key) {
            return entry;
        }
    }
}

size_t map_find(const struct map *map, uint64_t key)
{
    return map->room == 0 ? MAP_NONE : map_place(map, key)->value - 1;
}

static void map_grow(struct map *map)
{
    struct map old = *map;
    map->room = old.room == 0 ? 64 : 2 * old.room;
    map->entries = tool_alloc(map->room, sizeof(struct map_entry));
    for (size_t i = 0; i < old.room; i++) {
        if (old.entries[i].value != 0) {
            *map_place(map, old.entries[i].key) = old.entries[i];
        }
    }
    free(old.entries);
}

void map_add(struct map *map, uint64_t key, size_t value)
{
    if (2 * map->count >= map->room) {
        map_grow(map);
    }
    *map_place(map, key) = (struct map_entry){key, value + 1};
    map->count++;
}

void map_free(struct map *map)
{
    free(map->entries);
    *map = (struct map){.room = 0};
}
