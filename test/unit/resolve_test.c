/* SPDX-License-Identifier: Apache-2.0 */
/* The look-up of the C library and what its answers become. */
#define _GNU_SOURCE
#define RTI_MODULE "resolve_test"
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "port/linux/socket.h"
#include "support/test.h"

/* What the stand-in for the C library answers. */
static int code;
static int system_error;
static size_t answers;
static size_t distinct; /* of the answers, the others repeat */
static size_t freed;

static struct {
    struct addrinfo info;
    struct sockaddr_in address;
} nodes[64];

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **list)
{
    CHECK_STR(name, "host.test");
    CHECK(service == NULL && hints->ai_family == AF_UNSPEC);
    for (size_t i = 0; i < answers; i++) {
        nodes[i].address.sin_family = AF_INET;
        nodes[i].address.sin_addr.s_addr = htonl(0x0A000000U + (uint32_t)(i % distinct));
        nodes[i].info.ai_addr = (struct sockaddr *)&nodes[i].address;
        nodes[i].info.ai_next = i + 1 < answers ? &nodes[i + 1].info : NULL;
    }
    *list = &nodes[0].info;
    errno = system_error;
    return code;
}

void freeaddrinfo(struct addrinfo *list)
{
    CHECK(list == &nodes[0].info);
    freed++;
}

static void ignore(struct rti_op *op)
{
    (void)op;
}

static struct rti_resolution resolution;

static struct rti_op resolve(void)
{
    struct rti_op op;
    rti_op_init(&op, RTI_OP_WORK_DNS, ignore);
    memcpy(resolution.name, "host.test", sizeof("host.test"));
    op.buffer = &resolution;
    op.length = sizeof(resolution);
    freed = 0;
    rti_linux_resolve(&op);
    return op;
}

TEST(resolve_gives_each_address_once_and_no_more_than_fit)
{
    const size_t cases[][3] = {/* answers, distinct, wanted */
                               {1, 1, 1},
                               {6, 2, 2},
                               {RTI_RESOLVED_MAX, RTI_RESOLVED_MAX, RTI_RESOLVED_MAX},
                               {40, 40, RTI_RESOLVED_MAX}};
    for (size_t i = 0; i < RTI_COUNT_OF(cases); i++) {
        answers = cases[i][0];
        distinct = cases[i][1];
        struct rti_op op = resolve();
        CHECK_EQ(op.status, RT_OK);
        CHECK_EQ(op.result, cases[i][2]);
        CHECK_EQ(resolution.count, cases[i][2]);
        for (uint32_t k = 0; k < resolution.count; k++) {
            CHECK_EQ(resolution.found[k].ip[3], k);
        }
        CHECK_EQ(freed, 1);
    }
}

TEST(resolve_failures_are_told_apart)
{
    const struct {
        int code;
        int system_error;
        rt_status_code status;
        int error;
    } cases[] = {
        {EAI_NONAME, 0, RT_ERR_NOT_FOUND, 0}, {EAI_FAIL, 0, RT_ERR_NOT_FOUND, 0},
        {EAI_AGAIN, 0, RT_ERR_IO, EAGAIN},    {EAI_MEMORY, 0, RT_ERR_NOMEM, ENOMEM},
        {EAI_SYSTEM, EIO, RT_ERR_IO, EIO},
    };
    for (size_t i = 0; i < RTI_COUNT_OF(cases); i++) {
        code = cases[i].code;
        system_error = cases[i].system_error;
        struct rti_op op = resolve();
        CHECK_EQ(op.status, cases[i].status);
        CHECK_EQ(op.error, cases[i].error);
        CHECK_EQ(resolution.count, 0);
        CHECK_EQ(freed, 0);
    }
}

TEST(resolve_name_with_addresses_of_other_kinds_only_is_not_found)
{
    answers = 1;
    distinct = 1;
    struct rti_op op = resolve();
    CHECK_EQ(op.status, RT_OK);
    answers = 0;
    nodes[0].address.sin_family = AF_UNIX;
    nodes[0].info.ai_next = NULL;
    op = resolve();
    CHECK_EQ(op.status, RT_ERR_NOT_FOUND);
    CHECK_EQ(freed, 1);
}
