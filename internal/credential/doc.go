// SPDX-License-Identifier: Apache-2.0

// Package credential verifies, and in mode managed creates, the first credential of a cluster, and
// plans its first settings. Next and Plan are pure; Round and Apply carry out what they say through
// a Database. It must not import a CQL driver and holds no English: results are codes, and no text
// of ScyllaDB leaves it, because a refusal can quote a statement that has a password.
package credential
