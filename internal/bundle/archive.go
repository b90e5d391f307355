// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"archive/zip"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/version"
)

// What a manifest says it is.
const (
	APIVersion = "kubectl-scylla/v1"
	Kind       = "ReportArchive"
)

// Names of files. Those of a cluster are below clusters/NAMESPACE/NAME/.
const (
	manifestName = "manifest.json"
	clustersDir  = "clusters/"
	saidName     = "snapshot.json"
	eventsName   = "events.json"
	waitingName  = "waiting-containers.json"
)

// Manifest says what an archive holds. It is manifest.json, and the document of `kubectl scylla report --archive -o json`.
type Manifest struct {
	metav1.TypeMeta `json:",inline"`
	// CreatedAt is when it was packed, TakenAt when the objects were read (absent for saved objects, whose age nobody knows).
	CreatedAt metav1.Time  `json:"createdAt"`
	TakenAt   *metav1.Time `json:"takenAt,omitempty"`
	// CreatedBy is the build that did it.
	CreatedBy version.Info `json:"createdBy"`
	// Clusters that it holds.
	Clusters []ManifestCluster `json:"clusters"`
	// Files, in their order in the archive, this one excepted.
	Files []ManifestFile `json:"files"`
	// LeftOut is what could not be collected or was too big.
	LeftOut []LeftOut `json:"leftOut,omitempty"`
	// Redacted counts the values that were taken out, by rule.
	Redacted Tally `json:"redacted,omitempty"`
}

// ManifestCluster is one cluster of an archive.
type ManifestCluster struct {
	kube.ClusterKey `json:",inline"`
	// Kubernetes is the API server's version, ScyllaDB the versions of nodes with how many have them, Images those of all containers.
	Kubernetes string         `json:"kubernetes,omitempty"`
	ScyllaDB   map[string]int `json:"scylladb,omitempty"`
	Images     map[string]int `json:"images,omitempty"`
}

// ManifestFile is one file of an archive.
type ManifestFile struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// GetObjectKind makes the manifest a runtime.Object, which the printers of cli-runtime ask for.
func (m *Manifest) GetObjectKind() schema.ObjectKind { return &m.TypeMeta }

// DeepCopyObject as for GetObjectKind. Manifests are not changed once made, so parts may be shared.
func (m *Manifest) DeepCopyObject() runtime.Object {
	c := *m
	return &c
}

// said is what reading said of one cluster beyond the objects: with it the snapshot is the one that was taken.
type said struct {
	kube.ClusterKey `json:",inline"`
	TakenAt         *time.Time                       `json:"takenAt,omitempty"`
	Offline         bool                             `json:"offline,omitempty"`
	Requested       kube.Source                      `json:"requested"`
	Source          kube.Source                      `json:"source"`
	SourceReason    string                           `json:"sourceReason,omitempty"`
	Unlabelled      bool                             `json:"unlabelled,omitempty"`
	Problems        []kube.Problem                   `json:"problems,omitempty"`
	Notes           []string                         `json:"notes,omitempty"`
	Live            map[string]*api.NodeStatusReport `json:"live,omitempty"`
	Facts           map[string]kube.LiveFacts        `json:"facts,omitempty"`
	Conditions      []string                         `json:"conditions,omitempty"`
	Kubernetes      string                           `json:"kubernetes,omitempty"`
	LeftOut         []LeftOut                        `json:"leftOut,omitempty"`
}

type file struct {
	name string
	data []byte
}

// Archive is packed in memory and not written yet.
type Archive struct {
	Manifest Manifest
	files    []file
	limits   Limits
	total    int64
}

// Pack redacts and packs clusters. now is when that happens. What is bigger than the limits is left out, and the manifest says so. Errors mean that
// an object cannot be encoded.
func Pack(clusters []*Cluster, now time.Time, limits Limits) (*Archive, error) {
	a := &Archive{limits: limits.withDefaults(), Manifest: Manifest{
		TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: Kind}, CreatedAt: metav1.NewTime(now.UTC().Truncate(time.Second)),
		CreatedBy: version.Get(), Clusters: []ManifestCluster{}, Files: []ManifestFile{}, Redacted: Tally{},
	}}
	for _, c := range clusters {
		if err := a.cluster(c); err != nil {
			return nil, fmt.Errorf("pack cluster %s: %w", c.Snapshot.Key(), err)
		}
	}
	if len(a.Manifest.Redacted) == 0 {
		a.Manifest.Redacted = nil
	}
	return a, nil
}

func (a *Archive) cluster(c *Cluster) error {
	s := c.Snapshot
	key := s.Key()
	if !s.TakenAt.IsZero() && (a.Manifest.TakenAt == nil || s.TakenAt.Before(a.Manifest.TakenAt.Time)) {
		t := metav1.NewTime(s.TakenAt.UTC())
		a.Manifest.TakenAt = &t
	}
	a.Manifest.LeftOut = append(a.Manifest.LeftOut, c.LeftOut...)
	a.Manifest.Clusters = append(a.Manifest.Clusters, manifestCluster(c))
	dir := clustersDir + key.Namespace + "/" + key.Name + "/"
	unread := map[string]bool{}
	for _, p := range s.Problems {
		if p.Verb == "list" && p.Kind != kube.ProblemNotInstalled {
			unread[p.Resource] = true
		}
	}
	core, apps := corev1.SchemeGroupVersion.String(), appsv1.SchemeGroupVersion.String()
	ours, leases := api.GroupVersion.String(), coordinationv1.SchemeGroupVersion.String()
	var statuses []api.ScyllaDBStatusReport
	if s.StatusReport != nil {
		statuses = append(statuses, *s.StatusReport)
	}
	var lease []coordinationv1.Lease
	if s.Lease != nil {
		lease = append(lease, *s.Lease)
	}
	for _, l := range []struct {
		name, resource, version, kind string
		items                         []client.Object
	}{
		{"services.json", "services", core, "Service", pointers(s.Services)},
		{"pods.json", "pods", core, "Pod", pointers(s.Pods)},
		{"statefulsets.json", "statefulsets.apps", apps, "StatefulSet", pointers(s.StatefulSets)},
		{"persistentvolumeclaims.json", "persistentvolumeclaims", core, "PersistentVolumeClaim", pointers(s.PVCs)},
		{"datacenter-reports.json", "scylladbdatacenternodesstatusreports.scylla.scylladb.com", ours, "ScyllaDBDatacenterNodesStatusReport", pointers(s.Reports)},
		{"status-report.json", "", ours, "ScyllaDBStatusReport", pointers(statuses)},
		{"lease.json", "", leases, "Lease", pointers(lease)},
		{eventsName, "", core, "Event", pointers(c.Events)},
	} {
		// An empty list says that there are none, which nobody knows of what was not read, or of what somebody else saved.
		if len(l.items) == 0 && (unread[l.resource] || l.resource == "" || s.Offline) {
			continue
		}
		if err := a.list(dir+l.name, l.version, l.kind, l.items); err != nil {
			return err
		}
	}
	if len(c.Waiting) > 0 {
		if err := a.addJSON(dir+waitingName, c.Waiting); err != nil {
			return err
		}
	}
	return a.addJSON(dir+saidName, a.said(c))
}

func (a *Archive) said(c *Cluster) said {
	s := c.Snapshot
	out := said{
		ClusterKey: s.Key(), Offline: s.Offline, Requested: cmp.Or(c.Requested, kube.SourceAuto), Source: s.Source, SourceReason: s.SourceReason,
		Notes: texts(s.Notes), Facts: s.Facts, Conditions: texts(c.Conditions), Kubernetes: c.Kubernetes, LeftOut: c.LeftOut, Unlabelled: unlabelled(s),
	}
	if !s.TakenAt.IsZero() {
		t := s.TakenAt.UTC()
		out.TakenAt = &t
	}
	for _, p := range s.Problems {
		p.Message, p.Reason = Text(p.Message), Text(p.Reason)
		out.Problems = append(out.Problems, p)
	}
	for member, row := range s.Live {
		if out.Live == nil {
			out.Live = map[string]*api.NodeStatusReport{}
		}
		clean := *row
		if row.Error != nil {
			text := Text(*row.Error)
			clean.Error = &text
		}
		clean.Operations = slices.Clone(row.Operations)
		for i := range clean.Operations {
			clean.Operations[i].Error = Text(clean.Operations[i].Error)
		}
		out.Live[member] = &clean
	}
	return out
}

func texts(list []string) []string {
	out := slices.Clone(list)
	for i := range out {
		out[i] = Text(out[i])
	}
	return out
}

// unlabelled is true when some object is of the cluster without saying so: opening must not look for the label then.
func unlabelled(s *kube.Snapshot) bool {
	lacks := func(o metav1.Object) bool { return o.GetLabels()[api.LabelCluster] != s.Cluster }
	for i := range s.Services {
		if lacks(&s.Services[i]) {
			return true
		}
	}
	for i := range s.Pods {
		if lacks(&s.Pods[i]) {
			return true
		}
	}
	for i := range s.StatefulSets {
		if lacks(&s.StatefulSets[i]) {
			return true
		}
	}
	for i := range s.PVCs {
		if lacks(&s.PVCs[i]) {
			return true
		}
	}
	return false
}

func manifestCluster(c *Cluster) ManifestCluster {
	m := ManifestCluster{ClusterKey: c.Snapshot.Key(), Kubernetes: c.Kubernetes, ScyllaDB: map[string]int{}, Images: map[string]int{}}
	for _, member := range c.Snapshot.Members() {
		if member.Version != "" {
			m.ScyllaDB[member.Version]++
		}
	}
	for i := range c.Snapshot.Pods {
		spec := &c.Snapshot.Pods[i].Spec
		for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
			if container.Image != "" {
				m.Images[Text(container.Image)]++
			}
		}
	}
	return m
}

// pointers gives the items of a list as objects.
func pointers[T any, P interface {
	*T
	client.Object
}](list []T) []client.Object {
	out := make([]client.Object, len(list))
	for i := range list {
		out[i] = P(&list[i])
	}
	return out
}

// list adds objects as a List of their kind, which kubectl and kube.Read understand.
func (a *Archive) list(name, apiVersion, kind string, items []client.Object) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"apiVersion":%q,"kind":%q,"metadata":{},"items":[`, apiVersion, kind+"List")
	tally := Tally{}
	for i, item := range items {
		clean, n, err := redacted(item, apiVersion, kind)
		if err != nil {
			return fmt.Errorf("%s %s: %w", kind, client.ObjectKeyFromObject(item), err)
		}
		tally.Add(n)
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n")
		b.Write(clean)
		if int64(b.Len()) > a.limits.Kind || int64(b.Len())+a.total > a.limits.Total {
			a.Manifest.LeftOut = append(a.Manifest.LeftOut, LeftOut{What: name, Why: TooBig, Detail: fmt.Sprintf("%d objects are more than %s", len(items), size(min(a.limits.Kind, a.limits.Total-a.total)))})
			return nil
		}
	}
	b.WriteString("\n]}\n")
	a.Manifest.Redacted.Add(tally)
	a.put(name, b.Bytes())
	return nil
}

func redacted(item client.Object, apiVersion, kind string) ([]byte, Tally, error) {
	raw, err := json.Marshal(item)
	if err != nil {
		return nil, nil, err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		return nil, nil, err
	}
	m["apiVersion"], m["kind"] = apiVersion, kind
	clean, tally, ok := Redact(m)
	if !ok {
		return nil, nil, errors.New("nothing of this kind may be archived")
	}
	data, err := json.Marshal(clean)
	return data, tally, err
}

func (a *Archive) addJSON(name string, v any) error {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	a.put(name, append(data, '\n'))
	return nil
}

// Add adds a file for people, such as the report as a page. Opening reads it no further than to check it.
func (a *Archive) Add(name string, data []byte) {
	if int64(len(data))+a.total > a.limits.Total {
		a.Manifest.LeftOut = append(a.Manifest.LeftOut, LeftOut{What: name, Why: TooBig, Detail: "the archive is " + size(a.total) + " already"})
		return
	}
	a.put(name, data)
}

func (a *Archive) put(name string, data []byte) {
	sum := sha256.Sum256(data)
	a.files = append(a.files, file{name, data})
	a.total += int64(len(data))
	a.Manifest.Files = append(a.Manifest.Files, ManifestFile{Name: name, Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:])})
}

// Saved gives what Open of the written archive gives.
func (a *Archive) Saved() (*Saved, error) {
	m := a.Manifest
	s := &Saved{Manifest: &m}
	files := map[string][]byte{}
	for _, f := range a.files {
		files[f.name] = f.data
	}
	if err := s.clusters(files); err != nil {
		return nil, err
	}
	return s, nil
}

// WriteTo writes the zip file. The same archive gives the same bytes.
func (a *Archive) WriteTo(w io.Writer) (int64, error) {
	count := &counter{w: w}
	z := zip.NewWriter(count)
	data, err := json.MarshalIndent(&a.Manifest, "", " ")
	if err != nil {
		return 0, fmt.Errorf("encode %s: %w", manifestName, err)
	}
	// The manifest first: whoever looks into the file by hand begins there.
	for _, f := range append([]file{{manifestName, append(data, '\n')}}, a.files...) {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: a.Manifest.CreatedAt.Time}
		h.SetMode(0o600)
		out, err := z.CreateHeader(h)
		if err == nil {
			_, err = out.Write(f.data)
		}
		if err != nil {
			return count.n, fmt.Errorf("write %s: %w", f.name, err)
		}
	}
	if err := z.Close(); err != nil {
		return count.n, fmt.Errorf("write the archive: %w", err)
	}
	return count.n, nil
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// ErrExists is that a file is there already and nobody said that it may be replaced.
var ErrExists = errors.New("it exists already")

// Writable says early whether WriteFile could write name: its directory is there, and it is not, or force allows to replace it.
func Writable(name string, force bool) error {
	dir, err := os.Stat(filepath.Dir(name))
	if err != nil {
		return fmt.Errorf("write %s: %w", name, errors.Unwrap(err))
	}
	if !dir.IsDir() {
		return fmt.Errorf("write %s: %s is not a directory", name, filepath.Dir(name))
	}
	switch info, err := os.Lstat(name); {
	case err == nil && info.IsDir():
		return fmt.Errorf("write %s: it is a directory", name)
	case err == nil && !force:
		return fmt.Errorf("write %s: %w", name, ErrExists)
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("write %s: %w", name, errors.Unwrap(err))
	}
	return nil
}

// WriteFile writes the archive to name, readable by its owner only, whole or not at all, and gives its size in bytes. Error: ErrExists when name is
// there and force does not allow to replace it.
func (a *Archive) WriteFile(name string, force bool) (written int64, err error) {
	if err := Writable(name, force); err != nil {
		return 0, err
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return 0, fmt.Errorf("write %s: %w", name, err)
	}
	defer func() {
		_ = tmp.Close()           // closed already when all went well
		_ = os.Remove(tmp.Name()) // gone already when all went well
	}()
	written, err = a.WriteTo(tmp)
	if err == nil {
		err = tmp.Sync()
	}
	if err == nil {
		err = tmp.Close()
	}
	if err == nil {
		err = place(tmp.Name(), name, force)
	}
	if err != nil {
		return 0, fmt.Errorf("write %s: %w", name, err)
	}
	return written, nil
}

// place gives the finished file its name.
func place(tmp, name string, force bool) error {
	if force {
		return os.Rename(tmp, name)
	}
	// A link, unlike a rename, fails when somebody else made the file meanwhile.
	err := os.Link(tmp, name)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrExist):
		return ErrExists
	}
	// A file system without links.
	if _, err := os.Lstat(name); err == nil {
		return ErrExists
	}
	return os.Rename(tmp, name)
}

func size(n int64) string {
	switch {
	case n >= 10*mib:
		return fmt.Sprintf("%d MiB", n/mib)
	case n >= mib:
		return fmt.Sprintf("%.1f MiB", float64(n)/mib)
	case n >= 1024:
		return fmt.Sprintf("%d KiB", n/1024)
	}
	return fmt.Sprintf("%d bytes", n)
}

// Size is a number of bytes as a person reads it.
func Size(n int64) string { return size(n) }
