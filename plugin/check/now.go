// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/preflight"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// safeNow queries all nodes and shows whether the action is safe.
func (o *options) safeNow(ctx context.Context) error {
	flags, saved := o.read, o.read.From != ""
	flags.Source, flags.ControllerNamespace = cli.SourceFlag(cluster.SourceLive), cli.DefaultControllerNamespace
	if saved {
		flags.Source = cli.SourceFlag(cluster.SourceAuto)
	}
	reader, err := o.d.NewReader(ctx, flags)
	if err != nil {
		return err
	}
	clusters, stopped, err := o.meant(ctx, reader)
	if err != nil {
		return err
	}
	var results []preflight.Result
	var steps []words.Message
	for _, s := range clusters {
		in := &preflight.Now{For: o.purpose, Cluster: s, Stopped: stopped(s), Saved: saved}
		if o.purpose == preflight.ForDrain && len(in.Stopped) == 0 {
			continue
		}
		if o.rack == "" {
			in.Datacenter = o.datacenter
		}
		if saved {
			in.DataErr, in.PDBErr = notSaved, notSaved
		} else {
			o.d.GatherNow(ctx, reader.Client(), in)
		}
		safe := preflight.Safe(in)
		results = append(results, safe...)
		steps = append(steps, preflight.Steps(in, safe)...)
	}
	if len(results) == 0 && saved {
		return exit.WithHint(exit.Refusedf("no saved Pod is on Kubernetes node %q", o.what[0]),
			"list the Pods and their Kubernetes nodes", words.Scylla("", "status", "-o", "wide")...)
	}
	if len(results) == 0 {
		results = []preflight.Result{{Check: "nodes", Subject: "Kubernetes node " + o.what[0], State: preflight.OK,
			Text: words.New(words.NobodyThereNow)}}
	}
	if ctx.Err() != nil {
		return exit.Interrupted(ctx.Err())
	}
	return o.end(results, steps)
}

// notSaved is why a check of saved objects is unknown.
const notSaved = "saved objects do not have it"

// meant returns the clusters to check, and their members that the action stops.
func (o *options) meant(ctx context.Context, reader *cli.Reader) ([]*cluster.Cluster,
	func(*cluster.Cluster) []cluster.Member, error) {
	if o.purpose == preflight.ForRestart {
		s, m, err := reader.Named(ctx, o.what[0])
		return []*cluster.Cluster{s}, func(*cluster.Cluster) []cluster.Member { return []cluster.Member{m} }, err
	}
	if o.purpose == preflight.ForDecommission {
		return o.leaving(ctx, reader)
	}
	if o.purpose == preflight.ForDrain && o.read.From == "" {
		switch err := reader.Client().Get(ctx, client.ObjectKey{Name: o.what[0]}, &corev1.Node{}); {
		case apierrors.IsNotFound(err):
			return nil, nil, exit.WithHint(exit.Refusedf("Kubernetes node %q not found", o.what[0]),
				"list the Kubernetes nodes", words.Kubectl("", "get", "nodes")...)
		case err != nil && !apierrors.IsForbidden(err): // the Pods name their Kubernetes node
			return nil, nil, fmt.Errorf("get Kubernetes node %s: %w", o.what[0], err)
		}
	}
	clusters, err := reader.All(ctx)
	return clusters, func(s *cluster.Cluster) []cluster.Member {
		var there []cluster.Member
		for _, m := range s.Members() {
			if o.purpose == preflight.ForDrain && m.Pod != nil && m.Pod.Spec.NodeName == o.what[0] {
				there = append(there, m)
			}
		}
		return there
	}, err
}

// leaving returns the cluster with members to decommission, and these members: the named ones, or
// all in the datacenter or rack.
func (o *options) leaving(ctx context.Context, reader *cli.Reader) ([]*cluster.Cluster,
	func(*cluster.Cluster) []cluster.Member, error) {
	var named []cluster.Member
	var of *cluster.Cluster
	for _, what := range o.what {
		s, m, err := reader.Named(ctx, what)
		switch {
		case err != nil:
			return nil, nil, err
		case of != nil && s.Key != of.Key:
			return nil, nil, exit.Refusedf("members %s and %s are of two clusters: check one cluster at a time",
				named[0].Member, m.Member)
		case slices.ContainsFunc(named, func(o cluster.Member) bool { return o.Member == m.Member }):
			continue
		}
		of, named = s, append(named, m)
	}
	if of != nil {
		return []*cluster.Cluster{of}, func(*cluster.Cluster) []cluster.Member { return named }, nil
	}
	clusters, err := reader.All(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range clusters {
		for _, m := range s.Members() {
			switch {
			case m.Member == "" || m.Service == nil && m.Pod == nil || m.State == cluster.MemberNewcomer,
				o.datacenter != "" && m.Datacenter != o.datacenter, o.rack != "" && m.Rack != o.rack:
				continue
			case of != nil && (s.Key != of.Key || m.Datacenter != named[0].Datacenter):
				return nil, nil, exit.Refusedf(
					"%s of cluster %s and of cluster %s: name the members, or add --datacenter",
					strings.Join(o.chosen(), " and "), of.Name, s.Name)
			}
			of, named = s, append(named, m)
		}
	}
	if of == nil {
		return nil, nil, exit.WithHint(
			exit.Refusedf("no member of %s in this namespace", strings.Join(o.chosen(), " and ")),
			"list the members", words.Scylla(o.d.NamespaceGiven(), "status")...)
	}
	return []*cluster.Cluster{of}, func(*cluster.Cluster) []cluster.Member { return named }, nil
}

// chosen returns the datacenter and the rack as text.
func (o *options) chosen() []string {
	var out []string
	if o.rack != "" {
		out = append(out, fmt.Sprintf("rack %q", o.rack))
	}
	if o.datacenter != "" {
		out = append(out, fmt.Sprintf("datacenter %q", o.datacenter))
	}
	return out
}
