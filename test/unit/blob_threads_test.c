/* SPDX-License-Identifier: Apache-2.0 */
/* Blobs on several workers: holders of one blob slice, send, forward and export it at the same
 * time, to receivers of both kinds that take it, leave it, end or are killed. Each blob is freed
 * once, and nobody sees other bytes than were written. For the thread sanitizer, too. */
#define RTI_MODULE "blob_threads_test"
#include <orrery/rt.h>

#include "actor/behaviour.h"
#include "actor/blob.h"
#include "support/test.h"

#define HOLDERS 6
#define SIZE    256
#define ROUNDS  30000

TEST_TIMEOUT(60);

static rti_atomic_u32 holders[HOLDERS];
static rti_atomic_u32 rounds;
static rt_channel_sender *tokens_in;
static rt_channel_receiver *tokens_out;

/* What a holder has: a blob, or none. */
struct holder {
    rt_blob *blob;
    uint32_t dice;
    bool is_ticking; /* a message 0 is on its way to itself */
};

static uint32_t draw(struct holder *self, uint32_t n)
{
    self->dice = self->dice * UINT32_C(1664525) + UINT32_C(1013904223);
    return (self->dice >> 16) % n;
}

static actor_id other(struct holder *self)
{
    return rti_u32_load_relaxed(&holders[draw(self, HOLDERS)]);
}

/* Every byte is one more than the one before, in each slice. */
static void check_bytes(const rt_blob *blob)
{
    const unsigned char *bytes = rt_blob_data(blob);
    for (size_t i = 1; i < rt_blob_size(blob); i++) {
        CHECK_EQ(bytes[i], (unsigned char)(bytes[i - 1] + 1));
    }
}

static rt_blob *make(void)
{
    rt_blob *blob = NULL;
    if (!RT_FAILED(rt_blob_create(SIZE, &blob))) {
        unsigned char *bytes = rt_blob_bytes(blob);
        for (size_t i = 0; i < SIZE; i++) {
            bytes[i] = (unsigned char)i;
        }
    }
    return blob;
}

static void through_the_channel(struct holder *self)
{
    rt_blob *blob;
    rt_blob_token token = rt_blob_export(self->blob);
    if (RT_FAILED(rt_channel_try_send(tokens_in, &token))) {
        CHECK_OK(rt_blob_discard(token));
    }
    if (!RT_FAILED(rt_channel_try_recv(tokens_out, &token))) {
        if (RT_FAILED(rt_blob_import(token, &blob))) {
            CHECK_OK(rt_blob_discard(token));
        } else {
            check_bytes(blob);
            rt_blob_release(blob);
        }
    }
}

static const rt_behaviour_type holder_type;

static void spawn(uint32_t place, uint32_t dice)
{
    actor_id id = rt_behaviour_spawn(&holder_type, (void *)(uintptr_t)(dice | 1));
    CHECK(id != ACTOR_ID_INVALID);
    rti_u32_store_relaxed(&holders[place], id);
}

/* Keeps itself going. There may be no room: then some mail is there to try again with. */
static void tick(struct holder *self)
{
    self->is_ticking = !RT_FAILED(rt_behaviour_send(rt_self(), 0, NULL, 0));
}

static void kill_one(struct holder *self)
{
    uint32_t place = draw(self, HOLDERS);
    if (!RT_FAILED(rt_actor_kill(rti_u32_load_relaxed(&holders[place])))) {
        spawn(place, self->dice);
    }
}

static void begin(void *state, void *arg)
{
    struct holder *self = state;
    self->dice = (uint32_t)(uintptr_t)arg;
    tick(self);
}

static void share(void *state, const rt_behaviour_message *msg)
{
    struct holder *self = state;
    rt_blob *slice;
    (void)msg;
    if (rti_u32_add_relaxed(&rounds, 1) >= ROUNDS) {
        rt_shutdown();
        return;
    }
    if (self->blob == NULL) {
        self->blob = make();
    }
    if (self->blob != NULL) {
        (void)rt_blob_send(other(self), 1, self->blob);
        size_t half = rt_blob_size(self->blob) / 2;
        if (!RT_FAILED(rt_blob_slice(self->blob, half / 2, half, &slice))) {
            (void)rt_blob_send(other(self), 1, slice);
            rt_blob_release(slice);
        }
        through_the_channel(self);
        if (draw(self, 3) == 0) {
            rt_blob_release(self->blob);
            self->blob = NULL;
        }
    }
    if (draw(self, 4) == 0) {
        kill_one(self);
    }
    tick(self);
}

static void receive(void *state, const rt_behaviour_message *msg)
{
    struct holder *self = state;
    rt_blob *blob;
    uint32_t way = draw(self, 4);
    if (!self->is_ticking) {
        tick(self);
    }
    if (way == 0 || (way == 1 && !RT_FAILED(rt_behaviour_forward(other(self), 1)))) {
        return; /* nobody takes it, or another */
    }
    if (!RT_FAILED(rt_blob_take_from(msg, &blob))) {
        check_bytes(blob);
        CHECK(rt_blob_bytes(blob) == NULL);
        rt_blob_release(self->blob);
        self->blob = blob;
    }
}

static const rt_behaviour_fn holder_handlers[] = {share, receive};
static const rt_behaviour_type holder_type = {
    .handlers = holder_handlers,
    .handler_count = 2,
    .start = begin,
    .state_size = sizeof(struct holder),
    .priority = RT_PRIO_NORMAL,
    .mailbox = {.high = 32, .overflow = RT_OVERFLOW_REJECT}};

TEST(blobs_on_several_workers_are_shared_and_freed_once)
{
    const rt_config config = {.workers = 2};
    const rt_channel_config channel = {
        .elem_size = sizeof(rt_blob_token), .capacity = 4, .destroy = rt_blob_token_destroy};
    rt_status status = rt_init_ex(&config);
    if (status.code == RT_ERR_UNSUPPORTED) {
        test_skip("no parallel engine here");
    }
    CHECK_OK(status);
    CHECK_OK(rt_channel_create(&channel, &tokens_in, &tokens_out));
    rti_u32_init(&rounds, 0);
    for (uint32_t i = 0; i < HOLDERS; i++) {
        spawn(i, i * 77);
    }
    rt_run();
    rti_blobs_audit(rti_blobs_at(rti_worker_current()->sched));
    CHECK_OK(rt_channel_close_sender(tokens_in));
    CHECK_OK(rt_channel_close_receiver(tokens_out));
    rt_cleanup();
}
