// SPDX-License-Identifier: Apache-2.0

// Package reporter owns the sidecar's loop: ask the ScyllaDB of the own Pod what it sees, and keep that row in the Pod's annotation.
//
// It writes its own Pod and nothing else, only when the content changes, and never watches what it writes, so that it cannot wake itself.
// It must not decide what a row means. The one thing it does to ScyllaDB is to have system.local flushed once per process, so that the data
// directory of a member says that it is one.
package reporter
