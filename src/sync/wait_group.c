/* SPDX-License-Identifier: Apache-2.0 */
/* The wait group: a number and a line of those who wait until it is zero. The manual is
 * <orrery/rt/wait_group.h>.
 *
 * I1  Nobody is in line while the number is zero.            (wait_group_audit) */
#define RTI_MODULE "wait_group"
#include <orrery/rt/wait_group.h>

#include "sync/line.h"

struct rti_wait_group {
    uint32_t magic;
    uint32_t count;
    struct rti_line line;
};

_Static_assert(sizeof(struct rti_wait_group) <= sizeof(rt_wait_group), "it is too small");
_Static_assert(_Alignof(struct rti_wait_group) <= _Alignof(rt_wait_group), "aligned too weakly");

#define GROUP_MAGIC UINT32_C(0x70756f72)

static const char wait_group_tag;

static struct rti_wait_group *wait_group_of(rt_wait_group *storage)
{
    struct rti_wait_group *group = (struct rti_wait_group *)(void *)storage;
    return group != NULL && group->magic == GROUP_MAGIC ? group : NULL;
}

/* RT_OK if there is a runtime and a wait group. */
static RTI_ENTERING rt_status wait_group_check(rt_wait_group *storage)
{
    if (rti_worker_enter() == NULL) {
        return (rt_status){RT_ERR_THREAD, "this thread has no runtime"};
    }
    return wait_group_of(storage) != NULL ? RT_SUCCESS
                                          : (rt_status){RT_ERR_INVALID, "this is no wait group"};
}

static RTI_UNUSED void wait_group_audit(struct rti_wait_group *group)
{
    rti_line_audit(&group->line);
    RT_ASSERT(group->count > 0 || rti_line_first(&group->line) == NULL);
}

rt_status rt_wait_group_init(rt_wait_group *storage)
{
    struct rti_worker *worker = rti_worker_enter();
    if (storage == NULL) {
        return (rt_status){RT_ERR_INVALID, "there is no storage"};
    }
    if (worker == NULL) {
        return (rt_status){RT_ERR_THREAD, "this thread has no runtime"};
    }
    struct rti_wait_group *group = (struct rti_wait_group *)(void *)storage;
    *group = (struct rti_wait_group){.magic = GROUP_MAGIC};
    rti_line_init(&group->line, worker->sched);
    return RT_SUCCESS;
}

rt_status rt_wait_group_deinit(rt_wait_group *storage)
{
    rt_status status = wait_group_check(storage);
    if (RT_FAILED(status)) {
        return status;
    }
    struct rti_wait_group *group = wait_group_of(storage);
    rti_line_enter(&group->line);
    bool is_idle = group->count == 0 && rti_line_first(&group->line) == NULL;
    group->magic = is_idle ? 0 : GROUP_MAGIC;
    rti_line_leave_quietly(&group->line);
    return is_idle ? RT_SUCCESS : (rt_status){RT_ERR_STATE, "something is still to be done"};
}

rt_status rt_wait_group_add(rt_wait_group *storage, uint32_t count)
{
    rt_status status = wait_group_check(storage);
    if (RT_FAILED(status)) {
        return status;
    }
    struct rti_wait_group *group = wait_group_of(storage);
    rti_line_enter(&group->line);
    if (count > UINT32_MAX - group->count) {
        status = (rt_status){RT_ERR_LIMIT, "so many cannot be counted"};
    } else {
        group->count += count;
    }
    rti_line_leave_quietly(&group->line);
    return status;
}

rt_status rt_wait_group_done(rt_wait_group *storage)
{
    rt_status status = wait_group_check(storage);
    if (RT_FAILED(status)) {
        return status;
    }
    struct rti_wait_group *group = wait_group_of(storage);
    struct rti_list wakes;
    rti_list_init(&wakes);
    rti_line_enter(&group->line);
    if (group->count == 0) {
        status = (rt_status){RT_ERR_STATE, "nothing was to be done"};
    } else if (--group->count == 0) {
        rti_line_serve_all(&group->line, RT_OK, &wakes);
    }
    RT_AUDIT(wait_group_audit(group));
    rti_line_leave(&group->line, &wakes);
    return status;
}

rt_status rt_wait_group_wait_until(rt_wait_group *storage, rt_cx *given, rt_time deadline)
{
    rt_status status = wait_group_check(storage);
    if (RT_FAILED(status)) {
        return status;
    }
    struct rti_wait_group *group = wait_group_of(storage);
    struct rti_line_call call = {.line = &group->line,
                                 .op = {.what = &wait_group_tag, .on = (uintptr_t)group},
                                 .deadline = deadline};
    status = rti_line_begin(&call, given);
    if (RT_FAILED(status) || call.is_served) {
        return status;
    }
    rti_line_enter(&group->line);
    if (group->count == 0) {
        rti_line_leave_quietly(&group->line);
        return RT_SUCCESS;
    }
    return rti_line_wait(&call);
}

rt_status rt_wait_group_wait(rt_wait_group *storage, rt_cx *given)
{
    return rt_wait_group_wait_until(storage, given, RT_TIME_NEVER);
}
