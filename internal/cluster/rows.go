// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// makeRows returns the rows of c.Source. Report rows are exactly the rows of the reports. With
// annotations and live, every member that has joined has a row, reported or not; new nodes have
// none. A row whose Pod or reporter no longer exists is Stale with the reason.
func (c *Cluster) makeRows() []matrix.Row {
	c.behind = nil
	var rows []matrix.Row
	switch c.Source {
	case SourceLive, SourceAnnotation:
		rows = c.memberRows()
	default:
		rows = c.reportRows()
	}
	slices.SortStableFunc(rows, func(a, b matrix.Row) int { return compareRefs(a.Reporter, b.Reporter) })
	return c.boundTimes(rows)
}

func compareRefs(a, b matrix.Ref) int {
	pa, pb := placeKey(a), placeKey(b)
	return cmp.Or(cmp.Compare(pa.datacenter, pb.datacenter), cmp.Compare(pa.rack, pb.rack),
		cmp.Compare(pa.ordinal, pb.ordinal),
		cmp.Compare(a.Member, b.Member), cmp.Compare(a.HostID, b.HostID))
}

// ownReport reports whether there is a cluster report of our controller. It also has states of
// nodes, and why a row is missing. Datacenter reports have the Scylla Operator's shape, without
// fields for these.
func (c *Cluster) ownReport() bool {
	return c.StatusReport != nil && c.StatusReport.Labels[api.LabelManagedBy] == api.ManagedByUs &&
		len(c.StatusReport.Datacenters) > 0
}

// WithFormHolder returns the same Cluster with a FormHolder that its report does not show yet.
func (c *Cluster) WithFormHolder(member string) *Cluster {
	other := *c
	other.formHolder = member
	return &other
}

// FormHolder returns the only member that has had a permit to bootstrap the cluster, by the
// cluster's own report; empty if there is none.
func (c *Cluster) FormHolder() string {
	if c.formHolder != "" {
		return c.formHolder
	}
	if r := c.StatusReport; r != nil && r.Name == c.Name && r.Status.View != nil {
		return r.Status.View.Founder
	}
	return ""
}

// ByClusterReport reports whether report rows come from the cluster report.
func (c *Cluster) ByClusterReport() bool {
	return c.OverrideRef != "" || len(c.Reports) == 0 || c.ownReport()
}

func (c *Cluster) reportRows() []matrix.Row {
	if !c.ByClusterReport() {
		return c.datacenterRows(c.Reports)
	}
	if c.StatusReport == nil {
		return nil
	}
	rows := matrix.FromStatusReport(c.StatusReport)
	here, by := c.ix.datacenters, c.comparison()
	for i := range rows {
		c.refine(&rows[i], by, !slices.Contains(here, rows[i].Reporter.Datacenter) && rows[i].Reporter.Datacenter != "")
	}
	by.take()
	return rows
}

// datacenterRows returns the rows of datacenter reports in one conversion: equal rows share their
// membership.
func (c *Cluster) datacenterRows(reports []api.ScyllaDBDatacenterNodesStatusReport) []matrix.Row {
	rows := matrix.FromReports(reports)
	remote, by := c.remotePlaces(), c.comparison()
	stale := map[string]time.Time{}
	for i := range reports {
		if since, old := c.copyStale(&reports[i]); old {
			stale[reports[i].DatacenterName] = since
		}
	}
	for i := range rows {
		r := &rows[i]
		c.refine(r, by, remote[placeKey(r.Reporter)])
		if since, old := stale[r.Reporter.Datacenter]; old && r.Stale.IsZero() {
			r.Stale = matrix.Trouble{Code: words.DatacenterUnreadable, Object: r.Reporter.Datacenter}
			r.StaleSince = since
		}
	}
	by.take()
	return rows
}

// remotePlaces returns the places whose only reports are copies from elsewhere.
func (c *Cluster) remotePlaces() map[place]bool {
	out := map[place]bool{}
	if !anyOf(c.Reports, isRemote) {
		return out
	}
	for pass := range 2 {
		for i := range c.Reports {
			r := &c.Reports[i]
			if isRemote(r) != (pass == 0) {
				continue
			}
			for j := range r.Racks {
				for k := range r.Racks[j].Nodes {
					out[place{r.DatacenterName, r.Racks[j].Name, r.Racks[j].Nodes[k].Ordinal}] = pass == 0
				}
			}
		}
	}
	return out
}

// refine adds to a report's row the facts from the objects here: the member's name, whether its
// reporter still runs, and why it did not report. It also compares the row with its Pod's present
// annotation.
func (c *Cluster) refine(row *matrix.Row, by *comparison, remote bool) {
	if remote {
		return
	}
	name := c.ix.member(row.Reporter)
	if name == "" {
		return
	}
	row.Reporter.Member = cmp.Or(row.Reporter.Member, name)
	row.Namespace = cmp.Or(row.Namespace, c.Namespace)
	s := c.statement(name, c.annotations[name])
	row.Report = cmp.Or(s.said, row.Report)
	row.Other = s.other()
	switch {
	case !row.Reported && row.Trouble.IsZero():
		row.Trouble = s.trouble
	case row.Reported && row.Stale.IsZero() && c.KnowsPods():
		row.Stale, row.StaleSince = c.rowStale(c.ix.pods[name])
	}
	by.compare(row, &s)
}

// statement is the reading of one member's Service, Pod and row, for the rows of the matrix and for
// the reports.
type statement struct {
	ref matrix.Ref // with the host ID that the Service records, else the one in its own row
	// joined is true for a member that must have a row.
	joined bool
	// said is its row; nil if there is none or it is not readable.
	said *api.NodeStatusReport
	// row is its row in the matrix; nil for a member that need not have one.
	row *matrix.Row
	// trouble is why said has no usable cells.
	trouble    matrix.Trouble
	stale      matrix.Trouble
	staleSince time.Time
}

// cells returns the usable cells of a statement; nil if there are none.
func (s *statement) cells() []api.ObservedNodeStatusReport {
	if s.said == nil || !s.trouble.IsZero() {
		return nil
	}
	return s.said.ObservedNodes
}

// statement reads a member, given its decoded row.
func (c *Cluster) statement(name string, a decoded) statement {
	pod, svc := c.ix.pods[name], c.ix.services[name]
	s := statement{ref: c.ix.refs[name], said: a.report}
	recorded := s.ref.HostID
	switch {
	case a.err != nil:
		_, container, _ := reporterStatus(pod)
		s.trouble = matrix.Trouble{Code: words.RowMalformed, Object: container, Words: a.err.Error()}
	case a.report == nil:
		if pod == nil && c.KnowsPods() {
			s.trouble = matrix.Trouble{Code: words.PodMissing}
		}
	case recorded != "" && a.report.HostID != "" && a.report.HostID != recorded:
		// The Pod's row has a different host ID than its Service records: for example after a lost
		// volume, or during a replacement.
		s.trouble = matrix.Trouble{Code: words.OtherHostID, Object: string(a.report.HostID)}
	case a.report.Error != nil:
		s.trouble = matrix.Trouble{Code: words.ScyllaDBNoAnswer, Words: *a.report.Error}
		switch fault := words.Code(a.report.Fault); fault {
		case words.PodUnreachable, words.NotAsked: // other values are not ours
			s.trouble.Code = fault
		}
	}
	if s.ref.HostID == "" && a.report != nil {
		s.ref.HostID = a.report.HostID
	}
	s.joined = c.hasJoined(svc, pod, &s)
	if svc != nil && recorded != "" && hostid.Known(svc.Labels[api.LabelReplacingNodeHostID]) == recorded &&
		s.cells() == nil {
		s.joined = false // the member's Pod is the new node that replaces this node
	}
	if c.KnowsPods() && (a.report != nil || a.err != nil) {
		s.stale, s.staleSince = c.rowStale(pod)
	}
	return s
}

// hasJoined reports whether the member must have a row. The Service's annotation decides first. It
// is absent with older operators or just after a handover. Then a node that is ready, or whose own
// row shows it past joining, is a member. Without its row the cluster would seem to have no nodes,
// and the next new node would seem to be its first. A row with only an error shows nothing, even if
// the Service has a host ID: that of an attempt to join may have been recorded by its last row.
func (c *Cluster) hasJoined(svc *corev1.Service, pod *corev1.Pod, s *statement) bool {
	says := SaysJoined(s.said)
	if j := joined(svc); j != nil {
		// A writer that waits for tokens never changes "false" on a zero-token node.
		zeroToken := says != nil && *says && s.said.OwnsTokens != nil && !*s.said.OwnsTokens
		return *j || zeroToken && s.trouble.IsZero() || servesUnsaid(pod, s)
	}
	if serving(pod) {
		return true
	}
	if s.said == nil || s.ref.HostID == "" {
		return false // if its peers list its host ID, it is in their rows
	}
	past := says != nil && *says || says == nil && s.cells() != nil
	return past && matrix.StateOfMode(s.said.OperationMode) != matrix.StateJoining ||
		!newcomerMode(s.said.OperationMode)
}

// joined returns the joined annotation, nil if absent or not a boolean.
func joined(svc *corev1.Service) *bool {
	if svc == nil {
		return nil
	}
	switch svc.Annotations[api.AnnotationNodeJoined] {
	case "true":
		return new(true)
	case "false":
		return new(false)
	}
	return nil
}

// reading has the statement of each member here, by place, and the rows of the joined members.
type reading struct {
	statements []statement
	rows       []matrix.Row
}

// read makes one row for every member that has joined. say returns a member's decoded row.
func (c *Cluster) read(say func(member string) decoded) *reading {
	r := &reading{statements: make([]statement, 0, len(c.ix.refs))}
	joined := 0
	for _, name := range c.ix.names() {
		s := c.statement(name, say(name))
		if r.statements = append(r.statements, s); s.joined {
			joined++
		}
	}
	slices.SortStableFunc(r.statements, func(a, b statement) int { return compareRefs(a.ref, b.ref) })
	sh := sharedCells{}
	sh.add(r.statements)
	r.rows = make([]matrix.Row, 0, joined)
	for i := range r.statements {
		if s := &r.statements[i]; s.joined {
			r.rows = append(r.rows, sh.row(s, c.Namespace))
			s.row = &r.rows[len(r.rows)-1]
		}
	}
	return r
}

// annotation returns the annotation of a member's Pod.
func (c *Cluster) annotation(member string) decoded { return c.annotations[member] }

// memberRows returns one row for every member that has joined, from their Pods or from the nodes,
// and one for every node of the datacenters elsewhere.
func (c *Cluster) memberRows() []matrix.Row {
	r := c.carried
	if c.Source == SourceLive {
		r = func() *reading { return c.read(c.say) }
	}
	return append(slices.Clip(r().rows), c.foreignRows(c.ix.datacenters)...)
}

// say returns a member's row by c.Source: the answer of its ScyllaDB, or its Pod's annotation.
func (c *Cluster) say(name string) decoded {
	if c.Source != SourceLive {
		return c.annotations[name]
	}
	said := c.Live[name]
	if said == nil && c.ix.pods[name] != nil {
		said = &api.NodeStatusReport{Fault: string(words.NotAsked), Error: new("")}
	}
	return decoded{report: said}
}

// foreignRows returns the rows of datacenters without a member here. They come from the cluster
// report if report rows do, else from the copied reports.
func (c *Cluster) foreignRows(here []string) []matrix.Row {
	elsewhere := func(dc string) bool { return !slices.Contains(here, dc) }
	if c.ByClusterReport() && c.StatusReport != nil {
		return rowsIn(c.StatusReport, elsewhere)
	}
	var reports []api.ScyllaDBDatacenterNodesStatusReport
	for i := range c.Reports {
		if elsewhere(c.Reports[i].DatacenterName) {
			reports = append(reports, c.Reports[i])
		}
	}
	return c.datacenterRows(reports)
}

// rowsIn returns the rows of the wanted datacenters in a cluster report. The others are not read.
func rowsIn(report *api.ScyllaDBStatusReport, wanted func(datacenter string) bool) []matrix.Row {
	part := *report
	part.Datacenters, part.Status.Members = nil, nil
	for i := range report.Datacenters {
		if wanted(report.Datacenters[i].Name) {
			part.Datacenters = append(part.Datacenters, report.Datacenters[i])
		}
	}
	for i := range report.Status.Members {
		if wanted(report.Status.Members[i].Datacenter) {
			part.Status.Members = append(part.Status.Members, report.Status.Members[i])
		}
	}
	if len(part.Datacenters)+len(part.Status.Members) == 0 {
		return nil
	}
	return matrix.FromStatusReport(&part)
}

// newcomerMode reports whether a joining node has this operation mode. A zero-token node is NORMAL
// without tokens.
func newcomerMode(mode string) bool {
	switch strings.ToUpper(mode) {
	case "STARTING", "JOINING", "BOOTSTRAP", "UNKNOWN", "":
		return true
	}
	return false
}

// rowWritten returns when a member's row was last written, by the API server's write times; zero
// without them.
func (c *Cluster) rowWritten(pod *corev1.Pod, ref matrix.Ref) time.Time {
	switch {
	case c.Source == SourceLive:
		if c.Live[ref.Member] != nil {
			return c.TakenAt
		}
	case c.Source == SourceAnnotation:
		if pod != nil {
			return writtenAt(pod.ManagedFields, "f:"+api.AnnotationNodeStatusReport)
		}
	case c.ByClusterReport():
		if c.StatusReport != nil {
			return writtenAt(c.StatusReport.ManagedFields, "f:datacenters")
		}
	default:
		for i := range c.Reports {
			if c.Reports[i].DatacenterName == ref.Datacenter {
				return writtenAt(c.Reports[i].ManagedFields, "f:racks")
			}
		}
	}
	return time.Time{}
}

// writtenAt returns the latest write of a field.
func writtenAt(entries []metav1.ManagedFieldsEntry, field string) time.Time {
	var at time.Time
	for i := range entries {
		e := &entries[i]
		if e.Time != nil && e.FieldsV1 != nil && e.Time.After(at) &&
			bytes.Contains(e.FieldsV1.GetRawBytes(), []byte(field)) {
			at = e.Time.Time
		}
	}
	return at
}

// options returns the matrix options for the rows.
func (c *Cluster) options(names map[hostid.ID]matrix.Ref) matrix.Options {
	opts := matrix.Options{
		Names: names, NotVerified: c.notVerified(), Reports: c.ReportCount(), Namespace: c.Namespace, Fates: c.fates(),
	}
	if r := c.StatusReport; r != nil && r.Status.Group0ID != "" {
		opts.Identity = string(hostid.Known(r.Status.Group0ID))
	}
	// In saved objects of unknown age, no node counts as DOWN for long.
	opts.Settled = time.Unix(0, 1)
	if !c.TakenAt.IsZero() {
		opts.Settled = c.TakenAt.Add(-c.HealthPolicy().Dead.Duration)
	}
	return opts
}

// fates returns the replacements that the Services record, and the members that have not joined. An
// open replacement has the recorded original host ID as key. Before that is recorded, or by
// address, the key is the member's host ID. A node whose Pod is starting, or whose Kubernetes node
// is not responding, also has a fate: it is not lost.
func (c *Cluster) fates() map[hostid.ID]matrix.NodeFacts {
	fates := map[hostid.ID]matrix.NodeFacts{}
	for i := range c.Services {
		v := &c.Services[i]
		if id := hostid.Known(v.Labels[api.LabelReplacingNodeHostID]); id != "" {
			fates[id] = matrix.NodeFacts{Member: v.Name, Open: true}
			continue
		}
		id := recordedHostID(v)
		asked, leaves := v.Labels[api.LabelDecommissioned]
		if asked == api.DecommissionedDone && id != "" {
			fates[id] = matrix.NodeFacts{Passes: true}
			continue
		}
		if leaves && id != "" && c.Operator {
			fates[id] = matrix.NodeFacts{Passes: true}
			continue
		}
		if _, asked := v.Labels[api.LabelReplace]; asked && id != "" {
			fates[id] = matrix.NodeFacts{Member: v.Name}
			continue
		}
		if j := joined(v); j != nil && !*j && id != "" {
			left := c.leftOut(v.Name)
			fates[id] = matrix.NodeFacts{Joining: !left, Passes: left}
		}
	}
	c.addTransientSteps(fates)
	return fates
}

// names returns the places of host IDs: by the Services, else by the Pods' own rows.
func (c *Cluster) names() map[hostid.ID]matrix.Ref {
	names := make(map[hostid.ID]matrix.Ref, len(c.ix.hosts))
	for name, a := range c.annotations {
		if a.report != nil && a.report.HostID != "" {
			ref := c.ix.refs[name]
			ref.HostID = a.report.HostID
			names[a.report.HostID] = ref
		}
	}
	for i := range c.rows {
		if r := c.rows[i].Reporter; r.HostID != "" {
			names[r.HostID] = r
		}
	}
	for id, name := range c.ix.hosts {
		names[id] = c.ix.refs[name]
	}
	return names
}

// notVerified returns datacenters that exist and cannot be queried from here.
func (c *Cluster) notVerified() []string { return matrix.NotVerified(c.StatusReport) }

// ReportCount returns how many reports the rows come from.
func (c *Cluster) ReportCount() int {
	switch {
	case c.Source == SourceAnnotation || c.Source == SourceLive:
		return 0
	case c.ByClusterReport():
		if c.StatusReport != nil {
			return max(1, len(c.StatusReport.Datacenters))
		}
		return 0
	}
	return len(c.Reports)
}
