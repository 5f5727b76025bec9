/* SPDX-License-Identifier: Apache-2.0 */

/* A worker that works alone (src/sched/solo.h), and who comes: in a section nobody else changes
 * what it changes, whoever has no station or takes one; no letter is lost, and exactly one push
 * finds an idle box; one in a ring is taken once; the end of a task and who wants to wait for it or
 * to let it go find each other, and of those who come with a handle one takes the result. What a
 * section may touch is ordinary memory here: an access that is not ordered with the other's is a
 * race.
 *
 * Both halves of the pair of fences are whole ones here. That is what the pair promises, on every
 * machine; what it does not promise, an order between two light ones, has no place in a model with
 * one worker that works alone at a time. */

#include "sched/solo.h"

#include "actor/rest.h"
#include "solo_world.h"
#include "task/task_asker.h"
#include "task/task_handle.h"
#include "task/task_life.h"

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
        note_push(
            rti_letterbox_push_solo(&box, origin(), &letters[number], rti_letterbox_look(&box)));
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
    rti_solo_finish(worker, is_solo);
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

/* Is the receiver, until it rests. */
static void serve(void)
{
    while (!is_resting) {
        struct rti_letter *letter;
        while ((letter = rti_letterbox_take(&box)) != NULL) {
            unsigned number = (unsigned)(letter - letters);
            EXPLORE_ASSERT(number == 2 || number == served_next);
            served_next += number != 2;
            served++;
        }
        rest();
    }
}

static void send_two_and_serve(void)
{
    send_two();
    serve();
}

static void begin_among_sends_and_serve(void)
{
    send(0);
    rti_solo_try(&members[0]);
    send(1);
    serve();
}

/* A push from outside that finds the box at rest is the next receiver's. */
static void check_served(void)
{
    EXPLORE_ASSERT(served_next == 2 && served + has_woken[1] == 3);
    EXPLORE_ASSERT(rti_letterbox_audit(&box, origin()) == has_woken[1]);
}

MODEL(solo_serves_what_it_has_sent_beside_a_guest){
    .about =
        "a worker that works alone sends twice and takes what came, one without a station sends",
    .setup = setup_solo,
    .threads = {send_two_and_serve, visit},
    .check = check_served,
};

MODEL(solo_begins_behind_what_was_sent_before){
    .about = "a worker sends, works alone, sends and takes what came, one without a station sends",
    .setup = setup,
    .threads = {begin_among_sends_and_serve, visit},
    .check = check_served,
};

/* Takes `next` of its own station. */
static void take_next(void)
{
    struct rti_worker *worker = &members[0].own;
    bool is_solo = rti_solo_enter(worker);
    takes[0] += rti_station_pick_next(&stations[0], is_solo) != NULL;
    rti_solo_finish(worker, is_solo);
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

/* ---- a ring ---- */

enum { QUEUED = 2 };

static struct queued {
    struct rti_runnable run;
    uint32_t payload; /* plain: written before it is queued, and by who takes it */
} queued[QUEUED];
static unsigned left; /* in the rings, when all is over */

static void setup_ring(void)
{
    setup_solo();
    for (uint32_t i = 0; i < QUEUED; i++) {
        rti_runnable_init(&queued[i].run, i, 0, world_step);
        rti_u32_init(&queued[i].run.state, RTI_RUNNABLE_READY);
        queued[i].payload = 1;
        rti_station_queue(&stations[0], &queued[i].run, &crew.injector);
    }
    explore_name(&stations[0].levels[0].head, "head");
    explore_name(&stations[0].levels[0].tail, "tail");
}

static void note_taken(struct rti_runnable *runnable)
{
    if (runnable != NULL) {
        struct queued *one = RTI_CONTAINER_OF(runnable, struct queued, run);
        RTI_PLAIN_WRITE(&one->payload, sizeof one->payload);
        EXPLORE_ASSERT(one->payload == 1);
        one->payload = 0;
        takes[explore_self()]++;
    }
}

static void pop_two(void)
{
    note_taken(rti_solo_pop(&members[0].own, RTI_PRIORITY_LEVELS));
    note_taken(rti_solo_pop(&members[0].own, RTI_PRIORITY_LEVELS));
}

static void steal_half(void)
{
    struct rti_station *station = rti_crew_take_idle(&crew);
    note_taken(rti_station_steal(station, &stations[0]));
}

static void check_popped(void)
{
    left = (unsigned)rti_ring_count(&stations[0].levels[0]);
    EXPLORE_ASSERT(takes[0] + takes[1] + left == QUEUED);
}

MODEL(solo_pops_beside_a_thief){
    .about = "a worker that works alone takes from its ring, one takes a station and steals there",
    .setup = setup_ring,
    .threads = {pop_two, steal_half},
    .check = check_popped,
};

/* ---- a task ---- */

enum { RESULT = 7 };

static const uintptr_t number = RTI_TASK_HANDLE_STEP + 1;
static struct rti_task_word life;
static rti_atomic_size handle;
static uint64_t result;      /* plain: of the task */
static bool is_told;         /* the end has found who watches, or who let go */
static bool is_found;        /* who watches or lets go came before the end */
static rti_atomic_u32 joins; /* who has consumed the handle */

/* A task that runs, and that nobody watches. */
static void prepare_task(void)
{
    rti_task_life_init(&life, false);
    rti_task_to_held(&life);
    rti_size_init(&handle, number);
    rti_u32_init(&joins, 0);
    result = 0;
    is_told = false;
    is_found = false;
    explore_name(&life.state, "life");
    explore_name(&handle, "handle");
}

static void setup_task(void)
{
    setup_solo();
    prepare_task();
}

static void setup_ended_task(void)
{
    setup_task();
    result = RESULT;
    rti_u8_init(&life.state, RTI_TASK_COMPLETE);
}

/* As task_conclude has it. */
static void end_task(void)
{
    struct rti_worker *worker = &members[0].own;
    RTI_PLAIN_WRITE(&result, sizeof result);
    result = RESULT;
    bool is_solo = rti_solo_begin(worker);
    bool is_complete = is_solo && rti_task_to_complete_alone(&life);
    rti_solo_finish(worker, is_solo);
    is_told = !is_complete && rti_task_to_ended(&life) != RTI_TASK_END_LEAVE;
}

static void see_result(void)
{
    RTI_PLAIN_READ(&result, sizeof result);
    EXPLORE_ASSERT(result == RESULT);
}

static void watch_as_a_guest(void)
{
    rti_solo_receive(&crew);
    is_found = rti_task_to_watched(&life);
    rti_solo_part(&crew);
    if (!is_found) {
        see_result();
    }
}

static void release_as_a_guest(void)
{
    rti_solo_receive(&crew);
    is_found = rti_task_to_released(&life);
    rti_solo_part(&crew);
    if (!is_found) {
        see_result();
    }
}

static void check_told(void)
{
    EXPLORE_ASSERT(is_told == is_found);
}

MODEL(solo_ends_a_task_beside_a_guest_who_watches){
    .about = "a task ends at a worker that works alone, one without a station wants to wait for it",
    .setup = setup_task,
    .threads = {end_task, watch_as_a_guest},
    .check = check_told,
};

MODEL(solo_ends_a_task_beside_a_guest_who_lets_it_go){
    .about = "a task ends at a worker that works alone, one without a station lets it go",
    .setup = setup_task,
    .threads = {end_task, release_as_a_guest},
    .check = check_told,
};

static void watch_at_a_station(void)
{
    EXPLORE_ASSERT(rti_crew_take_idle(&crew) == &stations[1]);
    is_found = rti_task_to_watched(&life);
    if (!is_found) {
        see_result();
    }
}

MODEL(solo_ends_a_task_beside_one_who_takes_a_station){
    .about =
        "a task ends at a worker that works alone, one takes a station and wants to wait for it",
    .setup = setup_task,
    .threads = {end_task, watch_at_a_station},
    .check = check_told,
};

/* Who watches has come before the worker began to work alone. */
static void setup_watched_task(void)
{
    setup_task();
    is_found = rti_task_to_watched(&life);
}

MODEL(solo_ends_a_task_that_is_watched){
    .about = "a task whose end is waited for ends at a worker that works alone",
    .setup = setup_watched_task,
    .threads = {end_task},
    .check = check_told,
};

/* Who has the handle in use, and waits for nothing: it looks. */
static void look_for_the_end(void)
{
    if (rti_task_life(&life) == RTI_TASK_COMPLETE) {
        see_result();
    }
}

MODEL(solo_ends_a_task_beside_one_who_looks){
    .about = "a task ends at a worker that works alone, one looks whether it has ended",
    .setup = setup_task,
    .threads = {end_task, look_for_the_end},
};

/* As join_consume has it. */
static bool consume_handle(void)
{
    struct rti_worker *worker = &members[0].own;
    bool is_solo = rti_solo_begin(worker);
    bool is_taken = rti_task_handle_is(&handle, number) &&
                    rti_task_life(&life) == RTI_TASK_COMPLETE &&
                    (is_solo ? rti_task_handle_take_alone(&handle, number)
                             : rti_task_handle_take(&handle, number));
    rti_solo_finish(worker, is_solo);
    return is_taken;
}

/* Takes the result, and the memory is another task's. */
static void take_result(void)
{
    RTI_PLAIN_WRITE(&result, sizeof result);
    EXPLORE_ASSERT(result == RESULT);
    result = 0;
    (void)rti_u32_add_relaxed(&joins, 1);
}

static void join_task(void)
{
    if (consume_handle()) {
        take_result();
    }
}

static void join_as_a_guest(void)
{
    rti_solo_receive(&crew);
    bool is_used = rti_task_handle_use(&handle, number, false);
    rti_solo_part(&crew);
    if (is_used) {
        rti_task_handle_consume(&handle, false);
        take_result();
    }
}

static void check_joined_once(void)
{
    EXPLORE_ASSERT(rti_u32_load_relaxed(&joins) == 1);
    EXPLORE_ASSERT(rti_size_load_relaxed(&handle) == 0);
}

MODEL(solo_joins_beside_a_guest){
    .about = "a worker that works alone joins a task, one without a station comes with the handle",
    .setup = setup_ended_task,
    .threads = {join_task, join_as_a_guest},
    .check = check_joined_once,
};

/* The same of one who uses the handle. */
static void setup_handle_in_use(void)
{
    setup_ended_task();
    EXPLORE_ASSERT(rti_task_handle_use(&handle, number, false));
}

static void check_not_joined(void)
{
    EXPLORE_ASSERT(rti_u32_load_relaxed(&joins) == 0);
}

MODEL(solo_finds_a_handle_in_use){
    .about = "a worker that works alone comes with a handle that another has in use",
    .setup = setup_handle_in_use,
    .threads = {join_task},
    .check = check_not_joined,
};

/* Who asks the task to stop: at the task as long as its handle is good. */
static struct rti_lock module_lock;
static struct rti_task_asker asker;
static uint64_t context; /* plain: of the task, then of the next in the slot */

static void setup_asked(void)
{
    setup_ended_task();
    rti_lock_init(&module_lock, &sched, RTI_LOCK_TASK);
    rti_task_asker_init(&asker);
    context = 0;
    explore_name(&asker.at, "asker");
}

static void ask_as_a_guest(void)
{
    rti_solo_receive(&crew);
    rti_lock_acquire(&module_lock, &sched);
    rti_task_asker_come(&asker, &life);
    if (rti_task_handle_is(&handle, number)) {
        RTI_PLAIN_WRITE(&context, sizeof context);
        EXPLORE_ASSERT(context == 0);
        context = 1;
    }
    rti_task_asker_go(&asker);
    rti_lock_release(&module_lock);
    rti_solo_part(&crew);
}

static void reuse_context(void)
{
    RTI_PLAIN_WRITE(&context, sizeof context);
    context = 2;
}

static void join_and_reuse(void)
{
    EXPLORE_ASSERT(consume_handle());
    if (rti_task_asker_is_at(&asker, &life)) {
        rti_lock_acquire(&module_lock, &sched);
        rti_lock_release(&module_lock);
    }
    reuse_context();
}

/* As join_alone has it: in the section nobody asks, so that who gives the slot back does not look.
 */
static void join_alone_and_reuse(void)
{
    struct rti_worker *worker = &members[0].own;
    if (!rti_solo_enter(worker)) {
        join_and_reuse();
        return;
    }
    EXPLORE_ASSERT(rti_task_life(&life) == RTI_TASK_COMPLETE);
    EXPLORE_ASSERT(rti_task_handle_take_alone(&handle, number));
    rti_solo_leave(worker);
    reuse_context();
}

static void check_reused(void)
{
    EXPLORE_ASSERT(context == 2);
}

MODEL(solo_joins_beside_a_guest_who_asks){
    .about = "a worker that works alone joins a task and uses its slot again, a guest asks it",
    .setup = setup_asked,
    .threads = {join_and_reuse, ask_as_a_guest},
    .check = check_reused,
};

MODEL(solo_joins_without_a_look_beside_a_guest_who_asks){
    .about = "the same in one section, in which it does not look for who asks",
    .setup = setup_asked,
    .threads = {join_alone_and_reuse, ask_as_a_guest},
    .check = check_reused,
};

/* ---- from the end of a task to the next one, in one section ---- */

static uint64_t slot; /* plain: what the task that ends has there, then whose it is next */

/* One that has not begun is queued behind the task that runs. */
static void setup_row(void)
{
    setup_ring();
    prepare_task();
    slot = RESULT;
}

/* As fiber_pass_on_alone has it: what is in the slot is handed on before the end can be seen, and
 * who gets it is taken after that. */
static void end_and_pass_on(void)
{
    struct rti_worker *worker = &members[0].own;
    RTI_PLAIN_WRITE(&result, sizeof result);
    result = RESULT;
    if (!rti_solo_enter(worker)) {
        (void)rti_task_to_ended(&life);
        note_taken(rti_solo_pop(worker, RTI_PRIORITY_LEVELS));
        return;
    }
    struct rti_ring *ring = rti_station_urgent(&stations[0]);
    struct rti_runnable *next = rti_ring_peek(ring);
    RTI_PLAIN_READ(&slot, sizeof slot);
    EXPLORE_ASSERT(slot == RESULT);
    EXPLORE_ASSERT(next != NULL && rti_task_to_complete_alone(&life));
    rti_ring_drop_alone(ring);
    rti_solo_leave(worker);
    note_taken(next);
}

/* Takes the result of the task that has ended, and has its slot for another. */
static void take_slot(void)
{
    take_result();
    RTI_PLAIN_WRITE(&slot, sizeof slot);
    slot = 0;
}

static void reuse_slot(void)
{
    if (rti_task_life(&life) == RTI_TASK_COMPLETE && rti_task_handle_take(&handle, number)) {
        take_slot();
    }
}

static void steal_and_join(void)
{
    steal_half();
    reuse_slot();
}

static void join_ended_as_a_guest(void)
{
    rti_solo_receive(&crew);
    reuse_slot();
    rti_solo_part(&crew);
}

MODEL(solo_passes_on_beside_a_thief){
    .about = "a task ends and the next one begins in one section, one takes a station and comes",
    .setup = setup_row,
    .threads = {end_and_pass_on, steal_and_join},
    .check = check_popped,
};

MODEL(solo_passes_on_beside_a_guest){
    .about = "a task ends and the next one begins in one section, a guest comes with the handle",
    .setup = setup_row,
    .threads = {end_and_pass_on, join_ended_as_a_guest},
    .check = check_popped,
};

/* The mark is gone and comes back. */
static void setup_row_before_solo(void)
{
    setup_row();
    rti_solo_quit(&members[0].own);
}

static void begin_and_pass_on(void)
{
    rti_solo_try(&members[0]);
    end_and_pass_on();
}

/* As join_going has it, by who has no station: a guest while it takes the handle into use, and none
 * any more when it looks whether the task has ended. */
static void join_with_the_handle_in_use(void)
{
    rti_solo_receive(&crew);
    bool is_used = rti_task_handle_use(&handle, number, false);
    rti_solo_part(&crew);
    EXPLORE_ASSERT(is_used);
    if (rti_task_life(&life) == RTI_TASK_COMPLETE) {
        rti_task_handle_consume(&handle, false);
        take_slot();
    }
}

MODEL(solo_passes_on_beside_one_who_was_a_guest){
    .about = "a task ends and the next one begins in one section, its handle is in use by one who "
             "came as a guest and is none any more",
    .setup = setup_row_before_solo,
    .threads = {begin_and_pass_on, join_with_the_handle_in_use},
    .check = check_popped,
};
