// SPDX-License-Identifier: Apache-2.0
// Go's side of the comparison: goroutines and unbuffered channels, as a Go programmer writes them.
// Prints one line per case: name, tab, nanoseconds per operation.
//
// Usage: peer COUNT
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"
)

const batch = 1000

func report(name string, start time.Time, operations int) {
	fmt.Printf("%s\t%.2f\n", name, float64(time.Since(start).Nanoseconds())/float64(operations))
}

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
	report("switch", start, 2*count)
}

func pingPong(name string, count int) {
	ping := make(chan int)
	pong := make(chan int)
	go func() {
		for number := range ping {
			pong <- number
		}
		close(pong)
	}()
	start := time.Now()
	for i := 0; i < count; i++ {
		ping <- i
		<-pong
	}
	report(name, start, count)
	close(ping)
}

// Sends count numbers through a channel with room for 1024.
func stream(count int) {
	numbers := make(chan int, 1024)
	go func() {
		for i := 0; i < count; i++ {
			numbers <- i
		}
		close(numbers)
	}()
	start := time.Now()
	for range numbers {
	}
	report("channel_stream", start, count)
}

func rendezvous(count int) {
	there := make(chan int)
	back := make(chan int)
	go func() {
		for number := range there {
			back <- number
		}
	}()
	start := time.Now()
	for i := 0; i < count; i++ {
		there <- i
		<-back
	}
	report("channel_rendezvous", start, count)
	close(there)
}

// The same with batches of the size that the fixed engine has room for.
func spawnExit(count int) {
	const small = 32
	start := time.Now()
	for i := 0; i < count; i += small {
		var all sync.WaitGroup
		all.Add(small)
		for j := 0; j < small; j++ {
			go all.Done()
		}
		all.Wait()
	}
	report("spawn_exit", start, (count+small-1)/small*small)
}

func spawnJoin(count int) {
	start := time.Now()
	for i := 0; i < count; i += batch {
		var all sync.WaitGroup
		all.Add(batch)
		for j := 0; j < batch; j++ {
			go all.Done()
		}
		all.Wait()
	}
	report("spawn_join", start, (count+batch-1)/batch*batch)
}

// Takes one of four values that are all there, each round, and puts it back.
func selectReady(count int) {
	a, b, c, d := make(chan int, 1), make(chan int, 1), make(chan int, 1), make(chan int, 1)
	a <- 1
	b <- 1
	c <- 1
	d <- 1
	start := time.Now()
	for i := 0; i < count; i++ {
		select {
		case n := <-a:
			a <- n
		case n := <-b:
			b <- n
		case n := <-c:
			c <- n
		case n := <-d:
			d <- n
		}
	}
	report("select4_ready", start, count)
}

// Waits for the next of four channels without places; another goroutine sends to each in turn.
func selectBlock(count int) {
	a, b, c, d := make(chan int), make(chan int), make(chan int), make(chan int)
	go func() {
		for i := 0; i < count; i++ {
			switch i % 4 {
			case 0:
				a <- i
			case 1:
				b <- i
			case 2:
				c <- i
			default:
				d <- i
			}
		}
	}()
	start := time.Now()
	for i := 0; i < count; i++ {
		select {
		case <-a:
		case <-b:
		case <-c:
		case <-d:
		}
	}
	report("select4_block", start, count)
}

// One hop of a token in a ring of 100 goroutines.
func ring(count int) {
	const size = 100
	first := make(chan int)
	from := first
	done := make(chan bool)
	for i := 0; i < size; i++ {
		to := make(chan int)
		if i == size-1 {
			to = first
		}
		go func(from, to chan int) {
			for left := range from {
				if left == 0 {
					done <- true
					return
				}
				to <- left - 1
			}
		}(from, to)
		from = to
	}
	start := time.Now()
	first <- count
	<-done
	report("actor_ring", start, count)
}

// Eight goroutines flood one through a channel with room for 1024.
func fanIn(count int) {
	const sources = 8
	numbers := make(chan int, 1024)
	for i := 0; i < sources; i++ {
		go func() {
			for j := 0; j < count/sources; j++ {
				numbers <- j
			}
		}()
	}
	start := time.Now()
	for i := 0; i < count/sources*sources; i++ {
		<-numbers
	}
	report("actor_fanin", start, count/sources*sources)
}

func main() {
	count := 1000000
	if len(os.Args) > 1 {
		number, err := strconv.Atoi(os.Args[1])
		if err != nil || number < 1 {
			fmt.Fprintln(os.Stderr, "usage: peer COUNT")
			os.Exit(2)
		}
		count = number
	}
	yields(count)
	pingPong("actor_pingpong", count)
	pingPong("behaviour_pingpong", count)
	ring(count)
	fanIn(count)
	spawnExit(count)
	spawnJoin(count)
	rendezvous(count)
	stream(count)
	selectReady(count)
	selectBlock(count)
}
