// SPDX-License-Identifier: Apache-2.0

// Package real records how a real ScyllaDB of one release answers and ends in the situations that
// this project's decisions depend on, and reads such a recording. `make real IMAGE=...` makes one
// (docs/real.md); this package's test compares it with the facts and with scyllasim, rule by rule.
package real
