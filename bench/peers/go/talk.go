// SPDX-License-Identifier: Apache-2.0
// Channels, goroutines with a channel each as actors, and selects.
package main

import "time"

func pingPong(name string, count int) {
	ping := make(chan int)
	pong := make(chan int)
	go func() {
		for number := range ping {
			pong <- number
		}
	}()
	start := time.Now()
	for i := 0; i < count; i++ {
		ping <- i
		<-pong
	}
	reportSince(name, start, count)
}

func stream(name string, producers, count int) {
	numbers := make(chan int, 1024)
	each := count / producers
	start := time.Now()
	for i := 0; i < producers; i++ {
		go func() {
			for j := 0; j < each; j++ {
				numbers <- j
			}
		}()
	}
	for i := 0; i < each*producers; i++ {
		<-numbers
	}
	reportSince(name, start, each*producers)
}

// One hop of a token in a ring of a thousand goroutines.
func ring(count int) {
	const size = 1000
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
	reportSince("actor_ring", start, count)
}

// A hundred goroutines send to one through a channel with room for 1024.
func fanIn(count int) {
	stream("actor_fanin", 100, count)
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
	reportSince("select4_ready", start, count)
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
	reportSince("select4_block", start, count)
}
