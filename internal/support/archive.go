// SPDX-License-Identifier: Apache-2.0

package support

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/version"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// Names of files; a cluster's files are below clusters/NAMESPACE/NAME/.
const (
	manifestName = "manifest.json"
	clustersDir  = "clusters/"
	saidName     = "snapshot.json"
	podsName     = "pods.json"
	eventsName   = "events.json"
	waitingName  = "waiting-containers.json"
	nodesName    = "kubernetes-nodes.json"
	operatorName = "operator-objects.json"
	tablesName   = "scylladb-tables.json"
	logsDir      = "logs/"

	previousSuffix = ".previous.log"
)

type file struct {
	name string
	data []byte
	// short is data with empty rows, which are in rows; nil without rows.
	short []byte
	rows  map[string]string
}

// Archive is packed in memory and not yet written.
type Archive struct {
	Manifest Manifest
	files    []file
	limits   Limits
	total    int64
}

// Pack redacts and packs clusters at time now. It omits files above the limits and lists them in
// the manifest. Error: an object cannot be encoded.
func Pack(clusters []*Cluster, now time.Time, limits Limits) (*Archive, error) {
	a := &Archive{limits: limits.withDefaults(), Manifest: Manifest{
		TypeMeta:  metav1.TypeMeta{APIVersion: APIVersion, Kind: Kind},
		CreatedAt: metav1.NewTime(now.UTC().Truncate(time.Second)),
		CreatedBy: version.Get(), Clusters: []ManifestCluster{}, Files: []ManifestFile{}, Redacted: Tally{},
	}}
	for _, c := range clusters {
		if err := a.cluster(c); err != nil {
			return nil, fmt.Errorf("archive cluster %s: %w", c.Snapshot.Key, err)
		}
	}
	if len(a.Manifest.Redacted) == 0 {
		a.Manifest.Redacted = nil
	}
	return a, nil
}

func (a *Archive) cluster(c *Cluster) error {
	s := c.Snapshot
	key := s.Key
	if !s.TakenAt.IsZero() && (a.Manifest.TakenAt == nil || s.TakenAt.Before(a.Manifest.TakenAt.Time)) {
		t := metav1.NewTime(s.TakenAt.UTC())
		a.Manifest.TakenAt = &t
	}
	leftOut := slices.Concat(c.LeftOut, c.Uncollected)
	slices.SortStableFunc(leftOut, func(a, b LeftOut) int { return cmp.Compare(a.What, b.What) })
	a.Manifest.LeftOut = append(a.Manifest.LeftOut, leftOut...)
	a.Manifest.Clusters = append(a.Manifest.Clusters, manifestCluster(c))
	dir := clustersDir + key.Namespace + "/" + key.Name + "/"
	unread := map[string]bool{}
	for _, p := range s.Problems {
		if p.Verb == "list" && p.Kind != cluster.ProblemNotInstalled {
			unread[p.Resource] = true
		}
	}
	for _, l := range lists(c) {
		// An empty list means that no such objects exist. That is unknown for a kind that was not
		// read, and for manually saved objects.
		if len(l.items) == 0 && (unread[l.resource] || l.resource == "" || s.Offline) {
			continue
		}
		if err := a.list(dir+l.name, l.version, l.kind, l.items); err != nil {
			return err
		}
	}
	if c.NodesRead {
		if err := a.list(dir+nodesName, corev1.SchemeGroupVersion.String(), "Node", pointers(c.Nodes)); err != nil {
			return err
		}
	}
	if len(c.Tables) > 0 {
		if err := a.addJSON(dir+tablesName, c.Tables); err != nil {
			return err
		}
	}
	a.Manifest.Redacted.Add(c.redacted)
	a.logs(dir, c.Waiting)
	if len(c.Waiting) > 0 {
		if err := a.addJSON(dir+waitingName, c.Waiting); err != nil {
			return err
		}
	}
	return a.addJSON(dir+saidName, a.said(c))
}

// objects are the packed objects of one kind. resource is empty if no Problem names the kind.
type objects struct {
	name, resource, version, kind string
	items                         []client.Object
}

func lists(c *Cluster) []objects {
	s := c.Snapshot
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
	return []objects{
		{"services.json", "services", core, "Service", pointers(s.Services)},
		{podsName, "pods", core, "Pod", pointers(s.Pods)},
		{"statefulsets.json", "statefulsets.apps", apps, "StatefulSet", pointers(s.StatefulSets)},
		{"persistentvolumeclaims.json", "persistentvolumeclaims", core, "PersistentVolumeClaim", pointers(s.PVCs)},
		{"datacenter-reports.json", "scylladbdatacenternodesstatusreports.scylla.scylladb.com", ours,
			"ScyllaDBDatacenterNodesStatusReport", pointers(s.Reports)},
		{"status-report.json", "", ours, "ScyllaDBStatusReport", pointers(statuses)},
		{"lease.json", "", leases, "Lease", pointers(lease)},
		{eventsName, "", core, "Event", pointers(c.allEvents())},
		// In a List of several kinds, each item has its own kind.
		{operatorName, "", core, "", pointers(c.Operator)},
	}
}

// logs adds the ends of logs.
func (a *Archive) logs(dir string, containers []Container) {
	for _, c := range containers {
		name := c.Pod + "/" + c.Container
		if path.Clean(name) != name || strings.Count(name, "/") != 1 || strings.HasPrefix(name, "../") ||
			strings.ContainsAny(name, "\\:\x00") {
			continue // not a valid name in Kubernetes
		}
		if c.Log != "" {
			a.Add(dir+logsDir+name+".log", []byte(c.Log))
		}
		if c.PreviousLog != "" {
			a.Add(dir+logsDir+name+previousSuffix, []byte(c.PreviousLog))
		}
	}
}

// pointers returns the items of a list as objects.
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

// list adds objects as a List of their kind, in the format of kubectl and kube.Read.
func (a *Archive) list(name, apiVersion, kind string, items []client.Object) error {
	var b, short bytes.Buffer
	head := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{},"items":[`, apiVersion, kind+"List")
	expected := int64(len(head))
	for _, item := range items {
		// Each quote in a row has a backslash in the file.
		expected += int64(len(item.GetAnnotations()[api.AnnotationNodeStatusReport])) * 3 / 2
	}
	b.Grow(int(min(expected, a.limits.Kind))) // doubling a buffer copies each row several times
	b.WriteString(head)
	short.WriteString(head)
	tally, rows := Tally{}, map[string]string{}
	for i, item := range items {
		clean, err := redacted(item, apiVersion, kind)
		if err != nil {
			return fmt.Errorf("%s %s: %w", kind, client.ObjectKeyFromObject(item), err)
		}
		tally.Add(clean.tally)
		if i > 0 {
			b.WriteString(",")
			short.WriteString(",")
		}
		b.WriteString("\n")
		b.Write(clean.data)
		short.WriteString("\n")
		short.Write(clean.short)
		if clean.row != "" {
			rows[item.GetName()] = clean.row
		}
		if int64(b.Len()) > a.limits.Kind || int64(b.Len())+a.total > a.limits.Total {
			a.Manifest.LeftOut = append(a.Manifest.LeftOut,
				LeftOut{What: name, Why: TooBig, Detail: fmt.Sprintf("%d objects are more than %s", len(items),
					size(min(a.limits.Kind, a.limits.Total-a.total)))})
			return nil
		}
	}
	b.WriteString("\n]}\n")
	a.Manifest.Redacted.Add(tally)
	a.put(name, b.Bytes())
	if len(rows) > 0 {
		short.WriteString("\n]}\n")
		f := &a.files[len(a.files)-1]
		f.short, f.rows = short.Bytes(), rows
	}
	return nil
}

// packed is an object without likely secrets.
type packed struct {
	data  []byte
	tally Tally
	// short is data with an empty row, and row the encoded row in data. If row is empty, they are
	// equal.
	short []byte
	row   string
}

func redacted(item client.Object, apiVersion, kind string) (*packed, error) {
	// The row is nearly all of a Pod in a large cluster: as a text it needs no decoder.
	row, hasRow := item.GetAnnotations()[api.AnnotationNodeStatusReport]
	if hasRow {
		item = item.DeepCopyObject().(client.Object)
		item.GetAnnotations()[api.AnnotationNodeStatusReport] = ""
	}
	raw, err := json.Marshal(item)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		return nil, err
	}
	if kind != "" {
		m["apiVersion"], m["kind"] = apiVersion, kind
	}
	if hasRow {
		// both are maps: the key existed
		_ = unstructured.SetNestedField(m, row, "metadata", "annotations", api.AnnotationNodeStatusReport)
	}
	clean, tally, ok := Redact(m)
	if !ok {
		return nil, errNoKind
	}
	p := &packed{tally: tally}
	if p.data, err = json.Marshal(clean); err != nil {
		return nil, err
	}
	p.short = p.data
	if kind != "Pod" {
		return p, nil
	}
	row, _, _ = unstructured.NestedString(clean, "metadata", "annotations", api.AnnotationNodeStatusReport)
	if !utf8.ValidString(row) || row == "" { // JSON would change invalid UTF-8
		return p, nil
	}
	// see above
	_ = unstructured.SetNestedField(clean, "", "metadata", "annotations", api.AnnotationNodeStatusReport)
	p.row = row
	p.short, err = json.Marshal(clean)
	return p, err
}

func (a *Archive) addJSON(name string, v any) error {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	a.put(name, append(data, '\n'))
	return nil
}

// Add adds a file for people, such as the report as a page. A file above the limit is omitted and
// listed in the manifest.
func (a *Archive) Add(name string, data []byte) {
	if int64(len(data))+a.total > a.limits.Total {
		a.Manifest.LeftOut = append(a.Manifest.LeftOut, LeftOut{What: name, Why: TooBig, Detail: "the archive is " +
			size(a.total) + " already"})
		return
	}
	a.put(name, data)
}

func (a *Archive) put(name string, data []byte) {
	sum := sha256.Sum256(data)
	a.files = append(a.files, file{name: name, data: data})
	a.total += int64(len(data))
	a.Manifest.Files = append(a.Manifest.Files,
		ManifestFile{Name: name, Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:])})
}

// Saved returns what Open of the written archive returns.
func (a *Archive) Saved() (*Saved, error) {
	m := a.Manifest
	s := &Saved{Manifest: &m}
	// Rows are nearly all of a large cluster, and decoding them twice takes most of the time. They
	// are passed on in their packed form.
	files, rows := map[string][]byte{}, map[string]map[string]string{}
	for _, f := range a.files {
		files[f.name] = f.data
		if f.short != nil {
			files[f.name], rows[f.name] = f.short, f.rows
		}
	}
	if err := s.clusters(files, rows); err != nil {
		return nil, err
	}
	return s, nil
}
