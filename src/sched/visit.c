/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that block in a runtime; the essay is in visit.h. */
#define RTI_MODULE "visit"
#include "sched/visit.h"

void rti_visits_init(struct rti_visits *visits, struct rti_sched *sched)
{
    RT_ASSERT(sched->modules[RTI_MODULE_VISIT] == NULL);
    visits->sched = sched;
    rti_lock_init(&visits->lock, sched, RTI_LOCK_TABLE);
    rti_list_init(&visits->list);
    visits->is_evicting = false;
    sched->modules[RTI_MODULE_VISIT] = visits;
}

static void visit_wake(struct rti_wait *wait)
{
    struct rti_visit *visit = wait->target;
    struct rti_port *port = visit->visits->sched->port;
    /* Its frame may be gone as soon as the token is there. */
    rti_parker_unpark(&visit->parker, port);
}

bool rti_visit_begin(struct rti_visit *visit, struct rti_sched *sched, enum rti_wait_reason reason)
{
    struct rti_visits *visits = sched->modules[RTI_MODULE_VISIT];
    RT_ASSERT(visits != NULL && !rti_sched_is_local(sched));
    visit->visits = visits;
    rti_link_init(&visit->link);
    rti_parker_init(&visit->parker);
    rti_wait_begin(&visit->wait, visit_wake, visit, false);
    visit->wait.reason = (uint8_t)reason;
    rti_lock_acquire(&visits->lock, sched);
    bool is_welcome = !visits->is_evicting;
    if (is_welcome) {
        rti_list_push_tail(&visits->list, &visit->link);
    }
    rti_lock_release(&visits->lock);
    return is_welcome;
}

static void visit_over(struct rti_visit *visit)
{
    struct rti_visits *visits = visit->visits;
    rti_lock_acquire(&visits->lock, visits->sched);
    rti_list_remove(&visit->link);
    rti_lock_release(&visits->lock);
    rti_wait_finish(&visit->wait);
}

uint32_t rti_visit_park(struct rti_visit *visit, uint64_t deadline_ns)
{
    struct rti_port *port = visit->visits->sched->port;
    if (!rti_parker_park(&visit->parker, port, deadline_ns) &&
        !rti_wait_claim(&visit->wait, RTI_EVENT_TIMEOUT)) {
        /* Somebody was quicker, and its wake is on the way. */
        (void)rti_parker_park(&visit->parker, port, RTI_TIME_NEVER);
    }
    visit_over(visit);
    return rti_wait_event(&visit->wait);
}

bool rti_visit_end(struct rti_visit *visit, uint32_t event)
{
    if (!rti_wait_claim(&visit->wait, event)) {
        return false;
    }
    visit_over(visit);
    return true;
}

void rti_visits_evict(struct rti_visits *visits)
{
    struct rti_visit *evicted;
    do {
        evicted = NULL;
        rti_lock_acquire(&visits->lock, visits->sched);
        visits->is_evicting = true;
        struct rti_list *list = &visits->list;
        for (struct rti_link *at = rti_list_peek(list); at != NULL && evicted == NULL;
             at = rti_list_next(list, at)) {
            struct rti_visit *visit = RTI_CONTAINER_OF(at, struct rti_visit, link);
            evicted = rti_wait_claim(&visit->wait, RTI_EVENT_KILL) ? visit : NULL;
        }
        rti_lock_release(&visits->lock);
        if (evicted != NULL) {
            /* Claimed, it stays where it is until it is woken. */
            visit_wake(&evicted->wait);
        }
    } while (evicted != NULL);
}
