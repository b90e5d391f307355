// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// This file decides how a running cluster is rolled: one next action, from the objects in the API
// server. It keeps no state between two actions, so an interrupted run can continue. After a crash,
// the last write of a run leaves this state:
//
//	Label     some Pods with the labels, which have no effect yet; then a StatefulSet with the
//	          labels and the record of an injection, and the old Pod template: nothing is
//	          rolled, the next run labels the others
//	record    (package adopt) host IDs on some Services: the next run records all of them again
//	Template  a StatefulSet with the new template and strategy OnDelete, its own strategy in
//	          AnnotationRolling: Kubernetes rolls no Pod, a Pod that fails is recreated with
//	          the new template, and the next run continues with the Pods
//	Evict     one Pod less, which its StatefulSet recreates: the next run waits for it
//	Release   a StatefulSet that is done, with its own strategy and without AnnotationRolling
//
// Undo has the same steps without Label and record: its Template writes the original StatefulSet. A
// run in the other direction starts from the state that this one left.

// hold is the value of AnnotationRolling.
type hold struct {
	// UpdateStrategy is the strategy to restore; absent if the StatefulSet had none.
	UpdateStrategy object `json:"updateStrategy,omitempty"`
	// Undo is true while the injection is being removed.
	Undo bool `json:"undo,omitempty"`
}

func holdOf(u *unstructured.Unstructured) (*hold, error) {
	text, ok := u.GetAnnotations()[api.AnnotationRolling]
	if !ok {
		return nil, nil
	}
	h := &hold{}
	fields := object{}
	err := json.Unmarshal([]byte(text), h)
	if err == nil {
		err = utiljson.Unmarshal([]byte(text), &fields) // keeps integers as integers
	}
	if err != nil {
		return nil,
			fmt.Errorf("read annotation %s of %s; restore spec.updateStrategy manually and remove the annotation: %w",
				api.AnnotationRolling, Name(u), err)
	}
	h.UpdateStrategy, _ = fields["updateStrategy"].(object)
	return h, nil
}

// Released returns a copy of u with its own update strategy and without AnnotationRolling. If u is
// not on hold, the copy is unchanged.
func Released(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	u = u.DeepCopy()
	h, err := holdOf(u)
	if h == nil || err != nil {
		return u, err
	}
	remove(child(u.Object, "metadata"), "annotations", api.AnnotationRolling)
	spec := child(u.Object, "spec")
	if h.UpdateStrategy == nil {
		delete(spec, "updateStrategy") // the API server sets its default
	} else {
		spec["updateStrategy"] = h.UpdateStrategy
	}
	return u, nil
}

// Running is a running StatefulSet with its desired form.
type Running struct {
	// Have is the StatefulSet in the API server. Want is the desired one with its own update
	// strategy: with the injection, or with Undo without it.
	Have, Want *unstructured.Unstructured
	// Result of the injection; nil with Undo.
	Result *Result
	Undo   bool
}

// Plan computes the desired form of a running StatefulSet. beside are the ConfigMaps that it
// mounts. The error is the reason for a refusal.
func Plan(have *unstructured.Unstructured, o Options, beside []*unstructured.Unstructured, undo bool) (*Running,
	error) {
	base, err := Released(have)
	if err != nil {
		return nil, err
	}
	r := &Running{Have: have, Undo: undo}
	if undo {
		r.Want, err = Undo(base)
		return r, err
	}
	if r.Result, err = statefulSet(base, o, beside); err != nil {
		return nil, err
	}
	r.Want = r.Result.Object
	return r, nil
}

// Held reports whether the update strategy is OnDelete for a roll in the same direction.
func (r *Running) Held() bool {
	h, err := holdOf(r.Have)
	return err == nil && h != nil && h.Undo == r.Undo
}

// Labelled reports whether the labels and the record are present. It is always true with Undo.
func (r *Running) Labelled() bool {
	if r.Undo {
		return true
	}
	have, want := r.Have.GetLabels(), r.Want.GetLabels()
	for k, v := range want {
		if have[k] != v {
			return false
		}
	}
	is, wanted := r.Have.GetAnnotations(), r.Want.GetAnnotations()
	return is[api.AnnotationInjected] == r.recorded() &&
		is[api.AnnotationRootCredential] == wanted[api.AnnotationRootCredential]
}

// recorded returns the record to write with the labels. The Pod template is still the old one, so
// the record also lists the parts of the previous injection; WithTemplate writes the final record.
func (r *Running) recorded() string {
	final := r.Want.GetAnnotations()[api.AnnotationInjected]
	var was, will record
	if json.Unmarshal([]byte(r.Have.GetAnnotations()[api.AnnotationInjected]), &was) != nil ||
		json.Unmarshal([]byte(final), &will) != nil {
		return final
	}
	_, spec := podTemplate(r.Have.DeepCopy())
	was.complete(spec)
	will.InitContainers = united(was.InitContainers, will.InitContainers)
	will.Volumes = united(was.Volumes, will.Volumes)
	text, err := json.Marshal(will)
	if err != nil {
		return final
	}
	return string(text)
}

func united(list, more []string) []string {
	list = slices.Clone(list)
	for _, name := range more {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// Written reports whether the Pod template is the desired one, apart from defaults of the API
// server.
func (r *Running) Written() bool {
	if r.Undo {
		_, injected := r.Have.GetAnnotations()[api.AnnotationInjected]
		return !injected
	}
	have, _ := podTemplate(r.Have.DeepCopy())
	want, _ := podTemplate(r.Want.DeepCopy())
	return has(have, want)
}

// has reports whether have contains everything in want. Additional fields in have are allowed,
// additional list items are not.
func has(have, want any) bool {
	switch w := want.(type) {
	case object:
		h, ok := have.(object)
		if !ok {
			return len(w) == 0 && have == nil
		}
		for k, v := range w {
			if !has(h[k], v) {
				return false
			}
		}
		return true
	case []any:
		h, ok := have.([]any)
		if !ok || len(h) != len(w) {
			return len(w) == 0 && have == nil
		}
		for i := range w {
			if !has(h[i], w[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(have, want)
}

// WithLabels returns the StatefulSet with only the labels and the record of the injection added,
// which rolls no Pod.
func (r *Running) WithLabels() *unstructured.Unstructured {
	u := r.Have.DeepCopy()
	labels, annotations := u.GetLabels(), u.GetAnnotations()
	if labels == nil {
		labels = map[string]string{}
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	for k, v := range r.Want.GetLabels() {
		labels[k] = v
	}
	annotations[api.AnnotationInjected] = r.recorded()
	if v, ok := r.Want.GetAnnotations()[api.AnnotationRootCredential]; ok {
		annotations[api.AnnotationRootCredential] = v
	}
	u.SetLabels(labels)
	u.SetAnnotations(annotations)
	return u
}

// PodLabels returns the labels to set on running Pods without a restart; nil removes a label.
func (r *Running) PodLabels() map[string]*string {
	template, _ := podTemplate(r.Want.DeepCopy())
	labels, _ := child(template, "metadata")["labels"].(object)
	out := map[string]*string{}
	for _, k := range []string{api.LabelCluster, api.LabelDatacenter, api.LabelRack, api.LabelPodType} {
		out[k] = nil
		if v, ok := labels[k].(string); ok {
			out[k] = &v
		}
	}
	return out
}

// WithTemplate returns Want with update strategy OnDelete, so that Kubernetes rolls no Pod.
func (r *Running) WithTemplate() (*unstructured.Unstructured, error) {
	u := r.Want.DeepCopy()
	spec := child(u.Object, "spec")
	h := hold{Undo: r.Undo}
	h.UpdateStrategy, _ = spec["updateStrategy"].(object)
	text, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("encode annotation %s: %w", api.AnnotationRolling, err)
	}
	spec["updateStrategy"] = object{"type": string(appsv1.OnDeleteStatefulSetStrategyType)}
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[api.AnnotationRolling] = string(text)
	u.SetAnnotations(annotations)
	return u, nil
}

// Pod returns a member's Pod as Kubernetes would create it from the desired template, under a
// generated name.
func (r *Running) Pod(member string) (*corev1.Pod, error) {
	s, err := typed(r.Want)
	if err != nil {
		return nil, err
	}
	pod := &corev1.Pod{ObjectMeta: s.Spec.Template.ObjectMeta, Spec: s.Spec.Template.Spec}
	pod.Namespace, pod.GenerateName = s.Namespace, s.Name+"-"
	owner := metav1.NewControllerRef(s, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))
	pod.OwnerReferences = []metav1.OwnerReference{*owner}
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	pod.Labels[appsv1.StatefulSetPodNameLabel] = member
	pod.Spec.Hostname, pod.Spec.Subdomain = member, s.Spec.ServiceName
	for i := range s.Spec.VolumeClaimTemplates {
		name := s.Spec.VolumeClaimTemplates[i].Name
		claim := &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name + "-" + member}
		others := slices.DeleteFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == name })
		pod.Spec.Volumes = append(others,
			corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: claim}})
	}
	return pod, nil
}

// Change returns the difference for display, without the fields that the API server sets.
func (r *Running) Change() (Change, error) {
	c := Change{Name: Name(r.Have)}
	if r.Result != nil {
		c.Notes, c.Cost = r.Result.Notes, r.Result.Cost
	}
	var err error
	before, after := r.Have.DeepCopy(), r.Want.DeepCopy()
	if r.Written() && r.Labelled() {
		after = before.DeepCopy()
	}
	for _, u := range []*unstructured.Unstructured{before, after} {
		delete(u.Object, "status")
		delete(child(u.Object, "metadata"), "managedFields")
	}
	if c.Before, err = text(before); err != nil {
		return c, err
	}
	c.After, err = text(after)
	return c, err
}

// Rights returns the missing RBAC objects for the ServiceAccount of an injected StatefulSet. there
// are the existing objects.
func (r *Running) Rights(there []*unstructured.Unstructured) []*unstructured.Unstructured {
	if r.Result == nil {
		return nil
	}
	ns := r.Have.GetNamespace()
	return account{ns, r.Result.ServiceAccount}.rights(there, ns)
}

// ConfigMaps returns the names of the ConfigMaps that a StatefulSet's Pods mount.
func ConfigMaps(set *appsv1.StatefulSet) []string {
	var names []string
	spec := &set.Spec.Template.Spec
	for i := range spec.Volumes {
		v := &spec.Volumes[i]
		if v.ConfigMap != nil {
			names = append(names, v.ConfigMap.Name)
		}
		if v.Projected != nil {
			for _, s := range v.Projected.Sources {
				if s.ConfigMap != nil {
					names = append(names, s.ConfigMap.Name)
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
