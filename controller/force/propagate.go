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

// propagated lists the copied annotations: key, the marker that names the origin, and an annotation
// that is copied with it.
var propagated = []struct{ key, marker, along string }{
	{api.AnnotationForceProceed, api.AnnotationForcePropagatedFrom, api.AnnotationForceReason},
	{api.AnnotationStatusReportOverrideRef, api.AnnotationOverrideRefPropagatedFrom, ""},
}

// spend removes the force from the annotations of a member Service whose node has started: the
// barrier must judge its next start, possibly with an empty volume. An object above keeps its
// force, for members that have not started.
func spend(service map[string]string) {
	for _, k := range []string{api.AnnotationForceProceed, api.AnnotationForcePropagatedFrom,
		api.AnnotationForceReason} {
		delete(service, k)
	}
}

// propagate returns the annotations that a member Service should have. sources are ordered nearest
// first.
//
//   - The nearest source that has the annotation decides, whatever the value. A value that does not
//     open the barrier is also copied, because the barrier shows it, and the copy follows a
//     correction.
//   - An annotation that a user set on the Service itself is never overwritten.
//   - A copy is removed once no source has the annotation.
func propagate(service map[string]string, sources []Source) map[string]string {
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
			if !ok {
				continue
			}
			said = true
			out[p.key], out[p.marker] = v, s.Name
			if p.along != "" {
				if why, ok := s.Annotations[p.along]; ok {
					out[p.along] = why
				} else if marked {
					delete(out, p.along)
				}
			}
			break
		}
		if !said && marked {
			delete(out, p.key)
			delete(out, p.marker)
			if p.along != "" {
				delete(out, p.along)
			}
		}
	}
	return out
}
