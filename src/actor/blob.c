/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "blob"
#include "actor/blob.h"

#include <string.h>

#include "actor/behaviour.h"
#include "actor/ipc.h"
#include "base/marks.h"

#if RT_HAS_BEHAVIOURS

_Static_assert(RT_MAX_MESSAGE_SIZE >= sizeof(rt_blob_token), "a message can carry a token");

struct rti_list *rti_attachments_of(struct rti_worker *worker)
{
    struct rti_turn *turn = rti_turn_of(worker);
    if (turn != NULL) {
        return &turn->self->attachments;
    }
    struct rti_actor *self = rti_actor_of(worker);
    if (self == NULL) {
        return NULL;
    }
    rti_actor_note_attached(self);
    return &self->owned[RTI_OWNED_ATTACHMENTS];
}

static struct rti_blobs *blobs_of(const struct rti_worker *worker)
{
    return worker == NULL ? NULL : rti_blobs_at(worker->sched);
}

/* The last hold is gone. */
static void blob_free(struct rti_blobs *module, struct rti_blob *blob)
{
    rti_lock_acquire(&module->lock, module->actors->sched);
    rti_arena_free(&module->arena, blob->bytes);
    rti_handle_free(&module->names, blob->name);
    rti_lock_release(&module->lock);
}

static void blob_drop(struct rti_blobs *module, struct rti_blob *blob)
{
    if (rti_count_release(&blob->count, module->actors->sched->is_local)) {
        blob_free(module, blob);
    }
}

static struct rti_blobs *hold_module(const struct rt_blob *hold)
{
    /* The blob lies in the module's table, at its name's index. */
    const struct rti_blob *first =
        hold->blob - (hold->blob->name & ((UINT32_C(1) << RTI_INDEX_BITS(RT_MAX_BLOBS)) - 1));
    return RTI_CONTAINER_OF(first, struct rti_blobs, table[0]);
}

static void hold_free(struct rt_blob *hold)
{
    struct rti_blobs *module = hold_module(hold);
    struct rti_blob *blob = hold->blob;
    rti_lock_acquire(&module->lock, module->actors->sched);
    rti_pool_free(&module->holds, hold);
    rti_lock_release(&module->lock);
    blob_drop(module, blob);
}

static void hold_died(struct rti_attachment *attachment)
{
    RT_SOMETIMES(true, "blob: a hold is given back by its actor's end");
    hold_free(RTI_CONTAINER_OF(attachment, struct rt_blob, attachment));
}

/* Makes a hold of the caller on a blob whose count has one for it; NULL if there is no room. */
static struct rt_blob *hold_make(struct rti_worker *worker, struct rti_blobs *module,
                                 struct rti_blob *blob, uint32_t offset, uint32_t len)
{
    rti_lock_acquire(&module->lock, module->actors->sched);
    struct rt_blob *hold = rti_pool_alloc(&module->holds);
    rti_lock_release(&module->lock);
    if (hold == NULL) {
        return NULL;
    }
    struct rti_list *list = rti_attachments_of(worker);
    rti_attachment_init(&hold->attachment, hold_died);
    hold->blob = blob;
    hold->offset = offset;
    hold->len = len;
    if (list != NULL) {
        rti_list_push_tail(list, &hold->attachment.link);
    }
    return hold;
}

static rt_status blob_no_hold(void)
{
    return (rt_status){RT_ERR_NOMEM, RTI_SENTENCE("RT_MAX_BLOB_HOLDS holds on blobs exist")};
}

/* Makes a blob with the count 1 that nobody holds yet; NULL if there is no room. */
static struct rti_blob *blob_make(struct rti_blobs *module, size_t size)
{
    struct rti_blob *blob = NULL;
    rti_lock_acquire(&module->lock, module->actors->sched);
    void *bytes = rti_arena_alloc(&module->arena, size);
    uint32_t name = bytes == NULL ? RTI_HANDLE_NONE : rti_handle_alloc(&module->names);
    if (name != RTI_HANDLE_NONE) {
        blob = &module->table[rti_handle_index(&module->names, name)];
        *blob = (struct rti_blob){.name = name, .size = (uint32_t)size, .bytes = bytes};
        rti_u32_init(&blob->count, 1);
    } else if (bytes != NULL) {
        rti_arena_free(&module->arena, bytes);
    }
    rti_lock_release(&module->lock);
    return blob;
}

rt_status rt_blob_create(size_t size, rt_blob **out)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_blobs *module = blobs_of(worker);
    if (module == NULL) {
        return rti_actor_refusal(worker);
    }
    if (out == NULL || size == 0) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("a blob of 0 bytes, or nowhere to put it")};
    }
    struct rti_blob *blob = size > RT_BLOB_MEMORY_SIZE ? NULL : blob_make(module, size);
    if (blob == NULL) {
        return (rt_status){RT_ERR_NOMEM, RTI_SENTENCE("no room for a blob")};
    }
    *out = hold_make(worker, module, blob, 0, (uint32_t)size);
    if (*out == NULL) {
        blob_drop(module, blob);
        return blob_no_hold();
    }
    return RT_SUCCESS;
}

rt_status rt_blob_copy(const void *data, size_t size, rt_blob **out)
{
    if (data == NULL) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("there are no bytes to copy")};
    }
    rt_status status = rt_blob_create(size, out);
    if (!RT_FAILED(status)) {
        memcpy((*out)->blob->bytes, data, size);
    }
    return status;
}

void *rt_blob_bytes(rt_blob *blob)
{
    return blob == NULL || blob->blob->is_shared ? NULL : blob->blob->bytes;
}

const void *rt_blob_data(const rt_blob *blob)
{
    return blob == NULL ? NULL : blob->blob->bytes + blob->offset;
}

size_t rt_blob_size(const rt_blob *blob)
{
    return blob == NULL ? 0 : blob->len;
}

/* From here on nobody writes the bytes. Whoever is given a hold is given one of a blob that is
 * shared already: the first holder writes this while it is alone, and everybody else finds it
 * written. */
static void blob_share(struct rti_blob *blob)
{
    if (!blob->is_shared) {
        blob->is_shared = true;
    }
}

rt_status rt_blob_slice(rt_blob *blob, size_t offset, size_t len, rt_blob **out)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_blobs *module = blobs_of(worker);
    if (module == NULL) {
        return rti_actor_refusal(worker);
    }
    if (blob == NULL || out == NULL || offset > blob->len || len > blob->len - offset) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("this is no part of a blob")};
    }
    struct rt_blob *hold =
        hold_make(worker, module, blob->blob, blob->offset + (uint32_t)offset, (uint32_t)len);
    if (hold == NULL) {
        return blob_no_hold();
    }
    rti_count_retain(&blob->blob->count, module->actors->sched->is_local);
    blob_share(blob->blob);
    *out = hold;
    return RT_SUCCESS;
}

void rt_blob_release(rt_blob *blob)
{
    if (rti_worker_enter() == NULL || blob == NULL) {
        return;
    }
    if (rti_link_is_linked(&blob->attachment.link)) {
        rti_list_remove(&blob->attachment.link);
    }
    hold_free(blob);
}

rt_blob_token rt_blob_export(rt_blob *blob)
{
    if (rti_worker_enter() == NULL || blob == NULL) {
        return (rt_blob_token){.name = 0};
    }
    blob_share(blob->blob);
    rti_count_retain(&blob->blob->count, hold_module(blob)->actors->sched->is_local);
    return (rt_blob_token){.name = blob->blob->name, .offset = blob->offset, .len = blob->len};
}

/* The blob of a token, with its count raised by one if `is_kept`; NULL if it is gone. */
static struct rti_blob *blob_find(struct rti_blobs *module, rt_blob_token token, bool is_kept)
{
    struct rti_blob *blob = NULL;
    rti_lock_acquire(&module->lock, module->actors->sched);
    int32_t index = rti_handle_lookup(&module->names, token.name);
    if (index >= 0 && token.offset <= module->table[index].size &&
        token.len <= module->table[index].size - token.offset) {
        blob = &module->table[index];
        if (is_kept && !rti_count_try_retain(&blob->count, module->actors->sched->is_local)) {
            blob = NULL;
        }
    }
    rti_lock_release(&module->lock);
    return blob;
}

static rt_status blob_from_token(rt_blob_token token, rt_blob **out, bool is_kept)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_blobs *module = blobs_of(worker);
    if (module == NULL) {
        return rti_actor_refusal(worker);
    }
    if (out == NULL) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("there is nowhere to put it")};
    }
    struct rti_blob *blob = blob_find(module, token, is_kept);
    if (blob == NULL) {
        return (rt_status){RT_ERR_NOT_FOUND, RTI_SENTENCE("nobody holds this blob any more")};
    }
    struct rt_blob *hold = hold_make(worker, module, blob, token.offset, token.len);
    if (hold == NULL) {
        if (is_kept) {
            blob_drop(module, blob);
        }
        return blob_no_hold();
    }
    *out = hold;
    return RT_SUCCESS;
}

rt_status rt_blob_import(rt_blob_token token, rt_blob **out)
{
    return blob_from_token(token, out, false);
}

rt_status rt_blob_peek(rt_blob_token token, rt_blob **out)
{
    return blob_from_token(token, out, true);
}

rt_status rt_blob_discard(rt_blob_token token)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_blobs *module = blobs_of(worker);
    if (module == NULL) {
        return rti_actor_refusal(worker);
    }
    struct rti_blob *blob = blob_find(module, token, false);
    if (blob == NULL) {
        return (rt_status){RT_ERR_NOT_FOUND, RTI_SENTENCE("nobody holds this blob any more")};
    }
    blob_drop(module, blob);
    return RT_SUCCESS;
}

void rt_blob_token_destroy(void *value, void *arg)
{
    rt_blob_token token;
    (void)arg;
    memcpy(&token, value, sizeof(token));
    (void)rt_blob_discard(token);
}

void rti_blob_discard(struct rti_sched *sched, const void *payload)
{
    rt_blob_token token;
    struct rti_blobs *module = rti_blobs_at(sched);
    memcpy(&token, payload, sizeof(token));
    if (token.name != 0) {
        RT_SOMETIMES(true, "blob: a message that nobody took gives its hold back");
        struct rti_blob *blob = blob_find(module, token, false);
        RT_ASSERT(blob != NULL);
        blob_drop(module, blob);
    }
}

rt_status rt_blob_send(actor_id to, uint32_t id, rt_blob *blob)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_blobs *module = blobs_of(worker);
    if (module == NULL) {
        return rti_actor_refusal(worker);
    }
    if (blob == NULL) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("there is no blob to send")};
    }
    rt_blob_token token = rt_blob_export(blob);
    return rti_behaviour_send_blob(worker, to, id, &token);
}

/* Makes a hold of the token in a message, and takes it out of there. */
static rt_status blob_take(void *payload, rt_blob **out)
{
    rt_blob_token token;
    memcpy(&token, payload, sizeof(token));
    rt_status status = rt_blob_import(token, out);
    if (!RT_FAILED(status)) {
        memset(payload, 0, sizeof(token));
    }
    return status;
}

rt_status rt_blob_take(const rt_message *msg, rt_blob **out)
{
    struct rti_actor *self = rti_actor_current();
    if (self == NULL) {
        return rti_actor_refusal(rti_worker_current());
    }
    struct rti_entry *held = rti_ipc_held(self, msg);
    if (held == NULL || held->kind != RTI_ENTRY_BLOB || out == NULL) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("this is no message with a blob")};
    }
    return blob_take((void *)(uintptr_t)held->data, out);
}

rt_status rt_blob_take_from(const rt_behaviour_message *msg, rt_blob **out)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_turn *turn = worker == NULL ? NULL : rti_turn_of(worker);
    if (turn == NULL) {
        return (rt_status){RT_ERR_THREAD, RTI_SENTENCE("only a behaviour can do this")};
    }
    struct rti_cell *cell = turn->cell;
    if (msg == NULL || out == NULL || cell == NULL || msg->data != cell->data ||
        (cell->len & RTI_CELL_BLOB) == 0) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("this is no message with a blob")};
    }
    return blob_take(cell->data, out);
}

void rti_blobs_init(struct rti_blobs *module, struct rti_actors *actors)
{
    RT_ASSERT(actors->sched->modules[RTI_MODULE_BLOB] == NULL);
    module->actors = actors;
    rti_lock_init(&module->lock, actors->sched, RTI_LOCK_CHANNEL);
    rti_handle_init(&module->names, module->name_slots, RT_MAX_BLOBS, RTI_INDEX_BITS(RT_MAX_BLOBS));
    rti_handle_let_wrap(&module->names);
    rti_pool_init(&module->holds, module->hold_memory, sizeof(struct rt_blob), RT_MAX_BLOB_HOLDS);
    rti_arena_init(&module->arena, module->memory, sizeof(module->memory));
    actors->sched->modules[RTI_MODULE_BLOB] = module;
}

void rti_blobs_deinit(struct rti_blobs *module)
{
    module->actors->sched->modules[RTI_MODULE_BLOB] = NULL;
}

void rti_blobs_audit(const struct rti_blobs *module)
{
    size_t live = rti_handle_audit(&module->names);
    uint32_t counted = 0;
    for (size_t i = 0; i < RT_MAX_BLOBS; i++) {
        if (module->name_slots[i].next == RTI_HANDLE_IN_USE) {
            uint32_t count = rti_u32_load_relaxed(&module->table[i].count);
            RT_ASSERT(count > 0);
            counted += count;
        }
    }
    RT_ASSERT(counted >= rti_pool_in_use(&module->holds));
    RT_ASSERT(live == rti_arena_audit(&module->arena));
    (void)rti_pool_audit(&module->holds);
}

#endif
