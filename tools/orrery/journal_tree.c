/* SPDX-License-Identifier: Apache-2.0 */
/* The trees of a journal.
 *
 * A node is a task or an op. Nodes are gathered in the order of their first event and found by a
 * hash of their number; a child hangs at its parent's list in that order. A parent that the ring
 * has lost makes its children roots. A number may come again after its end: a start or a submit
 * makes a new node of a task, and later events go to the newest one; ids of ops never come again.
 * Tasks belong to their file; ops may go from file to file. */
#include "journal_tree.h"

#include <inttypes.h>
#include <stdlib.h>

#include <orrery/rt/status.h>

#define NONE SIZE_MAX

/* Deeper trees than this are cut: a cycle in a file that somebody made up must end. */
#define DEPTH_MAX 200

struct node {
    uint64_t key;
    uint64_t begin_ns;
    uint64_t end_ns;
    uint64_t trace;      /* op: its trace id */
    uint64_t parent_key; /* op: on whose behalf; 0: none */
    uint32_t hops;       /* op: how often it came to another loop */
    uint64_t turns;      /* task: how often it was given its turn */
    uint64_t sends;      /* task */
    uint64_t receives;   /* task */
    uint32_t task;       /* op: who submitted it */
    uint32_t code;       /* op: what it asks for; task: how it ended */
    uint32_t server;     /* op: who took it, 0: nobody yet */
    int32_t status;      /* op: its answer */
    bool has_ended;
    size_t first_child;
    size_t last_child;
    size_t next_sibling;
    size_t next_same; /* older node of the same hash */
    bool is_child;
};

#define BUCKETS 4096

struct forest {
    struct node *nodes;
    size_t count;
    size_t room;
    size_t buckets[BUCKETS];
};

static struct forest *forest_make(void)
{
    struct forest *forest = tool_alloc(1, sizeof(*forest));
    for (size_t i = 0; i < BUCKETS; i++) {
        forest->buckets[i] = NONE;
    }
    return forest;
}

static void forest_free(struct forest *forest)
{
    free(forest->nodes);
    free(forest);
}

static size_t bucket_of(uint64_t key)
{
    return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 52) % BUCKETS;
}

/* The newest node with this key; NONE if there is none. */
static size_t forest_find(const struct forest *forest, uint64_t key)
{
    size_t i = forest->buckets[bucket_of(key)];
    while (i != NONE && forest->nodes[i].key != key) {
        i = forest->nodes[i].next_same;
    }
    return i;
}

/* Hangs a node below another, behind the children that are there; NONE: it is a root. */
static void forest_link(struct forest *forest, size_t i, size_t parent)
{
    if (parent == NONE || parent == i) {
        return;
    }
    struct node *above = &forest->nodes[parent];
    forest->nodes[i].is_child = true;
    if (above->last_child == NONE) {
        above->first_child = i;
    } else {
        forest->nodes[above->last_child].next_sibling = i;
    }
    above->last_child = i;
}

/* Makes the hash anew, for nodes that have changed their places. */
static void forest_index(struct forest *forest)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        forest->buckets[i] = NONE;
    }
    for (size_t i = 0; i < forest->count; i++) {
        size_t bucket = bucket_of(forest->nodes[i].key);
        forest->nodes[i].next_same = forest->buckets[bucket];
        forest->buckets[bucket] = i;
    }
}

static struct node *forest_add(struct forest *forest, uint64_t key, uint64_t parent_key)
{
    if (forest->count == forest->room) {
        forest->room = forest->room == 0 ? 64 : forest->room * 2;
        forest->nodes = tool_realloc(forest->nodes, forest->room, sizeof(struct node));
    }
    size_t parent = parent_key == 0 ? NONE : forest_find(forest, parent_key);
    size_t i = forest->count++;
    size_t bucket = bucket_of(key);
    forest->nodes[i] = (struct node){.key = key,
                                     .first_child = NONE,
                                     .last_child = NONE,
                                     .next_sibling = NONE,
                                     .next_same = forest->buckets[bucket]};
    forest->buckets[bucket] = i;
    forest_link(forest, i, parent);
    return &forest->nodes[i];
}

static struct node *forest_get(struct forest *forest, uint64_t key, uint64_t time_ns)
{
    size_t i = forest_find(forest, key);
    if (i != NONE) {
        return &forest->nodes[i];
    }
    struct node *node = forest_add(forest, key, 0);
    node->begin_ns = time_ns;
    return node;
}

static struct forest *tasks_of(const struct journal_file *file)
{
    struct forest *forest = forest_make();
    for (size_t i = 0; i < file->count; i++) {
        const struct event *event = &file->events[i];
        uint32_t task = event->record.task;
        struct node *node = NULL;
        if (event->kind == EVENT_START) {
            node = forest_add(forest, task, event->runner);
            node->begin_ns = event->record.time_ns;
        } else if (event->kind == EVENT_DISPATCH || event->kind == EVENT_SEND ||
                   event->kind == EVENT_RECV || event->kind == EVENT_END) {
            node = forest_get(forest, task, event->record.time_ns);
        }
        if (node == NULL) {
            continue;
        }
        node->end_ns = event->record.time_ns;
        node->turns += event->kind == EVENT_DISPATCH;
        node->sends += event->kind == EVENT_SEND;
        node->receives += event->kind == EVENT_RECV;
        if (event->kind == EVENT_END) {
            node->has_ended = true;
            node->code = (uint32_t)event->record.value;
        }
    }
    return forest;
}

/* Takes what one event says about its op. */
static void op_learn(struct node *node, const struct event *event)
{
    const rt_journal_record *record = &event->record;
    switch (event->kind) {
    case EVENT_OP:
        node->begin_ns = record->time_ns;
        node->task = record->task;
        node->code = record->channel;
        node->parent_key = record->timer;
        break;
    case EVENT_OP_HOP:
        node->parent_key = record->timer;
        node->hops++;
        return;
    case EVENT_OP_TAKE:
        node->server = record->task;
        break;
    case EVENT_OP_DONE:
        node->has_ended = true;
        node->end_ns = record->time_ns;
        node->status = (int32_t)(record->channel & 0xff);
        break;
    default:
        break;
    }
    if (event->kind != EVENT_OP) {
        node->trace = record->timer;
    }
}

static int compare_ops(const void *left, const void *right)
{
    const struct node *a = left;
    const struct node *b = right;
    if (a->begin_ns != b->begin_ns) {
        return a->begin_ns < b->begin_ns ? -1 : 1;
    }
    return a->key < b->key ? -1 : a->key > b->key;
}

/* The ops of all files: docs/internals/op-tree.md says how. The ids link them, not the times. */
static struct forest *ops_of(const struct journal_file *files, size_t file_count)
{
    struct forest *forest = forest_make();
    for (size_t f = 0; f < file_count; f++) {
        for (size_t i = 0; i < files[f].count; i++) {
            const struct event *event = &files[f].events[i];
            if (event->kind >= EVENT_OP && event->kind <= EVENT_OP_FORWARD) {
                struct node *node = forest_get(forest, event->record.value, event->record.time_ns);
                op_learn(node, event);
            }
        }
    }
    if (forest->count > 0) {
        qsort(forest->nodes, forest->count, sizeof(struct node), compare_ops);
    }
    forest_index(forest);
    for (size_t i = 0; i < forest->count; i++) {
        size_t parent = forest->nodes[i].parent_key == 0
                            ? NONE
                            : forest_find(forest, forest->nodes[i].parent_key);
        forest_link(forest, i, parent);
    }
    return forest;
}

static const char *end_name(uint32_t code)
{
    static const char *const names[] = {"returned", "exited", "killed", "overflowed", "faulted"};
    return code < sizeof(names) / sizeof(names[0]) ? names[code] : "ended";
}

static void print_task(const struct node *node)
{
    char span[24];
    printf("task %" PRIu64 ": %" PRIu64 " turns, sent %" PRIu64 ", received %" PRIu64
           ", %s after %s\n",
           node->key, node->turns, node->sends, node->receives,
           node->has_ended ? end_name(node->code) : "still there",
           tool_duration(node->end_ns - node->begin_ns, span));
}

static void print_op(const struct node *node)
{
    char span[24];
    printf("op %#" PRIx64 " code %" PRIu32, node->key, node->code);
    if (!node->is_child && node->trace != 0 && node->trace != node->key) {
        printf(" (of trace %#" PRIx64 ")", node->trace);
    }
    printf(": from %" PRIu32, node->task);
    if (node->server != 0) {
        printf(" to %" PRIu32, node->server);
    }
    if (node->hops > 0) {
        printf(", %" PRIu32 " hops", node->hops);
    }
    if (node->has_ended) {
        printf(", %s after %s\n", rt_status_name((rt_status_code)node->status),
               tool_duration(node->end_ns - node->begin_ns, span));
    } else {
        puts(", under way");
    }
}

static void print_subtree(const struct forest *forest, size_t i, unsigned depth,
                          void (*print)(const struct node *))
{
    for (unsigned level = 0; level < depth; level++) {
        fputs(level + 1 == depth ? "`- " : "   ", stdout);
    }
    print(&forest->nodes[i]);
    if (depth == DEPTH_MAX) {
        return;
    }
    for (size_t child = forest->nodes[i].first_child; child != NONE;
         child = forest->nodes[child].next_sibling) {
        print_subtree(forest, child, depth + 1, print);
    }
}

static void print_forest(const struct forest *forest, void (*print)(const struct node *))
{
    for (size_t i = 0; i < forest->count; i++) {
        if (!forest->nodes[i].is_child) {
            print_subtree(forest, i, 0, print);
        }
    }
}

void journal_tree_print(const struct journal_file *files, size_t file_count)
{
    for (size_t f = 0; f < file_count; f++) {
        struct forest *tasks = tasks_of(&files[f]);
        if (tasks->count > 0) {
            puts("tasks, below who started them:");
            print_forest(tasks, print_task);
        }
        forest_free(tasks);
    }
    struct forest *ops = ops_of(files, file_count);
    if (ops->count > 0) {
        puts("ops, below the op that they serve:");
        print_forest(ops, print_op);
    }
    forest_free(ops);
}

static void json_of_task(const struct node *node, struct json *json)
{
    json_number(json, "task", node->key);
    json_number(json, "turns", node->turns);
    json_number(json, "sent", node->sends);
    json_number(json, "received", node->receives);
    json_text(json, "end", node->has_ended ? end_name(node->code) : NULL);
}

static void json_of_op(const struct node *node, struct json *json)
{
    json_hex(json, "op", node->key);
    json_number(json, "code", node->code);
    json_hex(json, "trace", node->trace);
    json_number(json, "from", node->task);
    json_number(json, "to", node->server);
    json_text(json, "status",
              node->has_ended ? rt_status_name((rt_status_code)node->status) : NULL);
}

/* A list with the parent's place in it, not nested: trees may be deeper than readers like. */
static void json_of_forest(const struct forest *forest, struct json *json, const char *key,
                           void (*write)(const struct node *, struct json *))
{
    size_t *parents = tool_alloc(forest->count, sizeof(size_t));
    for (size_t i = 0; i < forest->count; i++) {
        parents[i] = NONE;
    }
    for (size_t i = 0; i < forest->count; i++) {
        for (size_t child = forest->nodes[i].first_child; child != NONE;
             child = forest->nodes[child].next_sibling) {
            parents[child] = i;
        }
    }
    json_array(json, key);
    for (size_t i = 0; i < forest->count; i++) {
        const struct node *node = &forest->nodes[i];
        json_object(json, NULL);
        json_number(json, "index", i);
        if (parents[i] == NONE) {
            json_text(json, "parent", NULL);
        } else {
            json_number(json, "parent", parents[i]);
        }
        write(node, json);
        json_number(json, "begin_ns", node->begin_ns);
        json_number(json, "end_ns", node->end_ns);
        json_end_object(json);
    }
    json_end_array(json);
    free(parents);
}

void journal_tree_json(const struct journal_file *files, size_t file_count, struct json *json)
{
    json_array(json, "files");
    for (size_t f = 0; f < file_count; f++) {
        struct forest *tasks = tasks_of(&files[f]);
        json_object(json, NULL);
        json_of_forest(tasks, json, "tasks", json_of_task);
        json_end_object(json);
        forest_free(tasks);
    }
    json_end_array(json);
    struct forest *ops = ops_of(files, file_count);
    json_of_forest(ops, json, "ops", json_of_op);
    forest_free(ops);
}
