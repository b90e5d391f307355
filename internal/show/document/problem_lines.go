// SPDX-License-Identifier: Apache-2.0

package document

import (
	"fmt"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// maxNamed is the maximum number of Pods that one line names.
const maxNamed = 5

// ProblemLines returns Problems as text, in order; Pods with the same reason share one line.
func ProblemLines(ps []cluster.Problem) []string {
	type group struct{ lead, reason, whole string }
	names := map[group][]string{}
	var order []group
	for _, p := range ps {
		g := group{p.Lead, p.Reason, ""}
		if p.Lead == "" || p.Message != p.OnPod(p.Lead, p.Reason).Message {
			g = group{whole: p.Message} // including a redacted text
		}
		if names[g] == nil {
			order = append(order, g)
		}
		names[g] = append(names[g], p.Name)
	}
	lines := make([]string, len(order))
	for i, g := range order {
		pods := names[g]
		switch {
		case g.whole != "":
			lines[i] = g.whole
		case len(pods) == 1:
			lines[i] = onPods(g.lead, " Pod "+pods[0], g.reason)
		default:
			shown := strings.Join(pods[:min(maxNamed, len(pods))], ", ")
			if more := len(pods) - maxNamed; more > 0 {
				shown += fmt.Sprintf(" and %d more", more)
			}
			lines[i] = onPods(g.lead, " Pods "+shown, g.reason)
		}
	}
	return lines
}

func onPods(lead, pods, reason string) string { return lead + pods + ": " + reason }
