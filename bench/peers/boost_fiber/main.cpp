// SPDX-License-Identifier: Apache-2.0
// Boost.Fiber's side of the comparison: fibers on one core with its default scheduler, and its
// channels. Stacks are of 16 KB and, where fibers come and go, from a pool.
// Usage: peer BENCH CORES COUNT
#include <boost/fiber/all.hpp>
#include <cstring>
#include <vector>

#include "common.h"

namespace fibers = boost::fibers;

static const std::size_t stack_bytes = 16384;
static long count;

static void run_switch()
{
    auto yields = [] {
        for (long i = 0; i < count; i++) {
            boost::this_fiber::yield();
        }
    };
    double start = common_now_ns();
    fibers::fiber first(yields);
    fibers::fiber second(yields);
    first.join();
    second.join();
    common_report("switch", "ns", (common_now_ns() - start) / (2.0 * (double)count));
}

static void spawn_join()
{
    const int batch = 1000;
    fibers::pooled_fixedsize_stack stacks(stack_bytes);
    std::vector<fibers::fiber> all;
    all.reserve(batch);
    long done = 0;
    double start = common_now_ns();
    for (; done < count; done += batch) {
        for (int i = 0; i < batch; i++) {
            all.emplace_back(std::allocator_arg, stacks, [] {});
        }
        for (auto &fiber : all) {
            fiber.join();
        }
        all.clear();
    }
    common_report("spawn_join", "ns", (common_now_ns() - start) / (double)done);
}

static void chan_pingpong()
{
    fibers::unbuffered_channel<long> there;
    fibers::unbuffered_channel<long> back;
    fibers::fiber partner([&] {
        long number;
        while (there.pop(number) == fibers::channel_op_status::success) {
            back.push(number);
        }
    });
    double start = common_now_ns();
    for (long i = 0; i < count; i++) {
        long number = i;
        there.push(number);
        back.pop(number);
    }
    common_report("chan_pingpong", "ns", (common_now_ns() - start) / (double)count);
    there.close();
    partner.join();
}

// The channel has room for one less than it is told.
static void chan_stream(const char *bench, int producers)
{
    fibers::buffered_channel<long> numbers(2048);
    std::vector<fibers::fiber> all;
    long each = count / producers;
    double start = common_now_ns();
    for (int i = 0; i < producers; i++) {
        all.emplace_back([&, each] {
            for (long j = 0; j < each; j++) {
                numbers.push(j);
            }
        });
    }
    long number;
    for (long i = 0; i < each * producers; i++) {
        numbers.pop(number);
    }
    common_report(bench, "ns", (common_now_ns() - start) / (double)(each * producers));
    for (auto &fiber : all) {
        fiber.join();
    }
}

static void idle_memory()
{
    fibers::fixedsize_stack stacks(stack_bytes);
    fibers::mutex mutex;
    fibers::condition_variable never;
    double before = common_resident_bytes();
    for (long i = 0; i < count; i++) {
        fibers::fiber(std::allocator_arg, stacks, [&] {
            std::unique_lock<fibers::mutex> lock(mutex);
            never.wait(lock);
        }).detach();
    }
    boost::this_fiber::yield();
    boost::this_fiber::sleep_for(std::chrono::milliseconds(10));
    common_report("idle_memory_fiber", "bytes", (common_resident_bytes() - before) / (double)count);
    _exit(0);
}

int main(int argc, char **argv)
{
    count = argc == 4 ? atol(argv[3]) : 0;
    if (count < 1) {
        fprintf(stderr, "usage: peer BENCH CORES COUNT\n");
        return 2;
    }
    if (strcmp(argv[1], "switch") == 0) {
        run_switch();
    } else if (strcmp(argv[1], "spawn_join") == 0) {
        spawn_join();
    } else if (strcmp(argv[1], "chan_pingpong") == 0) {
        chan_pingpong();
    } else if (strcmp(argv[1], "chan_stream_1p1c") == 0) {
        chan_stream(argv[1], 1);
    } else if (strcmp(argv[1], "chan_stream_4p1c") == 0) {
        chan_stream(argv[1], 4);
    } else if (strcmp(argv[1], "idle_memory_fiber") == 0) {
        idle_memory();
    } else {
        fprintf(stderr, "boost_fiber: no bench is called %s\n", argv[1]);
        return 3;
    }
    return 0;
}
