/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of ops, rebuilt from journals as docs/internals/op-tree.md says, of loops in threads and
 * of loops that share one journal: first asks second, which has third do it, which asks its
 * platform. Every hop is there, with its trace and its parent. */
#define _GNU_SOURCE
#include <orrery/rt.h>

#include <pthread.h>
#include <string.h>

#include "support/test.h"

#define LOOPS  3
#define EVENTS 128
#define NODES  8

enum { ASK = RT_OP_USER };

struct app {
    rt_machine machine; /* first */
    unsigned index;
    bool has_begun;
    union {
        rt_op base;
        rt_io_op io;
    } op;
};

static struct app apps[LOOPS];
static rt_loop loops[LOOPS];
static rt_loop_port ports[LOOPS];
static rt_loop *pointers[LOOPS];
static rt_loop_group group;
static rt_machine_slot slots[LOOPS][4];
static rt_journal journals[LOOPS];
static uint64_t rings[LOOPS][RT_JOURNAL_BYTES(EVENTS) / sizeof(uint64_t)];

/* ---- the program ---- */

static void close_all(void)
{
    for (unsigned i = 0; i < LOOPS; i++) {
        rt_loop_close(&loops[i]);
    }
}

/* Has the next machine in line do what was asked; the last one has its platform do it. */
static void app_serve(struct app *app, rt_op *held)
{
    bool is_last = app->index == LOOPS - 1;
    rt_op_init(&app->op.base, is_last ? (uint32_t)RT_OP_NOP : ASK);
    if (!is_last) {
        app->op.base.destination = apps[app->index + 1].machine.id;
    }
    CHECK_OK(rt_op_translate(&app->machine, held, &app->op.base));
}

static void app_tick(rt_machine *machine, rt_time now)
{
    struct app *app = (struct app *)machine;
    rt_op *op;
    (void)now;
    if (!app->has_begun && app->index == 0) {
        rt_op_init(&app->op.base, ASK);
        app->op.base.destination = apps[1].machine.id;
        CHECK_OK(rt_op_submit(machine, &app->op.base));
    }
    app->has_begun = true;
    while ((op = rt_machine_next(machine, RT_QUEUE_SUBMISSIONS)) != NULL) {
        app_serve(app, op);
    }
    while ((op = rt_machine_next(machine, RT_QUEUE_COMPLETIONS)) != NULL) {
        CHECK_EQ(op->status, RT_OK);
        if (rt_op_answer_origin(machine, op) == NULL) {
            close_all();
        }
    }
}

static void start(bool is_shared)
{
    for (unsigned i = 0; i < LOOPS; i++) {
        pointers[i] = &loops[i];
    }
    rt_loop_group_init(&group, pointers, LOOPS);
    for (unsigned i = 0; i < LOOPS; i++) {
        apps[i] = (struct app){.index = i};
        CHECK_OK(rt_loop_port_init(&ports[i], NULL));
        const rt_loop_config config = {.port = rt_loop_port_of(&ports[i]),
                                       .group = &group,
                                       .thread_id = i,
                                       .app = &apps[i].machine,
                                       .app_config = {.tick = app_tick},
                                       .slots = slots[i],
                                       .slots_count = 4};
        CHECK_OK(rt_loop_init(&loops[i], &config));
        CHECK_OK(rt_journal_init(&journals[i], rings[i], sizeof(rings[i])));
        CHECK_OK(rt_loop_journal(&loops[i], &journals[is_shared ? 0 : i]));
    }
}

static void finish(void)
{
    for (unsigned i = 0; i < LOOPS; i++) {
        rt_loop_deinit(&loops[i]);
        rt_loop_port_deinit(&ports[i]);
    }
}

static void *thread_main(void *arg)
{
    CHECK_OK(rt_loop_run(arg));
    return NULL;
}

/* ---- the reader: it knows files and nothing of the program ---- */

struct node {
    uint64_t id;
    uint64_t parent;
    uint64_t trace;
    uint32_t initiator; /* threads */
    uint32_t target;
    uint32_t code;
    unsigned takes;
    unsigned hops;
    unsigned dones;
    uint32_t status;
    bool has_begin; /* its submission is in one of the files */
};

static struct node nodes[NODES];
static size_t nodes_count;

static struct node *node_of(uint64_t id)
{
    for (size_t i = 0; i < nodes_count; i++) {
        if (nodes[i].id == id) {
            return &nodes[i];
        }
    }
    CHECK(nodes_count < NODES);
    nodes[nodes_count] = (struct node){.id = id, .initiator = (uint32_t)(id >> 48) - 1};
    return &nodes[nodes_count++];
}

static void read_event(const char *kind, const rt_journal_record *event)
{
    if (strncmp(kind, "op", 2) != 0) {
        return;
    }
    struct node *node = node_of(event->value);
    bool tells_parent = strcmp(kind, "op") == 0 || strcmp(kind, "op-hop") == 0;
    if (tells_parent) {
        CHECK(node->parent == 0 || node->parent == event->timer);
        node->parent = event->timer;
    } else {
        CHECK(node->trace == 0 || node->trace == event->timer);
        node->trace = event->timer;
    }
    if (strcmp(kind, "op") == 0) {
        node->code = event->channel;
        node->has_begin = true;
    } else if (strcmp(kind, "op-take") == 0) {
        node->target = event->channel;
        node->takes++;
    } else if (strcmp(kind, "op-done") == 0) {
        CHECK_EQ(event->channel >> 8, node->initiator);
        node->status = event->channel & 0xff;
        node->dones++;
    }
    node->hops += strcmp(kind, "op-hop") == 0;
}

struct file {
    unsigned char *bytes;
    size_t size;
};

static bool file_append(void *arg, const void *bytes, size_t size)
{
    struct file *file = arg;
    memcpy(file->bytes + file->size, bytes, size);
    file->size += size;
    return true;
}

static void read_journal(const rt_journal *journal)
{
    static uint64_t bytes[(RT_JOURNAL_BYTES(EVENTS) + 4096) / sizeof(uint64_t)];
    struct file file = {.bytes = (unsigned char *)bytes, .size = 0};
    rt_journal_view view;
    CHECK_OK(rt_journal_export(journal, file_append, &file));
    CHECK_OK(rt_journal_parse(bytes, file.size, &view));
    for (uint64_t i = 0; i < view.head.count; i++) {
        rt_journal_record event;
        CHECK_OK(rt_journal_view_record(&view, i, &event));
        read_event(rt_journal_view_kind(&view, event.kind), &event);
    }
}

/* The op that `parent` is the parent of; there is one. */
static struct node *child_of(uint64_t parent)
{
    struct node *found = NULL;
    for (size_t i = 0; i < nodes_count; i++) {
        if (nodes[i].parent == parent && nodes[i].id != 0) {
            CHECK(found == NULL);
            found = &nodes[i];
        }
    }
    CHECK(found != NULL);
    return found;
}

static void check_tree(void)
{
    uint64_t trace = child_of(0)->id;
    uint64_t above = 0;
    CHECK_EQ(nodes_count, LOOPS);
    for (uint32_t i = 0; i < LOOPS; i++) {
        bool is_last = i == LOOPS - 1;
        const struct node *node = child_of(above);
        CHECK(node->has_begin);
        CHECK_EQ(node->trace, trace);
        CHECK_EQ(node->initiator, i);
        CHECK_EQ(node->target, is_last ? i : i + 1);
        CHECK_EQ(node->code, is_last ? (uint32_t)RT_OP_NOP : ASK);
        CHECK_EQ(node->takes, 1);
        CHECK_EQ(node->dones, 1);
        CHECK_EQ(node->status, RT_OK);
        CHECK_EQ(node->hops, is_last ? 0 : 2); /* there and back */
        above = node->id;
    }
}

TEST(loop_journals_of_three_threads_show_one_tree)
{
    pthread_t threads[LOOPS];
    start(false);
    for (unsigned i = 0; i < LOOPS; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, thread_main, &loops[i]), 0);
    }
    for (unsigned i = 0; i < LOOPS; i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    }
    finish();
    for (unsigned i = 0; i < LOOPS; i++) {
        read_journal(&journals[i]);
    }
    check_tree();
}

TEST(loop_journal_of_loops_in_one_thread_shows_the_same_tree)
{
    start(true);
    for (bool goes_on = true; goes_on;) {
        goes_on = false;
        for (unsigned i = 0; i < LOOPS; i++) {
            goes_on = rt_loop_turn(&loops[i], 0) || goes_on;
        }
    }
    finish();
    read_journal(&journals[0]);
    check_tree();
}

/* Of an op whose submission the ring has lost, a hop still tells trace and parent. */
TEST(loop_journal_hop_tells_trace_and_parent_by_itself)
{
    pthread_t threads[LOOPS];
    start(false);
    for (unsigned i = 0; i < LOOPS; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, thread_main, &loops[i]), 0);
    }
    for (unsigned i = 0; i < LOOPS; i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    }
    finish();
    read_journal(&journals[2]); /* the file of the last thread alone */
    CHECK_EQ(nodes_count, 2);
    CHECK(!nodes[0].has_begin && nodes[1].has_begin);
    CHECK_EQ(nodes[0].parent, nodes[0].trace); /* the first op of all */
    CHECK_EQ(nodes[1].parent, nodes[0].id);
    CHECK_EQ(nodes[1].trace, nodes[0].trace);
}

TEST(loop_journal_can_be_taken_away_and_must_be_one)
{
    rt_journal none = {.opaque = {0}};
    start(true);
    CHECK_STATUS(rt_loop_journal(&loops[0], &none), RT_ERR_INVALID);
    for (unsigned i = 0; i < LOOPS; i++) {
        CHECK_OK(rt_loop_journal(&loops[i], NULL));
    }
    for (bool goes_on = true; goes_on;) {
        goes_on = false;
        for (unsigned i = 0; i < LOOPS; i++) {
            goes_on = rt_loop_turn(&loops[i], 0) || goes_on;
        }
    }
    finish();
    CHECK_EQ(rt_journal_written(&journals[0]), 0);
}
