// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
)

// maxQuery bounds what is read of the query's output; the right one has 30 bytes.
const maxQuery = 1 << 20

// readDisk learns what the volume says: by the query's output, by looking into it, and by which version of ScyllaDB was asked.
func (b *barrier) readDisk() {
	version, from, err := b.version()
	switch {
	case err != nil:
		b.Log.Info("the version of ScyllaDB is not known, taking the query's answer as it is", "reason", err.Error())
	default:
		b.Log.Info("version of ScyllaDB", "version", version.String(), "from", from)
	}

	stdout, err := readFile(b.QueryFile)
	switch {
	case err != nil:
		b.disk, b.diskDetail = bootstrap.BootstrappedUnknown, "no answer of the query: "+err.Error()
	default:
		code, cerr := exitCode(b.QueryFile + ".code")
		if cerr != nil {
			b.Log.Warn("exit code of the query is not known, taken as 0", "error", cerr.Error())
		}
		b.disk, b.diskDetail = bootstrap.ParseQuery(stdout, code)
	}
	if b.disk == bootstrap.BootstrappedNo || b.disk == bootstrap.BootstrappedUnknown {
		switch {
		case version.SupportsBootstrapSynchronisation() == scylla.SupportNo:
			b.disk = bootstrap.BootstrappedUnknown
			b.diskDetail = fmt.Sprintf("ScyllaDB %s is older than 2025.2.0 and has no sstable query: the data directory cannot be asked", version)
		case b.disk == bootstrap.BootstrappedUnknown && version.MishandlesNullBootstrapped() == scylla.SupportYes:
			b.diskDetail += fmt.Sprintf("; ScyllaDB %s fails on a node that has started and not joined, 2025.2.3 is mended", version)
		}
	}
	b.look(strings.Contains(string(stdout), `"bootstrapped"`))
	b.Log.Info("data directory", "bootstrapped", word(b.disk), "detail", b.diskDetail, "empty", b.dirEmpty)
}

func (b *barrier) version() (scylla.Version, string, error) {
	if b.Version != "" {
		v, err := scylla.ParseVersion(b.Version)
		return v, "flag --scylla-version", err
	}
	v, from, err := scylla.EffectiveVersion("", b.Image)
	return v, from, err
}

// look finds out whether there is anything in the volume, where it is mounted and may be read.
func (b *barrier) look(rowFound bool) {
	b.dirUsed = rowFound
	if b.DataDir == "" {
		return
	}
	found := errors.New("found")
	err := filepath.WalkDir(b.DataDir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "lost+found":
			return filepath.SkipDir // a new ext4 has it, and only root may look inside
		case !d.IsDir():
			return found
		}
		return nil
	})
	switch {
	case err == nil:
		b.dirEmpty = !rowFound
	case errors.Is(err, found):
		b.dirUsed = true
	case !errors.Is(err, fs.ErrNotExist):
		b.Log.Warn("cannot look into the data directory", "error", err.Error())
	}
}

// banned is the evidence that the cluster has banned the host ID of this very volume: an operation that was to make it a member and
// failed, and nobody who lists it. The recorded host ID may be that of an earlier volume, so nothing is concluded while this one may be new.
func (b *barrier) banned(s *kube.Snapshot, in bootstrap.Input) string {
	id := in.Self.HostID
	if !b.dirUsed || id == "" || s.StatusReport == nil {
		return ""
	}
	if in.Matrix != nil {
		if _, member := in.Matrix.Index(id); member {
			return ""
		}
	}
	if in.SelfJoined != nil && *in.SelfJoined {
		return ""
	}
	for _, op := range s.StatusReport.Status.Operations {
		if op.HostID != id || op.State != "failed" || (op.Type != "bootstrap" && op.Type != "replace") {
			continue
		}
		text := op.Type + " of host ID " + id + " failed"
		if op.Error != "" {
			text += ": " + op.Error
		}
		return text
	}
	return ""
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

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxQuery+1))
	switch {
	case err != nil:
		return nil, err
	case len(b) > maxQuery:
		return nil, fmt.Errorf("%s is larger than %d KiB", name, maxQuery>>10)
	}
	return b, nil
}

func exitCode(name string) (int, error) {
	b, err := readFile(name)
	if err != nil {
		return 0, err
	}
	code, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", name, err)
	}
	return code, nil
}
