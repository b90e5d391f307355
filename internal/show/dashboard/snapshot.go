// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/grid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// This file converts what was loaded and judged into facts. Only this file uses the types of other
// packages, and it removes control characters from every text.

// pageLine is one line of a page: a fact from the document of `describe`.
type pageLine = show.Fact

// pageColumn is the column at which the texts of a page begin.
const pageColumn = show.FactColumn

// style returns the look of a meaning.
func (t *theme) style(s show.Style) paint {
	switch s {
	case show.Good:
		return t.good
	case show.Bad:
		return t.bad
	case show.Warn, show.Odd:
		return t.warn
	case show.Dim:
		return t.dim
	case show.Strong:
		return t.strong
	}
	return paint{}
}

func clean(text string) string { return show.Clean(text) }

func shorten(text string, w int, middle bool, ellipsis string) string {
	if len(text) <= w {
		return text
	}
	return show.Shorten(text, w, middle, ellipsis)
}

// stateWords are the values of "state:" in a filter.
var stateWords = func() []string {
	terms := []string{"up", "down", "unknown", "missing"}
	for s := matrix.StateNormal; s <= matrix.StateDecommissioned; s++ {
		terms = append(terms, strings.ToLower(s.String()))
	}
	for _, m := range []cluster.MemberState{cluster.MemberJoined, cluster.MemberNewcomer, cluster.MemberGhost,
		cluster.MemberRemote, cluster.MemberGossipOnly} {
		terms = append(terms, strings.ToLower(string(m)))
	}
	return append(terms, string(document.RowStale), string(document.RowError))
}()

// madeAnew is how long unchanged objects keep their facts: some rows become old with time.
const madeAnew = 20 * time.Second

// NewSnapshot prepares what was loaded at now. status creates the document of the cluster on
// demand. previous, if not nil, is for comparison. looked is set if the controller's Lease was
// read.
func NewSnapshot(s *cluster.Cluster, status func() *document.ClusterStatus, previous *Snapshot, looked bool,
	now time.Time) *Snapshot {
	out := &Snapshot{at: s.TakenAt}
	if s.Offline {
		out.saved = savedWords(s, now)
	}
	print := fingerprint(s)
	// With a thousand nodes this saves most of the work: the Lease is renewed every few seconds,
	// and other objects seldom change.
	if previous != nil && print != 0 && print == previous.print && s.TakenAt.Sub(previous.made) < madeAnew {
		out.facts = previous.facts
		out.controller = controllerOf(s, looked, s.Offline)
		log := &changeLog{at: out.at}
		previous.diffController(out, log)
		out.changes = log.all
		return out
	}
	out.facts = newFacts(s, status())
	out.print = print
	out.controller = controllerOf(s, looked, s.Offline)
	if previous == nil {
		out.changes = out.past()
	} else {
		out.changes = previous.diff(out)
	}
	return out
}

// NewSavedSnapshot prepares saved objects. An archive restores its live objects, which are
// therefore not marked as saved.
func NewSavedSnapshot(s *cluster.Cluster, status func() *document.ClusterStatus, looked bool, now time.Time) *Snapshot {
	out := NewSnapshot(s, status, nil, looked, now)
	out.saved = savedWords(s, now)
	out.controller = controllerOf(s, looked, true)
	return out
}

func savedWords(s *cluster.Cluster, now time.Time) string {
	what := "archive"
	switch {
	case s.TakenAt.IsZero():
		return ""
	case s.Offline:
		what = "saved objects"
	}
	if !s.Old {
		now = s.TakenAt
	}
	return words.Saved(what, s.TakenAt, now)
}

// fingerprint identifies the versions of all objects. Zero if an object has no version, or if nodes
// were queried as well.
func fingerprint(s *cluster.Cluster) uint64 {
	if s.Live != nil || s.Offline {
		return 0
	}
	h := fnv.New64a()
	ok := true
	add := func(o metav1.Object) {
		ok = ok && o.GetResourceVersion() != ""
		// a hash never fails
		_, _ = io.WriteString(h, string(o.GetUID())+"/"+o.GetName()+"@"+o.GetResourceVersion()+"\n")
	}
	addAll(add, s.Services)
	addAll(add, s.Pods)
	addAll(add, s.StatefulSets)
	addAll(add, s.PVCs)
	addAll(add, s.Reports)
	if s.StatusReport != nil {
		add(s.StatusReport)
	}
	for _, p := range s.Problems {
		_, _ = io.WriteString(h, p.Message+"\n")
	}
	silent := s.Lease != nil && s.LeaseState().Silent
	// maps are printed in the order of their keys
	_, _ = fmt.Fprint(h, s.Source, s.SourceReason().Key(), s.OverrideRef, silent, s.Machines)
	if !ok {
		return 0
	}
	return h.Sum64()
}

func addAll[T any, P interface {
	*T
	metav1.Object
}](add func(metav1.Object), all []T) {
	for i := range all {
		add(P(&all[i]))
	}
}

// controllerOf is the controller's state when s was read; the time since then does not count.
func controllerOf(s *cluster.Cluster, looked, saved bool) controller {
	is := "alive"
	if saved {
		is = "was alive"
	}
	switch {
	case s.Lease != nil && s.TakenAt.IsZero():
		return controller{ok: true} // saved objects of unknown age
	case s.Lease != nil:
		switch st := s.LeaseState(); {
		case st.NotKept:
			return controller{leadingOthers, "controller does not update these reports", false}
		case st.Silent && st.Holder == "":
			return controller{leadingNobody, "no controller leads", false}
		case st.Silent:
			return controller{leadingSilent, "controller NOT RESPONDING " + age(st.Age), false}
		}
		return controller{leadingAlive, "controller " + is, true}
	case s.Operator:
		return controller{leadingOperator, "managed by scylla-operator", true}
	case s.Offline || !looked:
		return controller{ok: true}
	}
	for _, p := range s.Problems {
		if strings.HasPrefix(p.Resource, "leases") && p.Kind != cluster.ProblemNotFound {
			return controller{leadingForbidden, "controller unknown (no permission to get its Lease)", true}
		}
	}
	// Annotations and live rows need no controller; a report without a controller is old.
	return controller{leadingNobody, "no controller", s.Source != cluster.SourceReport}
}

func newFacts(s *cluster.Cluster, doc *document.ClusterStatus) *facts {
	f := &facts{
		name: clean(doc.Namespace + "/" + doc.Name), summary: clean(doc.Summary), brief: clean(doc.Brief()),
		reason:  clean(doc.Source.Reason),
		partial: doc.PartialLines(0), view: document.NewViewStamp(s), index: doc.Index(), grid: doc.Grid(),
		who: s.Matrix(), made: s.TakenAt,
	}
	f.addNodes(s, doc)
	if c := doc.Coordinator; c != nil {
		f.coordinator = clean(c.Text)
		if j := f.index.Find(matrix.Ref{HostID: c.HostID}); j >= 0 {
			f.nodes[j].coordinates = true
		}
	}
	f.addFindings(doc)
	f.mayReplace = len(doc.Replacements) > 0 ||
		slices.ContainsFunc(f.who.Nodes(), func(n matrix.Node) bool { return f.who.NodeReplaceable(n.HostID) })
	racks, datacenters := newByGroup(f, grid.ByRack), newByGroup(f, grid.ByDatacenter)
	f.levels = []axis{nil, racks}
	if len(datacenters.items) > 1 {
		f.levels = append(f.levels, datacenters)
	}
	f.levels[0] = newByNode(f)
	without := *doc
	without.Rows, without.Blockers = nil, nil
	f.doc = &without
	return f
}

func (f *facts) addNodes(s *cluster.Cluster, doc *document.ClusterStatus) {
	pods := map[string]*corev1.Pod{}
	for i := range s.Pods {
		pods[s.Pods[i].Name] = &s.Pods[i]
	}
	inMatrix := map[matrix.Ref]int{}
	for i, n := range f.who.Nodes() {
		inMatrix[nameOf(n.Ref)] = i
	}
	worst := make([][]int, len(doc.Nodes))
	for i := range f.grid.Nodes {
		for _, p := range f.grid.Nodes[i].NotUp {
			if p.Is == doc.Nodes[p.Of].Seen.Mark() {
				worst[p.Of] = append(worst[p.Of], i)
			}
		}
	}
	f.nodes = make([]shownNode, len(doc.Nodes))
	for i := range f.nodes {
		n := &f.nodes[i]
		*n = shownNode{Node: doc.Nodes[i], index: -1, reports: f.grid.Nodes[i].Reports}
		if j, ok := inMatrix[nameOf(n.Ref)]; ok {
			n.index = j
		}
		n.column = n.index >= 0 && n.HostID != "" && (f.grid.Nodes[i].Listed || len(doc.Rows) == 0)
		n.flag = cmp.Or(flags[n.State], flags[string(n.Membership)], ' ')
		for _, text := range []*string{
			(*string)(&n.HostID), &n.Member, &n.Datacenter, &n.Rack, &n.Pod, &n.PodIP, &n.Version, &n.OperationMode,
			&n.State, &n.Force, &n.Detail, &n.Row.Detail,
		} {
			*text = clean(*text)
		}
		if pod := pods[n.Member]; pod != nil {
			f.addEnded(n, pod)
		}
	}
	for i := range f.nodes {
		f.nodes[i].by = f.names(worst[i])
	}
	for i := range doc.Newcomers {
		d := doc.Newcomers[i]
		if j, ok := f.index.ByMember[d.Member]; ok && f.nodes[j].Membership == cluster.MemberNewcomer {
			d.Waiting = clean(d.Waiting)
			f.nodes[j].newcomer = &d
		}
	}
	for _, r := range doc.Replacements {
		if j, ok := f.index.ByMember[r.Member]; ok {
			f.nodes[j].replacements = append(f.nodes[j].replacements, clean(r.Summary))
		}
	}
}

// nameOf returns the host ID, or the member of a node that has none.
func nameOf(r matrix.Ref) matrix.Ref {
	if r.HostID != "" {
		return matrix.Ref{HostID: r.HostID}
	}
	return matrix.Ref{Member: r.Member}
}

// addEnded adds the containers of a Pod that exited with an error.
func (f *facts) addEnded(n *shownNode, pod *corev1.Pod) {
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		for _, t := range []*corev1.ContainerStateTerminated{c.LastTerminationState.Terminated, c.State.Terminated} {
			if t == nil || t.FinishedAt.IsZero() || t.ExitCode == 0 {
				continue
			}
			f.ended = append(f.ended,
				Change{At: t.FinishedAt.Time, Bad: true,
					Text: clean(fmt.Sprintf("container %s of %s ended: %s, exit code %d", c.Name, n.label(),
						cmp.Or(t.Reason, "Error"), t.ExitCode))})
		}
	}
}

// addFindings lists the problems, then new nodes that wait, then other remarks.
func (f *facts) addFindings(doc *document.ClusterStatus) {
	var remarks []finding
	waiting := slices.Clone(doc.Newcomers)
	for i := range doc.Findings {
		x := &doc.Findings[i]
		known := len(waiting)
		waiting = slices.DeleteFunc(waiting, func(n document.Newcomer) bool {
			return slices.ContainsFunc(x.Scope.Nodes, func(r matrix.Ref) bool { return r.Member == n.Member })
		})
		if list := f.atNodes(x, doc.Blockers); x.Remark && len(waiting) == known {
			remarks = append(remarks, list...)
		} else {
			f.findings = append(f.findings, list...)
		}
	}
	for i := range waiting {
		n := &waiting[i]
		f.findings = append(f.findings, finding{
			key: "waits " + n.Member, stops: f.alone(n.Ref),
			step: words.New(words.SeeBarrier).Do(words.Scylla(doc.Namespace, "barrier", n.Member)),
			text: func(now time.Time) string {
				return clean(n.Ref.String() + " waiting" + words.Since(document.TimeOf(n.Since), now) + ": " +
					words.Text(n.Summary))
			},
		})
	}
	f.findings = append(f.findings, remarks...)
}

// atNodes returns a finding once for each node that its blockers observe, the first with its text.
func (f *facts) atNodes(x *document.Finding, blockers []matrix.Blocker) []finding {
	var out []finding
	mine := make([]matrix.Blocker, len(x.Explains))
	for i, k := range x.Explains {
		mine[i] = blockers[k]
	}
	at := map[matrix.Ref]int{}
	groups, _ := matrix.GroupBlockers(mine)
	for i := range groups {
		g := &groups[i]
		k, ok := at[g.Observed]
		if !ok {
			k, at[g.Observed] = len(out), len(out)
			out = append(out, finding{
				key: string(x.Kind) + " " + g.Observed.String(), problem: !x.Remark, further: k > 0, step: x.Step,
				text: func(now time.Time) string { return clean(words.Aging(g.Message(), g.Since, now)) },
			})
		}
		out[k].stops = append(out[k].stops, f.stops(g)...)
	}
	if len(out) == 0 {
		out = []finding{{key: string(x.Kind), problem: !x.Remark, step: x.Step, stops: f.alone(x.Scope.Nodes...)}}
	}
	out[0].text = func(now time.Time) string { return clean(x.Text(now)) }
	return out
}

// stops are the pairs of a group, or its node alone.
func (f *facts) stops(g *matrix.Group) (out [][2]int) {
	observed := f.index.Find(g.Observed)
	for _, o := range g.Observers {
		if i := f.index.Find(o); i >= 0 {
			out = append(out, [2]int{i, observed})
		}
	}
	if len(out) == 0 {
		return f.alone(g.Observed)
	}
	return out
}

// alone are the nodes without a pair.
func (f *facts) alone(nodes ...matrix.Ref) (out [][2]int) {
	for _, r := range nodes {
		if i := f.index.Find(r); i >= 0 {
			out = append(out, [2]int{i, i})
		}
	}
	return out
}

// flags are the characters after a node's name, by its state, else by its membership; see help.
var flags = map[string]byte{
	matrix.StateJoining.String(): 'J', matrix.StateLeaving.String(): 'L', matrix.StateReplacing.String(): 'R',
	matrix.StateBeingReplaced.String(): 'B', matrix.StateDecommissioned.String(): 'X',
	string(cluster.MemberNewcomer): 'N', string(cluster.MemberLeaving): 'L', string(cluster.MemberGhost): 'G',
	string(cluster.MemberGossipOnly): 'g',
	string(cluster.MemberUnknown):    '?',
}

// mark returns the entry of node j in the row of node i. A node may report itself as not UP.
func (f *facts) mark(i, j int) grid.Mark {
	if n := &f.nodes[i]; i == j && n.reports {
		if own := grid.Of(api.NodeStatus(f.who.At(n.index, n.index).String())); own == grid.Down ||
			own == grid.Unknown {
			return own
		}
	}
	return f.grid.At(i, j)
}
