// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/disk"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/gate"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// self returns the facts of this Pod. It reads the state of the volume: from the output of the
// query, the files on the volume, and the version of ScyllaDB that ran the query.
func (b *barrier) self() gate.Self {
	s := gate.Self{
		Namespace: b.Namespace, Member: b.Service, Pod: b.Pod, Claim: b.PVC, Policy: b.Policy,
		Stabilisation: b.Stabilisation, WhenSilent: b.WhenSilent, AllowNonReporting: b.AllowNonReporting,
		Launcher: b.Launcher != nil, Just: b.Launcher != nil && b.Launcher.Just,
	}
	version, from, err := b.version()
	switch {
	case err != nil:
		b.Log.Info("the version of ScyllaDB is unknown, using the result of the query unchanged", "reason", err.Error())
	default:
		s.Version = &version
		b.Log.Info("version of ScyllaDB", "version", version.String(), "from", from)
	}

	query := disk.ReadQuery(b.QueryFile)
	s.Disk, s.DiskDetail, s.VolumeHostID = query.Bootstrapped, query.Detail, query.HostID
	if s.Disk == bootstrap.BootstrappedNo || s.Disk == bootstrap.BootstrappedUnknown {
		switch {
		case version.SupportsBootstrapSynchronisation() == release.No:
			s.Disk = bootstrap.BootstrappedUnknown
			s.DiskDetail = words.New(words.ScyllaDBWithoutQuery, "version", version.String())
		case s.Disk == bootstrap.BootstrappedUnknown && version.MishandlesNullBootstrapped() == release.Yes:
			s.DiskDetail = words.New(words.ScyllaDBQueryFailsOnNull, "detail", s.DiskDetail, "version",
				version.String())
		}
	}
	s.Volume, s.VolumeDetail = look(b.DataDir)
	if query.HasRow {
		s.Volume = bootstrap.VolumeUsed
	}
	b.Log.Info("data directory", "bootstrapped", word(s.Disk), "detail", words.Text(s.DiskDetail), "volume",
		volumeWord(s.Volume),
		"why", words.Text(s.VolumeDetail), "hostID", s.VolumeHostID)
	return s
}

func (b *barrier) version() (release.Version, string, error) {
	if b.Version != "" {
		v, err := release.Parse(b.Version)
		return v, "flag --scylla-version", err
	}
	v, from, err := release.Effective("", b.Image)
	return v, from, err
}

// look returns whether the volume has ScyllaDB's files, or why it is unreadable.
func look(dir string) (bootstrap.Volume, words.Message) {
	if dir == "" {
		return bootstrap.VolumeUnreadable, words.New(words.VolumeNotNamed)
	}
	v, err := disk.Look(dir)
	if err != nil {
		return v, words.New(words.VolumeNotRead, "dir", dir, "error", err.Error())
	}
	return v, words.Message{}
}

// ownVolumeTimeout bounds the check of the volume's owner at the API server. After it, a
// bootstrapped volume opens unchecked.
const ownVolumeTimeout = 5 * time.Second

// ownVolume compares the host ID of a bootstrapped volume with the Services' records and the peers.
// If it is another member's, the start is not a restart. Without an answer in time the volume opens
// alone: a restart must work while the API server is unreachable.
func (b *barrier) ownVolume(ctx context.Context, v bootstrap.Verdict) bootstrap.Verdict {
	ctx, cancel := context.WithTimeout(ctx, ownVolumeTimeout)
	defer cancel()
	known, err := b.compareVolume(ctx)
	switch {
	case err != nil:
		b.Log.Warn("volume owner not verified; using the host ID on the volume", "hostID", b.gate.VolumeHostID, "error",
			gate.OneLine(err))
		return v
	case known.Decision == bootstrap.DecisionRefuse:
		return known
	}
	return v
}

func (b *barrier) compareVolume(ctx context.Context) (bootstrap.Verdict, error) {
	c, err := b.NewClient()
	if err != nil {
		return bootstrap.Verdict{}, err
	}
	b.client = c
	key, trouble := b.key(ctx)
	if trouble != nil {
		return b.compareNames(ctx, *trouble)
	}
	objects, err := kube.Load(ctx, c, key, kube.LoadOptions{Source: cluster.SourceReport, NoPods: true,
		StatusReport: true,
		Member:       b.Service})
	if err != nil {
		return bootstrap.Verdict{}, err
	}
	in, err := b.gate.Input(cluster.New(objects, cluster.SourceReport, b.Clock.Now()))
	if err != nil {
		return b.compareNames(ctx, gate.NoService(words.Clean(err.Error()), words.Message{}))
	}
	return bootstrap.Decide(in), nil
}

// compareNames is for a member whose Service, and so its cluster, is unknown. It searches the
// Services of the namespace for the volume's host ID.
func (b *barrier) compareNames(ctx context.Context, trouble matrix.Blocker) (bootstrap.Verdict, error) {
	if trouble.Reason == words.APIUnreachable {
		return bootstrap.Verdict{}, errors.New(words.Aging(trouble.Message(), trouble.Since, time.Time{}))
	}
	in := bootstrap.Input{
		Member: &cluster.Member{Ref: cluster.Place(b.Service, nil), Namespace: b.Namespace}, Disk: b.gate.Disk,
		DiskDetail: b.gate.DiskDetail, VolumeHostID: b.gate.VolumeHostID,
	}
	var list corev1.ServiceList
	if err := b.client.List(ctx, &list, client.InNamespace(b.Namespace),
		client.MatchingLabels{api.LabelServiceType: api.ServiceTypeMember}); err != nil {
		return bootstrap.Verdict{}, err
	}
	for i := range list.Items {
		s := &list.Items[i]
		m := &cluster.Member{Ref: cluster.Place(s.Name, s.Labels), Namespace: b.Namespace, Service: s}
		if s.Name == b.Service {
			in.Member = m
			continue
		}
		in.Peers = append(in.Peers, m)
	}
	return bootstrap.Decide(in), nil
}

func volumeWord(v bootstrap.Volume) string {
	switch v {
	case bootstrap.VolumeUnreadable:
		return "not readable"
	case bootstrap.VolumeEmpty:
		return "no ScyllaDB files"
	case bootstrap.VolumeUsed:
		return "has ScyllaDB files"
	}
	return "not checked"
}

func word(d bootstrap.Bootstrapped) string {
	switch d {
	case bootstrap.BootstrappedNo:
		return "no"
	case bootstrap.BootstrappedYes:
		return "yes"
	case bootstrap.BootstrappedDecommissioned:
		return "decommissioned"
	}
	return "unknown"
}
