/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RETRY_H
#define RETRY_H

/* A parent that tries again. It takes the same op as its child, the client, has the child do it,
 * and looks at the answer: one that may be better next time is asked for again, after a pause that
 * doubles each time and is never the same for two clients. Who asks sees one op and one answer; who
 * cancels it stops the try or the pause, whichever is under way.
 *
 * The child's own ops, its connects and receives, pass through this parent without its help. */

#include "client.h"

struct http_retry_config {
    rt_net_address server;
    unsigned tries_max;
    rt_time pause_first; /* about half of it to all of it; then twice that */
    rt_time pause_max;
    uint64_t seed; /* of the pauses */
};

struct http_retry {
    rt_machine machine; /* first */
    struct http_client client;
    struct http_retry_config config;
    struct http_get attempt; /* what the child is asked */
    rt_timer_op pause;
    struct http_get *asked; /* NULL: nothing to do */
    unsigned tries;
    bool is_cancelled;
    uint64_t random;
    unsigned retries_total;
};

rt_status http_retry_init(rt_machine *parent, struct http_retry *retry,
                          const struct http_retry_config *config);

#endif
