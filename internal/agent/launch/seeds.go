// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/disk"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// ScyllaDB's options for addresses.
const (
	FlagSeeds            = "--seeds"
	FlagBroadcastAddress = "--broadcast-address"
	FlagListenAddress    = "--listen-address"
)

// restartTimeout is how long a bootstrapped node waits for its peers' addresses from the API
// server before it starts without them.
const restartTimeout = 5 * time.Second

// resolveTime bounds the resolution of one name.
const resolveTime = 2 * time.Second

// seeds chooses the seeds of the member with Service svc, or that it must not start.
func (o *Options) seeds(ctx context.Context, c client.Reader, svc *corev1.Service) (bootstrap.SeedChoice, error) {
	key := cluster.Key{Namespace: o.Namespace, Name: api.ClusterOf(svc.Labels)}
	if key.Name == "" {
		return bootstrap.SeedChoice{},
			waiting{fmt.Sprintf("label %s is missing on its member Service, so the other members are unknown",
				api.LabelCluster)}
	}
	objects, err := kube.Load(ctx, c, key, kube.LoadOptions{Source: cluster.SourceAuto, StatusReport: true,
		Member: o.Service})
	if err == nil {
		err = objects.Incomplete()
	}
	if _, ok := errors.AsType[*cluster.NotFoundError](err); ok {
		return bootstrap.SeedChoice{}, waiting{err.Error()}
	}
	if err != nil {
		return bootstrap.SeedChoice{}, fmt.Errorf("read the members that may be seeds: %w", err)
	}
	address, _ := option(o.Command, FlagBroadcastAddress)
	if address == "" {
		address, _ = option(o.Command, FlagListenAddress)
	}
	in := bootstrap.StartOf(cluster.New(objects, cluster.SourceAuto, o.Clock.Now()), o.Service)
	in.ByService = address != "" && address == svc.Spec.ClusterIP
	in.Address = cmp.Or(address, in.Member.SeedAddress(in.ByService))
	if o.DataDir != "" {
		if in.Volume, err = disk.Look(o.DataDir); err != nil {
			o.Log.WarnContext(ctx, "cannot read ScyllaDB's volume", "dir", o.DataDir, "error", err.Error())
		}
	}
	given, _ := option(o.Command, FlagSeeds)
	for s := range strings.SplitSeq(given, ",") {
		if s = strings.TrimSpace(s); s != "" && !o.meansMembers(ctx, s, &in) {
			in.External = append(in.External, s)
		}
	}
	return bootstrap.Seeds(in), nil
}

// meansMembers reports whether a name resolves only to addresses of members, such as the cluster's
// headless Service: chosen seeds replace it. ScyllaDB handles a name that does not resolve.
func (o *Options) meansMembers(ctx context.Context, host string, in *bootstrap.Start) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return false // package bootstrap compares addresses
	}
	resolve := o.Resolve
	if resolve == nil {
		resolve = net.DefaultResolver.LookupHost
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTime)
	defer cancel()
	addresses, err := resolve(ctx, host)
	if err != nil || len(addresses) == 0 {
		return false
	}
	return !slices.ContainsFunc(addresses, func(a string) bool {
		return a != in.Address &&
			!slices.ContainsFunc(in.Members, func(m *cluster.Member) bool { return m.SeedAddress(in.ByService) == a })
	})
}

// withSeeds returns the command with these seeds instead of its own.
func withSeeds(command, seeds []string) []string {
	var out []string
	for i := 0; i < len(command); i++ {
		switch {
		case command[i] == FlagSeeds:
			i++ // skip its value
		case strings.HasPrefix(command[i], FlagSeeds+"="):
		default:
			out = append(out, command[i])
		}
	}
	return append(out, FlagSeeds+"="+strings.Join(seeds, ","))
}

// again returns the command of a bootstrapped node. Its seeds are its peers' present addresses if
// the API server answers in time, because Pods change addresses. Otherwise the command is
// unchanged, because a restart must not depend on Kubernetes.
func (o *Options) again(ctx context.Context) []string {
	within, cancel := context.WithTimeout(ctx, restartTimeout)
	defer cancel()
	choice, err := o.restartSeeds(within)
	switch {
	case err != nil:
		o.Log.WarnContext(ctx, "seeds unchanged: cannot read the other members", "reason", err.Error())
	case choice.Code != words.SeedsFound:
		o.Log.InfoContext(ctx, "seeds unchanged: no other member has an address", "reason",
			words.Text(choice.Message()))
	default:
		o.Log.InfoContext(ctx, "seeds", "code", choice.Code, "seeds", choice.Seeds)
		return withSeeds(o.Command, choice.Seeds)
	}
	return o.Command
}

func (o *Options) restartSeeds(ctx context.Context) (bootstrap.SeedChoice, error) {
	c, err := o.Client()
	if err != nil {
		return bootstrap.SeedChoice{}, err
	}
	svc, err := o.service(ctx, c)
	if err != nil {
		return bootstrap.SeedChoice{}, err
	}
	return o.seeds(ctx, c, svc)
}
