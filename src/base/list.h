/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_LIST_H
#define RTI_LIST_H

/* An intrusive doubly linked list, FIFO by habit: push at the tail, pop at the head.
 *
 * The head is a link itself and closes the ring, so no operation has a special case. An unlinked
 * link points to nothing; that is how double insertion and double removal are caught.
 *
 * I1  Following `next` from the head returns to the head, and each step's `prev` is the step
 *     before.                                                               (rti_list_audit)
 * I2  A link is in a list iff its `next` is not NULL.                       (RT_DCHECK) */

#include <stdbool.h>

#include "base/assert.h"

struct rti_link {
    struct rti_link *next; /* NULL when in no list */
    struct rti_link *prev; /* of no meaning then */
};

struct rti_list {
    struct rti_link head;
};

static inline void rti_list_init(struct rti_list *list)
{
    list->head.next = &list->head;
    list->head.prev = &list->head;
}

static inline void rti_link_init(struct rti_link *link)
{
    link->next = NULL;
}

static inline bool rti_link_is_linked(const struct rti_link *link)
{
    return link->next != NULL;
}

static inline bool rti_list_is_empty(const struct rti_list *list)
{
    return list->head.next == &list->head;
}

/* Puts `link` before `where`; with `where` the head, at the tail. Where flash is scarce this and
 * rti_list_remove are there once, in list.c. */
#if RTI_ONE_WORKER
#define RTI_LIST_EDIT
#else
#define RTI_LIST_EDIT static inline
#endif
RTI_LIST_EDIT void rti_list_insert_before(struct rti_link *where, struct rti_link *link);
RTI_LIST_EDIT void rti_list_remove(struct rti_link *link);

#if !RTI_ONE_WORKER || defined(RTI_LIST_HERE)
RTI_LIST_EDIT void rti_list_insert_before(struct rti_link *where, struct rti_link *link)
{
    RT_DCHECK(!rti_link_is_linked(link));
    struct rti_link *last = where->prev;
    /* In this order: a compiler that sees the two stores to `link` side by side makes one of them,
     * by way of two more registers. */
    link->next = where;
    last->next = link;
    link->prev = last;
    where->prev = link;
}

RTI_LIST_EDIT void rti_list_remove(struct rti_link *link)
{
    RT_DCHECK(rti_link_is_linked(link));
    struct rti_link *next = link->next;
    struct rti_link *prev = link->prev;
    prev->next = next;
    next->prev = prev;
    rti_link_init(link);
}
#endif

static inline void rti_list_push_tail(struct rti_list *list, struct rti_link *link)
{
    rti_list_insert_before(&list->head, link);
}

static inline void rti_list_push_head(struct rti_list *list, struct rti_link *link)
{
    rti_list_insert_before(list->head.next, link);
}

/* The first link, left where it is; NULL if the list is empty. */
static inline struct rti_link *rti_list_peek(const struct rti_list *list)
{
    return rti_list_is_empty(list) ? NULL : list->head.next;
}

static inline struct rti_link *rti_list_pop(struct rti_list *list)
{
    struct rti_link *link = rti_list_peek(list);
    if (link != NULL) {
        rti_list_remove(link);
    }
    return link;
}

/* The link after `link`, or NULL at the end. */
static inline struct rti_link *rti_list_next(const struct rti_list *list,
                                             const struct rti_link *link)
{
    return link->next == &list->head ? NULL : link->next;
}

/* Moves all of `from` to the tail of `to`; `from` is empty afterwards. */
static inline void rti_list_splice_tail(struct rti_list *to, struct rti_list *from)
{
    if (rti_list_is_empty(from)) {
        return;
    }
    from->head.next->prev = to->head.prev;
    to->head.prev->next = from->head.next;
    from->head.prev->next = &to->head;
    to->head.prev = from->head.prev;
    rti_list_init(from);
}

/* Checks I1 and returns the number of links. */
size_t rti_list_audit(const struct rti_list *list);

#endif
