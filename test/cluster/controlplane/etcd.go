// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// etcdStartLimit bounds the start of a single member on an empty or small data directory.
const etcdStartLimit = time.Minute

// runEtcd serves one member without a peer and without fsync: the state of a test cluster is thrown away, and fsync is
// what makes etcd slow on a busy disk. It has no shutdown of its own; the cluster ends it with SIGKILL.
func runEtcd() int {
	flags := flag.NewFlagSet("etcd", flag.ExitOnError)
	dir := flags.String("data-dir", "", "directory of the data")
	socket := flags.String("socket", "", "path of the Unix socket to serve clients on; relative to the working directory")
	_ = flags.Parse(os.Args[1:]) // ExitOnError
	if err := serveEtcd(*dir, *socket); err != nil {
		fmt.Fprintf(os.Stderr, "etcd: %v\n", err)
		return 1
	}
	return 0
}

func serveEtcd(dir, socket string) error {
	if dir == "" || socket == "" {
		return errors.New("--data-dir and --socket are required")
	}
	// A killed predecessor leaves its sockets behind, and a socket file blocks the next listen.
	peer := socket + "-peer"
	for _, path := range []string{socket, peer} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove stale socket: %w", err)
		}
	}
	cfg := embed.NewConfig()
	cfg.Dir = dir
	cfg.LogLevel = "warn"
	cfg.UnsafeNoFsync = true
	// On a busy machine most requests take longer than the defaults of 100 and 300 ms: a log line for each.
	cfg.WarningApplyDuration, cfg.WarningUnaryRequestDuration = time.Hour, time.Hour
	cfg.ListenClientUrls = []url.URL{{Scheme: "unix", Host: socket}}
	// What is advertised must look like host:port; no client ever reads it.
	cfg.AdvertiseClientUrls = []url.URL{{Scheme: "http", Host: "localhost:2379"}}
	cfg.ListenPeerUrls = []url.URL{{Scheme: "unix", Host: peer}}
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return fmt.Errorf("start on %s: %w", dir, err)
	}
	select {
	case <-e.Server.ReadyNotify():
	case err := <-e.Err():
		return fmt.Errorf("serve %s: %w", dir, err)
	case <-time.After(etcdStartLimit):
		return fmt.Errorf("not ready on %s within %s", dir, etcdStartLimit)
	}
	return fmt.Errorf("serve %s: %w", dir, <-e.Err())
}
