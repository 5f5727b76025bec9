/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a request, in the simulated world with a port that answers when the test says so. */
#define RTI_MODULE "request_test"
#include "io/request.h"

#include "support/fibers.h"
#include "support/test.h"

static struct fibers fibers;
static struct rti_port_ops scripted; /* the simulator's, but for submit and cancel */

/* What the port does with the op that it has. */
static struct {
    struct rti_op *op;          /* submitted, not yet answered */
    bool is_cancel_late;        /* cancel finds the op answered already */
    unsigned cancels;           /* how often cancel was called */
    struct rti_op *answered[4]; /* to be told by the next wait */
    size_t answered_count;
} world;

struct record {
    struct rti_request request;
    unsigned releases;
    bool was_taken;
};

static struct record record;

static void scripted_submit(struct rti_port *port, struct rti_op *op)
{
    (void)port;
    CHECK(world.op == NULL);
    rti_op_to_in_flight(op);
    world.op = op;
}

/* The op has its answer; the next wait tells it. */
static void world_answer(rt_status_code status, int64_t result)
{
    CHECK(world.op != NULL);
    rti_op_answer(world.op, status, result, 0);
    world.answered[world.answered_count++] = world.op;
    world.op = NULL;
    fibers.port.port.ops->wake(&fibers.port.port);
}

static void scripted_cancel(struct rti_port *port, struct rti_op *op)
{
    (void)port;
    world.cancels++;
    CHECK(world.op == op);
    world_answer(world.is_cancel_late ? RT_OK : RT_ERR_CANCELLED, world.is_cancel_late ? 7 : 0);
}

static enum rti_wait_end scripted_wait(struct rti_port *port, uint64_t deadline_ns);
static enum rti_wait_end (*sim_wait)(struct rti_port *port, uint64_t deadline_ns);

static enum rti_wait_end scripted_wait(struct rti_port *port, uint64_t deadline_ns)
{
    if (world.answered_count == 0) {
        return sim_wait(port, deadline_ns);
    }
    size_t count = world.answered_count;
    world.answered_count = 0;
    for (size_t i = 0; i < count; i++) {
        rti_op_to_idle(world.answered[i]);
        world.answered[i]->done(world.answered[i]);
    }
    (void)sim_wait(port, 0);
    return RTI_WAIT_WOKEN;
}

static void record_release(struct rti_request *request)
{
    struct record *self = RTI_CONTAINER_OF(request, struct record, request);
    self->releases++;
    self->was_taken = request->is_taken;
}

static void start(enum rti_op_code code)
{
    memset(&world, 0, sizeof(world));
    fibers_init(&fibers);
    scripted = *fibers.port.port.ops;
    sim_wait = scripted.wait;
    scripted.submit = scripted_submit;
    scripted.cancel = scripted_cancel;
    scripted.wait = scripted_wait;
    fibers.port.port.ops = &scripted;
    memset(&record, 0, sizeof(record));
    rti_request_init(&record.request, &fibers.port.port, code, record_release);
}

/* The fibers have ended before the port has told: lets it. */
static void run_and_tell(void)
{
    CHECK_OK(fibers_run(&fibers));
    CHECK_EQ(record.releases, 0);
    while (record.releases == 0) {
        (void)scripted.wait(&fibers.port.port, RTI_TIME_NEVER);
    }
}

static void finish(void)
{
    CHECK_OK(fibers_run(&fibers));
    CHECK_EQ(fibers.done_count, fibers.count);
    CHECK_EQ(record.releases, 1);
    CHECK(record.request.waiter == NULL);
    CHECK(rti_wheel_next_deadline(&fibers.clockwork.wheel) == RTI_TIME_NEVER);
    fibers_deinit(&fibers);
}

static bool is_answered; /* what await said */

static void await_for_ms(void *arg)
{
    uint64_t ms = (uint64_t)(uintptr_t)arg;
    struct rti_worker *worker = rti_worker_current();
    uint64_t deadline_ns =
        ms == 0 ? RTI_TIME_NEVER : rti_deadline_after(worker->sched, ms * RTI_NS_PER_MS);
    is_answered = false;
    rti_request_begin(&record.request);
    is_answered = rti_request_await(&record.request, deadline_ns);
    if (is_answered) {
        CHECK_EQ(record.releases, 0);
        rti_request_end(&record.request, true);
    }
}

static void sleep_ms(uint64_t ms)
{
    struct rti_worker *worker = rti_worker_current();
    rti_fiber_sleep_until(worker, rti_deadline_after(worker->sched, ms * RTI_NS_PER_MS));
}

static void answer_after_5_ms(void *arg)
{
    (void)arg;
    sleep_ms(5);
    world_answer(RT_OK, 3);
}

TEST(request_answer_wakes_its_fiber_and_is_taken)
{
    start(RTI_OP_READ);
    fibers_go(&fibers, 2, await_for_ms, NULL);
    fibers_go(&fibers, 2, answer_after_5_ms, NULL);
    finish();
    CHECK(is_answered && record.was_taken);
    CHECK_EQ(record.request.op.result, 3);
    CHECK_EQ(world.cancels, 0);
}

TEST(request_on_a_descriptor_is_taken_back_at_its_limit)
{
    start(RTI_OP_READ);
    fibers_go(&fibers, 2, await_for_ms, (void *)5);
    finish();
    CHECK(!is_answered && !record.was_taken);
    CHECK_EQ(world.cancels, 1);
    CHECK_EQ(fibers.port.now_ns, 5 * RTI_NS_PER_MS);
}

TEST(request_whose_answer_beats_the_cancel_is_answered)
{
    start(RTI_OP_READ);
    world.is_cancel_late = true;
    fibers_go(&fibers, 2, await_for_ms, (void *)5);
    finish();
    CHECK(is_answered && record.was_taken);
    CHECK_EQ(record.request.op.result, 7);
}

/* More urgent than the one that waits: it keeps the processor from the limit's moment on and has
 * the answer told before the waiting fiber runs. */
static void answer_between(void *arg)
{
    (void)arg;
    sleep_ms(5);
    struct rti_worker *worker = rti_worker_current();
    rti_fiber_yield(worker);
    world_answer(RT_OK, 9);
    for (int i = 0; i < 8; i++) {
        rti_fiber_yield(worker);
    }
}

TEST(request_answered_between_its_limit_and_its_fiber_is_answered)
{
    start(RTI_OP_READ);
    fibers_go(&fibers, 2, await_for_ms, (void *)5);
    fibers_go(&fibers, 0, answer_between, NULL);
    finish();
    CHECK(is_answered && record.was_taken);
    CHECK_EQ(record.request.op.result, 9);
    CHECK_EQ(world.cancels, 0);
}

/* Work is let go: the fiber is back at its limit, the record when the work ends. */
static void work_main(void *arg)
{
    await_for_ms((void *)5);
    CHECK(!is_answered);
    CHECK_EQ(fibers.port.now_ns, 5 * RTI_NS_PER_MS);
    CHECK_EQ(record.releases, 0);
    (void)arg;
}

static bool is_work_cancellable;

static void work_cancel(struct rti_port *port, struct rti_op *op)
{
    (void)port;
    world.cancels++;
    CHECK(world.op == op);
    if (is_work_cancellable) {
        world_answer(RT_ERR_CANCELLED, 0);
    }
}

static void answer_after_20_ms(void *arg)
{
    (void)arg;
    sleep_ms(20);
    CHECK_EQ(record.releases, 0);
    world_answer(RT_OK, 4);
    sleep_ms(1);
    CHECK_EQ(record.releases, 1);
}

TEST(request_for_work_that_runs_is_let_go_at_its_limit_and_released_at_its_end)
{
    start(RTI_OP_WORK);
    scripted.cancel = work_cancel;
    is_work_cancellable = false;
    fibers_go(&fibers, 2, work_main, NULL);
    fibers_go(&fibers, 2, answer_after_20_ms, NULL);
    finish();
    CHECK(!record.was_taken);
    CHECK_EQ(world.cancels, 1);
}

TEST(request_for_work_that_no_thread_had_is_released_at_once)
{
    start(RTI_OP_WORK);
    scripted.cancel = work_cancel;
    is_work_cancellable = true;
    fibers_go(&fibers, 2, work_main, NULL);
    run_and_tell();
    finish();
    CHECK(!record.was_taken);
}

static void kill_first_after_5_ms(void *arg)
{
    (void)arg;
    sleep_ms(5);
    CHECK(rti_fiber_kill(&fibers.sched, &fibers.fibers[0]));
}

TEST(request_of_a_killed_fiber_is_cancelled_and_released_by_its_answer)
{
    start(RTI_OP_READ);
    fibers_go(&fibers, 2, await_for_ms, NULL);
    fibers_go(&fibers, 2, kill_first_after_5_ms, NULL);
    run_and_tell();
    finish();
    CHECK(!is_answered && !record.was_taken);
    CHECK_EQ(world.cancels, 1);
    CHECK_EQ(fibers.ends[0], RTI_FIBER_KILLED);
}

static void kill_first_with_its_answer(void *arg)
{
    (void)arg;
    sleep_ms(5);
    world_answer(RT_OK, 6);
    (void)scripted.wait(&fibers.port.port, 0);
    CHECK_EQ(record.request.state, RTI_REQUEST_ANSWERED);
    CHECK(rti_fiber_kill(&fibers.sched, &fibers.fibers[0]));
}

TEST(request_of_a_fiber_killed_with_its_answer_is_released_untaken)
{
    start(RTI_OP_ACCEPT);
    fibers_go(&fibers, 2, await_for_ms, NULL);
    fibers_go(&fibers, 2, kill_first_with_its_answer, NULL);
    finish();
    CHECK(!is_answered && !record.was_taken);
    CHECK_EQ(record.request.op.result, 6);
    CHECK_EQ(world.cancels, 0);
}

/* The kill comes between the cancel of the limit and the word of the port. */
static void kill_first_while_cancelled(void *arg)
{
    (void)arg;
    while (world.cancels == 0) {
        sleep_ms(1);
    }
    CHECK(rti_fiber_kill(&fibers.sched, &fibers.fibers[0]));
}

static void hold_cancel(struct rti_port *port, struct rti_op *op)
{
    (void)port;
    CHECK(world.op == op);
    world.cancels++;
    if (world.cancels == 2) {
        world_answer(RT_ERR_CANCELLED, 0);
    }
}

TEST(request_of_a_fiber_killed_while_its_limit_is_settled_is_released_once)
{
    start(RTI_OP_READ);
    scripted.cancel = hold_cancel;
    fibers_go(&fibers, 2, await_for_ms, (void *)5);
    fibers_go(&fibers, 2, kill_first_while_cancelled, NULL);
    run_and_tell();
    finish();
    CHECK(!is_answered);
    CHECK_EQ(world.cancels, 2);
}

static void await_kept(void *arg)
{
    record.request.is_kept = true;
    await_for_ms(arg);
}

TEST(request_that_is_kept_goes_on_without_its_fiber)
{
    start(RTI_OP_WORK);
    fibers_go(&fibers, 2, await_kept, NULL);
    fibers_go(&fibers, 2, kill_first_after_5_ms, NULL);
    CHECK_OK(fibers_run(&fibers));
    CHECK(world.op != NULL && record.releases == 0);
    CHECK_EQ(world.cancels, 0);
    world_answer(RT_OK, 0);
    (void)scripted.wait(&fibers.port.port, 0);
    finish();
    CHECK(!record.was_taken);
}

static void break_stack(void *arg)
{
    struct rti_fiber *self = rti_worker_current()->fiber;
    (void)arg;
    memset(rti_stack_low(&self->stack), 0, 8); /* as an overflow does */
    await_for_ms(NULL);
}

TEST(request_of_a_fiber_whose_stack_overflowed_is_cancelled)
{
    start(RTI_OP_READ);
    fibers_go(&fibers, 2, break_stack, NULL);
    run_and_tell();
    finish();
    CHECK_EQ(fibers.ends[0], RTI_FIBER_OVERFLOWED);
    CHECK_EQ(world.cancels, 1);
}

TEST(request_that_was_never_begun_ends_untaken)
{
    start(RTI_OP_READ);
    rti_request_end(&record.request, false);
    finish();
    CHECK(!record.was_taken);
}

static void end_twice(void *arg)
{
    (void)arg;
    rti_request_begin(&record.request);
    rti_request_end(&record.request, false);
}

TEST(request_in_flight_cannot_be_ended)
{
    start(RTI_OP_READ);
    CHECK_PANICS("request", end_twice, NULL);
    fibers_deinit(&fibers);
}
