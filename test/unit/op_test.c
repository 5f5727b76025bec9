/* SPDX-License-Identifier: Apache-2.0 */
/* The shape every port relies on: who owns an op when, and what init leaves behind. */
#define RTI_MODULE "op_test"
#include "port/op.h"
#include "support/test.h"

static void nobody_hears(struct rti_op *op)
{
    (void)op;
}

TEST(op_init_makes_an_idle_op_without_a_descriptor)
{
    struct rti_op op;
    memset(&op, 0xA5, sizeof(op));
    rti_op_init(&op, RTI_OP_READ, nobody_hears);
    CHECK(rti_op_is_idle(&op));
    CHECK_EQ(op.fd, -1);
    CHECK(op.buffer == NULL && op.address == NULL && op.length == 0);
    CHECK(!op.is_cancelled && !op.is_truncated);
    CHECK(!rti_link_is_linked(&op.link));
}

TEST(op_in_flight_forgets_the_answer_of_its_last_use)
{
    struct rti_op op;
    rti_op_init(&op, RTI_OP_READ, nobody_hears);
    rti_op_to_in_flight(&op);
    rti_op_answer(&op, RT_ERR_IO, 7, 5);
    op.is_cancelled = true;
    op.is_truncated = true;
    rti_op_to_idle(&op);
    CHECK_EQ(op.status, RT_ERR_IO);
    CHECK_EQ(op.result, 7);
    CHECK_EQ(op.error, 5);
    rti_op_to_in_flight(&op);
    CHECK_EQ(op.status, RT_OK);
    CHECK_EQ(op.result, 0);
    CHECK_EQ(op.error, 0);
    CHECK(!op.is_cancelled && !op.is_truncated);
    rti_op_to_idle(&op);
}

TEST(op_codes_have_one_direction_and_two_lanes)
{
    static const bool inward[RTI_OP_CODE_COUNT] = {
        [RTI_OP_READ] = true,
        [RTI_OP_ACCEPT] = true,
        [RTI_OP_RECVFROM] = true,
        [RTI_OP_POLL_IN] = true,
    };
    for (int code = 0; code < RTI_OP_CODE_COUNT; code++) {
        struct rti_op op;
        rti_op_init(&op, (enum rti_op_code)code, nobody_hears);
        CHECK_EQ(rti_op_is_inward(&op), inward[code]);
        CHECK_EQ(rti_op_is_work(&op), code == RTI_OP_WORK || code == RTI_OP_WORK_DNS);
    }
}

static void submit_twice(void *arg)
{
    struct rti_op op;
    (void)arg;
    rti_op_init(&op, RTI_OP_NOP, nobody_hears);
    rti_op_to_in_flight(&op);
    rti_op_to_in_flight(&op);
}

static void answer_twice(void *arg)
{
    struct rti_op op;
    (void)arg;
    rti_op_init(&op, RTI_OP_NOP, nobody_hears);
    rti_op_to_in_flight(&op);
    rti_op_to_idle(&op);
    rti_op_to_idle(&op);
}

static void submit_without_done(void *arg)
{
    struct rti_op op;
    (void)arg;
    rti_op_init(&op, RTI_OP_NOP, NULL);
    rti_op_to_in_flight(&op);
}

TEST(op_submitted_twice_answered_twice_or_heard_by_nobody_panics)
{
    CHECK_PANICS("op_test", submit_twice, NULL);
    CHECK_PANICS("op_test", answer_twice, NULL);
    CHECK_PANICS("op_test", submit_without_done, NULL);
}
