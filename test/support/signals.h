/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_SUPPORT_SIGNALS_H
#define TEST_SUPPORT_SIGNALS_H

/* To receive a signal that the system sends.
 *
 * ThreadSanitizer keeps a handler back until the context that the signal interrupted makes a call
 * which it watches, and each fiber is a context of its own: a fiber that is interrupted and then
 * waits for that signal would keep it back itself. Under it the fiber looks up now and then. */

#include <orrery/rt.h>

#include "base/compiler.h"

static inline rt_status signals_recv(rt_channel_receiver *rx, rt_signal_value *out)
{
    const uint64_t look_ns = 10 * RT_NS_PER_MS;
    if (!RTI_TSAN) {
        return rt_channel_recv(rx, NULL, out);
    }
    rt_status status;
    do {
        status = rt_channel_recv_timeout(rx, NULL, out, look_ns);
    } while (status.code == RT_ERR_TIMEOUT);
    return status;
}

#endif
