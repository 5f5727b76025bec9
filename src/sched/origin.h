/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_ORIGIN_H
#define RTI_ORIGIN_H

/* Where something that runs comes from: the code that started it, the code that started that, and
 * so on for a few generations, and who its starter was.
 *
 * A site is an address in the program: right behind the call that started. Tools turn it into a
 * function and a line; nothing else looks at it, and it never enters a journal. The sites of the
 * ancestors are copied, so the chain can be told after they have ended.
 *
 * Costs: one copy of a few words when something is started. */

#include <string.h>

#include "base/compiler.h"

/* Generations that are remembered, the own one included. */
#if defined(__SIZEOF_POINTER__) && __SIZEOF_POINTER__ == 4
#define RTI_ORIGIN_SITES 1
#else
#define RTI_ORIGIN_SITES 4
#endif

struct rti_origin {
    const void *sites[RTI_ORIGIN_SITES]; /* youngest first; NULL ends the chain */
    uint32_t parent;                     /* the starter's id in traces; 0: none, from outside */
};

/* Notes that `site` starts something; `starter` is the origin of who runs there, or NULL. */
static inline void rti_origin_init(struct rti_origin *origin, const void *site,
                                   const struct rti_origin *starter, uint32_t starter_id)
{
    origin->sites[0] = site;
    if (RTI_LIKELY(starter != NULL)) {
        /* In one piece: this is on the way of every spawn. */
        memcpy(&origin->sites[1], starter->sites, sizeof(origin->sites) - sizeof(origin->sites[0]));
    } else {
        memset(&origin->sites[1], 0, sizeof(origin->sites) - sizeof(origin->sites[0]));
    }
    origin->parent = starter_id;
}

/* The address behind the call of the function that says this; not to be used in one that may be
 * inlined into another function of the library. */
#define RTI_CALL_SITE() __builtin_return_address(0)

#endif
