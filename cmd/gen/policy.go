// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

const policyHead = `# Health policy

Made by ` + "`go run ./cmd/gen`" + ` from the constants of internal/view.

The numbers by which nodes are judged. They are constants of the program but where a flag or an annotation is named. The annotations are ` + "`" + api.AnnotationHealthPrefix + "`" + ` with the rest of the name
as in the table, on the StatefulSets of the cluster.

| limit | value | meaning | annotation | flag |
|---|---|---|---|---|
`

const policyTail = `
## One cluster's own numbers

An annotation on one StatefulSet counts for the whole cluster; it changes no Pod and restarts nothing:

    kubectl annotate statefulset demo-rack1 -n demo kubectl-scylla.scylladb.com/health-dead=10m

The controller resolves defaults and annotations once into ` + "`status.healthPolicy`" + ` of the cluster's ` + "`ScyllaDBStatusReport`" + `, in the same write that can hold the first permit, so that
whoever judges reads the same numbers there: the controller, and the commands. ` + "`overridden`" + ` lists the fields that annotations set. It is resolved anew when an annotation changes; the default
of the minimum quorum stays as it is while Pods are rolled.

What cannot be used costs its own field and nothing else: the field keeps the value that it had. Condition ` + "`HealthPolicyValid`" + ` is then False, and with an Event on the StatefulSet
says which annotation of which StatefulSet it is, and what to give instead. So it is where StatefulSets of one cluster say different things, and where an annotation names no field.

## How old a view may be

An old view opens nothing: a barrier uses a view only while it has seen it advance within ` + "`view-limit`" + `, by its own clock. The bounds of ` + "`view-limit`" + `, ` + "`peer-check`" + `, ` + "`look-interval`" + ` and ` + "`missed-looks`" + ` are such that
every combination of them keeps these relations, which a test checks:

- ` + "`view-limit`" + ` is at most twice the duration of the controller's Lease (15 s): no view opens for longer than it takes to see that no controller leads.
- Two times ` + "`peer-check`" + ` and ` + "`look-interval`" + ` together are at most ` + "`view-limit`" + `: a view that stands is renewed twice before it is too old.
- ` + "`missed-looks`" + ` times ` + "`look-interval`" + ` is at most ` + "`view-limit`" + `: a member that falls silent is UNKNOWN before the last view in which it was UP is too old.
- Two times ` + "`look-interval`" + ` is less than ` + "`contact`" + `: what is known of a member outlives one look that missed it.

Raise ` + "`view-limit`" + ` where the API server is slow and barriers with a permit say that the view is too old. Raise ` + "`look-interval`" + ` to ask the members less often; an alert or a barrier then learns later of a member
that hangs. A barrier and a controller read the numbers in the report; a reporter hands on a view of at most 30 s, and each barrier compares its age with its own cluster's limit.

## Dead reports

After a node was removed, its member's Service may stay, and with it a row in the reports. Our own barriers forget such a node; others that read the reports would wait for it for ever. So its row is
taken out of the reports when no fresh row lists it, no ScyllaDB runs in its Pod, and this has been so for as long as ` + "`dead`" + ` says. It never happens on the word of fewer members than the
minimum quorum: condition ` + "`DeadReportRetained`" + ` then names the node and the command. The clean-up is off where the minimum quorum is below 3, unless
` + "`health-clean-up-dead-reports`" + ` says otherwise. It touches no node, no disk and no Service.

## Nodes that may be replaced

A node that has been DOWN for as long is named by condition ` + "`NodeReplaceable`" + ` of the cluster's ` + "`ScyllaDBStatusReport`" + ` and by an Event, with the command that replaces it:
when most of the other members say so in fresh rows and none says otherwise, it has no row of its own that counts, the cluster is not in parts, and nothing
else is known of it that forbids it. No controller replaces or removes a node by itself: ScyllaDB bans a removed host ID for ever.

## How far a node is behind

A node can be UP and not know yet what the others have decided: topology and schema are entries of group 0's log, and a node applies them one after the other. Each reporter reads
` + "`scylla_raft_commit_index`" + `, ` + "`scylla_raft_apply_index`" + ` and ` + "`scylla_raft_state`" + ` of its own ScyllaDB's metrics (since ScyllaDB 6.1, flag ` + "`scylla-agent reporter --scylla-metrics-url`" + `) at each poll, and says
them beside its heartbeat; nothing is written for it. A member is behind by the commit index of the leader less its own apply index. The two are of polls that may be some seconds apart.

A member that is further behind than ` + "`trailing`" + ` in two looks in a row is UNKNOWN with cause ` + "`Trailing`" + `, and UP again after two looks in which it is not. While it is UNKNOWN nobody gets a permit, and a
permit that was given is withdrawn; the queue of permits says ` + "`PermitWaitsForLog`" + `, with the member, its leader and the number. It is not DOWN, and does not count as dead.

How far a member is behind is not known where its ScyllaDB is older than 6.1, its metrics are not served in its Pod, its reporter is older or serves no heartbeat, or where not exactly one member
with a heartbeat says that it leads group 0: for example where the leader is in another Kubernetes cluster. Then schema agreement counts instead: all members whose heartbeats tell a schema version have to tell
the same one, else nobody gets a permit to join or to replace a node (` + "`PermitWaitsForSchema`" + `). Just after a schema has changed they may differ for the time between two polls. Where no member tells a schema
version either, there is nothing to judge by, and only UP, DOWN and UNKNOWN count. So it is for a barrier with the policy reports, and for one that goes by the members because no controller leads: heartbeats are the controller's.
`

// policyPage is docs/health-policy.md.
func policyPage() []byte {
	var b strings.Builder
	b.WriteString(policyHead)
	for _, l := range view.Policy() {
		flag, field := "-", "-"
		if l.Flag != "" {
			flag = "`" + l.Flag + "`"
		}
		if l.Field != "" {
			field = "`health-" + l.Field + "`: " + cell(words.Text(l.Bounds))
		}
		fmt.Fprintf(&b, "| %s | %v | %s | %s | %s |\n", l.Name, l.Value, cell(words.Text(words.New(l.Meaning))), field, flag)
	}
	b.WriteString(policyTail)
	return []byte(b.String())
}
