# SPDX-License-Identifier: Apache-2.0
"""What is measured: the benches, who takes part in each with how much work, and the goals.

A peer is the name of a folder in bench/peers; `limit` is what the machine can do. A variant, after
a colon, is another way to write the same work: `orrery:fiber`. The first choice is compared; the
results show a variant as a metric of its own, `ns_fiber`.
"""

MILLION = 1000000


class Goal:
    """Ours may be at most `factor` times the peer's figure; `at_least` turns it around.

    peer: a name, `best` of the peers, None for an absolute bound, or one of OURS. variant: what of
    ours is compared, in the place of the first choice.
    """

    # Ours on one core: by the fixed engine, and by the parallel one with one worker.
    OURS = {"the fixed engine": None, "one worker": "worker"}

    def __init__(self, factor, peer=None, cores=1, metric=None, at_least=False, variant=None):
        self.factor = factor
        self.peer = peer
        self.cores = cores
        self.metric = metric
        self.at_least = at_least
        self.variant = variant

    def text(self, unit):
        sign = "≥" if self.at_least else "≤"
        if self.peer is None:
            return f"{sign} {self.factor:g} {unit}"
        return f"{sign} {self.factor:g} × {self.peer}"


class Bench:
    """One row of the table. `runs` is {cores: {peer: count}}."""

    def __init__(self, name, work, metric, runs, goals=(), program=None):
        self.name = name
        self.work = work
        self.metric = metric
        self.runs = runs
        self.goals = goals
        self.program = program or name


def echo(name, connections):
    """The echo servers: on a core of their own, the load on another."""
    servers = ["limit", "orrery", "orrery:fiber", "libuv", "libev", "libst", "tokio", "go",
               "erlang"]
    bench = Bench(name, f"64 bytes there and back over {connections} TCP connections, server and "
                  "load on a core each", "rps", {1: {server: 60000 for server in servers}},
                  [Goal(0.97, "limit", metric="rps", at_least=True),
                   Goal(1.0, "limit", metric="cpu_us")], program="tcp_echo")
    bench.connections = connections
    return bench


# On two cores actors are to be no slower than on one: than one worker of the same engine, but for
# what single runs vary by, and than the fixed engine, which has no other worker to think of.
NO_SLOWER_ON_TWO = [Goal(1.1, "one worker", cores=2), Goal(1.0, "the fixed engine", cores=2)]

BENCHES = [
    Bench("switch", "two tasks yield to each other; one switch", "ns",
          {1: {"limit": 40 * MILLION, "orrery": 10 * MILLION, "boost_fiber": 3 * MILLION,
               "libst": MILLION, "go": 2 * MILLION, "tokio": 500000, "erlang": MILLION},
           2: {"orrery": 5 * MILLION, "go": 2 * MILLION, "tokio": 500000}},
          [Goal(2.5, "limit"), Goal(0.1, "go"), Goal(0.15, "go"), Goal(0.15, "go", cores=2)]),
    Bench("spawn_join", "10⁶ trivial tasks, started and joined in batches of 1,000; one task", "ns",
          {1: {"orrery": MILLION, "orrery:fiber": MILLION, "orrery:actor": MILLION,
               "tokio": MILLION, "go": MILLION, "boost_fiber": 500000, "libst": 300000,
               "erlang": 300000},
           2: {"orrery": MILLION, "orrery:fiber": MILLION, "tokio": MILLION, "go": MILLION,
               "erlang": 300000}},
          [Goal(0.1, "go"), Goal(40, None), Goal(0.2, "go", cores=2),
           Goal(0.2, "go", cores=1, variant="fiber"), Goal(0.2, "go", cores=2, variant="fiber")]),
    Bench("chan_pingpong", "a value there and back over two rendezvous channels", "ns",
          {1: {"orrery": 2 * MILLION, "boost_fiber": MILLION, "libst": MILLION, "tokio": MILLION,
               "go": MILLION},
           2: {"limit": 2 * MILLION, "limit:futex": 5000, "orrery": 500000, "tokio": MILLION,
               "go": MILLION}},
          [Goal(0.12, "go"), Goal(0.5, "go", cores=2)]),
    Bench("chan_stream_1p1c", "one sends, one receives, 1,024 places, 8 bytes; one value", "ns",
          {1: {"orrery": 10 * MILLION, "boost_fiber": 5 * MILLION, "tokio": 4 * MILLION,
               "go": 5 * MILLION},
           2: {"limit": 10 * MILLION, "orrery": 5 * MILLION, "tokio": 4 * MILLION,
               "go": 4 * MILLION}},
          [Goal(0.2, "go"), Goal(0.5, "go", cores=2)]),
    Bench("chan_stream_4p1c", "four send, one receives, 1,024 places, 8 bytes; one value", "ns",
          {1: {"orrery": 10 * MILLION, "boost_fiber": 5 * MILLION, "tokio": 4 * MILLION,
               "go": 5 * MILLION},
           2: {"orrery": 4 * MILLION, "tokio": 4 * MILLION, "go": 4 * MILLION}},
          [Goal(0.2, "go"), Goal(0.5, "go", cores=2)]),
    Bench("actor_pingpong", "two actors, a message there and back", "ns",
          {1: {"orrery": 3 * MILLION, "orrery:fiber": 3 * MILLION, "orrery:worker": MILLION,
               "tokio": MILLION, "go": MILLION, "erlang": 500000, "caf": 200000},
           2: {"orrery": MILLION, "tokio": MILLION, "go": MILLION, "erlang": 500000,
               "caf": 200000}},
          [Goal(0.2, "tokio"), Goal(0.33, "tokio"), Goal(0.1, "erlang"), *NO_SLOWER_ON_TWO]),
    Bench("actor_ring", "a token around 1,000 actors; one hop", "ns",
          {1: {"orrery": 5 * MILLION, "orrery:worker": 2 * MILLION, "tokio": 2 * MILLION,
               "go": MILLION, "erlang": MILLION, "caf": 300000},
           2: {"orrery": 2 * MILLION, "tokio": 2 * MILLION, "go": MILLION, "erlang": MILLION,
               "caf": 300000}},
          [Goal(0.33, "best"), *NO_SLOWER_ON_TWO]),
    Bench("actor_fanin", "100 actors send 10⁴ messages each to one; one message", "ns",
          {1: {"orrery": MILLION, "orrery:worker": MILLION, "tokio": MILLION, "go": MILLION,
               "erlang": MILLION, "caf": 300000},
           2: {"orrery": MILLION, "tokio": MILLION, "go": MILLION, "erlang": MILLION,
               "caf": 300000}},
          [Goal(0.33, "best"), Goal(0.4, "go"), *NO_SLOWER_ON_TWO]),
    Bench("skynet", "a tree of tasks with 10⁶ leaves that is started and adds up", "ms",
          {1: {"orrery": MILLION, "tokio": MILLION, "go": MILLION, "erlang": MILLION},
           2: {"orrery": MILLION, "tokio": MILLION, "go": MILLION}},
          [Goal(0.33, "best"), Goal(0.33, "best", cores=2)]),
    Bench("select4_ready", "select over four channels that all have a value", "ns",
          {1: {"orrery": 5 * MILLION, "tokio": 3 * MILLION, "go": 2 * MILLION}},
          [Goal(0.33, "best")]),
    Bench("select4_block", "select over four rendezvous channels, another sends", "ns",
          {1: {"orrery": 2 * MILLION, "tokio": MILLION, "go": MILLION},
           2: {"orrery": 500000, "tokio": 500000, "go": MILLION}},
          [Goal(0.33, "best")]),
    Bench("timer_cancel", "10⁵ timers; one at random is cancelled and set anew; processor time",
          "ns",
          {1: {"orrery": 2 * MILLION, "libev": 2 * MILLION, "libuv": MILLION, "go": 300000,
               "tokio": 300000, "erlang": 300000}},
          [Goal(0.25, "best")]),
    Bench("timer_fire", "10⁶ timers within 100 ms, set and fired; processor time each", "ns",
          {1: {"orrery": MILLION, "libev": MILLION, "libuv": 500000, "go": 300000,
               "erlang": 300000}},
          [Goal(0.4, "best")]),
    Bench("sleepers", "10⁶ tasks that sleep within 100 ms; processor time each", "ns",
          {1: {"orrery": MILLION, "tokio": MILLION, "go": MILLION, "erlang": 300000}},
          [Goal(0.4, "best")]),
    Bench("idle_memory_poll", "10⁶ parked tasks without a stack", "bytes",
          {1: {"orrery": MILLION, "tokio": MILLION}}, [Goal(160, None)]),
    Bench("idle_memory_actor", "10⁶ idle actors", "bytes",
          {1: {"orrery": MILLION, "tokio": MILLION, "go": MILLION, "erlang": MILLION,
               "caf": MILLION}}, [Goal(256, None), Goal(0.15, "erlang")]),
    Bench("idle_memory_fiber", "10⁶ parked tasks with a stack (Boost.Fiber: 2 × 10⁴)", "bytes",
          {1: {"orrery": MILLION, "go": MILLION, "boost_fiber": 20000}},
          [Goal(4352, None), Goal(1.0, "go")]),
    echo("tcp_echo_64", 64),
    echo("tcp_echo_1000", 1000),
]

# How the cost of an operation grows with the number of objects: what is counted, what there are
# more of. Ours only.
SIZES = [1000, 10000, 100000, MILLION]
GROWTH = [
    ("growth_spawn", "start and join", "poll tasks alive"),
    ("growth_message", "message", "behaviours"),
    ("growth_channel", "send and receive", "values in a channel"),
    ("growth_waiters", "hand-over", "tasks waiting in a line"),
    ("growth_timer", "cancel and set anew", "timers set"),
    ("growth_poll", "wake and call", "poll tasks paused"),
]

# The same pieces of work with one worker and with two. Ours only.
WORKERS = [
    ("workers_independent", "16 tasks that do not talk", 200000),
    ("workers_pipelined", "four stages with channels between them", 200000),
    ("workers_contended", "16 tasks and one mutex, held all the time", 100000),
]

# The parallel engine in the simulator, with more workers than the machine has processors: counts,
# not times. One run of each seed.
VIRTUAL = [
    ("virtual_independent", "tasks that do not talk"),
    ("virtual_pipelined", "pipelines of four stages"),
    ("virtual_fanin", "all send to one channel"),
    ("virtual_contended", "one mutex, held all the time"),
]
VIRTUAL_WORKERS = [2, 8, 16, 32, 64]
VIRTUAL_PIECES = 400  # for each worker
VIRTUAL_METRICS = ["steals", "transfers", "lock_waits", "share"]

BENCHES += [Bench(f"{name}_{size}", f"{operation}, {size} {things}", "ns",
                  {1: {"orrery": size}}, program=name)
            for name, operation, things in GROWTH for size in SIZES]
BENCHES += [Bench(name, work, "ns", {1: {"orrery": count}, 2: {"orrery": count}})
            for name, work, count in WORKERS]

BENCHES += [Bench(f"{name}_{workers}", f"{work}, {workers} virtual workers", "steals",
                  {1: {"virtual": workers}}, program=name)
            for name, work in VIRTUAL for workers in VIRTUAL_WORKERS]

# Memory does not vary from round to round; two are enough to see that.
ROUNDS_OF_MEMORY = 2
