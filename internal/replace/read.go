// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Reading is the input of all replacements of a cluster. The caller must read the PVCs before the
// Services (proof of cancelling, see the package).
type Reading struct {
	// Cluster uses the rows of the Pods if there are any, else the source it was read with.
	Cluster *cluster.Cluster

	operations  []api.NodeOperation
	known       bool
	notVerified []string
	gone        []string
}

// Read creates a Reading of a cluster.
func Read(c *cluster.Cluster) *Reading {
	r := &Reading{Cluster: c}
	r.readRows()
	r.operations, r.known = r.Cluster.Operations()
	for _, m := range r.Cluster.Serviced() {
		if !r.Cluster.VolumeGone(m.Member).IsZero() {
			r.gone = append(r.gone, m.Member)
		}
	}
	return r
}

// readRows selects the source of the rows: the Pods' annotations, or the nodes if they were
// queried. A report may be out of date. Rows of other datacenters come from the copied reports.
// Without the row of a member here, as for a barrier and under a Scylla Operator whose Pods we
// cannot read, the report is the only source.
func (r *Reading) readRows() {
	c := r.Cluster
	r.notVerified = matrix.NotVerified(c.StatusReport)
	slices.Sort(r.notVerified)
	direct := cluster.SourceAnnotation
	if c.Live != nil {
		direct = cluster.SourceLive
	}
	for _, source := range []cluster.Source{direct, cluster.SourceReport} {
		by, err := c.Using(source)
		if err == nil && slices.ContainsFunc(by.Rows(), func(row matrix.Row) bool {
			m := by.Member(row.Reporter.Member)
			return row.Reported && (source == cluster.SourceReport || m != nil && m.Service != nil)
		}) {
			r.Cluster = by
			return
		}
	}
}

// Input collects the input of the member's replacement; nil if the member has no Service.
func (r *Reading) Input(member string, now time.Time, newID string) *Input {
	c := r.Cluster
	self := c.Member(member)
	if self == nil || self.Service == nil {
		return nil
	}
	in := &Input{
		Namespace: c.Namespace, Cluster: c.Name, Now: now, Dead: c.HealthPolicy().Dead.Duration, NewID: newID,
		Self: self, Claims: c.Claims(member),
		Others: slices.DeleteFunc(slices.Clone(c.Serviced()), func(m *cluster.Member) bool { return m == self }),
		Matrix: c.Matrix(), Containers: c.Containers(), Operations: r.operations, OperationsKnown: r.known,
		NotVerified: r.notVerified, Elsewhere: c.MayBeElsewhere(),
		Operator: self.OfOperator(), Paused: c.Paused(member), Barrier: r.barrier(self), Gone: r.gone,
	}
	recorded := self.RecordedID()
	if in.Operator && recorded == "" {
		in.LostHostID = c.LostHostID(member)
	}
	in.Away = WhileAway(c.Matrix(), recorded)
	in.OperatorOff, _ = c.OperatorOff()
	in.OperatorLeads = c.OperatorLeads()
	if o := c.OperatorState; o != nil {
		in.Conditions = cluster.ConditionWords(o.Conditions)
		if len(o.Budgets) > 0 {
			in.Budget = o.Budgets[0]
		}
	}
	cause, object, usable := c.Unscheduled(member)
	in.Unscheduled, in.VolumeUsable, in.VolumeGone = WhileCause(c, member, cause, object), usable, c.VolumeGone(member)
	if lower := c.HeldByOrder(member); lower != "" {
		in.Order = WhileCause(c, member, cluster.CauseOrder, lower)
	}
	in.Ended = c.Halted(member).Code == words.ScyllaDBEnded
	if !in.Paused.IsZero() {
		in.Resume = HaltedStep(c, member, in.Paused.Code)
	}
	rec := RecordOf(self)
	if !in.Operator && rec.Open() && recorded == rec.Original &&
		(c.FreshVolume(member) || self.Pod != nil && !self.Scheduled()) {
		in.Unrecorded = c.LostHostID(member)
	}
	if choice, launched := bootstrap.SeedChoiceOf(c, member, bootstrap.VolumeEmpty); launched {
		in.Seeds = &choice
	}
	r.readVersion(in)
	return in
}

// Requested returns the sorted members whose Services request a replacement or have one open.
func (r *Reading) Requested() []string {
	var out []string
	for _, m := range r.Cluster.Serviced() {
		if rec := RecordOf(m); rec.Requested || rec.Open() || rec.Request != "" || r.lost(m.Member) {
			out = append(out, m.Member)
		}
	}
	return out
}

// Recorded returns the sorted members of Requested and those whose last replacement has ended.
func (r *Reading) Recorded() []string {
	out := r.Requested()
	for _, m := range r.Cluster.Serviced() {
		if RecordOf(m).Last != nil && !slices.Contains(out, m.Member) {
			out = append(out, m.Member)
		}
	}
	slices.Sort(out)
	return out
}

// lost reports whether a member of the Scylla Operator has a PVC that is being deleted while no
// record gives the reason.
func (r *Reading) lost(member string) bool {
	return r.Cluster.Operator && !r.Cluster.KeepsClaims(member) &&
		!LostRecord(*r.Input(member, time.Time{}, "")).IsZero()
}

// Ghosts returns the orphaned host IDs of the cluster. Without any Service, members cannot be
// distinguished from orphaned host IDs; the result is then empty.
func (r *Reading) Ghosts(now time.Time) []Ghost {
	if len(r.Cluster.Services) == 0 {
		return nil
	}
	out := ghosts(*r.Input(r.Cluster.Services[0].Name, now, ""), func(id hostid.ID) words.Message {
		why := maintenance.Removable(r.Cluster, id)
		if IsElsewhere(why) && !r.Cluster.Operator { // our controller ignores the Scylla Operator's clusters
			return evidence.Do(words.New(words.GhostElsewhere, "why", why),
				evidence.Facts{"namespace": r.Cluster.Namespace, "cluster": r.Cluster.Name})
		}
		return why
	})
	for i := range out {
		if g := &out[i]; len(g.Command) > 0 && (r.Cluster.Claimed == nil || r.Cluster.Offline) {
			look := words.New(words.SeeClaimedVolumes).Do(words.Kubectl("", "get", "pv"))
			if !g.Why.IsZero() {
				look.Params = words.Params{"first": g.Why}
			}
			g.Why = look
		}
	}
	return out
}

// barrier returns why a Pod waits in its barrier or launcher, by the logic of the barrier.
func (r *Reading) barrier(m *cluster.Member) []words.Message {
	if !m.WaitsInBarrier() {
		return nil
	}
	in, err := bootstrap.Of(r.Cluster, m.Ref.Member)
	if err != nil {
		return []words.Message{words.New(words.BarrierCannotBeJudged, "why", err.Error())}
	}
	var out []words.Message
	groups, _ := matrix.GroupBlockers(bootstrap.Decide(in).Blockers)
	for _, g := range groups {
		out = append(out, g.Message())
	}
	return out
}

// readVersion reads the image of the next Pod and the versions of the running nodes. All of them
// must support the procedure.
func (r *Reading) readVersion(in *Input) {
	image := in.Self.Image
	if set := in.Self.StatefulSet; set != nil {
		image = ptr.Deref(cluster.ScyllaDBContainer(&set.Spec.Template.Spec), corev1.Container{}).Image
	}
	var support, excludes []release.Support
	v, err := release.OfImage(image)
	switch {
	case image == "":
		in.VersionDetail = "the image is unknown"
	case err != nil:
		in.VersionDetail = err.Error()
	}
	if v.Known {
		in.Version = v.String()
		support, excludes = append(support, v.SupportsReplaceByHostID()), append(excludes, v.SupportsExcludeNode())
	}
	for i := range r.Cluster.Pods {
		name := r.Cluster.Pods[i].Name
		said := r.Cluster.Said(name)
		if name == in.Self.Member || said == nil {
			continue
		}
		if running, err := release.Parse(said.ScyllaVersion); err == nil && running.Known {
			in.Version = cmp.Or(in.Version, running.String())
			support, excludes = append(support, running.SupportsReplaceByHostID()),
				append(excludes, running.SupportsExcludeNode())
		}
	}
	in.Excludes = len(excludes) > 0 &&
		!slices.ContainsFunc(excludes, func(s release.Support) bool { return s != release.Yes })
	switch {
	case slices.Contains(support, release.No):
		in.ByHostID = release.No
	case len(support) > 0 && !slices.Contains(support, release.Unknown):
		in.ByHostID = release.Yes
	}
}
