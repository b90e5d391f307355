// SPDX-License-Identifier: Apache-2.0

// Package beside simulates the Scylla Operator's barrier, and its adoption and pruning of objects, written from its documented and observed behaviour, so that tests can judge the same
// objects by its rule and by ours. It contains none of our decisions.
package beside
