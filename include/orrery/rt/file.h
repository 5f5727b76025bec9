/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_FILE_H
#define ORRERY_RT_FILE_H

/* Files. A file can make its reader wait and cannot say so beforehand, so every call is done by a
 * thread of a small pool, while the actor waits and the others run. What cannot be positioned, a
 * pipe or a terminal, is waited for like a socket and holds no thread.
 *
 * A plain thread, without a runtime or beside one with several workers, and main outside of rt_run
 * make the system's call themselves and block: no time limit ends such a call, and what is said
 * below of several callers, and of a failed sync, holds among actors and tasks only. Other threads
 * beside a runtime with one worker, and callbacks of the runtime, are refused with RT_ERR_THREAD.
 *
 * Data goes through buffers of the runtime, RT_FILE_CHUNK_SIZE bytes each; a longer transfer is
 * done in several steps. No byte is written into the caller's memory after the call has returned,
 * whatever the thread still does.
 *
 * Time limits: a negative `timeout_ms` waits for ever, a positive one for so many milliseconds and
 * never for less; 0 is refused with RT_ERR_INVALID. If the answer and the limit come together, the
 * answer is given. A read that ends with RT_ERR_TIMEOUT has not moved the position of the file. A
 * write that does may still take place, as may a sync. Output parameters are written only with
 * RT_OK.
 *
 * Calls on one file from several actors: reads and writes at its position take place one after
 * another, in the order in which they were asked; rt_file_close waits for all that is under way.
 *
 * At most RT_COMPLETION_QUEUE_SIZE calls are under way at one time, those given up because of their
 * limit included until the pool has finished them; one more gets RT_ERR_NOMEM. */

#include <stddef.h>
#include <stdint.h>

#include <orrery/rt/api.h>
#include <orrery/rt/status.h>

RT_EXTERN_C_BEGIN

/* Opens a file. `flags` are those of the system (O_RDONLY, O_CREAT, O_APPEND and so on); `mode` is
 * the permission of a file that O_CREAT makes, 0644 for example. The descriptor is not inherited by
 * programs that are started.
 * Callable from an actor, a task or a thread that may block.
 * Suspends until the file is open or refused.
 * `path` is read during the call only; `fd_out` stays the caller's; the file is the caller's, until
 * rt_file_close.
 * Returns RT_OK; RT_ERR_INVALID if a pointer is NULL or the path is empty or not shorter than
 * RT_FILE_CHUNK_SIZE; RT_ERR_NOT_FOUND if there is no such file or folder; RT_ERR_EXISTS if it
 * exists and O_EXCL was given; RT_ERR_IO, with a sentence, for other refusals;
 * RT_ERR_RESOURCE_EXHAUSTED without a free descriptor; RT_ERR_NOMEM if too many calls are under
 * way; RT_ERR_UNSUPPORTED where there are no files; RT_ERR_THREAD.
 * Nothing is lost on cancel: a file that was opened for nobody is closed. */
RT_API RT_SUSPENDS rt_status rt_file_open(const char *path, int flags, int mode, int *fd_out);

/* Closes a file, after everything that is under way on it.
 * Callable from an actor, a task or a thread that may block.
 * Suspends until it is closed.
 * The descriptor is the system's again when the call returns.
 * Returns RT_OK; RT_ERR_INVALID if `fd` is not open; RT_ERR_CLOSED if another actor is closing it;
 * RT_ERR_IO if the system reports an error with what was written before, and then it is closed all
 * the same; RT_ERR_NOMEM if too many calls are under way; RT_ERR_UNSUPPORTED; RT_ERR_THREAD.
 * Nothing is lost on cancel: the file is closed all the same. */
RT_API RT_SUSPENDS rt_status rt_file_close(int fd);

/* Reads from the position of the file on, and moves it.
 * Callable from an actor, a task or a thread that may block.
 * Suspends until the bytes are there.
 * `buf` and `actual` stay the caller's; `buf` may be NULL if `len` is 0.
 * Returns RT_OK, with the number of bytes in `actual`: `len`, or fewer if the file ends or the time
 * does, 0 at the end of the file; RT_ERR_TIMEOUT; RT_ERR_CLOSED if another actor closes the file;
 * RT_ERR_INVALID if `buf` or `actual` is NULL, `timeout_ms` is 0 or `fd` is not open; RT_ERR_IO,
 * with a sentence; RT_ERR_NOMEM if too many calls are under way; RT_ERR_UNSUPPORTED; RT_ERR_THREAD.
 * No byte is lost on cancel. */
RT_API RT_SUSPENDS rt_status rt_file_read(int fd, void *buf, size_t len, size_t *actual,
                                          int32_t timeout_ms);

/* Reads from `offset` on; the position of the file stays.
 * Callable from an actor, a task or a thread that may block.
 * Suspends until the bytes are there.
 * `buf` and `actual` stay the caller's; `buf` may be NULL if `len` is 0.
 * Returns what rt_file_read returns, and RT_ERR_INVALID if the file cannot be positioned or the
 * offset is beyond what the system can express.
 * Nothing is lost on cancel. */
RT_API RT_SUSPENDS rt_status rt_file_pread(int fd, void *buf, size_t len, size_t offset,
                                           size_t *actual, int32_t timeout_ms);

/* Writes at the position of the file, or at its end if it was opened with O_APPEND, and moves it.
 * Written means taken by the system: rt_file_sync brings it to the device.
 * Callable from an actor, a task or a thread that may block.
 * Suspends until the bytes are taken.
 * `buf` is read during the call only and may be NULL if `len` is 0; `actual` stays the caller's.
 * Returns RT_OK, with the number of bytes in `actual`: `len`, or fewer if an error or the time came
 * after them, and then the next call tells why; if nothing was written: RT_ERR_IO, with a sentence,
 * such as a full device; RT_ERR_TIMEOUT; RT_ERR_CLOSED if another actor closes the file, or if the
 * reader of a pipe is gone; RT_ERR_INVALID if `buf` or `actual` is NULL, `timeout_ms` is 0 or `fd`
 * is not open; RT_ERR_NOMEM if too many calls are under way; RT_ERR_UNSUPPORTED; RT_ERR_THREAD.
 * How much was written is lost on cancel. */
RT_API RT_SUSPENDS rt_status rt_file_write(int fd, const void *buf, size_t len, size_t *actual,
                                           int32_t timeout_ms);

/* Writes at `offset`; the position of the file stays.
 * Callable from an actor, a task or a thread that may block.
 * Suspends until the bytes are taken.
 * `buf` is read during the call only and may be NULL if `len` is 0; `actual` stays the caller's.
 * Returns what rt_file_write returns, and RT_ERR_INVALID if the file cannot be positioned or the
 * offset is beyond what the system can express.
 * How much was written is lost on cancel. */
RT_API RT_SUSPENDS rt_status rt_file_pwrite(int fd, const void *buf, size_t len, size_t offset,
                                            size_t *actual, int32_t timeout_ms);

/* Brings what was written to the device. A failure stays: after it every rt_file_sync of this
 * descriptor fails until it is closed, because the system forgets what it could not write and would
 * report success the next time.
 * Callable from an actor, a task or a thread that may block.
 * Suspends until the device has it.
 * There is no pointer to own.
 * Returns RT_OK; RT_ERR_IO, with a sentence, if data was lost or the file cannot be synchronized;
 * RT_ERR_TIMEOUT; RT_ERR_CLOSED if another actor closes the file; RT_ERR_INVALID if `timeout_ms` is
 * 0 or `fd` is not open; RT_ERR_NOMEM if too many calls are under way; RT_ERR_UNSUPPORTED;
 * RT_ERR_THREAD.
 * Whether it was synchronized is lost on cancel; a failure is not. */
RT_API RT_SUSPENDS rt_status rt_file_sync(int fd, int32_t timeout_ms);

RT_EXTERN_C_END

#endif
