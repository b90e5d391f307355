// SPDX-License-Identifier: Apache-2.0

package support

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
)

// Limits of a directory, or of an archive that is not ours, such as the Scylla Operator's
// must-gather and `kubectl cluster-info dump`.
const (
	maxGathered = 20_000   // files
	maxLog      = 16 * mib // of one log; the rest of it is left out
)

var limitGathered = bounded.Limit{Bytes: 2 * maxTotal, Cure: "remove the objects and logs of other namespaces"}

// gathered collects the objects of many files, one or several in each, and the logs of ScyllaDB.
type gathered struct {
	names   []string
	objects map[string][]byte                // by file
	logs    map[string]*[len(runs)][]byte    // by Pod
	printed map[cluster.Key]cluster.Gathered // output of commands, by namespace and Pod
	files   int
	left    int64
}

// runs are the logs of a container, the oldest first: its first error is the cause.
var runs = [...]string{".terminated", ".previous", ".current"}

func newGathered() *gathered {
	return &gathered{objects: map[string][]byte{}, logs: map[string]*[len(runs)][]byte{},
		printed: map[cluster.Key]cluster.Gathered{}, left: limitGathered.Bytes}
}

// add reads one file. Objects are in files of YAML or JSON, and a log is CONTAINER.current,
// .previous or .terminated in the directory of its Pod, or logs.txt of cluster-info dump. Other
// files are not read.
func (g *gathered) add(name string, r io.Reader) error {
	if g.files++; g.files > maxGathered {
		return &bounded.TooLargeError{What: "it", Limit: fmt.Sprintf("%d files", maxGathered), Cure: limitGathered.Cure}
	}
	dir, file := path.Split(path.Clean(name))
	container, run := strings.TrimSuffix(file, path.Ext(file)), path.Ext(file)
	switch {
	case file == nodetoolFile || file == dfFile:
		text, err := g.read(name, io.LimitReader(r, maxPrinted))
		// NAMESPACE/pods/POD/FILE
		pod := cluster.Key{Namespace: path.Base(path.Dir(path.Dir(path.Clean(dir)))), Name: path.Base(dir)}
		g.printed[pod] = takePrinted(g.printed[pod], file, string(text))
		return err
	case file == "io_properties.yaml": // of ScyllaDB, copied by must-gather
	case slices.Contains([]string{".yaml", ".yml", ".json"}, run):
		data, err := g.read(name, r)
		if err == nil {
			g.names = append(g.names, name)
			g.objects[name] = data
		}
		return err
	case container == api.ContainerScyllaDB && slices.Contains(runs[:], run):
		log, err := g.read(name, io.LimitReader(r, maxLog))
		g.log(path.Base(dir), slices.Index(runs[:], run), log)
		return err
	case file == "logs.txt":
		data, err := g.read(name, r)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, g.withoutLogs(bytes.NewReader(data)))
		return err
	}
	return nil
}

// read returns the file within what is left of the limit of all.
func (g *gathered) read(name string, r io.Reader) ([]byte, error) {
	data, err := bounded.Limit{Bytes: max(g.left, 0), Cure: limitGathered.Cure}.Read(r, "file "+name)
	g.left -= int64(len(data))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("read file %s: %w; copy it again, it is damaged or truncated", name, err)
	} else if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	return data, nil
}

// log adds the log of a run of a Pod's ScyllaDB.
func (g *gathered) log(pod string, run int, log []byte) {
	if pod == "" || len(log) == 0 {
		return
	}
	if g.logs[pod] == nil {
		g.logs[pod] = &[len(runs)][]byte{}
	}
	g.logs[pod][run] = append(log, '\n')
}

// joined returns the logs of each Pod as one.
func (g *gathered) joined() map[string][]byte {
	out := map[string][]byte{}
	for pod, logs := range g.logs {
		out[pod] = bytes.Join(logs[:], nil)
	}
	return out
}

// saved decodes the objects. An error names the file.
func (g *gathered) saved() (*Saved, error) {
	if len(g.names) == 0 {
		return nil, errors.New(`it has no objects in files of YAML or JSON, and is not an archive of "kubectl scylla ` +
			`report --archive" (no manifest.json); check the path after --from`)
	}
	slices.Sort(g.names)
	var all []io.Reader
	for _, name := range g.names {
		all = append(all, strings.NewReader("\n---\n"), bytes.NewReader(g.objects[name]))
	}
	s, err := plain(io.MultiReader(all...))
	if err != nil {
		for _, name := range g.names {
			_, cause := kube.Read(bytes.NewReader(g.objects[name]))
			if cause != nil && !errors.Is(cause, kube.ErrNoCluster) {
				return nil, fmt.Errorf("%s: %w", name, cause)
			}
		}
		return nil, err
	}
	s.Logs = g.joined()
	for _, c := range s.Clusters {
		of := map[string]cluster.Gathered{}
		for pod, printed := range g.printed {
			if pod.Namespace == c.Snapshot.Namespace {
				of[pod.Name] = printed
			}
		}
		if len(of) > 0 {
			c.Snapshot = c.Snapshot.WithGathered(of)
		}
	}
	return s, nil
}

// plain decodes saved objects.
func plain(r io.Reader) (*Saved, error) {
	snapshots, err := kube.Read(r)
	if err != nil {
		return nil, err
	}
	s := &Saved{}
	for _, one := range snapshots {
		s.TakenAt = one.SavedAt // one time for the whole file
		s.Clusters = append(s.Clusters, &Cluster{Snapshot: cluster.New(one, cluster.SourceAuto, one.SavedAt),
			Requested: cluster.SourceAuto})
	}
	return s, nil
}

// OpenDirectory reads the objects and logs of a directory.
func OpenDirectory(root fs.FS) (*Saved, error) {
	g := newGathered()
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // read-only
		return g.add(name, f)
	})
	if err != nil {
		return nil, fmt.Errorf("read directory: %w", err)
	}
	return g.saved()
}

// openGzip reads a compressed file: a tar archive, or saved objects.
func openGzip(r io.Reader) (*Saved, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("decompress: %w; copy it again, it is damaged or truncated", err)
	}
	b := bufio.NewReaderSize(limitGathered.Reader(z, "the decompressed file"), 512)
	g := newGathered()
	if head, _ := b.Peek(262); len(head) < 262 || string(head[257:]) != "ustar" {
		return g.stream(b)
	}
	for archive := tar.NewReader(b); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return g.saved()
		} else if err != nil {
			return nil, fmt.Errorf("read archive: %w; copy it again, it is damaged or truncated", err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if err := g.add(h.Name, archive); err != nil {
			return nil, fmt.Errorf("read archive: %w", err)
		}
	}
}

// openZip reads a zip file that is not an archive of ours.
func openZip(files []*zip.File) (*Saved, error) {
	g := newGathered()
	for _, f := range files {
		r, err := f.Open()
		if err != nil {
			return nil, fmt.Errorf("unpack %q: %w", f.Name, err)
		}
		err = g.add(f.Name, r)
		_ = r.Close() // read-only
		if err != nil {
			return nil, err
		}
	}
	return g.saved()
}

// stream reads saved objects, with or without the logs of cluster-info dump between them.
func (g *gathered) stream(r io.Reader) (*Saved, error) {
	s, err := plain(g.withoutLogs(r))
	if err == nil && len(g.logs) > 0 {
		s.Logs = g.joined()
	}
	return s, err
}

// Lines of cluster-info dump around the log of a container (kubectl, clusterinfo_dump.go).
const (
	logStarts = "==== START logs for container "
	logEnds   = "==== END logs for container "
)

// logFilter reads a text without the logs in it, which go to g.
type logFilter struct {
	g    *gathered
	r    *bufio.Reader
	pod  string // of the current log; empty outside
	log  []byte
	open bool // within a line of objects
}

func (g *gathered) withoutLogs(r io.Reader) io.Reader {
	return &logFilter{g: g, r: bufio.NewReaderSize(r, 64<<10)}
}

// Read implements io.Reader. It returns at most one line.
func (f *logFilter) Read(p []byte) (int, error) {
	for {
		if f.open || f.pod == "" && !f.begins(logStarts) {
			part, err := f.r.Peek(1)
			if len(part) == 0 {
				return 0, err
			}
			part, _ = f.r.Peek(min(len(p), f.r.Buffered()))
			n := copy(p, part[:len(part)-len(after(part))])
			_, _ = f.r.Discard(n) // peeked
			f.open = n > 0 && p[n-1] != '\n'
			return n, nil
		}
		line, err := f.r.ReadBytes('\n')
		switch text := strings.TrimSpace(string(line)); {
		case strings.HasPrefix(text, logStarts):
			name := strings.TrimSuffix(strings.TrimPrefix(text, logStarts), " ====")
			container, pod, _ := strings.Cut(name, " of pod ")
			if f.pod, f.log = "-", nil; container == api.ContainerScyllaDB {
				f.pod = path.Base(pod)
			}
		case strings.HasPrefix(text, logEnds):
			if f.pod != "-" {
				f.g.log(f.pod, len(runs)-1, f.log)
			}
			f.pod, f.log = "", nil
		case f.pod != "-" && len(f.log) < maxLog:
			f.log = append(f.log, line...)
		}
		if err != nil {
			return 0, err
		}
	}
}

func (f *logFilter) begins(with string) bool {
	head, _ := f.r.Peek(len(with))
	return string(head) == with
}

// after returns what follows the first line.
func after(text []byte) []byte {
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		return text[i+1:]
	}
	return nil
}
