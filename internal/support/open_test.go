// SPDX-License-Identifier: Apache-2.0

package support_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/support"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 123456789, time.UTC)

// sample is a snapshot with one of nearly everything.
func sample() *support.Cluster {
	labels := map[string]string{api.LabelCluster: "demo", api.LabelDatacenter: "dc1", api.LabelRack: "rack1"}
	service := corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "demo-0", Labels: labels, Annotations: map[string]string{api.AnnotationHostID: "a"}}}
	service.Spec.Selector = map[string]string{"statefulset.kubernetes.io/pod-name": "demo-0"}
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "demo-0", Labels: labels, CreationTimestamp: metav1.NewTime(now.Add(-time.Hour).Truncate(time.Second))}}
	pod.Labels = maps.Clone(labels)
	pod.Labels[api.LabelPodType] = api.PodTypeNode
	pod.Spec.Containers = []corev1.Container{{Name: api.ContainerScyllaDB, Image: "scylladb/scylla:2025.2.1"}}
	return &support.Cluster{
		Snapshot: cluster.New(cluster.Objects{
			Key: cluster.Key{Namespace: "ns", Name: "demo"}, Services: []corev1.Service{service}, Pods: []corev1.Pod{pod}, Notes: []string{"a note"},
			Problems: []cluster.Problem{{Verb: "list", Resource: "persistentvolumeclaims", Namespace: "ns", Kind: cluster.ProblemForbidden, Message: "no"}},
		}, cluster.SourceAuto, now),
		Events:  []corev1.Event{{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "e"}, Reason: "Pulled", Message: "ok", Type: "Normal"}},
		Waiting: []support.Container{{Pod: "demo-0", Container: "scylla", State: "CrashLoopBackOff"}}, Kubernetes: "v1.37.2",
		LeftOut: []support.LeftOut{{What: "logs", Why: support.Forbidden}},
	}
}

func pack(t testing.TB, limits support.Limits, clusters ...*support.Cluster) []byte {
	t.Helper()
	a, err := support.Pack(clusters, now, limits)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if n, err := a.WriteTo(&b); err != nil || n != int64(b.Len()) {
		t.Fatalf("%d of %d bytes, %v", n, b.Len(), err)
	}
	return b.Bytes()
}

func TestPackAndOpen(t *testing.T) {
	t.Parallel()
	data := pack(t, support.Limits{}, sample())
	if again := pack(t, support.Limits{}, sample()); !bytes.Equal(data, again) {
		t.Error("the same cluster does not give the same bytes")
	}
	s, err := support.Open(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	want := sample()
	if !s.TakenAt.Equal(now.Truncate(time.Second)) || len(s.Clusters) != 1 {
		t.Fatalf("%v, %d clusters", s.TakenAt, len(s.Clusters))
	}
	got := s.Clusters[0]
	snap := got.Snapshot
	if !snap.TakenAt.Equal(now) || snap.Offline || snap.Source != cluster.SourceAnnotation || words.Text(snap.SourceReason()) != words.Text(want.Snapshot.SourceReason()) {
		t.Errorf("%v %v %v %q", snap.TakenAt, snap.Offline, snap.Source, words.Text(snap.SourceReason()))
	}
	for what, pair := range map[string][2]any{
		"notes": {want.Snapshot.Notes, snap.Notes}, "problems": {want.Snapshot.Problems, snap.Problems}, "waiting": {want.Waiting, got.Waiting},
		"left out": {want.LeftOut, got.LeftOut}, "services": {want.Snapshot.Services[0].ObjectMeta, snap.Services[0].ObjectMeta},
		"pods": {want.Snapshot.Pods[0].Spec, snap.Pods[0].Spec}, "events": {want.Events[0].Message, got.Events[0].Message}, "version": {want.Kubernetes, got.Kubernetes},
	} {
		if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
			t.Errorf("%s (-packed +opened):\n%s", what, diff)
		}
	}
	if s.Cluster(snap) != got || s.Cluster(&cluster.Cluster{}) != nil {
		t.Error("a snapshot does not find its cluster")
	}
	if err := s.Use(cluster.SourceReport); err != nil || got.Snapshot.Source != cluster.SourceReport {
		t.Errorf("%v, source %v", err, got.Snapshot.Source)
	}
	if err := s.Use(cluster.SourceAuto); err != nil || words.Text(got.Snapshot.SourceReason()) != words.Text(want.Snapshot.SourceReason()) {
		t.Errorf("%v, %q", err, words.Text(got.Snapshot.SourceReason()))
	}
	if err := s.Use(cluster.SourceLive); err == nil {
		t.Error("live rows that were never asked for")
	}
}

// TestOpenOfWhatTheNodesSaid: opened with the source that was asked for, an archive says what was said then; otherwise the objects speak.
func TestOpenOfWhatTheNodesSaid(t *testing.T) {
	t.Parallel()
	for requested, want := range map[cluster.Source]map[cluster.Source]string{
		cluster.SourceAuto: {cluster.SourceAuto: "no status report in reports or annotations; ScyllaDB answered on 1 of 1 Pod", cluster.SourceLive: "ScyllaDB answered on 1 of 1 Pod"},
		cluster.SourceLive: {cluster.SourceAuto: "no report found; no status report on any Pod: --source=live queries ScyllaDB", cluster.SourceLive: "ScyllaDB answered on 1 of 1 Pod"},
	} {
		c := sample()
		c.Requested = requested
		c.Snapshot = cluster.New(c.Snapshot.Objects, requested, now).WithLive(map[string]*api.NodeStatusReport{"demo-0": {HostID: "a"}}, nil, nil)
		s, err := support.Open(bytes.NewReader(pack(t, support.Limits{}, c)))
		if err != nil {
			t.Fatal(err)
		}
		for _, source := range []cluster.Source{cluster.SourceAuto, cluster.SourceLive, cluster.SourceReport, cluster.SourceAuto, cluster.SourceLive} {
			if err := s.Use(source); err != nil {
				t.Fatal(err)
			}
			if got := words.Text(s.Snapshots()[0].SourceReason()); source != cluster.SourceReport && got != want[source] {
				t.Errorf("taken with %s, opened with %s: %q, want %q", requested, source, got, want[source])
			}
		}
	}
}

func TestOpenSeveralClusters(t *testing.T) {
	t.Parallel()
	other := sample()
	other.Snapshot.Name = "other"
	for _, labels := range []map[string]string{other.Snapshot.Services[0].Labels, other.Snapshot.Pods[0].Labels} {
		labels[api.LabelCluster] = "other"
	}
	s, err := support.Open(bytes.NewReader(pack(t, support.Limits{}, sample(), other)))
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, snap := range s.Snapshots() {
		keys = append(keys, snap.Key.String())
	}
	if diff := cmp.Diff([]string{"ns/demo", "ns/other"}, keys); diff != "" {
		t.Error(diff)
	}
}

func TestPackLeavesOutWhatIsTooBig(t *testing.T) {
	t.Parallel()
	c := sample()
	c.Snapshot.Pods[0].Annotations = map[string]string{"scylladb.com/big": strings.Repeat("x", 5000)}
	for name, limits := range map[string]support.Limits{"a kind": {Kind: 4000}, "all": {Total: 4000}} {
		a, err := support.Pack([]*support.Cluster{c}, now, limits)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(a.Manifest.LeftOut, func(l support.LeftOut) bool { return l.What == "clusters/ns/demo/pods.json" && l.Why == support.TooBig })
		if i < 0 || slices.ContainsFunc(a.Manifest.Files, func(f support.ManifestFile) bool { return strings.HasSuffix(f.Name, "pods.json") }) {
			t.Errorf("%s: %+v", name, a.Manifest)
		}
		if _, err := a.Saved(); err != nil {
			t.Errorf("%s: the rest cannot be opened: %v", name, err)
		}
	}
}

// TestSavedIsWhatOpenReads: the packed archive in memory and the written file give the same, also for rows, which do not go through the file.
func TestSavedIsWhatOpenReads(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]string{
		"a row": `{"observedNodes":[{"hostID":"35d0f1a0-5ea1-4d00-8000-000000000000","status":"UP"}]}`, "an empty row": "",
		"a row that holds a secret": `{"error":"ask http://me:hunter2@10.0.0.1: password=hunter2"}`,
		"no JSON":                   "nothing <of> JSON\n\u2028 & so on", "no UTF-8": "{\xff\xfe}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := sample()
			pod, service := &c.Snapshot.Pods[0], &c.Snapshot.Services[0]
			pod.Annotations = map[string]string{api.AnnotationNodeStatusReport: row, "scylladb.com/other": "stays"}
			service.Annotations = map[string]string{api.AnnotationNodeStatusReport: row}
			a, err := support.Pack([]*support.Cluster{c}, now, support.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			saved, err := a.Saved()
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if _, err := a.WriteTo(&b); err != nil {
				t.Fatal(err)
			}
			opened, err := support.Open(&b)
			if err != nil {
				t.Fatal(err)
			}
			got, want := saved.Clusters[0].Snapshot, opened.Clusters[0].Snapshot
			if diff := cmp.Diff(want.Objects, got.Objects); diff != "" {
				t.Errorf("(-opened +saved):\n%s", diff)
			}
			if diff := cmp.Diff(want.Rows(), got.Rows()); diff != "" {
				t.Errorf("rows (-opened +saved):\n%s", diff)
			}
			if got, ok := got.Pods[0].Annotations[api.AnnotationNodeStatusReport]; !ok || strings.Contains(got, "hunter2") || name == "a row" && got != row {
				t.Errorf("the row is %q", got)
			}
		})
	}
}

type entry struct {
	name string
	data []byte
	mode os.FileMode
}

// zipped makes an archive by hand, with a manifest of its files when there is none among them.
func zipped(t testing.TB, manifest func(*support.Manifest), entries ...entry) []byte {
	t.Helper()
	m := support.Manifest{TypeMeta: metav1.TypeMeta{APIVersion: support.APIVersion, Kind: support.Kind}}
	for _, e := range entries {
		var sum [sha256.Size]byte
		if len(e.data) < 1<<20 { // for a bigger file the check stops before the sum
			sum = sha256.Sum256(e.data)
		}
		m.Files = append(m.Files, support.ManifestFile{Name: e.name, Size: int64(len(e.data)), SHA256: hex.EncodeToString(sum[:])})
	}
	if manifest != nil {
		manifest(&m)
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range append([]entry{{name: "manifest.json", data: text}}, entries...) {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		h.SetMode(e.mode)
		w, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(e.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	good := pack(t, support.Limits{}, sample())
	bomb, small := make([]byte, 193<<20), make([]byte, 2<<20)
	said := func(text string) entry { return entry{name: "clusters/ns/demo/snapshot.json", data: []byte(text)} }
	var plain bytes.Buffer
	z := zip.NewWriter(&plain)
	if w, err := z.Create("notes.txt"); err != nil {
		t.Fatal(err)
	} else if _, err := w.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	many := make([]entry, 1100)
	for i := range many {
		many[i] = entry{name: strings.Repeat("x", i+1)}
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"an archive that is cut off":           {good[:len(good)/2], "damaged or truncated"},
		"another zip file":                     {plain.Bytes(), "not an archive of"},
		"a name that leads out":                {zipped(t, nil, entry{name: "../x"}), "points outside"},
		"a name that leads out from within":    {zipped(t, nil, entry{name: "a/../../x"}), "points outside"},
		"an absolute name":                     {zipped(t, nil, entry{name: "/etc/passwd"}), "points outside"},
		"a name with a backslash":              {zipped(t, nil, entry{name: `..\x`}), "points outside"},
		"a name with a drive":                  {zipped(t, nil, entry{name: "c:x"}), "points outside"},
		"a symbolic link":                      {zipped(t, nil, entry{name: "x", data: []byte("/etc/passwd"), mode: os.ModeSymlink | 0o777}), "not a plain file"},
		"a folder":                             {zipped(t, nil, entry{name: "x/", mode: os.ModeDir | 0o755}), "points outside"},
		"the same name twice":                  {zipped(t, nil, entry{name: "x"}, entry{name: "x"}), "duplicate"},
		"a second manifest":                    {zipped(t, nil, entry{name: "manifest.json"}), "duplicate"},
		"too many files":                       {zipped(t, nil, many...), "files, more than"},
		"a bomb that says so":                  {zipped(t, nil, entry{name: "x", data: bomb}), "larger than expected"},
		"a bomb that says otherwise":           {zipped(t, func(m *support.Manifest) { m.Files[0].Size = 10 }, entry{name: "x", data: small}), "larger than expected"},
		"a negative size":                      {zipped(t, func(m *support.Manifest) { m.Files[0].Size = -1 }, entry{name: "x", data: []byte("y")}), "larger than expected"},
		"a file that was changed":              {zipped(t, func(m *support.Manifest) { m.Files[0].SHA256 = strings.Repeat("0", 64) }, entry{name: "x", data: []byte("y")}), "it was changed"},
		"a file that was added":                {zipped(t, func(m *support.Manifest) { m.Files = nil }, entry{name: "x"}), "it was added"},
		"a file that was taken":                {zipped(t, func(m *support.Manifest) { m.Files = append(m.Files, support.ManifestFile{Name: "y"}) }, entry{name: "x"}), "not in the archive"},
		"a version to come":                    {zipped(t, func(m *support.Manifest) { m.APIVersion = "kubectl-scylla/v9" }), "this version reads"},
		"nothing in it":                        {zipped(t, nil), "no cluster"},
		"a snapshot that is no JSON":           {zipped(t, nil, said("{")), "decode clusters/ns/demo/snapshot.json"},
		"a snapshot without objects":           {zipped(t, nil, said(`{"namespace":"ns","name":"demo","source":"report"}`)), "no objects in"},
		"objects of another cluster":           {zipped(t, nil, said(`{"namespace":"ns","name":"x","source":"report"}`), entry{name: "clusters/ns/demo/pods.json", data: podList}), "cluster ns/x and of no other"},
		"a source that is none":                {zipped(t, nil, said(`{"namespace":"ns","name":"demo","source":"rumour"}`), entry{name: "clusters/ns/demo/pods.json", data: podList}), `source "rumour"`},
		"live rows that are not there":         {zipped(t, nil, said(`{"namespace":"ns","name":"demo","source":"live"}`), entry{name: "clusters/ns/demo/pods.json", data: podList}), `source "live"`},
		"saved objects that are none":          {[]byte("hello"), "not a Kubernetes object"},
		"the beginning of a zip file, no more": {[]byte("PK\x03\x04"), "damaged or truncated"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := support.Open(bytes.NewReader(c.data))
			if err == nil {
				t.Fatalf("opened: %+v", s)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q does not say %q", err, c.want)
			}
		})
	}
}

var podList = []byte(`{"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"namespace":"ns","name":"demo-0","labels":{"scylla/cluster":"demo","scylla-operator.scylladb.com/pod-type":"scylladb-node"}}}]}`)

func TestOpenReadsSavedObjects(t *testing.T) {
	t.Parallel()
	s, err := support.Open(bytes.NewReader(podList))
	if err != nil {
		t.Fatal(err)
	}
	if s.Manifest != nil || !s.TakenAt.IsZero() || len(s.Clusters) != 1 || !s.Clusters[0].Snapshot.Offline {
		t.Errorf("%+v", s)
	}
	if _, err := support.Open(io.MultiReader(strings.NewReader("PK\x03\x04"), failing{})); !errors.Is(err, os.ErrPermission) {
		t.Errorf("a reader's error is lost: %v", err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, os.ErrPermission }

func TestWriteFile(t *testing.T) {
	t.Parallel()
	a, err := support.Pack([]*support.Cluster{sample()}, now, support.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "x.zip")
	n, err := a.WriteFile(name, false)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(name); err != nil || info.Size() != n || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v, %d bytes", info, err, n)
	}
	if _, err := a.WriteFile(name, false); !errors.Is(err, support.ErrExists) {
		t.Errorf("written over: %v", err)
	}
	if _, err := a.WriteFile(name, true); err != nil {
		t.Error(err)
	}
	if _, err := a.WriteFile(dir, true); err == nil {
		t.Error("a directory was replaced")
	}
	if _, err := a.WriteFile(filepath.Join(dir, "no", "x.zip"), false); err == nil {
		t.Error("a folder was made up")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v %v", entries, err)
	}
}

// Whatever is opened, it gives an error or clusters that can be judged, in bounded time and space.
func FuzzOpen(f *testing.F) {
	f.Add(pack(f, support.Limits{}, sample()))
	f.Add(zipped(f, nil, entry{name: "clusters/ns/demo/snapshot.json", data: []byte(`{"namespace":"ns","name":"demo","source":"annotation"}`)}, entry{name: "clusters/ns/demo/pods.json", data: podList}))
	f.Add(zipped(f, nil, entry{name: "../x", data: []byte("y")}))
	f.Add(podList)
	f.Add([]byte("PK\x05\x06"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := support.Open(bytes.NewReader(data))
		if err != nil {
			return
		}
		if len(s.Clusters) == 0 {
			t.Fatal("opened, and there is nothing in it")
		}
		for _, snap := range s.Snapshots() {
			snap.Members()
			snap.Rows()
		}
	})
}

// FuzzOpenFiles goes past the checksums: the files are listed rightly, and hold anything.
func FuzzOpenFiles(f *testing.F) {
	f.Add("clusters/ns/demo/pods.json", podList, []byte(`{"namespace":"ns","name":"demo","source":"annotation","live":{"demo-0":null},"unlabelled":true}`))
	f.Add("clusters/ns/demo/events.json", []byte(`{"items":[{"metadata":null}]}`), []byte(`{"namespace":"ns","name":"demo","source":"live","live":{"demo-0":{"observedNodes":[{}]}}}`))
	f.Add("clusters/ns/demo/waiting-containers.json", []byte(`[{"firstError":null}]`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, name string, data, said []byte) {
		if name == "" || name == "manifest.json" || strings.HasSuffix(name, "/") || strings.Contains(name, "snapshot.json") {
			return
		}
		entries := []entry{{name: "clusters/ns/demo/snapshot.json", data: said}, {name: name, data: data}}
		if name != "clusters/ns/demo/pods.json" {
			entries = append(entries, entry{name: "clusters/ns/demo/pods.json", data: podList})
		}
		s, err := support.Open(bytes.NewReader(zipped(t, nil, entries...)))
		if err != nil {
			return
		}
		for _, snap := range s.Snapshots() {
			if snap.Key != (cluster.Key{Namespace: "ns", Name: "demo"}) && snap.Name == "" {
				t.Errorf("a cluster without a name: %+v", snap.Key)
			}
			snap.Members()
			snap.Rows()
		}
	})
}

// The directory of a zip file is refused before it is parsed, whatever number of files its end claims.
func TestNoHarm33ADirectoryIsBoundedBeforeItIsParsed(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for range 60_000 {
		if _, err := z.CreateRaw(&zip.FileHeader{Name: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	honest := b.Bytes()
	lies := slices.Clone(honest)
	copy(lies[len(lies)-14:], []byte{1, 0, 1, 0}) // one file
	hidden := slices.Clone(lies)
	copy(hidden[len(hidden)-10:], []byte{100, 0, 0, 0}) // in a directory of 100 bytes
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"many files":             {honest, "it has 60000 files, more than"},
		"it claims one":          {lies, "its directory has"},
		"and a small directory":  {hidden, "not at the recorded offset"},
		"and a comment after it": {append(slices.Clone(hidden), 0), "damaged or truncated"},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			n := testing.AllocsPerRun(1, func() { _, err = support.Open(bytes.NewReader(c.data)) })
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if n > 1000 {
				t.Errorf("%v allocations: the directory is parsed", n)
			}
		})
	}
}
