// SPDX-License-Identifier: Apache-2.0

package support_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/support"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

const gatheredMember = "demo-dc1-rack3-0"

// mustGather has the files of the Scylla Operator's must-gather: one object in each, and logs.
func mustGather(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{
		"mg/namespaces/demo/pods/" + gatheredMember + "/scylla.current":      []byte("INFO  2026-11-21 11:50:00,000 [shard 0:main] init - later\n"),
		"mg/namespaces/demo/pods/" + gatheredMember + "/scylla.previous":     []byte("ERROR 2026-11-21 11:40:00,000 [shard 0:main] init - first\n"),
		"mg/namespaces/demo/pods/" + gatheredMember + "/agent.current":       []byte("not ScyllaDB's\n"),
		"mg/namespaces/demo/pods/" + gatheredMember + "/io_properties.yaml":  []byte("disks:\n  - mountpoint: /var/lib/scylla\n"),
		"mg/scylla-operator-must-gather.log":                                 []byte("I1121 11:50:00 gathering\n"),
		"mg/namespaces/demo/configmaps/other.yaml":                           []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: other\n  namespace: demo\n"),
		"mg/namespaces/demo/pods/" + gatheredMember + "/nodetool-status.log": []byte("Datacenter: dc1\n"),
	}
	for _, o := range plugintest.New(3, 1).Down(gatheredMember).Objects() {
		kind := fmt.Sprintf("%T", o)
		out["mg/namespaces/demo/"+strings.ToLower(kind[strings.Index(kind, ".")+1:])+"s/"+o.GetName()+".yaml"] = plugintest.SavedYAML(t, []client.Object{o})
	}
	return out
}

func tgz(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(files[name]))}); err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write(files[name])
	}
	_, _ = w.Close(), z.Close()
	return b.Bytes()
}

func zipOf(files map[string][]byte) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, _ := w.Create(name) // into memory
		_, _ = f.Write(files[name])
	}
	_ = w.Close()
	return b.Bytes()
}

func gz(text []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(text)
	_ = z.Close()
	return b.Bytes()
}

// dump is what cluster-info dump prints: Lists as JSON, and the logs between them.
func dump(t *testing.T, parts string) []byte {
	t.Helper()
	objects := slices.DeleteFunc(plugintest.New(3, 1).Down(gatheredMember).Objects(), func(o client.Object) bool { _, is := o.(*corev1.Pod); return !is })
	return append(plugintest.SavedYAML(t, objects), []byte(parts)...)
}

const dumped = "\n==== START logs for container scylla of pod demo/" + gatheredMember + " ====\nERROR 2026-11-21 11:40:00,000 [shard 0:main] init - first\n{\"kind\": \"Pod\"}\n---\n" +
	"==== END logs for container scylla of pod demo/" + gatheredMember + " ====\n==== START logs for container agent of pod demo/x ====\nno\n==== END logs for container agent of pod demo/x ====\n"

// TestOpenWhatOthersGather: every form in which a must-gather or a cluster-info dump is kept has the same cluster, and the logs of ScyllaDB, the oldest run first.
func TestOpenWhatOthersGather(t *testing.T) {
	t.Parallel()
	files, dir := mustGather(t), t.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	many := maps.Clone(files) // as many Pods of the Scylla Operator's namespaces write
	for i := range 2000 {
		many[fmt.Sprintf("mg/namespaces/scylla-operator/pods/p%d/x.current", i)] = []byte("log\n")
	}
	const both = "ERROR 2026-11-21 11:40:00,000 [shard 0:main] init - first\n\nINFO  2026-11-21 11:50:00,000 [shard 0:main] init - later\n\n"
	for what, tc := range map[string]struct {
		open func() (*support.Saved, error)
		log  string
	}{
		"a directory":   {func() (*support.Saved, error) { return support.OpenDirectory(os.DirFS(dir)) }, both},
		"a .tgz":        {func() (*support.Saved, error) { return support.Open(bytes.NewReader(tgz(t, files))) }, both},
		"a .zip":        {func() (*support.Saved, error) { return support.Open(bytes.NewReader(zipOf(files))) }, both},
		"a large .zip":  {func() (*support.Saved, error) { return support.Open(bytes.NewReader(zipOf(many))) }, both},
		"a .gz":         {func() (*support.Saved, error) { return support.Open(bytes.NewReader(gz(dump(t, "")))) }, ""},
		"a dump":        {func() (*support.Saved, error) { return support.Open(bytes.NewReader(dump(t, dumped))) }, "ERROR 2026-11-21 11:40:00,000 [shard 0:main] init - first\n{\"kind\": \"Pod\"}\n---\n\n"},
		"a dump, .gz":   {func() (*support.Saved, error) { return support.Open(bytes.NewReader(gz(dump(t, dumped)))) }, "ERROR 2026-11-21 11:40:00,000 [shard 0:main] init - first\n{\"kind\": \"Pod\"}\n---\n\n"},
		"byte for byte": {func() (*support.Saved, error) { return support.Open(&slow{dump(t, dumped)}) }, "ERROR 2026-11-21 11:40:00,000 [shard 0:main] init - first\n{\"kind\": \"Pod\"}\n---\n\n"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s, err := tc.open()
			if err != nil {
				t.Fatal(err)
			}
			if len(s.Clusters) != 1 || len(s.Clusters[0].Snapshot.Pods) != 3 {
				t.Fatalf("%d clusters", len(s.Clusters))
			}
			if diff := cmp.Diff(tc.log, string(s.Logs[gatheredMember])); diff != "" || len(s.Logs) > 1 {
				t.Errorf("%d logs (-want +got):\n%s", len(s.Logs), diff)
			}
		})
	}
}

// slow gives one byte at a time.
type slow struct{ left []byte }

func (s *slow) Read(p []byte) (int, error) {
	if len(s.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:1], s.left)
	s.left = s.left[n:]
	return n, nil
}

// TestGatheredErrorsNameTheFile: of many files the one that is wrong is named, and a damaged archive is.
func TestGatheredErrorsNameTheFile(t *testing.T) {
	t.Parallel()
	wrong := mustGather(t)
	wrong["mg/namespaces/demo/pods/bad.yaml"] = []byte("kind: Pod\nmetadata: [\n")
	whole := tgz(t, mustGather(t))
	for what, tc := range map[string]struct {
		data []byte
		want string
	}{
		"a file that cannot be decoded": {tgz(t, wrong), "mg/namespaces/demo/pods/bad.yaml: document 1: "},
		"a truncated archive":           {whole[:len(whole)/2], "it is damaged or truncated"},
		"no cluster":                    {tgz(t, map[string][]byte{"a.yaml": []byte("kind: ConfigMap\nmetadata: {name: a}\n")}), "no cluster in the objects"},
		"no objects":                    {zipOf(map[string][]byte{"a.txt": []byte("x")}), "no objects in files of YAML or JSON"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			if _, err := support.Open(bytes.NewReader(tc.data)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// What must-gather stores beside the objects is evidence: df is the disk of the member, and nodetool status a second witness. Where it contradicts a status report,
// no step that cannot be undone is shown.
func TestGatheredCommands(t *testing.T) {
	t.Parallel()
	const pods = "mg/namespaces/demo/pods/"
	status := func(third string) []byte {
		return []byte("Datacenter: dc1\n===============\nStatus=Up/Down\n|/ State=Normal/Leaving/Joining/Moving\n--  Address     Load     Tokens Owns Host ID                              Rack\n" +
			"UN  10.0.0.1  1.00 GB  256  ?  " + plugintest.HostID(0) + "  rack1\nUN  10.0.0.2  1.00 GB  256  ?  " + plugintest.HostID(1) + "  rack2\n" +
			third + "  10.0.0.3  1.00 GB  256  ?  " + plugintest.HostID(2) + "  rack3\n")
	}
	df := func(percent int) []byte {
		return fmt.Appendf(nil, "Filesystem      Size  Used Avail Use%% Mounted on\noverlay          95G   94G    1G  99%% /\n/dev/nvme1n1    1.8T  1.7T   90G  %d%% /var/lib/scylla\n", percent)
	}
	for name, tc := range map[string]struct {
		files map[string][]byte
		want  []string
		old   bool
	}{
		"nodetool agrees": {files: map[string][]byte{"demo-dc1-rack1-0/nodetool-status.log": status("DN")}},
		"it has the node UP": {
			files: map[string][]byte{"demo-dc1-rack1-0/nodetool-status.log": status("UN")}, old: true,
			want: []string{"demo-dc1-rack3-0 is UN by nodetool-status.log of demo-dc1-rack1-0, and DOWN by its status report" +
				" -> do not rely on either: the objects and the files were saved at different times; check the present status: kubectl scylla nodetool demo-dc1-rack1-0 -n demo -- status"},
		},
		"of two members": {
			files: map[string][]byte{"demo-dc1-rack1-0/nodetool-status.log": status("UN"), "demo-dc1-rack2-0/nodetool-status.log": status("UN")}, old: true,
			want: []string{"demo-dc1-rack3-0 is UN by nodetool-status.log of demo-dc1-rack1-0 and demo-dc1-rack2-0, and DOWN by their status reports" +
				" -> do not rely on either: the objects and the files were saved at different times; check the present status: kubectl scylla nodetool demo-dc1-rack1-0 -n demo -- status"},
		},
		"a command that failed":        {files: map[string][]byte{"demo-dc1-rack1-0/nodetool-status.log": []byte("error: connection refused UN 127.0.0.1\n"), "demo-dc1-rack1-0/df.log": []byte("df: x\n")}},
		"of a member without a row":    {files: map[string][]byte{gatheredMember + "/nodetool-status.log": status("UN")}},
		"the disk is fine":             {files: map[string][]byte{"demo-dc1-rack1-0/df.log": df(40)}},
		"only the container's is full": {files: map[string][]byte{"demo-dc1-rack1-0/df.log": []byte("overlay 95G 94G 1G 99% /\n")}},
		"the disk is full": {
			files: map[string][]byte{"demo-dc1-rack1-0/df.log": df(95)},
			want:  []string{"the disk of demo-dc1-rack1-0 is 95 % full by its df.log: ScyllaDB 2025.4 and later reject writes, repairs and tablets at 98 %"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := mustGather(t)
			delete(files, pods+gatheredMember+"/nodetool-status.log")
			for file, text := range tc.files {
				files[pods+file] = text
			}
			s, err := support.Open(bytes.NewReader(tgz(t, files)))
			if err != nil {
				t.Fatal(err)
			}
			c := s.Clusters[0].Snapshot
			var got []string
			for _, f := range diagnosis.Judge(c, plugintest.Now).Findings {
				switch f.Kind {
				case diagnosis.NodetoolDiffers:
					got = append(got, words.Text(f.Message)+" -> "+words.Text(f.Step))
				case diagnosis.DiskFull:
					got = append(got, words.Text(f.Message))
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || c.Old != tc.old {
				t.Errorf("old: %v; findings (-want +got):\n%s", c.Old, diff)
			}
		})
	}
}
