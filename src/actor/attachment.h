/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_ATTACHMENT_H
#define RTI_ATTACHMENT_H

/* An attachment: a record that hangs at an actor, of either kind, and wants to know of its end.
 *
 * A supervisor's table, a private heap, a hold on a blob and a place in a group all are one. Each
 * actor has one list for all of them, so that an actor that has none pays for one list head, and a
 * new kind of record costs no field in a million behaviours.
 *
 * I1  When `died` is called the record is out of the list already, and the list is not touched
 *     while it runs but by itself: it may take other records out.        (rti_attachments_end)
 *
 * Records end in the reverse of the order in which they came, as scopes do. */

#include "base/list.h"

struct rti_attachment {
    struct rti_link link;
    /* The actor has ended. Neither fails nor suspends. */
    void (*died)(struct rti_attachment *attachment);
};

static inline void rti_attachment_init(struct rti_attachment *attachment,
                                       void (*died)(struct rti_attachment *))
{
    rti_link_init(&attachment->link);
    attachment->died = died;
}

static inline void rti_attachments_end(struct rti_list *list)
{
    while (!rti_list_is_empty(list)) {
        struct rti_link *last = list->head.prev;
        struct rti_attachment *attachment = RTI_CONTAINER_OF(last, struct rti_attachment, link);
        rti_list_remove(last);
        attachment->died(attachment);
    }
}

#endif
