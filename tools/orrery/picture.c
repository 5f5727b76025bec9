/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "picture.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "unwind.h"

#define FRAMES_MAX 64

/* How long after the first look the second is taken, if one is needed. */
#define SECOND_LOOK_NS 100000000

/* Is it a frame of the runtime? Its assembly, and what stands around the program's own function, is
 * not in the library's table of code. */
static bool is_internal(const struct spot *spot)
{
    static const char *const around[] = {"rti_fiber_entry", "rti_fiber_call", "rti_task_main"};
    for (size_t i = 0; spot->function != NULL && i < sizeof(around) / sizeof(around[0]); i++) {
        if (strcmp(spot->function, around[i]) == 0) {
            return true;
        }
    }
    return spot->is_library || (spot->function != NULL && strncmp(spot->function, "rti_", 4) == 0);
}

const struct place *picture_place(const struct picture *picture, const struct spot *spot)
{
    const struct place *place = spot->place;
    while (place != NULL && place->outer != NULL && !picture->is_verbose && is_internal(spot)) {
        place = place->outer;
    }
    return place;
}

/* The spot of an address, or, with 0 for one, of a function whose name is all there is. Names lie
 * in the tool's memory, code in the program's: a bit keeps their addresses apart. */
static struct spot *spot_of(struct picture *picture, uint64_t pc, const char *function)
{
    uint64_t key = pc != 0 ? pc : (uint64_t)(uintptr_t)function | UINT64_C(1) << 63;
    size_t known = map_find(&picture->by_key, key);
    if (known != MAP_NONE) {
        return picture->spots[known];
    }
    struct spot *spot = tool_alloc(1, sizeof(struct spot));
    *spot = (struct spot){.pc = pc, .function = function};
    if (pc != 0) {
        spot->function = images_function(&picture->images, pc);
        spot->is_library = images_is_library(&picture->images, pc);
    }
    picture->spots = tool_grow(picture->spots, picture->spot_count, sizeof(struct spot *));
    map_add(&picture->by_key, key, picture->spot_count);
    picture->spots[picture->spot_count++] = spot;
    return spot;
}

/* The runtime's own frames say nothing to a reader: those inside of the call that waits, and those
 * around the program's function. If the public function has left no frame, because it went on by a
 * jump, the call in the program tells its name. */
static size_t drop_internal(struct picture *picture, struct spot **items, size_t count)
{
    size_t first = 0;
    while (first < count && is_internal(items[first])) {
        first++;
    }
    if (first > 0 && first < count) {
        const char *callee = images_callee(&picture->images, items[first]->pc + 1);
        const char *above = items[first - 1]->function;
        bool is_public = above != NULL && strncmp(above, "rt_", 3) == 0;
        if (callee != NULL && (above == NULL || strcmp(above, callee) != 0)) {
            items[first - 1] = spot_of(picture, 0, callee);
        }
        first -= callee != NULL || is_public;
    }
    size_t last = count;
    while (last > first && is_internal(items[last - 1])) {
        last--;
    }
    if (first == last) {
        return count;
    }
    memmove(items, items + first, (last - first) * sizeof(items[0]));
    return last - first;
}

static void frames_set(struct frames *frames, struct spot *const *items, size_t count)
{
    frames->items = tool_alloc(count, sizeof(items[0]));
    frames->count = count;
    memcpy(frames->items, items, count * sizeof(items[0]));
}

static void walk(struct picture *picture, const struct report_task *task, struct frames *frames)
{
    struct spot *items[FRAMES_MAX];
    size_t count = 0;
    struct unwind unwind = {
        .stack = task->stack, .stack_low = task->sp, .stack_size = task->stack_size};
    unwind_begin(&unwind, task->pc, task->sp, task->fp, task->base);
    do {
        items[count] = spot_of(picture, count == 0 ? unwind.pc : unwind.pc - 1, NULL);
        count++;
    } while (count < FRAMES_MAX && unwind_next(&unwind, &picture->images));
    if (!picture->is_verbose) {
        count = drop_internal(picture, items, count);
    }
    frames_set(frames, items, count);
}

static void find_sites(struct picture *picture, const struct report_task *task,
                       struct frames *sites)
{
    struct spot *items[REPORT_SITES_MAX];
    for (size_t i = 0; i < task->site_count; i++) {
        items[i] = spot_of(picture, strtoull(task->sites[i], NULL, 10) - 1, NULL);
    }
    frames_set(sites, items, task->site_count);
}

static void look_up(struct picture *picture, size_t i)
{
    const struct report_task *task = &picture->report.tasks[i];
    struct frames *frames = &picture->frames[i];
    if (task->has_stack && picture->has_backtraces) {
        walk(picture, task, frames);
    } else if (task->code != 0 && picture->has_backtraces) {
        struct spot *spot = spot_of(picture, task->code, NULL);
        frames_set(frames, &spot, 1);
    }
    if (strcmp(task->kind, "actor") == 0) {
        find_sites(picture, task, &picture->sites[i]);
    }
}

/* Asks once for the places of all spots. */
static void find_places(struct picture *picture)
{
    uint64_t *addresses = tool_alloc(picture->spot_count, sizeof(uint64_t));
    struct spot **spots = tool_alloc(picture->spot_count, sizeof(struct spot *));
    size_t count = 0;
    for (size_t i = 0; i < picture->spot_count; i++) {
        if (picture->spots[i]->pc != 0) {
            addresses[count] = picture->spots[i]->pc;
            spots[count++] = picture->spots[i];
        }
    }
    struct place **places = images_places(&picture->images, addresses, count);
    for (size_t i = 0; i < count; i++) {
        spots[i]->place = places[i];
    }
    free(places);
    free(spots);
    free(addresses);
}

/* Can anything ever happen again? Not if every task waits for others of the program alone. */
static bool is_deadlocked(const struct report *report)
{
    if (report->is_busy || report->is_cut || report->is_open || report->task_count == 0 ||
        report->task_count != report->live) {
        return false;
    }
    for (size_t i = 0; i < report->task_count; i++) {
        const struct report_task *task = &report->tasks[i];
        if (strcmp(task->state, "waits") != 0 || task->wait_count == 0) {
            return false;
        }
        for (size_t j = 0; j < task->wait_count; j++) {
            const char *what = task->waits[j].what;
            if (strcmp(what, "deadline") == 0 || strcmp(what, "io") == 0 ||
                strcmp(what, "time") == 0 || strcmp(what, "job") == 0) {
                return false;
            }
        }
    }
    return true;
}

/* Have all of them stood still between the two reports? */
static bool is_unmoved(const struct report *before, const struct report *after)
{
    if (before->task_count != after->task_count) {
        return false;
    }
    for (size_t i = 0; i < before->task_count; i++) {
        const struct report_task *old = &before->tasks[i];
        const struct report_task *now = &after->tasks[i];
        if (old->id != now->id || old->parked_ns != now->parked_ns || old->mail != now->mail) {
            return false;
        }
    }
    return true;
}

/* A report that was made while everything ran, or in several slices, shows no single moment: what
 * looks like a deadlock is one if it looks the same a little later. */
static bool confirm_deadlock(const struct picture *picture)
{
    struct report again;
    struct timespec while_ns = {.tv_nsec = SECOND_LOOK_NS};
    if (picture->report.pause_ns > 0 && picture->report.slices == 1) {
        return true;
    }
    nanosleep(&while_ns, NULL);
    if (!report_of(&again, picture->pid, "dump bare")) {
        return false;
    }
    bool is_same = is_deadlocked(&again) && is_unmoved(&picture->report, &again);
    report_free(&again);
    return is_same;
}

bool picture_take(struct picture *picture)
{
    const char *request = picture->has_backtraces ? "dump" : "dump bare";
    if (!report_of(&picture->report, picture->pid, request)) {
        return false;
    }
    size_t count = picture->report.task_count;
    picture->frames = tool_alloc(count, sizeof(struct frames));
    picture->sites = tool_alloc(count, sizeof(struct frames));
    images_open(&picture->images, picture->pid);
    for (size_t i = 0; i < count; i++) {
        look_up(picture, i);
    }
    find_places(picture);
    picture->is_deadlock = is_deadlocked(&picture->report) && confirm_deadlock(picture);
    return true;
}

void picture_free(struct picture *picture)
{
    for (size_t i = 0; i < picture->report.task_count; i++) {
        free(picture->frames[i].items);
        free(picture->sites[i].items);
    }
    for (size_t i = 0; i < picture->spot_count; i++) {
        place_free(picture->spots[i]->place);
        free(picture->spots[i]);
    }
    map_free(&picture->by_key);
    free(picture->spots);
    free(picture->frames);
    free(picture->sites);
    images_close(&picture->images);
    report_free(&picture->report);
}
