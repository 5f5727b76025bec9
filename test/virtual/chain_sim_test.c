/* SPDX-License-Identifier: Apache-2.0 */
/* Two behaviours that send to each other for ever, on virtual workers, or, by the number of the
 * world, two poll tasks that call each other, or tasks, with a stack or not, each of which starts
 * the next one, joins the one before, and ends: the worker goes on with the other without a search
 * (sched/chain.h), and who ends while it works alone does so in one section with the beginning of
 * the next one. What waits elsewhere comes within a bound all the same. The bounds are in turns of
 * the two, which see at the beginning of each what waits: none of them is one of the machine's
 * time.
 *
 * Seeds: 20 */
#define _GNU_SOURCE
#define RTI_MODULE "chain_sim_test"
#include <orrery/rt.h>

#include "base/journal.h"
#include "observe/journal_api.h"
#include "observe/recording.h"
#include "runtime/runtime.h"
#include "sched/crew.h"
#include "support/test.h"
#include "task/asyncs.h"
#include "virtual/world.h"

TEST_TIMEOUT(60);

#define WORKERS_MAX 4
#define MEMBERS_MAX (2 * WORKERS_MAX)
#define TOKENS      4

static struct {
    uint64_t seed;
    actor_id pair[2];
    rt_async_task *polls[2]; /* in their place; or the last one that was started, and the one
                              * before */
    rt_task *tasks[2];       /* likewise */
    rti_atomic_u32 token;    /* which of those has its turn; or how many were started */
    void (*on_turn)(void);
    bool is_handed_on;
    uint64_t turns;  /* of the two, which take them one after the other */
    uint64_t waited; /* turns in a row that found something waiting */
    rt_channel_sender *tx;
    rt_channel_receiver *rx;
    struct rti_port_thread outsider;
    rti_atomic_u32 is_asked;
    uint64_t turn;                   /* the last one, by its station */
    uint32_t sent;                   /* to who waits with a stack */
    uint32_t received;               /* by it */
    uint64_t napped_ns;              /* when the last long turn ended; 0: the turn before was not */
    uint64_t last_turn[MEMBERS_MAX]; /* after the end of the run; by each member its own */
    uint64_t watched_from;           /* the turn that began the journal */
    uint64_t recorded;               /* turns of the recording */
} play;

static struct rti_crew *crew(void)
{
    return rti_runtime.sched.crew;
}

/* Which turn of its station this is. */
static uint64_t turn_here(void)
{
    return rti_u64_load_relaxed(&rti_worker_current()->station->turns);
}

static bool are_behaviours(void)
{
    return play.seed % 4 == 0 || play.seed % 4 == 2;
}

/* Does each of them start the next one, and end? */
static bool are_heirs(void)
{
    return play.seed % 8 == 3 || play.seed % 8 == 5;
}

static bool are_tasks(void)
{
    return play.seed % 8 == 5;
}

static bool are_polls(void)
{
    return !are_behaviours() && !are_heirs();
}

/* Who runs, as a recording names it. */
static uint32_t self_id(void)
{
    if (are_behaviours()) {
        return rt_self();
    }
    if (are_tasks()) {
        return rti_worker_current()->fiber->run.id;
    }
    const struct rti_asyncs *asyncs = rti_runtime.sched.modules[RTI_MODULE_ASYNC];
    uintptr_t handle = (uintptr_t)play.polls[are_heirs() ? 0 : rti_u32_load_relaxed(&play.token)];
    return asyncs->slots[handle & RTI_ASYNC_INDEX_MASK].run.id;
}

static void *heir_runs(void *arg);
static rt_status heir_polls(void *state, rt_cx *cx);

/* Starts the next one, which may begin at once on another worker. */
static void start_heir(void)
{
    uint32_t number = rti_u32_load_relaxed(&play.token) + 1;
    void *arg = (void *)(uintptr_t)number;
    play.tasks[1] = play.tasks[0];
    play.polls[1] = play.polls[0];
    if (are_tasks()) {
        play.tasks[0] = rt_go(heir_runs, arg);
        WITNESS(play.tasks[0] != NULL);
    } else {
        play.polls[0] = rt_async(heir_polls, arg);
        WITNESS(play.polls[0] != NULL);
    }
    /* Release pairs with the acquire in take_over: from here on all of it is the heir's. */
    rti_u32_store_release(&play.token, number);
}

/* Waits until the one before has handed all over, and takes its result, if it has ended. */
static void take_over(const void *number)
{
    while (rti_u32_load_acquire(&play.token) != (uintptr_t)number) {
    }
    if (play.tasks[1] != NULL) {
        CHECK_OK(rt_task_has_ended(play.tasks[1]) ? rt_join(play.tasks[1], NULL)
                                                  : rt_detach(play.tasks[1]));
    }
    if (play.polls[1] != NULL) {
        CHECK_OK(rt_async_detach(play.polls[1]));
    }
}

/* Sends to the other one: at the end of a turn, or where the turn wants it. */
static void hand_on(void)
{
    if (are_heirs()) {
        play.is_handed_on = true;
        start_heir();
        return;
    }
    if (are_polls()) {
        uint32_t other_poll = 1 - rti_u32_load_relaxed(&play.token);
        play.is_handed_on = true;
        /* Release pairs with the acquire in pair_polls, if the first call of that one is late. */
        rti_u32_store_release(&play.token, other_poll);
        CHECK_OK(rt_async_wake(play.polls[other_poll]));
        return;
    }
    actor_id other = rt_self() == play.pair[0] ? play.pair[1] : play.pair[0];
    play.is_handed_on = true;
    CHECK_OK(rt_behaviour_send(other, 0, NULL, 0));
}

static void pair_handles(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
    play.turns++;
    play.is_handed_on = false;
    play.on_turn();
    if (!play.is_handed_on) {
        hand_on();
    }
}

static void *heir_runs(void *arg)
{
    take_over(arg);
    pair_handles(NULL, NULL);
    return arg;
}

static rt_status heir_polls(void *state, rt_cx *cx)
{
    (void)cx;
    take_over(state);
    pair_handles(NULL, NULL);
    return RT_SUCCESS;
}

/* The first call of the second one comes before its turn. */
static rt_status pair_polls(void *state, rt_cx *cx)
{
    (void)cx;
    if (rti_u32_load_acquire(&play.token) == (uintptr_t)state) {
        pair_handles(NULL, NULL);
    }
    return (rt_status){RT_ERR_WOULDBLOCK, NULL};
}

static const rt_behaviour_fn pair_handlers[] = {pair_handles};
static const rt_behaviour_type pair_type = {
    .handlers = pair_handlers, .handler_count = 1, .priority = RT_PRIO_NORMAL};

static void play_open(uint64_t seed, uint32_t workers, void (*on_turn)(void))
{
    rt_config config = {.workers = workers, .threads_max = 2 * workers};
    memset(&play, 0, sizeof(play));
    play.seed = seed;
    play.on_turn = on_turn;
    CHECK_OK(rt_init_ex(&config));
    CHECK(crew()->members_max <= MEMBERS_MAX);
    for (size_t i = 0; are_polls() && i < RTI_COUNT_OF(play.polls); i++) {
        play.polls[i] = rt_async(pair_polls, (void *)i);
        WITNESS(play.polls[i] != NULL);
    }
    if (are_heirs()) {
        CHECK_OK(rt_task_reserve(&(rt_task_room){.tasks = 16}));
        CHECK_OK(rt_async_reserve(&(rt_async_config){.tasks = 16}));
        start_heir();
    }
    for (size_t i = 0; are_behaviours() && i < RTI_COUNT_OF(play.pair); i++) {
        play.pair[i] = rt_behaviour_spawn(&pair_type, NULL);
        WITNESS(play.pair[i] != ACTOR_ID_INVALID);
    }
    if (are_behaviours()) {
        CHECK_OK(rt_behaviour_send(play.pair[0], 0, NULL, 0));
    }
}

static void go(rt_task_fn fn)
{
    rt_task *task = rt_go(fn, NULL);
    WITNESS(task != NULL);
    CHECK_OK(rt_detach(task));
}

static void channel_open(void)
{
    rt_channel_config config = {.elem_size = sizeof(uint32_t), .capacity = TOKENS};
    CHECK_OK(rt_channel_create(&config, &play.tx, &play.rx));
}

static void channel_close(void)
{
    CHECK_OK(rt_channel_close_sender(play.tx));
    CHECK_OK(rt_channel_close_receiver(play.rx));
}

static void run_beside(void (*outsider)(void *arg))
{
    struct rti_port *port = rti_runtime.sched.port;
    CHECK_OK(port->ops->thread_start(port, &play.outsider, outsider, NULL));
    rt_run();
    port->ops->thread_join(port, &play.outsider);
}

/* One that a thread from outside wakes lies in the injector: it is asked every so many turns, and
 * nothing else says that somebody is there. */
static void injected_turn(void)
{
    bool is_waiting = rti_u32_load_relaxed(&crew()->injector.count) != 0;
    play.waited = is_waiting ? play.waited + 1 : 0;
    WITNESS(play.waited <= RTI_STATION_TICKS + 1);
}

static void *take_tokens(void *arg)
{
    (void)arg;
    for (int i = 0; i < TOKENS; i++) {
        uint32_t token;
        CHECK_OK(rt_channel_recv(play.rx, NULL, &token));
        play.waited = 0; /* the next token may come before the two see that nobody waits */
    }
    rt_shutdown();
    return NULL;
}

static void outsider_sends(void *arg)
{
    (void)arg;
    for (uint32_t i = 0; i < TOKENS; i++) {
        rti_virtual_sleep(20000 + play.seed * 7919 % 50000);
        CHECK_OK(rt_channel_send(play.tx, NULL, &i));
    }
}

static void injected_play(uint64_t seed)
{
    play_open(seed, 1, injected_turn);
    channel_open();
    go(take_tokens);
    run_beside(outsider_sends);
    channel_close();
}

TEST_SEEDED(chain_sim_one_from_outside_runs_beside_two_that_never_rest)
{
    worlds_play_prompt(injected_play);
}

/* Timers: seen is that they are fired. Whom they wake runs when it is its turn among others, as
 * crew_sim_chain_of_hand_offs_starves_nobody has it. */
#define SLEEPS 5

/* Has a timer that was due at that time not fired yet? */
static bool is_overdue(uint64_t time_ns)
{
    const struct rti_timer_source *timers = &crew()->stations[0].timers;
    return timers->next_deadline(timers->context) <= time_ns;
}

static void sleep_for(rt_time duration)
{
    CHECK_OK(rt_sleep(duration));
    play.waited =
        0; /* the next timer may be due before the two see that this one is not any more */
}

static void *sleep_often(void *arg)
{
    (void)arg;
    for (uint64_t i = 0; i < SLEEPS; i++) {
        sleep_for((2 + (play.seed + i) % 5) * RT_NS_PER_MS);
    }
    rt_shutdown();
    return NULL;
}

/* While turns are long the clock is read in each of them. */
static void slow_turn(void)
{
    play.waited = is_overdue(rt_clock()) ? play.waited + 1 : 0;
    WITNESS(play.waited <= 1);
    rti_virtual_sleep(RT_NS_PER_MS);
}

static void slow_play(uint64_t seed)
{
    play_open(seed, 1, slow_turn);
    go(sleep_often);
    rt_run();
}

TEST_SEEDED(chain_sim_timers_fire_beside_two_whose_turns_are_long)
{
    worlds_play_prompt(slow_play);
}

/* While turns are short it is read every so many of them, and each counts. */
#define LOOK_TURNS_MAX 64

static void brisk_turn(void)
{
    WITNESS(turn_here() > play.turn);
    play.turn = turn_here();
    play.waited = is_overdue(rt_clock()) ? play.waited + 1 : 0;
    WITNESS(play.waited <= LOOK_TURNS_MAX);
}

static void *sleep_briefly(void *arg)
{
    (void)arg;
    for (uint64_t i = 0; i < SLEEPS; i++) {
        sleep_for(5000 + (play.seed + i) * 7919 % 10000);
    }
    rt_shutdown();
    return NULL;
}

static void brisk_play(uint64_t seed)
{
    play_open(seed, 1, brisk_turn);
    go(sleep_briefly);
    rt_run();
}

TEST_SEEDED(chain_sim_timers_fire_beside_two_whose_turns_are_short)
{
    worlds_play(brisk_play);
}

/* A turn that is long among many short ones, after which the clock would not be read for a while:
 * the warden calls the worker to look. Long enough that it has seen the turn for long. */
#define NAP_NS (50 * RT_NS_PER_MS)

static void napping_turn(void)
{
    WITNESS(!is_overdue(play.napped_ns));
    play.napped_ns = 0;
    if (play.turns % (40 + play.seed % 50) == 0) {
        rti_virtual_sleep(NAP_NS);
        play.napped_ns = rt_clock();
    }
}

static void napping_play(uint64_t seed)
{
    play_open(seed, 1, napping_turn);
    go(sleep_often);
    rt_run();
}

TEST_SEEDED(chain_sim_timers_fire_behind_a_turn_that_was_long)
{
    worlds_play_prompt(napping_play);
}

/* What is posted from outside, here the request to end the run, is seen in the next turn. Not
 * counted are turns while the warden has the port, which it then answers for. */
static void asked_turn(void)
{
    bool is_waiting = rti_u32_load_relaxed(&play.is_asked) != 0 &&
                      rti_u32_load_relaxed(&crew()->is_polled) == 0 &&
                      rti_u32_load_relaxed(&crew()->is_over) == 0;
    play.waited += is_waiting;
    WITNESS(play.waited <= 1);
}

static void outsider_ends_it(void *arg)
{
    (void)arg;
    rti_virtual_sleep(20000 + play.seed * 7919 % 50000);
    rt_shutdown();
    rti_u32_store_relaxed(&play.is_asked, 1);
}

static void asked_play(uint64_t seed)
{
    play_open(seed, 1, asked_turn);
    run_beside(outsider_ends_it);
    WITNESS(rti_u32_load_relaxed(&play.is_asked) != 0);
}

TEST_SEEDED(chain_sim_posts_from_outside_are_seen_in_the_next_turn)
{
    worlds_play_prompt(asked_play);
}

/* The end of the run, by another worker: of each at most one turn begins behind it, the one that it
 * was about to give. */
static void ending_turn(void)
{
    if (rti_u32_load_relaxed(&crew()->is_over) != 0) {
        uint64_t *last = &play.last_turn[rti_worker_current()->member->index];
        WITNESS(*last == 0 || *last == turn_here());
        *last = turn_here();
    }
}

static void ending_play(uint64_t seed)
{
    play_open(seed, 2 + (uint32_t)(seed % (WORKERS_MAX - 1)), ending_turn);
    run_beside(outsider_ends_it);
}

TEST_SEEDED(chain_sim_run_ends_beside_two_that_never_rest)
{
    worlds_play(ending_play);
}

/* One with a stack that they wake as the last thing they do is next, but not theirs to run: nobody
 * loses it. */
static void waking_turn(void)
{
    play.waited = play.sent != play.received ? play.waited + 1 : 0;
    WITNESS(play.waited <= RTI_STATION_STREAK_MAX + 1);
    hand_on();
    if (play.sent == play.received) {
        CHECK_OK(rt_channel_try_send(play.tx, &play.sent));
        play.sent++;
    }
}

static void *receive_often(void *arg)
{
    (void)arg;
    for (int i = 0; i < 100; i++) {
        uint32_t token;
        CHECK_OK(rt_channel_recv(play.rx, NULL, &token));
        WITNESS(token == play.received);
        play.received++;
    }
    rt_shutdown();
    return NULL;
}

static void waking_play(uint64_t seed)
{
    play_open(seed, 1, waking_turn);
    channel_open();
    go(receive_often);
    rt_run();
    channel_close();
}

TEST_SEEDED(chain_sim_task_that_two_wake_runs_beside_them)
{
    worlds_play_prompt(waking_play);
}

/* Who is more urgent than they are, and was started in a turn of theirs, goes before the next. */
#define URGENT 100

static void *goes_first(void *arg)
{
    play.received++;
    if (play.received == URGENT) {
        rt_shutdown();
    }
    return arg;
}

static void urgent_turn(void)
{
    static const rt_task_config urgent = {.priority = RT_PRIO_HIGH, .is_priority_set = true};
    WITNESS(play.sent == play.received);
    if (play.turns % 3 == 0 && play.sent < URGENT) {
        rt_task *task = rt_go_ex(goes_first, NULL, &urgent);
        WITNESS(task != NULL);
        CHECK_OK(rt_detach(task));
        play.sent++;
    }
}

static void urgent_play(uint64_t seed)
{
    play_open(seed, 1, urgent_turn);
    rt_run();
    WITNESS(play.received == URGENT);
}

TEST_SEEDED(chain_sim_task_that_is_more_urgent_goes_before_the_next_of_them)
{
    worlds_play_prompt(urgent_play);
}

/* A journal that is begun in between has each turn from there on. */
#define TURNS_WATCHED 100
#define EVENTS        4096

static rt_journal journal;
static uint64_t journal_ring[RT_JOURNAL_BYTES(EVENTS) / 8];

static bool is_watched_from_here(void)
{
    return play.turns == 20 + play.seed % 100;
}

static void journal_turn(void)
{
    if (is_watched_from_here()) {
        CHECK_OK(rt_journal_start(&journal));
        play.watched_from = turn_here();
    }
    if (play.watched_from != 0 && turn_here() == play.watched_from + TURNS_WATCHED) {
        CHECK_OK(rt_journal_stop(&journal));
        rt_shutdown();
    }
}

static void journal_play(uint64_t seed)
{
    uint64_t dispatches = 0;
    CHECK_OK(rt_journal_init(&journal, journal_ring, sizeof(journal_ring)));
    play_open(seed, 1, journal_turn);
    rt_run();
    const struct rti_journal *written = rti_journal_of(&journal);
    WITNESS(written->written == rti_journal_count(written));
    for (size_t i = 0; i < rti_journal_count(written); i++) {
        dispatches += rti_journal_at(written, i)->kind == RTI_JOURNAL_DISPATCH;
    }
    WITNESS(dispatches == TURNS_WATCHED);
}

TEST_SEEDED(chain_sim_journal_begun_in_between_has_each_turn)
{
    worlds_play_prompt(journal_play);
}

/* A recording likewise: who runs is the one that the last RUN names. How many readings of the
 * machine's clock stand between the words differs from run to run, and so do the points. */
static rti_atomic_u64 recording_rings[2 * RTI_RECORDER_WORDS];
static struct rti_recording recording = {.rings_count = 2, .rings = recording_rings};

/* Whom the last RUN of the worker names; 0: there was none. */
static uint32_t last_run(const struct rti_worker *worker)
{
    const rti_atomic_u64 *at = rti_ptr_load_relaxed(&worker->recorder.at);
    while (at > worker->recorder.ring) {
        at--;
        uint64_t word = rti_u64_load_relaxed(at);
        if (word >> 56 == RTI_NOTE_RUN) {
            return (uint32_t)word;
        }
    }
    return 0;
}

static void recorded_turn(void)
{
    const struct rti_worker *worker = rti_worker_current();
    if (is_watched_from_here()) {
        rti_ptr_store_release(&rti_runtime.sched.recording, &recording);
        rti_recording_begin(&recording);
        rti_recording_call(&rti_runtime.sched);
    } else if (rti_worker_records(worker)) {
        WITNESS(last_run(worker) == self_id());
        play.recorded++;
        if (play.recorded == TURNS_WATCHED) {
            rti_recording_end(&recording);
            rt_shutdown();
        }
    }
}

static void recorded_play(uint64_t seed)
{
    play_open(seed, 1, recorded_turn);
    WITNESS(crew()->members_max <= recording.rings_count);
    rt_run();
    WITNESS(play.recorded >= TURNS_WATCHED);
}

TEST_SEEDED(chain_sim_recording_begun_in_between_has_each_turn)
{
    worlds_play_prompt(recorded_play);
}
