# SPDX-License-Identifier: Apache-2.0
"""How each peer is built, in bench/out, and how its program is called.

Every program is called with a bench, a number of cores and a count, and prints lines of bench,
metric and value. Builds are optimised the way the peer's own documentation says; libraries and
crates are Debian's, and nothing is fetched.
"""

import os
import shutil
import subprocess
import sys

from . import matrix

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__)))))
PEERS = os.path.join(ROOT, "bench", "peers")
OUT = os.path.join(ROOT, "bench", "out")

# The limits of the fixed engine are chosen when the library is compiled; these give room for what
# the benches ask for. No check is left out: it is the installed library with larger tables.
LIMITS = ["-DRT_MAX_DESCRIPTORS=4096", "-DRT_COMPLETION_QUEUE_SIZE=2048"]

C_FLAGS = ["-O2", "-std=gnu11", f"-I{PEERS}", f"-I{ROOT}/bench", f"-I{ROOT}/src",
           f"-I{ROOT}/include"]
CXX_FLAGS = ["-O3", "-std=c++17", "-DNDEBUG", f"-I{PEERS}"]

# Cargo takes the crates from the folder that Debian's packages fill.
CARGO_CONFIG = """[source.crates-io]
replace-with = "debian"

[source.debian]
directory = "/usr/share/cargo/registry"
"""


def run(command, **options):
    """Runs a command; what it says is shown if it fails, and ends the program."""
    result = subprocess.run(command, check=False, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, **options)
    if result.returncode != 0:
        sys.exit(f"bench/peers/run: {' '.join(command)}:\n{result.stdout}")


def sources(folder, ending):
    """The files of a peer's folder with this ending."""
    path = os.path.join(PEERS, folder)
    return sorted(os.path.join(path, name) for name in os.listdir(path) if name.endswith(ending))


def build_c(name, *libraries):
    run(["gcc", *C_FLAGS, "-o", os.path.join(OUT, name), *sources(name, ".c"), *libraries])


def build_cxx(name, *libraries):
    program = os.path.join(OUT, name)
    newest = max(os.path.getmtime(path)
                 for path in sources(name, ".cpp") + [os.path.join(PEERS, "common.h")])
    if not os.path.exists(program) or os.path.getmtime(program) < newest:
        run(["g++", *CXX_FLAGS, "-o", program, *sources(name, ".cpp"), *libraries])


def build_orrery():
    build = os.path.join(OUT, "library")
    run(["cmake", "--log-level=WARNING", "--preset", "release", "-B", build,
         f"-DCMAKE_C_FLAGS={' '.join(LIMITS)}", "-DORRERY_BENCH=OFF", "-DORRERY_EXAMPLES=OFF",
         "-DORRERY_SHARED=OFF"], cwd=ROOT)
    run(["cmake", "--build", build, "--target", "orrery_static"], cwd=ROOT)
    run(["gcc", *C_FLAGS, *LIMITS, "-o", os.path.join(OUT, "orrery"), *sources("orrery", ".c"),
         os.path.join(build, "liborrery.a"), "-lpthread"])


def build_virtual():
    build = os.path.join(OUT, "virtual_library")
    run(["cmake", "--log-level=WARNING", "--preset", "release", "-B", build,
         "-DORRERY_EXAMPLES=OFF", "-DORRERY_SHARED=OFF"], cwd=ROOT)
    run(["cmake", "--build", build, "--target", "virtual_workers"], cwd=ROOT)
    shutil.copy(os.path.join(build, "bench", "virtual_workers"), os.path.join(OUT, "virtual"))


def build_go():
    environment = dict(os.environ, GOCACHE=os.path.join(OUT, "go-cache"), GO111MODULE="off")
    run(["go", "build", "-o", os.path.join(OUT, "go"), "."], env=environment,
        cwd=os.path.join(PEERS, "go"))


def build_erlang():
    run(["erlc", "-o", OUT, *sources("erlang", ".erl")])


def build_tokio():
    folder = os.path.join(OUT, "tokio_build")
    os.makedirs(os.path.join(folder, ".cargo"), exist_ok=True)
    with open(os.path.join(folder, ".cargo", "config.toml"), "w", encoding="utf-8") as file:
        file.write(CARGO_CONFIG)
    shutil.copytree(os.path.join(PEERS, "tokio"), folder, dirs_exist_ok=True)
    run(["cargo", "build", "--release", "--offline", "--quiet"], cwd=folder)
    shutil.copy(os.path.join(folder, "target", "release", "tokio_peer"),
                os.path.join(OUT, "tokio"))


# Name, what its build needs, how it is built.
BUILDS = [
    ("load", "gcc", lambda: build_c("load")),
    ("limit", "gcc", lambda: build_c("limit", "-lpthread")),
    ("orrery", "cmake", build_orrery),
    ("virtual", "cmake", build_virtual),
    ("libev", "/usr/include/ev.h", lambda: build_c("libev", "-lev")),
    ("libuv", "/usr/include/uv.h", lambda: build_c("libuv", "-luv")),
    ("libst", "/usr/include/st.h", lambda: build_c("libst", "-lst")),
    ("boost_fiber", "/usr/include/boost/fiber/all.hpp",
     lambda: build_cxx("boost_fiber", "-lboost_fiber", "-lboost_context", "-lpthread")),
    ("caf", "/usr/include/caf/all.hpp", lambda: build_cxx("caf", "-lcaf_core", "-lpthread")),
    ("go", "go", build_go),
    ("erlang", "erlc", build_erlang),
    ("tokio", "cargo", build_tokio),
]


def is_there(need):
    return os.path.exists(need) if need.startswith("/") else shutil.which(need) is not None


def build_all(wanted):
    """Builds the peers whose names are wanted; gives those that are there."""
    built = set()
    os.makedirs(OUT, exist_ok=True)
    for name, need, build in BUILDS:
        if name not in wanted and name != "load":
            continue
        if not is_there(need):
            print(f"left out: {name}, {need} is not there; run: tools/setup peers",
                  file=sys.stderr)
            continue
        print(f"building {name}", file=sys.stderr, flush=True)
        build()
        built.add(name)
    return built


def command_of(peer, program, cores, count):
    """The command that runs a bench of a peer on the first `cores` processors."""
    name, _, variant = peer.partition(":")
    pinned = ["taskset", "-c", "0" if cores == 1 else f"0-{cores - 1}"]
    if name == "erlang":
        # Processes by the million; schedulers that wait without spinning on a core they share.
        return [*pinned, "erl", "+S", f"{cores}:{cores}", "+SDcpu", "1:1", "+SDio", "1",
                "+P", "2000000", "+sbwt", "none" if cores == 1 else "medium",
                "-noshell", "-boot", "start_clean", "-pa", OUT,
                "-s", "orrery_peer", "main", program, str(count)]
    if name == "virtual":
        return [*pinned, os.path.join(OUT, name), program.partition("_")[2], str(count),
                str(count * matrix.VIRTUAL_PIECES)]
    bench = f"{program}:{variant}" if variant else program
    return [*pinned, os.path.join(OUT, name), bench, str(cores), str(count)]
