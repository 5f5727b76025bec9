# SPDX-License-Identifier: Apache-2.0
# The front door. Each target is one command; CMake does the work, tools/setup knows what it needs.
.POSIX:
.PHONY: all build test demo bench bench-peers sim size install clean help

PREFIX = /usr/local
SEED = 1
TESTARGS =

# The one build that `make`, `make demo`, `make bench`, `make size` and `make install` share.
RELEASE = build/release
CONFIGURE_RELEASE = cmake --log-level=WARNING --preset release -B $(RELEASE) >/dev/null
BUILD_RELEASE = cmake --build $(RELEASE) --target

all: build

build:
	@tools/setup --check build
	@echo "make: building the libraries in $(RELEASE)"
	@$(CONFIGURE_RELEASE)
	@$(BUILD_RELEASE) libraries

test:
	@tools/setup test
	@echo "make: building and running every test lane"
	@test/runner/run $(TESTARGS)

demo:
	@tools/setup demo
	@echo "make: building and running examples/flight_controller"
	@$(CONFIGURE_RELEASE)
	@$(BUILD_RELEASE) flight_controller -- --quiet
	@$(RELEASE)/examples/flight_controller

bench:
	@tools/setup bench
	@echo "make: building and running every benchmark in bench/"
	@$(CONFIGURE_RELEASE)
	@$(BUILD_RELEASE) benches -- --quiet
	@for source in bench/*_bench.c; do \
	    $(RELEASE)/bench/$$(basename "$$source" .c) || exit 1; \
	done

bench-peers:
	@tools/setup peers
	@echo "make: running the same work on Orrery and its peers, interleaved"
	@bench/peers/run

sim:
	@tools/setup sim
	@echo "make: running the simulation tests with seed $(SEED)"
	@test/runner/run --lane sim --seed $(SEED)

size:
	@tools/setup size
	@echo "make: measuring flash and RAM of each module in $(RELEASE)/liborrery.a"
	@$(CONFIGURE_RELEASE)
	@$(BUILD_RELEASE) libraries -- --quiet
	@tools/size $(RELEASE)
	@echo "make: measuring the core on a Cortex-M3 against bench/cortex_m/budget.tsv"
	@cmake --log-level=WARNING --preset cortex_m >/dev/null
	@cmake --build build/cortex_m --target core_bench -- --quiet
	@tools/size --board --check build/cortex_m

install: build
	@echo "make: installing under $(DESTDIR)$(PREFIX)"
	@DESTDIR="$(DESTDIR)" cmake --install $(RELEASE) --prefix "$(PREFIX)"

clean:
	@echo "make: removing build/"
	@rm -rf build compile_commands.json

help:
	@echo "make                   build the static and the shared library in $(RELEASE)"
	@echo "make test              install what the tests need, build every lane, run them"
	@echo "make demo              install what the demo needs, build it, run it"
	@echo "make bench             build and run the benchmarks, one TSV line per result"
	@echo "make bench-peers       the same work on Orrery and eight peers, compared"
	@echo "make sim SEED=n        run the simulation tests with one seed"
	@echo "make size              flash and RAM of each module; the core on a Cortex-M3 and its budget"
	@echo "make install PREFIX=p  install headers, libraries, pkg-config and CMake package"
	@echo "make clean             remove build/"
