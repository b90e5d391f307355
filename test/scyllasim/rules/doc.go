// SPDX-License-Identifier: Apache-2.0

// Package rules decides as ScyllaDB does, with Raft topology, from 6.0 on: who is banned, whom a
// request waits for, what is refused. Package scyllasim, with its servers, disks and log, and the
// simulation, with its events, are two shells over it.
//
// It must not read a file or a socket, nor ask a clock, nor log, nor keep anything: what a rule
// needs is an argument. It imports no other package of this project.
//
// Each rule names its place in ScyllaDB's source, at commit f4a4091c (2026-08-21) where no branch
// is named: TC is service/topology_coordinator.cc, SS service/storage_service.cc, G
// gms/gossiper.cc. A rule that the source does not state begins with "Assumed:";
// TestAssumedRules lists those.
package rules
