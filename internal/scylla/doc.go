// SPDX-License-Identifier: Apache-2.0

// Package scylla contains all code about ScyllaDB itself: the REST API of one node (port 10000,
// plain HTTP), the row built from its responses, and the failures in a container log.
//
// It must not access Kubernetes or decide whether anything may start. It must not guess: a fact
// that ScyllaDB did not report is unknown, and an unknown node is never UP.
package scylla
