// SPDX-License-Identifier: Apache-2.0

package words

// waitWords are the steps from the age at which waiting is no answer any more.
var (
	SeeBarrier = define("SeeBarrier", "check why its barrier makes it wait: {1}")

	PastJoin = define("PastJoin",
		"waiting is no answer after {limit}: check whether the Pod, the barrier or ScyllaDB of {node} blocks it: {1}")
	PastReplacement = define("PastReplacement",
		"waiting is no answer after {limit}: check whether the Pod or the PVC of {node} blocks its replacement: {1}")
	PastGossip = define("PastGossip",
		"waiting is no answer after {limit}: compare what {node} and another node list: {1}")
	PastRollout = define("PastRollout",
		"waiting is no answer after {limit}: check which Pod of StatefulSet {statefulSet} blocks the rollout: {1}")
	PastPermit = define("PastPermit",
		"waiting is no answer after {limit}: check the queue and the conditions of ScyllaDBStatusReport {report}: {1}")
	PastStable = define("PastStable",
		"waiting is no answer after {limit}: check which nodes of {cluster} become DOWN again and again: {1}")
	PastAPI = define("PastAPI",
		"waiting is no answer after {limit}: check the Events of Pod {pod}, and whether a NetworkPolicy or its ServiceAccount keeps it from the API server: {1}")
	PastReporter = define("PastReporter",
		"waiting is no answer after {limit}: check the log of the reporter of {node}: {1}")
	PastSchema = define("PastSchema",
		"waiting is no answer after {limit}: check which nodes of {cluster} differ: {1}")
)
