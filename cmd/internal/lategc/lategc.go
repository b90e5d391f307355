// SPDX-License-Identifier: Apache-2.0

// Package lategc raises the heap size at which a program that imports it first collects garbage,
// from 4 MB to 16 MB. Linking client-go fills about 4 MB before main begins. So every `version`,
// every completion and every `barrier MEMBER` ran one collection, a fifth of the start-up time, and
// then ended. After the first collection Go's default applies again: long-running programs, such as
// the controller, keep their usual heap.
//
// Go initialises packages in the order of their import paths as soon as all their imports are
// ready. This package imports only the standard library, so it comes before the packages of
// Kubernetes. It must stay that way, and must never hold more than the sentinel.
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

// usual is closed when the collector has its default setting again; nil if it never changed.
var usual chan struct{}

func init() {
	if os.Getenv("GOGC") != "" {
		return // a limit set by the user remains
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
