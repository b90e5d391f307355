// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"cmp"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

const (
	// reevaluate is the interval between judgements without a change.
	reevaluate = 10 * time.Second
	// repeat is for how long a verdict counts that only waits for a permit. Times in texts go in
	// steps of it: a text per second would flood the log.
	repeat = time.Minute
	// soon is the interval between judgements while all nodes must stay UP, the member's Service is
	// missing, or the controller seems not to run. A running one renews its Lease as often.
	soon = 2 * time.Second
	// shortest is the minimum pause: each judgement costs the API server a dozen requests.
	shortest = time.Second
)

// Reads is what a gate reads, each part only when a judgement needs it. Every call asks again. A
// failure is returned as the blocker that names it.
type Reads interface {
	// Now is the time by the caller's own clock.
	Now() time.Time
	// Cluster reads Services, StatefulSets and reports, without Pods. A failure has no cluster.
	Cluster() (*cluster.Cluster, *matrix.Blocker)
	// Report reads the cluster's report.
	Report() (*api.ScyllaDBStatusReport, *matrix.Blocker)
	// Lease reads the controller's Lease: nil if there is none, or the reason why it is unread.
	Lease() (*coordinationv1.Lease, words.Message)
	// LeaseName is NAMESPACE/NAME of that Lease.
	LeaseName() string
	// Claim reads the UID of a PVC of the member; "" if there is none. deleting is true if it only
	// waits for its Pod to end.
	Claim(name string) (uid types.UID, deleting bool, x *matrix.Blocker)
	// PodUID reads the UID of the member's Pod.
	PodUID() (types.UID, *matrix.Blocker)
	// Ran returns the host ID with which ScyllaDB has run in this Pod; "" if unknown.
	Ran() hostid.ID
	// Pods reads the Pods, condensed, with the digest of each Pod's row by name. If another writer
	// makes the reports, it also reads the state of that writer.
	Pods(of *cluster.Cluster) (objects cluster.Objects, digests map[string]string, x *matrix.Blocker)
	// Neighbours reads all Services and Pods of the namespace.
	Neighbours() (cluster.Neighbourhood, *matrix.Blocker)
	// Confirm returns nil for each reporter that confirms the row with that digest, by the
	// certificate in its Pod's annotation.
	Confirm(reporters []*cluster.Member, digests map[string]string) []error
	// Relays finds the reporters of these members that relay views.
	Relays(members []string) []Relay
	// Views returns the answers of relays that are asked for the controller's view.
	Views([]Relay) []Told
}

// Relay is where one member's reporter relays views.
type Relay struct{ Member, Address, Fingerprint string }

// Told is the answer of one relay. Answered is true if it answered, with a view or without one.
type Told struct {
	Answered bool
	View     *api.StatusReportView
	Report   types.UID // UID of the view's cluster report
	Age      time.Duration
}

// Self has the facts of the member's own Pod.
type Self struct {
	Namespace, Member string
	// Pod is the Pod's name for texts. Claim is the PVC's; empty takes it from the cluster.
	Pod, Claim string
	// Policy of the barrier; empty means cluster.Cluster's DefaultPolicy.
	Policy api.Policy
	// Stabilisation is, by reports, how long all nodes must stay UP; nil takes the health policy.
	Stabilisation *time.Duration
	// AllowNonReporting is --single-report-allow-non-reporting-host-ids.
	AllowNonReporting bool

	Disk       bootstrap.Bootstrapped
	DiskDetail words.Message
	Volume     bootstrap.Volume
	// WasEmpty is true if the barrier of this Pod found the volume empty.
	WasEmpty bool
	// VolumeDetail is why the volume was unreadable, VolumeHostID the host ID on it.
	VolumeDetail words.Message
	VolumeHostID hostid.ID
	// Version is that of ScyllaDB; nil if unknown.
	Version *release.Version

	// Launcher is true for the launcher, which repeats the judgement of its Pod's barrier. Just is
	// true if that barrier has just opened: its stabilisation time counts until a node, or the
	// controller's view, blocks.
	Launcher, Just bool
	// Annotation is the present value of api.AnnotationBarrier; empty without one.
	Annotation string
}

// Gate is one member's gate. New makes it; Judge changes it.
type Gate struct {
	Self
	reads   Reads
	started time.Time

	// From the last reading: the stabilisation time and the cluster's health policy.
	window     time.Duration
	policy     api.StatusReportHealthPolicy
	lease      leaseWatch
	stability  stability
	permits    permits
	relays     []Relay // as last read; a Pod that loses the API server needs them
	kept       kept
	annotation annotation
	ran        hostid.ID // with which ScyllaDB has run in this Pod; empty while unknown

	volumeUID types.UID // as cluster.Member's; read only for a force, or a step that offers one

	seen *cluster.Cluster
}

// New returns a gate that begins to wait now.
func New(s Self, r Reads) *Gate {
	return &Gate{Self: s, reads: r, started: r.Now(), window: healthpolicy.Window(s.Stabilisation, nil),
		policy: healthpolicy.Of(nil), annotation: annotation{text: s.Annotation}}
}

// Seen returns the reading of the cluster that the last verdict is of; nil before.
func (g *Gate) Seen() *cluster.Cluster { return g.seen }

// Window returns how long all nodes must be UP continuously.
func (g *Gate) Window() time.Duration { return g.window }

// Judge decides. changed has the objects that may have changed since the last judgement. The
// verdict's Pause is when to judge again without a change.
func (g *Gate) Judge(changed cluster.Kinds) bootstrap.Verdict {
	if g.Launcher && g.ran == "" {
		g.ran = g.reads.Ran()
	}
	v := g.judge(changed)
	if slices.ContainsFunc(v.Blockers, func(x matrix.Blocker) bool { return x.Reason != words.ControllerSilent }) {
		// blocked by more than a controller that this process has not seen working yet
		g.Just = false
	}
	if !v.Satisfied {
		v.Pause = g.pause(v)
	}
	return v
}

func (g *Gate) judge(changed cluster.Kinds) bootstrap.Verdict {
	if v, ok := g.again(changed); ok {
		return v
	}
	// Reading all Pods costs O(N^2) bytes for N nodes: only the final check reads them.
	v, known := g.decide()
	v = g.explain(g.settle(v, known), known)
	g.keep(v, known)
	return v
}

// decide is the decision on one reading of the reports. It never uses a watch's cache: a broken
// watch looks like a cluster without changes.
func (g *Gate) decide() (bootstrap.Verdict, *cluster.Cluster) {
	taken := g.reads.Now()
	c, trouble := g.reads.Cluster()
	if trouble != nil {
		return g.Blocked(*trouble), nil
	}
	g.permits.heard = taken
	g.seen = c
	if m := c.Member(g.Member); m != nil {
		g.permits.otherwise = m.DefaultPolicy()
	}
	g.volumeUID = ""
	in, err := g.Input(c)
	if err != nil {
		return g.Blocked(unjudged(c, err)), nil
	}
	g.window, g.policy = healthpolicy.Window(g.Stabilisation, c.StatusReport), c.HealthPolicy()
	g.adopt(c.StatusReport, c.Name)
	g.readLease(&in, c)
	v := bootstrap.Decide(in)
	forced := v.Decision == bootstrap.DecisionForced
	if forced || holdsForOneVolume(v) { // a printed command without the UID has a placeholder
		g.volumeUID, trouble = g.readVolumeUID(c)
	}
	if forced {
		if trouble != nil {
			return g.Blocked(*trouble), c
		}
		in.VolumeUID = g.volumeUID
		v = bootstrap.Decide(in)
	}
	return g.complete(v, c), c
}

// complete blocks a decision that depends on complete reports if a part was unreadable.
func (g *Gate) complete(v bootstrap.Verdict, c *cluster.Cluster) bootstrap.Verdict {
	err := c.Incomplete()
	if err == nil || v.Decision != bootstrap.DecisionAllUp && v.Decision != bootstrap.DecisionGenesis {
		return v
	}
	x := g.Blocked(matrix.Blocker{Reason: words.ReadingIncomplete, Detail: OneLine(err)})
	x.Notes = v.Notes
	return x
}

// holdsForOneVolume reports whether a step of the verdict lets the member start on this volume, or
// deletes it, and holds for no later one.
func holdsForOneVolume(v bootstrap.Verdict) bool {
	return waitsFor(v, words.VolumeUnreadable, words.DataDirectoryUnusable) ||
		slices.ContainsFunc(v.Notes, func(n words.Message) bool {
			return n.Code == words.JoinNotRecorded || n.Code == words.MayWaitForItself || n.Code == words.BannedBefore
		})
}

// VolumeUID returns cluster.Member's VolumeUID of this member, if a force or a step of the last
// verdict is for that volume alone; otherwise "".
func (g *Gate) VolumeUID() types.UID { return g.volumeUID }

// readVolumeUID returns cluster.Member's VolumeUID.
func (g *Gate) readVolumeUID(c *cluster.Cluster) (types.UID, *matrix.Blocker) {
	if uid, _, trouble := g.reads.Claim(g.ClaimOf(c)); uid != "" || trouble != nil {
		return uid, trouble
	}
	return g.reads.PodUID()
}

// Input returns the decision's input with the facts of this Pod, without the barrier's own
// annotation and the state of the controller. Error: the cluster has no Service of this member.
func (g *Gate) Input(c *cluster.Cluster) (bootstrap.Input, error) {
	in, err := bootstrap.Of(c, g.Member)
	if err != nil {
		return bootstrap.Input{}, err
	}
	in.Disk, in.DiskDetail, in.Volume = g.Disk, g.DiskDetail, g.Volume
	in.VolumeDetail, in.VolumeHostID, in.VolumeUID = g.VolumeDetail, g.VolumeHostID, g.volumeUID
	in.AllowNonReporting = g.AllowNonReporting
	if g.Launcher {
		in.Opened, in.Ran, in.WasEmpty = true, g.ran, g.WasEmpty
	}
	in.Banned = g.banned(c, in)
	if g.Version != nil {
		in.Version = *g.Version
	}
	in.ControllerSilent, in.ControllerSilentSince, in.Held = words.Message{}, time.Time{}, nil
	in.Permission = nil // settle checks it with the stabilisation time
	if g.ByPermits() {
		in.JudgedBy = ""
	}
	return in, nil
}

// banned is the evidence that the cluster has banned this volume's host ID: a failed operation to
// join it, and no row that lists it. The recorded host ID may be from an earlier volume. Zero
// therefore unless this volume has it, or ScyllaDB has run with it in this Pod.
func (g *Gate) banned(c *cluster.Cluster, in bootstrap.Input) words.Message {
	id := in.Member.RecordedID()
	if id == "" || id != cmp.Or(g.VolumeHostID, in.Ran) || c.StatusReport == nil || in.Member.HasJoined() {
		return words.Message{}
	}
	if in.Matrix != nil {
		if _, member := in.Matrix.Index(id); member {
			return words.Message{}
		}
	}
	for _, op := range c.StatusReport.Status.Operations {
		if op.HostID != id || op.State != "failed" || (op.Type != "bootstrap" && op.Type != "replace") {
			continue
		}
		return words.New(words.OperationFailed, "operation", op.Type, "hostID", id, "error", op.Error)
	}
	return words.Message{}
}

// ByPermits reports whether the member needs a permit. True before the first reading, which only
// makes the member wait.
func (g *Gate) ByPermits() bool {
	return cmp.Or(g.Policy, g.permits.otherwise, api.PolicyPermits) == api.PolicyPermits
}

// Blocked returns a verdict that waits for one blocker.
func (g *Gate) Blocked(x matrix.Blocker) bootstrap.Verdict {
	v := bootstrap.Wait(cluster.Place(g.Member, nil), x)
	v.Pause = g.pause(v)
	return v
}

// unjudged is the blocker if the report that an override names, or the Service, is missing.
func unjudged(c *cluster.Cluster, err error) matrix.Blocker {
	if report := c.OverrideRef; report != "" && c.StatusReport == nil {
		return matrix.Blocker{
			Reason: words.ReportMissing, Cause: words.New(words.SourceClusterReportGone, "report", report, "annotation",
				api.AnnotationStatusReportOverrideRef),
		}
	}
	return NoService(words.Clean(err.Error()), words.Message{})
}

// NoService is the blocker of a member whose Service is missing, or has no cluster.
func NoService(detail string, cause words.Message) matrix.Blocker {
	return matrix.Blocker{Reason: words.MemberServiceMissing, Detail: detail, Cause: cause}
}

// ServiceMissing reports whether the verdict waits for the member's Service.
func ServiceMissing(v bootstrap.Verdict) bool { return waitsFor(v, words.MemberServiceMissing) }

func waitsFor(v bootstrap.Verdict, reasons ...words.Code) bool {
	return slices.ContainsFunc(v.Blockers, func(x matrix.Blocker) bool { return slices.Contains(reasons, x.Reason) })
}

// wait replaces a verdict that would open by one that waits for blockers.
func wait(v bootstrap.Verdict, blockers ...matrix.Blocker) bootstrap.Verdict {
	matrix.SortBlockers(blockers)
	v.Satisfied, v.Decision = false, bootstrap.DecisionWait
	return v.Only(blockers)
}

// OneLine returns the text of an error for a blocker.
func OneLine(err error) string {
	return words.Clean(strings.Join(strings.Fields(err.Error()), " "))
}

func ours(c *cluster.Cluster) bool { return c != nil && c.Ours() }
