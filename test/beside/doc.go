// SPDX-License-Identifier: Apache-2.0

// Package beside holds what the Scylla Operator does at a newcomer's barrier, written from its documented and observed behaviour, so that tests can judge
// the same objects by its rule and by ours. It knows nothing of how we decide.
package beside
