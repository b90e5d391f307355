// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Reasons of condition Initialized.
const (
	ReasonNotInitialized = "NotInitialized" // False: no node has joined
	// False: the first node has joined, but has not been healthy for long enough
	ReasonStabilising = "Stabilising"
	// False or Unknown: nodes had joined before the first poll of any controller
	ReasonRecovering = "Recovering"
	// Unknown: nodes have joined, and none is healthy by its own row
	ReasonSignalAbsent = "SignalAbsent"
	ReasonInitialized  = "Initialized" // True
	ReasonRecovered    = "Recovered"   // True
	ReasonNoMember     = "NoMember"    // of InitializedButEmpty
	ReasonTwoClusters  = "TwoClusters" // of SplitCluster
)

// First returns the node by which a cluster may count as initialised: the oldest member whose
// ScyllaDB is ready and whose own fresh row has it joined, NORMAL and with a known leader of group
// 0. If topology is not managed by Raft, no leader is required. The zero Ref if there is none.
func First(c *cluster.Cluster) matrix.Ref {
	var first matrix.Ref
	var created time.Time
	for _, m := range c.Members() {
		if m.Service == nil || m.Pod == nil || !well(c, &m) {
			continue
		}
		at := m.Service.CreationTimestamp.Time
		if first.Member == "" || cmp.Or(at.Compare(created), strings.Compare(m.Member, first.Member)) < 0 {
			first, created = m.Ref, at
			first.HostID = cmp.Or(c.Said(m.Member).HostID, first.HostID)
		}
	}
	return first
}

func well(c *cluster.Cluster, m *cluster.Member) bool {
	said, running := c.Said(m.Member), cluster.ScyllaDBStatus(m.Pod)
	if said == nil || running == nil || !running.Ready || said.OperationMode != "NORMAL" ||
		said.Coordinator == "" && !said.LegacyTopology {
		return false
	}
	stale, _ := cluster.Stale(m.Pod)
	joined := cluster.SaysJoined(said)
	return stale == (matrix.Trouble{}) && joined != nil && *joined
}

// joined reports whether there is evidence that a node of the cluster has joined: a row, or a
// member Service.
func joined(c *cluster.Cluster) bool {
	return len(Of(c)) > 0 || slices.ContainsFunc(c.Serviced(), (*cluster.Member).HasJoined)
}

// Initialisation is the change of a cluster's status.
type Initialisation struct {
	// Now is set if the cluster counts as initialised from now on; nil if it already did, or does
	// not yet.
	Now *api.StatusReportInitialization
	// Group0 is the ID of the cluster's group 0 if it must be recorded now; empty if it is already
	// recorded, or unknown.
	Group0 string
	// Conditions to set, and types to remove (Absent).
	Conditions []Condition
	Absent     []string
}

// Condition is a condition with its message as a code.
type Condition struct {
	Type    string
	Status  metav1.ConditionStatus
	Reason  string
	Message words.Message
}

// Initialise judges a cluster by its stored status. first is the result of First, unchanged from
// since to now. A set value is never removed, whatever the present state.
func Initialise(c *cluster.Cluster, stored *api.ScyllaDBStatusReportStatus, first matrix.Ref, since,
	now time.Time) Initialisation {
	joined, window := joined(c), healthpolicy.First(c.StatusReport)
	split := !c.Matrix().SplitFact().IsZero()
	if stored.Initialized {
		out := initialised(stored.Initialization)
		out.identify(c, stored)
		if joined {
			out.Absent = []string{api.ConditionInitializedButEmpty}
		} else {
			out.Conditions = append(out.Conditions, Condition{
				Type: api.ConditionInitializedButEmpty, Status: metav1.ConditionTrue, Reason: ReasonNoMember,
				Message: words.New(words.InitEmpty).Do(words.Scylla(c.Namespace, "status", c.Name),
					words.Scylla(c.Namespace, "init", "reset", c.Name)),
			})
		}
		return out
	}
	// The stored condition records whether nodes had joined before the first poll of any
	// controller, so that a crash does not lose it.
	was := meta.FindStatusCondition(stored.Conditions, api.ConditionInitialized)
	recovering := was == nil && joined || was != nil && was.Reason == ReasonRecovering
	if first.Member != "" && now.Sub(since) >= window && !split {
		done := &api.StatusReportInitialization{FirstHostID: string(first.HostID),
			At: metav1.NewTime(now.UTC().Truncate(time.Second)), Recovered: recovering}
		if recovering && len(Of(c)) > 1 {
			done.FirstHostID = ""
		}
		out := initialised(done)
		out.Now, out.Absent = done, []string{api.ConditionInitializedButEmpty}
		out.identify(c, stored)
		return out
	}
	x := Condition{Type: api.ConditionInitialized, Status: metav1.ConditionFalse, Reason: ReasonNotInitialized,
		Message: words.New(words.InitNoNodeYet)}
	switch {
	case split:
		x.Status, x.Message = metav1.ConditionUnknown, words.New(words.InitSplit)
	case first.Member != "":
		x.Reason, x.Message = ReasonStabilising, words.New(words.InitFirstIsWell, "node", first.Name(), "window",
			window)
	case joined:
		x.Status, x.Reason, x.Message = metav1.ConditionUnknown, ReasonSignalAbsent, words.New(words.InitSignalAbsent)
	}
	if recovering {
		x.Reason = ReasonRecovering
	}
	return Initialisation{Conditions: []Condition{x}, Absent: []string{api.ConditionInitializedButEmpty}}
}

// identify records the group 0 of a cluster that has none recorded. A recorded ID never changes,
// whatever the present state.
func (i *Initialisation) identify(c *cluster.Cluster, stored *api.ScyllaDBStatusReportStatus) {
	if stored.Group0ID == "" {
		i.Group0 = c.Matrix().Group0()
	}
}

// Split returns the condition that nodes belong to two clusters of one name, with the next step;
// false if they do not.
func Split(c *cluster.Cluster, step func() words.Message) (Condition, bool) {
	fact := c.Matrix().SplitFact()
	if fact.IsZero() {
		return Condition{}, false
	}
	return Condition{
		Type: api.ConditionSplitCluster, Status: metav1.ConditionTrue, Reason: ReasonTwoClusters,
		Message: words.New(words.SplitIs, "why", fact, "step", step()),
	}, true
}

func initialised(how *api.StatusReportInitialization) Initialisation {
	x := Condition{Type: api.ConditionInitialized, Status: metav1.ConditionTrue, Reason: ReasonInitialized,
		Message: Done(how)}
	if how != nil && how.Recovered {
		x.Reason = ReasonRecovered
	}
	return Initialisation{Conditions: []Condition{x}}
}

// Reasons of the Events about the first node before it has been healthy for long enough. The reason
// afterwards is InitCompleted.
const (
	InitStarted = "InitStarted"
	InitFailed  = "InitFailed"
)

// Turned returns the Event for the change of condition Initialized from was to is; empty if there
// is none. was is nil if there was no condition. A cluster whose nodes had joined before the first
// poll of any controller has no Event for its start.
func Turned(was *metav1.Condition, is Condition) string {
	from := ""
	if was != nil {
		from = was.Reason
	}
	switch {
	case is.Reason == ReasonStabilising && from != ReasonStabilising:
		return InitStarted
	case from == ReasonStabilising && is.Status != metav1.ConditionTrue && is.Reason != ReasonStabilising:
		return InitFailed
	}
	return ""
}

// Done is the fact that a cluster is initialised.
func Done(how *api.StatusReportInitialization) words.Message {
	switch {
	case how != nil && how.Recovered:
		return words.New(words.InitRecovered)
	case how != nil:
		return words.New(words.InitDone, "hostID", how.FirstHostID)
	}
	return words.New(words.InitDone)
}
