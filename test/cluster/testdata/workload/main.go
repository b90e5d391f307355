// SPDX-License-Identifier: Apache-2.0

// Command workload is what the tests of package cluster run in pods: a server that tells about itself, and small
// programs to run beside it.
package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

const patience = time.Second

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return errors.New("usage: workload serve|get|dial|send|ls|cat|write ARGUMENT...")
	}
	switch verb, arg := args[0], args[1]; verb {
	case "serve": // HTTP and UDP on the port, until killed
		return serve(arg)
	case "get": // what a server says
		client := http.Client{Timeout: patience}
		resp, err := client.Get(arg)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, err = io.Copy(os.Stdout, resp.Body)
		return err
	case "dial":
		conn, err := net.DialTimeout("tcp", arg, patience)
		if err != nil {
			return err
		}
		return conn.Close()
	case "send": // one datagram
		conn, err := net.Dial("udp", arg)
		if err != nil {
			return err
		}
		_, err = conn.Write([]byte("x"))
		return err
	case "ls":
		entries, err := os.ReadDir(arg)
		for _, e := range entries {
			fmt.Println(e.Name())
		}
		return err
	case "write":
		return os.WriteFile(arg, []byte(args[2]), 0o644)
	default:
		return fmt.Errorf("unknown command %q", verb)
	}
}

func serve(address string) error {
	started := time.Now()
	var datagrams atomic.Int64
	udp, err := net.ListenPacket("udp", address)
	if err != nil {
		return err
	}
	go func() {
		buf := make([]byte, 16)
		for {
			if _, _, err := udp.ReadFrom(buf); err != nil {
				return
			}
			datagrams.Add(1)
		}
	}()
	http.HandleFunc("/started", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, started.UnixNano()) })
	http.HandleFunc("/datagrams", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, datagrams.Load()) })
	http.HandleFunc("/host", func(w http.ResponseWriter, _ *http.Request) {
		host, _ := os.Hostname() // empty says enough
		fmt.Fprint(w, host)
	})
	fmt.Println("serving on", address)
	return http.ListenAndServe(address, nil)
}
