/* SPDX-License-Identifier: Apache-2.0 */
/* The board as an emulator or a debugger gives it. */
#include "port/cortex_m/semihost.h"

#include "port/cortex_m/board.h"

enum semihost_call {
    SEMIHOST_OPEN = 0x01,
    SEMIHOST_WRITE = 0x05,
    SEMIHOST_GET_CMDLINE = 0x15,
    SEMIHOST_EXIT_EXTENDED = 0x20,
};

#define SEMIHOST_MODE_WRITE       4
#define SEMIHOST_APPLICATION_EXIT 0x20026u

static uint32_t semihost(enum semihost_call call, const void *block)
{
    register uint32_t r0 __asm__("r0") = (uint32_t)call;
    register const void *r1 __asm__("r1") = block;
    __asm__ volatile("bkpt #0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void rti_board_write(const char *text, size_t length)
{
    /* Opened anew each time: cheaper than a variable, and right in a fault handler. */
    static const char console[] = ":tt";
    const uintptr_t open[3] = {(uintptr_t)console, SEMIHOST_MODE_WRITE, sizeof(console) - 1};
    const uintptr_t write[3] = {semihost(SEMIHOST_OPEN, open), (uintptr_t)text, length};
    (void)semihost(SEMIHOST_WRITE, write);
}

_Noreturn void rti_board_exit(int status)
{
    const uint32_t block[2] = {SEMIHOST_APPLICATION_EXIT, (uint32_t)status};
    for (;;) {
        (void)semihost(SEMIHOST_EXIT_EXTENDED, block);
    }
}

uint64_t rti_board_seed(void)
{
    /* The same each time: what is emulated shall repeat. */
    return 1;
}

size_t rti_semihost_arguments(char *text, size_t room)
{
    uintptr_t block[2] = {(uintptr_t)text, room};
    if (semihost(SEMIHOST_GET_CMDLINE, block) != 0) {
        return 0;
    }
    /* The first word is the program's name. */
    size_t start = 0;
    while (text[start] != '\0' && text[start] != ' ') {
        start++;
    }
    while (text[start] == ' ') {
        start++;
    }
    size_t length = 0;
    while (text[start + length] != '\0') {
        text[length] = text[start + length];
        length++;
    }
    text[length] = '\0';
    return length;
}
