// SPDX-License-Identifier: Apache-2.0

package support

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// Bounds of what Open reads. Pack writes nothing larger.
const (
	maxTotal     = 128 * mib // of all unpacked files together; kube.Read accepts no more
	maxPacked    = 64 * mib  // of the archive file
	maxFiles     = 1024
	maxDirectory = 4 * mib // of the zip directory, of maxGathered files
	maxEntry     = 1024    // of one file in it; a name of ours has at most 700 bytes
	maxManifest  = 4 * mib
)

// Saved is an opened file.
type Saved struct {
	// Manifest is nil for plain saved objects.
	Manifest *Manifest
	// TakenAt is the clock for ages: the reading time of an archive's objects, or the newest time
	// in plain saved objects. Zero without a time.
	TakenAt time.Time
	// Clusters are sorted by namespace and name. Those of plain saved objects are only snapshots.
	Clusters []*Cluster
	// Logs are those of ScyllaDB that were saved with plain objects, by Pod.
	Logs map[string][]byte
}

// Snapshots returns the snapshots of all clusters.
func (s *Saved) Snapshots() []*cluster.Cluster {
	out := make([]*cluster.Cluster, len(s.Clusters))
	for i, c := range s.Clusters {
		out[i] = c.Snapshot
	}
	return out
}

// Cluster returns the cluster of a snapshot, with any source of rows; nil without one.
func (s *Saved) Cluster(of *cluster.Cluster) *Cluster {
	for _, c := range s.Clusters {
		if c.Snapshot.Key == of.Key {
			return c
		}
	}
	return nil
}

// Age sets the age of the objects at now: old objects forbid steps that cannot be undone.
func (s *Saved) Age(now time.Time) {
	for _, c := range s.Clusters {
		c.Snapshot = c.Snapshot.Aged(now)
		if c.archived != nil {
			c.archived = c.archived.Aged(now)
		}
	}
}

// Use selects the source of rows for all clusters, as by --source. With the source of the archive
// the rows are the archive's. Error: the source is live, and there are no live rows.
func (s *Saved) Use(source cluster.Source) error {
	for _, c := range s.Clusters {
		if err := c.use(source); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) use(source cluster.Source) error {
	all := cmp.Or(c.archived, c.Snapshot)
	if source == cluster.SourceAuto && c.Requested == cluster.SourceLive {
		// The user had chosen to query the nodes; use the rows of the objects instead.
		objects := all.Objects
		objects.Live, objects.Facts = nil, nil
		c.Snapshot = cluster.New(objects, source, all.TakenAt)
		return nil
	}
	other, err := all.Using(source)
	if err != nil {
		return err
	}
	c.Snapshot = other
	return nil
}

// Open reads an archive, plain saved objects (see kube.Read), also compressed with gzip, or a tar
// or zip file of such objects, depending on the first bytes. An archive is not trusted: the error
// is why it is invalid, and nothing is written to disk.
func Open(r io.Reader) (*Saved, error) {
	b := bufio.NewReader(r)
	switch magic, _ := b.Peek(4); {
	case bytes.HasPrefix(magic, []byte("\x1f\x8b")):
		return openGzip(b)
	case !bytes.Equal(magic, []byte("PK\x03\x04")) && !bytes.Equal(magic, []byte("PK\x05\x06")):
		return newGathered().stream(b)
	}
	data, err := bounded.Limit{Bytes: maxPacked, Cure: `not an archive of "kubectl scylla report --archive"`}.Read(b,
		"the file")
	if err != nil {
		return nil, fmt.Errorf("read archive: %w", err)
	}
	s, err := open(data)
	if err != nil {
		return nil, fmt.Errorf("read archive: %w", err)
	}
	return s, nil
}

// checkDirectory bounds the directory of a zip file before it is parsed: each entry costs ten times
// its size in memory. It rejects what the format allows beyond our archives: a comment after the
// end record, zip64 records, and data before the first file. The zip reader therefore cannot find a
// directory other than the checked one.
func checkDirectory(data []byte) error {
	const record, locator = 22, 20
	end := len(data) - record
	if end < 0 || !bytes.HasPrefix(data[end:], []byte("PK\x05\x06")) || binary.LittleEndian.Uint16(data[end+20:]) != 0 {
		return errors.New("it does not end with a directory; copy it again, it is damaged or truncated")
	}
	files, size, from := binary.LittleEndian.Uint16(data[end+10:]), binary.LittleEndian.Uint32(data[end+12:]),
		binary.LittleEndian.Uint32(data[end+16:])
	switch {
	case int(files) > maxGathered:
		return fmt.Errorf("it has %d files, more than %d; %s", files, maxGathered, limitGathered.Cure)
	case size > min(maxDirectory, maxEntry*uint32(files)):
		return fmt.Errorf("its directory has %d bytes, too many for %d files", size, files)
	case int64(from)+int64(size) != int64(end) ||
		end >= locator && bytes.HasPrefix(data[end-locator:], []byte("PK\x06\x07")):
		return errors.New("its directory is not at the recorded offset; copy it again, it is damaged or truncated")
	}
	return nil
}

func open(data []byte) (*Saved, error) {
	if err := checkDirectory(data); err != nil {
		return nil, err
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("%w; copy it again, it is damaged or truncated", err)
	}
	if !slices.ContainsFunc(z.File, func(f *zip.File) bool { return f.Name == manifestName }) {
		return openZip(z.File)
	}
	if len(z.File) > maxFiles {
		return nil, fmt.Errorf("it has %d files, more than %d; it is not an archive that this tool wrote", len(z.File),
			maxFiles)
	}
	byName := map[string]*zip.File{}
	for _, f := range z.File {
		if err := checkName(f); err != nil {
			return nil, err
		}
		if byName[f.Name] != nil {
			return nil, fmt.Errorf("duplicate file %q", f.Name)
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
	return s, s.clusters(files, nil)
}

// checkName rejects names that are not plain relative file names.
func checkName(f *zip.File) error {
	name := f.Name
	switch {
	case name == "" || path.IsAbs(name) || path.Clean(name) != name || name == ".." || strings.HasPrefix(name, "../") ||
		strings.ContainsAny(name, "\\:\x00"):
		return fmt.Errorf("file name %q points outside the archive", name)
	case !f.Mode().IsRegular():
		return fmt.Errorf("%q is not a plain file", name)
	case f.Method != zip.Deflate && f.Method != zip.Store:
		return fmt.Errorf("file %q has an unknown compression method", name)
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
		return nil, fmt.Errorf("%s is %s %s, this version reads %s %s; use the version that wrote it (%s)",
			manifestName, m.APIVersion, m.Kind, APIVersion, Kind, m.CreatedBy.Version)
	}
	return &m, nil
}

// readFiles unpacks the files that the manifest lists, and rejects others.
func readFiles(byName map[string]*zip.File, m *Manifest) (map[string][]byte, error) {
	files := map[string][]byte{}
	left := int64(maxTotal)
	for _, entry := range m.Files {
		f := byName[entry.Name]
		if f == nil {
			return nil, fmt.Errorf("file %q is in the manifest, but not in the archive", entry.Name)
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
			return nil, fmt.Errorf("file %q does not match the manifest: it was changed", entry.Name)
		}
		files[entry.Name] = data
	}
	for name := range byName {
		if name != manifestName && files[name] == nil {
			return nil, fmt.Errorf("file %q is not in the manifest: it was added", name)
		}
	}
	return files, nil
}

// unpack returns a file's content of at most most bytes; it ignores the archive's size field.
func unpack(f *zip.File, most int64) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("unpack %q: %w", f.Name, err)
	}
	defer func() { _ = r.Close() }() // read-only
	limit := bounded.Limit{Bytes: max(most, 0),
		Cure: "copy it again, or create it again: it exceeds the maximum size of our archives"}
	data, err := limit.Read(r, "its content")
	if bounded.IsTooLarge(err) {
		return nil, fmt.Errorf("unpack %q: larger than expected: %w", f.Name, err)
	}
	if err != nil {
		return nil, fmt.Errorf("unpack %q: %w", f.Name, err)
	}
	if data == nil {
		data = []byte{}
	}
	return data, nil
}
