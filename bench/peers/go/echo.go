// SPDX-License-Identifier: Apache-2.0
// An echo server: a goroutine per connection. It prints its port and serves until it is killed.
package main

import (
	"fmt"
	"net"
)

func serve(connection net.Conn) {
	defer connection.Close()
	buffer := make([]byte, 1024)
	for {
		count, err := connection.Read(buffer)
		if err != nil {
			return
		}
		if _, err = connection.Write(buffer[:count]); err != nil {
			return
		}
	}
}

// TCP_NODELAY is what the package sets by itself.
func tcpEcho(int) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("port\t%d\n", listener.Addr().(*net.TCPAddr).Port)
	for {
		connection, err := listener.Accept()
		if err != nil {
			panic(err)
		}
		go serve(connection)
	}
}
