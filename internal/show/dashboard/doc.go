// SPDX-License-Identifier: Apache-2.0

// Package dashboard is the dashboard on a terminal: the live matrix with a cursor, details, blockers
// and recent changes. It owns the event loop, the keys and the drawing, and is the only importer of
// the terminal framework. It reaches no API server and starts nothing by itself: a Feed sends
// immutable snapshots, Actions are functions given to it, and the model alone owns all state, with a
// component for each pane. One file, snapshot.go, turns internal/show/document and internal/matrix
// into plain data, so that the dashboard and `status` never disagree.
package dashboard
