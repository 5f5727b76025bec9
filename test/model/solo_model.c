/* SPDX-License-Identifier: Apache-2.0 */

/* A worker that works alone (src/sched/solo.h), and who comes: in a section nobody else changes
 * what it changes, whoever has no station or takes one; no letter is lost, and exactly one push
 * finds an idle box. What a section may touch is ordinary memory here: an access that is not
 * ordered with the other's is a race.
 *
 * Both halves of the pair of fences are whole ones here. That is what the pair promises, on every
 * machine; what it does not promise, an order between two light ones, has no place in a model with
 * one worker that works alone at a time. */

#include "sched/solo.h"

#include "actor/rest.h"
#include "search_world.h"

enum { STATIONS = 2, MEMBERS = 2, LETTERS = 3 };

static struct rti_sched sched;
static struct rti_crew crew;
static struct rti_station stations[STATIONS];
static struct rti_member members[MEMBERS];
static struct rti_port port;
static struct rti_port_ops ops;
static struct rti_letterbox box;
static struct rti_letter letters[LETTERS];
static struct rti_runnable run;
static struct rti_runnable woken; /* in `next` */
static unsigned private_uses;     /* plain: of what is the worker's while it works alone */
static bool has_woken[MEMBERS];   /* its push found the box idle */
static bool is_resting;
static unsigned takes[MEMBERS]; /* of `woken` */

/* Each thread of the model is the member of its number. */
struct rti_worker *rti_worker_current(void)
{
    return members[explore_self()].worker;
}

/* The first member holds a station and the other is idle; the box is idle. */
static void setup(void)
{
    ops = *explore_port()->ops;
    ops.clock_ns = world_clock;
    ops.wait = world_wait;
    ops.wake = world_wake;
    port = (struct rti_port){.ops = &ops};
    sched = (struct rti_sched){.port = &port, .crew = &crew, .is_local = false};
    crew = (struct rti_crew){.sched = &sched,
                             .stations = stations,
                             .members = members,
                             .stations_count = STATIONS,
                             .members_max = MEMBERS,
                             .members_count = MEMBERS,
                             .can_solo = true};
    rti_lock_init(&crew.lock, &sched, RTI_LOCK_CREW);
    rti_injector_init(&crew.injector, &sched);
    rti_u32_init(&world_bell, 0);
    for (uint32_t i = 0; i < MEMBERS; i++) {
        members[i] = (struct rti_member){.crew = &crew, .index = i, .look_interval = 1};
        members[i].worker = &members[i].own;
        members[i].own = (struct rti_worker){.sched = &sched, .member = &members[i]};
        rti_u32_init(&members[i].own.is_solo, 0);
        rti_u32_init(&members[i].own.is_inside, 0);
        has_woken[i] = false;
        takes[i] = 0;
    }
    for (uint32_t i = 0; i < STATIONS; i++) {
        rti_station_init(&stations[i], i, &sched);
        rti_u32_init(&stations[i].state, RTI_STATION_HELD);
    }
    members[0].own.station = &stations[0];
    (void)rti_crew_give_back(&crew, &stations[1]);
    rti_letterbox_init(&box);
    run = (struct rti_runnable){.is_shared = true};
    rti_u32_init(&run.state, RTI_RUNNABLE_RUNNING);
    rti_runnable_init(&woken, 1, 0, world_step);
    rti_u32_init(&woken.state, RTI_RUNNABLE_READY);
    private_uses = 0;
    is_resting = false;
    explore_name(&members[0].own.is_solo, "solo");
    explore_name(&members[0].own.is_inside, "inside");
    explore_name(&box.word, "word");
    explore_name(&crew.lock.is_taken, "lock");
    explore_name(&stations[0].next, "next");
}

static void setup_idle(void)
{
    setup();
    EXPLORE_ASSERT(rti_rest_try(&run, &box, false));
}

static void setup_idle_solo(void)
{
    setup_idle();
    rti_solo_try(&members[0]);
    EXPLORE_ASSERT(rti_u32_load_relaxed(&members[0].own.is_solo) == 1);
}

static void setup_solo(void)
{
    setup();
    rti_solo_try(&members[0]);
}

static void setup_next(void)
{
    setup_solo();
    EXPLORE_ASSERT(rti_station_put_next(&stations[0], &woken));
}

/* What the worker does plainly in a section, and others while they keep it out. */
static void use_private(void)
{
    RTI_PLAIN_WRITE(&private_uses, sizeof private_uses);
    private_uses++;
}

static void note_push(bool was_idle)
{
    if (was_idle) {
        EXPLORE_ASSERT(!has_woken[0] && !has_woken[1]);
        has_woken[explore_self()] = true;
    }
}

static uintptr_t origin(void)
{
    return rti_letters_origin(letters);
}

/* A send of the worker. */
static void send(unsigned number)
{
    struct rti_worker *worker = &members[0].own;
    if (rti_solo_enter(worker)) {
        use_private();
        note_push(rti_letterbox_push_solo(&box, origin(), &letters[number]));
        rti_solo_leave(worker);
    } else {
        note_push(rti_letterbox_push(&box, origin(), &letters[number], rti_letterbox_look(&box)));
    }
}

static void send_two(void)
{
    send(0);
    send(1);
}

static void send_and_quit(void)
{
    send(0);
    rti_solo_quit(&members[0].own);
    send(1);
}

static void begin_and_send(void)
{
    rti_solo_try(&members[0]);
    send(0);
}

static void push_from_outside(void)
{
    use_private();
    note_push(rti_letterbox_push(&box, origin(), &letters[2], rti_letterbox_look(&box)));
}

static void visit(void)
{
    rti_solo_receive(&crew);
    push_from_outside();
    rti_solo_part(&crew);
}

static void take_a_station(void)
{
    EXPLORE_ASSERT(rti_crew_take_idle(&crew) == &stations[1]);
    push_from_outside();
}

static void check_letters(unsigned count)
{
    EXPLORE_ASSERT(rti_letterbox_entered(rti_letterbox_look(&box)) ==
                   count * rti_letterbox_entered(RTI_LETTERBOX_ONE));
    EXPLORE_ASSERT(rti_letterbox_audit(&box, origin()) == count);
    EXPLORE_ASSERT(has_woken[0] || has_woken[1]);
    EXPLORE_ASSERT(rti_u32_load_relaxed(&members[0].own.is_inside) == 0);
}

static void check_three(void)
{
    check_letters(3);
}

static void check_two(void)
{
    check_letters(2);
}

MODEL(solo_sends_beside_a_guest){
    .about = "a worker that works alone sends twice, one without a station sends once",
    .setup = setup_idle_solo,
    .threads = {send_two, visit},
    .check = check_three,
};

MODEL(solo_sends_beside_one_who_takes_a_station){
    .about = "a worker that works alone sends twice, one takes the idle station and sends",
    .setup = setup_idle_solo,
    .threads = {send_two, take_a_station},
    .check = check_three,
};

MODEL(solo_ends_by_itself_beside_a_guest){
    .about = "a worker sends and works alone no longer, one without a station sends",
    .setup = setup_idle_solo,
    .threads = {send_and_quit, visit},
    .check = check_three,
};

MODEL(solo_begins_beside_a_guest){
    .about = "a worker begins to work alone and sends, one without a station comes and goes",
    .setup = setup_idle,
    .threads = {begin_and_send, visit},
    .check = check_two,
};

MODEL(solo_begins_beside_one_who_takes_a_station){
    .about = "a worker begins to work alone and sends, one takes the idle station and sends",
    .setup = setup_idle,
    .threads = {begin_and_send, take_a_station},
    .check = check_two,
};

/* Rests, or finds the letter that has come. */
static void rest(void)
{
    struct rti_worker *worker = &members[0].own;
    bool is_solo = rti_solo_enter(worker);
    if (is_solo) {
        use_private();
    }
    is_resting = rti_rest_try(&run, &box, is_solo);
    if (is_solo) {
        rti_solo_leave(worker);
    }
    if (!is_resting) {
        EXPLORE_ASSERT(rti_letterbox_collect(&box, origin()));
    }
}

static void check_rest(void)
{
    EXPLORE_ASSERT(is_resting == has_woken[1]);
}

MODEL(solo_rests_beside_a_guest){
    .about = "a behaviour rests on a worker that works alone while one without a station sends",
    .setup = setup_solo,
    .threads = {rest, visit},
    .check = check_rest,
};

/* Takes `next` of its own station. */
static void take_next(void)
{
    struct rti_worker *worker = &members[0].own;
    bool is_solo = rti_solo_enter(worker);
    takes[0] += rti_station_pick_next(&stations[0], is_solo) != NULL;
    if (is_solo) {
        rti_solo_leave(worker);
    }
}

/* Takes it as a thief. */
static void steal_next(void)
{
    struct rti_station *station = rti_crew_take_idle(&crew);
    takes[1] += rti_station_steal_next(station, &stations[0]) != NULL;
}

static void check_taken_once(void)
{
    EXPLORE_ASSERT(takes[0] + takes[1] == 1);
}

MODEL(solo_takes_next_beside_a_thief){
    .about = "a worker that works alone takes `next`, one takes a station and steals it",
    .setup = setup_next,
    .threads = {take_next, steal_next},
    .check = check_taken_once,
};
