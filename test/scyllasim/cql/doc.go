// SPDX-License-Identifier: Apache-2.0

// Package cql is the CQL side of the simulated ScyllaDB: protocol version 4 over any listener,
// log-in with SASL PLAIN, roles, superusers, the replication of keyspaces, and the rules of both
// generations: up to 2026.1 the superuser cassandra is created and the maintenance socket changes
// no role; from 2026.2 there is none, and the socket does. It knows the statements that this
// project sends and refuses every other one. Refusals have ScyllaDB's numbers and texts; each names
// its place in ScyllaDB's source.
package cql
