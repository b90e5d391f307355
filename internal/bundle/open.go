// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"archive/zip"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
)

// Bounds of what Open reads. Nothing larger is ever written by Pack.
const (
	maxTotal    = 192 * mib // of all files together, unpacked
	maxPacked   = 128 * mib // of the file itself
	maxFiles    = 1024
	maxManifest = 4 * mib
)

// Saved is what was opened.
type Saved struct {
	// Manifest is nil for plain saved objects.
	Manifest *Manifest
	// TakenAt is when the objects were read: the clock for ages. Zero for plain saved objects, whose age nobody knows.
	TakenAt time.Time
	// Clusters, sorted by namespace and name. Of plain saved objects they hold no more than the snapshot.
	Clusters []*Cluster
}

// Snapshots of all clusters.
func (s *Saved) Snapshots() []*kube.Snapshot {
	out := make([]*kube.Snapshot, len(s.Clusters))
	for i, c := range s.Clusters {
		out[i] = c.Snapshot
	}
	return out
}

// Cluster finds what belongs to a snapshot; nil when it is none of these.
func (s *Saved) Cluster(of *kube.Snapshot) *Cluster {
	for _, c := range s.Clusters {
		if c.Snapshot == of {
			return c
		}
	}
	return nil
}

// Use chooses the source of rows for all clusters, as --source asks. Asked for the source that an archive was taken with, it gives the very answer of
// then. Error: live rows are asked for and there are none.
func (s *Saved) Use(source kube.Source) error {
	for _, c := range s.Clusters {
		if err := c.use(source); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) use(source kube.Source) error {
	if c.asArchived.source != "" && source == c.Requested {
		c.Snapshot.Source, c.Snapshot.SourceReason = c.asArchived.source, c.asArchived.reason
		return nil
	}
	return c.Snapshot.Use(source)
}

// Open reads an archive or plain saved objects (see kube.Read), whichever it is, from anywhere. An archive is not trusted: errors say what is wrong
// with it, and nothing is ever written to a disk.
func Open(r io.Reader) (*Saved, error) {
	b := bufio.NewReader(r)
	if magic, _ := b.Peek(4); !bytes.Equal(magic, []byte("PK\x03\x04")) && !bytes.Equal(magic, []byte("PK\x05\x06")) {
		snapshots, err := kube.Read(b)
		if err != nil {
			return nil, err
		}
		s := &Saved{}
		for _, one := range snapshots {
			s.Clusters = append(s.Clusters, &Cluster{Snapshot: one, Requested: kube.SourceAuto})
		}
		return s, nil
	}
	data, err := io.ReadAll(io.LimitReader(b, maxPacked+1))
	if err != nil {
		return nil, fmt.Errorf("read archive: %w", err)
	}
	if len(data) > maxPacked {
		return nil, fmt.Errorf("read archive: it is more than %s, no archive of ours is", size(maxPacked))
	}
	s, err := open(data)
	if err != nil {
		return nil, fmt.Errorf("read archive: %w", err)
	}
	return s, nil
}

func open(data []byte) (*Saved, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("%w; copy it again, it is broken or cut off", err)
	}
	if len(z.File) > maxFiles {
		return nil, fmt.Errorf("it has %d files, more than %d", len(z.File), maxFiles)
	}
	byName := map[string]*zip.File{}
	for _, f := range z.File {
		if err := checkName(f); err != nil {
			return nil, err
		}
		if byName[f.Name] != nil {
			return nil, fmt.Errorf("file %q is in it twice", f.Name)
		}
		byName[f.Name] = f
	}
	m, err := readManifest(byName)
	if err != nil {
		return nil, err
	}
	files, err := readFiles(byName, m)
	if err != nil {
		return nil, err
	}
	s := &Saved{Manifest: m}
	return s, s.clusters(files)
}

// checkName refuses whatever is not a plain file with a plain name.
func checkName(f *zip.File) error {
	name := f.Name
	switch {
	case name == "" || path.IsAbs(name) || path.Clean(name) != name || name == ".." || strings.HasPrefix(name, "../") || strings.ContainsAny(name, "\\:\x00"):
		return fmt.Errorf("file name %q leads out of it", name)
	case !f.Mode().IsRegular():
		return fmt.Errorf("%q is not a plain file", name)
	case f.Method != zip.Deflate && f.Method != zip.Store:
		return fmt.Errorf("file %q is compressed in a way that is not known here", name)
	}
	return nil
}

func readManifest(byName map[string]*zip.File) (*Manifest, error) {
	f := byName[manifestName]
	if f == nil {
		return nil, errors.New(`it has no manifest.json, so it is not an archive of "kubectl scylla report --archive"`)
	}
	data, err := unpack(f, maxManifest)
	if err != nil {
		return nil, err
	}
	var m Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("decode %s: %w", manifestName, err)
	}
	if m.APIVersion != APIVersion || m.Kind != Kind {
		return nil, fmt.Errorf("%s is %s %s, this version reads %s %s; use the version that wrote it (%s)", manifestName, m.APIVersion, m.Kind, APIVersion, Kind, m.CreatedBy.Version)
	}
	return &m, nil
}

// readFiles unpacks what the manifest lists, and refuses what it does not.
func readFiles(byName map[string]*zip.File, m *Manifest) (map[string][]byte, error) {
	files := map[string][]byte{}
	left := int64(maxTotal)
	for _, entry := range m.Files {
		f := byName[entry.Name]
		if f == nil {
			return nil, fmt.Errorf("file %q is in the manifest and not in the archive", entry.Name)
		}
		if files[entry.Name] != nil || entry.Name == manifestName {
			return nil, fmt.Errorf("file %q is in the manifest twice", entry.Name)
		}
		data, err := unpack(f, min(left, entry.Size))
		if err != nil {
			return nil, err
		}
		left -= int64(len(data))
		if sum := sha256.Sum256(data); int64(len(data)) != entry.Size || hex.EncodeToString(sum[:]) != entry.SHA256 {
			return nil, fmt.Errorf("file %q is not what the manifest says: somebody changed it", entry.Name)
		}
		files[entry.Name] = data
	}
	for name := range byName {
		if name != manifestName && files[name] == nil {
			return nil, fmt.Errorf("file %q is not in the manifest: somebody added it", name)
		}
	}
	return files, nil
}

// unpack reads a file of at most so many bytes; what the archive says of its size does not matter.
func unpack(f *zip.File, most int64) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("unpack %q: %w", f.Name, err)
	}
	defer func() { _ = r.Close() }() // nothing was written
	data, err := io.ReadAll(io.LimitReader(r, max(most, 0)+1))
	if err != nil {
		return nil, fmt.Errorf("unpack %q: %w", f.Name, err)
	}
	if int64(len(data)) > most {
		return nil, fmt.Errorf("unpack %q: it is bigger than it should be (%s)", f.Name, size(max(most, 0)))
	}
	if data == nil {
		data = []byte{}
	}
	return data, nil
}

// clusters makes snapshots of the files.
func (s *Saved) clusters(files map[string][]byte) error {
	if s.Manifest.TakenAt != nil {
		s.TakenAt = s.Manifest.TakenAt.Time
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		dir, isSaid := strings.CutSuffix(name, saidName)
		if !isSaid || !strings.HasPrefix(dir, clustersDir) {
			continue
		}
		c, err := restore(dir, files)
		if err != nil {
			return err
		}
		s.Clusters = append(s.Clusters, c)
	}
	if len(s.Clusters) == 0 {
		return errors.New("there is no cluster in it")
	}
	return nil
}

func restore(dir string, files map[string][]byte) (*Cluster, error) {
	var was said
	if err := json.Unmarshal(files[dir+saidName], &was); err != nil {
		return nil, fmt.Errorf("decode %s: %w", dir+saidName, err)
	}
	var objects bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(files)) {
		base, mine := strings.CutPrefix(name, dir)
		if !mine || strings.Contains(base, "/") || !strings.HasSuffix(base, ".json") || slices.Contains([]string{saidName, eventsName, waitingName}, base) {
			continue
		}
		data := files[name]
		if was.Unlabelled {
			var err error
			if data, err = label(data, was.Name); err != nil {
				return nil, fmt.Errorf("decode %s: %w", name, err)
			}
		}
		objects.Write(data)
		objects.WriteString("\n")
	}
	snapshots, err := kube.Read(&objects)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.TrimSuffix(dir, "/"), err)
	}
	if len(snapshots) != 1 || snapshots[0].Key() != was.ClusterKey {
		return nil, fmt.Errorf("%s does not hold the objects of cluster %s and of no other", strings.TrimSuffix(dir, "/"), was.ClusterKey)
	}
	snap := snapshots[0]
	snap.Offline, snap.Problems, snap.Notes, snap.Live, snap.Facts = was.Offline, was.Problems, was.Notes, was.Live, was.Facts
	for member, row := range snap.Live {
		if row == nil {
			delete(snap.Live, member)
		}
	}
	if was.TakenAt != nil {
		snap.TakenAt = *was.TakenAt
	}
	c := &Cluster{Snapshot: snap, Requested: was.Requested, Conditions: was.Conditions, Kubernetes: was.Kubernetes, LeftOut: was.LeftOut}
	source, err := kube.ParseSource(string(was.Source))
	if err != nil || source == kube.SourceAuto || source == kube.SourceLive && snap.Live == nil {
		return nil, fmt.Errorf("decode %s: source %q cannot be", dir+saidName, was.Source)
	}
	c.asArchived.source, c.asArchived.reason = source, was.SourceReason
	snap.Source, snap.SourceReason = source, was.SourceReason
	if data, ok := files[dir+eventsName]; ok {
		var list corev1.EventList
		if err := json.Unmarshal(data, &list); err != nil {
			return nil, fmt.Errorf("decode %s: %w", dir+eventsName, err)
		}
		c.Events = list.Items
	}
	if data, ok := files[dir+waitingName]; ok {
		if err := json.Unmarshal(data, &c.Waiting); err != nil {
			return nil, fmt.Errorf("decode %s: %w", dir+waitingName, err)
		}
	}
	// Whatever was asked for then, nobody asked for anything yet now.
	if err := c.use(kube.SourceAuto); err != nil {
		return nil, err
	}
	return c, nil
}

// label marks the objects of a List as the cluster's, which then was found without the label.
func label(data []byte, cluster string) ([]byte, error) {
	var list map[string]any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&list); err != nil {
		return nil, err
	}
	items, _ := list["items"].([]any)
	for _, item := range items {
		object, _ := item.(map[string]any)
		meta, _ := object["metadata"].(map[string]any)
		if meta == nil {
			continue
		}
		labels, _ := meta["labels"].(map[string]any)
		if labels == nil {
			labels = map[string]any{}
			meta["labels"] = labels
		}
		labels[api.LabelCluster] = cluster
	}
	return json.Marshal(list)
}
