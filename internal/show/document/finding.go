// SPDX-License-Identifier: Apache-2.0

package document

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/grid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Finding is one cause in a document.
type Finding struct {
	// Kind is stable: Partition, RackDown, NodeDown, LinkDown and others.
	Kind  diagnosis.Kind  `json:"kind"`
	Scope diagnosis.Scope `json:"scope"`
	// Message is the cause in one sentence, Evidence its numbers, Step the next action.
	Message  words.Message `json:"message"`
	Evidence words.Message `json:"evidence,omitzero"`
	Step     words.Message `json:"step,omitzero"`
	// Since is when it began; absent if unknown.
	Since *metav1.Time `json:"since,omitempty"`
	// Explains are the blockers that it explains, by index in the document's list.
	Explains []int `json:"explains"`
	// Remark is set for a finding that delays no new node: with remarks alone a cluster is healthy.
	Remark bool `json:"remark,omitempty"`
}

// MarshalJSON returns the finding with its step, which is always an object.
func (f Finding) MarshalJSON() ([]byte, error) {
	type finding Finding
	return json.Marshal(struct {
		finding
		Step words.Step `json:"step"`
	}{finding(f), words.Step(f.Step)})
}

// Text returns the cause in one line, with its age at now; without the age for a zero time.
func (f *Finding) Text(now time.Time) string {
	return words.Aged(f.Message, words.Ago(TimeOf(f.Since), now))
}

// Partition reports whether nodes form parts that do not see each other.
func (f *Finding) Partition() bool { return f.Kind == diagnosis.Partition }

// Rights reports whether missing permissions prevented all queries of nodes.
func (f *Finding) Rights() bool { return f.Kind == diagnosis.RightsMissing && !f.Remark }

func newFindings(findings []diagnosis.Finding) []Finding {
	out := make([]Finding, 0, len(findings))
	for _, f := range findings {
		out = append(out, Finding{
			Kind: f.Kind, Scope: f.Scope, Message: f.Message, Evidence: f.Evidence, Step: f.Step,
			Since: TimePtr(f.Since), Explains: f.Blockers, Remark: f.Remark,
		})
	}
	return out
}

// Problems returns the findings except remarks.
func (d *ClusterStatus) Problems() []Finding {
	return slices.DeleteFunc(slices.Clone(d.Findings), func(f Finding) bool { return f.Remark })
}

// Words of a verdict.
const (
	wordHealthy    = "HEALTHY"
	WordNotHealthy = "NOT HEALTHY"
	wordUnknown    = "UNKNOWN"
)

// Word returns the verdict in one word. UNKNOWN means that no node could be queried.
func (d *ClusterStatus) Word() string {
	switch {
	case d.Healthy:
		return wordHealthy
	case d.Counts.Nodes == 0:
		return wordUnknown
	}
	if f := d.Findings; len(f) > 0 && f[0].Scope.Level == diagnosis.LevelCluster &&
		(f[0].Kind == diagnosis.NobodyAsked || f[0].Kind == diagnosis.RightsMissing) && !f[0].Remark {
		return wordUnknown
	}
	return WordNotHealthy
}

// Mark returns the verdict as a mark: UP for a healthy cluster.
func (d *ClusterStatus) Mark() grid.Mark {
	switch d.Verdict {
	case wordHealthy:
		return grid.Up
	case wordUnknown:
		return grid.Unknown
	}
	return grid.Down
}

// Unread reports whether no node could be queried and no node's state is known.
func (d *ClusterStatus) Unread() bool {
	return d.Word() == wordUnknown &&
		!slices.ContainsFunc(d.Nodes, func(n Node) bool { return n.Seen != nil || n.Row.Status == RowOK })
}

// summarise returns the most severe finding and the number of the others; the counts for a healthy
// cluster. It has no age, so that the same cluster has the same summary.
func (d *ClusterStatus) summarise() string { return d.line(time.Time{}, byEveryone) }

// Brief returns the summary for a narrow line.
func (d *ClusterStatus) Brief() string { return d.line(time.Time{}, "") }

// FirstLine returns the summary with the age of its finding.
func (d *ClusterStatus) FirstLine() string { return d.line(d.At(), byEveryone) }

func (d *ClusterStatus) line(now time.Time, by string) string {
	problems := d.Problems()
	if len(problems) == 0 {
		return d.counted(by)
	}
	text := problems[0].Text(now)
	if more := len(problems) - 1; more > 0 {
		text += "; and " + words.Count(more, "more problem", "more problems")
	}
	return text
}

const byEveryone = " by all"

// Counted returns the number of nodes that are UP, and operations in progress.
func (d *ClusterStatus) Counted() string { return d.counted(byEveryone) }

// counted is Counted; by is byEveryone, or empty to save width.
func (d *ClusterStatus) counted(by string) string {
	c := d.Counts
	text := fmt.Sprintf("%d of %s seen UP%s", c.Up, words.Count(c.Nodes, "node", "nodes"), by)
	switch {
	case c.Nodes == 0:
		text = "no node has a status report"
	case d.Unread():
		text = "status of " + words.Count(c.Nodes, "node", "nodes") + " unknown"
	case d.shared() > 0:
		text = fmt.Sprintf("%d of %s seen UP%s, of %d members", c.Up, words.Count(c.Nodes, "host ID", "host IDs"), by,
			c.Nodes+d.shared())
	}
	failed, running := 0, 0
	for i := range d.Newcomers {
		if d.Newcomers[i].Summary.Code == words.NewcomerRuns {
			running++
		}
	}
	for i := range d.Replacements {
		if d.Replacements[i].Failure != nil {
			failed++
		}
	}
	for _, x := range []struct {
		n         int
		one, many string
	}{
		{len(d.Newcomers) - running, "new node waiting", "new nodes waiting"},
		{running, "new node starting", "new nodes starting"},
		{len(d.UnderWay()), "topology operation in progress", "topology operations in progress"},
		{len(d.Replacements) - failed, "replacement open", "replacements open"},
		{failed, "replacement failed", "replacements failed"},
	} {
		if x.n > 0 {
			text += ", " + words.Count(x.n, x.one, x.many)
		}
	}
	return text
}

// shared returns how many members have the host ID of another member.
func (d *ClusterStatus) shared() int {
	owner, n := map[hostid.ID]string{}, 0
	for i := range d.Nodes {
		id, member := d.Nodes[i].HostID, d.Nodes[i].Member
		switch first, known := owner[id]; {
		case id == "" || member == "":
		case !known:
			owner[id] = member
		case first != member:
			n++
		}
	}
	return n
}

// Trouble selects the nodes that are listed separately.
type Trouble struct {
	refs   map[string]bool // host IDs and members of findings
	parted bool            // the network is partitioned: DOWN is then no trouble of a single node
	unread bool            // no node's state is known: no node then counts as troubled
}

// Trouble returns the document's Trouble. A network partition affects every node: it names none.
func (d *ClusterStatus) Trouble() *Trouble {
	t := &Trouble{
		refs: map[string]bool{}, unread: d.Unread(),
		parted: slices.ContainsFunc(d.Findings, func(f Finding) bool { return f.Partition() }),
	}
	for _, f := range d.Findings {
		if f.Remark {
			continue
		}
		for _, r := range f.Scope.Nodes {
			t.refs[string(r.HostID)], t.refs[r.Member] = true, true
		}
	}
	delete(t.refs, "")
	return t
}

// Unread reports whether no node's state is known.
func (t *Trouble) Unread() bool { return t.unread }

// Names reports whether a finding is about this host ID or member.
func (t *Trouble) Names(ref string) bool { return t.refs[ref] }

// Of reports whether a node is troubled.
func (t *Trouble) Of(n *Node) bool {
	switch {
	case t.refs[string(n.HostID)] || t.refs[n.Member]:
		return true
	case t.unread:
		return false
	case t.parted:
		return n.Row.Status != RowOK && n.Row.Status != RowNone
	}
	return n.Troubled()
}
