/* SPDX-License-Identifier: Apache-2.0 */
/* An echo server on the board: an actor with its own stack per connection, over lwIP and the
 * LAN9118. Port 7 echoes. A connection to port 9 ends the program, which then says how much it
 * echoed; test/cortex_m/net/echo_test.py is the other side. */
#include <string.h>

#include <orrery/rt.h>

#include "port/cortex_m/board.h"
#include "port/cortex_m/core.h"
#include "port/lwip/lwip_lan9118.h"

#define ECHO_PORT 7
#define END_PORT  9

const struct rti_lwip_lan9118_config rti_board_ethernet = {
    .base = 0x40200000,
    .interrupt = 13,
    .mac = {0x52, 0x54, 0x00, 0x12, 0x34, 0x56},
    .address = {10, 0, 2, 15},
    .mask = {255, 255, 255, 0},
    .gateway = {10, 0, 2, 2},
};

static struct {
    uint32_t connections;
    uint32_t bytes;
    uint32_t interrupts;
    bool has_failed;
} echo;

void Interrupt_Handler(void);

void Interrupt_Handler(void)
{
    echo.interrupts++;
    if (rti_irq_current() == 16 + rti_board_ethernet.interrupt) {
        rti_lwip_lan9118_interrupt();
    }
}

static void say(const char *text)
{
    rti_board_write(text, strlen(text));
}

static void say_number(uint32_t number)
{
    char digits[11];
    size_t at = sizeof(digits);
    digits[--at] = '\0';
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    say(digits + at);
}

static bool is_ok(rt_status status, const char *what)
{
    if (RT_FAILED(status)) {
        say("echo: ");
        say(what);
        say(": ");
        say(status.msg != NULL ? status.msg : rt_status_text(status.code));
        say("\n");
        echo.has_failed = true;
    }
    return !RT_FAILED(status);
}

static void connection(void *arg)
{
    int socket = (int)(intptr_t)arg;
    char buffer[1024];
    size_t received;
    size_t sent;
    while (!RT_FAILED(rt_net_recv(socket, buffer, sizeof(buffer), &received, -1)) &&
           !RT_FAILED(rt_net_send(socket, buffer, received, &sent, -1)) && sent == received) {
        echo.bytes += (uint32_t)sent;
    }
    (void)is_ok(rt_net_close(socket), "close");
    rti_lwip_audit();
    rt_exit();
}

static void server(void *arg)
{
    const actor_config config = {.stack_size = 4096, .priority = RT_PRIO_NORMAL};
    int listener;
    (void)arg;
    if (!is_ok(rt_net_listen(ECHO_PORT, &listener), "listen")) {
        rt_exit();
    }
    for (;;) {
        int socket;
        if (!is_ok(rt_net_accept(listener, &socket, -1), "accept")) {
            rt_exit();
        }
        echo.connections++;
        if (rt_spawn_ex(connection, (void *)(intptr_t)socket, &config) == ACTOR_ID_INVALID) {
            (void)is_ok(rt_net_close(socket), "close");
        }
    }
}

static void ender(void *arg)
{
    int listener;
    int socket;
    uint16_t port = 0;
    (void)arg;
    if (is_ok(rt_net_listen(END_PORT, &listener), "listen to the end") &&
        is_ok(rt_net_local_port(listener, &port), "port") && port == END_PORT) {
        /* A limit that passes, then one that does not. */
        if (rt_net_accept(listener, &socket, 20).code != RT_ERR_TIMEOUT) {
            echo.has_failed = true;
        }
        (void)is_ok(rt_net_accept(listener, &socket, -1), "accept the end");
    }
    rt_shutdown();
}

int main(void)
{
    if (!is_ok(rt_init(), "init")) {
        return 1;
    }
    if (rt_spawn(server, NULL) == ACTOR_ID_INVALID || rt_spawn(ender, NULL) == ACTOR_ID_INVALID) {
        return 1;
    }
    say("ready\n");
    rt_run();
    rt_cleanup();
    say("connections ");
    say_number(echo.connections);
    say(" bytes ");
    say_number(echo.bytes);
    say(echo.interrupts > 0 ? "\n" : " without an interrupt\n");
    return echo.has_failed;
}
