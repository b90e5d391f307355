// SPDX-License-Identifier: Apache-2.0

// Package credential verifies the root credential of a cluster, creates it in mode managed, and
// plans the first settings. Next and Plan are pure; Round and Apply run their steps through a
// Database. It must not import a CQL driver and contains no English. Results are codes: a text of
// ScyllaDB can quote a statement that has a password.
package credential
