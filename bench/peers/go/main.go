// SPDX-License-Identifier: Apache-2.0
// Go's side of the comparison: goroutines and channels, as a Go programmer writes them. GOMAXPROCS
// is set from CORES. Prints lines `bench TAB metric TAB value`.
//
// Usage: peer BENCH CORES COUNT
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"
)

func report(name, metric string, value float64) {
	fmt.Printf("%s\t%s\t%.2f\n", name, metric, value)
}

func reportSince(name string, start time.Time, operations int) {
	report(name, "ns", float64(time.Since(start).Nanoseconds())/float64(operations))
}

var benches = map[string]func(count int){
	"switch":            yields,
	"spawn_join":        spawnJoin,
	"skynet":            skynet,
	"chan_pingpong":     func(count int) { pingPong("chan_pingpong", count) },
	"chan_stream_1p1c":  func(count int) { stream("chan_stream_1p1c", 1, count) },
	"chan_stream_4p1c":  func(count int) { stream("chan_stream_4p1c", 4, count) },
	"actor_pingpong":    func(count int) { pingPong("actor_pingpong", count) },
	"actor_ring":        ring,
	"actor_fanin":       fanIn,
	"select4_ready":     selectReady,
	"select4_block":     selectBlock,
	"timer_cancel":      timerCancel,
	"timer_fire":        timerFire,
	"sleepers":          sleepers,
	"idle_memory_actor": func(count int) { idleMemory("idle_memory_actor", true, count) },
	"idle_memory_fiber": func(count int) { idleMemory("idle_memory_fiber", false, count) },
	"tcp_echo":          tcpEcho,
}

func main() {
	cores, count := 0, 0
	if len(os.Args) == 4 {
		cores, _ = strconv.Atoi(os.Args[2])
		count, _ = strconv.Atoi(os.Args[3])
	}
	if cores < 1 || count < 1 {
		fmt.Fprintln(os.Stderr, "usage: peer BENCH CORES COUNT")
		os.Exit(2)
	}
	bench, isThere := benches[os.Args[1]]
	if !isThere {
		fmt.Fprintln(os.Stderr, "go: no bench is called", os.Args[1])
		os.Exit(3)
	}
	runtime.GOMAXPROCS(cores)
	bench(count)
}
