// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// maxDepth limits the nesting of Lists.
const maxDepth = 4

// saved collects decoded objects before they are sorted into clusters.
type saved struct {
	services []corev1.Service
	pods     []corev1.Pod
	sets     []appsv1.StatefulSet
	pvcs     []corev1.PersistentVolumeClaim
	reports  []api.ScyllaDBDatacenterNodesStatusReport
	status   []api.ScyllaDBStatusReport
	leases   []coordinationv1.Lease
	// datacenters and deployments are the Scylla Operator's.
	datacenters []operatorDatacenter
	deployments []appsv1.Deployment
	budgets     []policyv1.PodDisruptionBudget
	machines    map[string]string // nil if no Node was saved
	hosts       map[string]string // names of the saved Nodes by hostname label
	volumes     map[string][]string
	classes     map[string]cluster.StorageClass
	// claimed are the names of PersistentVolumes by the PVC of their claimRef; nil without any
	claimed map[client.ObjectKey]string
	// notReadySince is the time since which Kubernetes nodes have not been Ready, by name.
	notReadySince map[string]time.Time
	events        []corev1.Event
	skipped       map[string]int // by kind
	read          cluster.Kinds
	objects       int
	newest        time.Time
	before        uint64 // the process's heap in bytes
}

// Read decodes saved objects: the output of `kubectl get service,pod,statefulset,pvc,scylladb... -o
// yaml`, Lists or single objects, several YAML documents or JSON values. The result has one Objects
// per cluster, sorted by namespace and name. Objects without the cluster label belong to the only
// cluster of their namespace. Other kinds are skipped with a note. An error names the document (and
// the item of a List) that cannot be decoded. Nothing is dropped without an error, because a
// cluster with a missing report could look healthy.
func Read(r io.Reader) ([]cluster.Objects, error) {
	in := bufio.NewReaderSize(limitSaved.Reader(r, "the input"), peeked)
	if mark, err := in.Peek(len(byteOrderMark)); err == nil && string(mark) == byteOrderMark {
		_, _ = in.Discard(len(mark)) // already peeked
	}
	head, _ := in.Peek(peeked) // an error is the decoder's
	if err := notObject(head); err != nil {
		return nil, err
	}
	s := &saved{skipped: map[string]int{}, before: heap()}
	n := 0
	docs := utilyaml.NewYAMLReader(bufio.NewReader(&lineEnd{r: in}))
	for {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			if bounded.IsTooLarge(err) {
				return nil, err
			}
			return nil, fmt.Errorf("document %d: %w", n+1, err)
		}
		if err := s.document(doc, &n); err != nil {
			if bounded.IsTooLarge(err) {
				return nil, err
			}
			return nil, err
		}
	}
	if s.objects == 0 {
		return nil, fmt.Errorf("no objects in %s", words.Count(n, "document", "documents"))
	}
	return s.clusters()
}

// document decodes one YAML document or a sequence of JSON values. It increments *n for each.
func (s *saved) document(doc []byte, n *int) error {
	trimmed := bytes.TrimSpace(doc)
	if len(trimmed) == 0 {
		return nil
	}
	if trimmed[0] == '{' && json.Valid(trimmed) {
		// The usual single value is not copied.
		*n++
		if err := s.object(trimmed, "", 0); err != nil {
			return fmt.Errorf("document %d: %w", *n, err)
		}
		return nil
	}
	if trimmed[0] == '{' {
		d := json.NewDecoder(bytes.NewReader(trimmed))
		for first := true; ; first = false {
			var raw json.RawMessage
			err := d.Decode(&raw)
			if errors.Is(err, io.EOF) {
				return nil
			}
			cut := errors.Is(err, io.ErrUnexpectedEOF)
			if err != nil && first && !cut {
				break // flow-style YAML also begins with a brace
			}
			*n++
			if cut {
				return fmt.Errorf("document %d: incomplete: the file is truncated", *n)
			}
			if err == nil {
				err = s.object(raw, "", 0)
			}
			if err != nil {
				return fmt.Errorf("document %d: %w", *n, err)
			}
		}
	}
	*n++
	if done, err := s.yamlList(doc); err != nil {
		return fmt.Errorf("document %d: %w", *n, err)
	} else if done {
		return nil
	}
	if err := checkYAML(doc); err != nil {
		return fmt.Errorf("document %d: %w", *n, err)
	}
	raw, err := yaml.YAMLToJSONStrict(doc)
	if err != nil {
		return fmt.Errorf("document %d: %w", *n, twice(err))
	}
	if bytes.Equal(raw, []byte("null")) {
		*n-- // only comments
		return nil
	}
	if err := s.object(raw, "", 0); err != nil {
		return fmt.Errorf("document %d: %w", *n, err)
	}
	return nil
}

// object decodes valid JSON: one object, or the items of a List. kind is the List's item kind, for
// items without a kind.
func (s *saved) object(raw []byte, kind string, depth int) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' {
		return errors.New("not a Kubernetes object: no fields")
	}
	head, err := headOf(raw)
	if joined, ok := errors.AsType[*twiceError](err); ok {
		return joined
	}
	if err != nil {
		return fmt.Errorf("not a Kubernetes object: %w", inWords(err))
	}
	kind = cmp.Or(head.Kind, kind)
	if kind == "" {
		return errors.New("not a Kubernetes object: no kind")
	}
	if head.items != nil && strings.HasSuffix(kind, "List") {
		return s.items(head.items, kind, depth)
	}
	if err := s.room(raw, kind, head.Metadata.Namespace+"/"+head.Metadata.Name); err != nil {
		return err
	}
	s.objects++
	s.newest = later(s.newest, newest(raw))
	k := kindNamed(kind)
	decode := byName[kind]
	if k == nil && decode == nil {
		s.skipped[kind]++
		return nil
	}
	if k != nil {
		decode = k.decode
		s.read |= k.bit
	}
	if name, namespace := head.Metadata.Name, head.Metadata.Namespace; name != "" && !api.IsName(name) ||
		namespace != "" && !api.IsName(namespace) {
		return fmt.Errorf("%s %.300q in namespace %.300q: invalid name or namespace", kind, name, namespace)
	}
	if err := decode(raw, s); err != nil {
		return fmt.Errorf("%s %s/%s: %w", kind, head.Metadata.Namespace, head.Metadata.Name, inWords(err))
	}
	if head.Metadata.Name == "" {
		return fmt.Errorf("%s in namespace %q: field metadata.name is missing", kind, head.Metadata.Namespace)
	}
	return nil
}

// newest returns the newest time in an object's JSON, else zero. A deletion time is in the future
// by the grace period. Times in annotations and in rows are by the clock of one node, which can be
// wrong.
func newest(raw []byte) time.Time {
	const quote = `"20`
	var at time.Time
	for i := bytes.Index(raw, []byte(quote)); i >= 0; {
		text := raw[i+1:]
		end := bytes.IndexAny(text[:min(len(text), len(time.RFC3339Nano))], `\"`)
		before := raw[max(0, i-len(deleted)-4):i]
		if end > 0 && !bytes.Contains(before, []byte(deleted)) && !bytes.HasSuffix(before, []byte(`"since":`)) &&
			!bytes.HasSuffix(before, []byte(`\`)) {
			if t, err := time.Parse(time.RFC3339Nano, string(text[:end])); err == nil {
				at = later(at, t)
			}
		}
		next := bytes.Index(text, []byte(quote))
		if next < 0 {
			break
		}
		i += 1 + next
	}
	return at
}

const deleted = "deletionTimestamp"

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// inWords returns an error that names the field with the wrong type, without Go's type names.
func inWords(err error) error {
	e, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return err
	}
	field := e.Field
	for _, embedded := range []string{"ObjectMeta.", "TypeMeta."} {
		field = strings.TrimPrefix(field, embedded)
	}
	return fmt.Errorf("field %s is a %s and must not be", strings.Trim(field, "."), e.Value)
}

// sorting sorts saved objects into clusters.
type sorting struct {
	byKey map[cluster.Key]*cluster.Objects
	// rest adds the objects without a cluster label at the end: they belong to the only cluster of
	// their namespace.
	rest  []func() error
	notes []string
	read  cluster.Kinds
}

// at returns the cluster that an object's label names, and creates it for its first object. It
// returns nil if the label is missing.
func (t *sorting) at(o metav1.Object, label string) *cluster.Objects {
	k := cluster.Key{Namespace: o.GetNamespace(), Name: api.ClusterValue(o.GetLabels()[label])}
	if k.Name == "" {
		return nil
	}
	return t.of(k)
}

func (t *sorting) of(k cluster.Key) *cluster.Objects {
	if t.byKey[k] == nil {
		t.byKey[k] = &cluster.Objects{Key: k, Offline: true, Read: t.read}
	}
	return t.byKey[k]
}

// add adds an object to the cluster of the first of its labels, or later to the only cluster of its
// namespace.
func (t *sorting) add(o metav1.Object, kind string, put func(*cluster.Objects), labels ...string) {
	if err := check(o, kind); err != nil {
		t.rest = append(t.rest, func() error { return err })
		return
	}
	for _, label := range labels {
		if c := t.at(o, label); c != nil {
			put(c)
			return
		}
	}
	t.rest = append(t.rest, func() error {
		var only []*cluster.Objects
		for k, c := range t.byKey {
			if k.Namespace == o.GetNamespace() {
				only = append(only, c)
			}
		}
		switch {
		case len(only) == 1:
			put(only[0])
		case labels[0] == api.LabelReportSelector:
			return fmt.Errorf(
				"report %s/%s: label %s is missing, so its cluster is unknown; add it, or remove the report",
				o.GetNamespace(), o.GetName(), labels[0])
		default:
			t.notes = append(t.notes, fmt.Sprintf("%s %s/%s skipped: label %s is missing", kind, o.GetNamespace(),
				o.GetName(), labels[0]))
		}
		return nil
	})
}

// clusters groups the objects by cluster, sorted by namespace and name.
func (s *saved) clusters() ([]cluster.Objects, error) {
	t := &sorting{byKey: map[cluster.Key]*cluster.Objects{}, read: s.read}
	if err := s.sort(t); err != nil {
		return nil, err
	}
	s.statusReports(t)
	s.operators(t)
	s.nameVolumeNodes()
	s.elsewhere(t)
	for _, kind := range slices.Sorted(maps.Keys(s.skipped)) {
		t.notes = append(t.notes, fmt.Sprintf("%s skipped", words.Count(s.skipped[kind], "object", "objects")+
			" of kind "+kind))
	}
	slices.Sort(t.notes)
	if len(t.byKey) == 0 {
		return nil,
			fmt.Errorf("%w: no member Service, Pod, StatefulSet or report has label %s", ErrNoCluster,
				api.LabelCluster)
	}
	keys := slices.SortedFunc(maps.Keys(t.byKey), func(a, b cluster.Key) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	out := make([]cluster.Objects, len(keys))
	for i, k := range keys {
		c := t.byKey[k]
		c.Notes, c.Machines, c.NotReadySince, c.SavedAt = t.notes, s.machines, s.notReadySince, s.newest
		c.Volumes, c.Claimed, c.Classes = s.volumes, claimsIn(s.claimed, k.Namespace), s.classes
		c.SetEvents(s.events)
		if s.machines == nil && len(c.Unready()) > 0 {
			c.Notes = append(slices.Clip(c.Notes),
				"no Kubernetes nodes are saved, which can have the cause; "+SaveAll)
		}
		for j := range s.leases {
			if s.leases[j].Name == api.LeaseName {
				c.Lease = &s.leases[j]
			}
		}
		out[i] = *c
	}
	return out, nil
}

// nameVolumeNodes replaces the hostname labels of saved volumes with the names of their Kubernetes
// nodes. A node that was not saved stays unknown: nothing shows that all were saved.
func (s *saved) nameVolumeNodes() {
	for _, nodes := range s.volumes {
		for i := range nodes {
			nodes[i] = cmp.Or(s.hosts[nodes[i]], nodes[i])
		}
	}
}

// check refuses names that no API server accepts, because printed commands contain them.
func check(o metav1.Object, kind string) error {
	for _, name := range slices.Sorted(maps.Keys(o.GetLabels())) {
		if value := o.GetLabels()[name]; !api.IsLabelValue(value) {
			return fmt.Errorf("%s %s/%s: label %.80s has the invalid value %.300q", kind, o.GetNamespace(),
				o.GetName(), name, value)
		}
	}
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return nil
	}
	names := []string{}
	if pod.Spec.NodeName != "" {
		names = append(names, pod.Spec.NodeName)
	}
	for i := range pod.Spec.Volumes {
		if claim := pod.Spec.Volumes[i].PersistentVolumeClaim; claim != nil {
			names = append(names, claim.ClaimName)
		}
	}
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			names = append(names, list[i].Name)
		}
	}
	for _, name := range names {
		if !api.IsName(name) {
			return fmt.Errorf("%s %s/%s: %.300q is not a valid name of a Kubernetes node, PVC or container", kind,
				pod.Namespace, pod.Name, name)
		}
	}
	return nil
}

// sort assigns all objects except cluster reports and Leases to clusters.
func (s *saved) sort(t *sorting) error {
	for i := range s.services {
		o := &s.services[i]
		if !cluster.IsMemberService(o) {
			s.skipped["Service of no member"]++
			continue
		}
		t.add(o, "Service", func(c *cluster.Objects) { c.Services = append(c.Services, *o) }, api.LabelCluster)
	}
	for i := range s.pods {
		o := &s.pods[i]
		if !cluster.IsNodePod(o) {
			s.skipped["Pod without ScyllaDB"]++
			continue
		}
		t.add(o, "Pod", func(c *cluster.Objects) { c.Pods = append(c.Pods, *o) }, api.LabelCluster)
	}
	for i := range s.sets {
		o := &s.sets[i]
		if o.Labels[api.LabelCluster] == "" && !cluster.RunsScyllaDB(o) {
			s.skipped["StatefulSet without ScyllaDB"]++
			continue
		}
		t.add(o, "StatefulSet", func(c *cluster.Objects) { c.StatefulSets = append(c.StatefulSets, *o) },
			api.LabelCluster)
	}
	for i := range s.pvcs {
		o := &s.pvcs[i]
		t.add(o, "PersistentVolumeClaim", func(c *cluster.Objects) { c.PVCs = append(c.PVCs, *o) }, api.LabelCluster)
	}
	for i := range s.reports {
		o := &s.reports[i]
		t.add(o, "report", func(c *cluster.Objects) { c.Reports = append(c.Reports, *o) }, api.LabelReportSelector,
			api.LabelCluster)
	}
	for _, put := range t.rest {
		if err := put(); err != nil {
			return err
		}
	}
	return nil
}

// statusReports assigns each cluster report to the cluster with its name or to the cluster whose
// override names it. If only reports were saved, each report is its own cluster.
func (s *saved) statusReports(t *sorting) {
	alone := len(t.byKey) == 0
	for i := range s.status {
		o, used := &s.status[i], false
		for k, c := range t.byKey {
			if ref := c.Override(); k.Namespace == o.Namespace && (ref == o.Name || ref == "" && k.Name == o.Name) {
				c.StatusReport, used = o, true
			}
		}
		switch {
		case used:
		case alone:
			t.of(cluster.Key{Namespace: o.Namespace, Name: o.Name}).StatusReport = o
		default:
			t.notes = append(t.notes,
				fmt.Sprintf("ScyllaDBStatusReport %s/%s skipped: no cluster here has this name or refers to it",
					o.Namespace, o.Name))
		}
	}
}
