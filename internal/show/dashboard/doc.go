// SPDX-License-Identifier: Apache-2.0

// Package dashboard is the dashboard on a terminal: the live matrix with a cursor, details,
// findings and recent changes. It owns the event loop, the keys and the drawing. Only this package
// imports the terminal framework. It does not use the API server and starts nothing: a Feed sends
// immutable snapshots, and Actions are parameters. The model alone owns all state, with a component
// for each pane. snapshot.go converts internal/show/document and internal/matrix into plain data,
// so that the dashboard and `status` agree.
package dashboard
