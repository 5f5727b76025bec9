/* SPDX-License-Identifier: Apache-2.0 */
/* The code examples of the actor specification, from "IPC API" to "Actor Death Handling", word for
 * word between the lines `begin` and `end`, each in the surroundings it needs, and run. Formatting
 * is switched off there, and so are warnings about what the examples leave unused. */
#define RTI_MODULE "actor_examples_test"
#include <assert.h>
#include <orrery/rt.h>

#include "support/actors.h"
#include "support/test.h"
#include "support/world.h"

#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* Runs `fn` as the first actor of a world and demands that all end. */
static void run(actor_fn fn, void *arg)
{
    world_run(fn, arg);
}

static int dropped;
static int handled;
static int processed;

static void log_dropped_message(actor_id target)
{
    CHECK(target != ACTOR_ID_INVALID);
    dropped++;
}

static void handle_message(const rt_message *msg)
{
    CHECK(msg->data != NULL);
    handled++;
}

static void process(const void *data)
{
    CHECK_STR(data, "data");
    processed++;
}

/* Example: Handling pool exhaustion. */

static rt_status_code send_or_back_off(actor_id target, int data)
{
    /* clang-format off */
/* begin */
// Bad: Ignoring RT_ERR_NOMEM (message lost, caller unaware)
rt_ipc_send(target, &data, sizeof(data), IPC_ASYNC);  // WRONG

// Good: Check and handle pool exhaustion
rt_status status = rt_ipc_send(target, &data, sizeof(data), IPC_ASYNC);
if (status.code == RT_ERR_NOMEM) {
    // Pool exhausted - implement backpressure
    // Option 1: Drop with telemetry
    log_dropped_message(target);

    // Option 2: Retry with backoff
    rt_message msg;
    rt_ipc_recv(&msg, 10);  // Backoff 10ms, process messages
    rt_ipc_release(&msg);
    // Retry send...

    // Option 3: Fail-fast to caller
    return RT_ERR_NOMEM;
}
/* end */
    /* clang-format on */
    return RT_OK;
}

static void exhausts_and_backs_off(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_EQ(send_or_back_off(rt_self(), 1), RT_OK);
    while (send_or_back_off(rt_self(), 1) == RT_OK) {
    }
    CHECK_EQ(dropped, 1);
    /* The back-off has received one. */
    size_t left = rt_ipc_count();
    CHECK(left == RT_MAILBOX_ENTRY_POOL_SIZE - 1);
    rt_exit();
}

TEST(actor_example_handling_pool_exhaustion)
{
    run(exhausts_and_backs_off, NULL);
}

/* Example: correct pattern, copy immediately if needed. */

static void copies_immediately(void *arg)
{
    (void)arg;
    CHECK_OK(rt_ipc_send(rt_self(), "one", 4, IPC_ASYNC));
    CHECK_OK(rt_ipc_send(rt_self(), "two", 4, IPC_ASYNC));
    /* clang-format off */
/* begin */
rt_message msg;
rt_ipc_recv(&msg, -1);

// ✓ SAFE: Copy data immediately
char local_copy[256];
memcpy(local_copy, msg.data, msg.len);
// local_copy is safe to use indefinitely

// ✗ UNSAFE: Storing pointer
const char *ptr = msg.data;  // DANGER
rt_ipc_recv(&msg, -1);       // ptr now INVALID (use-after-free)
/* end */
    /* clang-format on */
    CHECK_STR(local_copy, "one");
    CHECK_STR(msg.data, "two");
    rt_exit();
}

TEST(actor_example_copy_immediately)
{
    run(copies_immediately, NULL);
}

/* Examples: explicit release, and release by the next receive. */

static void sends_sync(void *arg)
{
    const actor_id *to = arg;
    CHECK_OK(rt_ipc_send(*to, "data", 5, IPC_SYNC));
    actors_say('u');
    rt_exit();
}

static void explicit_release(void *arg)
{
    (void)arg;
    actor_id self = rt_self();
    CHECK(rt_spawn(sends_sync, &self) != ACTOR_ID_INVALID);
    /* clang-format off */
/* begin */
// Safe: explicit release (recommended)
rt_message msg;
rt_ipc_recv(&msg, -1);
if (msg.data) {
    process(msg.data);
}
rt_ipc_release(&msg);  // Unblocks sender (if SYNC)
/* end */
    /* clang-format on */
    rt_yield();
    CHECK_STR(actors_said(), "u");
    rt_exit();
}

TEST(actor_example_explicit_release)
{
    run(explicit_release, NULL);
    CHECK_EQ(processed, 1);
}

static void auto_release(void *arg)
{
    (void)arg;
    actor_id self = rt_self();
    CHECK(rt_spawn(sends_sync, &self) != ACTOR_ID_INVALID);
    CHECK(rt_spawn(sends_sync, &self) != ACTOR_ID_INVALID);
    /* clang-format off */
/* begin */
// Also safe: auto-release on next recv (forgiving)
rt_message msg1, msg2;
rt_ipc_recv(&msg1, -1);  // msg1 is SYNC
process(msg1.data);
rt_ipc_recv(&msg2, -1);  // msg1 auto-released, sender unblocked
// No explicit release needed, but calling it is harmless
/* end */
    /* clang-format on */
    rt_yield();
    CHECK_STR(actors_said(), "u");
    rt_ipc_release(&msg1);
    rt_yield();
    CHECK_STR(actors_said(), "u");
    process(msg2.data);
    rt_ipc_release(&msg2);
    rt_yield();
    CHECK_STR(actors_said(), "uu");
    rt_exit();
}

TEST(actor_example_auto_release)
{
    run(auto_release, NULL);
    CHECK_EQ(processed, 2);
}

static void receive_again(void *arg)
{
    (void)arg;
    actor_id self = rt_self();
    CHECK(rt_spawn(sends_sync, &self) != ACTOR_ID_INVALID);
    CHECK(rt_spawn(sends_sync, &self) != ACTOR_ID_INVALID);
    /* clang-format off */
/* begin */
   rt_message msg1, msg2;
   rt_ipc_recv(&msg1, -1);  // msg1 is SYNC from actor A
   // ... process msg1.data ...
   rt_ipc_recv(&msg2, -1);  // msg1 AUTO-RELEASED, actor A unblocked
   // msg1.data now invalid, msg2.data valid
/* end */
    /* clang-format on */
    CHECK_STR(msg2.data, "data");
    rt_ipc_release(&msg2);
    rt_yield();
    CHECK_STR(actors_said(), "uu");
    rt_exit();
}

TEST(actor_example_receive_again_without_release)
{
    run(receive_again, NULL);
}

/* Example: self-send with SYNC. */

static void self_send(void *arg)
{
    (void)arg;
    int data = 7;
    size_t len = sizeof(data);
    /* clang-format off */
/* begin */
   // DEADLOCK: Self-send with SYNC
   rt_status status = rt_ipc_send(rt_self(), &data, len, IPC_SYNC);
   // Returns RT_ERR_INVALID, prevents deadlock
   assert(status.code == RT_ERR_INVALID);

   // OK: Self-send with ASYNC
   rt_ipc_send(rt_self(), &data, len, IPC_ASYNC);  // Works fine
/* end */
    /* clang-format on */
    CHECK_EQ(status.code, RT_ERR_INVALID);
    CHECK_EQ(rt_ipc_count(), 1);
    rt_exit();
}

TEST(actor_example_self_send)
{
    run(self_send, NULL);
}

/* Example: backoff and retry. */

static void back_off_and_retry(actor_id target, const void *data, size_t len)
{
    /* clang-format off */
/* begin */
rt_status status = rt_ipc_send(target, data, len, IPC_ASYNC);
if (status.code == RT_ERR_NOMEM) {
    // Pool exhausted - backoff before retry
    rt_message msg;
    status = rt_ipc_recv(&msg, 10);  // Backoff 10ms

    if (status.code == RT_ERR_TIMEOUT) {
        // No messages during backoff, retry send
        rt_ipc_send(target, data, len, IPC_ASYNC);
    } else if (!RT_FAILED(status)) {
        // Got message during backoff, handle it first
        handle_message(&msg);
        // Then retry send
    }
}
/* end */
    /* clang-format on */
}

static void drains_after_5ms(void *arg)
{
    size_t *got = arg;
    rt_message msg;
    actors_sleep_ms(5);
    while (!RT_FAILED(rt_ipc_recv(&msg, 50))) {
        ++*got;
    }
    rt_exit();
}

static void retries(void *arg)
{
    size_t *got = arg;
    actor_id target = rt_spawn(drains_after_5ms, got);
    while (!RT_FAILED(rt_ipc_send(target, "f", 1, IPC_ASYNC))) {
    }
    /* Nobody writes to this actor: it waits its 10 ms and sends once more. */
    back_off_and_retry(target, "x", 1);
    /* Its own mail is handled first. */
    CHECK_OK(rt_ipc_send(rt_self(), "y", 1, IPC_ASYNC));
    while (!RT_FAILED(rt_ipc_send(target, "f", 1, IPC_ASYNC))) {
    }
    back_off_and_retry(target, "x", 1);
    CHECK_EQ(handled, 1);
    rt_exit();
}

TEST(actor_example_backoff_and_retry)
{
    size_t got = 0;
    run(retries, &got);
    CHECK(got > 2 * (RT_MAILBOX_ENTRY_POOL_SIZE - 2));
}

/* Examples: message ordering. */

static actor_id receiver;
static char msg1 = '1';
static char msg2 = '2';
static char msgA = 'A';
static char msgB = 'B';

/* clang-format off */
/* begin */
// Single sender - FIFO guaranteed
void sender_actor(void *arg) {
    rt_ipc_send(receiver, &msg1, sizeof(msg1), IPC_ASYNC);  // Sent first
    rt_ipc_send(receiver, &msg2, sizeof(msg2), IPC_ASYNC);  // Sent second
    // Receiver will see: msg1, then msg2 (guaranteed)
}

// Multiple senders - order depends on scheduling
void sender_A(void *arg) {
    rt_ipc_send(receiver, &msgA, sizeof(msgA), IPC_ASYNC);
}
void sender_B(void *arg) {
    rt_ipc_send(receiver, &msgB, sizeof(msgB), IPC_ASYNC);
}
// Receiver may see: msgA then msgB, OR msgB then msgA (depends on scheduler)

// Timer + IPC interleaving
void actor_with_timer(void *arg) {
    timer_id timer;
    rt_timer_every(100000, &timer);  // 100ms periodic

    rt_message msg;
    while (1) {
        rt_ipc_recv(&msg, -1);

        if (rt_timer_is_tick(&msg)) {
            // Timer tick received in FIFO order with other messages
/* end */
            actors_say('t');
/* begin */
        } else {
            // Regular IPC message
/* end */
            actors_say('m');
/* begin */
        }
        // No guarantee which arrives first - depends on timing
    }
}
/* end */
/* clang-format on */

static void orders(void *arg)
{
    (void)arg;
    rt_message msg;
    receiver = rt_self();
    CHECK(rt_spawn(sender_actor, NULL) != ACTOR_ID_INVALID);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rt_ipc_recv(&msg, -1));
        actors_say(*(const char *)msg.data);
    }
    CHECK_STR(actors_said(), "12");
    CHECK(rt_spawn(sender_A, NULL) != ACTOR_ID_INVALID);
    CHECK(rt_spawn(sender_B, NULL) != ACTOR_ID_INVALID);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rt_ipc_recv(&msg, -1));
        actors_say(*(const char *)msg.data);
    }
    CHECK_STR(actors_said(), "12AB");
    rt_exit();
}

TEST(actor_example_message_order)
{
    run(orders, NULL);
}

static void disturbs_a_timer(void *arg)
{
    (void)arg;
    actor_id other = rt_spawn(actor_with_timer, NULL);
    actors_sleep_ms(150);
    CHECK_OK(rt_ipc_send(other, "m", 1, IPC_ASYNC));
    actors_sleep_ms(100);
    CHECK_OK(rt_actor_kill(other));
    rt_exit();
}

TEST(actor_example_timer_and_messages)
{
    run(disturbs_a_timer, NULL);
    CHECK_STR(actors_said(), "tmt");
}

/* Examples: death. The specification gives two of them the same names. */

static actor_id B;
static actor_id C;
static actor_id A;
static char msg = 'm';

#define actor_A dying_sender
/* clang-format off */
/* begin */
// Dying actor sends messages before death
void actor_A(void *arg) {
    rt_ipc_send(B, &msg1, sizeof(msg1), IPC_ASYNC);  // Enqueued in B's mailbox
    rt_ipc_send(C, &msg2, sizeof(msg2), IPC_ASYNC);  // Enqueued in C's mailbox
    rt_exit();  // Exit notifications sent to links/monitors
}
// Linked actor B will receive: msg1, then EXIT(A)
// Actor C will receive: msg2 (no exit notification, not linked)
/* end */
/* clang-format on */
#undef actor_A
#define actor_A dying_receiver
/* clang-format off */
/* begin */
// Messages sent TO dying actor are lost
void actor_B(void *arg) {
    rt_ipc_send(A, &msg, sizeof(msg), IPC_ASYNC);  // Enqueued in A's mailbox
}
void actor_A(void *arg) {
    // ... does some work ...
    rt_exit();  // Mailbox cleared, msg from B is discarded
}
/* end */
/* clang-format on */
#undef actor_A

static void says_mail(void *arg)
{
    rt_message mail;
    if (arg != NULL) {
        CHECK_OK(rt_link(A));
    }
    /* The first one comes, however long a busy machine takes. */
    for (int32_t limit = -1; !RT_FAILED(rt_ipc_recv(&mail, limit)); limit = 20) {
        actors_say(rt_is_exit_msg(&mail) ? 'x' : *(const char *)mail.data);
    }
    actors_say('.');
    rt_exit();
}

static void awaits_end(actor_id actor)
{
    while (rt_actor_alive(actor)) {
        actors_sleep_ms(20);
    }
}

static void lets_one_die(void *arg)
{
    (void)arg;
    actor_config urgent = {.priority = RT_PRIO_HIGH, .stack_size = 16384};
    actor_config lazy = {.priority = RT_PRIO_LOW, .stack_size = 16384};
    B = rt_spawn_ex(says_mail, &A, &urgent);
    C = rt_spawn_ex(says_mail, NULL, &lazy);
    A = rt_spawn(dying_sender, NULL);
    awaits_end(B);
    awaits_end(C);
    /* B is linked: its message, then the exit. C: its message only. */
    CHECK_STR(actors_said(), "1x2..");
    A = rt_spawn_ex(dying_receiver, NULL, &lazy);
    B = rt_spawn(actor_B, NULL);
    awaits_end(A);
    awaits_end(B);
    rt_exit();
}

TEST(actor_example_death_and_messages)
{
    run(lets_one_die, NULL);
}
