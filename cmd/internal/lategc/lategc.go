// SPDX-License-Identifier: Apache-2.0

// Package lategc puts off the first garbage collection of a program that imports it, from a heap of 4 MB to one of 16 MB. Linking client-go
// fills about 4 MB before main begins, so that every `version`, every completion and every `barrier MEMBER` used to pay for one collection,
// a fifth of its start-up, and then ended. From the first collection on the collector runs as Go's runtime would have it: programs that live
// long, as the controller does, keep their usual heap.
//
// Go initialises packages in the order of their import paths as soon as all that they import is ready, so this package, which imports the
// standard library alone, comes before those of Kubernetes. It must stay that way, and must never hold more than the sentinel.
package lategc

import (
	"os"
	"runtime"
	"runtime/debug"
)

const (
	percentAtStart = 400 // of 4 MB
	percentLater   = 100 // Go's default
)

// usual is closed when the collector runs as usual again, nil when it never did otherwise.
var usual chan struct{}

func init() {
	if os.Getenv("GOGC") != "" {
		return // a limit set by the user stays
	}
	usual = make(chan struct{})
	debug.SetGCPercent(percentAtStart)
	// Not smaller: the runtime packs tiny objects together and collects them only as one.
	sentinel := new([64]byte)
	runtime.AddCleanup(sentinel, func(later int) {
		debug.SetGCPercent(later)
		close(usual)
	}, percentLater)
}
