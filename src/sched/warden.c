/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "warden"
#include "sched/warden.h"

#include "sched/crew.h"
#include "sched/crew_search.h"

#define DELAY_MIN_NS (20 * RTI_NS_PER_US)
#define DELAY_MAX_NS (10 * RTI_NS_PER_MS)

/* Looks with nothing to do before the distance grows. */
#define CALM_LOOKS 50

/* How long a station makes no turn while others may not be used, before they may. */
#define OPEN_NS (100 * RTI_NS_PER_US)

/* How long a fiber runs before it is interrupted, and how long the port may go unasked. */
#define PREEMPT_NS (10 * RTI_NS_PER_MS)
#define POLL_NS    (10 * RTI_NS_PER_MS)

void rti_warden_rouse(struct rti_warden *warden)
{
    struct rti_port *port = warden->crew->sched->port;
    if (rti_u32_load_relaxed(&warden->is_asleep) != 0 &&
        rti_u32_exchange_acqrel(&warden->is_asleep, 0) != 0) {
        port->ops->futex_wake(port, &warden->is_asleep, 1);
    }
}

/* A turn of a station, or none at all, is seen for the first time. */
static void warden_see(struct rti_warden_view *view, uint64_t turns, uint64_t now_ns)
{
    view->turns = turns;
    view->since_ns = now_ns;
    view->first_ns = now_ns;
    view->is_suspected = false;
}

/* What was done at a station since the run began. */
static uint64_t station_work(const struct rti_station *station)
{
    return rti_u64_load_relaxed(&station->turns) + rti_u64_load_relaxed(&station->messages);
}

static struct rti_width_sight warden_sight(const struct rti_warden *warden, uint64_t now_ns)
{
    const struct rti_crew *crew = warden->crew;
    struct rti_width_sight sight = {.now_ns = now_ns};
    sight.used = crew->stations_count - rti_u32_load_relaxed(&crew->listed_count);
    sight.most = rti_u32_load_relaxed(&crew->used_most);
    uint64_t few = (now_ns - warden->width.since_ns) / RTI_WIDTH_LONG_NS;
    uint32_t slow = 0;
    for (uint32_t i = 0; i < crew->stations_count; i++) {
        const struct rti_station *station = &crew->stations[i];
        uint64_t work = station_work(station);
        bool is_held = rti_u32_load_relaxed(&station->state) == RTI_STATION_HELD;
        slow += is_held && work - warden->views[i].work < few;
        sight.work += work;
    }
    /* Who looks for work has no turns. */
    sight.is_uneven = slow > rti_u32_load_relaxed(&crew->spinning);
    return sight;
}

/* The width is what it is from here on: a window of it begins. */
static void warden_begin_window(struct rti_warden *warden, uint32_t before)
{
    struct rti_crew *crew = warden->crew;
    for (uint32_t i = 0; i < crew->stations_count; i++) {
        warden->views[i].work = station_work(&crew->stations[i]);
    }
    /* Who takes one just now may not be counted; those who stay are. */
    uint32_t used = crew->stations_count - rti_u32_load_relaxed(&crew->listed_count);
    rti_u32_store_relaxed(&crew->used_most, used);
    if (warden->width.now != before) {
        rti_crew_set_width(crew, warden->width.now);
    }
}

/* All stations may be used. */
static void warden_open(struct rti_warden *warden, uint64_t now_ns)
{
    uint32_t before = warden->width.now;
    struct rti_width_sight sight = warden_sight(warden, now_ns);
    rti_width_open(&warden->width, &sight);
    warden_begin_window(warden, before);
}

/* How many stations are used from now on? */
static void warden_weigh(struct rti_warden *warden, uint64_t now_ns)
{
    uint32_t before = warden->width.now;
    if (!rti_width_is_due(&warden->width, now_ns)) {
        return;
    }
    struct rti_width_sight sight = warden_sight(warden, now_ns);
    rti_width_look(&warden->width, &sight);
    warden_begin_window(warden, before);
}

/* Begins to look, or begins anew. */
static void warden_see_all(struct rti_warden *warden)
{
    struct rti_port *port = warden->crew->sched->port;
    uint64_t now_ns = port->ops->clock_ns(port);
    for (uint32_t i = 0; i < warden->crew->stations_count; i++) {
        warden_see(&warden->views[i], rti_u64_load_relaxed(&warden->crew->stations[i].turns),
                   now_ns);
    }
    warden_open(warden, now_ns);
    warden->calm = 0;
    warden->delay_ns = DELAY_MIN_NS;
}

/* Sleeps until somebody takes a station. */
static void warden_sleep(struct rti_warden *warden)
{
    struct rti_crew *crew = warden->crew;
    struct rti_port *port = crew->sched->port;
    warden_open(warden, port->ops->clock_ns(port));
    rti_u32_exchange_acqrel(&warden->is_asleep, 1);
    /* Announced; fence; then looks: pairs with the fence of who takes a station. */
    rti_fence_seqcst();
    while (rti_u32_load_acquire(&warden->is_asleep) != 0 &&
           rti_u32_load_relaxed(&crew->listed_count) == crew->stations_count &&
           rti_u32_load_relaxed(&warden->is_stopping) == 0) {
        (void)port->ops->futex_wait(port, &warden->is_asleep, 1, rti_overrun_next(warden));
        rti_overrun_ask(warden, port->ops->clock_ns(port));
    }
    rti_u32_store_relaxed(&warden->is_asleep, 0);
    /* Nobody has kept a station meanwhile. */
    warden_see_all(warden);
}

static bool station_has_work(const struct rti_station *station)
{
    return !rti_station_is_empty(station) || rti_ptr_load_relaxed(&station->next) != NULL;
}

/* A worker has been in a blocking call since the last look: the station goes to another. */
static bool warden_retake(struct rti_warden *warden, struct rti_station *station)
{
    uint32_t state = RTI_STATION_BLOCKED;
    /* Acquire pairs with the release of who let go of it. */
    if (!rti_u32_cas_acqrel(&station->state, &state, RTI_STATION_HELD)) {
        return false;
    }
    rti_station_count(&warden->retakes, 1);
    rti_crew_hand_over(warden->crew, station);
    return true;
}

/* The holder of a station keeps it: it may become an overrun. */
static void warden_suspect(struct rti_warden *warden, struct rti_station *station,
                           struct rti_warden_view *view)
{
    struct rti_member *member = rti_ptr_load_relaxed(&station->holder);
    if (member != NULL) {
        rti_overrun_suspect(warden, member, view, !view->is_suspected);
        view->is_suspected = true;
    }
}

/* One station; true if there was something to do. */
static bool warden_look_at(struct rti_warden *warden, uint32_t index, uint64_t now_ns)
{
    struct rti_crew *crew = warden->crew;
    struct rti_station *station = &crew->stations[index];
    struct rti_warden_view *view = &warden->views[index];
    uint32_t state = rti_u32_load_relaxed(&station->state);
    uint64_t turns = rti_u64_load_relaxed(&station->turns);
    bool is_same = turns == view->turns;
    bool was_blocked = view->was_blocked && is_same;
    view->was_blocked = state == RTI_STATION_BLOCKED;
    if (!is_same) {
        warden_see(view, turns, now_ns);
        return false;
    }
    if (state == RTI_STATION_BLOCKED) {
        return was_blocked && warden_retake(warden, station);
    }
    if (state != RTI_STATION_HELD) {
        warden_see(view, turns, now_ns);
        return false;
    }
    if (warden->width.now < warden->width.max && now_ns - view->first_ns >= OPEN_NS) {
        /* Those who would be woken for what waits may not work. */
        warden_open(warden, now_ns);
    }
    if (station_has_work(station)) {
        rti_crew_rouse_one(crew);
    }
    if (now_ns - view->since_ns >= PREEMPT_NS) {
        view->since_ns = now_ns;
        warden_suspect(warden, station, view);
        if (rti_crew_preempt(crew, station)) {
            rti_station_count(&warden->preempts, 1);
        }
        return true;
    }
    return false;
}

static void warden_look(struct rti_warden *warden)
{
    struct rti_crew *crew = warden->crew;
    struct rti_port *port = crew->sched->port;
    uint64_t now_ns = port->ops->clock_ns(port);
    bool is_busy = false;
    for (uint32_t i = 0; i < crew->stations_count; i++) {
        is_busy = warden_look_at(warden, i, now_ns) || is_busy;
    }
    warden_weigh(warden, now_ns);
    rti_overrun_ask(warden, now_ns);
    if (now_ns - rti_u64_load_relaxed(&crew->polled_ns) >= POLL_NS) {
        rti_crew_poll(crew, now_ns);
    }
    warden->calm = is_busy ? 0 : warden->calm + 1;
    if (is_busy) {
        warden->delay_ns = DELAY_MIN_NS;
    } else if (warden->calm > CALM_LOOKS && warden->delay_ns < DELAY_MAX_NS) {
        warden->delay_ns *= 2;
        warden->delay_ns = warden->delay_ns > DELAY_MAX_NS ? DELAY_MAX_NS : warden->delay_ns;
    }
}

static void warden_main(void *arg)
{
    struct rti_warden *warden = arg;
    struct rti_crew *crew = warden->crew;
    struct rti_port *port = crew->sched->port;
    while (rti_u32_load_acquire(&warden->is_stopping) == 0) {
        if (rti_u32_load_relaxed(&crew->listed_count) == crew->stations_count) {
            warden_sleep(warden);
            continue;
        }
        uint64_t wake_ns = port->ops->clock_ns(port) + warden->delay_ns;
        uint64_t weigh_ns = rti_width_next_ns(&warden->width);
        wake_ns = weigh_ns < wake_ns ? weigh_ns : wake_ns;
        (void)port->ops->futex_wait(port, &warden->is_stopping, 0, wake_ns);
        warden_look(warden);
    }
}

void rti_warden_start(struct rti_warden *warden)
{
    struct rti_port *port = warden->crew->sched->port;
    rti_u32_store_relaxed(&warden->is_stopping, 0);
    rti_u32_store_relaxed(&warden->is_asleep, 0);
    warden_see_all(warden);
    rt_status status = port->ops->thread_start(port, &warden->thread, warden_main, warden);
    warden->is_started = !RT_FAILED(status);
    if (RT_FAILED(status)) {
        rti_port_log("no thread for the warden: blocking calls keep their workers");
    }
}

void rti_warden_stop(struct rti_warden *warden)
{
    struct rti_port *port = warden->crew->sched->port;
    if (!warden->is_started) {
        return;
    }
    /* Release pairs with the acquire in warden_main. */
    rti_u32_store_release(&warden->is_stopping, 1);
    port->ops->futex_wake(port, &warden->is_stopping, 1);
    rti_fence_seqcst();
    rti_warden_rouse(warden);
    port->ops->thread_join(port, &warden->thread);
    rti_overrun_forget(warden);
    warden->is_started = false;
}
