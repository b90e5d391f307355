// SPDX-License-Identifier: Apache-2.0

// Package reporter owns the sidecar's loop: ask the ScyllaDB of the own Pod for its view of the nodes, and keep that row in the Pod's annotation.
//
// It writes its own Pod, and only when the content changes, and never watches the Pod, so that its own write does not start another poll. It must not judge a row. Its one change
// to ScyllaDB is a flush of system.local once per process, so that a member's data directory records that it is one.
package reporter
