/* SPDX-License-Identifier: Apache-2.0 */
/* What others ask of a supervisor; the manual is <orrery/rt/supervisor.h>.
 *
 * A request is a call of a few words. What is long, the record of a new child, is made by who asks
 * and put into the supervisor's list `asked`: it needs no message of its size, and if who asks is
 * killed meanwhile the supervisor has all it needs. */
#define RTI_MODULE "supervisor_calls"
#include <string.h>

#include <orrery/rt/call.h>

#include "actor/call.h"
#include "actor/supervisor.h"

rt_status rt_supervisor_start(const rt_supervisor_config *config, actor_id *out)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_supervisors *module = rti_supervisors_of(worker);
    if (module == NULL) {
        return rti_actor_refusal(worker);
    }
    actor_id id;
    rt_status status = rti_supervisor_open(module, config, NULL, out != NULL ? out : &id);
    return status;
}

bool rt_is_stop_msg(const rt_message *msg)
{
    return msg != NULL && msg->sender == RT_SENDER_SUPERVISOR;
}

/* The supervisor that the calling actor means, with the lock; NULL, without it and with the reason
 * in `*status`, if it is none or the caller may not ask. */
static RTI_ENTERING struct rti_supervisor *calls_find(actor_id supervisor, rt_status *status)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_supervisors *module = rti_supervisors_of(worker);
    struct rti_actor *self = module == NULL ? NULL : rti_actor_of(worker);
    if (self == NULL) {
        *status = rti_actor_refusal(worker);
        return NULL;
    }
    rti_actors_lock(module->actors);
    struct rti_supervisor *found = rti_supervisor_lookup(module, supervisor);
    if (found == NULL || found->self == self) {
        rti_actors_unlock(module->actors);
        *status = (rt_status){RT_ERR_INVALID,
                              RTI_SENTENCE("there is no such supervisor, or it is the caller")};
        return NULL;
    }
    *status = RT_SUCCESS;
    return found;
}

/* Asks and waits for the answer. The supervisor may be gone when this returns. */
static rt_status calls_ask(actor_id supervisor, const struct rti_request *request, actor_id *actor)
{
    uint64_t word;
    rt_status status = rti_call_for_word(supervisor, request, sizeof(*request), &word, -1);
    if (RT_FAILED(status)) {
        return status;
    }
    rt_status_code code = (rt_status_code)(word >> 32);
    switch (code) {
    case RT_OK:
        if (actor != NULL) {
            *actor = (actor_id)word;
        }
        return RT_SUCCESS;
    case RT_ERR_NOT_FOUND:
        return (rt_status){code, RTI_SENTENCE("the supervisor has no such child")};
    case RT_ERR_STATE:
        return (rt_status){code, RTI_SENTENCE("the child runs or waits for its restart")};
    case RT_ERR_EXISTS:
        return (rt_status){code, RTI_SENTENCE("another actor has the name of the child")};
    default:
        return (rt_status){code, RTI_SENTENCE("the child could not be started")};
    }
}

rt_status rt_supervisor_stop(actor_id supervisor, int32_t timeout_ms)
{
    rt_status status;
    struct rti_supervisor *found = calls_find(supervisor, &status);
    if (found == NULL) {
        return status;
    }
    rti_actors_unlock(found->module->actors);
    const struct rti_request request = {.kind = RTI_REQUEST_STOP};
    uint64_t word;
    status = rti_call_for_word(supervisor, &request, sizeof(request), &word, timeout_ms);
    /* It never answers: its end does. */
    RT_ASSERT(RT_FAILED(status));
    return status.code == RT_ERR_CLOSED ? RT_SUCCESS : status;
}

/* A request that could not be made, or was refused for want of room: if the child is still in
 * `asked`, it goes. */
static void calls_take_back(actor_id supervisor, uint32_t serial)
{
    struct rti_supervisors *module = rti_supervisors_of(rti_worker_current());
    rti_actors_lock(module->actors);
    struct rti_supervisor *found = rti_supervisor_lookup(module, supervisor);
    struct rti_link *at = found == NULL ? NULL : rti_list_peek(&found->asked);
    while (at != NULL && rti_child_of(at)->serial != serial) {
        at = rti_list_next(&found->asked, at);
    }
    if (at != NULL) {
        rti_child_free(rti_child_of(at));
    }
    rti_actors_unlock(module->actors);
}

/* Puts a child into the supervisor's hands. Under the lock, which it gives back. */
static rt_status calls_add(struct rti_supervisor *found, struct rti_child *child, actor_id *out)
{
    actor_id supervisor = found->id;
    struct rti_actors *actors = found->module->actors;
    if (child == NULL) {
        rti_actors_unlock(actors);
        return (rt_status){RT_ERR_NOMEM, RTI_SENTENCE("no room for a child")};
    }
    const struct rti_request request = {.kind = RTI_REQUEST_ADD, .serial = child->serial};
    rti_list_push_tail(&found->asked, &child->link);
    rti_actors_unlock(actors);
    rt_status status = calls_ask(supervisor, &request, out);
    if (status.code == RT_ERR_NOMEM) {
        calls_take_back(supervisor, request.serial);
    }
    return status;
}

static rt_status calls_no_child(void)
{
    return (rt_status){RT_ERR_NOT_FOUND, RTI_SENTENCE("the supervisor has no such child")};
}

/* Gives the lock back with a refusal. */
static rt_status calls_refuse(const struct rti_supervisor *found, rt_status status)
{
    rti_actors_unlock(found->module->actors);
    return status;
}

static struct rti_child *calls_child(const struct rti_list *list, const char *id)
{
    for (struct rti_link *at = rti_list_peek(list); at != NULL; at = rti_list_next(list, at)) {
        if (strcmp(rti_child_of(at)->id, id) == 0) {
            return rti_child_of(at);
        }
    }
    return NULL;
}

rt_status rt_supervisor_add(actor_id supervisor, const rt_child_spec *spec, actor_id *out)
{
    rt_status status;
    struct rti_supervisor *found = calls_find(supervisor, &status);
    if (found == NULL) {
        return status;
    }
    if (spec == NULL || !rti_child_spec_is_valid(spec, false)) {
        return calls_refuse(
            found, (rt_status){RT_ERR_INVALID,
                               RTI_SENTENCE("a child cannot be as its specification says")});
    }
    if (found->strategy == RT_SIMPLE) {
        return calls_refuse(
            found, (rt_status){RT_ERR_STATE,
                               RTI_SENTENCE("all children of this supervisor are of one kind")});
    }
    if (calls_child(&found->children, spec->id) != NULL ||
        calls_child(&found->asked, spec->id) != NULL) {
        return calls_refuse(
            found,
            (rt_status){RT_ERR_EXISTS, RTI_SENTENCE("a child of this supervisor has this id")});
    }
    return calls_add(found, rti_child_make(found, spec), out);
}

rt_status rt_supervisor_spawn(actor_id supervisor, void *arg, actor_id *out)
{
    rt_status status;
    struct rti_supervisor *found = calls_find(supervisor, &status);
    if (found == NULL) {
        return status;
    }
    if (found->strategy != RT_SIMPLE) {
        return calls_refuse(
            found,
            (rt_status){RT_ERR_STATE, RTI_SENTENCE("the children of this supervisor differ")});
    }
    return calls_add(found, rti_child_copy(found->kind, arg), out);
}

static rt_status calls_about(actor_id supervisor, const char *id, enum rti_request_kind kind,
                             actor_id *out)
{
    rt_status status;
    struct rti_supervisor *found = calls_find(supervisor, &status);
    if (found == NULL) {
        return status;
    }
    struct rti_child *child = id == NULL ? NULL : calls_child(&found->children, id);
    if (child == NULL || found->strategy == RT_SIMPLE) {
        return calls_refuse(found, calls_no_child());
    }
    const struct rti_request request = {.kind = kind, .serial = child->serial};
    rti_actors_unlock(found->module->actors);
    return calls_ask(supervisor, &request, out);
}

rt_status rt_supervisor_stop_child(actor_id supervisor, const char *id)
{
    return calls_about(supervisor, id, RTI_REQUEST_STOP_CHILD, NULL);
}

rt_status rt_supervisor_restart_child(actor_id supervisor, const char *id, actor_id *out)
{
    return calls_about(supervisor, id, RTI_REQUEST_RESTART_CHILD, out);
}

rt_status rt_supervisor_remove_child(actor_id supervisor, const char *id)
{
    return calls_about(supervisor, id, RTI_REQUEST_REMOVE_CHILD, NULL);
}

rt_status rt_supervisor_stop_actor(actor_id supervisor, actor_id child)
{
    rt_status status;
    struct rti_supervisor *found = calls_find(supervisor, &status);
    if (found == NULL) {
        return status;
    }
    for (struct rti_child *at = rti_child_first(found); at != NULL; at = rti_child_next(at)) {
        if (at->actor == child && child != ACTOR_ID_INVALID) {
            const struct rti_request request = {.kind = RTI_REQUEST_STOP_CHILD,
                                                .serial = at->serial};
            rti_actors_unlock(found->module->actors);
            return calls_ask(supervisor, &request, NULL);
        }
    }
    return calls_refuse(found, calls_no_child());
}

static void calls_tell(const struct rti_child *child, rt_child_info *out)
{
    *out = (rt_child_info){
        .actor = child->actor,
        .state = (rt_child_state)child->state,
        .restart = (rt_restart)child->restart,
        .is_supervisor = child->code.supervisor != NULL,
        .restarts = child->restarts,
    };
    memcpy(out->id, child->id, sizeof(out->id));
}

rt_status rt_supervisor_which_children(actor_id supervisor, rt_child_info *out, size_t out_max,
                                       size_t *count)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_supervisors *module = rti_supervisors_of(worker);
    if (module == NULL) {
        return rti_actor_refusal(worker);
    }
    rti_actors_lock(module->actors);
    struct rti_supervisor *found = rti_supervisor_lookup(module, supervisor);
    if (found == NULL || count == NULL || (out == NULL && out_max > 0)) {
        rti_actors_unlock(module->actors);
        return (rt_status){RT_ERR_INVALID,
                           RTI_SENTENCE("there is no such supervisor, or no room for the answer")};
    }
    size_t seen = 0;
    for (struct rti_child *at = rti_child_first(found); at != NULL; at = rti_child_next(at)) {
        if (seen < out_max) {
            calls_tell(at, &out[seen]);
        }
        seen++;
    }
    rti_actors_unlock(module->actors);
    *count = seen;
    return RT_SUCCESS;
}
