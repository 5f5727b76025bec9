/* SPDX-License-Identifier: Apache-2.0 */
/* A chat server with a thousand clients in a supervision tree, and a gremlin in it.
 *
 *     chat_server [--sim] [SECONDS]        default: 30 seconds of the real clock
 * Tested: chat_server --sim 30
 * Tested: chat_server 2
 *
 *     root, one for one
 *      +- rooms, one for one:  50 rooms, behaviours that keep their addresses
 *      +- clients, simple:     1,000 clients, 20 in each room, behaviours too
 *      +- clock:               an actor with a stack that ticks
 *
 * Every tick each client says something in its room, and the room tells all who are in it. Every
 * 100 ms the gremlin throws a fault into a random client or room: it crashes or is killed in the
 * middle of its mail, which is lost, and its supervisor starts it again.
 *
 * And yet nobody loses a message of another. How: what must outlive a fault is not in the actor but
 * beside it, in its session or its room's log, which the supervisor hands to each new life. A
 * client keeps what it says until the room has said that it is in the log; it says it again every
 * tick until then. A room takes each sentence once, by its number. A client knows how far it has
 * read the log, and when it hears of a place further on, or after a fault of its own, it asks for
 * what is between. In the end every client has read every sentence of its room, in order, once; the
 * program counts, and ends with 1 if one is missing. */
#define _GNU_SOURCE
#include <orrery/rt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLIENTS     1000
#define ROOMS       50
#define IN_ROOM     (CLIENTS / ROOMS)
#define TICK_MS     200
#define FAULT_MS    100
#define SECONDS_MAX 60
#define LOG_MAX     (IN_ROOM * (SECONDS_MAX * 1000 / TICK_MS + 2))
#define RESEND_MAX  32

/* What is said. Clients and rooms are numbered. */
struct sentence {
    uint32_t client;
    uint32_t number; /* of this client's sentences, from 1 */
};

/* A sentence with its place in the log. */
struct entry {
    uint32_t place;
    struct sentence sentence;
};

/* What outlives a client's faults. Others look at what is atomic, from other workers perhaps. */
struct session {
    _Atomic actor_id id;
    uint32_t index;
    _Atomic uint32_t said;     /* sentences begun */
    _Atomic uint32_t accepted; /* of them, in the log */
    _Atomic uint32_t read;     /* of the room's log, in order */
    uint32_t heard[IN_ROOM];   /* the last number of each in the room */
};

/* What outlives a room's faults: its log. */
struct log {
    _Atomic actor_id id;
    uint32_t index;
    _Atomic uint32_t count;
    uint32_t last[IN_ROOM]; /* the last number of each */
    struct sentence sentences[LOG_MAX];
};

static struct session sessions[CLIENTS];
static struct log logs[ROOMS];
static RT_SUPERVISOR_MEMORY(rooms_memory, ROOMS);
static RT_SUPERVISOR_MEMORY(clients_memory, CLIENTS + 1);
static unsigned seconds = 30;
static unsigned faults;
static _Atomic unsigned restarts;
static _Atomic bool is_talking = true;

enum { CLIENT_TICK, CLIENT_ACCEPTED, CLIENT_READ, CLIENT_FAULT, CLIENT_MESSAGES };
enum { ROOM_SAY, ROOM_ASK, ROOM_FAULT, ROOM_MESSAGES };

static void must(rt_status status, const char *what)
{
    if (RT_FAILED(status)) {
        fprintf(stderr, "chat_server: %s: %s\n", what, rt_status_text(status.code));
        exit(EXIT_FAILURE);
    }
}

static struct log *room_of(const struct session *session)
{
    return &logs[session->index / IN_ROOM];
}

/* A send may fail: the other has just died, or there is too much mail. Both pass, and what was
 * meant is said again. */
static void tell(actor_id to, uint32_t what, const void *data, size_t len)
{
    (void)rt_behaviour_send(to, what, data, len);
}

static void client_say(struct session *self)
{
    if (self->said > self->accepted) {
        struct sentence sentence = {.client = self->index, .number = self->accepted + 1};
        tell(room_of(self)->id, ROOM_SAY, &sentence, sizeof(sentence));
    }
}

static void client_ask(struct session *self)
{
    uint32_t read = self->read;
    tell(room_of(self)->id, ROOM_ASK, &read, sizeof(read));
}

static void client_tick(void *state, const rt_behaviour_message *msg)
{
    struct session *self = state;
    (void)msg;
    if (is_talking && self->said == self->accepted) {
        self->said++;
    }
    client_say(self);
    client_ask(self);
}

static void client_accepted(void *state, const rt_behaviour_message *msg)
{
    struct session *self = state;
    uint32_t number;
    memcpy(&number, msg->data, sizeof(number));
    if (number > self->accepted) {
        self->accepted = number;
    }
}

static void client_read(void *state, const rt_behaviour_message *msg)
{
    struct session *self = state;
    struct entry entry;
    memcpy(&entry, msg->data, sizeof(entry));
    if (entry.place > self->read) {
        client_ask(self); /* something was lost before it */
    }
    if (entry.place != self->read) {
        return;
    }
    uint32_t *heard = &self->heard[entry.sentence.client % IN_ROOM];
    if (entry.sentence.number != *heard + 1) {
        fprintf(stderr, "chat_server: client %u lost a sentence\n", self->index);
        exit(EXIT_FAILURE);
    }
    *heard = entry.sentence.number;
    self->read++;
}

static void any_fault(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
    must(rt_behaviour_end(RT_EXIT_CRASH), "a fault");
}

static void client_start(void *state, void *arg)
{
    struct session *self = arg;
    (void)state;
    restarts += self->id != ACTOR_ID_INVALID;
    self->id = rt_self();
}

static const rt_behaviour_fn client_handlers[CLIENT_MESSAGES] = {
    [CLIENT_TICK] = client_tick,
    [CLIENT_ACCEPTED] = client_accepted,
    [CLIENT_READ] = client_read,
    [CLIENT_FAULT] = any_fault,
};
static const rt_behaviour_type client_type = {
    .name = "client",
    .handlers = client_handlers,
    .handler_count = CLIENT_MESSAGES,
    .start = client_start,
    .priority = RT_PRIO_NORMAL,
    .mailbox = {.high = 200, .overflow = RT_OVERFLOW_DROP_NEW},
};

static void room_show(struct log *self, const struct session *to, uint32_t place)
{
    struct entry entry = {.place = place, .sentence = self->sentences[place]};
    tell(to->id, CLIENT_READ, &entry, sizeof(entry));
}

/* A sentence comes once, or again because the answer was lost. */
static void room_say(void *state, const rt_behaviour_message *msg)
{
    struct log *self = state;
    struct sentence sentence;
    memcpy(&sentence, msg->data, sizeof(sentence));
    uint32_t *last = &self->last[sentence.client % IN_ROOM];
    if (sentence.number == *last + 1 && self->count < LOG_MAX) {
        *last = sentence.number;
        self->sentences[self->count] = sentence;
        self->count++;
        for (uint32_t i = 0; i < IN_ROOM; i++) {
            room_show(self, &sessions[self->index * IN_ROOM + i], self->count - 1);
        }
    }
    tell(sessions[sentence.client].id, CLIENT_ACCEPTED, last, sizeof(*last));
}

static void room_ask(void *state, const rt_behaviour_message *msg)
{
    struct log *self = state;
    uint32_t from;
    memcpy(&from, msg->data, sizeof(from));
    for (uint32_t i = 0; i < IN_ROOM; i++) {
        const struct session *session = &sessions[self->index * IN_ROOM + i];
        for (uint32_t n = 0; session->id == msg->sender && n < RESEND_MAX; n++) {
            if (from + n < self->count) {
                room_show(self, session, from + n);
            }
        }
    }
}

static void room_start(void *state, void *arg)
{
    struct log *self = arg;
    (void)state;
    restarts += self->id != ACTOR_ID_INVALID;
    self->id = rt_self();
}

static const rt_behaviour_fn room_handlers[ROOM_MESSAGES] = {
    [ROOM_SAY] = room_say, [ROOM_ASK] = room_ask, [ROOM_FAULT] = any_fault};
static const rt_behaviour_type room_type = {
    .name = "room",
    .handlers = room_handlers,
    .handler_count = ROOM_MESSAGES,
    .start = room_start,
    .priority = RT_PRIO_NORMAL,
};

/* Ticks for everybody until it is asked to end. */
static void clock_main(void *arg)
{
    timer_id timer;
    rt_message msg;
    (void)arg;
    must(rt_timer_every(TICK_MS * 1000, &timer), "the clock");
    for (;;) {
        must(rt_ipc_recv(&msg, -1), "the clock");
        if (rt_is_stop_msg(&msg)) {
            rt_exit();
        }
        for (uint32_t i = 0; i < CLIENTS; i++) {
            tell(sessions[i].id, CLIENT_TICK, NULL, 0);
        }
    }
}

/* Throws a fault into a random one: half of them crash, half are killed. */
static void throw_fault(void)
{
    uint64_t luck = rt_random();
    uint32_t who = (uint32_t)(luck % (CLIENTS + ROOMS));
    actor_id victim = who < CLIENTS ? sessions[who].id : logs[who - CLIENTS].id;
    faults++;
    if ((luck >> 32) % 2 == 0) {
        (void)rt_actor_kill(victim);
    } else {
        tell(victim, who < CLIENTS ? CLIENT_FAULT : ROOM_FAULT, NULL, 0);
    }
}

/* One every 100 ms; who comes late is not late with the next one as well. */
static void throw_faults(void)
{
    rt_time begin = rt_clock();
    for (unsigned i = 1; i <= seconds * 1000 / FAULT_MS; i++) {
        rt_time now = rt_clock();
        rt_time next = begin + i * FAULT_MS * RT_NS_PER_MS;
        if (next > now) {
            must(rt_sleep(next - now), "a pause");
        }
        throw_fault();
    }
}

static bool is_all_read(void)
{
    for (uint32_t i = 0; i < CLIENTS; i++) {
        if (sessions[i].said != sessions[i].accepted ||
            sessions[i].read != room_of(&sessions[i])->count) {
            return false;
        }
    }
    return true;
}

static void report(void)
{
    uint64_t said = 0;
    uint64_t read = 0;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        said += sessions[i].said;
        read += sessions[i].read;
    }
    printf("%u clients said %llu sentences and read %llu, all of them, over %u faults and %u "
           "restarts\n",
           CLIENTS, (unsigned long long)said, (unsigned long long)read, faults, restarts);
    if (read != said * IN_ROOM || said == 0 || faults != seconds * 1000 / FAULT_MS) {
        fprintf(stderr, "chat_server: that is not right\n");
        exit(EXIT_FAILURE);
    }
}

static actor_id grow_tree(void)
{
    static rt_child_spec rooms[ROOMS];
    static char names[ROOMS][12];
    const actor_config small = {.stack_size = 16384, .priority = RT_PRIO_HIGH};
    for (uint32_t i = 0; i < ROOMS; i++) {
        snprintf(names[i], sizeof(names[i]), "room %u", i);
        logs[i].index = i;
        rooms[i] = (rt_child_spec){
            .id = names[i], .behaviour = &room_type, .arg = &logs[i], .keeps_address = true};
    }
    static const rt_child_spec client = {.behaviour = &client_type, .keeps_address = true};
    static rt_supervisor_config room_keeper;
    static rt_supervisor_config client_keeper;
    room_keeper = (rt_supervisor_config){.intensity = 60,
                                         .children = rooms,
                                         .child_count = ROOMS,
                                         .actor = small,
                                         .name = "rooms",
                                         .memory = rooms_memory,
                                         .memory_size = sizeof(rooms_memory)};
    client_keeper = (rt_supervisor_config){.strategy = RT_SIMPLE,
                                           .intensity = 60,
                                           .children = &client,
                                           .child_count = 1,
                                           .actor = small,
                                           .name = "clients",
                                           .memory = clients_memory,
                                           .memory_size = sizeof(clients_memory)};
    const rt_child_spec top[] = {{.id = "rooms", .supervisor = &room_keeper},
                                 {.id = "clients", .supervisor = &client_keeper},
                                 {.id = "clock", .fn = clock_main, .actor = small}};
    const rt_supervisor_config root = {
        .intensity = 3, .children = top, .child_count = 3, .actor = small, .name = "root"};
    actor_id id;
    must(rt_supervisor_start(&root, &id), "the tree");
    return id;
}

static void gremlin(void *arg)
{
    rt_message msg;
    (void)arg;
    must(rt_behaviour_reserve(
             &(rt_behaviour_room){.behaviours = CLIENTS + ROOMS, .messages = 1 << 18}),
         "room for the actors");
    actor_id root = grow_tree();
    while (rt_whereis("clients") == ACTOR_ID_INVALID) {
        (void)rt_ipc_recv(&msg, 1); /* until the supervisors are there */
    }
    for (uint32_t i = 0; i < CLIENTS; i++) {
        sessions[i].index = i;
        must(rt_supervisor_spawn(rt_whereis("clients"), &sessions[i], NULL), "a client");
    }
    throw_faults();
    is_talking = false;
    for (unsigned i = 0; i < 100 && !is_all_read(); i++) {
        (void)rt_ipc_recv(&msg, TICK_MS);
    }
    if (!is_all_read()) {
        fprintf(stderr, "chat_server: somebody has not read everything\n");
        exit(EXIT_FAILURE);
    }
    report();
    must(rt_supervisor_stop(root, -1), "the end");
    rt_exit();
}

int main(int argc, char **argv)
{
    bool is_simulated = argc > 1 && strcmp(argv[1], "--sim") == 0;
    const char *number = argc > 1 + is_simulated ? argv[1 + is_simulated] : "30";
    seconds = (unsigned)atoi(number);
    if (seconds < 1 || seconds > SECONDS_MAX) {
        fprintf(stderr, "usage: chat_server [--sim] [SECONDS], 1 to %d\n", SECONDS_MAX);
        return 2;
    }
    if (is_simulated) {
        rt_sim_config config = {.seed = 1, .fixed_order = true};
        must(rt_sim_run(&config, gremlin, NULL), "the simulation");
        return EXIT_SUCCESS;
    }
    const actor_config urgent = {.stack_size = 32768, .priority = RT_PRIO_HIGH, .name = "gremlin"};
    must(rt_init(), "the runtime");
    if (rt_spawn_ex(gremlin, NULL, &urgent) == ACTOR_ID_INVALID) {
        fprintf(stderr, "chat_server: no room for the first actor\n");
        return EXIT_FAILURE;
    }
    rt_run();
    rt_cleanup();
    return EXIT_SUCCESS;
}
