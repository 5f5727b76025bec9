/* SPDX-License-Identifier: Apache-2.0 */
/* The sharp edges, each touched once on purpose: what docs/sharp-edges.md says is shown here to be
 * so. Every edge is a small program of its own in the simulator.
 *
 * Tested: sharp_edges */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/rt.h>

#define JOBS   1000
#define WINDOW 8

static void must(rt_status status)
{
    if (RT_FAILED(status)) {
        fprintf(stderr, "%s\n", status.msg != NULL ? status.msg : rt_status_text(status.code));
        exit(EXIT_FAILURE);
    }
}

static void expect(bool is_so, const char *what)
{
    printf("%s: %s\n", is_so ? "as told" : "NOT AS TOLD", what);
    if (!is_so) {
        exit(EXIT_FAILURE);
    }
}

/* ---- A pointer into a message ---- */

static void keep_a_copy(void *arg)
{
    int number = 1;
    must(rt_ipc_send(rt_self(), &number, sizeof(number), IPC_ASYNC));
    number = 2;
    must(rt_ipc_send(rt_self(), &number, sizeof(number), IPC_ASYNC));

    rt_message msg;
    must(rt_ipc_recv(&msg, -1));
    int first;
    memcpy(&first, msg.data, sizeof(first)); /* ours */
    must(rt_ipc_recv(&msg, -1));             /* the first message's data is gone */
    *(int *)arg = first;
    rt_exit();
}

/* ---- One pool for all mailboxes ---- */

/* Has better things to do than to read its mail. */
static void sleeper(void *arg)
{
    (void)arg;
    rt_message msg;
    (void)rt_ipc_recv_match(&(rt_ipc_filter){.sender = RT_SENDER_SYSTEM}, &msg, 1000);
    rt_exit();
}

static void flood(void *arg)
{
    actor_id slow = rt_spawn(sleeper, NULL);
    int sent = 0;
    while (!RT_FAILED(rt_ipc_send(slow, &sent, sizeof(sent), IPC_ASYNC))) {
        sent++;
    }
    /* One mailbox has taken everything: now nobody can write to anybody, not even to himself. */
    rt_status status = rt_ipc_send(rt_self(), &sent, sizeof(sent), IPC_ASYNC);
    *(int *)arg = status.code == RT_ERR_NOMEM ? sent : -1;
    rt_exit();
}

/* Acknowledges each job. */
static void worker(void *arg)
{
    for (int done = 0; done < JOBS; done++) {
        rt_message msg;
        must(rt_ipc_recv(&msg, -1));
        *(int *)arg += 1;
        (void)rt_ipc_send(msg.sender, NULL, 0, IPC_ASYNC); /* who has ended needs no answer */
    }
    rt_exit();
}

static void flow(void *arg)
{
    actor_id slow = rt_spawn(worker, arg);
    int unacknowledged = 0;
    for (int job = 0; job < JOBS; job++) {
        if (unacknowledged == WINDOW) {
            rt_message ack;
            must(rt_ipc_recv(&ack, -1)); /* wait for room of our own making */
            unacknowledged--;
        }
        must(rt_ipc_send(slow, &job, sizeof(job), IPC_ASYNC));
        unacknowledged++;
    }
    rt_exit();
}

/* ---- IPC_SYNC in a circle ---- */

static actor_id left, right;

static void polite_left(void *arg)
{
    (void)arg;
    (void)rt_ipc_send(right, NULL, 0, IPC_SYNC); /* after you! */
    rt_exit();
}

static void polite_right(void *arg)
{
    (void)arg;
    (void)rt_ipc_send(left, NULL, 0, IPC_SYNC); /* no, after you! */
    rt_exit();
}

static void circle(void *arg)
{
    (void)arg;
    left = rt_spawn(polite_left, NULL);
    right = rt_spawn(polite_right, NULL);
    rt_exit();
}

static void asker(void *arg)
{
    rt_message reply;
    rt_status status = rt_call(right, NULL, 0, &reply, 100); /* the deadline ends the circle */
    *(int *)arg += status.code == RT_ERR_TIMEOUT ? 1 : 0;
    rt_exit();
}

static void counter_asker(void *arg)
{
    rt_message reply;
    rt_status status = rt_call(left, NULL, 0, &reply, 200);
    *(int *)arg += status.code == RT_ERR_CLOSED ? 1 : 0; /* left gave up and ended */
    rt_exit();
}

static void circle_with_deadline(void *arg)
{
    left = rt_spawn(asker, arg);
    right = rt_spawn(counter_asker, arg);
    rt_exit();
}

/* ---- Buses and messages share a pool ---- */

static rt_status fill_buses(size_t max_entries)
{
    const rt_bus_config config = {
        .max_subscribers = 1, .max_entries = max_entries, .max_entry_size = sizeof(int)};
    for (int i = 0; i < 4; i++) {
        bus_id bus;
        must(rt_bus_create(&config, &bus));
        for (int entry = 0; entry < RT_MAX_BUS_ENTRIES; entry++) {
            must(rt_bus_publish(bus, &entry, sizeof(entry)));
        }
    }
    return rt_ipc_send(rt_self(), &config, sizeof(int), IPC_ASYNC);
}

static void buses_that_keep_all(void *arg)
{
    rt_status status = fill_buses(64); /* four of them keep 256 blocks: the whole pool */
    *(int *)arg = status.code == RT_ERR_NOMEM;
    rt_exit();
}

static void buses_that_keep_some(void *arg)
{
    rt_status status = fill_buses(16); /* 64 blocks at most, whatever is published */
    *(int *)arg = status.code == RT_OK;
    rt_exit();
}

/* ---- Priority is absolute ---- */

static volatile bool is_done;

static void low_worker(void *arg)
{
    const actor_id *boss = arg;
    is_done = true;
    (void)rt_ipc_send(*boss, NULL, 0, IPC_ASYNC);
    rt_exit();
}

static const actor_config high = {.stack_size = 16384, .priority = RT_PRIO_HIGH};
static const actor_config low = {.stack_size = 16384, .priority = RT_PRIO_LOW};

static void high_poller(void *arg)
{
    (void)arg;
    actor_id self = rt_self();
    /* orrery-lint: allow local-escapes: this actor waits for the other one below */
    (void)rt_spawn_ex(low_worker, &self, &low);
    while (!is_done) {
        rt_yield(); /* to its equals and betters only: the worker never runs */
    }
    rt_exit();
}

static void high_waiter(void *arg)
{
    (void)arg;
    actor_id self = rt_self();
    /* orrery-lint: allow local-escapes: the message below is the other's last act */
    (void)rt_spawn_ex(low_worker, &self, &low);
    rt_message msg;
    must(rt_ipc_recv(&msg, -1)); /* an actor that waits keeps nobody from running */
    rt_exit();
}

static void start_high(void *arg)
{
    is_done = false;
    actor_fn fn = *(actor_fn *)arg;
    (void)rt_spawn_ex(fn, NULL, &high);
    rt_exit();
}

/* ---- Stacks ---- */

struct report {
    char text[60000];
};

/* A large buffer belongs to whoever starts the actor, not onto its stack. */
static void writer(void *arg)
{
    struct report *report = arg;
    snprintf(report->text, sizeof(report->text), "all is well");
    rt_exit();
}

static void start_writer(void *arg)
{
    const actor_config small = {.stack_size = 16384, .priority = RT_PRIO_NORMAL};
    (void)rt_spawn_ex(writer, arg, &small);
    rt_exit();
}

/* Runs a program in the simulator, for at most so many turns, and gives its end. */
static rt_status_code run(actor_fn fn, void *arg)
{
    const rt_sim_config config = {.steps_max = 100000, .fixed_order = true};
    return rt_sim_run(&config, fn, arg).code;
}

int main(void)
{
    int result = 0;
    expect(run(keep_a_copy, &result) == RT_OK && result == 1, "a copy outlives the message");

    expect(run(flood, &result) == RT_OK && result == RT_MAILBOX_ENTRY_POOL_SIZE,
           "one mailbox can take every entry of the pool");
    result = 0;
    expect(run(flow, &result) == RT_OK && result == JOBS, "a window keeps the pool free");

    expect(run(circle, NULL) == RT_ERR_DEADLOCK, "two IPC_SYNC sends in a circle never end");
    result = 0;
    expect(run(circle_with_deadline, &result) == RT_OK && result == 2,
           "two calls in a circle end at the first deadline");

    expect(run(buses_that_keep_all, &result) == RT_OK && result, "full buses starve messages");
    expect(run(buses_that_keep_some, &result) == RT_OK && result, "small buses do not");

    actor_fn poller = high_poller, waiter = high_waiter;
    expect(run(start_high, &poller) == RT_ERR_LIMIT, "a busy actor starves all below it");
    expect(run(start_high, &waiter) == RT_OK, "a waiting one does not");

    static struct report report;
    expect(run(start_writer, &report) == RT_OK && strcmp(report.text, "all is well") == 0,
           "a small stack is enough for an actor with a large buffer elsewhere");
    return EXIT_SUCCESS;
}
