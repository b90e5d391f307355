// SPDX-License-Identifier: Apache-2.0

package forceproceed

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// plan lists the objects to annotate.
type plan struct {
	snapshot *cluster.Cluster
	// title names the forced member, datacenter or cluster in the output.
	title   string
	targets []client.Object
	// members are the members whose blockers are ignored.
	members []string
	// warnings are printed before the confirmation.
	warnings []string
	// restarts is true if withdrawing the force restarts Pods; the confirmation mentions it.
	restarts bool
}

func (o *options) plan(ctx context.Context) (*plan, error) {
	if o.member != "" {
		s, m, err := o.reader.Named(ctx, o.member)
		if err != nil {
			return nil, err
		}
		o.member = m.Member
		return o.planMember(ctx, s)
	}
	s, err := o.scope(ctx)
	if err != nil {
		return nil, err
	}
	return o.planScope(ctx, s)
}

func (o *options) planMember(ctx context.Context, s *cluster.Cluster) (*plan, error) {
	p := &plan{snapshot: s, title: o.member, members: []string{o.member}}
	for _, m := range s.Members() {
		if m.Member != o.member {
			continue
		}
		if m.Service == nil {
			return nil,
				exit.WithHint(exit.Refusedf("member %s/%s has no member Service to annotate", s.Namespace, o.member),
					"the controller creates member Services: check that it is running",
					words.Scylla(s.Namespace, "status")...)
		}
		p.targets = append(p.targets, m.Service)
		from := m.Service.Annotations[api.AnnotationForcePropagatedFrom]
		if o.undo && from != "" && o.stillForced(s, from) {
			return nil,
				exit.WithHint(exit.Refusedf("the force on %s is copied from %s and would return", o.member, from),
					"remove it there", "kubectl", "scylla", "force-proceed", "--datacenter", m.Datacenter, "-n",
					s.Namespace, "--undo")
		}
		if kind := o.forcedAbove(ctx, s); o.undo && kind != "" {
			return nil,
				exit.WithHint(exit.Refusedf("the force on %s is copied from the %s %s and would return", o.member, kind,
					s.Key),
					"remove it there", words.Scylla(s.Namespace, "force-proceed", "--cluster", s.Name, "--undo")...)
		}
		if !o.undo && cluster.NodeStarted(m.Pod) {
			return nil,
				exit.WithHint(
					exit.Refusedf("member %s/%s is running: a force would make it skip the barrier at its next start",
						s.Namespace, o.member),
					"show its problems", words.Scylla(s.Namespace, "describe", o.member)...)
		}
		if !o.undo && !s.Operator && m.VolumeUID() == "" {
			return nil,
				exit.WithHint(
					exit.Refusedf("member %s/%s has no PVC and no Pod, or they are not readable: a force is "+
						"for one volume", s.Namespace, o.member),
					"show its problems", words.Scylla(s.Namespace, "describe", o.member)...)
		}
		if uid := m.VolumeUID(); o.volumeUID != "" && string(uid) != o.volumeUID {
			return nil,
				exit.WithHint(
					exit.Refusedf("the volume of member %s/%s has UID %s, and the force is for UID %s",
						s.Namespace, o.member, cmp.Or(string(uid), "unknown"), o.volumeUID),
					"show its problems", words.Scylla(s.Namespace, "describe", o.member)...)
		}
		if m.State == cluster.MemberJoined && !o.undo {
			p.warnings = append(p.warnings,
				fmt.Sprintf("%s has already joined: it requires a force only if its barrier blocks its restart",
					o.member))
		}
	}
	return p, nil
}

// stillForced reports whether the StatefulSet from which a force was copied still has it, or is
// unknown.
func (o *options) stillForced(s *cluster.Cluster, from string) bool {
	for i := range s.StatefulSets {
		if set := &s.StatefulSets[i]; from == "StatefulSet/"+set.Name {
			return set.Annotations[api.AnnotationForceProceed] != ""
		}
	}
	return false
}

// scope returns the one cluster selected by --cluster and --datacenter.
func (o *options) scope(ctx context.Context) (*cluster.Cluster, error) {
	if o.cluster != "" {
		s, err := o.reader.Cluster(ctx, o.cluster)
		if err != nil {
			return nil, err
		}
		if o.datacenter != "" && !slices.Contains(datacenters(s), o.datacenter) {
			return nil, o.noDatacenter("cluster "+s.Key.String(), datacenters(s))
		}
		return s, nil
	}
	all, err := o.reader.All(ctx)
	if err != nil {
		return nil, err
	}
	var found []*cluster.Cluster
	var known []string
	for _, s := range all {
		known = append(known, datacenters(s)...)
		if slices.Contains(datacenters(s), o.datacenter) {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 0:
		return nil, o.noDatacenter("namespace "+all[0].Namespace, known)
	case 1:
		return found[0], nil
	}
	var names []string
	for _, s := range found {
		names = append(names, s.Name)
	}
	return nil,
		exit.WithHint(exit.Refusedf("datacenter %s is in %d clusters: %s", o.datacenter, len(found),
			strings.Join(names, ", ")), "specify one with --cluster NAME")
}

func (o *options) noDatacenter(where string, known []string) error {
	slices.Sort(known)
	known = slices.Compact(known)
	if len(known) == 0 {
		return exit.Refusedf("no datacenter %q in %s", o.datacenter, where)
	}
	return exit.WithHint(exit.Refusedf("no datacenter %q in %s", o.datacenter, where), "use one of: "+
		strings.Join(known, ", "))
}

// datacenters returns the datacenters of the members with a local Service and of the StatefulSets.
func datacenters(s *cluster.Cluster) []string {
	var names []string
	for _, m := range s.Members() {
		if m.Datacenter != "" && m.Service != nil && !slices.Contains(names, m.Datacenter) {
			names = append(names, m.Datacenter)
		}
	}
	for i := range s.StatefulSets {
		if dc := s.StatefulSets[i].Labels[api.LabelDatacenter]; dc != "" && !slices.Contains(names, dc) {
			names = append(names, dc)
		}
	}
	return names
}

func (o *options) planScope(ctx context.Context, s *cluster.Cluster) (*plan, error) {
	p := &plan{snapshot: s, title: "cluster " + s.Key.String()}
	if o.datacenter != "" {
		p.title = "datacenter " + o.datacenter + " of " + p.title
	}
	var services []client.Object
	for _, m := range s.Members() {
		if m.Service == nil || o.datacenter != "" && m.Datacenter != o.datacenter {
			continue
		}
		waits := (m.State == cluster.MemberNewcomer || m.State == cluster.MemberUnknown) && !cluster.NodeStarted(m.Pod)
		if o.perService && !o.undo && !s.Operator && m.VolumeUID() == "" {
			continue // a force is for one volume
		}
		if waits {
			p.members = append(p.members, m.Member)
		}
		if waits || o.undo && m.Force != "" {
			services = append(services, m.Service)
		}
	}
	switch {
	case o.perService:
		if len(services) == 0 {
			what := "all members have joined: none to force"
			if o.undo {
				what = "no member Service has the force"
			}
			return nil, exit.Refusedf("%s: %s", p.title, what)
		}
		p.targets = services
		return p, nil
	case s.Operator:
		return p, o.planOperator(ctx, s, p, services)
	}
	return p, o.planSets(s, p)
}

// planSets plans the annotation of the StatefulSets; our controller copies it to the member
// Services.
func (o *options) planSets(s *cluster.Cluster, p *plan) error {
	for i := range s.StatefulSets {
		set := &s.StatefulSets[i]
		if o.datacenter != "" && set.Labels[api.LabelDatacenter] != o.datacenter {
			continue
		}
		if set.Labels[api.LabelManagedBy] != api.ManagedByUs {
			return exit.WithHint(
				exit.Refusedf(
					"StatefulSet %s/%s is not managed by %s, so its member Services would not get the annotation",
					set.Namespace, set.Name, api.ManagedByUs),
				"annotate the member Services with --per-service")
		}
		p.targets = append(p.targets, set)
	}
	if len(p.targets) == 0 {
		err := exit.Refusedf("%s has no StatefulSet to annotate", p.title)
		if incomplete := s.Incomplete(); incomplete != nil {
			err = exit.Refused(fmt.Errorf("%s: %w", p.title, incomplete))
		}
		return exit.WithHint(err, "annotate the member Services with --per-service")
	}
	return nil
}
