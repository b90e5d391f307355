// SPDX-License-Identifier: Apache-2.0

package force

import (
	"maps"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Source is an object that a member belongs to, with its annotations. The nearest comes first: StatefulSet, ScyllaDBDatacenter, ScyllaCluster.
type Source struct {
	// Name is the value of the marker annotation: "StatefulSet/demo-rack1".
	Name        string
	Annotations map[string]string
}

// propagated lists the annotations that are copied: key, the marker that names the origin, and an annotation that is copied along with it.
var propagated = []struct{ key, marker, along string }{
	{api.AnnotationForceProceed, api.AnnotationForcePropagatedFrom, api.AnnotationForceReason},
	{api.AnnotationStatusReportOverrideRef, api.AnnotationOverrideRefPropagatedFrom, ""},
}

// Spend removes the force from the annotations of a member Service whose node has started: its next start, perhaps with an empty volume, must be judged. An object above keeps its
// force, for members that have not started.
func Spend(service map[string]string) {
	for _, k := range []string{api.AnnotationForceProceed, api.AnnotationForcePropagatedFrom, api.AnnotationForceReason} {
		delete(service, k)
	}
}

// Propagate returns the annotations that a member Service should have, given those of its sources, nearest first.
//
//   - The nearest source that has the annotation decides, whatever the value: a value that does not open the barrier is copied too, because the
//     barrier shows it, and the copy follows once the value is corrected.
//   - An annotation that a person set on the Service itself stays, and is never overwritten.
//   - A copy is removed once no source has the annotation any more.
func Propagate(service map[string]string, sources []Source) map[string]string {
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
