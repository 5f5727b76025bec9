/* SPDX-License-Identifier: Apache-2.0 */
/* Ports that a program makes for its loops, with the public headers alone. */
#define _GNU_SOURCE
#include <orrery/rt.h>

#include "support/test.h"

static rt_loop_port port;
static rt_loop loop;
static rt_machine app;
static rt_machine_slot slots[2];
static rt_io_op op;

static void tick(rt_machine *machine, rt_time now)
{
    (void)now;
    if (op.base.id == 0) {
        rt_op_init(&op.base, RT_OP_UDP_OPEN);
        op.address = (rt_net_address){.ip = {127, 0, 0, 1}};
        CHECK_OK(rt_op_submit(machine, &op.base));
    }
    if (rt_machine_next(machine, RT_QUEUE_COMPLETIONS) != NULL && op.base.code == RT_OP_UDP_OPEN) {
        CHECK_EQ(op.base.status, RT_OK);
        op.fd = (int)op.base.result;
        rt_op_init(&op.base, RT_OP_FD_CLOSE);
        CHECK_OK(rt_op_submit(machine, &op.base));
        rt_loop_close(rt_machine_loop(machine));
    }
}

static void run_loop(const rt_loop_port_config *port_config)
{
    CHECK_OK(rt_loop_port_init(&port, port_config));
    const rt_loop_config config = {.port = rt_loop_port_of(&port),
                                   .app = &app,
                                   .app_config = {.tick = tick},
                                   .slots = slots,
                                   .slots_count = 2};
    op.base.id = 0;
    CHECK_OK(rt_loop_init(&loop, &config));
    CHECK_OK(rt_loop_run(&loop));
    CHECK_EQ(op.base.status, RT_OK);
    rt_loop_deinit(&loop);
    rt_loop_port_deinit(&port);
}

TEST(machine_port_serves_a_loop_again_and_again)
{
    run_loop(NULL);
    run_loop(NULL);
}

TEST(machine_port_takes_a_table_of_descriptors)
{
    static rt_loop_fd fds[64];
    const rt_loop_port_config config = {.fds = fds, .fds_count = 64, .pool_threads = 1};
    run_loop(&config);
}

TEST(machine_port_refuses_what_is_no_port)
{
    static rt_loop_fd fds[4];
    CHECK_STATUS(rt_loop_port_init(NULL, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_loop_port_init(&port, &(rt_loop_port_config){.fds = fds}), RT_ERR_INVALID);
    CHECK_STATUS(rt_loop_port_init(&port, &(rt_loop_port_config){.fds_count = 4}), RT_ERR_INVALID);
}
