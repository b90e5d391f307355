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

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// maxRead bounds saved objects: 1,000 members with everything are about 60 MB.
const maxRead = 256 << 20

// maxDepth bounds Lists inside Lists.
const maxDepth = 4

// savedCure ends every error about saved objects.
const savedCure = `save them with "kubectl get service,pod,statefulset,pvc,scylladbdatacenternodesstatusreports,scylladbstatusreports -o yaml"`

// saved collects decoded objects before they are sorted into clusters.
type saved struct {
	services []corev1.Service
	pods     []corev1.Pod
	sets     []appsv1.StatefulSet
	pvcs     []corev1.PersistentVolumeClaim
	reports  []api.ScyllaDBDatacenterNodesStatusReport
	status   []api.ScyllaDBStatusReport
	leases   []coordinationv1.Lease
	skipped  map[string]int // by kind
	kinds    kinds
	objects  int
}

// Read reads saved objects: what `kubectl get service,pod,statefulset,pvc,scylladb... -o yaml` prints, Lists or single objects,
// several YAML documents or JSON values. One Snapshot per cluster, sorted by namespace and name; objects without the cluster label
// go to the only cluster of their namespace. Kinds that are of no use here are skipped with a note. Errors name the document (and in a
// List the item) that cannot be decoded: nothing is left out silently, as a missing report could read as a healthy cluster.
func Read(r io.Reader) ([]*Snapshot, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxRead+1))
	if err != nil {
		return nil, fmt.Errorf("read saved objects: %w", err)
	}
	if len(data) > maxRead {
		return nil, fmt.Errorf("read saved objects: more than %d MiB; leave out what is not of this cluster", maxRead>>20)
	}
	s := &saved{skipped: map[string]int{}}
	n := 0
	docs := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))))
	for {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read saved objects: document %d: %w; %s", n+1, err, savedCure)
		}
		if err := s.document(doc, &n); err != nil {
			return nil, fmt.Errorf("read saved objects: %w; %s", err, savedCure)
		}
	}
	if s.objects == 0 {
		return nil, fmt.Errorf("read saved objects: there are none in %s; %s", plural(n, "document"), savedCure)
	}
	return s.clusters()
}

// document decodes one YAML document or a sequence of JSON values, counting on from *n.
func (s *saved) document(doc []byte, n *int) error {
	trimmed := bytes.TrimSpace(doc)
	if len(trimmed) == 0 {
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
				return fmt.Errorf("document %d: it ends in the middle: the file is cut off", *n)
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
	raw, err := yaml.YAMLToJSON(doc)
	if err != nil {
		return fmt.Errorf("document %d: %w", *n, err)
	}
	if bytes.Equal(raw, []byte("null")) {
		*n-- // nothing but comments
		return nil
	}
	if err := s.object(raw, "", 0); err != nil {
		return fmt.Errorf("document %d: %w", *n, err)
	}
	return nil
}

// object decodes one object, or the items of a List. kind is what the List says of items that do not say it themselves.
func (s *saved) object(raw []byte, kind string, depth int) error {
	var head struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
		Items *[]json.RawMessage `json:"items"`
	}
	if trimmed := bytes.TrimSpace(raw); len(trimmed) == 0 || trimmed[0] != '{' {
		return errors.New("it is not a Kubernetes object: it has no fields")
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return fmt.Errorf("it is not a Kubernetes object: %w", inWords(err))
	}
	kind = cmp.Or(head.Kind, kind)
	if kind == "" {
		return errors.New("it is not a Kubernetes object: it has no kind")
	}
	if head.Items != nil && strings.HasSuffix(kind, "List") {
		if depth >= maxDepth {
			return errors.New("it has Lists inside Lists too deep")
		}
		itemKind := strings.TrimSuffix(kind, "List")
		for i, item := range *head.Items {
			if err := s.object(item, itemKind, depth+1); err != nil {
				return fmt.Errorf("item %d: %w", i+1, err)
			}
		}
		// An empty List says that there are none, which is not the same as not having asked.
		s.kinds |= kindOf(itemKind)
		s.objects++
		return nil
	}
	s.objects++
	s.kinds |= kindOf(kind)
	var err error
	switch kind {
	case "Service":
		s.services, err = decodeInto(s.services, raw)
	case "Pod":
		s.pods, err = decodeInto(s.pods, raw)
	case "StatefulSet":
		s.sets, err = decodeInto(s.sets, raw)
	case "PersistentVolumeClaim":
		s.pvcs, err = decodeInto(s.pvcs, raw)
	case "ScyllaDBDatacenterNodesStatusReport":
		s.reports, err = decodeInto(s.reports, raw)
	case "ScyllaDBStatusReport":
		s.status, err = decodeInto(s.status, raw)
	case "Lease":
		s.leases, err = decodeInto(s.leases, raw)
	default:
		s.skipped[kind]++
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s %s/%s: %w", kind, head.Metadata.Namespace, head.Metadata.Name, inWords(err))
	}
	if head.Metadata.Name == "" {
		return fmt.Errorf("%s in namespace %q: field metadata.name is missing", kind, head.Metadata.Namespace)
	}
	return nil
}

// inWords names the field that has the wrong type, without Go's names for it.
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

func decodeInto[T any](list []T, raw []byte) ([]T, error) {
	var one T
	if err := json.Unmarshal(raw, &one); err != nil {
		return list, err
	}
	return append(list, one), nil
}

func kindOf(kind string) kinds {
	switch kind {
	case "Service":
		return kindServices
	case "Pod":
		return kindPods
	case "StatefulSet":
		return kindStatefulSets
	case "PersistentVolumeClaim":
		return kindPVCs
	case "ScyllaDBDatacenterNodesStatusReport":
		return kindReports
	case "ScyllaDBStatusReport":
		return kindStatusReport
	case "Lease":
		return kindLease
	}
	return 0
}

// clusters sorts the objects into snapshots.
func (s *saved) clusters() ([]*Snapshot, error) {
	byKey := map[ClusterKey]*Snapshot{}
	at := func(o metav1.Object, label string) *Snapshot {
		k := ClusterKey{o.GetNamespace(), o.GetLabels()[label]}
		if k.Name == "" {
			return nil
		}
		if byKey[k] == nil {
			byKey[k] = &Snapshot{Namespace: k.Namespace, Cluster: k.Name, Offline: true, loaded: s.kinds, cache: &cache{}}
		}
		return byKey[k]
	}
	var notes []string
	// First what says itself where it belongs, then what can only go to the one cluster of its namespace.
	var rest []func() error
	later := func(o metav1.Object, kind string, put func(*Snapshot)) {
		rest = append(rest, func() error {
			var only []*Snapshot
			for k, c := range byKey {
				if k.Namespace == o.GetNamespace() {
					only = append(only, c)
				}
			}
			if len(only) == 1 {
				put(only[0])
				return nil
			}
			if kind == "report" {
				return fmt.Errorf("report %s/%s: label %s is missing, so it cannot be told whose it is", o.GetNamespace(), o.GetName(), api.LabelReportSelector)
			}
			notes = append(notes, fmt.Sprintf("%s %s/%s skipped: label %s is missing", kind, o.GetNamespace(), o.GetName(), api.LabelCluster))
			return nil
		})
	}
	for i := range s.services {
		o := &s.services[i]
		if !isMemberService(o) {
			s.skipped["Service that is not a member's"]++
			continue
		}
		put := func(c *Snapshot) { c.Services = append(c.Services, *o) }
		if c := at(o, api.LabelCluster); c != nil {
			put(c)
		} else {
			later(o, "Service", put)
		}
	}
	for i := range s.pods {
		o := &s.pods[i]
		if !isNodePod(o) {
			s.skipped["Pod that is not ScyllaDB's"]++
			continue
		}
		put := func(c *Snapshot) { c.Pods = append(c.Pods, *o) }
		if c := at(o, api.LabelCluster); c != nil {
			put(c)
		} else {
			later(o, "Pod", put)
		}
	}
	for i := range s.sets {
		o := &s.sets[i]
		if c := at(o, api.LabelCluster); c != nil {
			c.StatefulSets = append(c.StatefulSets, *o)
		} else if runsScyllaDB(o) {
			later(o, "StatefulSet", func(c *Snapshot) { c.StatefulSets = append(c.StatefulSets, *o) })
		} else {
			s.skipped["StatefulSet that is not ScyllaDB's"]++
		}
	}
	for i := range s.pvcs {
		o := &s.pvcs[i]
		put := func(c *Snapshot) { c.PVCs = append(c.PVCs, *o) }
		if c := at(o, api.LabelCluster); c != nil {
			put(c)
		} else {
			later(o, "PersistentVolumeClaim", put)
		}
	}
	for i := range s.reports {
		o := &s.reports[i]
		put := func(c *Snapshot) { c.Reports = append(c.Reports, *o) }
		if c := at(o, api.LabelReportSelector); c != nil {
			put(c)
		} else if c := at(o, api.LabelCluster); c != nil {
			put(c)
		} else {
			later(o, "report", put)
		}
	}
	for _, put := range rest {
		if err := put(); err != nil {
			return nil, fmt.Errorf("read saved objects: %w", err)
		}
	}
	// A cluster report is named as its cluster, or named by an override.
	alone := len(byKey) == 0
	for i := range s.status {
		o := &s.status[i]
		used := false
		for k, c := range byKey {
			if ref := c.overrideRef(); k.Namespace == o.Namespace && (ref == o.Name || ref == "" && k.Name == o.Name) {
				c.StatusReport, c.OverrideRef, used = o, ref, true
			}
		}
		if !used && alone {
			byKey[ClusterKey{o.Namespace, o.Name}] = &Snapshot{
				Namespace: o.Namespace, Cluster: o.Name, StatusReport: o, Offline: true, loaded: s.kinds, cache: &cache{},
			}
		} else if !used {
			notes = append(notes, fmt.Sprintf("ScyllaDBStatusReport %s/%s skipped: no cluster here has its name or names it", o.Namespace, o.Name))
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(s.skipped)) {
		notes = append(notes, fmt.Sprintf("%s skipped", plural(s.skipped[kind], "object")+" of kind "+kind))
	}
	slices.Sort(notes)
	out := slices.SortedFunc(maps.Values(byKey), func(a, b *Snapshot) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Cluster, b.Cluster))
	})
	if len(out) == 0 {
		return nil, fmt.Errorf("read saved objects: no cluster in them: no member Service, Pod, StatefulSet or report carries label %s; %s",
			api.LabelCluster, savedCure)
	}
	for _, c := range out {
		c.Notes = notes
		if ref := c.overrideRef(); ref != "" {
			c.OverrideRef = ref
		}
		for i := range s.leases {
			if s.leases[i].Name == api.LeaseName {
				c.Lease = &s.leases[i]
			}
		}
		c.dedupe()
		c.finish(SourceAuto)
	}
	return out, nil
}

// dedupe keeps the last of objects that were saved twice: counted twice, a report's rows would contradict themselves.
func (s *Snapshot) dedupe() {
	s.Services = lastOfEach(s.Services, func(o corev1.Service) string { return o.Name })
	s.Pods = lastOfEach(s.Pods, func(o corev1.Pod) string { return o.Name })
	s.StatefulSets = lastOfEach(s.StatefulSets, func(o appsv1.StatefulSet) string { return o.Name })
	s.PVCs = lastOfEach(s.PVCs, func(o corev1.PersistentVolumeClaim) string { return o.Name })
	s.Reports = lastOfEach(s.Reports, func(o api.ScyllaDBDatacenterNodesStatusReport) string { return o.Name })
}

func lastOfEach[T any](list []T, name func(T) string) []T {
	last := make(map[string]int, len(list))
	for i := range list {
		last[name(list[i])] = i
	}
	out := make([]T, 0, len(last))
	for i := range list {
		if last[name(list[i])] == i {
			out = append(out, list[i])
		}
	}
	return out
}

// Use switches the source of rows, as a person asks for it with --source on saved objects. SourceLive needs ReadLive and is an error.
func (s *Snapshot) Use(source Source) error {
	if source == SourceLive && s.Live == nil {
		return errors.New("source live asks ScyllaDB itself, which saved objects cannot answer; use report or annotation")
	}
	s.Source, s.SourceReason = s.chooseSource(source)
	return nil
}
