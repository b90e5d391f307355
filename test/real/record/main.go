// SPDX-License-Identifier: Apache-2.0

// Command record makes a recording of a real ScyllaDB: record -image IMAGE [-engine docker|podman|kubectl] [-o FILE]. docs/real.md describes it.
// The same program is the probe that it puts into the containers: record probe WHAT.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/real"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	run := record
	if len(os.Args) > 1 && os.Args[1] == "probe" {
		run = probe
		os.Args = os.Args[1:]
	}
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func probe(ctx context.Context) error {
	p := &real.Probe{}
	flag.StringVar(&p.Address, "address", "127.0.0.1", "address of REST API and supervisord")
	flag.StringVar(&p.Dir, "dir", "/var/lib/scylla", "ScyllaDB's working directory")
	flag.StringVar(&p.Shell, "shell", "/bin/sh", "shell of the queries")
	flag.Parse()
	return p.Run(ctx, flag.Args(), os.Stdout)
}

func record(ctx context.Context) (err error) {
	image := flag.String("image", "", "image of ScyllaDB, such as docker.io/scylladb/scylla:2026.2")
	program := flag.String("engine", "", "docker, podman or kubectl; docker or podman, which one answers, if empty")
	out := flag.String("o", "", "file of the recording")
	limit := flag.Duration("limit", 40*time.Minute, "the recording ends after this time, with what it has")
	flag.Parse()
	if *image == "" {
		return errors.New("name the image: make real IMAGE=docker.io/scylladb/scylla:2026.2")
	}
	if *program == "" {
		for _, p := range []string{"docker", "podman"} {
			if *program == "" && real.Command(ctx, p, "info").Exit == 0 {
				*program = p
			}
		}
		if *program == "" {
			return errors.New("neither docker nor podman answers: start one of them, or run as a user who may use it")
		}
	}
	dir, err := os.MkdirTemp("", "record-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "record")
	build := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", binary, "./test/real/record")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+runtime.GOARCH)
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build the probe: %w", err)
	}
	host, _ := os.Hostname()
	mask := real.NewMask(host)
	var engine real.Engine
	if *program == "kubectl" {
		engine, err = real.NewKube(ctx, *image, binary)
	} else {
		engine, err = real.NewDocker(ctx, *program, *image, binary)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close(context.WithoutCancel(ctx))) }()
	short, cancel := context.WithTimeout(ctx, *limit)
	defer cancel()
	r, err := real.NewRecorder(engine, mask, os.Stdout, time.Second).Record(short, *image, real.Situations)
	if err != nil {
		return err
	}
	file := cmp.Or(*out, "recording-"+cmp.Or(r.Release, "unknown")+".json.gz")
	if err := r.Write(file, mask); err != nil {
		return err
	}
	fmt.Printf("\nThe recording is %s. Look at it with: gzip -dc %s\n", file, file)
	return nil
}
