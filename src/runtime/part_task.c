/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks, and the pools of threads, as a part of the runtime.
 *
 * When the runtime ends the hooks of tasks still run, and may start what nobody has asked to end.
 * So that it is asked, the end goes in spells: a timer stops the run, and the next begins with a
 * halt of everything that lives then. What the run was at goes on. */
#define RTI_MODULE "part_task"
#include "runtime/runtime.h"
#include "task/tasks.h"
#include "task/thread_pool.h"
#include "time/clockwork.h"

#define SPELL_NS (10 * RTI_NS_PER_MS)

static struct rti_tasks tasks;
static struct rti_thread_pools pools;
static uint64_t handles_lost; /* of all runtimes of this process that have ended */

static struct {
    struct rti_timer timer;
    struct rti_post post; /* queued by the timer, once; drained by the end of the run */
    struct rti_clockwork
        *clockwork; /* that the timer is armed at; NULL: the runtime does not end */
} spell;

static void spell_is_over(struct rti_post *post)
{
    (void)post;
    rti_sched_stop(tasks.sched);
}

static void spell_fire(struct rti_timer *timer)
{
    (void)timer;
    rti_sched_post(tasks.sched, &spell.post);
}

static void spell_end(void)
{
    if (spell.clockwork != NULL) {
        (void)rti_clockwork_disarm(spell.clockwork, &spell.timer);
        spell.clockwork = NULL;
    }
}

static void spell_begin(void)
{
    spell_end();
    rti_timer_init(&spell.timer, spell_fire);
    spell.post.call = spell_is_over;
    spell.clockwork = rti_clockwork_here(tasks.sched);
    rti_clockwork_arm(spell.clockwork, &spell.timer, rti_deadline_after(tasks.sched, SPELL_NS));
}

static void part_start(struct rt_runtime *runtime)
{
    rt_status status = rti_tasks_init(&tasks, &runtime->sched, handles_lost);
    RT_ASSERT(!RT_FAILED(status));
    rti_thread_pools_init(&pools, &runtime->sched);
}

static void part_halt(void)
{
    rti_tasks_kill_all(&tasks);
    spell_begin();
}

static void part_stop(void)
{
    spell_end();
    rti_thread_pools_deinit(&pools);
    handles_lost = rti_tasks_deinit(&tasks);
}

const struct rti_runtime_part rti_part_task = {part_start, part_halt, part_stop};
