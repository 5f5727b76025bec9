// SPDX-License-Identifier: Apache-2.0
// What a parked goroutine takes, alone or with a channel of its own.
package main

import (
	"fmt"
	"os"
	"time"
)

func residentBytes() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		panic(err)
	}
	var size, pages int
	fmt.Sscan(string(text), &size, &pages)
	return float64(pages * os.Getpagesize())
}

func idleMemory(name string, hasOwnChannel bool, count int) {
	common := make(chan int)
	boxes := make([]chan int, count)
	before := residentBytes()
	for i := range boxes {
		boxes[i] = common
		if hasOwnChannel {
			boxes[i] = make(chan int, 1)
		}
		go func(mail chan int) {
			for range mail {
			}
		}(boxes[i])
	}
	time.Sleep(100 * time.Millisecond)
	report(name, "bytes", (residentBytes()-before)/float64(count))
	os.Exit(0)
}
