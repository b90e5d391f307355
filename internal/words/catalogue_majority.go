// SPDX-License-Identifier: Apache-2.0

package words

// majorityWords are about a group 0 that has lost its majority.
var (
	FindingMajorityLost = define("FindingMajorityLost",
		"group 0 has no majority: {down} of {total} nodes are DOWN, and no status report names a topology coordinator. No join, replacement or schema change is possible")
	BringBackMajority = define("BringBackMajority",
		"bring nodes back with their volumes until group 0 has a majority. Only if that is impossible: ScyllaDB's Manual Recovery Procedure (recovery_leader), which cannot be undone: {page}. Check which nodes ScyllaDB has DOWN: {1}")
	BringBackMajorityOld = define("BringBackMajorityOld",
		"bring nodes back with their volumes until group 0 has a majority. Only if that is impossible: ScyllaDB's Manual Recovery Procedure (RECOVERY mode), which cannot be undone and does not support tablets: {page}. Check which nodes ScyllaDB has DOWN: {1}")
)
