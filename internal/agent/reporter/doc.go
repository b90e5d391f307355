// SPDX-License-Identifier: Apache-2.0

// Package reporter owns the sidecar's loop: it polls the Pod's ScyllaDB for its status of the nodes
// and writes that row to the Pod's annotation.
//
// It writes only its own Pod, and only changed content. It never watches the Pod, so that its own
// write does not start another poll. It must not judge a row. Its only change to ScyllaDB is a
// flush of system.local once per process, so that a member's data directory records its membership.
package reporter
