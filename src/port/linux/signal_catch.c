/* SPDX-License-Identifier: Apache-2.0 */
/* The handler runs on the alternate stack of its thread where that has one: a fiber's stack may be
 * smaller than the kernel's frame. System calls that it interrupts are restarted where the system
 * can; those of the runtime are made again. */
#define _GNU_SOURCE
#define RTI_MODULE "signal_catch"
#include "port/linux/signal_catch.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/assert.h"

#define NUMBERS_MAX 65

static struct {
    rti_atomic_ptr caught[NUMBERS_MAX]; /* void (*)(int), as its address; NULL: not caught */
    struct sigaction previous[NUMBERS_MAX];
} catches;

static void signal_handler(int number)
{
    int saved_errno = errno;
    void (*caught)(int);
    /* Acquire pairs with the release in catch; NULL: it was released on another thread just now. */
    *(void **)&caught = rti_ptr_load_acquire(&catches.caught[number]);
    if (caught != NULL) {
        caught(number);
    }
    errno = saved_errno;
}

/* Those that cannot be caught, that tell a thread of what it did itself, or that are in use. */
static bool signal_is_reserved(int number)
{
    static const int reserved[] = {SIGKILL, SIGSTOP, SIGURG,  SIGSEGV, SIGBUS,
                                   SIGFPE,  SIGILL,  SIGTRAP, SIGABRT, SIGSYS};
    for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
        if (reserved[i] == number) {
            return true;
        }
    }
    return false;
}

rt_status rti_linux_signal_catch(struct rti_port *port, int number, void (*caught)(int number))
{
    (void)port;
    if (number <= 0 || number >= NUMBERS_MAX) {
        return (rt_status){RT_ERR_INVALID, "no signal has this number"};
    }
    if (signal_is_reserved(number)) {
        return (rt_status){RT_ERR_INVALID, "the signal is the runtime's or cannot be caught"};
    }
    RT_ASSERT(rti_ptr_load_relaxed(&catches.caught[number]) == NULL);
    struct sigaction action = {.sa_handler = signal_handler, .sa_flags = SA_ONSTACK | SA_RESTART};
    sigemptyset(&action.sa_mask);
    /* Release pairs with the acquire in the handler. */
    rti_ptr_store_release(&catches.caught[number], *(void **)&caught);
    if (sigaction(number, &action, &catches.previous[number]) != 0) {
        int error = errno;
        rti_ptr_store_release(&catches.caught[number], NULL); /* as above */
        return error == EINVAL ? (rt_status){RT_ERR_INVALID, "the C library keeps this signal"}
                               : (rt_status){RT_ERR_IO, "the system refuses a handler"};
    }
    return RT_SUCCESS;
}

void rti_linux_signal_release(struct rti_port *port, int number)
{
    (void)port;
    RT_ASSERT(rti_ptr_load_relaxed(&catches.caught[number]) != NULL);
    int rc = sigaction(number, &catches.previous[number], NULL);
    RT_ASSERT(rc == 0);
    /* Pairs with the acquire in the handler, which may be running still. */
    rti_ptr_store_release(&catches.caught[number], NULL);
}

rt_status rti_linux_signal_raise(struct rti_port *port, int number)
{
    (void)port;
    return kill(getpid(), number) == 0
               ? RT_SUCCESS
               : (rt_status){RT_ERR_INVALID, "the system does not know the signal"};
}

void rti_linux_signal_release_all(void)
{
    for (int number = 1; number < NUMBERS_MAX; number++) {
        if (rti_ptr_load_relaxed(&catches.caught[number]) != NULL) {
            rti_linux_signal_release(NULL, number);
        }
    }
}
