// SPDX-License-Identifier: Apache-2.0

package force

import (
	"maps"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Source is an object that a member belongs to, with what it says. The nearest comes first: StatefulSet, ScyllaDBDatacenter,
// ScyllaCluster.
type Source struct {
	// Name as it is written into the marker: "StatefulSet/demo-rack1".
	Name        string
	Annotations map[string]string
}

// propagated annotations: what is copied, the marker that says from where, and what goes along.
var propagated = []struct{ key, marker, along string }{
	{api.AnnotationForceProceed, api.AnnotationForcePropagatedFrom, api.AnnotationForceReason},
	{api.AnnotationStatusReportOverrideRef, api.AnnotationOverrideRefPropagatedFrom, ""},
}

// Propagate returns what a member Service's annotations should be, given what its sources say, nearest first.
//
//   - The nearest source that says anything decides, whatever it says: a value that does not open is copied too, because the barrier
//     shows it, and it heals when it is mended.
//   - What a person set on the Service itself stays, and is no longer overridden.
//   - What was copied goes when no source says it any more.
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
