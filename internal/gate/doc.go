// SPDX-License-Identifier: Apache-2.0

// Package gate decides whether one new node may start now: from the facts of its own Pod, from the
// state of the cluster, and from what it has seen before. Judge is a function of the gate's state
// and of the answers of Reads, so that barrier, launcher and the simulation run the same code.
//
// It is above bootstrap, which decides on one reading, and view, which orders the controller's
// views. It adds what only time and a second source can show: that all nodes stay UP, that the view
// advances, and that the members themselves confirm their rows.
//
// It must not know a client, a logger or a clock, nor write anything: who calls it executes the
// verdict.
package gate
