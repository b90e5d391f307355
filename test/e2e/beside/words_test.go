// SPDX-License-Identifier: Apache-2.0

package beside

import (
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// never are texts that must not appear in a situation under the Scylla Operator: commands that it refuses, reasons that do not apply there, and parts
// that only our own Pods have.
var never = []string{"--ignore-dead", "launcher", "AsExpected", "resume", "kubectl scylla install", "scylla-agent", "<nil>", "container " + "scylla-agent"}

// TestBesideOperator10Words checks the texts of each situation: no command that the operator refuses is recommended, no text advises to remove a node
// that may live, and a joining member is waited for.
func TestBesideOperator10Words(t *testing.T) {
	says := map[string]string{
		"its join was cut short while a node is DOWN":                   "its join was interrupted, and ScyllaDB rolls it back automatically",
		"a node is being decommissioned":                                "it is being decommissioned, and the Scylla Operator has no report of it until it has left",
		"another node joins and is listed UP":                           "until it has joined",
		"another node joins, its Service says nothing yet":              "it is starting",
		"another node joins and is listed DOWN":                         "it is starting",
		"the report is lost":                                            "its own barriers open without one",
		"two datacenters, the report here is lost":                      "none from datacenter dc1, where members have joined",
		"force has no value":                                            `is ""; only "true" skips the barrier`,
		"back, nobody lists it any more":                                "may start as a new node if its volume is empty, which only its Pod can check",
		"two datacenters, the other's report is gone, its node is DOWN": "it is in another datacenter",
		"a host ID that no member has, DOWN for all":                    "its datacenter and rack are unknown",
		"the operator says Degraded":                                    "condition ScyllaDBDatacenterNodesStatusReportControllerDegraded: Error: request is too large",
	}
	for _, s := range situations() {
		t.Run(s.name, func(t *testing.T) {
			o := s.build(t)
			var all strings.Builder
			for _, args := range [][]string{
				{"status", "-o", "wide"}, {"barrier", s.who()}, {"replace", "status"}, {"replace", s.who(), "--dry-run=client"},
			} {
				all.WriteString(plugintest.Run{Args: append(args, "-n", "demo"), Objects: o.all, Live: nobody}.Transcript(t))
			}
			text := strings.Join(strings.Fields(strings.ReplaceAll(all.String(), "\\\n", "")), " ")
			for _, word := range never {
				if strings.Contains(text, word) {
					t.Errorf("it says %q:\n%s", word, all.String())
				}
			}
			if want := says[s.name]; !strings.Contains(text, want) {
				t.Errorf("it does not say %q:\n%s", want, all.String())
			}
			if strings.Contains(text, "removenode") { // the operator's rows do not tell where a node is
				t.Errorf("removenode is named:\n%s", all.String())
			}
			if strings.Contains(s.name, "joins") && strings.Contains(text, "reporter writes") {
				t.Errorf("a joining member is told that its reporter should write:\n%s", all.String())
			}
			delete(says, s.name)
		})
	}
	for name := range says {
		t.Errorf("no situation %q", name)
	}
}
