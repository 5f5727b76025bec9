// SPDX-License-Identifier: Apache-2.0
// Timers, in processor time.
package main

import (
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// The processor time of this process so far, in nanoseconds.
func cpu() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return float64(usage.Utime.Nano() + usage.Stime.Nano())
}

// The same numbers in every program: a 64-bit xorshift.
type numbers uint64

func (state *numbers) next() uint64 {
	*state ^= *state << 13
	*state ^= *state >> 7
	*state ^= *state << 17
	return uint64(*state)
}

// Of 10^5 timers one, at random, is stopped and set anew, a minute or two from now.
func timerCancel(count int) {
	const outstanding = 100000
	far, victims := numbers(42), numbers(7)
	distance := func() time.Duration {
		return time.Duration(60000+far.next()%60000) * time.Millisecond
	}
	timers := make([]*time.Timer, outstanding)
	for i := range timers {
		timers[i] = time.AfterFunc(distance(), func() {})
	}
	start := cpu()
	for i := 0; i < count; i++ {
		victim := timers[victims.next()%outstanding]
		victim.Stop()
		victim.Reset(distance())
	}
	report("timer_cancel", "ns", (cpu()-start)/float64(count))
}

// Sets timers for random instants within 100 ms and waits until all have fired.
func timerFire(count int) {
	near := numbers(42)
	left := int64(count)
	done := make(chan bool)
	fire := func() {
		if atomic.AddInt64(&left, -1) == 0 {
			done <- true
		}
	}
	start := cpu()
	for i := 0; i < count; i++ {
		time.AfterFunc(time.Duration(near.next()%100000000), fire)
	}
	<-done
	report("timer_fire", "ns", (cpu()-start)/float64(count))
}

// Goroutines that sleep for a random time within 100 ms.
func sleepers(count int) {
	near := numbers(42)
	var all sync.WaitGroup
	all.Add(count)
	start := cpu()
	for i := 0; i < count; i++ {
		go func(nap time.Duration) {
			time.Sleep(nap)
			all.Done()
		}(time.Duration(near.next() % 100000000))
	}
	all.Wait()
	report("sleepers", "ns", (cpu()-start)/float64(count))
}
