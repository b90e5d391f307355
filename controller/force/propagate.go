// SPDX-License-Identifier: Apache-2.0

package force

import (
	"maps"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Source is an object to which a member belongs, with its annotations. Order, nearest first:
// StatefulSet, ScyllaDBDatacenter, ScyllaCluster.
type Source struct {
	// Name is the value of the marker annotation: "StatefulSet/demo-rack1".
	Name        string
	Annotations map[string]string
}

// propagated lists the copied annotations: key, the marker that names the origin, and annotations
// that are copied in the same write.
var propagated = []struct {
	key, marker string
	along       []string
}{
	{api.AnnotationForceProceed, api.AnnotationForcePropagatedFrom,
		[]string{api.AnnotationForceReason, api.AnnotationForceOverrides}},
	{api.AnnotationStatusReportOverrideRef, api.AnnotationOverrideRefPropagatedFrom, nil},
}

// propagate returns the annotations that a member Service should have. sources are ordered nearest
// first.
//
//   - The nearest source that has the annotation decides, whatever the value. A value that does not
//     open the barrier is also copied, because the barrier shows it, and the copy follows a
//     correction.
//   - An annotation that a user set on the Service itself is never overwritten.
//   - A copy is removed once no source has the annotation.
//   - A force from above is for new nodes: each later Pod of a member that has joined would get it
//     again. A value that forces nothing is still copied.
//   - The reasons and the volume that our controller recorded of a force stay while it stays.
func propagate(service map[string]string, sources []Source) map[string]string {
	joined := service[api.AnnotationNodeJoined] == "true"
	out := maps.Clone(service)
	if out == nil {
		out = map[string]string{}
	}
	for _, p := range propagated {
		_, present := out[p.key]
		_, marked := out[p.marker]
		if present && !marked {
			continue
		}
		said := false
		for _, s := range sources {
			v, ok := s.Annotations[p.key]
			if !ok || joined && p.key == api.AnnotationForceProceed && v == api.ForceProceedValue {
				continue
			}
			said = true
			same := out[p.key] == v && out[p.marker] == s.Name
			out[p.key], out[p.marker] = v, s.Name
			for _, k := range p.along {
				if text, ok := s.Annotations[k]; ok {
					out[k] = text
				} else if marked && (!same || k != api.AnnotationForceOverrides) {
					delete(out, k)
				}
			}
			break
		}
		if !said && marked {
			delete(out, p.key)
			delete(out, p.marker)
			for _, k := range p.along {
				delete(out, k)
			}
		}
	}
	if out[api.AnnotationForceProceed] != api.ForceProceedValue {
		delete(out, api.AnnotationForceOverrides) // the next force has other reasons
	}
	if out[api.AnnotationForceOverrides] != service[api.AnnotationForceOverrides] {
		delete(out, api.AnnotationForceVolume) // of another force
	}
	return out
}
