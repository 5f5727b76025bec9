# SPDX-License-Identifier: Apache-2.0
"""Each source file of the library has its test file, named after it: src/sync/channel.c has
test/unit/channel_test.c, or channel_test.c in another folder of test/."""

from .tree import Fixture, Rule

# A source file without a test file of its own, and the test file that tries it instead.
TESTED_BY = {
    "src/machine/channel_op.c": "test/unit/machine_channel_test.c",
    "src/machine/close.c": "test/unit/machine_close_test.c",
    "src/machine/hierarchy.c": "test/unit/machine_tree_test.c",
    "src/machine/inbox.c": "test/unit/machine_loop_test.c",
    "src/machine/loop.c": "test/unit/machine_loop_test.c",
    "src/machine/machine.c": "test/unit/machine_op_test.c",
    "src/machine/platform.c": "test/unit/machine_platform_test.c",
    "src/machine/recv_ring.c": "test/unit/machine_ring_test.c",
    "src/machine/route.c": "test/unit/machine_op_test.c",
    "src/machine/slots.c": "test/unit/machine_loop_test.c",
    "src/port/arch/x86_64/fp_control.c": "test/unit/context_fp_test.c",  # a part of the switch
    "src/port/explore/machine.c": "test/model/litmus_model.c",
    "src/port/explore/main.c": "test/model/litmus_model.c",
    "src/port/explore/order.c": "test/model/litmus_model.c",
    "src/port/explore/port.c": "test/model/park_model.c",
    "src/port/explore/run.c": "test/model/litmus_model.c",
    "src/port/explore/seam.c": "test/model/litmus_model.c",
    "src/port/explore/search.c": "test/model/reduction_check.c",
    "src/port/virtual/port_virtual.c": "test/virtual/crew_sim_test.c",
    "src/port/virtual/virtual.c": "test/virtual/crew_sim_test.c",
    "src/port/cortex_m/process.c": "test/cortex_m/suite/host_test.c",  # what stands below it
    "src/port/cortex_m/semihost.c": "test/cortex_m/suite/host_test.c",
    "src/port/cortex_m/startup.c": "test/cortex_m/suite/host_test.c",
    "src/port/cortex_m/port_device.c": "test/cortex_m/echo_test.sh",
    "src/port/lwip/lwip_device.c": "test/cortex_m/echo_test.sh",  # needs lwIP
    "src/port/lwip/lwip_lan9118.c": "test/cortex_m/echo_test.sh",
    "src/port/lwip/lwip_socket.c": "test/cortex_m/echo_test.sh",
    "src/port/mps2/timer.c": "test/cortex_m/suite/mps2_timer_test.c",
    "src/port/mps2/uart.c": "test/cortex_m/uart_test.sh",
    "src/port/mps2/lan9118.c": "test/cortex_m/echo_test.sh",  # carries every byte of it
    "src/port/freertos/freertos_net.c": "test/freertos/by_hand/echo_main.c",  # needs a kernel
    "src/port/freertos/servant.c": "test/freertos/port_freertos_test.c",
    "src/port/linux/signal_catch.c": "test/unit/signals_test.c",
    "src/port/sim/sim_stream.c": "test/unit/sim_net_test.c",
    "src/port/linux/spin.c": "test/unit/actor_parallel_test.c",  # several workers share the port
    "src/runtime/linux/parallel.c": "test/unit/cpus_test.c",
    "src/actor/behaviours.c": "test/unit/behaviour_test.c",  # room, numbers and end of them all
    "src/actor/turn.c": "test/unit/behaviour_test.c",
    "src/actor/mailbox_limit.c": "test/unit/pressure_test.c",
    "src/sched/crew_roster.c": "test/model/crew_model.c",
    "src/sched/injector.c": "test/unit/station_test.c",
    "src/sched/pin_api.c": "test/unit/pin_test.c",
    "src/sched/warden.c": "test/unit/blocking_test.c",
    "src/port/linux/process.c": "test/unit/assert_test.c",  # the last words are read word by word
    "src/runtime/linux/observe.c": "test/tools/orrery_dump_test.sh",  # the tool asks a program
    "src/runtime/part_behaviour.c": "test/unit/sim_test.c",  # a run has them all
    "src/runtime/cortex_m/sizes.c": "test/cortex_m/size_test.sh",  # numbers for tools/size
    "src/runtime/part_bus.c": "test/unit/sim_test.c",
    "src/runtime/part_supervisor.c": "test/unit/sim_test.c",
    "src/runtime/part_async.c": "test/unit/async_test.c",
    "src/runtime/part_channel.c": "test/unit/sim_test.c",
    "src/runtime/part_io.c": "test/unit/runtime_test.c",
    "src/runtime/part_signal.c": "test/unit/signals_test.c",
    "src/port/linux/uring.c": "test/unit/sentry_test.c",  # one of the two kinds
    "src/runtime/part_task.c": "test/unit/run_main_test.c",
    "src/runtime/runtime_dump.c": "test/unit/dump_test.c",
    "src/time/timer_list.c": "test/unit/wheel_test.c",  # a part of the wheel, tried with it
    "src/time/wheel_api.c": "test/conform/wheel_conform_test.c",  # the specification's own cases
}


def _search_units(tree):
    tests = {s.stem for s in tree.c_sources("test") if s.stem.endswith("_test")}
    for source in tree.c_sources("src"):
        if source.suffix != ".c":
            continue
        has_own = f"{source.stem}_test" in tests
        other = TESTED_BY.get(source.path)
        if not has_own and other is None:
            yield source, 1, f"no test file is named after it: test/unit/{source.stem}_test.c"
        elif not has_own and other not in tree.paths:
            yield source, 1, f"{other}, which should test it, does not exist"
        elif has_own and other is not None:
            yield source, 1, "it has a test file of its own now: take it out of TESTED_BY"


RULES = (
    Rule(
        "unit",
        "each source file has its test file",
        _search_units,
        (
            Fixture("both", {"src/base/a.c": "", "test/unit/a_test.c": ""}),
            Fixture("another kind of test", {"src/base/a.c": "", "test/model/a_test.c": ""}),
            Fixture("a header", {"src/base/a.h": ""}),
            Fixture("none", {"src/base/a.c": ""}, ("src/base/a.c:1",)),
            Fixture(
                "its substitute is gone",
                {path: "" for path in TESTED_BY},
                tuple(f"{path}:1" for path in TESTED_BY),
            ),
        ),
    ),
)
