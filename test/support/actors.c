/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "actors"
#include "support/actors.h"

#include "support/test.h"
#include "support/world.h"

#define SMALL_STACK 16384

static struct actors_world the_world;
static char said[1024];
static size_t said_length;

/* The machine's wait. Nobody outside calls these actors: without a deadline and with nothing under
 * way none ever will, and the run is told so, as in the simulator. */
static enum rti_wait_end real_wait(struct rti_port *port, uint64_t deadline_ns)
{
    const struct actors_world *world = &the_world;
    bool is_last = deadline_ns == RTI_TIME_NEVER && world->linux_port.in_flight_count == 0;
    enum rti_wait_end end = world->linux_wait(port, is_last ? 0 : deadline_ns);
    return is_last && end == RTI_WAIT_DEADLINE ? RTI_WAIT_STUCK : end;
}

static struct rti_port *port_start(struct actors_world *world)
{
    world->is_real = world_is_real();
    if (!world->is_real) {
        rti_port_sim_init(&world->sim_port, 1, 0, NULL);
        return &world->sim_port.port;
    }
    CHECK_OK(rti_port_linux_init(&world->linux_port, NULL));
    world->linux_ops = *world->linux_port.port.ops;
    world->linux_wait = world->linux_ops.wait;
    world->linux_ops.wait = real_wait;
    world->linux_port.port.ops = &world->linux_ops;
    return &world->linux_port.port;
}

struct actors_world *actors_start(void)
{
    struct actors_world *world = &the_world;
    world->port = port_start(world);
    rti_clockwork_init(&world->clockwork, world->port->ops->clock_ns(world->port));
    struct rti_timer_source timers = rti_clockwork_source(&world->clockwork);
    CHECK_OK(rti_sched_init(&world->sched, world->port, &timers));
    rti_journal_init(&world->journal, NULL, 0);
    if (!world->is_real) {
        rti_sched_observe(&world->sched, &world->journal, NULL);
    }
    rti_stacks_init(&world->stacks, &world->sched);
    CHECK_OK(rti_actors_init(&world->actors, &world->sched));
    said_length = 0;
    memset(said, 0, sizeof(said));
    return world;
}

void actors_shuffle(struct actors_world *world, uint64_t seed)
{
    rti_seeded_chooser_init(&world->chooser, seed);
    rti_sched_observe(&world->sched, &world->journal, &world->chooser.chooser);
}

/* First come, first served, like no chooser at all. */
static size_t choose_first(struct rti_chooser *chooser, const struct rti_runqueue *level,
                           size_t count)
{
    (void)chooser;
    (void)level;
    (void)count;
    return 0;
}

void actors_stepwise(struct actors_world *world)
{
    static struct rti_chooser first = {.choose = choose_first};
    if (world->is_real) {
        rti_sched_observe(&world->sched, NULL, &first);
    }
}

void actors_observed(struct actors_world *world)
{
    rti_sched_observe(&world->sched, &world->journal, NULL);
}

void actors_unobserved(struct actors_world *world)
{
    rti_sched_observe(&world->sched, NULL, NULL);
}

rt_status actors_run(struct actors_world *world)
{
    rt_status status = rti_sched_run(&world->sched);
    rti_actors_audit(&world->actors);
    return status;
}

size_t actors_stacks_in_use(const struct actors_world *world)
{
    const struct rti_stacks *stacks = &world->stacks;
    return rti_arena_stats(&stacks->arena).used_count - rti_stacks_kept_count(stacks);
}

void actors_check_ledger(struct actors_world *world)
{
    const struct rti_actors *actors = &world->actors;
    CHECK_EQ(rti_actors_count(actors), 0);
    CHECK_EQ(rti_pool_in_use(&actors->ipc.entries), 0);
    CHECK_EQ(rti_ipc_pools_data_in_use(&actors->ipc), 0);
    CHECK_EQ(rti_pool_in_use(&actors->ipc.sync), 0);
    CHECK_EQ(rti_pool_in_use(&actors->links.pool), 0);
    CHECK_EQ(actors->monitors.refs.used_count, 0);
    CHECK_EQ(rti_pool_in_use(&actors->registry.pool), 0);
    CHECK_EQ(actors_stacks_in_use(world), 0);
    CHECK_EQ(world->sched.live, 0);
    CHECK_EQ(rti_wheel_next_deadline(&world->clockwork.wheel), RTI_TIME_NEVER);
}

static void actors_end(struct actors_world *world)
{
    actors_check_ledger(world);
    rti_actors_deinit(&world->actors);
    rti_stacks_deinit(&world->stacks);
    rti_sched_deinit(&world->sched);
    if (world->is_real) {
        rti_port_linux_deinit(&world->linux_port);
    }
}

void actors_finish(struct actors_world *world)
{
    CHECK_OK(actors_run(world));
    actors_end(world);
}

void actors_abandon(struct actors_world *world)
{
    rti_actors_kill_all(&world->actors);
    CHECK_OK(actors_run(world));
    actors_end(world);
}

uint64_t actors_now_ms(const struct actors_world *world)
{
    CHECK(!world->is_real);
    return world->sim_port.now_ns / RTI_NS_PER_MS;
}

void actors_sleep_ms(uint64_t ms)
{
    struct rti_worker *worker = rti_worker_current();
    rti_fiber_sleep_until(worker, rti_deadline_after(worker->sched, ms * RTI_NS_PER_MS));
}

actor_id actors_spawn(actor_fn fn, void *arg, rt_priority priority, const char *name)
{
    actor_config config = {.stack_size = SMALL_STACK, .priority = priority, .name = name};
    actor_id id = rt_spawn_ex(fn, arg, &config);
    CHECK(id != ACTOR_ID_INVALID);
    return id;
}

void actors_say(char c)
{
    CHECK(said_length < sizeof(said) - 1);
    said[said_length++] = c;
}

const char *actors_said(void)
{
    return said;
}
