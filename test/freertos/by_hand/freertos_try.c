/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime as one task of a real FreeRTOS kernel; see docs/ports/freertos.md for how to build
 * and run it. It tries what the kernel could break: actors on their own stacks while another task
 * preempts them, sleeping and being woken by a deadline, by an interrupt and by a servant, work
 * that blocks, files on a RAM disk, and a stack that overflows. Ends with status 0 and a line. */
#include <fcntl.h>
#include <string.h>

#include <orrery/rt/actor.h>
#include <orrery/rt/file.h>
#include <orrery/rt/ipc.h>
#include <orrery/rt/isr.h>
#include <orrery/rt/link.h>
#include <orrery/rt/runtime.h>
#include <orrery/rt/timer.h>

#include "port/cortex_m/board.h"
#include "port/freertos/port_freertos.h"
#include "port/op.h"
#include "port/storage/ram_disk.h"
#include "sched/scheduler.h"
#include "support/flat_files.h"

#define ROUNDS 2000u

static rt_isr ticks;
static uint32_t tick_entries[16];
static volatile bool is_ticking;
static volatile uint32_t preemptions;
static uint32_t done_count;
static struct rti_op work;

static void say(const char *text)
{
    rti_board_write(text, strlen(text));
}

void freertos_try_failed(const char *file, int line)
{
    (void)file;
    (void)line;
    say("freertos_try: an assertion of the kernel failed\n");
    rti_board_exit(1);
}

void vApplicationStackOverflowHook(TaskHandle_t task, char *name)
{
    (void)task;
    (void)name;
    say("freertos_try: the kernel saw an overflow\n");
    rti_board_exit(1);
}

static void check(bool is_right, const char *what)
{
    if (!is_right) {
        say("freertos_try: wrong: ");
        say(what);
        say("\n");
        rti_board_exit(1);
    }
}

/* The kernel's tick interrupt: posts a message each 10 ms. */
void vApplicationTickHook(void)
{
    static uint32_t count;
    count++;
    if (is_ticking && count % 10 == 0) {
        (void)rt_isr_post(&ticks, &count);
    }
}

/* More urgent than the runtime: interrupts it wherever it stands. */
static void disturber(void *arg)
{
    (void)arg;
    for (;;) {
        volatile double burn = 1.0;
        for (int i = 0; i < 50; i++) {
            burn = burn * 1.01;
        }
        preemptions++;
        vTaskDelay(1);
    }
}

static void echo(void *arg)
{
    rt_message message;
    (void)arg;
    while (!RT_FAILED(rt_ipc_recv(&message, -1)) && message.len == sizeof(double)) {
        double value;
        memcpy(&value, message.data, sizeof(value));
        value += 0.5;
        (void)rt_ipc_send(message.sender, &value, sizeof(value), IPC_ASYNC);
    }
}

/* Frames that are smaller than the guard, which is 32 bytes on the M3: a larger one could step over
 * it. */
static void overflow(void *arg)
{
    volatile int room = 1;
    overflow(arg);
    room = 2;
}

static void work_slowly(struct rti_op *op)
{
    vTaskDelay(20);
    rti_op_answer(op, RT_OK, 42, 0);
}

static void work_is_done(struct rti_op *op)
{
    check(op->result == 42, "the answer of work");
    done_count++;
}

#define DISK_BLOCKS 13

/* Writes more than a block, reads it back by pieces; another actor runs meanwhile. */
static void try_files(void)
{
    static uint8_t memory[DISK_BLOCKS * FLAT_BLOCK_SIZE];
    static struct rti_ram_disk disk;
    static struct flat_files flat;
    static char text[600];
    char piece[100];
    size_t count = 0;
    int fd;
    rti_ram_disk_init(&disk, memory, FLAT_BLOCK_SIZE, DISK_BLOCKS);
    check(flat_files_format(&flat, &disk.device), "format");
    rti_storage_mount(&flat.system);
    for (size_t i = 0; i < sizeof(text); i++) {
        text[i] = (char)(i * 5);
    }
    check(rt_file_open("none", O_RDONLY, 0, &fd).code == RT_ERR_NOT_FOUND, "no such file");
    check(!RT_FAILED(rt_file_open("log", O_RDWR | O_CREAT, 0644, &fd)), "open");
    check(!RT_FAILED(rt_file_write(fd, text, sizeof(text), &count, 1000)), "write");
    check(count == sizeof(text), "written");
    check(!RT_FAILED(rt_file_sync(fd, 1000)), "sync");
    check(!RT_FAILED(rt_file_close(fd)), "close");
    check(!RT_FAILED(rt_file_open("log", O_RDONLY, 0, &fd)), "open again");
    for (size_t at = 0; at < sizeof(text); at += sizeof(piece)) {
        check(!RT_FAILED(rt_file_read(fd, piece, sizeof(piece), &count, 1000)), "read");
        check(count == sizeof(piece) && memcmp(piece, text + at, count) == 0, "what was read");
    }
    check(!RT_FAILED(rt_file_read(fd, piece, 1, &count, 1000)) && count == 0, "the end");
    check(!RT_FAILED(rt_file_close(fd)), "close");
}

static void driver(void *arg)
{
    rt_message message;
    (void)arg;
    actor_id other = rt_spawn(echo, NULL);
    double value = 0;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        check(!RT_FAILED(rt_ipc_send(other, &value, sizeof(value), IPC_ASYNC)), "send");
        check(!RT_FAILED(rt_ipc_recv(&message, -1)), "receive");
        memcpy(&value, message.data, sizeof(value));
    }
    check(value == 0.5 * ROUNDS, "the sum over all rounds");

    TickType_t before = xTaskGetTickCount();
    check(rt_ipc_recv(&message, 50).code == RT_ERR_TIMEOUT, "a timeout");
    TickType_t slept = xTaskGetTickCount() - before;
    check(slept >= 50 && slept <= 52, "how long it slept");

    check(!RT_FAILED(rt_isr_open(&ticks, rt_self(), tick_entries, sizeof(uint32_t), 16)), "isr");
    is_ticking = true;
    for (int i = 0; i < 5; i++) {
        check(!RT_FAILED(rt_ipc_recv(&message, 1000)), "a message of an interrupt");
    }
    is_ticking = false;

    struct rti_port *port = rti_sched_current()->port;
    rti_op_init(&work, RTI_OP_WORK, work_is_done);
    work.work = work_slowly;
    port->ops->submit(port, &work);
    while (done_count == 0) {
        (void)rt_ipc_recv(&message, 5);
    }

    try_files();

    actor_id doomed = rt_spawn(overflow, NULL);
    check(!RT_FAILED(rt_link(doomed)), "link");
    rt_exit_msg end;
    do {
        check(!RT_FAILED(rt_ipc_recv(&message, 1000)), "the end of the one that overflowed");
    } while (RT_FAILED(rt_decode_exit(&message, &end)));
    check(end.reason == RT_EXIT_CRASH_STACK, "why it ended");
    check(preemptions > 10, "preemptions");
    rt_shutdown();
    rt_exit();
}

static void runtime_task(void *arg)
{
    (void)arg;
    check(!RT_FAILED(rt_init()), "rt_init");
    check(rt_spawn(driver, NULL) != ACTOR_ID_INVALID, "rt_spawn");
    rt_run();
    rt_cleanup();
    say("freertos_try: passed\n");
    rti_board_exit(0);
}

int main(void)
{
    static StaticTask_t tasks[2];
    static StackType_t runtime_stack[1024];
    static StackType_t disturber_stack[256];
    (void)xTaskCreateStatic(runtime_task, "runtime", 1024, NULL, 2, runtime_stack, &tasks[0]);
    (void)xTaskCreateStatic(disturber, "disturber", 256, NULL, 3, disturber_stack, &tasks[1]);
    vTaskStartScheduler();
    return 1;
}
