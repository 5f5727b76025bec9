// SPDX-License-Identifier: Apache-2.0
// Goroutines: switches between them, their start and end, and a tree of them.
package main

import (
	"runtime"
	"sync"
	"time"
)

const batch = 1000

func yields(count int) {
	var both sync.WaitGroup
	both.Add(2)
	start := time.Now()
	for i := 0; i < 2; i++ {
		go func() {
			for j := 0; j < count; j++ {
				runtime.Gosched()
			}
			both.Done()
		}()
	}
	both.Wait()
	reportSince("switch", start, 2*count)
}

func spawnJoin(count int) {
	done := 0
	start := time.Now()
	for ; done < count; done += batch {
		var all sync.WaitGroup
		all.Add(batch)
		for j := 0; j < batch; j++ {
			go all.Done()
		}
		all.Wait()
	}
	reportSince("spawn_join", start, done)
}

// Each node starts ten below it and adds up what they say; a leaf says its number.
func node(first, leaves int, above chan<- int) {
	if leaves == 1 {
		above <- first
		return
	}
	below := make(chan int, 10)
	each := leaves / 10
	for i := 0; i < 10; i++ {
		go node(first+i*each, each, below)
	}
	sum := 0
	for i := 0; i < 10; i++ {
		sum += <-below
	}
	above <- sum
}

func skynet(leaves int) {
	start := time.Now()
	answer := make(chan int, 1)
	go node(0, leaves, answer)
	sum := <-answer
	elapsed := time.Since(start)
	if sum != leaves*(leaves-1)/2 {
		panic("the sum is wrong")
	}
	report("skynet", "ms", float64(elapsed.Nanoseconds())/1e6)
}
