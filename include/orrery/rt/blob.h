/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_BLOB_H
#define ORRERY_RT_BLOB_H

/* Blobs: bytes that many actors share without copying them. Worth it above some 64 bytes.
 *
 * A blob is written by who made it, and from the moment it is shared by nobody. A `rt_blob *` is a
 * hold: each actor that works with a blob has a hold of its own, and gives it back, or dies, killed
 * or not, and then it is given back for it. The bytes are freed when the last hold is gone. A
 * message with a blob carries a hold; if nobody receives the message, that hold goes with it.
 *
 * Through channels and buses a blob goes as a token, a value of 12 bytes. */

#include <orrery/rt/behaviour.h>
#include <orrery/rt/types.h>

RT_EXTERN_C_BEGIN

/* A hold on a blob, or on a slice of it. Belongs to the actor that got it. */
typedef struct rt_blob rt_blob;

/* A hold on its way: exactly one import or discard ends it. */
typedef struct {
    uint32_t name; /* 0: none */
    uint32_t offset;
    uint32_t len;
} rt_blob_token;

/* Makes a blob that the caller may write, by rt_blob_bytes, until it is shared.
 * Callable from an actor of either kind, a task, and from main on the runtime's thread; what tasks
 * and main hold lives until it is released.
 * Never suspends.
 * `*out` is the caller's hold, to be released.
 * Returns RT_OK; RT_ERR_NOMEM if RT_MAX_BLOBS blobs exist, RT_MAX_BLOB_HOLDS holds do, or the
 * memory of blobs has no room; RT_ERR_INVALID if `out` is NULL or `size` is 0; RT_ERR_THREAD on a
 * foreign thread.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_blob_create(size_t size, rt_blob **out);

/* Makes a blob with a copy of bytes.
 * Callable as rt_blob_create.
 * Never suspends.
 * `data` stays the caller's; `*out` is the caller's hold.
 * Returns what rt_blob_create returns; RT_ERR_INVALID also if `data` is NULL.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_blob_copy(const void *data, size_t size, rt_blob **out);

/* Gives the bytes for writing.
 * Callable by the holder.
 * Never suspends.
 * The bytes are the blob's.
 * Returns them; NULL if the blob was shared: sliced, retained, sent or exported.
 * Nothing is lost on cancel. */
RT_API void *rt_blob_bytes(rt_blob *blob);

/* Gives the bytes of a hold for reading.
 * Callable by the holder.
 * Never suspends.
 * The bytes are the blob's and valid as long as the hold.
 * Returns them; NULL for NULL.
 * Nothing is lost on cancel. */
RT_API const void *rt_blob_data(const rt_blob *blob);

/* Gives the length of a hold's bytes.
 * Callable by the holder.
 * Never suspends.
 * There is no pointer to own.
 * Returns it; 0 for NULL.
 * Nothing is lost on cancel. */
RT_API size_t rt_blob_size(const rt_blob *blob);

/* Makes a hold on a part of what a hold shows, without copying. From here on nobody writes.
 * Callable by the holder.
 * Never suspends.
 * `*out` is the caller's second hold; the first one stays.
 * Returns RT_OK; RT_ERR_INVALID if a pointer is NULL or the part is not inside; RT_ERR_NOMEM if
 * RT_MAX_BLOB_HOLDS holds exist.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_blob_slice(rt_blob *blob, size_t offset, size_t len,
                                             rt_blob **out);

/* Gives a hold back. The bytes go with the last one.
 * Callable by the holder.
 * Never suspends.
 * The hold is gone; NULL does nothing.
 * Returns nothing.
 * Nothing is lost on cancel. */
RT_API void rt_blob_release(rt_blob *blob);

/* Sends a blob, or a slice, by reference, to an actor of either kind. The receiver gets it from the
 * message by rt_blob_take or rt_blob_take_from; if it does not, the message's hold goes with the
 * message. The caller keeps its own.
 * Callable as rt_behaviour_send.
 * Suspends only an actor with a stack, and only if the receiver mutes its senders.
 * `blob` stays the caller's.
 * Returns what rt_behaviour_send returns.
 * Nothing is lost on cancel. */
RT_API RT_SUSPENDS rt_status rt_blob_send(actor_id to, uint32_t id, rt_blob *blob);

/* Takes the blob out of the message that the caller received last.
 * Callable from an actor with a stack, once per message.
 * Never suspends.
 * `*out` is the caller's hold.
 * Returns RT_OK; RT_ERR_INVALID if a pointer is NULL or it is no message with a blob, or not the
 * last one; RT_ERR_NOMEM if RT_MAX_BLOB_HOLDS holds exist, and the blob stays in the message;
 * RT_ERR_THREAD outside of an actor.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_blob_take(const rt_message *msg, rt_blob **out);

/* Takes the blob out of the message that the calling behaviour handles.
 * Callable from a handler, once per message.
 * Never suspends.
 * `*out` is the behaviour's hold.
 * Returns what rt_blob_take returns.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_blob_take_from(const rt_behaviour_message *msg, rt_blob **out);

/* Makes a token: one more hold, which belongs to whoever has the token. For channels, whose
 * `destroy` is rt_blob_token_destroy, and for buses, where the publisher discards it in the end.
 * Callable by the holder.
 * Never suspends.
 * `blob` stays the caller's.
 * Returns the token; its name is 0 if `blob` is NULL.
 * Nothing is lost on cancel. */
RT_API rt_blob_token rt_blob_export(rt_blob *blob);

/* Makes a hold of a token, which is used up.
 * Callable from an actor of either kind, a task, and from main on the runtime's thread.
 * Never suspends.
 * `*out` is the caller's hold.
 * Returns RT_OK; RT_ERR_NOT_FOUND if nobody holds the blob any more (a token that is used twice
 * while somebody does is a mistake that is not seen: one hold too many is given); RT_ERR_NOMEM if
 * RT_MAX_BLOB_HOLDS holds exist, and the token is as it was; RT_ERR_INVALID if `out` is NULL;
 * RT_ERR_THREAD on a foreign thread. Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_blob_import(rt_blob_token token, rt_blob **out);

/* Makes a hold by a token, which stays: for the readers of a bus.
 * Callable as rt_blob_import.
 * Never suspends.
 * `*out` is the caller's hold.
 * Returns what rt_blob_import returns; RT_ERR_NOT_FOUND if nobody holds the blob any more.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_blob_peek(rt_blob_token token, rt_blob **out);

/* Ends a token that nobody will import.
 * Callable as rt_blob_import.
 * Never suspends.
 * There is no pointer to own.
 * Returns RT_OK; RT_ERR_NOT_FOUND if nobody holds the blob any more; RT_ERR_THREAD on a foreign
 * thread.
 * Nothing is lost on cancel. */
RT_API rt_status rt_blob_discard(rt_blob_token token);

/* The `destroy` of a channel of tokens: discards the token at `value`.
 * Callable as rt_blob_import.
 * Never suspends.
 * Both pointers stay the caller's; `arg` is not used.
 * Returns nothing.
 * Nothing is lost on cancel. */
RT_API void rt_blob_token_destroy(void *value, void *arg);

RT_EXTERN_C_END

#endif
