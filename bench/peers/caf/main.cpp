// SPDX-License-Identifier: Apache-2.0
// The C++ Actor Framework's side of the comparison: event-based actors under the work-stealing
// scheduler with as many threads as cores. Usage: peer BENCH CORES COUNT
#include <caf/all.hpp>
#include <cstring>
#include <vector>

#include "common.h"

using namespace caf;

using token_atom = atom_constant<atom("token")>;
using next_atom = atom_constant<atom("next")>;
using done_atom = atom_constant<atom("done")>;
using go_atom = atom_constant<atom("go")>;
using leaf_atom = atom_constant<atom("sum")>;

static long count;

// A token goes to the next until it has made all its hops.
struct hop_state {
    actor next;
};

static behavior hopper(stateful_actor<hop_state> *self, actor home)
{
    return {
        [=](next_atom, const actor &next) { self->state.next = next; },
        [=](token_atom, long left) {
            if (left == 0) {
                self->send(home, done_atom::value);
            } else {
                self->send(self->state.next, token_atom::value, left - 1);
            }
        },
    };
}

static void ring(actor_system &system, const char *bench, int size, long hops)
{
    scoped_actor self{system};
    std::vector<actor> members;
    for (int i = 0; i < size; i++) {
        members.push_back(system.spawn(hopper, actor{self}));
    }
    for (int i = 0; i < size; i++) {
        self->send(members[(size_t)i], next_atom::value, members[(size_t)((i + 1) % size)]);
    }
    double start = common_now_ns();
    self->send(members[0], token_atom::value, hops);
    self->receive([](done_atom) {});
    common_report(bench, "ns", (common_now_ns() - start) / (double)count);
    for (auto &member : members) {
        self->send_exit(member, exit_reason::kill);
    }
}

struct take_state {
    long taken = 0;
};

static behavior taker(stateful_actor<take_state> *self, actor home, long all)
{
    return {
        [=](token_atom, long) {
            if (++self->state.taken == all) {
                self->send(home, done_atom::value);
                self->quit();
            }
        },
    };
}

static behavior source(event_based_actor *self, actor to, long each)
{
    return {
        [=](go_atom) {
            for (long i = 0; i < each; i++) {
                self->send(to, token_atom::value, i);
            }
            self->quit();
        },
    };
}

static void fanin(actor_system &system)
{
    const long sources = 100;
    long each = count / sources;
    scoped_actor self{system};
    actor to = system.spawn(taker, actor{self}, each * sources);
    std::vector<actor> all;
    for (long i = 0; i < sources; i++) {
        all.push_back(system.spawn(source, to, each));
    }
    double start = common_now_ns();
    for (auto &one : all) {
        self->send(one, go_atom::value);
    }
    self->receive([](done_atom) {});
    common_report("actor_fanin", "ns", (common_now_ns() - start) / (double)(each * sources));
}

static behavior idler(event_based_actor *)
{
    return {[](token_atom, long) {}};
}

static void idle_memory(actor_system &system)
{
    std::vector<actor> all;
    all.reserve((size_t)count);
    double before = common_resident_bytes();
    for (long i = 0; i < count; i++) {
        all.push_back(system.spawn(idler));
    }
    scoped_actor self{system};
    self->delayed_send(self, std::chrono::milliseconds(300), done_atom::value);
    self->receive([](done_atom) {});
    common_report("idle_memory_actor", "bytes", (common_resident_bytes() - before) / (double)count);
    _exit(0);
}

int main(int argc, char **argv)
{
    int cores = argc == 4 ? atoi(argv[2]) : 0;
    count = argc == 4 ? atol(argv[3]) : 0;
    if (count < 1 || cores < 1) {
        fprintf(stderr, "usage: peer BENCH CORES COUNT\n");
        return 2;
    }
    actor_system_config config;
    config.set("scheduler.max-threads", (size_t)cores);
    actor_system system{config};
    if (strcmp(argv[1], "actor_pingpong") == 0) {
        ring(system, argv[1], 2, 2 * count);
    } else if (strcmp(argv[1], "actor_ring") == 0) {
        ring(system, argv[1], 1000, count);
    } else if (strcmp(argv[1], "actor_fanin") == 0) {
        fanin(system);
    } else if (strcmp(argv[1], "idle_memory_actor") == 0) {
        idle_memory(system);
    } else {
        fprintf(stderr, "caf: no bench is called %s\n", argv[1]);
        _exit(3);
    }
    fflush(stdout);
    _exit(0);
}
