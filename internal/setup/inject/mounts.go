// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// mountTmp is where the query has a folder of the shared volume.
const mountTmp = "/tmp"

// checkMounts refuses mounts at, above or below paths of ours: in ScyllaDB's container, and in the
// added containers, which copy the mounts of the data.
func (p *plan) checkMounts() {
	refuse := func(m *corev1.VolumeMount, own string) {
		if at := path.Clean(m.MountPath); below(at, own) || below(own, at) {
			p.refuse("containers[%s].volumeMounts: volume %s is mounted at %s, and inject mounts a volume of its own "+
				"at %s: use another path", p.scylla.Name, m.Name, m.MountPath, own)
		}
	}
	for i := range p.scylla.VolumeMounts {
		refuse(&p.scylla.VolumeMounts[i], api.MountShared)
	}
	for i := range p.mounts {
		for _, own := range []string{mountTmp, api.MountCredential, api.MountRootCredential, noToken} {
			refuse(&p.mounts[i], own)
		}
	}
	p.checkSubPaths()
}

// below reports whether a clean path is a folder or below it.
func below(at, folder string) bool {
	return strings.HasPrefix(at+"/", strings.TrimSuffix(folder, "/")+"/")
}

// checkSubPaths finds the variables to which the copied mounts refer: without them the added
// containers cannot be created. A value from a Secret, or from the container itself, is refused.
func (p *plan) checkSubPaths() {
	needed := map[string]bool{}
	for i := range p.mounts {
		refer(needed, p.mounts[i].SubPathExpr)
	}
	for _, e := range slices.Backward(p.scylla.Env) { // a value refers to variables before it
		if !needed[e.Name] {
			continue
		}
		delete(needed, e.Name)
		if from := e.ValueFrom; from != nil && from.FieldRef == nil && from.ConfigMapKeyRef == nil {
			p.refuse("containers[%s].env: a subPathExpr of the data refers to %s, whose value inject cannot copy: use "+
				"a value, fieldRef or configMapKeyRef", p.scylla.Name, e.Name)
			continue
		}
		refer(needed, e.Value)
		p.env = slices.Insert(p.env, 0, e)
	}
	for _, name := range slices.Sorted(maps.Keys(needed)) {
		p.refuse("containers[%s].volumeMounts: a subPathExpr of the data refers to %s, which is not in env: define it "+
			"there", p.scylla.Name, name)
	}
}

// refer adds the variables to which a text refers, as Kubernetes expands it: $(NAME), but not
// $$(NAME).
func refer(needed map[string]bool, text string) {
	for {
		_, rest, ok := strings.Cut(text, "$")
		if !ok {
			return
		}
		if strings.HasPrefix(rest, "$") {
			text = rest[1:]
			continue
		}
		if text = rest; strings.HasPrefix(rest, "(") {
			if name, after, closed := strings.Cut(rest[1:], ")"); closed {
				needed[name] = true
				text = after
			}
		}
	}
}

// withEnv adds the variables of the mounts to a container that copies them.
func (p *plan) withEnv(c object) error {
	env, _ := c["env"].([]any)
	more, err := asAny(p.env)
	if err != nil {
		return err
	}
	for _, v := range more {
		same := func(have any) bool { return have.(object)["name"] == v.(object)["name"] }
		if !slices.ContainsFunc(env, same) {
			env = append(env, v)
		}
	}
	if len(env) > 0 {
		c["env"] = env
	}
	return nil
}
