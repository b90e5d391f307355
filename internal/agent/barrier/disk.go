// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"errors"
	"io/fs"
	"os"

	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/disk"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/gate"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// self returns the facts of this Pod. It reads the state of the volume: from the output of the
// query, the files on the volume, and the version of ScyllaDB that ran the query.
func (b *barrier) self() gate.Self {
	s := gate.Self{
		Namespace: b.Namespace, Member: b.Service, Pod: b.Pod, Claim: b.PVC, Policy: b.Policy,
		Stabilisation: b.Stabilisation, AllowNonReporting: b.AllowNonReporting,
		Launcher: b.Launcher, Just: b.Just, Annotation: b.Annotation,
	}
	version, from, err := release.Effective(b.Version, b.Image)
	if err != nil {
		b.Log.Info("the version of ScyllaDB is unknown, using the result of the query unchanged", "reason", err.Error())
	} else {
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
	s.WasEmpty = b.remember(s.Volume == bootstrap.VolumeEmpty)
	b.Log.Info("data directory", "bootstrapped", s.Disk.String(), "detail", words.Text(s.DiskDetail), "volume",
		s.Volume.String(), "why", words.Text(s.VolumeDetail), "hostID", s.VolumeHostID)
	return s
}

// remember keeps, in a file next to the query's output, whether the barrier of this Pod has found
// the volume empty, and returns it. The init containers run again if the machine has been off.
func (b *barrier) remember(empty bool) bool {
	file := b.QueryFile + ".empty"
	var err error
	switch {
	case b.Launcher:
		_, err = os.Stat(file)
		return err == nil
	case empty:
		err = os.WriteFile(file, nil, 0o600)
	default:
		err = os.Remove(file)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.Log.Warn("cannot record whether the volume is empty", "file", file, "error", err.Error())
	}
	return empty
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
