/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "list"
#define RTI_LIST_HERE
#include "base/list.h"

size_t rti_list_audit(const struct rti_list *list)
{
    size_t count = 0;
    const struct rti_link *prev = &list->head;
    for (const struct rti_link *link = list->head.next; link != &list->head; link = link->next) {
        RT_ASSERT(link != NULL);
        RT_ASSERT(link->prev == prev);
        prev = link;
        count++;
    }
    RT_ASSERT(list->head.prev == prev);
    return count;
}
