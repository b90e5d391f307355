// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	lines "github.com/kubectl-scylla/kubectl-scylla/internal/show"
)

// jsonPage returns docs/reference/json.md. A test compares it with the document types.
func jsonPage() []byte {
	var kinds []string
	for _, k := range diagnosis.Kinds() {
		kinds = append(kinds, string(k))
	}
	return []byte(strings.NewReplacer("'", "`", "{quote}", "'", "{kinds}", strings.Join(kinds, ", "),
		"{nodes}", lines.PlainNodes, "{wide}", lines.PlainWide, "{clusters}", lines.PlainClusters,
		"{barriers}", lines.PlainBarriers, "{checks}", lines.PlainChecks,
		"{remotes}", lines.PlainRemotes, "{tests}", lines.PlainTests, "{questions}", questions()).Replace(jsonText))
}

// questions returns the table of jq's filters. A test runs each row of the page.
func questions() string {
	var b strings.Builder
	for _, q := range [][4]string{
		{"Is every cluster healthy?", "status", `all(.items[]; .healthy)`, "false"},
		{"How many nodes are UP?", "status", `.items[].counts | "\(.up)/\(.nodes)"`, "2/3"},
		{"Which nodes are not UP?", "status", `.items[].nodes[] | select(.seen and .seen.status != "UP") | .member`,
			"demo-dc1-rack3-0"},
		{"Who sees whom DOWN?", "status",
			`.items[].rows[] | .observer.member as $by | .notUp[] | "\($by) \(.observed[:8]) \(.status)"`,
			"demo-dc1-rack1-0 37d2f3a2 DOWN, demo-dc1-rack2-0 37d2f3a2 DOWN"},
		{"What are the causes?", "status", `.items[].findings[] | "\(.kind) \([.scope.nodes[].member] | join(","))"`,
			"NodeDown demo-dc1-rack3-0"},
		{"Since when?", "status", `.items[].findings[].since`, "2026-11-23T12:22:27Z"},
		{"Which commands come next?", "status", `.items[].findings[].step.commands[].shell`,
			"kubectl logs demo-dc1-rack3-0 -c scylla -n demo, " +
				"kubectl scylla describe demo-dc1-rack3-0 -n demo --from sample:incident"},
		{"May a new node join?", "barrier", `.items[] | "\(.metadata.name) \(.verdict.satisfied)"`,
			"demo-dc1-rack2-1 false"},
		{"How many blockers?", "status", `.items[].counts.blockers`, "4"},
		{"Which blockers, by reason?", "status",
			`.items[].blockers | group_by(.reason)[] | "\(.[0].reason) \(map(1 + (.more // 0)) | add)"`,
			"NodeDown 2, PodsNotReady 1, RowError 1"},
		{"Which members must wait?", "barrier", `.items[] | select(.verdict.satisfied | not) | .metadata.name`,
			"demo-dc1-rack2-1"},
		{"Which nodes block them?", "barrier", `[.items[].verdict.blockers[].observed.member // empty] | unique[]`,
			"demo-dc1-rack3-0"},
		{"Which reports are not fresh?", "status",
			`.items[].nodes[] | select(.row.status != "ok") | "\(.member) \(.row.status)"`,
			"demo-dc1-rack2-1 error, demo-dc1-rack3-0 error"},
		{"Which controller view?", "status", `.items[].view | "\(.epoch).\(.seq)"`, "2.813"},
		{"Which versions run?", "status", `[.items[].nodes[].version // empty] | unique[]`,
			"2026.2.0-0.20260801.5d1c7e09ab34"},
		{"Is anything unreadable?", "status", `any(.items[]; .partial != [])`, "false"},
		{"In which state is a Pod?", "describe rack3/0", `.items[].pod.state`, "Running 1/2"},
	} {
		filter := strings.ReplaceAll(q[2], "|", `\|`)
		fmt.Fprintf(&b, "| %s | `%s` | `%s` | `%s` |\n", q[0], q[1], filter, q[3])
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// A single quotation mark is replaced by a backquote.
const jsonText = `# JSON

Every field of '-o json' and '-o yaml'.

'apiVersion: kubectl-scylla/v1' may get new fields; it changes and removes none. Fields without a value are absent; a list is always there, '[]' if it is empty.

Every command that reads prints a list with 'items[]', also for one cluster, node or member: 'kind' is 'ClusterStatusList', 'ClusterReportList', 'BarrierVerdictList', 'NodeDescriptionList', 'ReplacementStatusList' or 'RemoteList'.

## Questions for jq

'kubectl scylla COMMAND --from sample:incident -o json | jq -r FILTER', with FILTER in quotation marks. Every line is tested.

| question | COMMAND | FILTER | answer |
|---|---|---|---|
{questions}

## All documents

- 'metadata.name', 'metadata.namespace', 'generatedAt', and 'takenAt', the newest time in saved objects.
- 'source': 'used' (report, annotation or live), 'reason', 'offline' for saved objects, and the kubeconfig 'context'.
- 'partial[]', what was not readable: 'verb', 'resource', 'namespace', 'name', 'kind' (Forbidden, NotInstalled, NotFound, Timeout, Other), 'message'; for a Pod also 'lead' and 'reason', the message around its name.
- 'notes[]'.

A *reference* to a node has 'hostID', 'member' (Pod and Service), 'datacenter', 'rack', 'ordinal'.
A *message* has 'code' ([codes](codes.md)), 'params', 'text', and 'commands[]' of a step in their order: 'args', and 'shell', which is safe to paste into a POSIX shell.

## Lines for awk, names for kubectl

'--no-headers' prints lines with a fixed number of columns, one word each, '-' for an empty one: 'kubectl scylla status --no-headers | awk {quote}$3=="DOWN"{print $1}{quote}'. A column keeps its number.

| lines of | columns |
|---|---|
| 'status', 'report': one per node | '{nodes}' |
| with '-o wide' also | '{wide}' |
| 'status' with '-A' or '-l': one per cluster | '{clusters}' |
| 'barrier': one per member | '{barriers}' |
| 'check': one per check | '{checks}' |
| 'remote list', 'remote check': one per remote | '{remotes}', '{tests}' |

'-o name' prints Pods, such as 'pod/demo-dc1-rack1-0'; with '--problems' only Pods of nodes with problems. 'remote list' prints Secrets.

## ClusterStatus

'status' prints one per cluster. '--problems' and '--sort-by' change 'nodes[]' only.

- 'healthy': all nodes see each other UP. 'verdict': HEALTHY, NOT HEALTHY or UNKNOWN. 'summary': the most severe finding, without its age. 'managedBy'.
- 'counts': 'nodes', 'up' in every row, 'reporting' (fresh rows), 'problems' (findings that are not remarks), 'blockers', 'newcomers'.
- 'view': the controller view ([Internals](../internals.md#controller-view)).
- 'coordinator': a reference, 'named' by how many of the 'rows' that name one, and 'text'.
- 'findings[]', most severe first: 'kind' ({kinds}), 'scope', 'message', 'evidence', 'step', 'since', 'explains[]' (indexes of 'blockers[]'), and 'remark' if it blocks no join. 'scope': 'level' (cluster, datacenter, rack, kubernetesNode, node, link), 'datacenter', 'rack', 'kubernetesNode', 'nodes[]'.
- 'nodes[]': a reference, 'namespace', 'membership' ('Member', 'Newcomer', 'Leaving', 'Ghost', 'Remote', 'GossipOnly', 'Unknown'), 'detail', 'state', 'seen', 'row', 'version', 'operationMode', 'image', 'process', 'uptimeSeconds', 'loadBytes', 'tokens', 'pod', 'podIP', 'kubernetesNode' ('name', and 'state' as in 'kubectl get nodes', or Gone), 'force', 'notes[]'.
- 'seen', by the rows of the other nodes: 'status' (UP only if all rows report UP, else the worst of DOWN, UNKNOWN, MISSING), 'up', 'down', 'unknown', 'missing', 'since'.
- 'row', the node's report: 'status' (ok, stale, missing, error, none), 'detail', 'written', 'staleSince'.
- 'process', how ScyllaDB ended in its container: 'state', 'exitStatus', 'ended'.
- 'rows[]': 'observer', 'notUp[]' ('observed', 'status', 'state', 'since'). A node with a host ID that is not listed is UP in the row.
- 'blockers[]': 'reason', 'text' without its age, 'observer', 'coordinator' if the observer is the topology coordinator, 'observed', 'since', 'detail' (a foreign text), 'cause', 'step', and 'more', the number of similar blockers.
- 'newcomers[]', new nodes: a reference, 'waiting', 'since', 'notes[]', 'mayStart', 'decision', 'summary', 'blockers', their number.
- 'replacements[]', open ones: a reference, 'requested', 'original' host ID, 'summary', 'phase' (Verify, DeleteVolume, EvictPod, NewPod, Join, Ready, OldNodeGone, Done, Failed), 'attempt', 'held' by a check or the API server, 'waiting[]', 'failure' ('code', 'text', 'cure'), 'cure'.
- 'operations[]', topology operations that are open or have failed: 'type', 'state', 'node', 'error', 'underWay'.
- 'afterwards[]', tasks after an operation: 'operation', 'node', 'original', 'finishedAt', 'summary', 'wait', 'tasks[]' ('node', 'state', 'text', 'command').
- 'ghosts[]': members without a Pod. 'gossipOnly[]': host IDs without a member. 'leftovers[]', the orphaned ones: 'hostID', 'evidence', and 'command', which removes it, or 'why' it must not be removed.
- 'partition[][]': the parts of a network partition, by host ID. 'split[][]': the clusters, if nodes belong to several of one name.
- 'schemas': with '--source=live', schema versions and their nodes, if they differ.

## ClusterReport

'report' prints all fields of ClusterStatus and these.

- 'context'. 'places[]': 'member', 'podIP', 'kubernetesNode', 'kubernetesNodeState'.
- 'reports[]', objects with rows: 'kind', 'name', 'datacenter', 'nodes', 'rows', 'remote', 'used' for the verdict, 'written'.
- 'changes[]', newest first, at most 500: 'time', 'kind' (Row, Event, Condition, Container), 'warning', 'about', 'text', 'count', 'routine'. 'changesLeftOut' counts the others.
- 'waitingContainers[]': 'pod', 'container', 'init', 'state', 'restarts'; from an archive also 'firstError' and 'lastError' ('line', 'previous') and 'diagnosis' ('code', 'text').
- 'leftOut[]', what else was not readable: 'what', 'why' (Forbidden, Absent, TooBig, Failed), 'detail'.
- 'versions': 'kubectlScylla', 'kubernetes', and 'scylladb' with the number of nodes.

## ReportArchive

'manifest.json' of an archive: 'createdAt', 'takenAt', 'createdBy' (as Version), 'clusters[]' ('namespace', 'name', 'kubernetes', 'context', 'scylladb', 'images'), 'files[]' ('name', 'size', 'sha256'), 'leftOut[]', and 'redacted', the number of removed values by rule.

## BarrierVerdict

'barrier' prints one per waiting member, or the named one. The list also has 'views[]' ('namespace', 'cluster', 'epoch', 'seq', 'observedAt') and 'partial[]'.

- 'cluster', 'membership', 'pod', 'waiting', 'since', 'memberNotes[]', 'replacement' (as above), 'view' ('epoch', 'seq', 'observedAt').
- 'verdict': 'satisfied', 'decision' (AlreadyBootstrapped, RestartOfMember, Forced, Replacing, AllNodesUp, FirstNode, Wait, Refuse), 'summary', 'blockers[]', 'notes[]', 'member'.
- 'barrier', the container: 'phase' (NoPod, Absent, NotStarted, Waiting, Passed, Failed), 'since', 'message', 'refused'.

## ReplacementPlan

'replace --dry-run -o json' prints it.

- 'cluster', 'member', 'allowed', 'resume', 'managedBy', 'version', 'procedure' (host-id or address), 'address', 'partial[]'.
- 'claims[]', the PVCs to delete: 'name', 'uid', 'deleting', 'size'. 'pod': 'name', 'uid', 'kubernetesNode'.
- 'streams[]', the nodes to stream from; 'streamsKnown' if they hold replicas. 'banned[]', host IDs that cannot return.
- 'checks[]': 'name', 'result', 'evidence', 'cure', 'skipped', 'skippable'.

## ReplacementStatus

'replace status' prints it. The list also has 'ghosts[]', orphaned host IDs ('cluster', and the fields of 'leftovers[]').

- 'cluster', 'member', 'managedBy', 'request', 'attempt', 'phase' (as above, Cancelled or None), 'held', 'message', 'waiting[]', 'cure', 'checks[]', 'afterwards'.
- 'refused', by the API server: 'uid' of the object, 'message', 'budget' if a disruption budget refuses, 'times', 'since', 'next'.
- 'originalHostID', 'newHostID', 'startedAt', 'finishedAt', 'diagnosis' ('code', 'text', 'cure'), 'conditions[]' of the Scylla Operator.

## NodeDescription

'describe' prints it.

- 'cluster', 'source', 'view', 'rootCredential', 'node', 'findings[]', 'otherProblems', 'nextStep', 'seenBy[]', 'sees[]' ('status', 'since'), 'newcomer', 'replacement', 'automatic' (the Scylla Operator replaces nodes by itself), 'partial[]' (texts).
- 'pod': 'name', 'state', 'ip', 'created', 'waiting', 'waitingSince', 'restarts', 'containers[]' ('ready', 'lastEnd'). 'claim': 'exists', 'phase', 'volume', 'size'. 'kubernetesNode': 'cordoned', 'why'.
- 'log': 'container', 'firstError', 'lastError', 'diagnosis', 'evidence', 'cure'. 'events[]': 'type', 'reason', 'object', 'message', 'count'.

## RemoteList

'remote list' prints it: 'name', 'namespace', 'cluster', 'remoteNamespace', 'remoteCluster', 'server' there, 'secret'.

## Check and Version

'check' prints 'state' and 'results[]': 'check', 'subject', 'state', 'text', 'step', 'link'. 'version' prints 'version', 'commit', 'date', 'goVersion', 'platform'.
`
