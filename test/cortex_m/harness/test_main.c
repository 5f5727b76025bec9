/* SPDX-License-Identifier: Apache-2.0 */
/* The main function of a test firmware: what test/support/test.c is on Linux, with a snapshot in
 * the place of a process.
 *
 *     no argument    runs every case; each ends with a line `over: NAME passed`, failed, skipped
 *     NAME           runs one
 *
 * The last line counts: `ended: P passed, F failed, S skipped`. Exit status 0 if nothing failed. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "cortex_m/harness/snapshot.h"
#include "port/cortex_m/board.h"
#include "port/cortex_m/semihost.h"
#include "port/port.h"
#include "support/test.h"

static struct test_case *first;
static struct test_case **last = &first;

void test_register(struct test_case *test)
{
    *last = test;
    last = &test->next;
}

void test_set_timeout(unsigned seconds)
{
    (void)seconds;
}

uint64_t test_seed(void)
{
    return 1;
}

static void remember(const char *text)
{
    struct snapshot_kept *kept = snapshot_kept();
    while (*text != '\0' && kept->said_length < sizeof(kept->said) - 1) {
        kept->said[kept->said_length++] = *text++;
    }
    kept->said[kept->said_length] = '\0';
}

static void forget(void)
{
    snapshot_kept()->said_length = 0;
    snapshot_kept()->said[0] = '\0';
}

void test_expect_panic(const char *file, int line, const char *module, void (*body)(void *arg),
                       void *arg)
{
    fflush(NULL);
    forget();
    int status = snapshot_run(body, arg);
    char wanted[128];
    snprintf(wanted, sizeof(wanted), "orrery: panic: %s:", module);
    if (status != SNAPSHOT_ABORTED || strstr(snapshot_kept()->said, wanted) == NULL) {
        test_fail(file, line, "wanted a panic of %s, status %d, said: %s", module, status,
                  snapshot_kept()->said);
    }
    forget();
}

/* The process-wide services of port.h: in the tests a panic ends the case. */

void rti_port_panic_write(const char *module, int id, const char *sentence)
{
    char number[12];
    snprintf(number, sizeof(number), "%d", id);
    remember("orrery: panic: ");
    remember(module);
    remember(":");
    remember(number);
    remember(": ");
    remember(sentence != NULL ? sentence : "assertion failed");
    remember("\n");
}

_Noreturn void rti_port_abort(void)
{
    (void)snapshot_leave(SNAPSHOT_ABORTED);
    rti_board_exit(134);
}

void rti_port_log(const char *text)
{
    remember("orrery: ");
    remember(text);
    remember("\n");
}

rt_status rti_port_descriptor_write(int fd, const void *bytes, size_t size)
{
    (void)fd;
    rti_board_write(bytes, size);
    return RT_SUCCESS;
}

const char *rti_port_error_text(int error)
{
    return error == 0 ? NULL : "an error of the board";
}

void *rti_port_heap_alloc(size_t size)
{
    return malloc(size);
}

void rti_port_heap_free(void *memory)
{
    free(memory);
}

void rti_port_marks_append(const char *text, size_t length)
{
    (void)text;
    (void)length;
}

bool rti_port_environment_number(const char *name, uint64_t *number)
{
    const char *text = getenv(name);
    if (text == NULL || *text < '0' || *text > '9') {
        return false;
    }
    *number = strtoull(text, NULL, 0);
    return true;
}

void rti_port_repeat_set(const char *name, uint64_t number)
{
    (void)name;
    (void)number;
}

void rti_port_repeat_clear(void)
{
}

void rti_port_repeat_log(void)
{
}

static void run_body(void *arg)
{
    ((struct test_case *)arg)->run();
    fflush(NULL);
}

static void run_one(struct test_case *test)
{
    struct snapshot_kept *kept = snapshot_kept();
    kept->test = test;
    forget();
    int status = snapshot_run(run_body, test);
    if (status == SNAPSHOT_RETURNED) {
        kept->passed++;
        printf("over: %s passed\n", kept->test->name);
    } else if (status == 77) {
        kept->skipped++;
        printf("over: %s skipped\n", kept->test->name);
    } else {
        kept->failed++;
        printf("%sover: %s failed\n", kept->said, kept->test->name);
    }
    fflush(NULL);
}

int main(void)
{
    char name[128] = "";
    (void)rti_semihost_arguments(name, sizeof(name));
    setvbuf(stdout, NULL, _IONBF, 0);
    setvbuf(stderr, NULL, _IONBF, 0);
    /* What takes a second on Linux takes a minute here. */
    setenv("ORRERY_WHEEL_OPS", "10000", 1);
    snapshot_start();
    for (struct test_case *test = first; test != NULL; test = test->next) {
        if (name[0] == '\0' || strcmp(name, test->name) == 0) {
            run_one(test);
        }
    }
    const struct snapshot_kept *kept = snapshot_kept();
    printf("ended: %u passed, %u failed, %u skipped\n", kept->passed, kept->failed, kept->skipped);
    return kept->failed == 0 && kept->passed + kept->skipped > 0 ? 0 : 1;
}
