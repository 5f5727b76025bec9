/* SPDX-License-Identifier: Apache-2.0 */
/* The process-wide services of port.h, where the program is all there is. No heap, no environment,
 * no files; last words go to the board. */
#include <string.h>

#include "port/cortex_m/board.h"
#include "port/port.h"

static void say(const char *text)
{
    rti_board_write(text, strlen(text));
}

static void say_number(int number)
{
    char digits[12];
    size_t at = sizeof(digits);
    unsigned rest = (unsigned)number;
    digits[--at] = '\0';
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest != 0);
    say(digits + at);
}

void rti_port_panic_write(const char *module, int id, const char *sentence)
{
    say("orrery: panic: ");
    say(module);
    say(":");
    say_number(id);
    say(": ");
    say(sentence != NULL ? sentence : "assertion failed");
    say("\n");
}

_Noreturn void rti_port_abort(void)
{
    rti_board_exit(134);
}

void(rti_port_log)(const char *text)
{
    say("orrery: ");
    say(text);
    say("\n");
}

void rti_port_sleep(uint64_t duration_ns)
{
    /* There is no thread but the runtime's. */
    (void)duration_ns;
}

rt_status rti_port_descriptor_write(int fd, const void *bytes, size_t size)
{
    (void)fd;
    (void)bytes;
    (void)size;
    return (rt_status){RT_ERR_UNSUPPORTED, RTI_SENTENCE("there are no descriptors here")};
}

const char *rti_port_error_text(int error)
{
    return error == 0 ? NULL : "an error of the board";
}

void *rti_port_heap_alloc(size_t size)
{
    (void)size;
    return NULL;
}

void rti_port_heap_free(void *memory)
{
    (void)memory;
}

void rti_port_marks_append(const char *text, size_t length)
{
    (void)text;
    (void)length;
}

bool rti_port_environment_number(const char *name, uint64_t *number)
{
    (void)name;
    (void)number;
    return false;
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
