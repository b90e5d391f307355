// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Undo returns a copy of u without the injection. Without an injection the copy is unchanged. Later
// changes by users remain.
func Undo(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	u = u.DeepCopy()
	text, ok := u.GetAnnotations()[api.AnnotationInjected]
	if !ok {
		return u, nil
	}
	var rec record
	err := json.Unmarshal([]byte(text), &rec)
	if err == nil && rec.Container == "" {
		err = errors.New("no container in it")
	}
	if err != nil {
		return nil,
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
		delete(spec, "serviceAccountName")
	default:
		spec["serviceAccountName"] = rec.ServiceAccount
	}
	if rec.TokenOff {
		spec["automountServiceAccountToken"] = false
	}
	if rec.RootCredential {
		remove(metadata, "annotations", api.AnnotationRootCredential)
	}
	drop(spec, "initContainers", api.ContainerReporter, api.ContainerCredential, containerCopy,
		api.ContainerBootstrappedQuery, api.ContainerBarrier)
	drop(spec, "volumes", volumeShared, api.VolumeCredential, api.VolumeRootCredential)
	c := container(spec, rec.Container)
	drop(c, "env", rec.Env...)
	drop(c, "volumeMounts", volumeShared)
	if command, _ := c["command"].([]any); len(command) >= 3 && command[0] == agent {
		command = command[3:]
		if rec.HadCommand {
			c["command"] = command
		} else {
			delete(c, "command")
		}
	}
	return u, nil
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
	list, ok := o[field].([]any)
	if !ok {
		return
	}
	list = slices.DeleteFunc(slices.Clone(list), func(v any) bool {
		item, ok := v.(object)
		name, _ := item["name"].(string)
		return ok && slices.Contains(names, name)
	})
	if len(list) == 0 {
		delete(o, field)
		return
	}
	o[field] = list
}
