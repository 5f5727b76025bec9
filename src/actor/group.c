/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "group"
#include "actor/group.h"

#include <string.h>

#include "actor/behaviour.h"
#include "actor/blob.h"

static struct rti_groups *groups_of(const struct rti_worker *worker)
{
    return worker == NULL ? NULL : worker->sched->modules[RTI_MODULE_GROUP];
}

static struct rti_member_of_group *member_of(struct rti_link *at_group)
{
    return RTI_CONTAINER_OF(at_group, struct rti_member_of_group, at_group);
}

static bool group_name_is_valid(const char *name)
{
    return name != NULL && name[0] != '\0' && memchr(name, '\0', RT_NAME_MAX + 1) != NULL;
}

/* The group of this name; NULL if there is none. Under the lock. */
static struct rti_group *group_find(const struct rti_groups *module, const char *name)
{
    for (struct rti_link *at = rti_list_peek(&module->all); at != NULL;
         at = rti_list_next(&module->all, at)) {
        struct rti_group *group = RTI_CONTAINER_OF(at, struct rti_group, link);
        if (name != NULL && strcmp(group->name, name) == 0) {
            return group;
        }
    }
    return NULL;
}

static struct rti_member_of_group *group_member(const struct rti_group *group, actor_id actor)
{
    for (struct rti_link *at = rti_list_peek(&group->members); at != NULL;
         at = rti_list_next(&group->members, at)) {
        if (member_of(at)->actor == actor) {
            return member_of(at);
        }
    }
    return NULL;
}

/* Ends a membership that no longer hangs at its actor, and the group with its last one. */
static void member_free(struct rti_groups *module, struct rti_member_of_group *member)
{
    struct rti_group *group = member->group;
    rti_list_remove(&member->at_group);
    rti_pool_free(&module->members, member);
    if (rti_list_is_empty(&group->members)) {
        rti_list_remove(&group->link);
        rti_pool_free(&module->groups, group);
    }
}

static void member_died(struct rti_attachment *attachment)
{
    struct rti_member_of_group *member =
        RTI_CONTAINER_OF(attachment, struct rti_member_of_group, attachment);
    struct rti_groups *module = member->module;
    rti_lock_acquire(&module->lock, module->actors->sched);
    member_free(module, member);
    rti_lock_release(&module->lock);
}

/* The group of this name, made if there is none; NULL if there is no room. Under the lock. */
static struct rti_group *group_get(struct rti_groups *module, const char *name)
{
    struct rti_group *group = group_find(module, name);
    if (group != NULL) {
        return group;
    }
    group = rti_pool_alloc(&module->groups);
    if (group != NULL) {
        rti_link_init(&group->link);
        rti_list_init(&group->members);
        memcpy(group->name, name, strlen(name) + 1);
        rti_list_push_tail(&module->all, &group->link);
    }
    return group;
}

static rt_status group_add(struct rti_groups *module, const char *name, actor_id self,
                           struct rti_list *list)
{
    struct rti_group *group = group_find(module, name);
    if (group != NULL && group_member(group, self) != NULL) {
        return RT_SUCCESS;
    }
    struct rti_member_of_group *member = rti_pool_alloc(&module->members);
    group = member == NULL ? NULL : group_get(module, name);
    if (group == NULL) {
        if (member != NULL) {
            rti_pool_free(&module->members, member);
        }
        return (rt_status){RT_ERR_NOMEM, RTI_SENTENCE("no group or membership is left")};
    }
    rti_attachment_init(&member->attachment, member_died);
    rti_link_init(&member->at_group);
    member->group = group;
    member->module = module;
    member->actor = self;
    member->serial = module->next_serial++;
    rti_list_push_tail(&group->members, &member->at_group);
    rti_list_push_tail(list, &member->attachment.link);
    return RT_SUCCESS;
}

rt_status rt_group_join(const char *group)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_groups *module = groups_of(worker);
    struct rti_list *list = module == NULL ? NULL : rti_attachments_of(worker);
    if (list == NULL) {
        return rti_actor_refusal(worker);
    }
    if (!group_name_is_valid(group)) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("no name, or one that is too long")};
    }
    rti_lock_acquire(&module->lock, worker->sched);
    rt_status status = group_add(module, group, rti_sender_id(worker), list);
    rti_lock_release(&module->lock);
    return status;
}

rt_status rt_group_leave(const char *name)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_groups *module = groups_of(worker);
    if (module == NULL || rti_attachments_of(worker) == NULL) {
        return rti_actor_refusal(worker);
    }
    rti_lock_acquire(&module->lock, worker->sched);
    struct rti_group *group = group_find(module, name);
    struct rti_member_of_group *member =
        group == NULL ? NULL : group_member(group, rti_sender_id(worker));
    if (member != NULL) {
        rti_list_remove(&member->attachment.link);
        member_free(module, member);
    }
    rti_lock_release(&module->lock);
    return member != NULL ? RT_SUCCESS
                          : (rt_status){RT_ERR_NOT_FOUND, RTI_SENTENCE("the caller is no member")};
}

/* The member that joined first among those that joined after `*serial`, which moves on;
 * ACTOR_ID_INVALID if there is none. Turns of rt_group_send_one do not change who joined when. */
static actor_id group_after(struct rti_groups *module, const char *name, uint64_t *serial)
{
    const struct rti_member_of_group *next = NULL;
    rti_lock_acquire(&module->lock, module->actors->sched);
    struct rti_group *group = group_find(module, name);
    for (struct rti_link *at = group == NULL ? NULL : rti_list_peek(&group->members); at != NULL;
         at = rti_list_next(&group->members, at)) {
        const struct rti_member_of_group *member = member_of(at);
        if (member->serial > *serial && (next == NULL || member->serial < next->serial)) {
            next = member;
        }
    }
    actor_id actor = ACTOR_ID_INVALID;
    if (next != NULL) {
        actor = next->actor;
        *serial = next->serial;
    }
    rti_lock_release(&module->lock);
    return actor;
}

static rt_status group_unknown(void)
{
    return (rt_status){RT_ERR_NOT_FOUND, RTI_SENTENCE("there is no such group")};
}

rt_status rt_group_send(const char *group, uint32_t id, const void *data, size_t len, size_t *sent)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_groups *module = groups_of(worker);
    if (module == NULL) {
        return rti_actor_refusal(worker);
    }
    actor_id self = rti_sender_id(worker);
    rt_status status = group_unknown();
    size_t count = 0;
    bool is_first = true;
    uint64_t serial = 0;
    actor_id to;
    while ((to = group_after(module, group, &serial)) != ACTOR_ID_INVALID) {
        if (is_first) {
            status = RT_SUCCESS;
            is_first = false;
        }
        if (to == self) {
            continue;
        }
        rt_status one = rt_behaviour_send(to, id, data, len);
        count += !RT_FAILED(one);
        status = RT_FAILED(status) ? status : one;
    }
    if (sent != NULL) {
        *sent = count;
    }
    return status;
}

/* Takes the first member and puts it last; `*count` receives how many there are. */
static actor_id group_turn(struct rti_groups *module, const char *name, size_t *count)
{
    actor_id actor = ACTOR_ID_INVALID;
    *count = 0;
    rti_lock_acquire(&module->lock, module->actors->sched);
    struct rti_group *group = group_find(module, name);
    if (group != NULL) {
        struct rti_link *first = rti_list_pop(&group->members);
        rti_list_push_tail(&group->members, first);
        actor = member_of(first)->actor;
        for (struct rti_link *at = first; at != NULL; at = rti_list_next(&group->members, at)) {
            (*count)++;
        }
        for (struct rti_link *at = rti_list_peek(&group->members); at != first;
             at = rti_list_next(&group->members, at)) {
            (*count)++;
        }
    }
    rti_lock_release(&module->lock);
    return actor;
}

rt_status rt_group_send_one(const char *group, uint32_t id, const void *data, size_t len,
                            actor_id *to)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_groups *module = groups_of(worker);
    if (module == NULL) {
        return rti_actor_refusal(worker);
    }
    rt_status status = group_unknown();
    size_t left = 1;
    for (size_t tries = 0; tries < left; tries++) {
        size_t count;
        actor_id member = group_turn(module, group, &count);
        if (member == ACTOR_ID_INVALID) {
            return status;
        }
        left = tries == 0 ? count : left;
        status = rt_behaviour_send(member, id, data, len);
        if (!RT_FAILED(status)) {
            if (to != NULL) {
                *to = member;
            }
            return status;
        }
    }
    return status;
}

size_t rt_group_members(const char *group, actor_id *out, size_t out_max)
{
    struct rti_groups *module = groups_of(rti_worker_enter());
    size_t count = 0;
    uint64_t serial = 0;
    actor_id actor;
    while (module != NULL && (actor = group_after(module, group, &serial)) != ACTOR_ID_INVALID) {
        if (count < out_max && out != NULL) {
            out[count] = actor;
        }
        count++;
    }
    return count;
}

void rti_groups_init(struct rti_groups *module, struct rti_actors *actors)
{
    RT_ASSERT(actors->sched->modules[RTI_MODULE_GROUP] == NULL);
    module->actors = actors;
    module->next_serial = 1;
    rti_lock_init(&module->lock, actors->sched, RTI_LOCK_CHANNEL);
    rti_list_init(&module->all);
    rti_pool_init(&module->groups, module->group_memory, sizeof(struct rti_group), RT_MAX_GROUPS);
    rti_pool_init(&module->members, module->member_memory, sizeof(struct rti_member_of_group),
                  RT_GROUP_MEMBER_POOL_SIZE);
    actors->sched->modules[RTI_MODULE_GROUP] = module;
}

void rti_groups_deinit(struct rti_groups *module)
{
    rti_pool_deinit(&module->members);
    rti_pool_deinit(&module->groups);
    module->actors->sched->modules[RTI_MODULE_GROUP] = NULL;
}

void rti_groups_audit(const struct rti_groups *module)
{
    size_t members = 0;
    for (struct rti_link *at = rti_list_peek(&module->all); at != NULL;
         at = rti_list_next(&module->all, at)) {
        const struct rti_group *group = RTI_CONTAINER_OF(at, struct rti_group, link);
        RT_ASSERT(!rti_list_is_empty(&group->members) && group_find(module, group->name) == group);
        for (struct rti_link *one = rti_list_peek(&group->members); one != NULL;
             one = rti_list_next(&group->members, one)) {
            RT_ASSERT(member_of(one)->group == group);
            RT_ASSERT(group_member(group, member_of(one)->actor) == member_of(one));
            members++;
        }
    }
    RT_ASSERT(members == rti_pool_in_use(&module->members));
}
