/* SPDX-License-Identifier: Apache-2.0 */
/* A file copier that goes on living while the disk works.
 *
 *     file_copy FROM TO     copies
 *     file_copy --test      copies a file of its own and compares
 *
 * One actor copies; while it waits for the disk, another one, more urgent, counts ticks: nothing
 * in the program stands still but the actor that waits. It also shows the errors one by one,
 * because with files there are many and most are nobody's bug.
 *
 * Tested: file_copy --test */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <orrery/rt.h>

#define WAIT_MS 10000 /* a disk that needs longer than this is broken */
#define TICK_US 1000

/* main owns it; the copier writes the lower half. The buffer is here and not on the copier's stack,
 * which does not grow. */
struct copy {
    const char *from, *to;
    char buffer[65536];
    uint64_t bytes;
    uint64_t ticks;        /* of the other actor, until the copy was done */
    const char *failed_at; /* NULL: nothing failed */
    rt_status status;
};

/* Notes what failed, for main to tell. */
static bool note(struct copy *copy, rt_status status, const char *what)
{
    if (RT_FAILED(status)) {
        copy->failed_at = what;
        copy->status = status;
    }
    return !RT_FAILED(status);
}

/* Writes everything: a write may take fewer bytes than it was given, and the next says why. */
static bool write_all(struct copy *copy, int file, size_t len)
{
    for (size_t done = 0; done < len;) {
        size_t written;
        rt_status status = rt_file_write(file, copy->buffer + done, len - done, &written, WAIT_MS);
        if (!note(copy, status, "write")) {
            return false;
        }
        done += written;
        copy->bytes += written;
    }
    return true;
}

static void copy_content(struct copy *copy, int from, int to)
{
    for (;;) {
        size_t len;
        rt_status status = rt_file_read(from, copy->buffer, sizeof(copy->buffer), &len, WAIT_MS);
        if (!note(copy, status, "read") || len == 0 || !write_all(copy, to, len)) {
            break; /* 0 bytes: the end of the file */
        }
    }
    if (copy->failed_at == NULL) {
        (void)note(copy, rt_file_sync(to, WAIT_MS), "sync"); /* only now it is on the disk */
    }
}

static void copier(void *arg)
{
    struct copy *copy = arg;
    int from, to;
    if (note(copy, rt_file_open(copy->from, O_RDONLY, 0, &from), "open what to copy")) {
        int flags = O_WRONLY | O_CREAT | O_TRUNC;
        if (note(copy, rt_file_open(copy->to, flags, 0644, &to), "open where to copy")) {
            copy_content(copy, from, to);
            (void)note(copy, rt_file_close(to), "close"); /* an error may come as late as here */
        }
        (void)rt_file_close(from);
    }
    rt_exit();
}

/* Counts ticks until the copier, which it watches, is done. */
static void clockwork(void *arg)
{
    struct copy *copy = arg;
    timer_id timer;
    actor_id id = rt_spawn(copier, copy);
    if (RT_FAILED(rt_link(id)) || RT_FAILED(rt_timer_every(TICK_US, &timer))) {
        return;
    }
    for (;;) {
        rt_message msg;
        if (RT_FAILED(rt_ipc_recv(&msg, -1)) || rt_is_exit_msg(&msg)) {
            rt_exit();
        }
        copy->ticks++;
    }
}

/* Copies, and tells how it went. */
static bool copy_file(const char *from, const char *to)
{
    static struct copy copy;
    copy = (struct copy){.from = from, .to = to};
    const actor_config urgent = {.stack_size = 16384, .priority = RT_PRIO_HIGH, .name = "clock"};
    rt_status status = rt_init();
    if (RT_FAILED(status) || rt_spawn_ex(clockwork, &copy, &urgent) == ACTOR_ID_INVALID) {
        fprintf(stderr, "file_copy: %s\n", rt_status_text(status.code));
        return false;
    }
    rt_run();
    rt_cleanup();
    if (copy.failed_at != NULL) {
        fprintf(stderr, "file_copy: %s: %s\n", copy.failed_at,
                copy.status.msg != NULL ? copy.status.msg : rt_status_text(copy.status.code));
        return false;
    }
    printf("%" PRIu64 " bytes, and %" PRIu64 " ticks meanwhile\n", copy.bytes, copy.ticks);
    return true;
}

/* ---- The test ---- */

static bool files_are_equal(const char *a, const char *b)
{
    FILE *first = fopen(a, "rb"), *second = fopen(b, "rb");
    bool is_equal = first != NULL && second != NULL;
    for (int c = 0; is_equal && c != EOF;) {
        c = getc(first);
        is_equal = c == getc(second);
    }
    if (first != NULL) {
        fclose(first);
    }
    if (second != NULL) {
        fclose(second);
    }
    return is_equal;
}

static bool test(void)
{
    char from[] = "/tmp/orrery_copy_XXXXXX", to[] = "/tmp/orrery_copy_XXXXXX";
    int from_fd = mkstemp(from), to_fd = mkstemp(to);
    if (from_fd < 0 || to_fd < 0) {
        return false;
    }
    FILE *file = fdopen(from_fd, "wb");
    for (unsigned i = 0; i < 3 * 65536 + 123; i++) { /* more than one buffer, and no multiple */
        putc((int)(i * 2654435761U >> 24), file);
    }
    fclose(file);
    close(to_fd);
    bool is_right = copy_file(from, to) && files_are_equal(from, to);
    bool is_refused = !copy_file("/no/such/file", to) && !copy_file(from, "/no/such/folder/file");
    remove(from);
    remove(to);
    return is_right && is_refused;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--test") == 0) {
        return test() ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    if (argc != 3) {
        fprintf(stderr, "usage: file_copy FROM TO | --test\n");
        return EXIT_FAILURE;
    }
    return copy_file(argv[1], argv[2]) ? EXIT_SUCCESS : EXIT_FAILURE;
}
