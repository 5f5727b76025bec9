/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#define RTI_MODULE "fence_test"
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/port_fixture.h"

#define ROUNDS 200

static rti_atomic_u32 asked;
static rti_atomic_u32 inside;
static rti_atomic_u32 is_over;
static uint32_t uses; /* plain: of who is inside, or of who has asked and found nobody there */

/* The cheap side: says that it is inside, then looks whether it is asked to stay out. */
static void come_and_go(void *arg)
{
    (void)arg;
    while (rti_u32_load_relaxed(&is_over) == 0) {
        rti_u32_store_relaxed(&inside, 1);
        rti_fence_light();
        if (rti_u32_load_acquire(&asked) == 0) {
            uses++;
        }
        rti_u32_store_release(&inside, 0);
    }
}

TEST(fence_all_keeps_a_thread_out_that_has_a_light_fence_only)
{
    struct rti_port_thread thread;
    fixture_open(NULL);
    if (!port->ops->fence_all(port)) {
        test_skip("the system has no membarrier");
    }
    CHECK_OK(port->ops->thread_start(port, &thread, come_and_go, NULL));
    for (int i = 0; i < ROUNDS; i++) {
        rti_u32_store_relaxed(&asked, 1);
        CHECK(port->ops->fence_all(port));
        while (rti_u32_load_acquire(&inside) != 0 && rti_u32_load_relaxed(&is_over) == 0) {
            rti_spin_hint();
        }
        uint32_t before = uses;
        uses = before + 1;
        CHECK_EQ(uses, before + 1);
        rti_u32_store_release(&asked, 0);
    }
    rti_u32_store_relaxed(&is_over, 1);
    port->ops->thread_join(port, &thread);
    fixture_close();
}

TEST(fence_all_leaves_errno_alone)
{
    fixture_open(NULL);
    errno = ENOENT;
    (void)port->ops->fence_all(port);
    CHECK_EQ(errno, ENOENT);
    fixture_close();
}

static long membarrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0);
}

/* Said later, with the port's own threads about, it would keep the first run waiting. */
TEST(fence_is_announced_by_a_port_of_several_workers_before_it_is_asked_for)
{
    long commands = membarrier(MEMBARRIER_CMD_QUERY);
    if (commands < 0 || (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) {
        test_skip("the system has no membarrier");
    }
    fixture_open(NULL);
    CHECK_EQ(membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED), -1);
    fixture_close();
    fixture_open(&(struct rti_port_linux_config){.is_shared = true});
    CHECK_EQ(membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED), 0);
    fixture_close();
}
