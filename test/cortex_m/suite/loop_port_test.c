/* SPDX-License-Identifier: Apache-2.0 */
/* A loop without a runtime needs a thread of its own, and there is none: it is told so, and no
 * memory is touched. */
#include <orrery/rt.h>

#include "support/test.h"

TEST(loop_port_says_that_there_are_no_threads)
{
    static rt_loop_port port;
    CHECK_STATUS(rt_loop_port_init(&port, NULL), RT_ERR_UNSUPPORTED);
    CHECK_STATUS(rt_loop_port_init(NULL, NULL), RT_ERR_INVALID);
    CHECK(rt_loop_port_of(&port) == NULL);
    rt_loop_port_deinit(&port);
}
