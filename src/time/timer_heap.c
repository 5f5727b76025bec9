/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "timer_heap"
#include "time/timer_heap.h"

/* Makes one tree of two that are in nothing: the later root becomes the other's first child. */
static struct rti_timer *heap_meld(struct rti_timer *a, struct rti_timer *b)
{
    if (rti_timer_precedes(b, a)) {
        struct rti_timer *earlier = b;
        b = a;
        a = earlier;
    }
    rti_timer_link(&a->child, b);
    return a;
}

/* Makes one tree of a list of siblings, in the two passes that give the amortized O(log n): pairs
 * from the left, then all pairs together from the right. */
static struct rti_timer *heap_combine(struct rti_timer *sibling)
{
    struct rti_timer *pairs = NULL; /* the last pair first, linked through `next` */
    while (sibling != NULL) {
        struct rti_timer *a = sibling;
        struct rti_timer *b = a->next;
        sibling = b == NULL ? NULL : b->next;
        a = b == NULL ? a : heap_meld(a, b);
        a->next = pairs;
        pairs = a;
    }
    struct rti_timer *tree = pairs;
    pairs = pairs->next;
    while (pairs != NULL) {
        struct rti_timer *next = pairs->next;
        tree = heap_meld(tree, pairs);
        pairs = next;
    }
    tree->next = NULL;
    return tree;
}

/* Adds a tree that is in nothing. */
static void heap_add(struct rti_timer_heap *heap, struct rti_timer *tree)
{
    if (heap->root != NULL) {
        tree = heap_meld(heap->root, tree);
    }
    tree->next = NULL;
    tree->back = &heap->root;
    heap->root = tree;
}

void rti_timer_heap_insert(struct rti_timer_heap *heap, struct rti_timer *timer)
{
    RT_DCHECK(!rti_timer_is_armed(timer));
    timer->child = NULL;
    heap_add(heap, timer);
}

void rti_timer_heap_remove(struct rti_timer_heap *heap, struct rti_timer *timer)
{
    RT_DCHECK(heap->root != NULL && !rti_timer_precedes(timer, heap->root));
    rti_timer_unlink(timer);
    if (timer->child != NULL) {
        struct rti_timer *orphans = heap_combine(timer->child);
        timer->child = NULL;
        heap_add(heap, orphans);
    }
}

/* The first child of `parent`, found from its last: the way back up when parent->child is turned
 * round. */
static struct rti_timer *heap_first_sibling(struct rti_timer *parent, struct rti_timer *last)
{
    while (last->back != &parent->child) {
        last = RTI_CONTAINER_OF(last->back, struct rti_timer, next);
    }
    return last;
}

size_t rti_timer_heap_audit(struct rti_timer_heap *heap)
{
    size_t count = 0;
    struct rti_timer *parent = NULL; /* of `timer`; its own parent is in parent->child */
    struct rti_timer *timer = heap->root;
    RT_ASSERT(timer == NULL || (timer->back == &heap->root && timer->next == NULL));
    while (timer != NULL) {
        count++;
        RT_ASSERT(timer->place == heap->root->place);
        RT_ASSERT(parent == NULL || rti_timer_precedes(parent, timer));
        RT_ASSERT(timer->next == NULL || timer->next->back == &timer->next);
        RT_ASSERT(timer->child == NULL || timer->child->back == &timer->child);
        if (timer->child != NULL) {
            struct rti_timer *child = timer->child;
            timer->child = parent;
            parent = timer;
            timer = child;
            continue;
        }
        while (timer->next == NULL && parent != NULL) {
            struct rti_timer *up = parent->child;
            parent->child = heap_first_sibling(parent, timer);
            timer = parent;
            parent = up;
        }
        timer = timer->next;
    }
    return count;
}
