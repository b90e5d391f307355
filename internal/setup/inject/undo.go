// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Undo returns a copy of u without the injection. Without an injection the copy is unchanged. Later
// changes by users remain; a mount of a removed volume is refused.
func Undo(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	u, taken, err := undo(u)
	if err == nil {
		err = unmounted(u, taken)
	}
	if err != nil {
		return nil, err
	}
	return u, nil
}

// undo is Undo without the refusal. It also returns the names of the removed volumes.
func undo(u *unstructured.Unstructured) (out *unstructured.Unstructured, volumes []string, err error) {
	u = u.DeepCopy()
	text, ok := u.GetAnnotations()[api.AnnotationInjected]
	if !ok {
		return u, nil, nil
	}
	var rec record
	err = json.Unmarshal([]byte(text), &rec)
	if err == nil && rec.Container == "" {
		err = errors.New("no container in it")
	}
	if err != nil {
		return nil, nil,
			fmt.Errorf("undo the injection of %s: annotation %s is malformed, restore the previous manifest: %w",
				Name(u), api.AnnotationInjected, err)
	}
	metadata := child(u.Object, "metadata")
	remove(metadata, "annotations", api.AnnotationInjected)
	template, spec := podTemplate(u)
	putBack(u.Object, rec.Labels)
	putBack(template, rec.PodLabels)
	if rec.Scraped {
		for name := range p8s(0) {
			remove(child(template, "metadata"), "annotations", name)
		}
	}
	switch rec.ServiceAccount {
	case "":
	case none:
		setAccount(spec, "")
	default:
		setAccount(spec, rec.ServiceAccount)
	}
	if rec.TokenOff {
		spec["automountServiceAccountToken"] = false
	}
	if rec.RootCredential {
		remove(metadata, "annotations", api.AnnotationRootCredential)
	}
	rec.complete(spec)
	drop(spec, "initContainers", rec.InitContainers...)
	drop(spec, "volumes", rec.Volumes...)
	c := container(spec, rec.Container)
	drop(c, "env", rec.Env...)
	dropItems(c, "volumeMounts", func(m object) bool {
		return m["name"] == volumeShared && m["mountPath"] == api.MountShared
	})
	if command, _ := c["command"].([]any); len(command) >= 3 && command[0] == agent {
		command = command[3:]
		if rec.HadCommand {
			c["command"] = command
		} else {
			delete(c, "command")
		}
	}
	return u, rec.Volumes, nil
}

// complete fills the lists of a record that has none: it then named only what each injection adds,
// and the credential container was the only other part.
func (r *record) complete(spec object) {
	if len(r.InitContainers) > 0 {
		return
	}
	r.InitContainers, r.Volumes = ownContainers, []string{volumeShared}
	if list, _ := spec["initContainers"].([]any); slices.Contains(names(list), api.ContainerCredential) {
		r.Volumes = ownVolumes
	}
}

// unmounted refuses a mount of a removed volume: no Pod could be created.
func unmounted(u *unstructured.Unstructured, removed []string) error {
	s, err := typed(u)
	if err != nil {
		return err
	}
	spec := &s.Spec.Template.Spec
	removed = slices.DeleteFunc(slices.Clone(removed), func(name string) bool {
		return slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == name })
	})
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, m := range c.VolumeMounts {
			if slices.Contains(removed, m.Name) {
				return fmt.Errorf("%s: spec.template.spec: container %s mounts volume %s at %s, which inject added "+
					"and now removes: remove this mount first", Name(u), c.Name, m.Name, m.MountPath)
			}
		}
	}
	return nil
}

func putBack(o object, labels map[string]*string) {
	metadata := child(o, "metadata")
	for k, old := range labels {
		if old == nil {
			remove(metadata, "labels", k)
		} else {
			child(metadata, "labels")[k] = *old
		}
	}
}

// remove deletes a key from the map in a field, and then an empty map.
func remove(o object, field, key string) {
	m, ok := o[field].(object)
	if !ok {
		return
	}
	delete(m, key)
	if len(m) == 0 {
		delete(o, field)
	}
}

// drop deletes the items with these names from the list in a field, and then an empty list.
func drop(o object, field string, names ...string) {
	dropItems(o, field, func(item object) bool {
		name, _ := item["name"].(string)
		return slices.Contains(names, name)
	})
}

func dropItems(o object, field string, which func(object) bool) {
	list, ok := o[field].([]any)
	if !ok {
		return
	}
	list = slices.DeleteFunc(slices.Clone(list), func(v any) bool {
		item, ok := v.(object)
		return ok && which(item)
	})
	if len(list) == 0 {
		delete(o, field)
		return
	}
	o[field] = list
}
