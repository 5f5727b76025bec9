/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "mpsc"
#include "base/mpsc.h"

#include "base/assert.h"

#define MPSC_IDLE RTI_MPSC_IDLE

_Static_assert(_Alignof(struct rti_mpsc_node) > 1, "bit 0 of a node's address carries the mark");

static void *mpsc_marked(struct rti_mpsc_node *node)
{
    return (void *)((uintptr_t)node | MPSC_IDLE);
}

static struct rti_mpsc_node *mpsc_unmarked(void *tail)
{
    return (struct rti_mpsc_node *)((uintptr_t)tail & ~MPSC_IDLE);
}

static bool mpsc_is_marked(void *tail)
{
    return ((uintptr_t)tail & MPSC_IDLE) != 0;
}

void rti_mpsc_init(struct rti_mpsc *queue)
{
    rti_ptr_init(&queue->resting.next, NULL);
    rti_ptr_init(&queue->tail, mpsc_marked(&queue->resting));
    queue->head = &queue->resting;
    RT_AUDIT(rti_mpsc_audit(queue));
}

void rti_mpsc_init_active(struct rti_mpsc *queue)
{
    rti_mpsc_init(queue);
    rti_ptr_init(&queue->tail, &queue->resting);
}

bool rti_mpsc_push(struct rti_mpsc *queue, struct rti_mpsc_node *node)
{
    RT_ASSERT(node != NULL);
    RT_ASSERT(!mpsc_is_marked(node));
    rti_ptr_init(&node->next, NULL);
    /* Release: our NULL comes before the link that the next producer stores. Acquire: the NULL of
     * our predecessor comes before the link that we store. Pairs with itself in other producers,
     * and with the compare-exchange in rti_mpsc_pop for the resting node's NULL. */
    void *before = rti_ptr_exchange_acqrel(&queue->tail, node);
    struct rti_mpsc_node *predecessor = mpsc_unmarked(before);
    RT_DCHECK(predecessor != node);
    RT_DCHECK(!mpsc_is_marked(before) || predecessor == &queue->resting);
    /* Pairs with the acquire loads in rti_mpsc_pop: the node is complete when it can be reached. */
    rti_ptr_store_release(&predecessor->next, node);
    return mpsc_is_marked(before);
}

/* Says why the chain ends at the head: nothing is queued, or a producer is between its steps. */
static enum rti_mpsc_result mpsc_end_of_chain(const struct rti_mpsc *queue)
{
    RT_DCHECK(queue->head == &queue->resting);
    /* Relaxed: only the answer is used; the nodes are reached through `next`. */
    void *tail = rti_ptr_load_relaxed(&queue->tail);
    return mpsc_unmarked(tail) == &queue->resting ? RTI_MPSC_EMPTY : RTI_MPSC_BUSY;
}

enum rti_mpsc_result rti_mpsc_pop(struct rti_mpsc *queue, struct rti_mpsc_node **node)
{
    RT_DCHECK(node != NULL);
    RTI_PLAIN_WRITE(&queue->head, sizeof(queue->head));
    if (queue->head == &queue->resting) {
        /* Pairs with the release in rti_mpsc_push. */
        struct rti_mpsc_node *first = rti_ptr_load_acquire(&queue->resting.next);
        if (first == NULL) {
            return mpsc_end_of_chain(queue);
        }
        queue->head = first;
    }
    struct rti_mpsc_node *oldest = queue->head;
    /* Pairs with the release in rti_mpsc_push. */
    struct rti_mpsc_node *next = rti_ptr_load_acquire(&oldest->next);
    if (next == NULL) {
        /* The oldest node may be the last: put the resting node in its place. Release: its NULL
         * comes before the link of the next producer, as in rti_mpsc_push. If another node came
         * in between, its producer is about to link it. */
        void *expected = oldest;
        rti_ptr_init(&queue->resting.next, NULL);
        if (rti_ptr_cas_acqrel(&queue->tail, &expected, &queue->resting)) {
            next = &queue->resting;
        } else {
            /* Pairs with the release in rti_mpsc_push. */
            next = rti_ptr_load_acquire(&oldest->next);
            if (next == NULL) {
                return RTI_MPSC_BUSY;
            }
        }
    }
    queue->head = next;
    *node = oldest;
    return RTI_MPSC_ITEM;
}

bool rti_mpsc_try_idle(struct rti_mpsc *queue)
{
    /* The tail is the resting node only while nothing is queued (I2), so the one word decides.
     * Release: what the consumer did so far comes before the push that finds the mark, and thereby
     * before the next consumer. Pairs with the exchange in rti_mpsc_push. */
    void *expected = &queue->resting;
    return rti_ptr_cas_acqrel(&queue->tail, &expected, mpsc_marked(&queue->resting));
}

size_t rti_mpsc_audit(const struct rti_mpsc *queue)
{
    size_t count = 0;
    void *tail = rti_ptr_load_relaxed(&queue->tail);
    const struct rti_mpsc_node *last = mpsc_unmarked(tail);
    const struct rti_mpsc_node *at = queue->head;
    RT_ASSERT(at != NULL && last != NULL);
    RT_ASSERT(!mpsc_is_marked(tail) || last == &queue->resting);
    RT_ASSERT(last != &queue->resting || at == &queue->resting);
    count += at != &queue->resting;
    while (at != last) {
        /* Pairs with the release in rti_mpsc_push. */
        at = rti_ptr_load_acquire(&at->next);
        RT_ASSERT(at != NULL);
        RT_ASSERT(at != &queue->resting);
        count++;
    }
    RT_ASSERT(rti_ptr_load_relaxed(&last->next) == NULL);
    return count;
}
