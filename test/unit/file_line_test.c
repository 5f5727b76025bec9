/* SPDX-License-Identifier: Apache-2.0 */
/* Which file requests run beside which, with works that the test begins and ends by hand. */
#define RTI_MODULE "file_line_test"
#include "io/file_line.h"

#include "support/fibers.h"
#include "support/test.h"

#define REQUESTS_MAX 32

static struct fibers fibers;
static struct rti_io io;
static struct rti_port_ops scripted;
static struct rti_op *with_port[REQUESTS_MAX]; /* begun, in order */
static size_t with_port_count;

static void scripted_submit(struct rti_port *port, struct rti_op *op)
{
    (void)port;
    CHECK(with_port_count < REQUESTS_MAX);
    rti_op_to_in_flight(op);
    with_port[with_port_count++] = op;
}

static void nothing(struct rti_op *op)
{
    (void)op;
}

static const struct rti_port_file no_file = {
    .open = nothing, .close = nothing, .sync = nothing, .read = nothing, .write = nothing};

static void start(void)
{
    fibers_init(&fibers);
    scripted = *fibers.port.port.ops;
    scripted.submit = scripted_submit;
    fibers.port.port.ops = &scripted;
    fibers.port.port.file = &no_file;
    CHECK_OK(rti_io_init(&io, &fibers.sched));
    with_port_count = 0;
}

static void finish(void)
{
    CHECK_EQ(rti_io_in_use(&io), 0);
    rti_io_deinit(&io);
    fibers_deinit(&fibers);
}

/* A request nobody waits for: it leaves the line when its work ends. */
static struct rti_request *ask(enum rti_file_verb verb, int fd)
{
    struct rti_file_request *record = rti_file_request_new(&io, verb, fd);
    CHECK(record != NULL);
    if (verb == RTI_FILE_CLOSE) {
        rti_file_request_to_close(record, fd);
    }
    record->request.is_detached = true;
    rti_file_line_join(record);
    rti_io_audit(&io);
    return &record->request;
}

static bool is_begun(const struct rti_request *request)
{
    return request->state == RTI_REQUEST_IN_FLIGHT;
}

static void end(struct rti_request *request, rt_status_code status, int64_t result, int error)
{
    CHECK(is_begun(request));
    rti_op_answer(&request->op, status, result, error);
    rti_op_to_idle(&request->op);
    request->op.done(&request->op);
    rti_io_audit(&io);
}

static void end_ok(struct rti_request *request)
{
    end(request, RT_OK, 0, 0);
}

TEST(file_line_orders_transfers_at_the_position_and_nothing_else)
{
    start();
    struct rti_request *read = ask(RTI_FILE_READ, 5);
    struct rti_request *write = ask(RTI_FILE_WRITE, 5);
    struct rti_request *pread = ask(RTI_FILE_PREAD, 5);
    struct rti_request *pwrite = ask(RTI_FILE_PWRITE, 5);
    struct rti_request *sync = ask(RTI_FILE_SYNC, 5);
    struct rti_request *other = ask(RTI_FILE_READ, 6);
    struct rti_request *third = ask(RTI_FILE_READ, 5);
    CHECK(is_begun(read) && !is_begun(write) && !is_begun(third));
    CHECK(is_begun(pread) && is_begun(pwrite) && is_begun(sync) && is_begun(other));
    end_ok(read);
    CHECK(is_begun(write) && !is_begun(third));
    end_ok(write);
    CHECK(is_begun(third));
    end_ok(pread);
    end_ok(pwrite);
    end_ok(sync);
    end_ok(other);
    end_ok(third);
    finish();
}

TEST(file_line_close_waits_for_everything_on_its_descriptor)
{
    start();
    struct rti_request *pread = ask(RTI_FILE_PREAD, 5);
    struct rti_request *sync = ask(RTI_FILE_SYNC, 5);
    struct rti_request *write = ask(RTI_FILE_WRITE, 5);
    struct rti_request *held = ask(RTI_FILE_READ, 5);
    CHECK(!rti_file_line_is_closing(&io, 5));
    struct rti_request *close = ask(RTI_FILE_CLOSE, 5);
    CHECK(rti_file_line_is_closing(&io, 5) && !rti_file_line_is_closing(&io, 6));
    struct rti_request *other = ask(RTI_FILE_CLOSE, 6);
    CHECK(!is_begun(close) && is_begun(other) && !is_begun(held));
    end_ok(pread);
    end_ok(sync);
    end_ok(write);
    CHECK(!is_begun(close) && is_begun(held));
    end_ok(held);
    CHECK(is_begun(close) && rti_file_line_is_closing(&io, 5));
    end_ok(close);
    CHECK(!rti_file_line_is_closing(&io, 5));
    end_ok(other);
    finish();
}

TEST(file_line_open_that_gives_a_number_shows_that_its_close_is_done)
{
    start();
    struct rti_request *close = ask(RTI_FILE_CLOSE, 5);
    CHECK(rti_file_line_is_closing(&io, 5));
    /* The thread has closed it; its word comes after that of the open that got the number. */
    rti_file_line_reuse(&io, 5);
    CHECK(!rti_file_line_is_closing(&io, 5));
    struct rti_request *sync = ask(RTI_FILE_SYNC, 5);
    end(sync, RT_ERR_IO, 0, 5);
    CHECK(rti_file_line_is_unsafe(&io, 5));
    /* The late word is not about the new file. */
    end_ok(close);
    CHECK(rti_file_line_is_unsafe(&io, 5));
    rti_file_line_reuse(&io, 5);
    CHECK(!rti_file_line_is_unsafe(&io, 5));
    finish();
}

TEST(file_line_open_that_nobody_takes_becomes_its_close)
{
    start();
    struct rti_request *open = ask(RTI_FILE_OPEN, -1);
    end(open, RT_OK, 9, 0);
    CHECK_EQ(rti_io_in_use(&io), 1);
    CHECK_EQ(with_port_count, 2);
    CHECK(with_port[1] == &open->op && is_begun(open));
    CHECK_EQ(open->op.fd, 9);
    CHECK(open->op.work == no_file.close);
    end_ok(open);
    /* One that failed has nothing to close. */
    open = ask(RTI_FILE_OPEN, -1);
    end(open, RT_ERR_IO, 0, 5);
    finish();
}

TEST(file_line_remembers_a_failed_sync_until_the_close)
{
    start();
    const int fds[] = {0, 5, RTI_IO_UNSAFE_FDS - 1};
    for (size_t i = 0; i < RTI_COUNT_OF(fds); i++) {
        CHECK(!rti_file_line_is_unsafe(&io, fds[i]));
        end(ask(RTI_FILE_SYNC, fds[i]), RT_ERR_IO, 0, 22); /* EINVAL: nothing was lost */
        CHECK(!rti_file_line_is_unsafe(&io, fds[i]));
        end(ask(RTI_FILE_SYNC, fds[i]), RT_ERR_IO, 0, 5); /* EIO */
        CHECK(rti_file_line_is_unsafe(&io, fds[i]));
        end_ok(ask(RTI_FILE_CLOSE, fds[i]));
        CHECK(!rti_file_line_is_unsafe(&io, fds[i]));
    }
    /* Beyond the table one word stands for all, and stays. */
    end(ask(RTI_FILE_SYNC, RTI_IO_UNSAFE_FDS), RT_ERR_IO, 0, 5);
    CHECK(rti_file_line_is_unsafe(&io, RTI_IO_UNSAFE_FDS));
    CHECK(rti_file_line_is_unsafe(&io, RTI_IO_UNSAFE_FDS + 7));
    CHECK(!rti_file_line_is_unsafe(&io, RTI_IO_UNSAFE_FDS - 1));
    finish();
}
