// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/credential"
)

// A user adds parts with names of ours to an injected manifest. Undo and a second injection leave them, refuse, or remove what they are not mounted from.
func TestUndoRemovesOnlyWhatInjectAdded(t *testing.T) {
	volume := func(name string) object { return object{"name": name, "configMap": object{"name": "theirs"}} }
	mount := func(name string) object { return object{"name": name, "mountPath": "/theirs"} }
	add := func(o object, field string, item object) {
		list, _ := o[field].([]any)
		o[field] = append(list, item)
	}
	for name, tc := range map[string]struct {
		first, again credential.Mode
		change       func(spec object)
		undo, inject string // refusals; empty: accepted
	}{
		"nothing": {credential.Off, credential.Off, func(object) {}, "", ""},
		"a volume of a part that is not there": {credential.Off, credential.Off, func(spec object) {
			add(spec, "volumes", volume(api.VolumeCredential))
			add(container(spec, "scylla"), "volumeMounts", mount(api.VolumeCredential))
		}, "", "volume scylla-credential already exists and was not injected"},
		"a mount of our volume in a second container": {credential.Off, credential.Off, func(spec object) {
			add(container(spec, "jmx"), "volumeMounts", mount(api.VolumeShared))
		}, "container jmx mounts volume scylla-shared at /theirs, which inject added", ""},
		"a mount of our volume elsewhere in ScyllaDB's": {credential.Off, credential.Off, func(spec object) {
			add(container(spec, "scylla"), "volumeMounts", mount(api.VolumeShared))
		}, "container scylla mounts volume scylla-shared at /theirs, which inject added", ""},
		"a mount of a volume that this injection removes": {credential.Verify, credential.Off, func(spec object) {
			add(container(spec, "jmx"), "volumeMounts", mount(api.VolumeCredential))
		}, "container jmx mounts volume scylla-credential at /theirs, which inject added", "container jmx mounts volume scylla-credential"},
	} {
		t.Run(name, func(t *testing.T) {
			o := image
			o.RootCredential = tc.first
			_, set := setIn(t, stream(t, input(t, "passwords.yaml"), o, false).Text)
			if _, spec := podTemplate(set); container(spec, "jmx")["name"] == nil {
				add(spec, "containers", object{"name": "jmx", "image": "x"})
			}
			_, spec := podTemplate(set)
			tc.change(spec)
			want, _ := podTemplate(set.DeepCopy())
			back, err := Undo(set)
			refused(t, "undo", err, tc.undo)
			if err == nil {
				_, left := podTemplate(back)
				has := func(spec object, field string) []any {
					list, _ := spec[field].([]any)
					var out []any
					for _, v := range list {
						if c := v.(object)["configMap"]; c != nil && cmp.Equal(c, object{"name": "theirs"}) {
							out = append(out, v)
						}
					}
					return out
				}
				if diff := cmp.Diff(has(child(want, "spec"), "volumes"), has(left, "volumes")); diff != "" {
					t.Errorf("undo removed (-before +after):\n%s", diff)
				}
				if text, err := text(back); err != nil || strings.Contains(text, api.VolumeShared) || strings.Contains(text, api.ContainerBarrier) {
					t.Errorf("parts of ours are left, %v:\n%s", err, text)
				}
			}
			o.RootCredential, o.Cluster, o.Datacenter, o.Rack = tc.again, "shop", "eu", "a"
			_, err = statefulSet(set, o, nil)
			refused(t, "a second injection", err, tc.inject)
		})
	}
}

func refused(t *testing.T, what string, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want %q", what, err, want)
	}
}

// A record of an older version has no lists.
func TestUndoOfARecordWithoutLists(t *testing.T) {
	for _, mode := range []credential.Mode{credential.Off, credential.Verify} {
		o := image
		o.RootCredential = mode
		in := input(t, "passwords.yaml")
		_, set := setIn(t, stream(t, in, o, false).Text)
		a := set.GetAnnotations()
		before, rest, _ := strings.Cut(a[api.AnnotationInjected], `"initContainers":[`)
		_, rest, _ = strings.Cut(rest, `],`)
		_, rest, _ = strings.Cut(rest, `"volumes":[`)
		_, rest, ok := strings.Cut(rest, "]")
		if !ok {
			t.Fatal(a[api.AnnotationInjected])
		}
		a[api.AnnotationInjected] = strings.TrimSuffix(before, ",") + rest
		set.SetAnnotations(a)
		back, err := Undo(set)
		if err != nil {
			t.Fatal(err)
		}
		want := &unstructured.Unstructured{Object: objects(t, in)["statefulset shop/db"].(map[string]any)}
		if diff := cmp.Diff(want.Object, back.Object); diff != "" {
			t.Errorf("%s (-before +after):\n%s", mode, diff)
		}
	}
}
